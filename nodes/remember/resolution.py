"""Stage 3: what becomes of each new fact beside the memories that are there, and beside the facts before it?

What is resolved is in no checkpoint: a later stage that is resumed without it resolves again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import ConversationEngine, ExistingMemory, Fact, Resolution
from agentic_memory_bank.engines.extractive.conversation import (
    amended_later,
    day_of,
    is_comparable,
    may_change,
    retracts,
)
from agentic_memory_bank.engines.factory import MeteredEngine
from agentic_memory_bank.nodes.deps import Owner, owner_of
from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.remember.extraction import (
    FAULTS,
    Extraction,
    ExtractionOutage,
    engine_of,
    extract_facts,
    spent,
)
from agentic_memory_bank.state.conversations import MemoryContext, RememberState, RememberUpdate
from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.state.records import Record, RecordType
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import MemoryQuery, NewMemory

EXTRACTED: Final[tuple[RecordType, ...]] = ("semantic", "procedural", "episodic")
"""The types of memories that are extracted from what is said."""
SIMILAR: Final = 10
"""How many memories that are there a new one is compared with."""
LATEST: Final = 20
"""How many of the last facts a correction is read beside that names nothing of what it corrects."""
LATELY: Final = 30
"""Days after which nobody can say any more what such a correction was about."""
ROUNDED: Final = 6
"""Digits of a cosine that mean anything: the others depend on the machine."""
NEW: Final = "new "
"""In front of the place of a memory that is new itself, where the id of one that is there would stand."""


@dataclass(frozen=True, slots=True)
class ResolvedFacts:
    """The new facts of all batches, in their order, and what becomes of each."""

    drawn: Extraction
    facts: tuple[tuple[str, Fact], ...]
    """Conversation and fact."""
    resolutions: tuple[Resolution | None, ...]
    """None for what a killed run has stored already."""
    degraded: tuple[str, ...] = ()


def resolve(
    state: RememberState, runtime: Runtime[MemoryContext], deps: MemoryDeps, outage: ExtractionOutage
) -> RememberUpdate:
    """Resolve what was extracted. Raises as `extract_facts`."""
    metered = engine_of(state, runtime, deps)
    return {"weighed": resolve_facts(state, runtime, deps, outage, metered), **spent(metered)}


def resolve_facts(
    state: RememberState,
    runtime: Runtime[MemoryContext],
    deps: MemoryDeps,
    outage: ExtractionOutage,
    metered: MeteredEngine[ConversationEngine],
) -> ResolvedFacts:
    """Resolve each new memory; a resumed run has lost the result, and resolves again. Raises as `extract_facts`."""
    found = state.get("drawn")
    drawn = found if isinstance(found, Extraction) else extract_facts(state, runtime, deps, outage, metered)
    owner, records = owner_of(runtime), deps.records(runtime)
    facts = tuple(
        _in_full([(batch.conversation, fact) for batch in drawn.batches for fact in batch.facts], owner, records)
    )
    known = records.find_same(owner.user, [draft_from_fact(fact, said_in, owner.project) for said_in, fact in facts])
    open_ = [place for place, there in enumerate(known) if there is None]
    chosen = [facts[place][1] for place in open_]
    similar = _similar(chosen, open_, owner, records, deps)
    judged, degraded = _resolved(metered.engine, deps.offline, chosen, similar)
    resolutions: list[Resolution | None] = [None] * len(facts)
    for place, resolution in zip(open_, judged, strict=True):
        resolutions[place] = resolution
    if metered.failures:
        degraded += (f"weigh: {type(metered.failures[0]).__name__} ({len(metered.failures)} of its questions)",)
    return ResolvedFacts(drawn, facts, tuple(resolutions), degraded)


def _in_full(facts: Sequence[tuple[str, Fact]], owner: Owner, records: RecordStore) -> Iterator[tuple[str, Fact]]:
    """The facts; a correction that names nothing with what it corrects of what was told in another conversation.

    What a killed run has replaced by what it stored of this very conversation is looked at as it was before.
    """
    wanted = any(retracts(fact.words) for _, fact in facts)
    told = _told_lately(owner, records) if wanted else []
    said_in = {one["id"]: {source["conversation"] for source in one["sources"]} for one in told}
    for conversation, fact in facts:
        others = [
            ExistingMemory.of(one)
            for one in told
            if conversation not in said_in[one["id"]]
            and (one["replaced_by"] is None or conversation in said_in.get(one["replaced_by"], ()))
        ]
        yield conversation, amended_later(fact, [one for one in others if _is_recent(one, fact)])


def _told_lately(owner: Owner, records: RecordStore) -> Sequence[Record]:
    """The last facts of a user, those too that are replaced by now."""
    return records.list(owner.user, project=owner.project, types=EXTRACTED, limit=LATEST, replaced=True).records


def _is_recent(known: ExistingMemory, fact: Fact) -> bool:
    told, now = day_of(known.date), day_of(fact.date)
    return told is not None and now is not None and 0 <= (now - told).days <= LATELY


def draft_from_fact(fact: Fact, conversation: str, project: str) -> NewMemory:
    """Turn an extracted fact into the memory that the store takes."""
    return {**fact.draft(conversation), "project": project}


def _resolved(
    engine: ConversationEngine,
    offline: ConversationEngine,
    facts: Sequence[Fact],
    similar: Sequence[Sequence[ExistingMemory]],
) -> tuple[Sequence[Resolution], tuple[str, ...]]:
    """Ask the engine, or, where that fails, the offline one."""
    if not facts:
        return [], ()
    try:
        return engine.resolve(facts, similar), ()
    except FAULTS as error:
        return offline.resolve(facts, similar), (f"weigh: {type(error).__name__}",)


def _similar(
    facts: Sequence[Fact], places: Sequence[int], owner: Owner, records: RecordStore, deps: MemoryDeps
) -> list[list[ExistingMemory]]:
    """Find for each new fact the stored memories and earlier new facts that it may repeat, reword or replace."""
    there = _there(facts, owner, records)
    cosine = _cosine([one.words for one in chain(facts, *there)], deps)
    new = [_known(fact, f"{NEW}{place}") for fact, place in zip(facts, places, strict=True)]
    found: list[list[ExistingMemory]] = []
    for number, fact in enumerate(facts):
        near, earlier = (
            [(cosine(fact.words, one.words), one) for one in some if is_comparable(fact, one)]
            for some in (there[number], new[:number])
        )
        alike = [*near, *sorted(earlier, key=lambda pair: -pair[0])[:SIMILAR]]
        found.append([replace(one, cosine=value) for value, one in alike])
    return found


def _there(facts: Sequence[Fact], owner: Owner, records: RecordStore) -> list[list[ExistingMemory]]:
    searches = [MemoryQuery(fact.text, owner.project, _types(fact), SIMILAR) for fact in facts]
    try:
        found = records.search_many(owner.user, searches)
    except EmbeddingError:  # they are kept all the same, beside what they may repeat
        return [[] for _ in facts]
    return [[ExistingMemory.of(hit.record) for hit in hits] for hits in found]


def _types(fact: Fact) -> list[RecordType]:
    """The types of memories that a new one may say again, or change."""
    return list(EXTRACTED) if fact.amends or may_change(fact.words) else [fact.type]


def _cosine(words: Sequence[str], deps: MemoryDeps) -> Callable[[str, str], float]:
    """How like two of these texts are: by what is said alone, since who said it and when makes all of them alike."""
    distinct = list(dict.fromkeys(words)) if len(words) > 1 else []
    try:
        vectors = dict(zip(distinct, deps.stores.encoder.vectors(distinct), strict=True))
    except EmbeddingError:
        return lambda a, b: 0.0
    return lambda a, b: round(float(vectors[a] @ vectors[b]), ROUNDED)


def _known(fact: Fact, id: str) -> ExistingMemory:
    return ExistingMemory(
        id, fact.words, fact.type, 0.0, fact.subject, fact.attribute, speaker=fact.speaker, date=fact.date
    )


def with_stored_ids(resolution: Resolution, ids: dict[int, str]) -> Resolution:
    """A judgement with the ids of memories in place of those of new ones, which are stored by now."""
    named = (ids.get(int(id.removeprefix(NEW)), "") if id.startswith(NEW) else id for id in resolution.known)
    known = tuple(dict.fromkeys(id for id in named if id))
    left = {
        ids.get(int(id.removeprefix(NEW)), "") if id.startswith(NEW) else id: words
        for id, words in resolution.left.items()
    }
    resolution = replace(resolution, left=left)
    return replace(resolution, known=known) if known or resolution.verdict == "create" else Resolution("create")
