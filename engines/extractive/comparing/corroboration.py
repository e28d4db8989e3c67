"""Settles a contradiction by all raw entries: how many independent sources say which, and what corrects what."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.comparing.slots import slots_of
from agentic_memory_bank.engines.extractive.reading import lexicon
from agentic_memory_bank.engines.extractive.reading.sentence import Sentence, sentences_of
from agentic_memory_bank.engines.extractive.reading.values import Value, agree, values_of

_TOPIC_SHARE: Final = 0.5
_COPY_SHARE: Final = 0.9
"""Share of their words (Dice) from which one text counts as a copy of another."""
_COPY_OVERLAP: Final = _COPY_SHARE / (2 - _COPY_SHARE)
"""Least share of its own words that a text finds in a copy of it."""
_LEAST_SOURCES: Final = 2
"""Independent sources that decide: each claim has the one it was taken from, whether or not its value is read there."""
_MAY_BE: Final = re.compile(r"\b(?:can|may|could|might|to|must|cannot) be [a-z]+|\bat the latest\b")
"""What only could be changed, or has a limit, and corrects nothing."""
_LATIN: Final = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class DisputedClaim:
    """One side of a contradiction.

    Attributes:
        text: The sentence or memory that states it.
        value: The value it states, as written there ("330 m", "30 August", "Jane Doe").
        kind: What clashes, as `comparison.compare` named it.
    """

    text: str
    value: str
    kind: str


@dataclass(frozen=True, slots=True)
class EvidenceEntry:
    """One raw entry.

    Attributes:
        entry_id: Its id.
        source: Where it came from; entries of one source count once.
        text: Its text.
        created_at: When its source was written, as a sortable date (ISO 8601), None when unknown.
    """

    entry_id: str
    source: str
    text: str
    created_at: str | None = None


@dataclass(frozen=True, slots=True)
class Support:
    """Where an entry states a claim's value.

    Attributes:
        entry_id: The entry.
        start: Offset of the sentence in the entry's text.
        end: Offset past it.
    """

    entry_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a contradiction ends.

    Attributes:
        outcome: "holds" (one claim stands), "integrate" (both do, under different conditions) or "inconclusive".
        winner: Index of the claim that stands, None otherwise.
        support: For each claim, the sentences that state its value, in the order of the evidence.
        reason: One sentence, in the language of the claims.
        reconciled: Where both values stand together, for "integrate".
    """

    outcome: Literal["holds", "integrate", "inconclusive"]
    winner: int | None
    support: tuple[tuple[Support, ...], ...]
    reason: str
    reconciled: Support | None = None


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence of an entry that is on the subject, the claims whose values it states, and the one that it backs."""

    evidence: EvidenceEntry
    sentence: Sentence
    states: tuple[int, ...]
    backs: int | None
    revises: bool

    @property
    def support(self) -> Support:
        return Support(self.evidence.entry_id, self.sentence.start, self.sentence.end)


def corroborate(claims: Sequence[DisputedClaim], evidence: Sequence[EvidenceEntry]) -> Verdict:
    """Decides between claims that contradict each other.

    A statement that gives each value its condition reconciles them. Else the value with more independent sources,
    at least two, holds, else the one that an explicit correction or extension names. Nothing else decides.

    Args:
        claims: Two or more claims about one subject.
        evidence: Every raw entry, those the claims came from included.
    """
    statements = list(_of_their_own(claims, evidence, _statements(claims, evidence)))
    support = tuple(_supports(statements, index) for index in range(len(claims)))
    chinese = all(any(sentence.chinese for sentence in sentences_of(claim.text)) for claim in claims)
    reconciling = next((statement for statement in statements if _reconciles(statement)), None)
    if reconciling is not None:
        return Verdict("integrate", None, support, _because_both(claims, chinese), reconciling.support)
    counts = [_independent(statements, index) for index in range(len(claims))]
    winner = _most(counts)
    if winner is not None:
        return Verdict("holds", winner, support, _because_more(claims[winner], counts, winner, chinese))
    winner = _corrected(claims, statements)
    if winner is not None:
        return Verdict("holds", winner, support, because_corrected(claims[winner].value, chinese))
    return Verdict("inconclusive", None, support, _because_open(claims, counts, chinese))


def _of_their_own(
    claims: Sequence[DisputedClaim], evidence: Sequence[EvidenceEntry], statements: Iterable[_Statement]
) -> Iterator[_Statement]:
    """The same statements; what a source says beside one claim backs no other one, unless it corrects something."""
    homes = [{entry.source for entry in evidence if claim.text.strip() in entry.text} for claim in claims]
    for one in statements:
        is_at = [one.evidence.source in home for home in homes]
        is_foreign = one.backs is not None and any(is_at) and not is_at[one.backs]
        yield replace(one, backs=None) if is_foreign and not one.revises else one


def _statements(claims: Sequence[DisputedClaim], evidence: Sequence[EvidenceEntry]) -> Iterator[_Statement]:
    topics = [_topic(claim) for claim in claims]
    shared = topics[0].intersection(*topics[1:]) if topics else frozenset[str]()
    words = _named_words(claims)
    for entry in evidence:
        if words and not any(word in entry.text.lower() for word in words):
            continue
        parsed = sentences_of(entry.text)
        named = frozenset(name for sentence in parsed for name in sentence.names)
        for sentence in parsed:
            states = tuple(
                index
                for index, claim in enumerate(claims)
                if _states(sentence, claim)
                and (_quoted(entry, sentence, claim) or _on_topic(sentence, named, shared or topics[index], claim))
            )
            if states and not sentence.question:
                yield _statement(entry, sentence, _decided(states, claims), claims)


def _named_words(claims: Sequence[DisputedClaim]) -> frozenset[str]:
    """The names that claims share, as written: an entry without any of them cannot speak of their subject."""
    shared = [
        frozenset(
            claim.text[unit.start : unit.end].lower()
            for part in sentences_of(claim.text)
            for unit in part.units
            if unit.kind == "name"
        )
        for claim in claims
    ]
    return shared[0].intersection(*shared[1:]) if shared else frozenset()


def _quoted(entry: EvidenceEntry, sentence: Sentence, claim: DisputedClaim) -> bool:
    """Whether the sentence is what the claim was taken from, or lies in it."""
    start = entry.text.find(claim.text.strip())
    return start >= 0 and start <= sentence.start and sentence.end <= start + len(claim.text)


def _topic(claim: DisputedClaim) -> frozenset[str]:
    """What a claim is about: the words of its text without those of its value."""
    content = frozenset(key for sentence in sentences_of(claim.text) for key in sentence.content)
    return content - _keys(claim.value)


def _keys(text: str) -> frozenset[str]:
    return frozenset(unit.key for sentence in sentences_of(text) for unit in sentence.units if unit.carries)


def _on_topic(sentence: Sentence, named: frozenset[str], topic: frozenset[str], claim: DisputedClaim) -> bool:
    """Whether a sentence has half of a topic's words, names counted anywhere in the entry, or its attribute."""
    present = topic & (sentence.content | named)
    names = frozenset(name for part in sentences_of(claim.text) for name in part.names) & topic
    if names and not names & (sentence.names | named):
        return False
    if topic and len(present) >= _TOPIC_SHARE * len(topic):
        return True
    return bool(names) and bool(_attributes(sentence) & _claimed_attributes(claim))


def _attributes(sentence: Sentence) -> frozenset[str]:
    return frozenset(name for slot in slots_of(sentence) for name in slot.attributes if not name.startswith(("~", "=")))


def _claimed_attributes(claim: DisputedClaim) -> frozenset[str]:
    return frozenset(name for sentence in sentences_of(claim.text) for name in _attributes(sentence))


def _states(sentence: Sentence, claim: DisputedClaim) -> bool:
    if claim.kind in ("number", "date"):
        wanted = _claimed_value(claim)
        return wanted is not None and any(
            _equal(wanted, value) and _counts_it(wanted, value, sentence) for value in sentence.values
        )
    if claim.kind == "negation":
        return bool(sentence.denials) == any(part.denials for part in sentences_of(claim.text))
    wanted_keys = _keys(claim.value)
    return bool(wanted_keys) and wanted_keys <= {unit.key for unit in sentence.units}


def _claimed_value(claim: DisputedClaim) -> Value | None:
    """The claim's value with the unit that its text gives it."""
    position = claim.text.find(claim.value)
    within = [value for value in values_of(claim.text) if position <= value.start < position + len(claim.value)]
    found = within or values_of(claim.value)
    return found[0] if found else None


def _equal(wanted: Value, value: Value) -> bool:
    if wanted.kind != value.kind or wanted.ordinal != value.ordinal:
        return False
    if wanted.kind == "date":
        finest = [
            (left, right)
            for left, right in zip(wanted.date, value.date, strict=True)
            if left is not None and right is not None
        ]
        return bool(finest) and agree(wanted, value)
    fits = wanted.unit == value.unit or not (wanted.unit and value.unit) or not (wanted.measured or value.measured)
    return fits and agree(wanted, value)


def _counts_it(wanted: Value, value: Value, sentence: Sentence) -> bool:
    """Whether a bare number may count what a claim counts: "from six" says nothing of six courts."""
    is_bare = value.kind == "number" and not value.unit and bool(wanted.unit) and not wanted.measured
    return not is_bare or wanted.unit in sentence.content


def _decided(states: tuple[int, ...], claims: Sequence[DisputedClaim]) -> tuple[int, ...]:
    """With names, the longest of several that match is meant ("Jane Doe Smith" states no "Jane Doe")."""
    if len(states) < 2 or claims[states[0]].kind in ("number", "date", "negation"):
        return states
    keys = {index: _keys(claims[index].value) for index in states}
    return tuple(index for index in states if not any(keys[index] < keys[other] for other in states))


def _supports(statements: Sequence[_Statement], index: int) -> tuple[Support, ...]:
    return tuple(statement.support for statement in statements if statement.backs == index)


def _reconciles(statement: _Statement) -> bool:
    """Whether one sentence gives two values, each with its condition, and corrects neither."""
    qualified = _has_word(statement.evidence, statement.sentence, lexicon.QUALIFIERS)
    return len(statement.states) > 1 and not statement.revises and qualified


def _has_word(
    entry: EvidenceEntry, sentence: Sentence, words: frozenset[str], without: re.Pattern[str] | None = None
) -> bool:
    text = entry.text[sentence.start : sentence.end].lower()
    text = without.sub(" ", text) if without else text
    tokens = set(_LATIN.findall(text))
    return any(word in tokens if word.isascii() else word in text for word in words)


def _independent(statements: Sequence[_Statement], index: int) -> int:
    """How many sources state a claim's value; a source counts once, and so do texts copied from one another."""
    backing = [statement.evidence for statement in statements if statement.backs == index]
    leaders: dict[str, str] = {}
    for first, second in _dependent(backing):
        leaders[_leader(leaders, first)] = _leader(leaders, second)
    return len({_leader(leaders, entry.source) for entry in backing})


def _leader(leaders: dict[str, str], source: str) -> str:
    while leaders.get(source, source) != source:
        source = leaders[source]
    return source


def _dependent(entries: Sequence[EvidenceEntry]) -> Iterator[tuple[str, str]]:
    """Pairs of sources of which one has copied from the other.

    Two texts that share nine tenths of their words share one of the rarest fifth of them: only such pairs are compared.
    """
    texts = {entry.text: entry.source for entry in entries}
    yield from ((entry.source, texts[entry.text]) for entry in entries)
    keys = {text: _keys(text) for text in texts}
    spread = Counter(key for found in keys.values() for key in found)
    seen: dict[str, list[str]] = {}
    for text, found in keys.items():
        rarest = sorted(found, key=lambda key: (spread[key], key))[: len(found) - int(_COPY_OVERLAP * len(found)) + 1]
        for other in dict.fromkeys(earlier for key in rarest for earlier in seen.get(key, ())):
            if 2 * len(found & keys[other]) >= _COPY_SHARE * (len(found) + len(keys[other])):
                yield texts[text], texts[other]
        for key in rarest:
            seen.setdefault(key, []).append(text)


def _most(counts: Sequence[int]) -> int | None:
    best = max(counts, default=0)
    return counts.index(best) if best >= _LEAST_SOURCES and counts.count(best) == 1 else None


def _corrected(claims: Sequence[DisputedClaim], statements: Sequence[_Statement]) -> int | None:
    """The claim that corrections name; when they name several, that of the newest dated one."""
    revisions = [(statement.evidence.created_at, statement.backs) for statement in statements if statement.revises]
    named = {index for _, index in revisions if index is not None}
    if len(named) < 2:
        return next(iter(named), None)
    latest = max((created for created, _ in revisions if created is not None), default=None)
    newest = {index for created, index in revisions if created == latest and index is not None}
    return next(iter(newest)) if latest is not None and len(newest) == 1 else None


def _statement(
    entry: EvidenceEntry, sentence: Sentence, states: tuple[int, ...], claims: Sequence[DisputedClaim]
) -> _Statement:
    """A statement backs its only value, or of several the one it puts in force: not that after "from" or "not"."""
    is_said = _has_word(entry, sentence, lexicon.REVISION_WORDS, without=_MAY_BE)
    words = lexicon.WITHDRAWING if is_said else lexicon.REJECTING
    backed = states
    if is_said or len(states) > 1:
        backed = tuple(index for index in states if not _follows(entry, sentence, claims[index], words))
    revises = is_said or len(backed) < len(states)
    return _Statement(entry, sentence, states, backed[0] if len(backed) == 1 else None, revises)


def _follows(entry: EvidenceEntry, sentence: Sentence, claim: DisputedClaim, words: tuple[str, ...]) -> bool:
    """Whether one of the words stands right before the value, as "instead of", "not" or "previously" may."""
    value, text = _claimed_value(claim), entry.text
    named = text.find(claim.value, sentence.start, sentence.end)
    starts = [stated.start for stated in sentence.values if value is not None and _equal(value, stated)]
    places = starts[:1] or [named] * (named >= 0)
    return any(text[max(sentence.start, at - 24) : at].lower().rstrip().endswith(words) for at in places)


def _because_both(claims: Sequence[DisputedClaim], chinese: bool) -> str:
    values = _listed(claims, chinese)
    return (
        f"同一句话同时给出了{values}，并说明了各自的条件。"
        if chinese
        else f"One statement gives {values}, each under its own condition."
    )


def _because_more(claim: DisputedClaim, counts: Sequence[int], winner: int, chinese: bool) -> str:
    rest = max(count for index, count in enumerate(counts) if index != winner)
    if chinese:
        return f"“{claim.value}”有{counts[winner]}个独立来源支持，其他说法最多{rest}个。"
    return f"“{claim.value}” is stated by {counts[winner]} independent source(s), any other value by at most {rest}."


def because_corrected(value: str, chinese: bool) -> str:
    """Say that a correction decides."""
    return (
        f"有明确的更正或延期说明指向“{value}”。" if chinese else f"An explicit correction or extension names “{value}”."
    )


def _because_open(claims: Sequence[DisputedClaim], counts: Sequence[int], chinese: bool) -> str:
    values = _listed(claims, chinese)
    if chinese:
        return f"{values}的独立来源数相同或缺失（{'、'.join(map(str, counts))}），也没有更正说明，无法判定。"
    return f"Sources do not decide between {values} ({' to '.join(map(str, counts))}), and nothing corrects either."


def _listed(claims: Sequence[DisputedClaim], chinese: bool) -> str:
    return ("与" if chinese else " and ").join(f"“{claim.value}”" for claim in claims)
