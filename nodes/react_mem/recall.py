"""Recalls what one invocation of an agent is shown: facts, episodes and the conversation, at the same time, once."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from langchain_core.messages import AnyMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.conversation import asks_for_everything
from agentic_memory_bank.engines.own_words import is_order
from agentic_memory_bank.nodes.forgettable import is_of_assistant, is_turn
from agentic_memory_bank.nodes.messages import text_of, turns_of
from agentic_memory_bank.nodes.react_mem import episodes, steps
from agentic_memory_bank.nodes.react_mem.deps import AgentDeps, Scope
from agentic_memory_bank.nodes.recall.memory_search import relevant
from agentic_memory_bank.nodes.recall.message import shortened
from agentic_memory_bank.nodes.recall.overview import MOST_OF_ALL, all_that_is_known
from agentic_memory_bank.nodes.recall.thresholds import by_kind
from agentic_memory_bank.state.react_mem import FACTS, Episode, KnownFact, Recollection
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed, circuit_breaker_of
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.weights import MODEL
from agentic_memory_bank.tools.memories.agent_conversations import AgentHistory
from agentic_memory_bank.tools.memories.validation import MemoryHit, MemoryQuery, RecordThreshold
from agentic_memory_bank.tools.text.attribution import unattributed
from agentic_memory_bank.tools.text.cleaning import is_cjk

ALIKE: Final = 0.58
"""How alike two goals have to be, with all-MiniLM-L6-v2: in the middle between paraphrases of a task and other tasks,
as `benchmarks/episodes.py` prints them."""
ALIKE_CHINESE: Final = 0.75
"""The same in Chinese, of which that model tells little."""
ALIKE_UNKNOWN: Final = 0.4
"""The same with embedders whose scale nobody has measured."""
SPARE: Final = 10
"""Hits beyond the limit, since some are of the other kind."""

_NEVER: Final = 2.0
_Result = TypeVar("_Result")


def recall_for_agent(deps: AgentDeps, scope: Scope, messages: Sequence[AnyMessage], id: str) -> Recollection:
    """What memory holds on what an agent is asked. Nothing that fails here fails the agent."""
    found = empty_recollection(id)
    with ThreadPoolExecutor(1, "memories") as pool:
        talked = pool.submit(_talked, deps, scope)
        try:
            if query := query_of(deps, messages):
                found["facts"], found["episodes"] = search_memories(deps, scope, query, scope.context.fact_limit)
        except CallFailed as failure:
            found["degraded"].append(f"search: {failure.kind}")
        try:
            before = talked.result()
            found["invocations"] = [one for one in before.invocations if one["id"] != id]
            found["earlier"] = before.earlier
        except CallFailed as failure:
            found["degraded"].append(f"conversation: {failure.kind}")
    return found


class HeldRecollection:
    """Holds a recollection in the state; streams and traces show its ids and no text."""

    def __init__(self, found: Recollection) -> None:
        self.found = found

    def model_dump(self) -> dict[str, Any]:
        """As a server writes it out."""
        return receipt(self.found)

    def __repr__(self) -> str:
        return f"HeldRecollection({self.model_dump()})"


def receipt(found: Recollection) -> dict[str, Any]:
    """What was recalled, without a word of what anybody said; streamed as `custom`."""
    return {
        "facts": [one["id"] for one in found["facts"]],
        "episodes": [one["id"] for one in found["episodes"]],
        "invocations": len(found["invocations"]) + len(found["earlier"]),
        "degraded": found["degraded"],
    }


def empty_recollection(id: str, *degraded: str) -> Recollection:
    """What is recalled where there is nothing."""
    return {
        "invocation": id,
        "facts": [],
        "episodes": [],
        "invocations": [],
        "earlier": [],
        "degraded": list(degraded),
    }


def query_of(deps: AgentDeps, messages: Sequence[AnyMessage]) -> str:
    """The goal with the state it is asked in: key terms of what was said before, where the question needs them."""
    asked = steps.split(messages)
    text = text_of(asked.question) if asked.question else ""
    if not text.strip() or deps.engine.gate(Turn("", "user", text), []).why in ("greeting", "empty"):
        return ""
    return shortened(deps.engine.rewrite(shortened(text), turns_of(asked.before)).text)


def search_memories(
    deps: AgentDeps, scope: Scope, query: str, facts: int, episodes_: int | None = None
) -> tuple[list[KnownFact], list[Episode]]:
    """Facts and episodes that fit a query, in one look at the store, within the time for recalling.

    Raises:
        CallFailed: The store is down, slow, or cannot embed.
    """
    until, encoder = time.monotonic() + scope.context.recall_timeout, deps.stores.encoder

    def call(job: Callable[[], _Result]) -> _Result:
        return deps.in_time(scope, job, until - time.monotonic())

    if not encoder.is_loaded:  # for who has no memories no model is loaded; its time is no fault of the store
        if not call(partial(_has_any, deps, scope)):
            return [], []
        begun = time.monotonic()
        circuit_breaker_of(deps.stores).load_model(encoder.load)
        until += time.monotonic() - begun
    of_tasks = scope.context.episode_limit if episodes_ is None else episodes_
    known, done = call(partial(_searched, deps, scope, query, facts, of_tasks))
    if known or done:
        ids = [one["id"] for one in (*known, *done)]
        deps.records(scope).count_use(scope.owner.user, ids)
    return known, done


def _talked(deps: AgentDeps, scope: Scope) -> AgentHistory:
    return deps.in_time(scope, lambda: deps.records(scope).agents.load(*scope.place))


def _has_any(deps: AgentDeps, scope: Scope) -> bool:
    user, project = scope.owner
    return deps.records(scope).has_any(user, project, [*FACTS, "episodic"])


def _searched(
    deps: AgentDeps, scope: Scope, query: str, facts: int, of_tasks: int
) -> tuple[list[KnownFact], list[Episode]]:
    user, project = scope.owner
    if asks_for_everything(query):
        known = all_that_is_known(deps.records(scope), scope.owner, FACTS, max(facts, MOST_OF_ALL))
        return [_fact(one) for one in known if not _is_order(one)], []
    model = deps.stores.encoder.model
    usual, given = by_kind(query, model), scope.context.recall_threshold
    alike = ALIKE_UNKNOWN if not model.endswith(MODEL) else ALIKE_CHINESE if is_cjk(query) else ALIKE

    def fact(record: Record) -> float:
        return _NEVER if episodes.is_episode(record) else usual.of(record) if given is None else given

    def task(record: Record) -> float:
        return alike if episodes.is_episode(record) else _NEVER

    searches = [
        MemoryQuery(
            query,
            project,
            [*FACTS, "episodic", "verbatim"],
            facts + SPARE,
            RecordThreshold(usual.least if given is None else given, fact),
        ),
        MemoryQuery(episodes.goal(query), project, ["episodic"], of_tasks + SPARE, RecordThreshold(alike, task)),
    ]
    known, done = deps.records(scope).search_many(user, searches)
    found = [one for one in known if not episodes.is_episode(one.record) and not _is_order(one.record)]
    turns = _turns_that_help(query, [one for one in found if is_turn(one.record)], scope, deps.stores.encoder)
    told = [_fact(one.record) for one in (*(one for one in found if not is_turn(one.record)), *turns)]
    alike_ones = [one for one in done if episodes.is_episode(one.record) and one.cosine >= alike]
    surest = sorted(alike_ones, key=lambda one: (-one.cosine, one.record["id"]))
    return told[:facts], [episodes.read(one.record) for one in surest[:of_tasks]]


def _turns_that_help(query: str, turns: Sequence[MemoryHit], scope: Scope, encoder: Encoder) -> Sequence[MemoryHit]:
    """What the user said in other conversations, word for word, that surely helps.

    What was said in this one stands in its summaries, and what an agent answered is no fact.
    """
    others = [one for one in turns if not is_of_assistant(one.record) and not _is_said_here(one.record, scope)]
    is_usual = MODEL in encoder.model and scope.context.recall_threshold is None
    return relevant(query, others, encoder.answers) if is_usual else others


def _is_said_here(record: Record, scope: Scope) -> bool:
    return any(source["conversation"] == scope.conversation for source in record["sources"])


def _is_order(record: Record) -> bool:
    """Whether a memory tells the agent what to do, whoever managed to have it kept."""
    return is_order(unattributed(record["text"])[2])


def _fact(record: Record) -> KnownFact:
    return {"id": record["id"], "text": record["text"], "at": record["updated_at"]}
