"""Hands the planned step to whoever carries it out: an executor, the agent, or somebody outside, in a pause."""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from agentic_memory_bank.nodes.executors import Assignment, HandedPicture, Report, report
from agentic_memory_bank.nodes.memory_bank.attachments import sees, with_attachments
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.views import refuted_anchors
from agentic_memory_bank.nodes.verdicts import HandedContradiction, handed_contradictions
from agentic_memory_bank.prompts.enhanced import render, to_hand_out
from agentic_memory_bank.state.errors import SettingsError, StorageError, ToolError
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Attachment
from agentic_memory_bank.state.memory_bank import MemoryBankState
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.attached_files import attachment_of, picture_type
from agentic_memory_bank.tools.documents.attachments import SHOWN_BYTES, AttachmentStore, content
from agentic_memory_bank.tools.search.deep_retrieval import deep_retrieval

HANDED_BYTES: Final = 20_000_000
"""How much of pictures to look at goes out with a step: it is kept with the pause."""
RECALLED_PICTURES: Final = 4
"""How many pictures of recalled memories go out with a step."""


def hand_out(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> BankDeps:
    """Hand the step to an executor outside, and return with its result.

    It comes before all else: a stage that has to wait for a budget or a model is tried again, and what was done outside
    is not asked for again.
    """
    task = state["insight_doc"].get("current")
    if "ending" in state.get("allowance", {}):  # it is to be finished with what is there
        return replace(deps, is_outside=False)
    if not deps.is_outside or task is None:
        return deps
    pictures = _pictures(state, deps.files(state, runtime), task)
    if task["kind"] == "recognize" and (not pictures or _run_sees(state, runtime, deps)):
        return deps
    settings = Settings.of(runtime)
    taken = partial(with_attachments, store=deps.files(state, runtime), most=settings.max_attachment_bytes)
    return replace(deps, handed_in=_outside(state, task, pictures, taken))


def carry_out(state: MemoryBankState, runtime: Runtime[Settings], task: Task, deps: BankDeps) -> Report:
    """What somebody did, with the files that tools brought in the store.

    Raises:
        ToolError: There is nobody who could, or what came back cannot be used.
    """
    store, settings = deps.files(state, runtime), Settings.of(runtime)
    return with_attachments(_done(state, runtime, task, deps, store), store, settings.max_attachment_bytes)


def looked_at(state: MemoryBankState, runtime: Runtime[Settings], task: Task, deps: BankDeps) -> Report | None:
    """What an executor says of pictures that no model of the run sees; None where it sees none, or there are none."""
    can_look = deps.handed_in is not None or getattr(deps.executor, "sees", False) is True
    if not can_look or sees(deps.engine) or not _pictures(state, deps.files(state, runtime), task):
        return None
    return carry_out(state, runtime, task, deps)


def left_by_agent(state: MemoryBankState, runtime: Runtime[Settings], task: Task, deps: BankDeps) -> list[BaseMessage]:
    """How far the agent came before the run was to be finished without models; empty where it did not."""
    notes = deps.engine_for(state, runtime).notes if "ending" in state.get("allowance", {}) else None
    return notes().turns(task["id"]) if notes else []


def _run_sees(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> bool:
    """Whether the run has a model that sees; one that cannot be asked is for the stage to say."""
    try:
        return sees(deps.engine_for(state, runtime).engine)
    except SettingsError:
        return True


def _done(
    state: MemoryBankState, runtime: Runtime[Settings], task: Task, deps: BankDeps, store: AttachmentStore
) -> Report:
    """What the executor or the agent did, or one outside has done.

    Raises:
        ToolError: There is none of these.
    """
    if deps.handed_in is not None:
        return deps.handed_in
    prompt = render(state)
    tools = (deep_retrieval(state.get("query_graph", {}), state.get("interaction_tree", {}), partial(content, store)),)
    if deps.executor:
        prompt, points = to_hand_out(state, task), _points(state, task)
        pictures = _pictures(state, store, task) if task["kind"] == "recognize" else []
        goal = state["insight_doc"]["goal"]
        assignment = Assignment(deepcopy(task), goal, prompt, tools, tuple(points), tuple(pictures))
        return report(deps.executor(assignment), prompt, task["kind"], contradictions=points, pictures=pictures)
    if deps.agent:
        from agentic_memory_bank.tools.web.search import web_tools  # loads an HTTP client, which few runs need

        web, missing = web_tools(Settings.of(runtime))
        own = (*tools, *deps.research_tools(state, runtime, refuted_anchors(state)))
        said = deps.agent.run(task["id"], prompt, (*own, *deps.tools, *web), [tool.instruction for tool in missing])
    elif left := left_by_agent(state, runtime, task, deps):
        said = left
    else:
        raise ToolError(f"There is no executor for a step of kind '{task['kind']}'. Pass one with `execute=`.")
    return report(said, prompt, task["kind"])


def _outside(
    state: MemoryBankState, task: Task, pictures: Sequence[HandedPicture], taken: Callable[[Report], Report]
) -> Report:
    """Hand the step out, and wait for what was done; what cannot be used is handed back with the reason."""
    points, prompt = _points(state, task), to_hand_out(state, task)
    handed: dict[str, Any] = {
        "reason": "execute",
        "message": task["description"],
        "task": dict(task),
        "prompt": prompt,
        **({"contradictions": points} if points else {}),
        **({"pictures": list(pictures)} if pictures else {}),
    }
    while True:
        said = interrupt(handed, response_schema=_form(handed))
        try:
            return taken(read_result(said, handed))
        except ToolError as error:
            handed = {**handed, "message": f"{error} The step was: {task['description']}"}


def read_result(said: object, handed: Mapping[str, Any]) -> Report:
    """Read what was done of a step as it was handed out.

    Raises:
        ToolError: It cannot be used.
    """
    kind = handed["task"]["kind"]
    pictures = handed.get("pictures", []) if kind == "recognize" else []
    return report(said, handed["prompt"], kind, contradictions=handed.get("contradictions", []), pictures=pictures)


def _form(handed: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of what a step is resumed with, of which Studio and A2A make a form."""
    text: dict[str, Any] = {"type": "string"}
    fields: dict[str, Any] = {name: text for name in ("text", "answer", "learned", "source")}
    fields["messages"] = {"type": "array", "items": {"type": "object", "required": ["role", "content"]}}
    fields["keep"] = {"title": "Names of the files worth keeping", "type": "array", "items": text}
    if "contradictions" in handed:
        fields["verdict"] = {"anyOf": [_VERDICT, {"type": "array", "items": {"anyOf": [_VERDICT, {"type": "null"}]}}]}
    if handed["task"]["kind"] == "recognize":
        shown = {picture["id"]: {"title": picture["name"], **text} for picture in handed.get("pictures", [])}
        fields["recognized"] = {"title": "What each picture shows", "type": "object", "properties": shown}
    whole = {"title": "What was found", "type": "object", "properties": fields, "additionalProperties": False}
    return {"title": "Result", "anyOf": [{"title": "In words", **text}, whole, fields["messages"]]}


_VERDICT: Final[dict[str, Any]] = {
    "title": "Verdict",
    "type": "object",
    "properties": {
        "outcome": {"enum": ["holds", "integrate", "neither", "inconclusive"]},
        "winner": {"title": "Id of the memory that is right, or number of the claim", "type": ["string", "integer"]},
        "statement": {"title": "What is true, where no claim says it", "type": "string"},
        "explanation": {"type": "string"},
    },
}


def _points(state: MemoryBankState, task: Task) -> list[HandedContradiction]:
    conflict = state.get("query_graph", {}).get("conflicts", {}).get(task["conflict"] or "")
    return handed_contradictions(conflict["contradictions"]) if conflict else []


def _pictures(state: MemoryBankState, store: AttachmentStore, task: Task) -> list[HandedPicture]:
    """The pictures that a step is to look at; of another step some small ones of what is recalled for it."""
    if task["kind"] == "recognize":
        waiting = [item for item in state.get("waiting", []) if item["id"] in task["attachments"]]
        return _handed((attachment_of(item) for item in waiting), store, HANDED_BYTES, HANDED_BYTES)
    entries = state.get("interaction_tree", {}).get("entries", {})
    nodes = state.get("query_graph", {}).get("nodes", {})
    recalled = [nodes[item["node"]] for item in state.get("recalled", []) if item["hit"] and item["node"] in nodes]
    shown = dict.fromkeys(anchor["entry"] for node in recalled for anchor in node["anchors"])
    found = {a["id"]: a for id in shown if id in entries for a in entries[id]["attachments"]}
    return _handed(found.values(), store, SHOWN_BYTES, SHOWN_BYTES * RECALLED_PICTURES)[:RECALLED_PICTURES]


def _handed(found: Iterable[Attachment], store: AttachmentStore, each: int, together: int) -> list[HandedPicture]:
    handed: list[HandedPicture] = []
    for attachment in found:
        if attachment["kind"] != "image":
            continue
        try:
            data = store.read(attachment["path"])
        except StorageError:  # the step says so
            continue
        together -= len(data) if len(data) <= each else 0
        if len(data) <= each and together >= 0:
            media = picture_type(data) or "application/octet-stream"
            encoded = base64.b64encode(data).decode()
            handed.append({"id": attachment["id"], "name": attachment["name"], "type": media, "data": encoded})
    return handed
