"""Stage 4: puts what was drawn into the user's memories, and says where each conversation stands now.

Done again after a crash it keeps nothing twice: a memory that has just this text from just this source is there
already, what it does to others is written together with it, and the state of the conversation is written last.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from langgraph.runtime import Runtime
from typing_extensions import TypedDict, Unpack

from agentic_memory_bank.engines.conversation import DIGEST_TOKENS, ConversationEngine, Fact, Resolution
from agentic_memory_bank.engines.extractive.conversation import in_both
from agentic_memory_bank.nodes.deps import Owner, context_of, owner_of
from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.remember.extraction import FAULTS, Batch, ExtractionOutage, engine_of, spent
from agentic_memory_bank.nodes.remember.resolution import ResolvedFacts, draft_from_fact, resolve_facts, with_stored_ids
from agentic_memory_bank.nodes.remember.views import (
    AROUND,
    digest_turns,
    expiry_of,
    receipt,
    stored_digest,
    turn_of,
    verbatim_draft,
)
from agentic_memory_bank.state.conversations import (
    MemoryContext,
    RememberState,
    RememberUpdate,
    StoredConversation,
    StoredTurn,
    Trigger,
)
from agentic_memory_bank.state.errors import UnknownMemoryError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.conversation_states import ConversationStates
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import MemoryFields, NewMemory
from agentic_memory_bank.tools.metrics import CHANGES, count
from agentic_memory_bank.tools.text.attribution import attributed, unattributed

_LOG = logging.getLogger(__name__)

MOST_FAILURES: Final = 3
"""How often memories are to be drawn from the same turns at most; then they stay as they were said."""
COVERED: Final = 0.6
"""Share of a turn's characters that its facts have to hold to stand for it."""


class _Beside(TypedDict, total=False):
    """How a new memory stands to others: their ids."""

    supersedes: Sequence[str]
    superseded_by: str
    contradicts: Sequence[str]


@dataclass(slots=True)
class _Writing:
    """Puts facts into one user's memories, and notes what was done so far."""

    records: RecordStore
    owner: Owner
    expires_at: datetime | None
    stored: dict[str, None] = field(default_factory=dict[str, None])
    updated: dict[str, None] = field(default_factory=dict[str, None])
    superseded: dict[str, None] = field(default_factory=dict[str, None])
    contradictions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    ids: dict[int, str] = field(default_factory=dict[int, str])
    """The memory of each fact, by its place."""
    parts: dict[str, str] = field(default_factory=dict[str, str])
    """What is left of each memory that a fact has replaced, wholly (nothing) or in part (another memory)."""

    def store(self, number: int, draft: NewMemory, **beside: Unpack[_Beside]) -> str:
        """Store a fact, with how it stands to others; returns its id."""
        one = self.records.store(self.owner.user, **self.ending(draft), **beside)
        self.note(number, one.record, is_new=one.is_new)
        return one.record["id"]

    def ending(self, draft: NewMemory) -> NewMemory:
        return {**draft, "expires_at": self.expires_at}

    def note(self, number: int, record: Record, *, is_new: bool) -> None:
        self.ids[number] = record["id"]
        if record["id"] not in self.stored:
            (self.stored if is_new else self.updated)[record["id"]] = None


def store(
    state: RememberState, runtime: Runtime[MemoryContext], deps: MemoryDeps, outage: ExtractionOutage
) -> RememberUpdate:
    """Keep what was drawn, as it was weighed.

    Raises:
        StorageError: The store failed; it is made up for when memories are drawn next.
    """
    if not state["draws"]:
        return {}
    metered = engine_of(state, runtime, deps)
    found = state.get("weighed")
    resolved = found if isinstance(found, ResolvedFacts) else resolve_facts(state, runtime, deps, outage, metered)
    owner, records = owner_of(runtime), deps.records(runtime)
    states = records.conversations
    digests, degraded = _digests(metered.engine, resolved.drawn.batches, states, owner)
    records.embed_ahead([fact.text for _, fact in resolved.facts])
    with states.editing(owner.user):
        if states.deleted_at(owner.user, owner.project) > state["now"]:
            return {"receipt": receipt("dropped", _trigger(state)), **spent(metered)}
        waiting = _waiting(resolved.drawn.batches, states, owner)
        done = _Writing(records, owner, expiry_of(datetime.fromisoformat(state["now"]), context_of(runtime)))
        _settle(resolved, waiting, done)
        _absorb(resolved, done)
        for batch in resolved.drawn.batches:
            _move_on(batch, digests.get(batch.conversation), states, owner)
        if states.deleted_at(owner.user, owner.project) > state["now"]:  # by another process, just now
            records.delete(owner.user, list(done.stored))
            return {"receipt": receipt("dropped", _trigger(state)), **spent(metered)}
    is_failed = any(batch.is_failed for batch in resolved.drawn.batches)
    told = receipt(
        "unavailable" if is_failed and not any(batch.turns for batch in resolved.drawn.batches) else "remembered",
        _trigger(state),
        state["receipt"]["turns"],
        [*resolved.drawn.degraded, *resolved.degraded, *degraded],
        done.contradictions,
    )
    _LOG.info("Stored %d facts.", len(done.stored))
    for change, ids in (("stored", done.stored), ("updated", done.updated), ("superseded", done.superseded)):
        count(CHANGES, len(ids), change=change)
    runtime.stream_writer({"stage": "store", "stored": len(done.stored), "updated": len(done.updated)})
    return {
        "stored": list(done.stored),
        "updated": list(done.updated),
        "superseded": list(done.superseded),
        "receipt": told,
        **spent(metered),
    }


def _trigger(state: RememberState) -> Trigger:
    return state["draws"][0]["trigger"]


def _waiting(batches: Sequence[Batch], states: ConversationStates, owner: Owner) -> set[tuple[str, str]]:
    """The turns that still wait, by conversation; what is gone was forgotten, or drawn by somebody else."""
    found: set[tuple[str, str]] = set()
    for batch in batches:
        kept = states.get(owner.user, owner.project, batch.conversation)
        found.update((batch.conversation, said["id"]) for said in (kept["pending"] if kept else ()))
    return found


# --- memories --------------------------------------------------------------------------------------------------------


def _settle(resolved: ResolvedFacts, waiting: set[tuple[str, str]], done: _Writing) -> None:
    """Store the facts whose turns still wait: first those that are new, together, then what concerns others."""
    pairs = zip(resolved.facts, resolved.resolutions, strict=True)
    wanted = {
        number: (draft_from_fact(fact, conversation, done.owner.project), resolution)
        for number, ((conversation, fact), resolution) in enumerate(pairs)
        if (conversation, fact.quotes[-1].turn) in waiting
    }
    new = {number: draft for number, (draft, one) in wanted.items() if one and one.verdict == "create"}
    stored = done.records.store_many(done.owner.user, [done.ending(draft) for draft in new.values()])
    for number, one in zip(new, stored, strict=True):
        done.note(number, one.record, is_new=one.is_new)
    for number, (draft, resolution) in wanted.items():
        if resolution is None:
            known = done.records.find_same(done.owner.user, [draft])[0]
            done.ids[number] = known["id"] if known else ""
        elif resolution.verdict != "create":
            _concern(number, draft, with_stored_ids(resolution, done.ids), done)


def _concern(number: int, draft: NewMemory, resolution: Resolution, done: _Writing) -> None:
    """Store a fact that concerns memories that are there; where these were forgotten by now, it is simply new."""
    try:
        _apply(number, draft, resolution, done)
    except UnknownMemoryError:
        done.store(number, draft)


def _apply(number: int, draft: NewMemory, resolution: Resolution, done: _Writing) -> None:
    user, known = done.owner.user, resolution.known
    source, trust = draft.get("source"), draft.get("trust", 0.5)
    match resolution.verdict:
        case "same" if source:
            done.note(number, done.records.add_source(user, known[0], source, trust), is_new=False)
        case "revise":
            given: MemoryFields = {"source": source, "trust": trust, "expires_at": done.expires_at}
            done.note(number, done.records.update(user, known[0], draft["text"], **given), is_new=False)
        case "supersede" if resolution.is_newer:
            _supersede(number, draft, resolution, done)
        case "supersede":
            done.superseded[done.store(number, draft, superseded_by=known[0])] = None
        case "contradicts":
            new = done.store(number, draft, contradicts=known)
            done.contradictions += [(new, id) for id in known]
        case _:
            done.store(number, draft)


def _supersede(number: int, draft: NewMemory, resolution: Resolution, done: _Writing) -> None:
    """Let a fact replace memories; of one that another fact has just replaced in part, only what was left of it."""
    left = {done.parts.get(id, id): _left(id, words, done) for id, words in resolution.left.items()}
    known = [id for id in dict.fromkeys(done.parts.get(id, id) for id in resolution.known) if id]
    parts = {id: _store_left(id, left.get(id, ""), done) for id in known}
    new = done.store(number, draft, supersedes=known)
    done.superseded.update(dict.fromkeys(id for id in known if id != new))
    for id in resolution.known:
        done.parts[id] = parts.get(done.parts.get(id, id), "")


def _left(id: str, words: str, done: _Writing) -> str:
    """What still holds of a memory once a fact has replaced a part of it, and an earlier one another part."""
    part = done.records.get(done.owner.user, done.parts[id]) if done.parts.get(id) else None
    return in_both(unattributed(part["text"])[2], words) if part else words


def _store_left(id: str, words: str, done: _Writing) -> str:
    """Store what still holds of a memory of which a part was replaced, as a memory of its own from the same source.

    Returns:
        Its id; nothing where nothing is left.
    """
    record = done.records.get(done.owner.user, id) if words else None
    if record is None:
        return ""
    speaker, date, _ = unattributed(record["text"])
    draft: NewMemory = {
        "text": attributed(speaker, date, words) if date else words,
        "type": record["type"],
        "project": record["project"],
        "subject": record["subject"],
        "source": record["sources"][0],
        "trust": record["trust"],
        "importance": record["importance"],
    }
    one = done.records.store(done.owner.user, **done.ending(draft))
    if one.is_new:
        done.stored[one.record["id"]] = None
    return one.record["id"]


# --- turns -----------------------------------------------------------------------------------------------------------


def _absorb(resolved: ResolvedFacts, done: _Writing) -> None:
    """Let facts stand for the turns that say little else."""
    pairs = [pair for batch in resolved.drawn.batches for pair in _covered(batch, resolved, done)]
    turns = done.records.find_same(done.owner.user, [draft for draft, _ in pairs])
    for turn, (_, by) in zip(turns, pairs, strict=True):
        if turn:
            done.records.mark_consolidated(done.owner.user, [turn["id"]], by)


def _covered(batch: Batch, resolved: ResolvedFacts, done: _Writing) -> Iterator[tuple[NewMemory, str]]:
    """The turns that their facts cover, as they were kept word for word, each with the fact that holds most of it."""
    facts = [
        (fact, id)
        for place, (conversation, fact) in enumerate(resolved.facts)
        if conversation == batch.conversation and (id := done.ids.get(place))
    ]
    for said in batch.turns:
        held = [(_held(fact, said), id) for fact, id in facts]
        draft = verbatim_draft(said, batch.conversation, done.owner.project)
        spoken = sum(not char.isspace() for char in said["text"])
        if draft and len(set[int]().union(*(spots for spots, _ in held))) >= COVERED * spoken:
            yield draft, max(held, key=lambda one: len(one[0]))[1]


def _held(fact: Fact, said: StoredTurn) -> set[int]:
    """Which characters of a turn, white space aside, a fact holds word for word."""
    spots = (spot for quote in fact.quotes if quote.turn == said["id"] for spot in range(*quote.span))
    return {spot for spot in spots if said["text"][spot : spot + 1].strip()}


# --- where a conversation stands -------------------------------------------------------------------------------------


def _digests(
    engine: ConversationEngine, batches: Sequence[Batch], states: ConversationStates, owner: Owner
) -> tuple[Mapping[str, dict[str, list[str]]], list[str]]:
    """Where each conversation stands after its batch; those that cannot be summarised stand where they stood."""
    digests: dict[str, dict[str, list[str]]] = {}
    degraded: list[str] = []
    for batch in batches:
        kept = states.get(owner.user, owner.project, batch.conversation)
        if kept is None or not batch.turns:
            continue
        turns = [*digest_turns(kept["digest"]), *(turn_of(said) for said in batch.turns)]
        try:
            digests[batch.conversation] = stored_digest(engine.summarise(turns, DIGEST_TOKENS))
        except FAULTS as error:
            degraded.append(f"store: {type(error).__name__} (where the conversation stands)")
    return digests, list(dict.fromkeys(degraded))


def _move_on(batch: Batch, digest: dict[str, list[str]] | None, states: ConversationStates, owner: Owner) -> None:
    """Take what was drawn from what waits; what failed too often waits no longer."""
    kept = states.get(owner.user, owner.project, batch.conversation)
    if kept is None:
        return
    judged = {said["id"] for said in batch.turns}
    still = {said["id"] for said in kept["pending"]}
    pending = [said for said in kept["pending"] if said["id"] not in judged]
    failures = kept["failures"] + 1 if batch.is_failed else 0
    given_up = failures >= MOST_FAILURES
    moved: StoredConversation = {
        **kept,
        "pending": [] if given_up else pending,
        "due": None,
        "raw": [id for id in kept["raw"] if id in still - judged and not given_up],
        "drawn": [*kept["drawn"], *(said for said in batch.turns if said["id"] in still)][-AROUND:],
        "digest": kept["digest"] if digest is None or not judged <= still else digest,
        "failures": 0 if given_up else failures,
    }
    states.put(owner.user, moved)
