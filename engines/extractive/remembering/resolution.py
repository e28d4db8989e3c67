"""Weighs a new memory against those that are there: known, better said, changed, contradicted, or new."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agentic_memory_bank.engines.conversation import BY_WEIGHT, ExistingMemory, Fact, Resolution
from agentic_memory_bank.engines.extractive.comparing.comparison import Comparison, compare
from agentic_memory_bank.engines.extractive.reading.attributes import (
    Claim,
    claims_of,
    same_attribute,
    same_value,
    same_words,
)
from agentic_memory_bank.engines.extractive.reading.dates import day_of, moments
from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.engines.extractive.remembering.antecedents import named_thing
from agentic_memory_bank.engines.extractive.remembering.changes import replaced, without
from agentic_memory_bank.engines.extractive.remembering.clauses import clause_spans, subject_terms, topical_terms
from agentic_memory_bank.engines.extractive.remembering.ended import narrowed
from agentic_memory_bank.engines.extractive.remembering.insights import said_on
from agentic_memory_bank.engines.extractive.remembering.labels import labelled
from agentic_memory_bank.engines.extractive.remembering.later import is_of_another, like_value, may_change, outdated
from agentic_memory_bank.engines.extractive.remembering.life import kin_in
from agentic_memory_bank.engines.extractive.remembering.queries import is_personal
from agentic_memory_bank.engines.extractive.remembering.statements import says_enough
from agentic_memory_bank.engines.extractive.remembering.supposing import is_hoped
from agentic_memory_bank.engines.extractive.remembering.told_apart import are_told_apart
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

NEARLY_THE_SAME: Final = 0.9
"""Cosine above which a memory of the same type says the same, where nothing in it differs."""
SHARED: Final = 0.5
"""Share of index terms, of those of both, from which two memories may be the same by their cosine: a cosine above 0.9
alone unites a talk at a school with a visit to a support group. Of two that clash, the later one of a speaker takes the
place of the earlier one from there; below it both stay, and are said to contradict each other."""
NEARLY_ALL_WORDS: Final = 0.9
"""Share of index terms, of those of both, from which two texts are the same where nothing in them differs."""

CLASH_COSINE: Final = 0.6
"""Cosine from which texts that state no attribute in common are compared for a contradiction: in dialogues, what is
less alike only seems to clash."""

LEAST_LEFT: Final = 2
LEAST_LEFT_CHINESE: Final = 3
"""Index terms from which what is left of a memory is kept."""
MOST_CLAIMS: Final = 40
"""How many claims of a memory are compared, each with each of the other's; nobody states more in one."""

_ALWAYS: Final = re.compile(
    r"\b(?:never|always|not|no|any ?more|every (?:day|week|morning|evening)|daily|now)\b"
    r"|从来?不|总是?|每[天周]|现在|不|[一二两三四五六七八九十百千万]+",
    re.IGNORECASE,
)
"""What tells how often or how many, or that something is not so: it is no part of what a memory is about."""
_LASTING: Final = frozenset(("semantic", "procedural"))
"""Types of memories that can change; what happened has happened."""
_TITLES: Final = frozenset(("mr", "mrs", "ms", "miss", "dr", "prof", "sir"))
_THEM: Final = re.compile(r"\b(?:he|him|his|she|her)\b", re.IGNORECASE)
"""Somebody who was named before."""
_GOES_ON: Final = re.compile(r"(?:it|they|that|its|thats|theyre)(?:'s|'re)? ", re.IGNORECASE)
"""A clause about a thing that was named in the one before."""
_WORD: Final = re.compile(r"[\w$€£¥%]+")


def resolve(fact: Fact, similar: Sequence[ExistingMemory]) -> Resolution:
    """Say what becomes of a new memory; whatever is not sure is kept beside the others.

    Args:
        fact: The new memory.
        similar: Those that are most like it, of the same user; those that cannot be one with it play no part.
    """
    topical = topical_terms(known.words for known in similar) if may_change(fact.words) else frozenset[str]()
    found = [(known, _resolved(fact, known, topical)) for known in similar if is_comparable(fact, known)]
    for verdict in BY_WEIGHT:
        chosen = [(known, one) for known, one in found if one.verdict == verdict]
        if chosen:
            chosen.sort(key=lambda pair: -pair[0].cosine)
            first = chosen[0][1]
            alike = [known.id for known, one in chosen if one.is_newer == first.is_newer]
            many = verdict in ("supersede", "contradicts")
            left = {id: words for _, one in chosen for id, words in one.left.items()}
            ids = tuple(alike if many else alike[:1])
            return Resolution(verdict, ids, first.is_newer, first.values, first.reason, left)
    return _of_the_only_one(fact, [known for known, _ in found])


def is_comparable(one: Fact | ExistingMemory, other: ExistingMemory) -> bool:
    """Whether two memories may say the same, or one correct the other: what happened on two days happened twice."""
    if isinstance(one, Fact) and (one.amends or may_change(one.words)):
        return True
    return one.type == other.type and (one.type != "episodic" or said_on(one) == said_on(other))


def _resolved(fact: Fact, known: ExistingMemory, topical: frozenset[str]) -> Resolution:
    is_repeated = _words(fact.words) == _words(known.words) and not _of_other_times(fact, known)
    if is_repeated and (_same_source(fact, known) or not is_personal(fact.words)):
        return Resolution("same", (known.id,), reason="It is said in the same words.")
    is_own = is_personal(fact.words) or is_cjk(fact.words)  # which leaves "my" out; "an old dog" may be no other one
    if is_own and are_told_apart(fact.words, known.words):
        return Resolution("create")
    if is_hoped(fact.words):
        return Resolution("create")
    is_of_theirs = is_of_another(fact.words, known.words)
    by_claim = _by_claims(fact, known) if fact.type == known.type and not is_of_theirs else None
    if by_claim is not None:
        return by_claim
    if (noted := _by_labels(fact, known)) is not None:
        return noted
    by_change = _by_change(fact, known, topical)
    return by_change or (_by_words(fact, known) if fact.type == known.type else Resolution("create"))


def _of_other_times(fact: Fact, known: ExistingMemory) -> bool:
    """Whether both name times, in words that each mean another time on the day they were said: last Friday."""
    ours, theirs = _times(fact), _times(known)
    return bool(ours and theirs) and ours != theirs


def _times(one: Fact | ExistingMemory) -> set[str]:
    day, dates = said_on(one), (value.date for value in values_of(one.words))
    named = {f"{month}-{date}" for _, month, date in dates if month and date}
    return named | ({moment.calendar for moment in moments(one.words, day)} if day else set())


def _by_labels(fact: Fact, known: ExistingMemory) -> Resolution | None:
    """The judgement where both note a value under one label, and the later one says that it holds now."""
    ours, theirs = labelled(fact.words), labelled(known.words)
    if ours is None or theirs is None or ours.label != theirs.label or fact.type not in _LASTING:
        return None
    is_newer = _is_newer(fact, known)
    if ours.value == theirs.value or not (ours if is_newer else theirs).is_change or not _same_source(fact, known):
        return None
    values = (ours.value, theirs.value)
    reason = f"The note is {values[0]!r}, and was {values[1]!r}."
    return Resolution("supersede", (known.id,), is_newer, values, reason)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


# --- attributes ----------------------------------------------------------------------------------------------------


def _by_claims(fact: Fact, known: ExistingMemory) -> Resolution | None:
    """The judgement where both state the same attribute; None where they do not."""
    ours, theirs = _claims(fact, known), _claims(known, fact)
    pairs = [(a, b) for a in ours for b in theirs if _rivals(a, b)]
    if not pairs:
        return None
    changed = [(a, b) for a, b in pairs if not same_value(a, b)]
    if changed:
        return _beside(fact, known, _changed(fact, known, *changed[0]), [theirs for _, theirs in changed])
    return _repeated(fact, known) if len(ours) == len(theirs) == len(pairs) else None


def _rivals(ours: Claim, theirs: Claim) -> bool:
    """Whether two claims speak of one thing: "not in Rome" says nothing of who lives in Lisbon."""
    if not same_attribute(ours, theirs):
        return False
    is_denied = (ours.denied or theirs.denied) and not ours.attribute.startswith("liking ")
    return not is_denied or same_words(ours, theirs)


def _claims(one: Fact | ExistingMemory, other: Fact | ExistingMemory) -> list[Claim]:
    """What a memory states, about whomever the other one names if its own speaker is not known."""
    if isinstance(one, Fact) and one.attribute and one.value and not claims_of(one.words, one.subject or ""):
        value = one.value.removeprefix("not ")
        return [Claim(one.subject or "", one.attribute, value, value != one.value, (0, 0))]
    owner = one.speaker or other.speaker
    claims = list(claims_of(one.words, owner) if owner else claims_of(one.words))[:MOST_CLAIMS]
    return claims or _of_attribute(one, other, owner)


def _of_attribute(one: Fact | ExistingMemory, other: Fact | ExistingMemory, owner: str) -> list[Claim]:
    """What a Chinese memory states that was cut out of its sentence, and with it from its subject: 住在北京."""
    if not (isinstance(one, ExistingMemory) and one.attribute and is_cjk(one.words)):
        return []
    theirs = claims_of(other.words, other.speaker or owner) if other.speaker or owner else claims_of(other.words)
    value = next((claim.value for claim in theirs if claim.value in one.words), one.words)
    return [Claim(owner or (one.subject or ""), one.attribute, value, False, (0, 0))]


def _changed(fact: Fact, known: ExistingMemory, ours: Claim, theirs: Claim) -> Resolution:
    values = (ours.value, theirs.value)
    if ours.denied != theirs.denied and ours.attribute.startswith("liking "):
        values = (
            f"not {ours.value}" if ours.denied else ours.value,
            f"not {theirs.value}" if theirs.denied else theirs.value,
        )
    reason = f"The {ours.attribute} of {ours.subject} is {values[0]!r}, and was {values[1]!r}."
    if not _same_source(fact, known):
        return Resolution("contradicts", (known.id,), values=values, reason=reason)
    return Resolution("supersede", (known.id,), _is_newer(fact, known), values, reason)


def _beside(fact: Fact, known: ExistingMemory, found: Resolution, claims: Sequence[Claim]) -> Resolution:
    """The same, with what a replaced memory says besides in another clause: "Kim is 4 and allergic to eggs"."""
    if found.verdict != "supersede" or not found.is_newer:
        return found
    clauses = [*clause_spans(known.words)]
    gone = [clause for clause in clauses if any(_overlap(clause, one.span) for one in claims)]
    if not gone or (less := narrowed(fact.words, known.words, gone)) == clauses:
        return found
    left = _without_clauses(fact, known, less).left
    return replace(found, left={id: _of_whom(words, claims[0].subject) for id, words in left.items()})


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _of_whom(words: str, subject: str) -> str:
    """What is left of a memory, with whom it is about, where only what is gone has named them."""
    is_named = subject[:1].isupper() and subject.casefold() not in words.casefold()
    return f"({subject}) {words.removeprefix('and ')}" if is_named else words


def _repeated(fact: Fact, known: ExistingMemory) -> Resolution:
    """Resolve a fact that repeats a known value: a fuller wording is kept, else the known one stays."""
    new = set(tokenize(fact.words)) - set(tokenize(known.words))
    return Resolution(
        "revise" if new and _is_newer(fact, known) else "same", (known.id,), reason="It states the same value."
    )


def _same_source(fact: Fact, known: ExistingMemory) -> bool:
    return not fact.speaker or not known.speaker or fact.speaker.casefold() == known.speaker.casefold()


def _is_newer(fact: Fact, known: ExistingMemory) -> bool:
    """Whether the new memory was said last; of one day, or where a day is missing, it was."""
    ours, theirs = day_of(fact.date), day_of(known.date)
    return ours is None or theirs is None or ours >= theirs


# --- changes -------------------------------------------------------------------------------------------------------


def _by_change(fact: Fact, known: ExistingMemory, topical: frozenset[str]) -> Resolution | None:
    """The judgement where the new memory announces that what the other one says has changed; None where it does not."""
    if not _may_replace(fact, known):
        return None
    gone = _amended(fact, known)
    if not gone and not is_of_another(fact.words, known.words):
        gone = replaced(fact.words, known.words, topical) or outdated(fact.words, known.words)
        gone = narrowed(fact.words, known.words, gone)
    return _without_clauses(fact, known, gone) if gone else None


def _may_replace(fact: Fact, known: ExistingMemory) -> bool:
    """Whether one who is trusted as much says something later."""
    is_same = bool(fact.speaker) and fact.speaker == known.speaker
    return is_same and fact.trust >= known.trust and _is_newer(fact, known)


def _of_the_only_one(fact: Fact, similar: Sequence[ExistingMemory]) -> Resolution:
    """The judgement where one memory alone gives another value of what the new one is about, and says nothing else."""
    later = [known for known in similar if _may_replace(fact, known) and day_of(known.date) != day_of(fact.date)]
    may = [known for known in later if not is_of_another(fact.words, known.words)]
    found = [(known, gone) for known in may if (gone := like_value(fact.words, known.words))]
    only = _without_clauses(fact, *found[0]) if len(found) == 1 else None
    return only if only and not only.left else Resolution("create")


def words_replaced(new: str, old: str) -> str:
    """The clauses of an earlier memory that one has replaced which shares no word with them; empty for none.

    Args:
        new: What is said now.
        old: What was said earlier.
    """
    gone = [] if replaced(new, old) else outdated(new, old) or like_value(new, old)
    return ", ".join(old[slice(*span)] for span in gone)


def _without_clauses(fact: Fact, known: ExistingMemory, gone: Sequence[Span]) -> Resolution:
    """A memory without the clauses that a new one replaces."""
    said = [known.words[slice(*span)] for span in gone]
    left = _named(without(known.words, [*gone]), known.words)
    if _is_of_whom_is_gone(left, said):
        who = _still_there(fact.words, known.words, said)
        left = f"({who}) {left.lstrip(' .,;-')}" if who else ""
    still = {known.id: left} if _says_something(left) else {}
    reason = f"It replaces {'; '.join(known.words[slice(*span)].strip() for span in gone)!r}."
    return Resolution("supersede", (known.id,), reason=reason, left=still)


def _says_something(left: str) -> bool:
    """Whether what is left of a memory is kept: less than what is drawn, as it was told together with the rest."""
    terms = len(set(tokenize(left)))
    return says_enough(left) or terms >= (LEAST_LEFT_CHINESE if is_cjk(left) else LEAST_LEFT)


def _amended(fact: Fact, known: ExistingMemory) -> list[Span]:
    """The clause of an earlier memory that the new one takes back without naming it."""
    start = known.words.find(fact.amends.text) if fact.amends else -1
    return [(start, start + len(fact.amends.text))] if fact.amends and start >= 0 else []


def _named(left: str, words: str) -> str:
    """What is left of a memory that goes on about "it", with what it is; empty where nobody could say."""
    if not _GOES_ON.match(left):
        return left
    found = named_thing(words)
    return f"({words[slice(*found)]}) {left}" if found else ""


def _still_there(new: str, old: str, gone: Sequence[str]) -> str:
    """Whom replaced clauses speak of, where the new text does, too: only what is told of them has changed."""
    both = (names_and_numbers(new) & names_and_numbers(", ".join(gone))) - _TITLES
    words = (word for word in _WORD.findall(old) if word[0].isalpha())
    known = kin_in(new)
    return next((word for word in words if word.casefold() in both or (kin := kin_in(word)) and kin <= known), "")


def _is_of_whom_is_gone(left: str, gone: Sequence[str]) -> bool:
    """Whether what is left goes on about somebody whom only the replaced clauses name: "never call him after 8"."""
    if _THEM.search(left) is None or any(map(str.isalpha, names_and_numbers(left))):
        return False
    return any(map(str.isalpha, names_and_numbers(", ".join(gone))))


# --- words ---------------------------------------------------------------------------------------------------------


def _by_words(fact: Fact, known: ExistingMemory) -> Resolution:
    """The judgement of texts that state no attribute in common."""
    found = compare(fact.words, known.words, known.cosine)
    if found.relation == "conflict":
        return _clashing(fact, known, found)
    if _says_the_same(fact, known, found):
        longer = len(set(tokenize(fact.words))) >= len(set(tokenize(known.words)))
        verdict = "revise" if longer and _is_newer(fact, known) else "same"
        return Resolution(verdict, (known.id,), reason="It says nearly the same.")
    return Resolution("create")


def _clashing(fact: Fact, known: ExistingMemory, found: Comparison) -> Resolution:
    speaks_of_self = is_personal(fact.words) or is_personal(known.words)
    if fact.type not in _LASTING or known.cosine < CLASH_COSINE or (speaks_of_self and not _same_source(fact, known)):
        return Resolution("create")
    if is_of_another(fact.words, known.words):
        return Resolution("create")
    if not _same_source(fact, known) or not _is_of_one(fact, known):  # what says more may be of another thing
        return Resolution("contradicts", (known.id,), values=found.values, reason=found.reason)
    return Resolution("supersede", (known.id,), _is_newer(fact, known), found.values, found.reason)


def _says_the_same(fact: Fact, known: ExistingMemory, found: Comparison) -> bool:
    if not _same_source(fact, known) or found.relation != "merge" or _of_other_times(fact, known):
        return False
    return _shared(fact, known) >= (SHARED if known.cosine > NEARLY_THE_SAME else NEARLY_ALL_WORDS)


def _is_of_one(fact: Fact, known: ExistingMemory) -> bool:
    """Whether two texts that clash are about one thing and say little else, their values and denials aside."""
    ours, theirs = (subject_terms(_ALWAYS.sub(" ", one.words)) for one in (fact, known))
    return len(ours & theirs) >= SHARED * len(ours | theirs) or _shared(fact, known) >= SHARED


def _shared(fact: Fact, known: ExistingMemory) -> float:
    """The share of index terms that both have, of those of both."""
    left, right = set(tokenize(fact.words)), set(tokenize(known.words))
    return len(left & right) / max(1, len(left | right))
