"""Finds what is said to be wrong beside what is right: "isn't 7.2, it's 7.9", 上回说L4L5，其实是L5S1，以这个为准."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.clauses import clause_spans, subject_terms
from agentic_memory_bank.engines.extractive.remembering.life import kin_in
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

_HELD: Final = 4_096
"""Texts of which it is held what they correct: each is compared with all before it."""
MOST_READ: Final = 600
"""Characters of a memory that are read for what is said to be wrong."""
_NUMBER: Final = r"(?:[$€£]?[A-Za-z]?\d[\dA-Za-z.:%]{0,12}|[一二三四五六七八九十百千两半点]{2,8})"
_VALUE: Final = rf"(?:{_NUMBER}|(?-i:[A-Z])[a-z]{{1,15}})"
"""A number, or a name."""
_CORRECTED: Final = lazy_pattern(
    rf"(?P<topic>[^，。；、,;.!?\n]{{0,40}})(?:不是|\b(?:isn't|is not|aren't|wasn't|weren't|not)\s)\s?(?P<old>{_VALUE})"
    rf"[^，。,;.!?\n]{{0,12}}[，,]\s?(?:而是|应该是|是|but |it's |it is |they're |make that )?{_VALUE}",
    re.IGNORECASE,
)
"""A value beside the one that is wrong: "isn't 7.2, it's 7.9", 不是七点二，七点九."""
_SAID_WRONG: Final = lazy_pattern(
    rf"(?:\bi (?:said|told you|wrote)|(?:上[回次]|之前|刚才|刚刚)我?(?:跟你)?说(?:的|过)?|我说的?)"
    rf"(?P<topic>[^，。；,;.!?\n]{{0,30}}?)(?P<old>{_NUMBER})(?P<unit> ?\w{{0,12}})",
    re.IGNORECASE,
)
"""A value that was told before, where another one is given for it: "I said 610 acres, … it's 540"."""
_ADMITS: Final = lazy_pattern(
    r"\b(?:correction|correct(?:ed)?|wrong|mistake|misspoke|mixed (?:it |them )?up)\b|错|更正|纠正|为准", re.IGNORECASE
)
"""What says that something was told wrong."""
_THIRD: Final = (
    re.compile(r"\b(?:she|hers?)\b|她", re.IGNORECASE),
    re.compile(r"\b(?:he|his|him)\b|他", re.IGNORECASE),
)
_EACH_VALUE: Final = lazy_pattern(_VALUE)


def corrected_in(new: str, old: str) -> Iterator[Span]:
    """The clauses of an earlier memory that give a value of which a later one says that it is another.

    They have to be of the same thing, whose it is included: of two people, and of two things with a word in common,
    each has values of its own.
    """
    found = _corrections(new)
    for span in clause_spans(old) if found else ():
        clause = old[slice(*span)]
        if any(_is_of_the_same(one, clause, new) for one in found):
            yield span


def _is_of_the_same(one: re.Match[str], clause: str, new: str) -> bool:
    values = {value.casefold() for value in _EACH_VALUE.findall(clause)}
    if one["old"].casefold() not in values:
        return False
    of_others = kin_in(clause) - kin_in(new) or any(p.search(clause) and not p.search(new) for p in _THIRD)
    if of_others or not {n for n in names_and_numbers(f"so {clause}") if n[0].isalpha()} <= names_and_numbers(new):
        return False
    if (unit := one.groupdict().get("unit", "").strip()) and f"{one['old']} {unit}" in clause:
        return True
    terms = subject_terms(clause) - frozenset(tokenize(one["old"]))
    return 2 * len(terms & subject_terms(one["topic"])) > len(terms)


@lru_cache(maxsize=_HELD)
def _corrections(new: str) -> Sequence[re.Match[str]]:
    said = new[:MOST_READ]
    return [*_CORRECTED.finditer(said), *(_SAID_WRONG.finditer(said) if _ADMITS.search(said) else ())]
