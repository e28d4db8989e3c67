"""The Insight Doc: what the task is, what was done, what was learned, and the one step that is next."""

from collections.abc import Iterable, Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

TaskKind = Literal["search", "solve", "answer", "cross_validate", "recognize"]
TaskStatus = Literal["success", "failure", "superseded"]


class Task(TypedDict):
    """The one next step (the current task). What it is about travels with it, so routing never guesses."""

    id: str
    kind: TaskKind
    description: str
    conflict: str | None
    """The conflict a `cross_validate` task settles."""
    attachments: list[str]
    """The attachments a `recognize` task looks at."""


class CompletedTask(TypedDict):
    """A finished step: kind, description, status, and one or two sentences learned."""

    id: str
    kind: TaskKind
    description: str
    status: TaskStatus
    learned: str


class Goal(TypedDict):
    """An earlier question of the same thread, with what was done for it."""

    goal: str
    completed: list[CompletedTask]


class InsightDoc(TypedDict, total=False):
    """The state of the task. Completed tasks only grow; there is at most one current task."""

    id: str
    goal: str
    current: Task | None
    completed: list[CompletedTask]
    archived: list[Goal]


class InsightEdit(TypedDict):
    """One change of the Insight Doc. `v` is the version of the edit's form; old forms fold forever."""

    v: int
    op: Literal["open", "plan", "finish", "supersede"]
    id: NotRequired[str]
    goal: NotRequired[str]
    task: NotRequired[Task | None]
    ids: NotRequired[list[str]]
    status: NotRequired[TaskStatus]
    learned: NotRequired[str]


def open_goal(doc_id: str, goal: str) -> InsightEdit:
    """Begin with a goal. An earlier goal is archived with its completed tasks."""
    return {"v": 1, "op": "open", "id": doc_id, "goal": goal}


def plan(task: Task | None) -> InsightEdit:
    """Set the next step; None for none."""
    return {"v": 1, "op": "plan", "task": task}


def finish(task_id: str, status: TaskStatus, learned: str) -> InsightEdit:
    """Move the current task to the completed ones."""
    return {"v": 1, "op": "finish", "id": task_id, "status": status, "learned": learned}


def supersede(task_ids: Sequence[str]) -> InsightEdit:
    """Mark completed tasks whose result a verdict replaced; they no longer count as success or failure."""
    return {"v": 1, "op": "supersede", "ids": list(task_ids)}


def apply_insight_edits(doc: InsightDoc, updates: Iterable[Sequence[InsightEdit]]) -> InsightDoc:
    """Fold edits into a new Insight Doc. Total: an edit that cannot apply changes nothing."""
    for edits in updates:
        for edit in edits:
            doc = _apply(doc, edit)
    return doc


def _apply(doc: InsightDoc, edit: InsightEdit) -> InsightDoc:
    match edit:
        case {"op": "open", "id": doc_id, "goal": goal}:
            return _open(doc, doc_id, goal)
        case {"op": "plan", "task": task}:
            return {**doc, "current": task}
        case {"op": "finish", "id": task_id, "status": status, "learned": learned}:
            return _finish(doc, task_id, status, learned)
        case {"op": "supersede", "ids": ids}:
            return {**doc, "completed": [_superseded(t) if t["id"] in ids else t for t in doc.get("completed", [])]}
        case _:
            return doc


def _open(doc: InsightDoc, doc_id: str, goal: str) -> InsightDoc:
    if doc.get("id") == doc_id:
        return doc
    archived = doc.get("archived", [])
    if "goal" in doc or doc.get("completed"):
        earlier: Goal = {"goal": doc.get("goal", ""), "completed": doc.get("completed", [])}
        archived = [*archived, earlier]
    return {"id": doc_id, "goal": goal, "current": None, "completed": [], "archived": archived}


def _finish(doc: InsightDoc, task_id: str, status: TaskStatus, learned: str) -> InsightDoc:
    task = doc.get("current")
    if task is None or task["id"] != task_id:
        return doc
    done: CompletedTask = {
        "id": task["id"],
        "kind": task["kind"],
        "description": task["description"],
        "status": status,
        "learned": learned,
    }
    return {**doc, "current": None, "completed": [*doc.get("completed", []), done]}


def _superseded(task: CompletedTask) -> CompletedTask:
    return {**task, "status": "superseded"}
