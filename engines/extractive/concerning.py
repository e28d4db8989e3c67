"""Says what a request to forget is about, and whether a memory concerns it."""

import re
from typing import Final

from agentic_memory_bank.engines.extractive.dialogue import key_terms
from agentic_memory_bank.tools.text import is_cjk, names_and_numbers, tokenize

_ASKED: Final = re.compile(
    r"\A\W*(?:please\W+)?(?:(?:forget|delete|erase|remove)\b\W*)?"
    r"(?:(?:everything|anything|all|whatever|what|that)\b\W*)?(?:(?:you (?:know|remember)|i(?:'ve| have)? (?:said|told"
    r" you)|that)\b\W*)*(?:(?:concerns?|concerning|about|regarding|relat(?:es|ed|ing) to|is about)\b\W*)?",
    re.IGNORECASE,
)
_ASKED_CHINESE: Final = re.compile(
    r"\A\W*+(?:请)?(?:把)?(?:忘记|忘掉|忘了|删除|删掉)?(?:所有|一切)?(?:关于|有关)?(?:我们?的|我家的?)?(?P<subject>.+?)"
    r"(?:的(?:一切|所有(?:事情?|内容|记忆)?|事情?|内容|记忆)|(?:都)?(?:忘掉|忘记|删掉|删除)){0,3}(?:(?<!\W)\W*+)?\Z"
)


def subject_of(description: str) -> str:
    """What is to be forgotten, without the words that ask for it: "everything about my sister" is my sister."""
    bare = _ASKED.sub("", description.replace("’", "'")).strip()
    found = _ASKED_CHINESE.fullmatch(bare)
    return found["subject"] if found else bare


def terms_of(subject: str) -> set[str]:
    """The words that a memory has to hold to concern a subject; all words, where none says more than others."""
    return {part for term in key_terms(subject) for part in tokenize(term)} or set(tokenize(subject))


def concerns(terms: set[str], names: set[str], text: str) -> bool:
    """Whether a memory holds all words of a subject, or all its names and numbers.

    Args:
        terms: As `terms_of` gives them.
        names: The names and numbers of the subject.
        text: Of the memory.
    """
    said = set(tokenize(text))
    is_said = bool(terms) and all(term in said or (_is_one_character(term) and term in text) for term in terms)
    return is_said or (bool(names) and names <= names_and_numbers(text))


def _is_one_character(term: str) -> bool:
    """Whether a term is a Chinese word of one character: in a text, only pairs of characters are terms."""
    return len(term) == 1 and is_cjk(term)
