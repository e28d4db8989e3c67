"""Makes episodes of what an agent did: goal, steps, outcome, and the lesson of what failed and what worked instead."""

from collections.abc import Sequence
from typing import Final

from agentic_memory_bank.nodes.react_mem.steps import ToolCallResult, gist
from agentic_memory_bank.state.react_mem import Episode, Invocation
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.memories.validation import NewMemory
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.spans import merged

TASK: Final = "task"
"""The attribute of memories that are episodes of an agent: what else happened is no task."""
LEAST_ACTIONS: Final = 2
"""Calls of tools that make an invocation a task (multi-step)."""
GOAL: Final = 400
OUTCOME: Final = 200
LESSON: Final = 500
STEP: Final = 160
"""Longest parts of an episode, in characters."""
STEPS: Final = 30
"""How many steps are kept: a third of them the first ones."""
NOTES: Final = 3
"""How many failures a lesson is made of."""
ARGUMENTS: Final = 80
REASON: Final = 100
HIDDEN: Final = "[left out]"
TRUST: Final = 0.6
"""How far an episode is trusted: as what an assistant says."""

NOT_DONE: Final = "not finished"
"""How the outcome of a task begins that failed."""

_TASK, _OUTCOME, _LESSON = "Task: ", "Outcome: ", "Lesson: "


def is_task(calls: Sequence[ToolCallResult], failed: bool) -> bool:
    """Whether an invocation is worth an episode: several actions, or one that failed."""
    return len(calls) >= LEAST_ACTIONS or any(call.failed for call in calls) or (failed and bool(calls))


def lesson(calls: Sequence[ToolCallResult]) -> str:
    """What follows from what was called, by rule.

    Of what failed: with what, why, and what then worked. And the way that worked, in its order.
    """
    notes: dict[str, list[str]] = {}
    for place, call in enumerate(calls):
        if call.failed:
            why = f"{_shown(call)} failed ({gist(call.result, REASON)})"
            notes.setdefault(_instead(call, calls[place + 1 :]), []).append(why)
    told = [f"{'; '.join([*dict.fromkeys(failed)][:NOTES] + [then] * bool(then))}." for then, failed in notes.items()]
    worked = [call for call in calls if not call.failed]
    way = " → ".join(dict.fromkeys(_shown(call) for call in worked))
    ways = [f"What worked: {gist(way, LESSON // 2)}."] if worked else []
    return masked(" ".join([*told[:NOTES], *ways]))[:LESSON]


def lines(calls: Sequence[ToolCallResult]) -> list[str]:
    """The steps of an episode, a line each; of very many the first and the last ones."""
    kept = list(calls)
    if len(kept) > STEPS:
        kept = [*kept[: STEPS // 3], *kept[-(STEPS - STEPS // 3) :]]
    return [masked(gist(f"{_shown(call)} → {_came(call)}", STEP)) for call in kept]


def goal(text: str) -> str:
    """A goal as it is embedded and searched: nothing else of an episode, since that hides what the goals share."""
    return f"{_TASK}{gist(masked(text), GOAL)}"


def draft(episode: Episode, conversation: str, turns: Sequence[str], project: str) -> NewMemory:
    """An episode as it is stored. The same goal once more is another account of the same memory."""
    account = [f"{_OUTCOME}{episode['outcome']}", f"{_LESSON}{episode['lesson']}", *episode["steps"]]
    return {
        "text": goal(episode["goal"]),
        "type": "episodic",
        "project": project,
        "attribute": TASK,
        "source": {"conversation": conversation, "turns": list(turns), "quotes": account},
        "trust": TRUST,
        "metadata": episode.get("metadata", {}),
    }


def is_episode(record: Record) -> bool:
    """Whether a memory is an episode of an agent."""
    return record["type"] == "episodic" and record["attribute"] == TASK


def read(record: Record) -> Episode:
    """An episode as it was stored: by its last account that came to a good end, or else the last one."""
    accounts = [source["quotes"] for source in record["sources"]] or [[]]
    ended = [account for account in accounts if account and not account[0].startswith(f"{_OUTCOME}{NOT_DONE}")]
    account = (ended or accounts)[-1]
    return {
        "id": record["id"],
        "goal": record["text"].removeprefix(_TASK),
        "outcome": "".join(line.removeprefix(_OUTCOME) for line in account[:1]),
        "lesson": "".join(line.removeprefix(_LESSON) for line in account[1:2]),
        "steps": account[2:],
        "at": record["updated_at"],
        "metadata": record["metadata"],
    }


def of_conversation(tasks: Sequence[Invocation]) -> Episode:
    """A conversation of several tasks as one episode: their goals in order, the last result, all lessons."""
    goals = "; ".join(dict.fromkeys(" ".join(task["query"].split())[: GOAL // 2] for task in tasks))
    lessons = " ".join(dict.fromkeys(task["lesson"] for task in tasks if task["lesson"]))
    return {
        "id": "",
        "goal": masked(gist(goals, GOAL)),
        "outcome": masked(gist(tasks[-1]["result"], OUTCOME)),
        "lesson": masked(gist(lessons, LESSON)),
        "steps": [masked(gist(f"{task['query']} → {task['summary']}", STEP)) for task in tasks][-STEPS:],
        "at": tasks[-1]["at"],
    }


def masked(text: str) -> str:
    """A text without credentials."""
    for start, end in reversed(merged(secrets_in(text))):
        text = f"{text[:start]}{HIDDEN}{text[end:]}"
    return text


def _instead(call: ToolCallResult, later: Sequence[ToolCallResult]) -> str:
    """What worked after a call that failed: the same tool with other arguments, or else another one; or nothing."""
    worked = [other for other in later if not other.failed]
    same = next((other for other in worked if other.tool == call.tool and other.arguments != call.arguments), None)
    if same:
        return f"{_shown(same)} worked"
    other = next((other for other in worked if other.tool != call.tool), None)
    return f"{_shown(other)} worked instead" if other else ""


def _shown(call: ToolCallResult) -> str:
    return f"{call.tool}({gist(call.arguments, ARGUMENTS)})"


def _came(call: ToolCallResult) -> str:
    return f"failed: {call.result}" if call.failed else call.result or "nothing"
