"""Tells which memories are of somebody else than a question asks about: what Kwame is allergic to is not what Yuki is.

A model that reads question and memory together takes one person's nuts for another's. Only what begins with another
name, and speaks of nobody else, is of somebody else: people go on about somebody without naming them each time.
"""

import re
from collections.abc import Sequence
from typing import Final

from agentic_memory_bank.engines.extractive.reading import concepts
from agentic_memory_bank.engines.extractive.remembering.clauses import subject_terms
from agentic_memory_bank.engines.extractive.remembering.later import is_somebody_elses
from agentic_memory_bank.engines.extractive.remembering.life import asks_for_own, kin_in, kin_words
from agentic_memory_bank.engines.extractive.remembering.whom import NICKNAME, names_by_role
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_ASKED: Final = lazy_pattern(
    r"\b(?:is|was|does|did|has|will|can|should|would|when's|where's|who's|what's) (?P<who>[A-Z][a-z]+)\b"
    r"|(?<=[a-z,] )(?P<whose>[A-Z][a-z]+)['’]s?\b"
)
_ASKED_CHINESE: Final = lazy_pattern(
    r"\A\W*(?P<who>(?![我你他她它谁哪什怎几多这那])[\u4e00-\u9fff]{2,3}?)"
    r"(?=对什么|的(?:生日|女儿|儿子|孩子|老公|老婆|爱人|工作|电话|地址|猫|狗)|(?:今年)?几岁|喜欢|住在?哪|在哪|是做什么)"
)
_BEGINS: Final = lazy_pattern(
    r"\A\W*(?:(?:and|but|so|oh|well),? )?(?P<who>[A-Z][a-z]{1,20})"
    r"(?='s\b| (?:is|was|has|had|will|can't|can|does|doesn't|did|[a-z]{2,10}(?:s|ed))\b)"
)
_ELSE: Final = lazy_pattern(r"\b(?:she|he|her|him|his|hers|they|their|them|who)\b|[他她]", re.IGNORECASE)
_IS_USER: Final = lazy_pattern(r"\b(?:I'm|I am|[Mm]y name is|[Cc]all me|it's) (?P<who>[A-Z][a-z]+)")
_OF_SPEAKER: Final = lazy_pattern(r"\b(?:I|we)(?:['’](?:m|ve|d|ll|re))?\b|(?<!\A)我", re.IGNORECASE)
"""What a text says of its speaker, and not only whose somebody is: "my sister"."""
_LEAST: Final = 4
"""Letters by which a name is known in a shorter or longer form."""


def are_of_others(question: str, texts: Sequence[str]) -> list[bool]:
    """Of each memory, whether it is of somebody else than the question asks about: by name, or of the speaker's own.

    "What's my rent?" asks for no sister's, where the speaker has told of theirs.

    Args:
        question: What is asked.
        texts: Words of the memories.
    """
    names = _asked(question)
    if not names and asks_for_own(question) and not kin_words(question):
        return _somebody_elses(question, texts)
    if not names or any(_is_one(found["who"], names) for text in texts for found in _IS_USER.finditer(text)):
        return [False] * len(texts)
    roles = {role for role, given in names_by_role(texts).items() if any(_is_one(name, names) for name in given)}
    return [_begins_with_another(text) and not _mentions(text, names | roles) for text in texts]


def _somebody_elses(question: str, texts: Sequence[str]) -> list[bool]:
    wanted = subject_terms(question)
    fitting = [bool(wanted & subject_terms(text)) for text in texts]
    theirs = [
        fits and _OF_SPEAKER.search(text) is None and is_somebody_elses(text, "")
        for fits, text in zip(fitting, texts, strict=True)
    ]
    is_told = any(fits and not other for fits, other in zip(fitting, theirs, strict=True))
    return [is_told and other for other in theirs]


def _asked(question: str) -> set[str]:
    """The people that a question asks about, by name."""
    pattern = _ASKED_CHINESE if is_cjk(question) else _ASKED
    found = {next(filter(None, one.groups())) for one in pattern.finditer(question)}
    if is_cjk(question):
        found |= {one[0] for one in NICKNAME.finditer(question)}
    return {name for name in found if not kin_in(name)}


def _is_one(name: str, names: set[str]) -> bool:
    return any(name.casefold()[:_LEAST] == one.casefold()[:_LEAST] for one in names)


def _mentions(text: str, names: set[str]) -> bool:
    """Whether a text names one of some people, if only in a shorter or longer form."""
    plain = text.casefold()
    return any((name if is_cjk(name) else name[:_LEAST]).casefold() in plain for name in names)


def _begins_with_another(text: str) -> bool:
    """Whether a text begins with a name, and says nothing of "her" or "him"."""
    if _ELSE.search(text):
        return False
    if is_cjk(text):
        return NICKNAME.match(text) is not None
    found = _BEGINS.match(text)
    return found is not None and not any(map(concepts.of_term, tokenize(found["who"]))) and not kin_in(found["who"])
