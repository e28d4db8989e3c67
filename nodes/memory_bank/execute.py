"""Stage 10: carry out the planned step, with the caller's executor or with the engine as a reader of memory."""

from collections.abc import Mapping

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Answer, Dispute, Evidence, Passage
from agentic_memory_bank.nodes.kit import Assignment, Kit
from agentic_memory_bank.nodes.memory_bank.views import citation, refuted_anchors
from agentic_memory_bank.prompts.enhanced import render
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Anchor, text_of
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, Outcome, Result
from agentic_memory_bank.state.query_graph import Contradiction
from agentic_memory_bank.state.settings import Settings

EVIDENCE_PER_CLAIM = 12
"""How many passages of raw text are looked at for each side of a contradiction."""


def execute(state: MemoryBankState, runtime: Runtime[Settings], kit: Kit) -> MemoryBankUpdate:
    """Do the one step.

    Raises:
        ToolError: Nothing here can do a step of this kind.
    """
    task = state["insight_doc"].get("current")
    if task is None:
        raise ToolError("No step is planned.")
    runtime.stream_writer({"stage": "execute", "kind": task["kind"], "memories": len(state.get("recalled", []))})
    if kit.executor is not None and task["kind"] != "cross_validate":
        return {"result": _outside(state, task, kit)}
    if task["kind"] == "cross_validate":
        return {"result": _validated(state, runtime, task, kit)}
    if task["kind"] == "answer":
        return {"result": _read(state, task, kit)}
    raise ToolError(f"There is no executor for a step of kind '{task['kind']}'. Pass one with `execute=`.")


def _outside(state: MemoryBankState, task: Task, kit: Kit) -> Result:
    assert kit.executor is not None
    prompt = render(state)
    said = kit.executor(Assignment(task, state["insight_doc"]["goal"], prompt))
    report: Mapping[str, object] = {"text": said} if isinstance(said, str) else said
    text = str(report.get("text", ""))
    answer = str(report.get("answer", text if task["kind"] == "answer" else ""))
    if not (text.strip() or answer.strip()):
        raise ToolError("The executor returned nothing. A step that found nothing should say so in words.")
    entry = {"kind": "trajectory", "text": text, "source": str(report.get("source", "executor"))}
    return {
        "task": task["id"],
        "status": "success",
        "learned": str(report.get("learned", "")) or text[:200],
        "answer": answer,
        "sources": [],
        "entries": [entry] if text.strip() else [],
        "verdict": None,
    }


def _read(state: MemoryBankState, task: Task, kit: Kit) -> Result:
    """Answer from the recalled raw text, with quotes; what a validation refuted is not quoted."""
    tree, wrong = state["interaction_tree"], refuted_anchors(state)
    shown = [(item, anchor) for item in state.get("recalled", []) for anchor in item["passages"]]
    passages = [
        Passage(text_of(tree, anchor), item["score"], tuple(s for w in wrong if (s := _inside(anchor, w))))
        for item, anchor in shown
    ]
    said = kit.engine.answer(state["insight_doc"]["goal"], passages) if passages else Answer("", (), "")
    sources = []
    for quote in said.quotes:
        item, anchor = shown[quote.passage]
        start = anchor["start"] + quote.span[0]
        place: Anchor = {**anchor, "start": start, "end": start + quote.span[1] - quote.span[0]}
        sources.append(citation(state, place, item["node"]))
    return {
        "task": task["id"],
        "status": "success",
        "learned": said.learned if sources else "Memory holds nothing that answers the question.",
        "answer": said.text if sources else "",
        "sources": sources,
        "entries": [],
        "verdict": None,
    }


def _inside(outer: Anchor, inner: Anchor) -> tuple[int, int] | None:
    if outer["entry"] != inner["entry"] or inner["end"] <= outer["start"] or inner["start"] >= outer["end"]:
        return None
    return max(0, inner["start"] - outer["start"]), min(outer["end"], inner["end"]) - outer["start"]


def _validated(state: MemoryBankState, runtime: Runtime[Settings], task: Task, kit: Kit) -> Result:
    """Let the engine decide each contradiction of the conflict by the raw text of all sources."""
    conflict = state["query_graph"]["conflicts"][task["conflict"] or ""]
    disputes = [_dispute(state, runtime, c, kit) for c in conflict["contradictions"]]
    found = kit.engine.validate(disputes)
    outcomes: list[Outcome] = [
        {
            "outcome": f.outcome,
            "winner": f.winner,
            "statement": f.statement,
            "explanation": f.explanation,
            "evidence": [{"entry": e.entry, "start": e.span[0], "end": e.span[1]} for e in f.evidence],
        }
        for f in found
    ]
    return {
        "task": task["id"],
        "status": "success",
        "learned": " ".join(f.explanation for f in found),
        "answer": "",
        "sources": [],
        "entries": [],
        "verdict": {"conflict": conflict["id"], "outcomes": outcomes},
    }


def _dispute(state: MemoryBankState, runtime: Runtime[Settings], contradiction: Contradiction, kit: Kit) -> Dispute:
    """A contradiction with the claims' own passages and whatever else in memory speaks of the same."""
    index, settings = kit.index(state, runtime), Settings.of(runtime)
    index.follow(state["query_graph"], state["interaction_tree"])
    anchors = {_place(claim["anchor"]): claim["anchor"] for claim in contradiction["claims"]}
    for claim in contradiction["claims"]:
        for _, _, anchor in index.search_passages(claim["quote"], EVIDENCE_PER_CLAIM, settings):
            anchors.setdefault(_place(anchor), anchor)
    return Dispute(
        kind=contradiction["kind"],
        quotes=tuple(claim["quote"] for claim in contradiction["claims"]),
        values=tuple(claim["value"] for claim in contradiction["claims"]),
        evidence=tuple(_evidence(state, anchor) for anchor in anchors.values()),
    )


def _place(anchor: Anchor) -> tuple[str, int, int]:
    return anchor["entry"], anchor["start"], anchor["end"]


def _evidence(state: MemoryBankState, anchor: Anchor) -> Evidence:
    entry = state["interaction_tree"]["entries"][anchor["entry"]]
    date = entry["metadata"].get("date")
    return Evidence(
        entry=entry["id"],
        source=entry["source"],
        text=text_of(state["interaction_tree"], anchor),
        created_at=entry["created_at"],
        date=str(date) if date else None,
        start=anchor["start"],
    )
