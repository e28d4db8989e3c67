"""Stage 10: carry out the planned step, with the caller's executor or with the engine as a reader of memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.base import (
    Dispute,
    DisputeVerdict,
    EvidenceSpan,
    EvidenceText,
    QuotedAnswer,
    RetrievedPassage,
    Span,
)
from agentic_memory_bank.nodes.memory_bank import contract
from agentic_memory_bank.nodes.memory_bank.attachments import recognize, to_recognize
from agentic_memory_bank.nodes.memory_bank.deps import BankDeps
from agentic_memory_bank.nodes.memory_bank.handing_out import carry_out, left_by_agent, looked_at
from agentic_memory_bank.nodes.memory_bank.views import (
    citation,
    entry_id,
    joined,
    losers,
    overlap,
    refuted_anchors,
    supporting,
)
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.state.interaction_tree import Anchor, text_of
from agentic_memory_bank.state.memory_bank import (
    AnswerSource,
    MemoryBankState,
    MemoryBankUpdate,
    Outcome,
    Recalled,
    Result,
)
from agentic_memory_bank.state.query_graph import Conflict, ContradictingClaim, Contradiction
from agentic_memory_bank.state.settings import Settings

EVIDENCE_PER_CLAIM = 12
"""How many passages of raw text are looked at for each side of a contradiction."""


def execute(state: MemoryBankState, runtime: Runtime[Settings], deps: BankDeps) -> MemoryBankUpdate:
    """Do the one step.

    Raises:
        ToolError: Nothing here can do a step of this kind.
    """
    task = state["insight_doc"].get("current")
    if task is None:
        raise ToolError("No step is planned.")
    runtime.stream_writer({"stage": "execute", "kind": task["kind"], "memories": len(state.get("recalled", []))})
    if task["kind"] == "recognize":
        return recognize(state, runtime, task, deps, looked_at(state, runtime, task, deps))
    if task["kind"] == "answer" and not (deps.executor or deps.is_outside):
        return {"result": _read(state, task, deps)}
    do = _validated if task["kind"] == "cross_validate" else _carried_out
    result = do(state, runtime, task, deps)
    pictures = to_recognize(state, result, deps.files(state, runtime))
    update: MemoryBankUpdate = {"result": result}
    if pictures:
        update["waiting"] = [*state.get("waiting", []), *pictures]
    return update


def _carried_out(state: MemoryBankState, runtime: Runtime[Settings], task: Task, deps: BankDeps) -> Result:
    done = carry_out(state, runtime, task, deps)
    return {
        "task": task["id"],
        "status": "success",
        "learned": done["learned"],
        "answer": done["answer"],
        "sources": supporting(state, done["answer"], task, done["entries"]) if done["answer"] else [],
        "entries": done["entries"],
        "verdict": None,
    }


def _read(state: MemoryBankState, task: Task, deps: BankDeps) -> Result:
    """Answer from the recalled raw text, with quotes; what a validation refuted is not quoted."""
    recalled = [(item, anchor) for item in state.get("recalled", []) for anchor in item["passages"]]
    settled = _settled(state, [anchor for _, anchor in recalled])
    holding = _replacements(state, [anchor for _, anchor in recalled])
    evidence = [anchor for contradiction in settled for anchor in contradiction.get("evidence", [])]
    more = _added([*evidence, *(holds for _, holds in holding)], recalled)
    shown = joined(state["interaction_tree"], [*recalled, *more])
    wrong = refuted_anchors(state)
    passages = [
        RetrievedPassage(
            text_of(state["interaction_tree"], one.anchor),
            one.score,
            tuple(s for w in wrong if (s := _inside(one.anchor, w))),
            tuple(_replaced(one.anchor, holding, [other.anchor for other in shown])),
            tuple(c.get("statement", "") for c in settled if _is_claimed_in(c, [one.anchor])),
            one.placed,
        )
        for one in shown
    ]
    said = QuotedAnswer("", (), "")
    if passages:
        said = contract.answer(deps.engine.answer(state["insight_doc"]["goal"], passages), passages)
    sources: list[AnswerSource] = []
    answer = said.text
    for quote in said.quotes:
        anchor = shown[quote.passage].anchor
        start = anchor["start"] + quote.span[0]
        place: Anchor = {**anchor, "start": start, "end": start + quote.span[1] - quote.span[0]}
        sources.append(citation(state, place, shown[quote.passage].owner(place)))
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


def _settled(state: MemoryBankState, shown: Sequence[Anchor]) -> list[Contradiction]:
    """The contradictions on what is shown of which a validation found what is true, instead or on a condition."""
    return [
        contradiction
        for conflict in state.get("query_graph", {}).get("conflicts", {}).values()
        for contradiction in conflict["contradictions"]
        if contradiction.get("statement") and _is_claimed_in(contradiction, shown)
    ]


def _is_claimed_in(contradiction: Contradiction, anchors: Sequence[Anchor]) -> bool:
    return any(_inside(anchor, claim["anchor"]) for anchor in anchors for claim in contradiction["claims"])


def _replacements(state: MemoryBankState, shown: Sequence[Anchor]) -> list[tuple[Anchor, Anchor]]:
    """The claims in what is shown that a validation found wrong, each with the one that holds in its place."""
    return [
        (loser["anchor"], contradiction["claims"][winner]["anchor"])
        for conflict in state.get("query_graph", {}).get("conflicts", {}).values()
        for contradiction in conflict["contradictions"]
        if contradiction.get("outcome") == "holds" and (winner := contradiction.get("winner")) is not None
        for loser in losers("holds", winner, contradiction["claims"])
        if any(_inside(anchor, loser["anchor"]) for anchor in shown)
    ]


def _replaced(
    anchor: Anchor, holding: Sequence[tuple[Anchor, Anchor]], shown: Sequence[Anchor]
) -> Iterator[tuple[Span, int, Span]]:
    """The stretches of a passage in whose place others hold, each with where that is shown."""
    for wrong, holds in holding:
        for number, other in enumerate(shown):
            stretch, instead = _inside(anchor, wrong), _inside(other, holds)
            if stretch and instead:
                yield stretch, number, instead
                break


def _added(anchors: Sequence[Anchor], recalled: Sequence[tuple[Recalled, Anchor]]) -> list[tuple[Recalled, Anchor]]:
    """The raw text that decided, where it is not shown already: an answer may have to rest on it."""
    found: list[tuple[Recalled, Anchor]] = []
    for anchor in anchors:
        if not any(_inside(shown, anchor) for _, shown in (*recalled, *found)):
            found.append(({"node": "", "score": 0.0, "hit": False, "passages": [anchor]}, anchor))
    return found


def _other_side(state: MemoryBankState, sources: list[AnswerSource]) -> list[ContradictingClaim]:
    """The claims that contradict what is quoted while it is open which is right: half of that misleads.

    What was forgotten claims nothing.
    """
    there = state["interaction_tree"]["entries"]
    disputed = [c for c in state.get("query_graph", {}).get("conflicts", {}).values() if c["status"] != "settled"]
    others: dict[str, ContradictingClaim] = {}
    for contradiction in (c for conflict in disputed for c in conflict["contradictions"]):
        quoted = [claim for claim in contradiction["claims"] if _is_quoted(claim["anchor"], sources)]
        if quoted and contradiction.get("outcome", "inconclusive") == "inconclusive":
            rest = [one for one in contradiction["claims"] if one not in quoted and one["anchor"]["entry"] in there]
            others.update((claim["quote"], claim) for claim in rest)
    return list(others.values())


def _is_quoted(anchor: Anchor, sources: list[AnswerSource]) -> bool:
    return any(overlap(anchor, source) for source in sources)


def _inside(outer: Anchor, inner: Anchor) -> tuple[int, int] | None:
    if outer["entry"] != inner["entry"] or inner["end"] <= outer["start"] or inner["start"] >= outer["end"]:
        return None
    return max(0, inner["start"] - outer["start"]), min(outer["end"], inner["end"]) - outer["start"]


def _validated(state: MemoryBankState, runtime: Runtime[Settings], task: Task, deps: BankDeps) -> Result:
    """Settle the contradictions of a conflict: by the verdict of an executor, where it hands one in.

    Otherwise the engine decides by the raw text of all sources, and by what an executor found on it.
    """
    conflict = state["query_graph"]["conflicts"][task["conflict"] or ""]
    has_more = deps.can_search(Settings.of(runtime)) or bool(left_by_agent(state, runtime, task, deps))
    done = carry_out(state, runtime, task, deps) if has_more else None
    entries = done["entries"] if done else []
    brought = [_brought(raw, position, task, state["now"]) for position, raw in enumerate(entries)]
    disputes = _disputes(state, runtime, conflict, deps, brought)
    handed = (done["verdicts"] if done else []) or [None] * len(disputes)
    left = [dispute for dispute, verdict in zip(disputes, handed, strict=True) if verdict is None]
    judged = iter(contract.findings(deps.engine.validate(left), left) if left else ())
    found = [
        _grounded(state, task, contradiction, verdict, entries) if verdict else next(judged)
        for contradiction, verdict in zip(conflict["contradictions"], handed, strict=True)
    ]
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
        "entries": entries,
        "verdict": {"conflict": conflict["id"], "outcomes": outcomes},
    }


def _grounded(
    state: MemoryBankState,
    task: Task,
    contradiction: Contradiction,
    verdict: DisputeVerdict,
    entries: Sequence[Mapping[str, Any]],
) -> DisputeVerdict:
    """A verdict that was handed in, with what says so: of what its tools brought and memory holds, or the claim."""
    claim = contradiction["claims"][verdict.winner] if verdict.winner is not None else None
    holds = verdict.statement or (claim["quote"] if claim else "")
    found: list[Anchor] = [
        {"entry": one["entry"], "start": one["start"], "end": one["end"]}
        for one in supporting(state, holds, task, entries)
    ]
    grounds = found or ([claim["anchor"]] if claim else [])
    evidence = tuple(EvidenceSpan(anchor["entry"], (anchor["start"], anchor["end"])) for anchor in grounds)
    return replace(verdict, evidence=evidence)


def _disputes(
    state: MemoryBankState,
    runtime: Runtime[Settings],
    conflict: Conflict,
    deps: BankDeps,
    brought: Sequence[EvidenceText],
) -> list[Dispute]:
    """The contradictions of a conflict, each with all that is known of any of them: none is judged apart."""
    index, settings = deps.index(state, runtime), Settings.of(runtime)
    claims = [claim for contradiction in conflict["contradictions"] for claim in contradiction["claims"]]
    found: dict[tuple[str, int, int], Anchor] = {}
    quotes = list(dict.fromkeys(claim["quote"] for claim in claims))
    graph, tree = state["query_graph"], state["interaction_tree"]
    for anchor in index.evidence(graph, tree, quotes, EVIDENCE_PER_CLAIM, settings):
        found.setdefault(_place(anchor), anchor)
    for claim in claims:
        if claim["anchor"]["entry"] in tree["entries"] and not any(
            _inside(anchor, claim["anchor"]) for anchor in found.values()
        ):
            found[_place(claim["anchor"])] = claim["anchor"]
    there = [anchor for anchor in found.values() if anchor["entry"] in tree["entries"]]  # and was not forgotten
    evidence = (*(_evidence(state, anchor) for anchor in there), *brought)
    return [
        Dispute(
            kind=contradiction["kind"],
            quotes=tuple(claim["quote"] for claim in contradiction["claims"]),
            values=tuple(claim["value"] for claim in contradiction["claims"]),
            evidence=evidence,
            announced=contradiction.get("announced"),
        )
        for contradiction in conflict["contradictions"]
    ]


def _place(anchor: Anchor) -> tuple[str, int, int]:
    return anchor["entry"], anchor["start"], anchor["end"]


def _evidence(state: MemoryBankState, anchor: Anchor) -> EvidenceText:
    entry = state["interaction_tree"]["entries"][anchor["entry"]]
    date = entry["metadata"].get("date")
    return EvidenceText(
        entry=entry["id"],
        source=entry["source"],
        text=text_of(state["interaction_tree"], anchor),
        created_at=entry["created_at"],
        date=str(date) if date else None,
        start=anchor["start"],
    )


def _brought(raw: Mapping[str, Any], position: int, task: Task, now: str) -> EvidenceText:
    """What an executor brought, under the id it will have in the tree."""
    return EvidenceText(entry_id(raw, position, task), str(raw["source"]), str(raw["text"]), now)
