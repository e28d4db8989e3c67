"""Tells apart things that go by one name, the old phone and the new one, and finds what has only another number now.

"My blue box number 2 is on shelf 7" corrects nothing that was told of box number 1; "they moved mum to ward 9" corrects
the ward of "in ward 6 at St Luke's", and neither the hospital nor what else was told with it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import words_of

_KINDS: Final = tuple(
    words_of(words)
    for words in (
        "old new former previous current",
        "first second third fourth fifth",
        "left right",
        "front rear back",
        "top bottom upper lower",
        "older younger elder eldest youngest",
        "red blue green black white yellow grey gray brown orange purple pink",
        "旧 老 新",
        "左 右",
        "前 后",
    )
)
"""Words that tell things of one name apart; those of one line exclude each other."""
_MARK_OF: Final = {word: kind for kind, words in enumerate(_KINDS) for word in words}
_MARKED: Final = lazy_pattern(
    rf"\b(?P<mark>{'|'.join(word for word in _MARK_OF if word.isascii())}) "
    r"(?!(?:year|time|day|week|month|night|hour|half|place"
    r"|hand|side|name|thing|one|ones|and|away|off|now|job|man|woman|lady|guy|boy|girl)s?\b)"
    r"(?P<thing>[a-z]{3,20})\b"
    r"|(?P<zh>[旧老新左右前后])(?P<what>手机号?|电脑|房子|车|公司|工作|地址|号码|家|膝盖?|手|脚|腿|眼|耳|肩|轮|胎|门)",
    re.IGNORECASE,
)
_NUMBERED: Final = lazy_pattern(
    r"\b(?P<thing>[a-z]{3,20}) (?:number |no\.? ?|nr\.? ?|#)?(?P<n>\d{1,4}[a-z]?)\b"
    r"(?=(?:'s| is| are| was| has| needs| costs| holds| goes| belongs| wants)\b)"
    r"|第(?P<nth>[一二三四五六七八九十\d]+)个?(?P<what>[\u4e00-\u9fff]{1,3}?)(?=的|是|在|有|要)"
    r"|老(?P<child>[大二三四五])(?P<of>)(?=的|是|在|有|要|叫|上|\d)",
    re.IGNORECASE,
)
"""A thing that goes by a number, of which something is said."""
_LABEL: Final = (
    r"(?:ward|room|flat|floor|gate|platform|seat|table|page|level|group|class|lane|bay|desk|locker|unit|building|block"
    r"|channel|stage|terminal|hall|studio|bed|apartment|suite|track|line|zone|district|year|grade|part|chapter|net)"
)
_PLACE: Final = lazy_pattern(
    rf"(?P<phrase>(?: (?:in|on|at|to|from|into) (?:the )?| )?\b(?P<label>{_LABEL}) (?P<n>\d{{1,4}}[a-z]?)\b)",
    re.IGNORECASE,
)
"""A label with a number, and what leads to it."""
LEAST_BESIDE: Final = 2
"""Words that a clause has to say besides, so that only the label of it is replaced."""


def are_told_apart(one: str, other: str) -> bool:
    """Whether two texts speak of two things of one name: the left knee and the right one, flat 12 and flat 14."""
    return any(_differ(of(one), of(other)) for of in (_marked, _numbered))


def _differ(ours: Mapping[tuple[str, int], frozenset[str]], theirs: Mapping[tuple[str, int], frozenset[str]]) -> bool:
    return any(ours[thing].isdisjoint(theirs[thing]) for thing in ours.keys() & theirs.keys())


def _marked(text: str) -> dict[tuple[str, int], frozenset[str]]:
    found = ((one["thing"] or one["what"], one["mark"] or one["zh"]) for one in _MARKED.finditer(text))
    return _gathered((thing.casefold(), _MARK_OF[mark.casefold()], mark.casefold()) for thing, mark in found)


def _numbered(text: str) -> dict[tuple[str, int], frozenset[str]]:
    found = _NUMBERED.finditer(text)
    return _gathered(
        ((one["thing"] or one["what"] or "").casefold(), -1, one["n"] or one["nth"] or one["child"]) for one in found
    )


def _gathered(found: Iterator[tuple[str, int, str]]) -> dict[tuple[str, int], frozenset[str]]:
    marks: dict[tuple[str, int], frozenset[str]] = {}
    for thing, kind, mark in found:
        marks[thing, kind] = marks.get((thing, kind), frozenset()) | {mark}
    return marks


def renumbered(new: str, clause: str) -> Span | None:
    """Where a clause names a place, or a term, by a number that is another one now, if it says something besides."""
    for found in _renumbered(new, clause):
        left = clause[: found.start("phrase")] + clause[found.end("phrase") :]
        return found.span("phrase") if len(subject_terms(left)) >= LEAST_BESIDE else None
    return None


def has_other_number(new: str, clause: str) -> bool:
    """Whether a clause has another number under a label of a later text: "net 30" beside "net 14"."""
    return any(_renumbered(new, clause))


def _renumbered(new: str, clause: str) -> Iterator[re.Match[str]]:
    """The labels of a clause that have another number in a later text."""
    now = {one["label"].casefold(): one["n"] for one in _PLACE.finditer(new)}
    found = _PLACE.finditer(clause)
    return (one for one in found if now.get(one["label"].casefold(), one["n"]) != one["n"])
