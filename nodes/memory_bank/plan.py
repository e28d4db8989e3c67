"""Stage 9: what is the one next step?"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import PlannerInput
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.pausing import Pause, pause
from agentic_memory_bank.nodes.memory_bank.views import digest, memory_views
from agentic_memory_bank.state import insight_doc
from agentic_memory_bank.state.errors import BudgetReachedError
from agentic_memory_bank.state.insight_doc import Task, TaskKind
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, PendingAttachment
from agentic_memory_bank.state.query_graph import Conflict, Contradiction, open_conflicts
from agentic_memory_bank.state.settings import Settings

STEPS_IN_RESERVE = 40
"""Super-steps kept back of LangGraph's recursion limit: a round and its end fit in."""
TRAIL_LENGTH = 32
"""How many planned steps are remembered to notice that one comes again."""

POINTS_NAMED = 8
"""How many points of a conflict a task names; a prompt does not grow with the size of a group."""
_STOPPED: Final[MemoryBankUpdate] = {
    "insight_doc": [insight_doc.plan(None)],
    "fresh": [],
    "candidates": {},
    "status": "stopped",
}


def plan(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Name one next step, or none: open conflicts are validated first, then attachments recognised.

    Limits pause the run before they are hit.

    Raises:
        BudgetReachedError: The run took the time it may take.
    """
    if state.get("allowance", {}).get("ending") == "stop":
        return _STOPPED
    if state["incoming"]:  # what came with a verdict: the plan is made when it is remembered
        return {"insight_doc": [insight_doc.plan(None)], "fresh": [], "candidates": {}}
    if _owes_answer(state):
        return _answering(state)
    _check_time(state, Settings.of(runtime), deps)
    task = _next_task(state, deps, Settings.of(runtime))
    trail = state.get("trail", [])
    fingerprint = _fingerprint(state, task)
    waiting = _pause(state, stalled=task is not None and fingerprint in trail)
    decision = pause(waiting) if waiting else "continue"
    if decision in ("finish", "stop"):
        return _answering(state) if decision == "finish" else _STOPPED
    runtime.stream_writer({"stage": "plan", "task": task and {"kind": task["kind"], "text": task["description"]}})
    update: MemoryBankUpdate = {
        "insight_doc": [insight_doc.plan(task)],
        "fresh": [],
        "candidates": {},
        "trail": [*trail, fingerprint][-TRAIL_LENGTH:],
    }
    if waiting:
        update["started"] = deps.clock().timestamp()
    return update


def _owes_answer(state: MemoryBankState) -> bool:
    """Whether the run is to be finished without models, and nobody has tried to answer in that way."""
    done, goal = state["insight_doc"].get("completed", []), state["insight_doc"]["goal"]
    if state.get("allowance", {}).get("ending") != "finish" or open_conflicts(state.get("query_graph", {})):
        return False
    return not any(t["kind"] == "answer" and (t["status"] == "success" or t["description"] == goal) for t in done)


def _answering(state: MemoryBankState) -> MemoryBankUpdate:
    """The last step, carried out without models: the answer from what is there."""
    doc = state["insight_doc"]
    number = len(doc.get("completed", [])) + 1
    task_id = "t" + digest(doc["id"], number, "answer", "finish")[:12]
    task: Task = {"id": task_id, "kind": "answer", "description": doc["goal"], "conflict": None, "attachments": []}
    return {
        "insight_doc": [insight_doc.plan(task)],
        "fresh": [],
        "candidates": {},
        "allowance": {**state.get("allowance", {}), "ending": "finish"},
    }


def _next_task(state: MemoryBankState, deps: BankDeps, settings: Settings) -> Task | None:
    doc, graph = state["insight_doc"], state.get("query_graph", {})
    number = len(doc.get("completed", [])) + 1
    waiting = open_conflicts(graph)
    if waiting:
        return _validation(waiting[0], doc["id"], number)
    if attached := state.get("waiting"):
        return _recognition(attached, doc["id"], number)
    conflicts = tuple(graph.get("conflicts", {}).values())
    shown = deepcopy((doc, conflicts))  # an engine may be anybody's code, and the state is not its to change
    step = deps.engine.plan(
        PlannerInput(
            shown[0], memory_views(state, state.get("fresh", [])), shown[1], _kinds(deps, settings), _merges(state)
        )
    )
    if step is None:
        return None
    task_id = "t" + digest(doc["id"], number, step.kind, step.description)[:12]
    return {"id": task_id, "kind": step.kind, "description": step.description, "conflict": None, "attachments": []}


def _merges(state: MemoryBankState) -> tuple[str, ...]:
    """What the new memories were merged from, in words."""
    fresh = set(state.get("fresh", []))
    events = state.get("interaction_tree", {}).get("merges", [])
    return tuple(event["description"] for event in events if event["node"] in fresh and event["description"])


def _kinds(deps: BankDeps, settings: Settings) -> tuple[TaskKind, ...]:
    """The kinds of step that somebody here can carry out."""
    if deps.can_search(settings):
        return ("search", "solve", "answer")
    return ("solve", "answer") if deps.agent else ("answer",)


def _validation(conflict: Conflict, doc_id: str, number: int) -> Task:
    """The step that settles a conflict: it names the memories and every point on which they differ."""
    shown = conflict["contradictions"][:POINTS_NAMED]
    points = [f"{c['reason']} [{_claims(c)}]" for c in shown]
    if more := len(conflict["contradictions"]) - len(shown):
        points.append(f"And {more} more.")
    return {
        "id": "t" + digest(doc_id, number, "cross_validate", conflict["id"])[:12],
        "kind": "cross_validate",
        "description": f"Find out which holds between the memories {_listed(conflict['nodes'])}. {' '.join(points)}",
        "conflict": conflict["id"],
        "attachments": [],
    }


def _recognition(waiting: Sequence[PendingAttachment], doc_id: str, number: int) -> Task:
    """The step that puts attachments into words, all of them at once."""
    ids = [item["id"] for item in waiting]
    return {
        "id": "t" + digest(doc_id, number, "recognize", *ids)[:12],
        "kind": "recognize",
        "description": f"Recognise what stands in {_listed([item['name'] for item in waiting])}.",
        "conflict": None,
        "attachments": ids,
    }


def _claims(contradiction: Contradiction) -> str:
    return " / ".join(f"{claim['node']}: {claim['quote']}" for claim in contradiction["claims"])


def _listed(names: list[str]) -> str:
    more = len(names) - 2 * POINTS_NAMED
    return ", ".join(names[: 2 * POINTS_NAMED]) + (f" and {more} more" if more > 0 else "")


def _fingerprint(state: MemoryBankState, task: Task | None) -> str:
    """A key of a planned step and of what is known: equal where a step is planned again and nothing was learned."""
    if task is None:
        return ""
    entries = state.get("interaction_tree", {}).get("entries", {}).values()
    conflicts = state.get("query_graph", {}).get("conflicts", {}).values()
    known = len({entry["text"] for entry in entries}), sum(c["status"] != "open" for c in conflicts)
    return digest(task["kind"], task["description"], *task["attachments"], *known)[:16]


def _pause(state: MemoryBankState, *, stalled: bool) -> Pause | None:
    if stalled:
        return {"reason": "stall", "message": "The same step was planned again, and nothing new was learned since."}
    if state.get("remaining_steps", STEPS_IN_RESERVE + 1) <= STEPS_IN_RESERVE:
        return {"reason": "steps", "message": "LangGraph's recursion limit is near; going on gives a fresh allowance."}
    return None


def _check_time(state: MemoryBankState, settings: Settings, deps: BankDeps) -> None:
    """Time is a budget with and without a model."""
    allowance = state.get("allowance", {})
    if settings.budget_seconds is None or "ending" in allowance:
        return
    limit = settings.budget_seconds + allowance.get("extra", {}).get("seconds", 0.0)
    if deps.clock().timestamp() - state.get("started", 0.0) >= limit:
        raise BudgetReachedError("seconds", limit)
