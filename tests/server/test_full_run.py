"""One run from three sources to an answer: every node and every conditional edge is passed, all on the loopback."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import util
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START
from langgraph.types import Command

from agentic_memory_bank.graph.memory_bank import MemoryBank, build_memory_bank
from agentic_memory_bank.testing import ChatRequest, ModelServer
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.web import search

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

Edge = tuple[str, str]
CONFIG: Any = {"configurable": {"thread_id": "t"}}


def _scenario() -> ModuleType:
    """The scenario stands beside the tests that kill it; pytest puts no folder on the path."""
    spec = util.spec_from_file_location("full_script", Path(__file__).parents[1] / "durability" / "full_script.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


full = _scenario()


@dataclass
class Passed:
    """A run: what it came to, where it went, and what it asked."""

    output: dict[str, Any]
    state: dict[str, Any]
    edges: list[Edge]
    asked: list[ChatRequest]
    visited: list[str]

    @property
    def tasks(self) -> list[tuple[str, str]]:
        return [(task["kind"], task["status"]) for task in self.output["insight_doc"]["completed"]]

    @property
    def entries(self) -> list[dict[str, Any]]:
        return list(self.state["interaction_tree"]["entries"].values())


def drive(bank: MemoryBank, given: dict[str, Any], settings: dict[str, Any], decision: str = "") -> list[Edge]:
    """Run durably, and record which node followed on which; where it pauses, decide, and the node begins again."""
    context: Any = settings
    path = [START]
    for asked in (given, Command(resume=decision)) if decision else (given,):
        for event in bank.stream(asked, CONFIG, context=context, stream_mode="tasks", durability="sync"):  # type: ignore[arg-type]
            if "input" in event and event["name"] != path[-1]:
                path.append(event["name"])
    return list(pairwise([*path, END]))


@pytest.fixture(scope="module")
def passed() -> Iterator[dict[str, Passed]]:
    """The full run; a second question on its thread, whose step fails; and the full run confined, and stopped."""
    found: dict[str, Passed] = {}
    with pytest.MonkeyPatch.context() as patch, ModelServer(full.judge) as server, full.serve_web() as web:
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            patch.delenv(name)
        patch.setenv("MEMORY_BANK_LOCAL_BASE_URL", server.url)
        patch.setenv("SERPER_API_KEY", "of-nobody")
        patch.setattr(search._Serper, "address", web.search)

        def one(bank: MemoryBank, given: dict[str, Any], decision: str = "", **settings: Any) -> Passed:
            server.reset()
            web.asked.clear()
            edges = drive(bank, given, full.SETTINGS | settings, decision)
            state = bank.get_state(CONFIG).values
            return Passed(state, state, edges, server.chats, list(web.asked))

        asked = {"question": full.QUESTION, "documents": full.SOURCES, "attachments": [full.ATTACHED]}
        bank = fresh()
        found["full"] = one(bank, asked)
        found["again"] = one(bank, {"question": full.AGAIN})
        found["private"] = one(fresh(), asked, allow_private_addresses=False)
        found["stopped"] = one(fresh(), asked, "stop", budget_calls=12)
        yield found


def fresh() -> MemoryBank:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return build_memory_bank(embeddings=HashEmbeddings(), checkpointer=InMemorySaver(), clock=lambda: moment)


def edges_of(bank: MemoryBank, *, conditional: bool | None = None) -> set[Edge]:
    edges = bank.get_graph().edges
    return {(e.source, e.target) for e in edges if conditional is None or e.conditional is conditional}


# --- where it goes -------------------------------------------------------------------------------------------------


def test_a_full_run_passes_every_node_and_every_edge_that_one_run_can_pass(passed: dict[str, Passed]) -> None:
    bank, went = fresh(), set(passed["full"].edges)
    stages = {node for node in bank.get_graph().nodes if not node.startswith("__error_handler__")}

    assert {node for edge in went for node in edge} == stages
    assert edges_of(bank, conditional=False) <= went
    assert edges_of(bank, conditional=True) - went == {
        ("adapter_in", "plan"),  # only a question, and nothing to remember
        ("adapter_out", "plan"),  # a step failed
        ("plan", "adapter_out"),  # nothing is left, and there was no answer
    }


def test_with_a_second_question_every_edge_of_the_diagram_is_passed_and_no_other(passed: dict[str, Passed]) -> None:
    went, bank = {edge for name in ("full", "again", "stopped") for edge in passed[name].edges}, fresh()

    assert went & edges_of(bank, conditional=True) == edges_of(bank, conditional=True)
    assert went == edges_of(bank)
    assert passed["again"].tasks == [("solve", "failure"), ("answer", "success")]  # the latter by the offline engine
    assert passed["again"].output["status"] == "completed_with_failures"


def test_a_run_that_is_stopped_ends_by_the_edges_of_the_diagram(passed: dict[str, Passed]) -> None:
    stopped = passed["stopped"]

    assert stopped.output["status"] == "stopped"
    assert len(stopped.asked) == 12
    assert set(stopped.edges) <= edges_of(fresh())
    assert stopped.edges[-2:] == [("plan", "adapter_out"), ("adapter_out", END)]


# --- what it does --------------------------------------------------------------------------------------------------


def test_it_settles_the_conflict_reads_the_pictures_and_answers_with_sources(passed: dict[str, Passed]) -> None:
    run = passed["full"]

    assert run.tasks == [
        ("cross_validate", "success"),
        ("recognize", "success"),
        ("search", "success"),
        ("recognize", "success"),
        ("answer", "success"),
    ]
    assert run.output["status"] == "completed"
    assert {said.partition(":")[0] for said in run.output["degraded"]} <= {"structure", "integrate"}
    assert "330 m" in run.output["answer"]
    assert "6.3 million" in run.output["answer"]
    assert [source["source"] for source in run.output["sources"]] == ["guide", "chart.png"]
    for source in run.output["sources"]:
        entry = next(entry for entry in run.entries if entry["id"] == source["entry"])
        assert entry["text"][source["start"] : source["end"]] == source["quote"]


def test_the_conflict_is_settled_by_what_search_and_visit_brought(passed: dict[str, Passed]) -> None:
    run = passed["full"]
    conflicts = run.output["conflicts"]

    assert run.visited == ["/search", "/height", "/lift.png"]
    assert {(conflict["status"], conflict["outcome"]) for conflict in conflicts} == {("settled", "holds")}
    evidence = {source["source"] for conflict in conflicts for source in conflict["evidence"]}
    assert {"search", "visit"} <= evidence
    assert {event["cause"] for event in run.state["interaction_tree"]["merges"]} == {"conflict", "merge"}


def test_deep_retrieval_shows_the_agent_the_raw_text_of_a_memory(passed: dict[str, Passed]) -> None:
    told = [m for request in passed["full"].asked for m in request.messages if m.get("tool_call_id") == "call_2"]
    (entry,) = json.loads(told[0]["content"])

    assert entry["text"] in [source["text"] for source in full.SOURCES]
    assert "deep_retrieval" not in {entry["source"] for entry in passed["full"].entries}


def test_both_pictures_are_shown_to_the_model_once_and_kept(passed: dict[str, Passed]) -> None:
    run = passed["full"]
    held = {a["name"]: entry["source"] for entry in run.entries for a in entry["attachments"]}

    assert len([request for request in run.asked if request.images]) == 2
    assert held == {"chart.png": "chart.png", "lift.png": "lift.png"}
    assert {full.VISITORS, full.LIFTED} <= {line for entry in run.entries for line in entry["text"].splitlines()}


def test_no_question_is_paid_for_twice(passed: dict[str, Passed]) -> None:
    bodies = [json.dumps(request.body, sort_keys=True) for request in passed["full"].asked]

    assert len(bodies) == len(set(bodies)) == passed["full"].output["usage"]["calls"]


def test_without_the_explicit_setting_nothing_private_is_asked_and_the_run_goes_on(passed: dict[str, Passed]) -> None:
    confined = passed["private"]

    assert confined.visited == []
    assert confined.output["status"] == "completed"
    assert "330 m" in confined.output["answer"]
