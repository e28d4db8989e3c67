"""Tells what somebody states of their world from what they ask, order, suppose, or say to keep a conversation going.

Whatever a user says of themselves, of others, of how things are to be done is a statement, whether or not it says "I":
people who tell leave their subject out, in Chinese more often than not. So the rest is named, in `phrases`, and all
else stays.
"""

from typing import Final

from agentic_memory_bank.engines.extractive.reading import phrases
from agentic_memory_bank.engines.extractive.remembering.queries import is_greeting, is_personal
from agentic_memory_bank.engines.own_words import ORDERS
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.terms import tokenize

LEAST_TERMS: Final = 3
"""Index terms of a statement."""
LEAST_SPECIFIC: Final = 2
"""Index terms of one with a name or a number."""
LEAST_CHINESE: Final = 5
"""Index terms of a Chinese one without a name or a number: each character counts, and each pair of them."""
END: Final = 16
"""Characters at the end of a sentence in which Chinese asks."""
LONGEST_MOOD: Final = 60
"""Characters of a sentence that tells of nothing but today."""


def is_asking(sentence: str) -> bool:
    """Whether a sentence asks something, or for something to be done now."""
    plain = sentence.replace("’", "'").strip()
    if plain.endswith((":", "：")):
        return False
    if phrases.QUESTION.search(plain) or (phrases.ENGLISH_QUESTION.match(plain) and not phrases.WHENEVER.match(plain)):
        return True
    if phrases.WISH.search(plain):
        return False
    if (
        phrases.REQUEST.match(plain)
        or phrases.EMBEDDED.match(plain)
        or (phrases.PLEASE.search(plain) and not is_personal(plain))
    ):
        return True
    if not is_cjk(plain):
        return phrases.WANTS.search(plain) is not None
    return any(
        found is not None
        for found in (
            phrases.CHINESE_QUESTION.search(plain[-END:]),
            phrases.CHINESE_HOW.match(plain),
            phrases.CHINESE_REQUEST.search(plain),
        )
    )


def is_statement(sentence: str) -> bool:
    """Whether a sentence states something that may be worth knowing later."""
    plain = sentence.replace("’", "'").strip()
    if any(pattern.search(plain) for pattern in (ORDERS, phrases.SUPPOSED, phrases.HEARSAY_OF_WORLD, phrases.WORLD)):
        return False
    return not _is_of_everybody(plain) and not (_is_chat(plain) or is_asking(plain) or _is_to_the_other(plain))


def says_enough(text: str) -> bool:
    """Whether what is stated is enough to be understood later."""
    terms = len(set(tokenize(text)))
    if phrases.BRIEF.match(text.replace("’", "'")):
        return terms >= LEAST_SPECIFIC
    if names_and_numbers(phrases.OPENING.sub("", text)):
        return terms >= LEAST_SPECIFIC
    return terms >= (LEAST_CHINESE if is_cjk(text) else LEAST_TERMS)


def _is_chat(plain: str) -> bool:
    """Whether a sentence greets, agrees, takes leave, or tells of the mood of a day."""
    if is_greeting(plain) or phrases.SMALL_TALK.match(plain) or phrases.SMALL_TALK_CHINESE.match(plain):
        return True
    if phrases.LEAVING.match(plain) or phrases.PRAISE.match(plain):
        return True
    return len(plain) <= LONGEST_MOOD and phrases.MOOD.search(plain) is not None and not names_and_numbers(plain)


def _is_of_everybody(plain: str) -> bool:
    """Whether "we" are all people: "books inspire us"."""
    if is_cjk(plain) or not is_personal(plain) or names_and_numbers(plain):
        return False
    if phrases.SINGULAR.search(plain) or phrases.SOMEBODY.search(plain):
        return False
    return not (phrases.WE.search(plain) or phrases.PAST.search(plain))


def _is_to_the_other(plain: str) -> bool:
    """Whether a sentence is about the one who is spoken to: nothing of the speaker's, unless it is a standing wish."""
    told = plain.startswith(("你", "您")) if is_cjk(plain) else phrases.ADDRESSES.search(plain)
    return bool(told) and not is_personal(plain) and not phrases.WISH.search(plain)
