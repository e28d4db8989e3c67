"""Finds which of the values of a clause has changed: of "on 5 June with 80 guests" only the guests are fewer."""

import re
from collections.abc import Iterator
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

LONGEST: Final = 200
"""Characters of a clause that is looked into."""
LEAST: Final = 2
"""Values of a clause, of which one has changed."""
NEAR: Final = 6
"""Characters between a value and the word it is a value of, at most."""

_VALUE: Final = lazy_pattern(
    r"[$€£¥]?(?<![\w.])\d[\d,.:/]{0,11}(?<![,.:/])(?:k|m|%|mg|ml|kg|km)?(?:st|nd|rd|th)?"
    r"(?: (?:of )?(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*)?"
    r"|[一二两三四五六七八九十百千万]{1,8}(?=[块元人桌斤岁个号点万千百]|\s|$|，)"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)[一二三四五六日天]",
    re.IGNORECASE,
)
_WORD: Final = lazy_pattern(r"[^\W\d_][\w'’-]*")
_LEADS: Final = lazy_pattern(
    r"(?:[\s,、]{0,3}\b(?:with|and|at|for|of|has|have|having|plus|a|an|the|about|around|some)){0,4}[\s,、]{0,3}\Z",
    re.IGNORECASE,
)
_UNIT_ZH: Final = lazy_pattern(r"\A(?:公斤|公里|[块元人桌斤岁个号点类万千百]){0,2}")


def changed_value(new: str, clause: str) -> Span | None:
    """Where a clause with several values gives the one that has changed, with what it is a value of; None where unsure.

    Args:
        new: What is said now.
        clause: A clause of what was said earlier, which it replaces.
    """
    values = [found.span() for found in _VALUE.finditer(clause)] if len(clause) <= LONGEST else []
    if len(values) < LEAST or len(_VALUE.findall(new)) != 1:
        return None
    found = {
        value: word
        for word in _shared(new, clause)
        for value in values
        if 0 <= max(word[0] - value[1], value[0] - word[1]) <= NEAR and not _between(clause, word, value, values)
    }
    if len(found) == LEAST:  # "height 172 weight 70": what comes behind the word is of it
        found = {value: word for value, word in found.items() if value[0] >= word[1]}
    if len(found) != 1:
        return None
    value, word = next(iter(found.items()))
    start, end = min(value[0], word[0]), max(value[1], word[1])
    if is_cjk(clause) and (unit := _UNIT_ZH.match(clause[end:])):
        end += unit.end()
    lead = _LEADS.search(clause[:start])
    start = lead.start() if lead and start else start
    left = clause[:start] + " " + clause[end:]
    return (start, end) if subject_terms(left) or is_cjk(left) else None


def _between(clause: str, word: Span, value: Span, values: list[Span]) -> bool:
    """Whether another value, or another word with one, stands between a word and its value."""
    low, high = min(word[1], value[1]), max(word[0], value[0])
    return any(low <= other[0] < high for other in values if other != value) or "," in clause[low:high]


def _shared(new: str, clause: str) -> Iterator[Span]:
    """Where a clause has a word that says of what the new value is."""
    shared = subject_terms(new) & subject_terms(clause)
    if not is_cjk(clause):
        for word in _WORD.finditer(clause):
            if shared & set(tokenize(word[0])):
                yield word.span()
        return
    end = -1
    for place in range(len(clause) - 1):
        if clause[place : place + 2] in shared and place >= end:
            end = place + 2
            yield place, end
