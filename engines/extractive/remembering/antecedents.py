"""Finds what "it" is that somebody changes: "we moved it to 19 June" is about the ferry that they had booked.

A change that names nothing is understood by what was said last of a thing with a value of the same kind: a day after a
day, an amount after an amount. Only what is named in so many words is found; a thing that is only meant is not guessed.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentic_memory_bank.engines.conversation import USER, Fact, Turn, TurnQuote
from agentic_memory_bank.engines.extractive.remembering.changes import (
    announces_change,
    changed_clauses,
    subject_terms,
    value_kinds,
)
from agentic_memory_bank.engines.own_words import own_words
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.sentences import QUESTION_END, sentences
from agentic_memory_bank.tools.text.spans import Span

LOOKED_BACK: Final = 8
"""Turns before one in which the thing is looked for that it changes."""
LONGEST: Final = 400
"""Characters of a sentence that is looked into."""

_IT: Final = re.compile(r"\b(?:it|that|this|them|those|these|they)\b", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"\b(?:my|our|the|his|her|their|an?) (?!(?:bit|lot|few|while|way|moment|end)\b)[a-z]", re.IGNORECASE
)
"""A change with a thing of its own."""
_EMPTY_CHINESE: Final = re.compile(
    r"其实|算了|还是|不对|应该|已经|刚刚|后来|最后|我们|他们|她们|这个|那个|一下|吧|了|就|又|再|给|我|他|她|它"
)
"""Words of a Chinese change that name nothing."""
_HAN: Final = re.compile(r"[\u4e00-\u9fff]{2}")
_THING: Final = re.compile(
    r"\b(?P<thing>(?:my|our|the|his|her|their|an?) (?:[a-z][\w'-]* ){0,3}?[a-z][\w'-]*)"
    r"(?= (?:for|to|on|in|at|is|was|are|were|will|from|with|by|until|till|costs?|starts?|has|have|of)\b|[,.;:!]|$)",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"^\W{0,3}(?:(?:so|and|ok(?:ay)?|btw|well|also|oh|yes|no),? )?"
    r"(?P<thing>(?!(?:it|that|this|he|she|we|i|they|there|you|what|who)\b)[a-z][\w'-]*(?: (?!is\b|was\b)[\w'-]+){0,3}?)"
    r" (?:is|was|are|were|will|costs?|starts?|got|has been)\b",
    re.IGNORECASE,
)
_THING_CHINESE: Final = re.compile(r"的(?P<thing>[\u4e00-\u9fff]{2,6})(?=[，。；！,.!\s]|$)")
_SUBJECT_CHINESE: Final = re.compile(
    r"^(?:我们?的?|今年的?|这次的?)?(?P<thing>(?!我|你|他|她|它)[\u4e00-\u9fff]{2,6}?)(?:是|在|定|约|订|安排|改|要|一共|大概|预算|[:：])"
)


def understood(fact: Fact, earlier: Sequence[Turn]) -> Fact:
    """A fact that changes "it", with the thing that was named before; any other as it is.

    Args:
        fact: What a turn says.
        earlier: The turns before it.
    """
    said = [turn for turn in earlier if turn.role == "user" and (turn.speaker or USER) == fact.speaker]
    found = antecedent(fact.words, [own_words(turn.text) for turn in said]) if said and len(fact.quotes) == 1 else None
    if found is None:
        return fact
    turn, (start, end) = said[found[0]], found[1]
    thing = TurnQuote(turn.id, turn.text[start:end], (start, end))
    return replace(
        fact, text=fact.text.replace(fact.words, f"({thing.text}) {fact.words}", 1), quotes=(thing, *fact.quotes)
    )


def antecedent(said: str, before: Sequence[str]) -> tuple[int, Span] | None:
    """The thing that a change is about which names none: the index of an earlier text, and where it stands in it.

    Args:
        said: What is said now.
        before: What the same person said before it, oldest first.
    """
    kinds = _kinds_of_nothing_named(said)
    for place in reversed(range(len(before) if kinds else 0)):
        spans = sentences(before[place])
        for start, end in reversed(list(spans)):
            sentence = before[place][start:end]
            if len(sentence) > LONGEST or QUESTION_END.search(sentence.strip()) or not kinds & value_kinds(sentence):
                continue
            if found := named_thing(sentence):
                return place, (start + found[0], start + found[1])
    return None


def _kinds_of_nothing_named(said: str) -> set[str]:
    """The kinds of the values of a change that names nothing which changes; none where it is no such change."""
    if not announces_change(said) or len(said) > LONGEST:
        return set()
    if is_cjk(said):
        is_empty = not any(map(_HAN.search, subject_terms(_EMPTY_CHINESE.sub(" ", said))))
    else:
        is_empty = _IT.search(said) is not None and _NAMED.search(said) is None
    return set[str]().union(*map(value_kinds, changed_clauses(said))) if is_empty else set()


def named_thing(sentence: str) -> Span | None:
    """Where a sentence names what it gives a value of: its subject, or else the first thing in it."""
    patterns = (_SUBJECT_CHINESE, _THING_CHINESE) if is_cjk(sentence) else (_SUBJECT, _THING)
    found = next((match for pattern in patterns if (match := pattern.search(sentence.strip()))), None)
    if found is None:
        return None
    lead = len(sentence) - len(sentence.lstrip())
    return lead + found.start("thing"), lead + found.end("thing")
