"""The examples in which agents of other frameworks carry out the bank's steps, against a scripted model."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from agentic_memory_bank.runs import read_state
from agentic_memory_bank.state.interaction_tree import Entry
from agentic_memory_bank.testing import ChatRequest, ModelServer, Reply, ToolCall

ROOT = Path(__file__).parents[2]
REPORT = (ROOT / "examples" / "meridian_array" / "annual_report.md").read_text(encoding="utf-8")
NIGHT = "14 March 2016"
LOGGED = "14 March 2016: seeing 0.6 arcseconds, wind from the west."
ANSWER = "The Meridian Array opened on 14 March 2016 (annual_report.md). The seeing was 0.6 arcseconds (night_log)."
SECONDS = 300

LOOPBACK_ONLY = """
import os, runpy, sys

def watch(event, given):
    places = {"socket.connect": given[1:2], "socket.sendto": given[1:2], "socket.getaddrinfo": [given]}.get(event)
    place = places[0] if places else None
    if isinstance(place, tuple) and place[0] != "127.0.0.1":
        with open(os.environ["REACHED_FOR"], "a") as log:
            log.write(f"{event} {place[0]}\\n")
        raise OSError("Only the loopback interface is open.")

sys.addaudithook(watch)
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a script that can reach the loopback interface only, and keeps a list of what else it reached for."""


def needs(module: str, package: str) -> pytest.MarkDecorator:
    reason = f"{package} is not installed: `make frameworks` installs it and runs this test."
    return pytest.mark.skipif(find_spec(module) is None, reason=reason)


pytestmark = [pytest.mark.server, pytest.mark.enable_socket, pytest.mark.model, pytest.mark.slow]
EXAMPLES = [
    pytest.param("with_smolagents.py", marks=needs("smolagents", "smolagents")),
    pytest.param("with_openai_agents.py", marks=needs("agents", "openai-agents")),
]


class Ran(NamedTuple):
    """What an example printed and left in memory, what its agent asked the model, and what it reached for outside."""

    printed: list[str]
    remembered: list[Entry]
    asked: list[ChatRequest]
    reached_for: str


def observer(request: ChatRequest) -> Reply:
    """Reads the raw text behind the first memory it is shown, the log of the night at the second try, and answers."""
    match request.number:
        case 1:
            return Reply(tool_calls=[ToolCall("deep_retrieval", {"node_id": shown(request)})])
        case 2:
            return Reply(tool_calls=[ToolCall("night_log", '{"date": ')])
        case 3:
            return Reply(tool_calls=[ToolCall("night_log", {"date": NIGHT})])
        case _ if "final_answer" in {tool["function"]["name"] for tool in request.tools}:
            return Reply(tool_calls=[ToolCall("final_answer", {"answer": ANSWER})])
        case _:
            return Reply(ANSWER)


def shown(request: ChatRequest) -> str:
    """The id of the first memory of the prompt."""
    return re.findall(r"<memory>\n\[(\w+)\]", request.text)[0]


@pytest.fixture(scope="module", params=EXAMPLES)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """An example that ran in a process of its own, with a key that would be good for sending traces."""
    folder = tmp_path_factory.mktemp("example")
    log = folder / "reached_for"
    log.touch()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "REACHED_FOR": str(log),
        "MEMORY_BANK_HOME": str(folder / "home"),
        "OPENAI_API_KEY": "sk-test",
        "HF_HUB_OFFLINE": "1",
        "LANGGRAPH_STRICT_MSGPACK": "true",
    }
    with ModelServer(observer) as server:
        environment["OPENAI_BASE_URL"] = server.url
        command = [sys.executable, "-c", LOOPBACK_ONLY, f"examples/{request.param}", "scripted"]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        kept = read_state("seeing", home=folder / "home")["interaction_tree"]["entries"].values()
        return Ran(done.stdout.splitlines(), list(kept), server.chats, log.read_text())


def test_the_agent_of_the_framework_is_handed_the_step_with_the_memory_recalled_for_it(ran: Ran) -> None:
    assert "Goal: How good was the seeing" in ran.asked[0].text
    assert "The Meridian Array opened on 14 March 2016" in ran.asked[0].text


def test_the_tool_of_the_framework_really_runs_and_its_model_is_shown_the_result(ran: Ran) -> None:
    assert [LOGGED in request.text for request in ran.asked] == [False, False, False, True]


def test_the_agent_of_the_framework_reads_the_raw_text_behind_a_memory(ran: Ran) -> None:
    last_words = "the washing plant was doubled in size."

    assert last_words in REPORT
    assert last_words in str(ran.asked[1].messages[-1]["content"])


def test_the_result_of_the_tool_and_the_calls_stand_in_the_interaction_tree(ran: Ran) -> None:
    _, found, said = ran.remembered

    assert (found["kind"], found["source"], found["text"]) == ("tool_result", "night_log", LOGGED)
    assert [(call["name"], call["args"]) for call in found["tool_calls"]] == [("night_log", {"date": NIGHT})]
    assert [call["name"] for call in said["tool_calls"]] == ["deep_retrieval", "night_log", "night_log"]


def test_a_call_that_fails_is_made_again_and_its_error_is_not_remembered(ran: Ran) -> None:
    assert re.search("(?i)error|failed", str(ran.asked[2].messages[-1]["content"]))
    assert [entry["kind"] for entry in ran.remembered].count("tool_result") == 1


def test_neither_the_memory_in_the_prompt_nor_what_was_read_from_it_is_remembered_as_new(ran: Ran) -> None:
    assert [entry["text"] for entry in ran.remembered] == [REPORT, LOGGED, ANSWER]


def test_the_answer_comes_with_the_quotes_of_its_sources(ran: Ran) -> None:
    said, *sources = ran.printed

    assert said == ANSWER
    assert f"night_log: {LOGGED}" in sources
    assert any(
        source.startswith("examples/meridian_array/annual_report.md: ") and NIGHT in source for source in sources
    )


def test_nothing_outside_of_this_machine_is_reached_for(ran: Ran) -> None:
    assert ran.reached_for == ""
