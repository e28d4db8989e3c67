"""Stage 11, the door out: takes what the executor did, and at the end hands the answer to the caller."""

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.deps import timestamp
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.views import citation, entry_id, lines, overlap
from agentic_memory_bank.nodes.messages import answer_in_words
from agentic_memory_bank.state import insight_doc, interaction_tree
from agentic_memory_bank.state.insight_doc import InsightDoc, Task, apply_insight_edits
from agentic_memory_bank.state.interaction_tree import Entry
from agentic_memory_bank.state.memory_bank import (
    AnswerSource,
    MemoryBankOutput,
    MemoryBankState,
    MemoryBankUpdate,
    RunStatus,
)
from agentic_memory_bank.state.query_graph import ContradictingClaim, Contradiction
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.cleaning import clean


def adapter_out(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Record the finished step and its new raw text; with nothing left to do, copy the outcome to the output."""
    update = _step(state, runtime, deps)
    outcome = cast("MemoryBankOutput", {**state, **update})
    if state.get("in_messages") and "conflicts" in update:  # handed over
        update["messages"] = [AIMessage(answer_in_words(outcome))]
    return update


def _step(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    result, task = state.get("result"), state["insight_doc"].get("current")
    if result is None or task is None:
        deps.files(state, runtime).release()
        return {**_handed_over(state, state["insight_doc"], state.get("answer", "")), **lines(state)}
    now = timestamp(deps.clock(), state["now"])
    entries = [_entry(raw, position, task, now) for position, raw in enumerate(result["entries"])]
    finish = insight_doc.finish(task["id"], result["status"], result["learned"])
    update: MemoryBankUpdate = {
        "now": now,
        "insight_doc": [finish],
        "interaction_tree": [interaction_tree.append(entry) for entry in entries],
        "incoming": [entry["id"] for entry in entries],
        "verdict": result["verdict"],
        "recalled": [],
        "result": None,
        **lines(state, entries),
    }
    if task["kind"] == "recognize":  # also what could not be recognised: it is not planned for ever
        deps.files(state, runtime).release()
        update["waiting"] = []
    if task["kind"] == "answer" and result["status"] == "success":
        update |= {"answer": result["answer"], "sources": result["sources"]}
        if not entries:  # quotes from memory are no news, so there is nothing to remember and nothing left to plan
            done = apply_insight_edits(state["insight_doc"], [[finish]])
            deps.files(state, runtime).release()
            update |= _handed_over(state, done, result["answer"], result["sources"])
    return update


def _entry(raw: dict[str, Any], position: int, task: Task, now: str) -> Entry:
    text, source = clean(str(raw["text"])), str(raw.get("source", "executor"))
    return {
        "id": entry_id(raw, position, task),
        "kind": raw.get("kind", "trajectory"),
        "text": text,
        "created_at": now,
        "source": source,
        "metadata": {"task": task["id"], **raw.get("metadata", {})},
        "tool_calls": list(raw.get("tool_calls", [])),
        "attachments": list(raw.get("attachments", [])),
    }


def _handed_over(
    state: MemoryBankState, doc: InsightDoc, answer: str, sources: Sequence[AnswerSource] | None = None
) -> MemoryBankUpdate:
    """The output, and nothing of the round left behind."""
    quoted = (state.get("sources", []) if sources is None else sources) if answer else ()
    conflicts = _conflicts(state, quoted, of_all=bool(answer and not quoted))
    return {"conflicts": conflicts, "status": _status(state, doc, answer), "trail": [], "waiting": []}


def _status(state: MemoryBankState, doc: InsightDoc, answer: str) -> RunStatus:
    if state["status"] in ("stopped", "failed"):
        return state["status"]
    if any(task["status"] == "failure" for task in doc.get("completed", [])):
        return "completed_with_failures"
    return "completed" if answer else "not_found"


def _conflicts(state: MemoryBankState, quoted: Sequence[AnswerSource], *, of_all: bool) -> list[dict[str, Any]]:
    """Every contradiction met, with its claims, the verdict and the evidence as citations; the same words once.

    Args:
        quoted: What the answer quotes: a contradiction is in the answer where one of its claims is quoted.
        of_all: Whether each is, since the answer does not say what it rests on.
    """
    found = {
        (conflict["id"], *sorted(claim["quote"] for claim in contradiction["claims"])): {
            "id": conflict["id"],
            "status": _settled(contradiction) or conflict["status"],
            "in_answer": of_all or _is_quoted(contradiction, quoted),
            "kind": contradiction["kind"],
            "reason": contradiction["reason"],
            "claims": [_claim(state, claim) for claim in contradiction["claims"]],
            **_verdict(state, contradiction),
        }
        for conflict in state.get("query_graph", {}).get("conflicts", {}).values()
        for contradiction in conflict["contradictions"]
    }
    return list(found.values())


def _is_quoted(contradiction: Contradiction, quoted: Sequence[AnswerSource]) -> bool:
    return any(overlap(claim["anchor"], source) for claim in contradiction["claims"] for source in quoted)


def _settled(contradiction: Contradiction) -> str:
    """`settled` for what is decided, though other points of its group are not."""
    return "settled" if contradiction.get("outcome", "inconclusive") != "inconclusive" else ""


def _claim(state: MemoryBankState, claim: ContradictingClaim) -> dict[str, Any]:
    return {"value": claim["value"], **citation(state, claim["anchor"], claim["node"])}


def _verdict(state: MemoryBankState, contradiction: Contradiction) -> dict[str, Any]:
    return {
        "outcome": contradiction.get("outcome", "inconclusive"),
        "winner": contradiction.get("winner"),
        "statement": contradiction.get("statement", ""),
        "explanation": contradiction.get("explanation", ""),
        "evidence": [citation(state, anchor) for anchor in contradiction.get("evidence", [])],
    }
