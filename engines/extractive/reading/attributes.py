"""Reads what a sentence says of somebody: whom it is about, which attribute, and its value (Ana, home, Lisbon)."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.reading.attribute_patterns import (
    CHINESE,
    CHINESE_FUNCTIONAL,
    CHINESE_KIN,
    ENGLISH,
    FUNCTIONAL,
    KIN,
    NAME,
)
from agentic_memory_bank.engines.extractive.reading.lexicon import WORD_CLASSES
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, comparable, values_of
from agentic_memory_bank.tools.text.attribution import USER
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

MOST_WORDS: Final = 8
"""A longer value is a sentence of its own, and no value."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One attribute of somebody, as a sentence states it.

    Attributes:
        subject: Whom it is about: the speaker, "Ana's sister", or a name.
        attribute: "home", "job", "budget hawaii", "liking fish" …
        value: As written.
        denied: Whether it is said not to be so ("I no longer live in Lisbon").
        span: Where it stands in the sentence, from its subject to the end of its value.
        revises: Whether it says itself that something has changed ("is now").
    """

    subject: str
    attribute: str
    value: str
    denied: bool
    span: Span
    revises: bool = False


_OWN: Final = frozenset(("i", "we", "my", "our", "the", "the user", "user"))
_SEVERAL: Final = frozenset(
    ["friend", "colleague", "cousin", "neighbour", "roommate", "uncle", "aunt", "niece", "nephew"]
)
"""Whom one may have several of: without a name it is not known which."""
_NAMED: Final = lazy_pattern(NAME)
_CHINESE_NOUN: Final = lazy_pattern(f"(?:{CHINESE_FUNCTIONAL})$")
_MY_KIN: Final = lazy_pattern(rf"(?:my|our) (?P<kin>{'|'.join(sorted(KIN, key=len, reverse=True))})\b")
_HAN: Final = lazy_pattern(r"[\u3400-\u9fff]")
_PAST: Final = lazy_pattern(
    r"\b(?:used to|back then|at that time|in those days|when i was|as a (?:kid|child)|previously|formerly"
    r"|years ago|if|suppose"
    r"|imagine|would|might|could|unless|wish)\b|以前|曾经?|过去|小时候|当时|如果|要是|假如|可能|也许",
    re.IGNORECASE,
)
_REVISES: Final = lazy_pattern(
    r"\b(?:now|actually|changed?|moved?|instead|no longer|any ?more|raised?|increased?|reduced?|lowered?|updated?"
    r"|extended|switched|correction|new)\b"
    r"|现在|改|不再|换|搬|提高|增加|涨到|降到|其实|更正|延",
    re.IGNORECASE,
)
_IDLE: Final = frozenset(
    tokenize("currently now still new current total overall final actually just really")
) | frozenset(("的", "了"))
_ANY_MORE: Final = lazy_pattern(r"\s+any ?more\b")
_DISLIKES: Final = lazy_pattern(r"hate|dislike|detest|讨厌", re.IGNORECASE)
_MODIFIED: Final = lazy_pattern(r"\b(?:for|of)\b")
_VAGUE_VALUE: Final = lazy_pattern(
    r"(?:a |an |the |very |so |too |quite |really |pretty |still |almost |not )*(?:good|bad|great|nice|fine|ok"
    r"|okay|tight|high|low|big|small|limited|"
    r"flexible|important|coming(?: up)?|soon|close|close by|here|there|over|done|ready|amazing|awesome|hard|tough"
    r"|easy|fun|broken|dead|"
    r"old|new|different|same|busy|full|empty|packed|crazy|late|early|near|approaching|on track|gone|better|worse"
    r"|what|where|how|why|who)\b.*",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def claims_of(words: str, owner: str = USER) -> tuple[Claim, ...]:
    """What a text says of attributes that have one value at a time, in order, each stretch of it read once.

    Past and supposed things are left out: "I used to live in Porto" says nothing of where somebody lives.

    Args:
        words: One sentence, or a few.
        owner: Whom "I" and "my" stand for.
    """
    plain = words.replace("’", "'")
    if not plain or _PAST.search(plain):
        return ()
    found: list[Claim] = []
    read = bytearray(len(plain))  # which characters a claim has taken: with many claims, comparing each pair is slow
    by_speaker = plain.lstrip().startswith("我")
    for attribute, pattern in (*ENGLISH, *(CHINESE if _HAN.search(plain) else ())):
        for match in pattern.finditer(plain):
            claim = _claim(plain, attribute, match, owner, by_speaker)
            if claim and not any(read[slice(*claim.span)]):
                found.append(claim)
                read[slice(*claim.span)] = bytes([1]) * (claim.span[1] - claim.span[0])
    if found and _REVISES.search(plain):
        found = [replace(claim, revises=True) for claim in found]
    return tuple(sorted(found, key=lambda claim: claim.span))


def _claim(text: str, attribute: str, match: re.Match[str], owner: str, by_speaker: bool) -> Claim | None:
    """What a match states; whether its text is by its speaker decides where the match itself names nobody."""
    groups = match.groupdict()
    value = (groups.get("value") or "").strip(" '\"“”.")
    named = _attribute(attribute, groups, value)
    if not value or named is None or len(value.split()) > MOST_WORDS:
        return None
    denied = bool((groups.get("not") or "").strip())
    if attribute == "liking":
        denied, value = denied != bool(_DISLIKES.search(value)), value
    tail = text[match.end() : match.end() + 10]
    denied = denied or bool(_ANY_MORE.match(tail) and groups.get("not"))
    if groups.get("who") == "" and not by_speaker:
        return None
    subject = _subject(groups.get("who") or "", owner)
    if subject is None or not _agrees(groups):
        return None
    return Claim(subject, named, value, denied, match.span())


def _agrees(groups: dict[str, str | None]) -> bool:
    """Whether verb and subject agree where that tells a verb from a preposition: "Events like these" like nothing."""
    if "s" not in groups or groups.get("not") or not groups.get("who"):
        return True
    return (groups["s"] is None) == ((groups["who"] or "").casefold() in ("i", "we"))


def _subject(who: str, owner: str) -> str | None:
    """Whom the words in front of a claim name; None where they do not tell which of several."""
    folded = who.casefold().strip()
    chinese = [kin for word, kin in CHINESE_KIN.items() if folded.startswith("我") and folded.endswith(word)]
    found = _MY_KIN.match(folded)
    if not chinese and found is None:
        return who if _NAMED.fullmatch(who) and folded not in _OWN else owner
    kin = chinese[0] if chinese else KIN[found["kin"]] if found else ""
    named = who[found.end() :].strip() if found else ""
    return named or (None if kin in _SEVERAL else f"{owner}'s {kin}")


def _attribute(attribute: str, groups: dict[str, str | None], value: str) -> str | None:
    """The name of an attribute; None where the words in its place name none that has one value at a time."""
    about = (groups.get("about") or "").strip()
    if attribute in ("favourite", "liking"):
        terms = sorted(set(tokenize(about)) - _IDLE)
        return f"{attribute} {' '.join(terms)}" if terms and len(about.split()) <= MOST_WORDS else None
    if attribute:
        return attribute
    return _functional(about, value)


def _functional(about: str, value: str) -> str | None:
    """What is owned, as its noun and what modifies it: "Hawaii budget" and "budget for Hawaii" are the same."""
    chinese = _CHINESE_NOUN.search(about)
    if chinese:
        return " ".join((chinese[0], *sorted(tokenize(about[: chinese.start()].removesuffix("的")))))
    head, *rest = _MODIFIED.split(about.casefold(), maxsplit=1)
    words = head.split()
    if not words or words[-1].removesuffix("'s") not in FUNCTIONAL or _VAGUE_VALUE.fullmatch(value):
        return None
    terms = set(tokenize(" ".join((*words[:-1], *rest)))) - _IDLE
    return " ".join((words[-1], *sorted(terms)))


# --- comparing -----------------------------------------------------------------------------------------------------


def same_attribute(first: Claim, second: Claim) -> bool:
    """Whether two claims state the same attribute of the same subject.

    A modifier may be missing in one ("the Hawaii trip budget", "the Hawaii budget"), all of them only where it says
    that something has changed ("my budget is now …").
    """
    if first.subject.casefold() != second.subject.casefold():
        return False
    if first.attribute == second.attribute:
        return True
    (head, *left), (other, *right) = first.attribute.split(), second.attribute.split()
    if head != other or head in ("favourite", "liking"):
        return False
    fewer, more = sorted((set(left), set(right)), key=len)
    return fewer <= more and (bool(fewer) or first.revises or second.revises)


def same_value(first: Claim, second: Claim) -> bool:
    """Whether two claims of one attribute can both be true: one value, more exact in one, or said in other words."""
    if first.attribute.startswith("liking "):
        return first.denied == second.denied
    return first.denied == second.denied and same_words(first, second)


def same_words(first: Claim, second: Claim) -> bool:
    """Whether two claims name the same value, said or denied."""
    return _equal(first.value, second.value)


def _equal(first: str, second: str) -> bool:
    ours, theirs = values_of(first), values_of(second)
    if ours and theirs:
        return _agree(ours, theirs)
    left, right = set(tokenize(first)) - _IDLE, set(tokenize(second)) - _IDLE
    return left <= right or right <= left or _wider(first, second)


def _agree(first: tuple[Value, ...], second: tuple[Value, ...]) -> bool:
    """Whether each number or date finds one that it agrees with; a bare number agrees with one that has a unit."""
    return any(
        agree(a, b) if comparable(a, b) else a.kind == b.kind == "number" and a.amount == b.amount
        for a in first
        for b in second
    )


def _wider(first: str, second: str) -> bool:
    """Whether one of two places is a country and the other is none: it may lie in there."""
    kinds = [any("country" in WORD_CLASSES.get(term, ()) for term in tokenize(value)) for value in (first, second)]
    return kinds[0] != kinds[1]
