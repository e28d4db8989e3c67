"""Tells a question for what an occasion held, such as its agenda, its mood or somebody's advice, and who tells of it.

That there was a workshop is mostly kept, what was taught there is not: all that is known of it is as like the question
as an answer would be. So where such a thing is asked for, a memory has to name it, or to say more than that it was.
"""

import re
from collections.abc import Iterable
from typing import Final

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_THINGS: Final = (
    "advice|tips?|recommendations?|suggestions?|guidance|techniques?|methods?|topics?|themes?|contents?|points?"
    "|arguments?|insights?|takeaways?|lessons?|strateg(?:y|ies)|agenda|curriculum"
    "|atmosphere|ambian?ce|mood|vibe|reactions?|response|reasons?|rationale|motives?|motivation"
    "|criteri(?:a|on)|qualifications?|credentials?|expertise|format|structure|layout"
)

_POLITE: Final = lazy_pattern(r"\b(?:can|could|would|will) you\b(?: please)?")
_WISHED: Final = lazy_pattern(
    r"\b(?:you|your|should|would|might|ought|need|best|good|better|some|any|want)\b|\b(?:can|could|may) (?:i|we)\b"
    r"|\bhelp me\b"
)
"""Who asks like this wants something new, and not what was."""
_ASKED: Final = lazy_pattern(
    r"\b(?:what|which)(?: (?:is|are|was|were))?"
    rf"(?: (?!(?:did|do|does|has|have|had|is|are|was|were)\b)[\w’'-]+){{0,5}}? (?P<what>{_THINGS})\b"
    rf"|\b(?:share|give|provide|tell|describe)\b[^.?!]{{0,40}}?\b(?:the|his|her|their|\w+[’']s)"
    rf"(?: [\w’'-]+){{0,2}}? (?P<the>{_THINGS})\b"
    r"|\bwhat (?:was|were|got) (?:[\w’'-]+ or )?(?P<done>discussed|decided|covered|taught|debated|talked about)\b"
)
_WAS: Final = lazy_pattern(
    r"\b(?:did|was|were|had|gave|given|made|taught|covered|shared|discussed|attended|mentioned|met|read)\b"
    rf"|[’']s (?:[\w’'-]+ )?(?:{_THINGS})\b|\b(?:{_THINGS}) (?:or [\w’'-]+ )?(?:of|from|at|during)\b"
)
"""What shows that it is or was somebody's, or of some occasion."""
_HAPPENED: Final = frozenset(
    tokenize(
        "go went gone come came take took taken have had attend visit meet met see saw hold held happen join leave"
        " left quit move give gave given get got be make made do did begin began start end finish last run ran long"
        " time day week month year hour minute morning afternoon evening night noon midnight today yesterday"
        " tomorrow tonight early late monday tuesday wednesday thursday friday saturday sunday january february"
        " march april may june july august september october november december spring summer autumn winter am pm"
        " o'clock half past next ago name call user"
    )
)
"""What is said of any occasion: that it was, when, how long, and what somebody is called."""
_PLACED: Final = lazy_pattern(
    r"\b(?:in|at|on|near|outside) (?:the|an?|my|our|his|her|their) [\w’'-]+"
    r"|\b(?:with|to|at|in|from) (?:[A-Z][\w’'-]* ?){1,3}"
)
"""Where it was, and who came along."""
_MOMENT: Final = lazy_pattern(r"\b(?:at|from|until|till|to|on|in|for) \d[\d:.]*(?:st|nd|rd|th)?\b")
"""When it was."""

_CHINESE_THINGS: Final = (
    "建议|意见|技巧|方法|要点|内容|议程|主题|话题|观点|论点|策略|心得|标准|气氛|氛围|反应|感想"
    "|理由|原因|资历|资质|专长|形式|结构"
)
_CHINESE_ASKED: Final = lazy_pattern(
    rf"(?:什么|哪些|啥|怎么样的|怎样的)(?:样的|具体的?|主要的?)?(?P<what>{_CHINESE_THINGS})"
    rf"|(?P<the>{_CHINESE_THINGS})(?:都|具体)?(?:是|有|包括)?(?:什么|哪些|啥|怎么样|怎样|如何)"
    r"|(?P<done>讨论|讲|聊|教|说)(?:了|过)(?:些)?(?:什么|啥|哪些)"
)
_CHINESE_WAS: Final = re.compile(r"[了过]|当时|那[次天场]|上[次周个]|[他她]|的时候")
_CHINESE_WISHED: Final = re.compile(r"你|应该|[有给]我?推荐|帮我|怎么办|想要|需要")
_CHINESE_HAPPENED: Final = lazy_pattern(
    "在[^，。！？]{1,6}|[一二三四五六七八九十两几半\\d]{1,4}[点月日号年周天分个小时]{1,2}|(?:周|星期|礼拜)[一二三四五六日天末]"
    "|[上下这那][个]?(?:周|月|次|天|场|星期|礼拜)|[今昨明前去]天|[去今明]年|早上|上午|中午|下午|晚上|当时|时候|小时|分钟"
    "|[我你他她它们的了过是有在去看见到参加开办和跟，。！？：；、]"
)
"""The same in Chinese, with characters that say nothing."""
_LEAST_CHINESE: Final = 2
"""Chinese characters that are left where more is told."""
_LONGEST: Final = 1_000
"""Characters that are looked into."""


def is_untold(query: str, texts: Iterable[str]) -> bool:
    """Whether it is asked what an occasion held, and of some memories that speak of it none says more than it was."""
    asked = contents_asked_for(query)
    if asked is None:
        return False
    words = _words(query)
    about = [text for text in texts if not words.isdisjoint(_words(text))]
    return bool(about) and not any(tells_contents(text, asked, query) for text in about)


def contents_asked_for(query: str) -> str | None:
    """Name what an occasion or a person is to have held, as the question says it; None where none is asked for."""
    asked = _POLITE.sub(" ", query[:_LONGEST].casefold())
    if is_cjk(asked):
        shape, was, wished = _CHINESE_ASKED, _CHINESE_WAS, _CHINESE_WISHED
    else:
        shape, was, wished = _ASKED, _WAS, _WISHED
    found = shape.search(asked)
    if found is None or wished.search(asked) or not was.search(asked):
        return None
    return next(word for word in found.groups() if word)


def tells_contents(text: str, asked: str, query: str) -> bool:
    """Whether a memory names what was asked for, or says more than the question does but when, where and with whom.

    Args:
        text: Its words.
        asked: What `contents_asked_for` has named.
        query: The question.
    """
    told = text[:_LONGEST]
    if is_cjk(asked):
        left = _words(_CHINESE_HAPPENED.sub("", told)) - _words(query)
        return asked in told or len(left) >= _LEAST_CHINESE
    if re.search(rf"\b{re.escape(asked.removesuffix('s'))}", told.casefold()):
        return True
    return not _words(_MOMENT.sub(" ", _PLACED.sub(" ", told))) <= _HAPPENED | _words(query)


def _words(text: str) -> frozenset[str]:
    """The words of a text that say something; of Chinese the characters."""
    text = text[:_LONGEST]
    return frozenset(_CHINESE_HAPPENED.sub("", text) if is_cjk(text) else tokenize(text))
