"""Finds the value that a correction turns down by name: "Wednesday's no good, Thursday then", 周三不行，改到周四吧.

Whoever says why something will not be names it. It is looked for in what they said earlier, whatever kind it is of.
"""

import re
from collections.abc import Callable
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.value_patterns import kinds_in
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span

_TOO: Final = (
    r"too (?:early|late|far|expensive|pricey|dear|busy|loud|noisy|hot|cold|small|big|much|hard|soon|crowded|long)"
    r"|no good|not (?:going to work|possible|free|available)|full(?:y booked)?|sold out|booked(?: out| up| solid)?"
    r"|(?:out|off)(?! (?:of|to|in|at|for|with|on|work|school|sick|and)\b)|closed|not happening"
)
_REJECTED: Final = lazy_pattern(
    rf"(?:^|[,;.!—-]\s*|\b(?:but|as|because|since|so|and|the|that)\s)"
    rf"(?P<old>(?:(?-i:[A-Z])[\w'-]*?(?: (?-i:[A-Z])[\w-]*?)?|\d[\d.:]*(?:\s?[ap]m|k)?"
    rf"|(?:mon|tue|wed|thu|fri|sat|sun)\w{{0,6}}?|(?:the )?\d{{1,2}}(?:st|nd|rd|th)))"
    rf"(?:'s| is| was| are| were|'re)(?: just| a bit| way| really| all)? (?:{_TOO})\b",
    re.IGNORECASE,
)
_GIVEN_FOR: Final = lazy_pattern(
    r"\b(?:instead|rather|now|then|scratch that|actually|sorry|make (?:it|that)|mak(?:e|ing) it|settled on"
    r"|go(?:ing)? (?:for|with)|went (?:for|with)|(?:push|mov|switch|shift|chang)(?:e|ed|ing)? |doing|let's)\b",
    re.IGNORECASE,
)
_REJECTED_CHINESE: Final = lazy_pattern(
    r"(?:^|[，,。；;、\s])(?:可是|但是?|不过|因为|算了|不对|其实)?"
    r"(?P<old>[\u4e00-\u9fffA-Za-z\d]{2,6}?)(?:那边|那儿|那里|那天)?(?:的?人|的?票|的?房间?)?(?:实在|有点|确实|都|也|又)?"
    r"(?:太[多贵远早晚挤吵冷热忙难满]了?|不行|没空|没[房票位]了?|[满]了|订满了?|约满了?|去不了|来不了|来不及|关门了?|不方便)"
)
_GIVEN_FOR_CHINESE: Final = lazy_pattern(r"[改换](?![天个一])|还是[^，。]{1,8}吧|[挪推]到|就[定订去]")
SCRATCHES: Final = lazy_pattern(r"\b(?:scratch|scrap|strike) that\b", re.IGNORECASE)

Matcher = Callable[[str], Span | None]


def rejected_in(said: str) -> Matcher | None:
    """What finds the value that a sentence turns down for another one; None where it turns down none.

    Args:
        said: A sentence.
    """
    plain = said.replace("’", "'")
    rejected, given = (_REJECTED_CHINESE, _GIVEN_FOR_CHINESE) if is_cjk(plain) else (_REJECTED, _GIVEN_FOR)
    found = rejected.search(plain)
    if found is None or not given.search(plain):
        return None
    if not is_cjk(plain) and not SCRATCHES.search(plain) and not kinds_in(plain[found.end() :]):
        return None
    old = found["old"]
    edge = "" if is_cjk(old) else r"(?![\d.:]*\d)(?:\s?[ap]m\b)?" if old[-1].isdigit() else r"(?!\w{4})"
    pattern = re.compile(rf"(?<!\w){re.escape(old)}{edge}" if not is_cjk(old) else re.escape(old), re.IGNORECASE)

    def matcher(clause: str) -> Span | None:
        held = pattern.search(clause)
        return held.span() if held else None

    return matcher
