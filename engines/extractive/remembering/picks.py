"""Hears which of the things that an assistant listed somebody picks: "the second one" after three dishes, 要第一个.

What was only suggested is no memory of the user's; what they pick of it is, and means nothing without its name.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.spans import Span, trimmed

LONGEST: Final = 200
"""Characters of a sentence that picks."""
LONGEST_LIST: Final = 4_000
"""Characters of what an assistant says that are looked into."""
LONGEST_ITEM: Final = 160
"""Characters of a thing that is listed; what is longer is a paragraph."""

_ORDINALS: Final = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "former": 0, "latter": -1}
_ORDINALS_CHINESE: Final = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4}
_PICKS: Final = lazy_pattern(
    r"\A\W*(?:(?:ok(?:ay)?|yes|yeah|yep|hmm+|oh|right|well|so|definitely|i (?:like|love|want|prefer|choose|pick|think)"
    r"|(?:i|we)(?:'ll| will| think we'll) (?:take|go (?:with|for)|do|have|try|make|use|book)"
    r"|let(?:'s| us) (?:do|go (?:with|for)|take|try|have|use)|go(?:ing)? (?:with|for)|went (?:with|for)|give me|it's"
    r"|gotta be|has to be)\b[\s,.:!-]{1,3}){0,3}"
    r"(?:the |your |that )?(?:(?:(?P<place>first|second|third|fourth|fifth|last)(?: (?:one|option|idea|suggestion"
    r"|choice|version|name|of (?:those|them|the (?:two|three|four|five))))?|(?P<of_two>former|latter)"
    r"|(?:number|option|no\.?) ?(?P<number>[1-5]|one|two|three|four|five))(?=\W*$|[,.;:!]|\s(?:please|it is|then"
    r"|and|for|sounds|works|of)\b))",
    re.IGNORECASE,
)
_PICKS_CHINESE: Final = lazy_pattern(
    r"\A\W*(?:(?:好的?|嗯+|行|那就?|我们?|就|要|选|用|定|想要|喜欢|还是|觉得|按|来)[，,、]?){0,5}"
    r"(?:第(?P<place>[一二三四五])[个种条款首项]|(?P<last>最后(?:一)?[个种条款首])|头一[个种])(?![^，,。！!]{0,8}[不没别太])"
)
_REFUSES: Final = lazy_pattern(
    r"\b(?:not|no|never|don't|doesn't|isn't|can't|won't|too|nope|hate|except|but not)\b", re.IGNORECASE
)
_FIRST_PART: Final = lazy_pattern(r"(?<=[^\s.,;!])\s{0,2}[.,;!].*", re.DOTALL)
_NUMBER_WORDS: Final = ("one", "two", "three", "four", "five")
_LINE: Final = lazy_pattern(r"^[ \t]{0,8}(?:\d{1,2}[.)、]|[-*•])[ \t]{0,4}(?P<item>\S[^\n]*)", re.MULTILINE)
_COUNTED_CHINESE: Final = lazy_pattern(
    r"(?:(?:第?[一二三四五][是、，：:]|第[一二三四五][个种]?[，：:是]|[①②③④⑤]|(?<!\d)[1-5][.、)）])\s{0,2})"
    r"(?P<item>(?:(?![，,；;。]\s{0,2}(?:第?[一二三四五][是、，：:]|[①②③④⑤]|[1-5][.、)）]))[^。；;\n]){2,80})"
)
_BETWEEN: Final = lazy_pattern(r"[,;]\s{1,2}(?:(?:or|and)\s{1,2})?|\s(?:or)\s", re.IGNORECASE)
_BETWEEN_CHINESE: Final = lazy_pattern(r"[、；;]|[，,]?(?:或者是?|或|也可以|还可以|要么)|[，,](?=或|也)")
_EDGES: Final = " \t\n,.;:!?，。；：！？、*"


def picked(said: str, listed: str) -> Span | None:
    """Where an assistant names what a user picks; None where they pick nothing, or nothing was listed.

    Args:
        said: A sentence of the user.
        listed: What the assistant said just before.
    """
    place = _place(said[:LONGEST])
    if place is None:
        return None
    items = _items(listed[:LONGEST_LIST])
    if len(items) < 2 or not -len(items) <= place < len(items):
        return None
    start, end = items[place]
    return (start, end) if end - start <= LONGEST_ITEM else None


def _place(said: str) -> int | None:
    """Which of several things is picked, counted from 0; -1 for the last."""
    if is_cjk(said):
        found = _PICKS_CHINESE.match(said)
        return None if found is None else -1 if found["last"] else _ORDINALS_CHINESE.get(found["place"] or "一")
    plain = said.replace("’", "'")
    found = _PICKS.match(plain)
    if found is None or _REFUSES.search(_FIRST_PART.sub("", plain)):
        return None
    if number := found["number"]:
        return int(number) - 1 if number.isdigit() else _NUMBER_WORDS.index(number.casefold())
    return _ORDINALS[(found["place"] or found["of_two"]).casefold()]


def _items(listed: str) -> Sequence[Span]:
    """Where the things stand that are listed: lines, counted clauses, or what commas part."""
    for pattern in (_LINE, _COUNTED_CHINESE):
        found = [trimmed(listed, match.span("item"), _EDGES) for match in pattern.finditer(listed)]
        if len(found) > 1:
            return found
    enumerated = [list(_parted(listed, span)) for span in sentences(listed)]
    return max(enumerated, key=len, default=[])


def _parted(listed: str, span: Span) -> Iterator[Span]:
    """The parts of a sentence between commas and the "or" of the last; none where it joins none."""
    sentence = listed[slice(*span)]
    pattern = _BETWEEN_CHINESE if is_cjk(sentence) else _BETWEEN
    joints = list(pattern.finditer(sentence))
    if not any(len(joint[0].strip(" ,，")) for joint in joints):
        return
    starts, ends = [0, *(j.end() for j in joints)], [*(j.start() for j in joints), len(sentence)]
    for start, end in zip(starts, ends, strict=True):
        if sentence[start:end].strip(_EDGES):
            yield trimmed(listed, (span[0] + start, span[0] + end), _EDGES)
