"""Weighs new memories against those that are there, and those drawn before them; a stage that is resumed does too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import ConversationEngine, Fact, Known, Weighing
from agentic_memory_bank.engines.extractive.remembering.changes import announces_change
from agentic_memory_bank.engines.extractive.remembering.engine import ExtractiveConversationEngine
from agentic_memory_bank.engines.extractive.remembering.resolution import may_be_one
from agentic_memory_bank.engines.factory import Judge
from agentic_memory_bank.nodes.memories import MemoryKit, Owner, owner_of
from agentic_memory_bank.nodes.remember.drawing import FAULTS, Drawn, Outage, draw
from agentic_memory_bank.state.conversations import MemoryContext, RememberState
from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.state.records import RecordType
from agentic_memory_bank.tools.memories.queries import MemoryQuery
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import NewMemory

EXTRACTED: Final[tuple[RecordType, ...]] = ("semantic", "procedural", "episodic")
"""The types of memories that are extracted from what is said."""
SIMILAR: Final = 10
"""How many memories that are there a new one is compared with."""
ROUNDED: Final = 6
"""Digits of a cosine that mean anything: the others depend on the machine."""
NEW: Final = "new "
"""In front of the place of a memory that is new itself, where the id of one that is there would stand."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """The new memories of all batches, in their order, and what becomes of each."""

    drawn: Drawn
    facts: tuple[tuple[str, Fact], ...]
    """Conversation and fact."""
    weighings: tuple[Weighing | None, ...]
    """None for what a killed run has stored already."""
    degraded: tuple[str, ...] = ()


def weighed_of(
    state: RememberState,
    runtime: Runtime[MemoryContext],
    kit: MemoryKit,
    outage: Outage,
    judge: Judge[ConversationEngine],
) -> Weighed:
    """What becomes of each new memory; a run that is resumed has lost it, and weighs again. Raises as `draw`."""
    found = state.get("drawn")
    drawn = found if isinstance(found, Drawn) else draw(state, runtime, kit, outage, judge)
    owner, records = owner_of(runtime), kit.records(runtime)
    facts = tuple((batch.conversation, fact) for batch in drawn.batches for fact in batch.facts)
    known = records.find_same(owner.user, [draft_of(fact, said_in, owner.project) for said_in, fact in facts])
    open_ = [place for place, there in enumerate(known) if there is None]
    chosen = [facts[place][1] for place in open_]
    similar = _similar(chosen, open_, owner, records, kit)
    judged, degraded = _weighed(judge.engine, chosen, similar)
    weighings: list[Weighing | None] = [None] * len(facts)
    for place, weighing in zip(open_, judged, strict=True):
        weighings[place] = weighing
    if judge.failures:
        degraded += (f"weigh: {type(judge.failures[0]).__name__} ({len(judge.failures)} of its questions)",)
    return Weighed(drawn, facts, tuple(weighings), degraded)


def draft_of(fact: Fact, conversation: str, project: str) -> NewMemory:
    """A new memory as it is stored."""
    return {**fact.draft(conversation), "project": project}


def _weighed(
    engine: ConversationEngine, facts: Sequence[Fact], similar: Sequence[Sequence[Known]]
) -> tuple[Sequence[Weighing], tuple[str, ...]]:
    """What the engine says; where it says nothing, what is sure without it."""
    if not facts:
        return [], ()
    try:
        return engine.weigh_all(facts, similar), ()
    except FAULTS as error:
        return ExtractiveConversationEngine().weigh_all(facts, similar), (f"weigh: {type(error).__name__}",)


def _similar(
    facts: Sequence[Fact], places: Sequence[int], owner: Owner, records: RecordStore, kit: MemoryKit
) -> list[list[Known]]:
    """What each new memory is compared with: of what is there and the new ones before it, what may be one with it."""
    there = _there(facts, owner, records)
    cosine = _cosine([one.words for one in chain(facts, *there)], kit)
    new = [_known(fact, f"{NEW}{place}") for fact, place in zip(facts, places, strict=True)]
    found: list[list[Known]] = []
    for number, fact in enumerate(facts):
        near, earlier = (
            [(cosine(fact.words, one.words), one) for one in some if may_be_one(fact, one)]
            for some in (there[number], new[:number])
        )
        alike = [*near, *sorted(earlier, key=lambda pair: -pair[0])[:SIMILAR]]
        found.append([replace(one, cosine=value) for value, one in alike])
    return found


def _there(facts: Sequence[Fact], owner: Owner, records: RecordStore) -> list[list[Known]]:
    searches = [MemoryQuery(fact.text, owner.project, _types(fact), SIMILAR) for fact in facts]
    try:
        found = records.search_many(owner.user, searches)
    except EmbeddingError:  # they are kept all the same, beside what they may repeat
        return [[] for _ in facts]
    return [[Known.of(hit.record) for hit in hits] for hits in found]


def _types(fact: Fact) -> list[RecordType]:
    """The types of memories that a new one may say again, or change."""
    return list(EXTRACTED) if announces_change(fact.words) else [fact.type]


def _cosine(words: Sequence[str], kit: MemoryKit) -> Callable[[str, str], float]:
    """How like two of these texts are: by what is said alone, since who said it and when makes all of them alike."""
    distinct = list(dict.fromkeys(words)) if len(words) > 1 else []
    try:
        vectors = dict(zip(distinct, kit.stores.encoder.vectors(distinct), strict=True))
    except EmbeddingError:
        return lambda a, b: 0.0
    return lambda a, b: round(float(vectors[a] @ vectors[b]), ROUNDED)


def _known(fact: Fact, id: str) -> Known:
    return Known(id, fact.words, fact.type, 0.0, fact.subject, fact.attribute, speaker=fact.speaker, date=fact.date)


def resolved(weighing: Weighing, ids: dict[int, str]) -> Weighing:
    """A judgement with the ids of memories in place of those of new ones, which are stored by now."""
    named = (ids.get(int(id.removeprefix(NEW)), "") if id.startswith(NEW) else id for id in weighing.known)
    known = tuple(dict.fromkeys(id for id in named if id))
    left = {
        ids.get(int(id.removeprefix(NEW)), "") if id.startswith(NEW) else id: words
        for id, words in weighing.left.items()
    }
    weighing = replace(weighing, left=left)
    return replace(weighing, known=known) if known or weighing.verdict == "create" else Weighing("create")
