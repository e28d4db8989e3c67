"""Tells whether a message only agrees, only refuses, or only says that what was said before has ceased to be true."""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

LONGEST: Final = 600
"""Characters of a message that is read as such an answer."""
_YES: Final = lazy_pattern(
    r"(?:(?:yes|yeah|yep|yup|sure|ok(?:ay)?|please|do(?: it| so| that)?|go ahead|right|correct|confirm(?:ed)?"
    r"|definitely|of course|absolutely|that's right|(?:delete|erase|forget|remove)"
    r" (?:it|them|that|those|all(?: of (?:it|them|that))?|everything)|all of (?:it|them|that)"
    r"|both|thanks|thank you|是的?|好的?|对的?|嗯+|行|可以|确认|确定|没错|当然|请"
    r"|(?:都|全)?(?:删|忘|抹)(?:掉|除|了|吧)*|谢谢|吧|呀|啊)[\s,.!，。！]*){1,6}",
    re.IGNORECASE,
)
_NO: Final = lazy_pattern(
    r"(?:(?:no|nope|nah|don't|do not|stop|wait|(?:keep|leave) (?:it|them|that)|not (?:that|those|all)|cancel|never mind"
    r"|please|thanks|thank you|不用?了?|不要了?|不是|别删?了?|算了|先?不删了?|取消|留着|谢谢|吧)[\s,.!，。！]*){1,6}",
    re.IGNORECASE,
)
_LEAD: Final = r"\W*(?:(?:no|hm+|oh|well|actually|wait|sorry|but|and|hey|by the way|btw)\b\W*){0,3}"
_HOLDS: Final = r"(?:true|right|correct|the case|valid|so|like that|accurate|current|up to date)"
_NOW: Final = r"(?: any ?more| any longer| now)"
_ENDS: Final = lazy_pattern(
    _LEAD + r"(?:that|this|it)(?:"
    rf"(?:(?:'s| is| was) not|(?: is| was)n't)(?: really| quite| even)? {_HOLDS}{_NOW}"
    rf"|(?:'s| is| was) no longer {_HOLDS}{_NOW}?| no longer (?:holds|applies|stands){_NOW}?"
    rf"| (?:doesn't|does not) (?:hold|apply|stand|count){_NOW}"
    r"|(?:'s| is)(?: all| now| well)? (?:out of date|outdated|old news|ancient history|in the past now)"
    r")(?:\W+(?:please |just )?(?:forget|delete|erase|drop|remove) (?:it|that|this))?(?: please)?\W*",
    re.IGNORECASE,
)
_ENDS_ZH: Final = lazy_pattern(
    r"\W*(?:嗯|哦|不|对了|其实|等等|诶)?\W?(?:刚才|上面|之前)?(?:我?说的)?(?:[这那](?:个|条|点|事儿?)?)?(?:已经|现在|早就?|都|也)*"
    r"(?:不是[这那]样|不是真的|不是这么回事|不对|不算数|不作数|不成立|不准|不适用|作废|过时)[了啦](?:\W?现在不是(?:这样)?了)?"
    r"(?:\W?(?:忘|删)(?:掉|了)?吧?)?\W*"
)
OVER: Final = lazy_pattern(
    r"\A\W*+(?:and |so |but |oh |well |ok(?:ay)? )*+(?:(?:the|my|our|that"
    r"|this) )?(?P<about>\w[^.]{1,49}?)(?:'s| is| are| was| were| has been| have been| has| have|'ve)?"
    r" (?:all )?(?:off|over(?: and done with)?|done(?: with)?|finished|cancelled|called off|dead|history|ended"
    r"|(?:fell|fallen|falling) through|(?:came|come) to nothing|not happening|not going ahead|a thing of the past"
    r"|(?:didn't|did not|isn't going to) (?:work out|happen|come off))(?: now| anyway| after all)?\W*\Z",
    re.IGNORECASE,
)
"""What has come to an end, of which nothing is to be kept: "The course fell through, no need to keep that"."""


def is_yes(text: str) -> bool:
    """Whether a message only agrees."""
    return len(text) <= LONGEST and _YES.fullmatch(text.replace("’", "'").strip()) is not None


def is_no(text: str) -> bool:
    """Whether a message only refuses."""
    return len(text) <= LONGEST and _NO.fullmatch(text.replace("’", "'").strip()) is not None


def only_ends(text: str) -> bool:
    """Whether a message says so, and nothing else: "that's not true any more", 这个已经不对了."""
    return (_ENDS.fullmatch(text) or _ENDS_ZH.fullmatch(text)) is not None
