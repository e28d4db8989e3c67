"""Stage 10: carry out the planned step, with the caller's executor or with the engine as a reader of memory."""

from collections.abc import Mapping

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import Answer, Dispute, Evidence, Passage
from agentic_memory_bank.nodes.kit import Assignment, Executor, Kit
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.memory_bank.views import citation, refuted_anchors
from agentic_memory_bank.prompts.enhanced import render
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Anchor, text_of
from agentic_memory_bank.state.memory_bank import MemoryBankState, MemoryBankUpdate, Outcome, Result, Source
from agentic_memory_bank.state.query_graph import Claim, Conflict
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.deep_retrieval import deep_retrieval
from agentic_memory_bank.tools.text import clean

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
        return {"result": _outside(state, task, kit.executor)}
    if task["kind"] == "cross_validate":
        return {"result": _validated(state, runtime, task, kit)}
    if task["kind"] == "answer":
        return {"result": _read(state, task, kit)}
    raise ToolError(f"There is no executor for a step of kind '{task['kind']}'. Pass one with `execute=`.")


def _outside(state: MemoryBankState, task: Task, executor: Executor) -> Result:
    tools = (deep_retrieval(state.get("query_graph", {}), state.get("interaction_tree", {})),)
    said = executor(Assignment(task, state["insight_doc"]["goal"], render(state), tools))
    if not isinstance(said, (str, Mapping)):
        raise ToolError("An executor returns text, or a mapping with `text`.")
    report: Mapping[str, object] = {"text": said} if isinstance(said, str) else said
    text = _said(report, "text")
    answer = _said(report, "answer") or (text if task["kind"] == "answer" else "")
    if not (text.strip() or answer.strip()):
        raise ToolError("The executor returned nothing. A step that found nothing should say so in words.")
    entry = {"kind": "trajectory", "text": text, "source": _said(report, "source") or "executor"}
    return {
        "task": task["id"],
        "status": "success",
        "learned": _said(report, "learned") or text[:200],
        "answer": answer,
        "sources": [],
        "entries": [entry] if text.strip() else [],
        "verdict": None,
    }


def _said(report: Mapping[str, object], field: str) -> str:
    value = report.get(field)
    return "" if value is None else clean(str(value))


def _read(state: MemoryBankState, task: Task, kit: Kit) -> Result:
    """Answer from the recalled raw text, with quotes; what a validation refuted is not quoted."""
    tree, wrong = state["interaction_tree"], refuted_anchors(state)
    shown = [(item, anchor) for item in state.get("recalled", []) for anchor in item["passages"]]
    shown = [(item, anchor) for item, anchor in shown if text_of(tree, anchor).strip()]  # the rest was forgotten
    passages = [
        Passage(text_of(tree, anchor), item["score"], tuple(s for w in wrong if (s := _inside(anchor, w))))
        for item, anchor in shown
    ]
    said = Answer("", (), "")
    if passages:
        said = contract.answer(kit.engine.answer(state["insight_doc"]["goal"], passages), passages)
    sources: list[Source] = []
    answer = said.text
    for quote in said.quotes:
        item, anchor = shown[quote.passage]
        start = anchor["start"] + quote.span[0]
        place: Anchor = {**anchor, "start": start, "end": start + quote.span[1] - quote.span[0]}
        sources.append(citation(state, place, item["node"]))
    for claim in _other_side(state, sources):
        sources.append(citation(state, claim["anchor"], claim["node"]))
        answer += f"\n{claim['quote']}"
    return {
        "task": task["id"],
        "status": "success",
        "learned": said.learned if sources else "Memory holds nothing that answers the question.",
        "answer": answer if sources else "",
        "sources": sources,
        "entries": [],
        "verdict": None,
    }


def _other_side(state: MemoryBankState, sources: list[Source]) -> list[Claim]:
    """The claims that contradict what is quoted while it is open which is right: half of that misleads."""
    disputed = [c for c in state.get("query_graph", {}).get("conflicts", {}).values() if c["status"] != "settled"]
    others: dict[str, Claim] = {}
    for contradiction in (c for conflict in disputed for c in conflict["contradictions"]):
        quoted = [claim for claim in contradiction["claims"] if _is_quoted(claim["anchor"], sources)]
        if quoted and contradiction.get("outcome", "inconclusive") == "inconclusive":
            rest = [claim for claim in contradiction["claims"] if claim not in quoted]
            others.update((claim["quote"], claim) for claim in rest)
    return list(others.values())


def _is_quoted(anchor: Anchor, sources: list[Source]) -> bool:
    return any(
        s["entry"] == anchor["entry"] and s["start"] < anchor["end"] and anchor["start"] < s["end"] for s in sources
    )


def _inside(outer: Anchor, inner: Anchor) -> tuple[int, int] | None:
    if outer["entry"] != inner["entry"] or inner["end"] <= outer["start"] or inner["start"] >= outer["end"]:
        return None
    return max(0, inner["start"] - outer["start"]), min(outer["end"], inner["end"]) - outer["start"]


def _validated(state: MemoryBankState, runtime: Runtime[Settings], task: Task, kit: Kit) -> Result:
    """Let the engine decide each contradiction of the conflict by the raw text of all sources."""
    conflict = state["query_graph"]["conflicts"][task["conflict"] or ""]
    disputes = _disputes(state, runtime, conflict, kit)
    found = contract.findings(kit.engine.validate(disputes), disputes)
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
        "learned": " ".join(list(dict.fromkeys(f.explanation for f in found))[:2]),
        "answer": "",
        "sources": [],
        "entries": [],
        "verdict": {"conflict": conflict["id"], "outcomes": outcomes},
    }


def _disputes(state: MemoryBankState, runtime: Runtime[Settings], conflict: Conflict, kit: Kit) -> list[Dispute]:
    """The contradictions of a conflict, each with all that memory holds on any of them: none is judged apart."""
    index, settings = kit.index(state, runtime), Settings.of(runtime)
    claims = [claim for contradiction in conflict["contradictions"] for claim in contradiction["claims"]]
    found: dict[tuple[str, int, int], Anchor] = {}
    quotes = list(dict.fromkeys(claim["quote"] for claim in claims))
    graph, tree = state["query_graph"], state["interaction_tree"]
    for anchor in index.evidence(graph, tree, quotes, EVIDENCE_PER_CLAIM, settings):
        found.setdefault(_place(anchor), anchor)
    for claim in claims:
        if not any(_inside(anchor, claim["anchor"]) for anchor in found.values()):
            found[_place(claim["anchor"])] = claim["anchor"]
    evidence = tuple(_evidence(state, anchor) for anchor in found.values())
    return [
        Dispute(
            kind=contradiction["kind"],
            quotes=tuple(claim["quote"] for claim in contradiction["claims"]),
            values=tuple(claim["value"] for claim in contradiction["claims"]),
            evidence=evidence,
        )
        for contradiction in conflict["contradictions"]
    ]


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
