"""Stage 2: what of the turns that wait is worth remembering?

What is extracted is in no checkpoint: a later stage that is resumed without it extracts again.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import ConversationEngine, Fact
from agentic_memory_bank.engines.factory import MeteredEngine
from agentic_memory_bank.nodes.deps import MeteredState, context_of, owner_of
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.memory_deps import MemoryDeps
from agentic_memory_bank.nodes.remember.views import AROUND, turn_of
from agentic_memory_bank.state.conversations import MemoryContext, RememberState, RememberUpdate, StoredTurn
from agentic_memory_bank.state.errors import BudgetReachedError, EngineError
from agentic_memory_bank.tools.text.secrets import secrets_in

LEAST_BATCH: Final = 20
"""Turns that are judged at once, also where facts are extracted more often."""
FAULTS: Final = (EngineError, BudgetReachedError)
"""Errors that do not fail a stage: what could not be judged stays as it was said."""

_LOG = logging.getLogger(__name__)


class ExtractionOutage:
    """Logs once that facts cannot be extracted, and once that they can again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_out = False

    def failed(self, error: BaseException) -> None:
        """Note a failure."""
        with self._lock:
            is_new, self._is_out = not self._is_out, True
        level = logging.WARNING if is_new else logging.DEBUG
        _LOG.log(level, "No facts can be extracted (%s); the turns wait to be tried again.", type(error).__name__)

    def worked(self) -> None:
        """Note that it works."""
        with self._lock:
            was_out, self._is_out = self._is_out, False
        if was_out:
            _LOG.info("Facts can be extracted again.")


@dataclass(frozen=True, slots=True)
class Batch:
    """The facts extracted from one conversation in one call of the engine, with the turns they come from."""

    conversation: str
    turns: tuple[StoredTurn, ...]
    """The turns that the engine was shown."""
    facts: tuple[Fact, ...]
    is_failed: bool = False
    """Whether the engine failed on the turns that follow."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The facts of all conversations that were due."""

    batches: tuple[Batch, ...] = ()
    degraded: tuple[str, ...] = field(default=())


def extract(
    state: RememberState, runtime: Runtime[MemoryContext], deps: MemoryDeps, outage: ExtractionOutage
) -> RememberUpdate:
    """Extract facts from the turns that wait; what cannot be judged now waits on.

    Raises:
        StorageError: The store failed.
    """
    metered = engine_of(state, runtime, deps)
    return {"drawn": extract_facts(state, runtime, deps, outage, metered), **spent(metered)}


def extract_facts(
    state: RememberState,
    runtime: Runtime[MemoryContext],
    deps: MemoryDeps,
    outage: ExtractionOutage,
    metered: MeteredEngine[ConversationEngine],
) -> Extraction:
    """Extract what is worth remembering from the turns that wait, in batches, each with the turns before it.

    Raises:
        StorageError: The store failed.
    """
    owner, states = owner_of(runtime), deps.records(runtime).conversations
    every = max(LEAST_BATCH, 2 * context_of(runtime).remember_every)
    degraded: list[str] = []
    batches: list[Batch] = []
    for wanted in state["draws"]:
        kept = states.get(owner.user, owner.project, wanted["conversation"])
        if kept is None:
            continue
        turns = set(wanted["turns"])
        pending = [said for said in kept["pending"] if said["id"] in turns]
        facts: list[Fact] = []
        done: list[StoredTurn] = []
        try:
            for before, batch in _batches(kept["drawn"], pending, every):
                facts += _facts(metered.engine, before, batch)
                done += batch
            outage.worked()
        except FAULTS as error:
            outage.failed(error)
            degraded.append(f"extract: {type(error).__name__}")
        batches.append(Batch(wanted["conversation"], tuple(done), tuple(facts), len(done) < len(pending)))
    degraded += [f"extract: {type(error).__name__}" for error in metered.failures]
    return Extraction(tuple(batches), tuple(dict.fromkeys(degraded)))


def _batches(
    drawn: Sequence[StoredTurn], pending: Sequence[StoredTurn], every: int
) -> Iterator[tuple[Sequence[StoredTurn], Sequence[StoredTurn]]]:
    """The turns that wait, so many at a time, none twice; each batch with the turns before it."""
    for start in range(0, len(pending), every):
        before = [*drawn, *pending[:start]][-AROUND:]
        yield before, pending[start : start + every]


def _facts(engine: ConversationEngine, before: Sequence[StoredTurn], batch: Sequence[StoredTurn]) -> list[Fact]:
    """What these turns say, and not only those before them."""
    new = {said["id"] for said in batch}
    found = engine.extract([turn_of(said) for said in (*before, *batch)])
    return [fact for fact in found if fact.quotes and fact.quotes[-1].turn in new and not _is_secret(fact)]


def _is_secret(fact: Fact) -> bool:
    return bool(secrets_in(f"{fact.text}\n{fact.words}\n{fact.value or ''}"))


def engine_of(
    state: RememberState, runtime: Runtime[MemoryContext], deps: MemoryDeps
) -> MeteredEngine[ConversationEngine]:
    """Make the engine of this run."""
    goal = digest(*owner_of(runtime), state["conversation_id"], state["now"])
    return deps.engine_for(cast(MeteredState, state), runtime, goal)


def spent(metered: MeteredEngine[ConversationEngine]) -> RememberUpdate:
    """Report what the run has spent so far."""
    return {"usage": metered.meter.usage()} if metered.meter else {}
