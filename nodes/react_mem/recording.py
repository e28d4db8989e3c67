"""Stores what an agent did: summary, results and turns at once; facts and lessons in the background."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agentic_memory_bank.engines.own_words import is_order
from agentic_memory_bank.nodes.agent_messages import Exchange, calls_of
from agentic_memory_bank.nodes.deps import Owner
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.memory_deps import keeps
from agentic_memory_bank.nodes.messages import REPEATS, text_of, turns_of
from agentic_memory_bank.nodes.react_mem import episodes, steps
from agentic_memory_bank.nodes.react_mem.deps import AgentDeps, Scope
from agentic_memory_bank.nodes.react_mem.episodes import masked
from agentic_memory_bank.nodes.react_mem.lessons import with_lesson
from agentic_memory_bank.nodes.react_mem.working_memory import listed
from agentic_memory_bank.nodes.remember.saving import IncomingTurns, save_state
from agentic_memory_bank.nodes.remember.views import expiry_of, retention_days
from agentic_memory_bank.state.conversations import MemoryContext, RememberOutput
from agentic_memory_bank.state.react_mem import AgentConversation, Episode, Invocation, KeptStep
from agentic_memory_bank.state.records import MemorySource, Record
from agentic_memory_bank.tools.concurrency.circuit_breaker import CallFailed
from agentic_memory_bank.tools.memories.agent_conversations import FORM
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.validation import conversation_of, project_of, stamp
from agentic_memory_bank.tools.text.attribution import unattributed
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.terms import tokenize

QUERY: Final = 1_000
RESULT: Final = 4_000
SUMMARY: Final = 400
"""Longest parts of a summary, in characters; the whole course is kept beside it."""
MOST_IDLE: Final = 3
"""How many other conversations of a user are ended in one go."""
LEAST_TASKS: Final = 2
"""Tasks that make a conversation an episode of its own."""
MOST_ALIKE: Final = 5
"""How many memories a drawn fact is compared with where the agent has kept facts itself."""

_PERSONS: Final = frozenset(tokenize("the user users user's i my me mine they their he his she her"))
_DENIES: Final = re.compile(r"\b(?:no|not|never|none|without|cannot)\b|n['’]t\b|不|没|無|无", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DoneTask:
    """What one invocation of an agent did."""

    id: str
    at: str
    """When it was handed over."""
    question: HumanMessage
    exchanges: Sequence[Exchange]
    failure: str = ""
    """What it failed of: the kind of error; empty where it came to its end."""


def invocation_id(question: HumanMessage, number: int) -> str:
    """The id of an invocation: the same when it goes on after a crash."""
    return "i" + digest("invocation", question.id or text_of(question), number)[:12]


def record_now(deps: AgentDeps, scope: Scope, done: DoneTask) -> bool:
    """Write down what one invocation did, before its answer is handed out; no model is asked here.

    Where the store does not answer within `recall_timeout`, `record` makes up for it.

    Returns:
        Whether the conversation had been silent for so long that it had ended before: `record` has to know.
    """
    try:
        before = deps.in_time(scope, lambda: _written(deps, scope, done))
    except CallFailed:
        return False
    return before is not None and not before["ended"] and before["at"] <= _silent_since(deps, scope)


def _written(deps: AgentDeps, scope: Scope, done: DoneTask) -> AgentConversation | None:
    """Keep the summary, the results, what was said, and the episode by rule. Returns where the conversation stood."""
    records, (user, project) = deps.records(scope), scope.owner
    if done.at < records.conversations.deleted_at(user, project) or not _keeps(records, scope):
        return None
    episode = _episode(scope, done)
    summary = _summary(done, episode)
    before = records.agents.add(*scope.place, summary, _texts(done), retention_days(scope.context))
    if scope.context.auto_facts:
        save_state(
            records,
            IncomingTurns(scope.owner, scope.conversation, _told(done), _drawing(scope, done), deps.clock(), done.at),
        )
    if episode and not scope.context.condense_with_model:
        _store(records, scope, episode, summary["turns"], deps.clock(), embed=False)
    return before


def record(deps: AgentDeps, scope: Scope, done: DoneTask, *, was_silent: bool = False) -> None:
    """Keep what one invocation did, with what models say of it; done twice, it is done once.

    Args:
        deps: What stages work with: stores, engine and queue.
        scope: User, project and conversation of the invocation.
        done: What the invocation asked, did and found.
        was_silent: Whether the conversation had ended in silence before.

    Raises:
        MemoryBankError: Something of it could not be kept.
    """
    records, user = deps.records(scope), scope.owner.user
    if done.at < records.conversations.deleted_at(user, scope.owner.project) or not _keeps(records, scope):
        return  # it was to be forgotten while it waited, or is not to be kept
    if was_silent:
        end_conversation(deps, scope, but=done.id)
    end_idle(deps, scope)
    episode = _episode(scope, done)
    if episode and scope.context.condense_with_model:
        episode = with_lesson(deps, scope, episode, done.id)
    summary = _summary(done, episode)
    records.agents.add(*scope.place, summary, _texts(done), retention_days(scope.context))
    if episode:
        _store(records, scope, episode, summary["turns"], deps.clock())
    records.backfill_vectors(user)
    if scope.context.auto_facts:
        _facts(deps, scope, done)


def _store(
    records: RecordStore, scope: Scope, episode: Episode, turns: Sequence[str], now: datetime, *, embed: bool = True
) -> Record:
    """Keep an episode for as long as the settings say, unless it is kept."""
    user, project = scope.owner
    draft = episodes.draft(episode, scope.conversation, turns, project)
    known = records.find_same(user, [draft])[0]
    return (
        known
        or records.store_many(user, [{**draft, "expires_at": expiry_of(now, scope.context)}], embed=embed)[0].record
    )


def end_conversation(deps: AgentDeps, scope: Scope, at: str = "", *, but: str = "") -> None:
    """End a conversation: its facts are drawn, and several tasks become an episode. Done twice, it is done once.

    Args:
        deps: What stages work with: stores, engine and queue.
        scope: User, project and conversation of the invocation.
        at: When it was asked for; nothing is done where all was forgotten since.
        but: The invocation with which it went on since.

    Raises:
        MemoryBankError: Something of it could not be kept.
    """
    records, (user, project) = deps.records(scope), scope.owner
    if (at and at < records.conversations.deleted_at(user, project)) or not _keeps(records, scope):
        return
    if scope.context.auto_facts:
        _remember(deps, scope, {"messages": [], "conversation_id": scope.conversation, "end": True})
    talked = records.agents.load(*scope.place)
    if talked.state is None or talked.state["ended"]:
        return
    tasks = [one for one in talked.invocations if one["is_task"] and one["id"] != but]
    kept = talked.state["episode"]
    if len(tasks) >= LEAST_TASKS and scope.context.record_episodes:
        turns = [turn for task in tasks for turn in task["turns"]]
        known = _store(records, scope, episodes.of_conversation(tasks), turns, deps.clock())
        if kept and kept != known["id"] and records.get(user, kept):
            records.mark_superseded(user, kept, known["id"])
        kept = known["id"]
    records.agents.end(*scope.place, kept, goes_on=bool(but))


def end_idle(deps: AgentDeps, scope: Scope) -> int:
    """End the user's conversations with agents that are silent for long; how many, of some at a time.

    Raises:
        MemoryBankError: Something could not be kept.
    """
    silent_since = _silent_since(deps, scope)
    talks = deps.records(scope).agents.list_all(scope.owner.user)
    silent = [talk for talk in talks if not talk["ended"] and talk["at"] <= silent_since][: MOST_IDLE + 1]
    for talk in silent:
        end_conversation(deps, _scope_of(scope, talk))
    return len(silent)


def _keeps(records: RecordStore, scope: Scope) -> bool:
    return keeps(records, scope.owner, scope.context, scope.conversation)


def _silent_since(deps: AgentDeps, scope: Scope) -> str:
    return stamp(deps.clock() - timedelta(minutes=scope.context.remember_idle_minutes))


def _scope_of(scope: Scope, talk: AgentConversation) -> Scope:
    owner = Owner(scope.owner.user, project_of(talk))
    context = scope.context.model_copy(update={"project": owner.project})
    return Scope(owner, conversation_of(talk), context, scope.store)


def _summary(done: DoneTask, episode: Episode | None) -> Invocation:
    """Asked, did, result: by rule, so that it says nothing that was not said or done."""
    calls = steps.actions(done.exchanges)
    failed = sum(call.failed for call in calls)
    did = ", ".join(dict.fromkeys(f"{call.tool}({steps.gist(call.arguments, 60)})" for call in calls))
    failures = f"; {failed} of {len(calls)} calls failed" if failed else ""
    result = f"{episodes.NOT_DONE}: {done.failure}" if done.failure else steps.final(done.exchanges)
    answer = [message for exchange in done.exchanges[-1:] for message in exchange[:1]]
    return {
        "v": FORM,
        "id": done.id,
        "at": done.at,
        "query": masked(steps.gist(text_of(done.question), QUERY)),
        "summary": masked(steps.gist(f"called {did}{failures}", SUMMARY)) if calls else "",
        "result": masked(steps.gist(result, RESULT)),
        "is_task": _is_task(done),
        "failed": bool(done.failure),
        "lesson": episode["lesson"] if episode else "",
        "asked": steps.asked_hash(done.question),
        "turns": [turn.id for turn in turns_of([done.question, *answer])],
    }


def _texts(done: DoneTask) -> list[KeptStep]:
    """What can be read of an invocation: every result word for word, and the whole course."""
    kept = [
        _text(done, call.id, call.tool, call.result)
        for call in steps.actions(done.exchanges)
        if call.id and call.result
    ]
    course = [f"User: {text_of(done.question)}", listed(done.exchanges), f"Result: {steps.final(done.exchanges)}"]
    return [*kept, _text(done, done.id, "invocation", "\n\n".join(course))]


def _text(done: DoneTask, id: str, source: str, text: str) -> KeptStep:
    return {"v": FORM, "id": id, "of": done.id, "at": done.at, "source": clean(source), "text": clean(text)}


def _is_task(done: DoneTask) -> bool:
    """Whether it is worth an episode; an order to the memory is not."""
    return episodes.is_task(steps.actions(done.exchanges), bool(done.failure)) and not is_order(text_of(done.question))


def _episode(scope: Scope, done: DoneTask) -> Episode | None:
    """What was done as an episode, by rule; None where it was no task, or none is wanted."""
    if not (scope.context.record_episodes and _is_task(done)):
        return None
    calls = steps.actions(done.exchanges)
    result = f"{episodes.NOT_DONE}: {done.failure}" if done.failure else steps.final(done.exchanges)
    return {
        "id": "",
        "goal": steps.gist(text_of(done.question), episodes.GOAL),
        "outcome": masked(steps.gist(result, episodes.OUTCOME)),
        "lesson": episodes.lesson(calls),
        "steps": episodes.lines(calls),
        "at": done.at,
    }


def _told(done: DoneTask) -> list[AnyMessage]:
    """What the user said and the agent answered, which its summary keeps; nothing of what was recalled or called."""
    final = steps.final(done.exchanges)
    answer = done.exchanges[-1][0] if final and not done.failure else None
    if not isinstance(answer, AIMessage):
        return [done.question]
    repeated = {**answer.additional_kwargs, REPEATS: True}
    return [done.question, answer.model_copy(update={"additional_kwargs": repeated})]


def _facts(deps: AgentDeps, scope: Scope, done: DoneTask) -> None:
    """Draw facts from what was said."""
    told = {"messages": _told(done), "conversation_id": scope.conversation, "handed_at": done.at}
    found = _remember(deps, scope, told, done)
    if steps.STORE_FACT in {call["name"] for one in done.exchanges for call in calls_of(one).values()}:
        _unite(deps.records(scope), scope, found.get("stored", []))


def _unite(records: RecordStore, scope: Scope, drawn: Sequence[str]) -> None:
    """Let facts that were drawn stand for those that the agent kept itself in the words of somebody else."""
    user, project = scope.owner
    for fact in filter(None, (records.get(user, id) for id in drawn)):
        alike = records.search(user, fact["text"], project=project, types=[fact["type"]], limit=MOST_ALIKE)
        own = [one.record for one in alike if one.record["sources"] == [_by_agent(one.record, scope)]]
        same = [record["id"] for record in own if _says(record) == _says(fact)]
        records.mark_consolidated(user, [id for id in same if id != fact["id"]], fact["id"])


def _by_agent(record: Record, scope: Scope) -> MemorySource:
    """The source of a fact that the agent kept in this conversation."""
    return {"conversation": scope.conversation, "turns": [], "quotes": [record["text"]]}


def _says(record: Record) -> tuple[frozenset[str], bool]:
    """What a fact says, whoever says it: its words without persons, and whether it denies something."""
    words = unattributed(record["text"])[2]
    return frozenset(tokenize(words)) - _PERSONS, _DENIES.search(words) is not None


def _drawing(scope: Scope, done: DoneTask | None = None) -> MemoryContext:
    """How facts are drawn from what was said: after each invocation. What asks for a task is kept as an episode."""
    user, project = scope.owner
    turns = scope.context.remember_turns and not (done and _is_task(done))
    update = {"user": user, "project": project, "remember_every": 1, "remember_turns": turns}
    return scope.context.model_copy(update=update)


def _remember(deps: AgentDeps, scope: Scope, given: dict[str, Any], done: DoneTask | None = None) -> RememberOutput:
    graph = deps.remember if scope.store is None else deps.remember.copy({"store": scope.store})
    return cast(RememberOutput, graph.invoke(given, context=_drawing(scope, done)))
