"""The agent that carries out steps with tools, against a server that speaks OpenAI's protocol."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentic_memory_bank import runs
from agentic_memory_bank.engines.llm import listening, models, retry
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.testing import (
    ChatRequest,
    Fault,
    ModelServer,
    Reply,
    ScriptedJudge,
    TickingClock,
    ToolCall,
    failing,
    http_error,
)
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
CONFIG: Any = {"configurable": {"thread_id": "t"}}
QUESTION = {"question": "When did it open?", "documents": ["The tower is 324 m tall."]}
LONG = "It opened in 2031. " + "The almanac goes on. " * 5_000


def planned(prompt: str) -> dict[str, Any]:
    """One search, then one answer."""
    if "- answer, success" in prompt:
        return {"is_done": True, "kind": "", "description": ""}
    kind = "answer" if "- search, " in prompt else "search"
    return {"is_done": False, "kind": kind, "description": "Find out when it opened."}


def served(turns: Callable[[ChatRequest, int], Reply]) -> Callable[[ChatRequest], Reply]:
    """Judgements by the scripted judge, and the turns of the agent by how many results it has seen."""
    judge = ScriptedJudge(plan=planned)

    def script(request: ChatRequest) -> Reply:
        try:
            judge.kind_of(request)
        except LookupError:
            return turns(request, sum(message["role"] == "tool" for message in request.messages))
        return judge(request)

    return script


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Any, ModelServer]]]:
    """Runs a question against a script, and gives the bank and its server."""
    servers: list[ModelServer] = []
    for variable in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)

    def start(script: Any, *tools: BaseTool) -> tuple[Any, ModelServer]:
        server = ModelServer(script)
        servers.append(server)
        monkeypatch.setenv("MEMORY_BANK_LOCAL_BASE_URL", server.url)
        graph = build_memory_bank(
            embeddings=HashEmbeddings(), clock=TickingClock(), tools=tools, checkpointer=InMemorySaver()
        )
        return graph, server

    yield start
    for server in servers:
        server.close()


@tool
def almanac(year: int) -> str:
    """Look a year up."""
    return LONG


def looks_up(request: ChatRequest, results: int) -> Reply:
    return Reply(tool_calls=[ToolCall("almanac", {"year": 2031})]) if results == 0 else Reply("It opened in 2031.")


def invoked(graph: Any, **settings: Any) -> Any:
    return graph.invoke(QUESTION, CONFIG, context={"model": "local:test", **settings})


def entries(graph: Any) -> list[dict[str, Any]]:
    return list(graph.get_state(CONFIG).values["interaction_tree"]["entries"].values())


def prompts(server: ModelServer) -> list[ChatRequest]:
    """The requests of the agent."""
    return [r for r in server.requests if isinstance(r, ChatRequest) and "one step of a task" in r.text]


@pytest.mark.parametrize("takes_streams", [True, False])
def test_of_an_agent_it_is_told_how_much_of_its_answer_has_come(
    asked: Any, monkeypatch: pytest.MonkeyPatch, takes_streams: bool
) -> None:
    monkeypatch.setattr(listening, "TOLD_SECONDS", 0.0)
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    script = served(looks_up)

    def turns(request: ChatRequest) -> Reply | Fault:
        refuses = request.stream and not takes_streams and "one step of a task" in request.text
        return http_error(400, "stream is not supported") if refuses else script(request)

    graph, server = asked(turns, almanac)
    told = list(graph.stream(QUESTION, CONFIG, context={"model": "local:test"}, stream_mode="custom"))

    of_agent = [event["asking"]["tokens"] for event in told if event.get("asking", {}).get("role") == "react"]
    assert graph.get_state(CONFIG).values["answer"] == "It opened in 2031."
    assert any(of_agent) == takes_streams
    assert [request.stream for request in prompts(server)] == ([True, True] if takes_streams else [True, False, False])


def test_a_long_result_is_shown_in_part_and_kept_whole_with_its_call(asked: Any) -> None:
    graph, server = asked(served(looks_up), almanac)

    result = invoked(graph)

    shown = str(prompts(server)[-1].messages[-1]["content"])
    kept = next(entry for entry in entries(graph) if entry["kind"] == "tool_result")
    assert result["status"] == "completed"
    assert kept["text"] == LONG
    assert (kept["source"], kept["tool_calls"][0]["args"]) == ("almanac", {"year": 2031})
    assert len(shown) < 5_000
    assert kept["id"] in shown


def opened(year: int) -> str:
    """Look a year up."""
    return f"The tower opened in {year}."


opened.__name__ = "almanac"


def test_a_run_gives_its_agent_tools_and_so_does_its_resume(asked: Any, home: Path) -> None:
    asked(served(looks_up))
    given: Any = {"tools": [opened], "embeddings": HashEmbeddings(), "home": home}

    waiting = runs.run("When did it open?", thread="t", settings={"model": "local:test", "budget_calls": 2}, **given)
    output = runs.resume("t", decision={"budget_calls": 20}, **given)

    kept = runs.read_state("t", home=home)["interaction_tree"]["entries"].values()
    assert waiting["pause"]["reason"] == "calls"
    assert ("almanac", "The tower opened in 2031.") in [(entry["source"], entry["text"]) for entry in kept]
    assert "2031" in output["answer"]


def test_the_agent_reads_a_long_result_on_by_deep_retrieval(asked: Any) -> None:
    def reads_on(request: ChatRequest, results: int) -> Reply:
        if results == 1:
            found = str(request.messages[-1]["content"]).partition("node_id ")[2].split()[0]
            return Reply(tool_calls=[ToolCall("deep_retrieval", {"node_id": found, "start": 4_000})])
        return looks_up(request, results)

    graph, server = asked(served(reads_on), almanac)

    invoked(graph)

    assert str(prompts(server)[-1].messages[-1]["content"]).startswith(LONG[4_000:8_000])
    assert [entry["kind"] for entry in entries(graph)] == ["document", "tool_result", "trajectory"]


def test_three_calls_of_no_tool_in_a_row_end_the_step(asked: Any) -> None:
    graph, server = asked(served(lambda request, results: Reply(tool_calls=[ToolCall("nosuch", {})])), almanac)

    result = invoked(graph)

    assert result["status"] == "completed_with_failures"
    assert len(prompts(server)) == 3


def test_a_tool_that_fails_tells_the_agent_in_our_words_only(asked: Any) -> None:
    @tool
    def broken(year: int) -> str:
        """Look a year up."""
        raise (ToolError("That year is not in the almanac.") if year == 1 else RuntimeError("sk-secret"))

    def tries(request: ChatRequest, results: int) -> Reply:
        return Reply(tool_calls=[ToolCall("broken", {"year": results + 1})]) if results < 2 else Reply("Not found.")

    graph, server = asked(served(tries), broken)

    invoked(graph)

    told = [m["content"] for m in prompts(server)[-1].messages if m["role"] == "tool"]
    assert told == ["That year is not in the almanac.", "The tool failed (RuntimeError)."]
    assert [entry["text"] for entry in entries(graph)][1:] == ["Not found."]


def test_after_the_last_call_that_is_allowed_the_agent_has_to_answer_without_tools(asked: Any) -> None:
    def never_done(request: ChatRequest, results: int) -> Reply:
        return Reply(tool_calls=[ToolCall("almanac", {"year": results})]) if request.tools else Reply("I give up.")

    graph, server = asked(served(never_done), almanac)

    result = invoked(graph, react_calls=4)

    assert result["status"] == "completed"
    assert [bool(request.tools) for request in prompts(server)] == [True, True, True, False]
    assert "Call no more tools" in str(prompts(server)[-1].messages[-1]["content"])


@pytest.mark.parametrize("words", ["", "It opened in 2031, says the almanac."])
def test_a_model_that_goes_on_calling_tools_that_were_withdrawn_ends_at_the_limit_with_what_it_found(
    asked: Any, words: str
) -> None:
    @tool
    def yearbook(year: int) -> str:
        """Look a year up."""
        return f"In {year} nothing was opened."

    def endless(request: ChatRequest, results: int) -> Reply:
        assert results < 50
        return Reply(words, tool_calls=[ToolCall("yearbook", {"year": results})])

    graph, server = asked(served(endless), yearbook)

    result = invoked(graph, react_calls=4)

    assert (result["status"], result["degraded"]) == ("completed", [])
    assert [bool(request.tools) for request in prompts(server)] == [True, True, True, False]
    found = [entry for entry in entries(graph) if entry["kind"] == "tool_result"]
    assert [entry["tool_calls"][0]["args"]["year"] for entry in found] == [0, 1, 2]
    assert [entry["text"] for entry in entries(graph) if entry["kind"] == "trajectory"] == [words] * bool(words)


def test_an_agent_that_found_something_and_then_calls_what_is_not_there_answers_from_what_it_found(asked: Any) -> None:
    def strays(request: ChatRequest, results: int) -> Reply:
        if not request.tools:
            return Reply("It opened in 2031.")
        return Reply(tool_calls=[ToolCall("almanac", {"year": 1}) if results == 0 else ToolCall("nosuch", {})])

    graph, server = asked(served(strays), almanac)

    result = invoked(graph)

    assert (result["status"], result["degraded"]) == ("completed", [])
    assert len(prompts(server)) == 5
    assert [entry["kind"] for entry in entries(graph)] == ["document", "tool_result", "trajectory"]


def test_near_the_end_of_its_context_the_agent_has_to_answer_and_old_results_make_room(asked: Any) -> None:
    @tool
    def page(number: int) -> str:
        """Read a page."""
        return f"page {number} " * 400

    def reads(request: ChatRequest, results: int) -> Reply:
        return Reply(tool_calls=[ToolCall("page", {"number": results})]) if request.tools else Reply("Done.")

    graph, server = asked(served(reads), page)

    invoked(graph, react_context=5_000)

    last = prompts(server)[-1]
    assert not last.tools
    assert len(prompts(server)) < 10
    assert len(last.text) < 5_000 * 5


def test_a_step_that_is_done_again_pays_for_nothing_twice(asked: Any) -> None:
    calls: list[int] = []

    @tool
    def counted(year: int) -> str:
        """Look a year up."""
        calls.append(year)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return f"In {year} nothing happened."

    def three(request: ChatRequest, results: int) -> Reply:
        return Reply(tool_calls=[ToolCall("counted", {"year": results})]) if results < 3 else Reply("Nothing.")

    graph, server = asked(served(three), counted)
    with pytest.raises(KeyboardInterrupt):
        invoked(graph)
    before = server.count

    result = graph.invoke(None, CONFIG, context={"model": "local:test"})

    assert result["status"] == "completed"
    assert calls == [0, 1, 1, 2]
    asked_for = [json.dumps(r.body, sort_keys=True) for r in prompts(server)]
    assert len(asked_for) == len(set(asked_for))
    assert server.count > before


def test_a_budget_pauses_the_agent_and_it_goes_on_where_it_was(asked: Any) -> None:
    graph, server = asked(served(looks_up), almanac)

    waiting = invoked(graph, budget_calls=4)
    assert server.count == 4
    result = graph.invoke(
        Command(resume={"budget_calls": 50}), CONFIG, context={"model": "local:test", "budget_calls": 4}
    )

    assert waiting["__interrupt__"][0].value["reason"] == "calls"
    assert result["status"] == "completed"
    asked_for = [json.dumps(r.body, sort_keys=True) for r in server.requests]
    assert len(asked_for) == len(set(asked_for))


def test_a_run_that_is_finished_at_a_budget_keeps_what_its_agent_had_found(asked: Any) -> None:
    @tool
    def yearbook(year: int) -> str:
        """Look a year up."""
        return f"In {1900 + year} the tower was opened by mayor number {year}."

    def endless(request: ChatRequest, results: int) -> Reply:
        assert results < 50
        return Reply(tool_calls=[ToolCall("yearbook", {"year": results})])

    graph, server = asked(served(endless), yearbook)

    asked_for = {**QUESTION, "question": "When was the tower opened by a mayor?"}
    graph.invoke(asked_for, CONFIG, context={"model": "local:test", "budget_calls": 8})
    result = graph.invoke(Command(resume="finish"), CONFIG, context={"model": "local:test", "budget_calls": 8})

    made = len(prompts(server))
    assert server.count == 8
    assert [entry["source"] for entry in entries(graph)] == ["document 1", *["yearbook"] * made]
    assert "mayor number" in result["answer"]
    assert result["degraded"] == ["budget: calls"]


def test_a_fault_of_the_model_within_a_step_is_survived_once(asked: Any) -> None:
    script = served(looks_up)
    seen: list[int] = []

    def first(request: ChatRequest) -> bool:
        if request.tools and "one step" in request.text:
            seen.append(1)
            return len(seen) == 1
        return False

    graph, server = asked(failing(script, http_error(500), on=first), almanac)

    result = invoked(graph)

    assert (result["status"], result["degraded"]) == ("completed", [])
    assert len(prompts(server)) == 3


@pytest.mark.parametrize(
    "said",
    [
        Reply("It opened in 2031, and its far", finish_reason="length"),
        Reply("It opened in 2031.", finish_reason="content_filter"),
        Reply(refusal="I will not say."),
    ],
    ids=["cut off", "held back", "refused"],
)
def test_an_answer_that_did_not_come_to_its_end_is_asked_for_once_more_and_is_no_memory(
    asked: Any, said: Reply
) -> None:
    graph, server = asked(served(lambda request, results: said), almanac)

    result = invoked(graph)

    assert len(prompts(server)) == 2
    assert result["degraded"][0].startswith("execute: AnswerRejected: The answer of local:test (react) cannot be used.")
    assert [entry["kind"] for entry in entries(graph)] == ["document"]


def test_half_an_emoji_and_a_huge_number_do_not_cost_the_step(asked: Any) -> None:
    def torn(number: int) -> Any:
        """Look a number up."""
        return "In 2031 \ud83d it opened.", {"source": "page \ud83d"}

    def turns(request: ChatRequest, results: int) -> Reply:
        return Reply("It opened in 2031.") if results else Reply(tool_calls=[ToolCall("torn", {"number": 10**30})])

    graph, _ = asked(served(turns), tool(response_format="content_and_artifact")(torn))

    result = invoked(graph)

    assert (result["status"], result["degraded"]) == ("completed", [])
    brought = next(entry for entry in entries(graph) if entry["kind"] == "tool_result")
    assert (brought["text"], brought["source"]) == ("In 2031 \ufffd it opened.", "page \ufffd")
    assert brought["tool_calls"][0]["args"] == {"number": hex(10**30)}


def test_what_a_model_thought_before_it_spoke_is_not_remembered(asked: Any) -> None:
    said = Reply("<think>Perhaps 1999?</think>\n\nIt opened in 2031.")
    graph, _ = asked(served(lambda request, results: said), almanac)

    invoked(graph)

    assert [e["text"] for e in entries(graph) if e["kind"] == "trajectory"] == ["It opened in 2031."]
