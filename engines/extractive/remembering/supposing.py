"""Tells what is supposed, guessed or joked about from what is so: "if I won the lottery", 要是中了五百万."""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

_SUPPOSED: Final = lazy_pattern(
    r"\b(?:maybe|perhaps(?! to (?:mention|say|add|note|tell)\b)|(?<!\byou )might"
    r"|not sure|not decided|idk|probably|i wish|what if|(?:i|one) wonders?"
    r"|hypothetically|in another life|imagine (?:if|being)"
    r"|if only i\b|if (?:i|we|my) (?:were|had|won|could|\w+ed"
    r"|was (?:very |so |that |really |a )?(?:rich|king|queen|young|famous|\w+aire)"
    r"|(?:win|hit) (?:\w+ ){0,2}(?:lotto|lottery|jackpot|pools)"
    r"|(?:find|found|win|get|got|see) (?:\w+ ){0,2}(?:million|billion|crore)s?)\b"
    r"|if (?:\w+ ){1,3}had (?:not |never |only )?(?:\w{2,}[^e\W]ed|kept|bought|sold|gone|been|taken|known|given"
    r"|come|done|made|left|won|lost|seen)\b[^.!?]{2,100}\b(?:would|might)\b"
    r"|if (?!you\b|u\b)(?:\w+ ){1,5}(?:\w{2,}[^e\W]ed|lost|left|fell|came|went|gave)\b[^.!?]{0,40}? i(?:'?d| would)"
    r" (?!like|love|rather|prefer|appreciate|had\b|been\b)"
    r"|if (?:i|we|he|she|they) (?:ever|somehow) (?!\w+ you\b|ask|mention)[^.!?]{2,60}\b(?:i|we)(?:'m|'ll|'d| will"
    r"| would| am)"
    r"|(?:was |am |'m |been )?thinking (?:of|about|how)|i guess|i suppose|i bet|just kidding|joking)\b"
    r"|也许|可能会|还没想好|没决定|不确定|(?<![主只就还])要是|万一|假如"
    r"|倘若[^，。]{1,6}(?:能|可以)|[如要](?:果|是)?哪天(?:真的?|突然)?(?:红|紅|火|发财|發財|中|有钱|出名)|如果我(?:是|有|中)"
    r"|如果(?:我|能|我能)(?:做老板|当老板|穿越|重来|重生|回到|变成|隐身)|下辈子|假设|想象一下|开玩笑",
    re.IGNORECASE,
)
"""What is a wish, a guess or a joke, and may never be."""


GUESSES: Final = lazy_pattern(
    r"\W*(?=[^,;.]{0,80}\b(?:i|we|he|she|they|you|the \w+)(?:'(?:ll|d|m|re|s))? \w+ \w+)[^,;，；]{8,120}[.!。！]*\Z"
    r"|\W*(?:要是|万一|如果|假如|也许|可能会|没准)(?!真)[^，；。]{4,40}(?<!就好了)(?:[，,][^，；。]{0,30})?[。！]*\Z",
    re.IGNORECASE,
)
"""A guess with something of its own to say, at the end of a sentence; "not sure" doubts what stands before it."""
_REASON: Final = lazy_pattern(
    r"[,;] ?(?:because |since |as )?(?:s?he|they|i)(?:'s|'m|'re| is| am| are| has| have)"
    r"(?: (?!to\b|been\b)\w+){1,8}\W*$",
    re.IGNORECASE,
)
"""What is so, said behind what would be: "she'd kill me if I ordered shrimp, she's allergic"."""


_HOPED: Final = lazy_pattern(
    r"\b(?:i|we)(?: do| really| only| just| still)? (?:hope|wish|dream(?:t|ed)?)\b"
    r"|\b(?:hoping|fingers crossed|had a dream)\b"
    r"|\bwouldn't it be\b|\bwould be (?:nice|great|good|lovely) (?:if|to)\b|\bimagine (?:if|my|our|we|i)\b"
    r"|\b(?:can't|cannot|don't|didn't|couldn't)(?: quite| even)? remember (?:if|whether|what|how|when|where"
    r"|which|who)\b"
    r"|\b(?:forgot(?:ten)?|no idea|unsure|wonder(?:ing)?) (?:if|whether|what|how|when|where|which|who)\b"
    r"|\b(?:wants? me|told me to|asked me to|suggest\w{0,4}|advis\w{0,4})\b[^.!?]{0,80}\b(?:said no|refus\w{1,4}"
    r"|declin\w{1,4}|won't|not going to|don't want)\b"
    r"|希望|但愿|梦[到见]|做梦|记不清|不记得|忘了(?:是|到底)|听说[^，。]{0,12}(?:可能|也许)"
    r"|(?:让|叫|劝|建议|要)我[^。！？]{0,24}(?:没同意|没答应|没听|不肯|不想|拒绝|不同意|不愿|没停|没换|你怎么看|你觉得)",
    re.IGNORECASE,
)
"""What is hoped, dreamt, forgotten, or wanted by somebody else and refused: nothing has changed by that."""


def is_hoped(text: str) -> bool:
    """Whether a text tells of no change, though it speaks of one: it is only hoped for, doubted or refused.

    Args:
        text: What a user says.
    """
    return _HOPED.search(text.replace("’", "'")) is not None


def supposed_from(sentence: str) -> int | None:
    """Where a sentence begins to suppose something; None where it does not, or says behind it what is so."""
    found = _SUPPOSED.search(sentence)
    return None if found is None or _REASON.search(sentence) else found.start()
