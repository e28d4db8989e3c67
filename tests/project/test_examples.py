"""The demo and the examples run as they stand, and show what they promise."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank.testing import ChatRequest, ModelServer, Reply, ToolCall

pytestmark = [pytest.mark.model, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
LINES = 20
WIDTH = 120
DOCUMENTS = ROOT / "examples" / "meridian_array"
QUESTION = "When did the Meridian Array open, and what is the diameter of its mirror?"


def python(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the demo's command finds, as JSON."""
    home = tmp_path_factory.mktemp("demo")
    command = (
        "import os, sys; os.environ['MEMORY_BANK_HOME'] = sys.argv.pop(1); "
        "from agentic_memory_bank.cli import main; main()"
    )
    return json.loads(python("-c", command, str(home), "ask", QUESTION, "--context", str(DOCUMENTS), "--json"))


def test_the_demo_asks_this_question() -> None:
    assert QUESTION in (ROOT / "examples" / "demo.sh").read_text()


def test_the_demo_answers_with_what_two_of_three_sources_say(demo: dict[str, Any]) -> None:
    assert demo["status"] == "completed"
    assert "14 March 2016" in demo["answer"]
    assert "8.2" in demo["answer"]


def test_every_quote_of_the_demo_stands_in_its_document(demo: dict[str, Any]) -> None:
    assert demo["sources"]
    for source in demo["sources"]:
        text = Path(source["source"]).read_text(encoding="utf-8")
        assert text[source["start"] : source["end"]] == source["quote"]


def test_the_demo_settles_the_date_and_the_number_by_corroboration(demo: dict[str, Any]) -> None:
    settled = {conflict["kind"]: conflict for conflict in demo["conflicts"] if conflict["status"] == "settled"}

    assert set(settled) == {"date", "number"}
    for kind, value in (("date", "14 March 2016"), ("number", "8.2")):
        conflict = settled[kind]
        assert conflict["outcome"] == "holds"
        assert value in conflict["claims"][conflict["winner"]]["value"]
        assert len({evidence["source"] for evidence in conflict["evidence"]}) == 2


def test_one_of_the_claims_is_chinese(demo: dict[str, Any]) -> None:
    assert any("travel_notes.zh" in claim["source"] for c in demo["conflicts"] for claim in c["claims"])


def test_the_example_of_a_question_prints_quotes_and_verdicts() -> None:
    printed = python("examples/ask.py")

    assert "annual_report.md" in printed
    assert "holds" in printed


def test_the_example_of_a_kept_memory_answers_twice() -> None:
    first, second = python("examples/kept_memory.py").strip().split("\n\n")

    assert "8.2" in first
    assert "14 March 2016" in second


def answered_by(model: Callable[[ChatRequest], Reply], example: str) -> str:
    """What an example prints whose chat model is scripted."""
    with ModelServer(model) as server:
        return python(f"examples/{example}", "openai:scripted", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")


@pytest.mark.enable_socket
def test_the_example_of_an_agent_with_the_middleware_recalls_what_has_left_its_window() -> None:
    def quoting(request: ChatRequest) -> Reply:
        return Reply("\n".join(re.findall(r"^verbatim \(user.*?\): (.*)$", request.text, re.MULTILINE)) or "I see.")

    said, counted = answered_by(quoting, "with_create_agent.py").strip().rsplit("\n", 1)

    assert "Ottilie Brandt" in said
    window, memory = map(int, re.findall(r"\d+", counted))
    assert window < 60 < 100 < memory  # bounded in tokens: 20 to 43 messages were seen


def test_the_example_of_a_chain_is_shown_where_the_user_lives_now() -> None:
    printed = python("examples/with_langchain.py")

    assert "Lisbon" in printed
    assert "Berlin" not in printed.partition("metadata")[0]


def test_the_example_of_an_executor_decides_against_two_texts() -> None:
    printed = python("examples/with_executor.py")

    assert "2011. Decided by the executor: The builder's own records say so." in printed
    assert printed.endswith("It was 2011.\n")


def test_the_example_of_an_mcp_client_is_told_where_the_user_lives() -> None:
    assert "Lisbon" in python("examples/with_mcp.py")


def test_the_example_of_a_store_finds_a_note_by_meaning() -> None:
    assert python("examples/with_store.py").startswith("The dome was painted white.")


def test_the_example_of_an_import_recalls_what_came_from_elsewhere() -> None:
    assert "window seats" in python("examples/from_mem0.py")


@pytest.mark.enable_socket
@pytest.mark.skipif(find_spec("deepagents") is None, reason='pip install "agentic-memory-bank[deepagents]"')
def test_the_example_of_a_deep_agent_finds_a_line_by_meaning() -> None:
    def grepping(request: ChatRequest) -> Reply:
        asked = {"pattern": "Which instrument does my sister play?", "output_mode": "content"}
        return Reply(tool_calls=[ToolCall("grep", asked)]) if request.number == 1 else Reply("The cello.")

    assert "tool: /memories/me.md" in (printed := answered_by(grepping, "with_deepagents.py"))
    assert "plays the cello" in printed
    assert printed.endswith("ai: The cello.\n")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda example: example.name)
def test_an_example_takes_at_most_twenty_lines(example: Path) -> None:
    lines = [line for line in example.read_text(encoding="utf-8").splitlines() if line.strip()]

    assert len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH


def test_every_example_is_run_by_a_test() -> None:
    tests = [Path(__file__), *(ROOT / "tests" / "server").glob("test_*.py")]
    run_by = "".join(test.read_text(encoding="utf-8") for test in tests)

    assert [one.name for one in (ROOT / "examples").glob("*.py") if one.name not in run_by] == []
