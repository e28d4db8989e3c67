"""Runs whose steps are carried out by whoever drives them: handed out in a pause, resumed with what was done."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

from agentic_memory_bank import runs
from agentic_memory_bank.engines.base import PlannerInput, Step
from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.runs.arguments import checked_result
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.ledger import Ledger
from agentic_memory_bank.state.errors import InputError, InputTooLarge
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

QUESTION = "When was the array opened?"
TEXT = "The array of Aldport stands on a hill."
CALL = {"id": "1", "type": "function", "function": {"name": "almanac", "arguments": '{"year": 2031}'}}
TRANSCRIPT = [
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "In 2031 the array opened."},
    {"role": "assistant", "content": "It opened in 2031."},
]
Go = Callable[..., Any]


def search_and_answer(situation: PlannerInput) -> Step | None:
    kinds = [task["kind"] for task in situation.insight_doc.get("completed", [])]
    return None if "answer" in kinds else Step("answer" if "search" in kinds else "search", QUESTION)


def parts(plan: Any = None) -> dict[str, Any]:
    engine = ScriptedEngine(plan=plan) if plan else ScriptedEngine()
    return {"engine": engine, "embeddings": HashEmbeddings(), "clock": TickingClock(step=timedelta(0))}


@pytest.fixture
def go(home: Path) -> Go:
    """`run` with a step that is handed out."""

    def run(**options: Any) -> Any:
        given = {"documents": [TEXT], "thread": "t", "keep": True, "execute": "outside", **parts(), "home": home}
        return runs.run(QUESTION, **{**given, **options})

    return run


@pytest.fixture
def resume(home: Path) -> Go:
    """`resume` of that run."""

    def again(**options: Any) -> Any:
        return runs.resume("t", **{**parts(), "home": home, **options})

    return again


def texts(home: Path) -> list[str]:
    return [entry["text"] for entry in runs.read_state("t", home=home)["interaction_tree"]["entries"].values()]


def test_a_step_is_handed_out_in_a_pause_like_any_other(go: Go, home: Path) -> None:
    output = go()

    assert output["status"] == "stopped"
    assert output["pause"]["reason"] == "execute"
    assert output["pause"]["task"]["kind"] == "answer"
    assert TEXT in output["pause"]["prompt"]
    assert QUESTION in output["pause"]["prompt"]
    row = Ledger(Home(home).ledger).get("t")
    assert (row.state, row.status, row.outside) == ("paused", "stopped", True)


@pytest.mark.parametrize(
    "result",
    [
        "It opened in 2031.",
        AIMessage("It opened in 2031."),
        {"role": "assistant", "content": "It opened in 2031."},
        {"text": "It opened in 2031."},
        {"messages": TRANSCRIPT},
        TRANSCRIPT,
        tuple(TRANSCRIPT),
    ],
)
def test_the_run_goes_on_with_what_was_done(go: Go, resume: Go, result: Any) -> None:
    go()

    output = resume(result=result)

    assert (output["answer"], output["status"]) == ("It opened in 2031.", "completed")
    assert "pause" not in output


def test_what_tools_of_the_executor_brought_is_remembered_word_for_word(go: Go, resume: Go, home: Path) -> None:
    prompt = go()["pause"]["prompt"]

    resume(result=[{"role": "user", "content": prompt}, *TRANSCRIPT])

    assert texts(home) == [TEXT, "In 2031 the array opened.", "It opened in 2031."]
    told = list(runs.read_state("t", home=home)["interaction_tree"]["entries"].values())
    assert [entry["source"] for entry in told[1:]] == ["almanac", "executor"]
    assert [call["args"] for call in told[2]["tool_calls"]] == [{"year": 2031}]


def test_messages_of_langchain_are_saved_as_plain_data(go: Go, resume: Go, home: Path) -> None:
    go()
    call = {"name": "look", "args": {"at": {"x": 2**80}, "broken": "\ud800"}, "id": "1"}
    failed = ToolMessage("No such page.", tool_call_id="1", status="error")
    read = ToolMessage("excerpt", tool_call_id="1", artifact={"full": "The whole of it.", "id": "e0123456789ab"})
    odd = ToolMessage("It rained.", tool_call_id="1", artifact=object())

    resume(result=[HumanMessage("Go."), AIMessage("", tool_calls=[call]), failed, read, odd, AIMessage("2031.")])

    assert texts(home) == [TEXT, "Go.", "The whole of it.", "It rained.", "2031."]


def test_a_verdict_and_what_the_user_said_survive_the_way_through_a_durable_run(home: Path, resume: Go) -> None:
    texts_apart = ["The array was opened in 2030.", "The array was opened in 2031.", "In 2031 the array was opened."]
    given: Any = {**parts(), "engine": ExtractiveEngine(Encoder(HashEmbeddings()))}
    handed = runs.run(QUESTION, documents=texts_apart, thread="t", execute="outside", **given, home=home)["pause"]
    claims = [claim for found in handed["contradictions"] for claim in found["claims"]]
    right = next(claim["memory"] for claim in claims if "2030" in claim["quote"])
    turns = [{"role": "user", "content": "I was there."}, {"role": "assistant", "content": "It was 2030."}]

    done = {"messages": turns, "verdict": {"winner": right, "explanation": "The user was there."}}
    output = resume(result=done, engine=given["engine"])
    while output.get("pause"):
        output = resume(result="2030.", engine=given["engine"])

    assert {found["status"] for found in output["conflicts"]} == {"settled"}
    assert all("2030" in found["claims"][found["winner"]]["quote"] for found in output["conflicts"])
    assert {"I was there.", "It was 2030."} <= set(texts(home))


NO_TRANSCRIPTS: list[Any] = [
    "",
    " \n",
    [],
    {},
    7,
    True,
    b"2031",
    [7],
    ["2031", None],
    {"messages": []},
    {"messages": 7},
    {"year": 2031},
    {"text": " "},
    [{"role": "nobody", "content": "2031"}],
    [{"role": "assistant"}],
    [{"role": "user", "content": "2031"}],
    [{"role": "assistant", "content": 7}],
    [{"role": "assistant", "content": "2031", "tool_calls": "almanac"}],
    [{"role": "assistant", "content": "2031", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]}],
    [{"role": "assistant", "content": "2031", "tool_calls": [{"name": "a", "args": {"x": object()}, "id": "1"}]}],
    [{"role": "tool", "content": "2031"}],
]


@pytest.mark.parametrize("result", NO_TRANSCRIPTS)
def test_what_is_no_transcript_is_told_from_what_is_one(result: Any) -> None:
    with pytest.raises(InputError, match=r"cannot be used\..*still waits"):
        checked_result(result, {"prompt": "the prompt", "task": {"kind": "answer"}}, Settings())


@pytest.mark.parametrize("result", [[], [{"role": "nobody", "content": "2031"}]])
def test_what_is_no_transcript_is_refused_at_the_door_and_the_step_still_waits(
    go: Go, resume: Go, home: Path, result: Any
) -> None:
    handed_out = go()["pause"]
    before = Home(home).checkpoints("t").read_bytes()

    with pytest.raises(InputError, match="still waits"):
        resume(result=result)

    assert Home(home).checkpoints("t").read_bytes() == before
    assert Ledger(Home(home).ledger).get("t").state == "paused"
    assert resume()["pause"] == handed_out
    assert resume(result="2031.")["answer"] == "2031."


def test_a_result_over_the_limit_is_refused(go: Go, resume: Go) -> None:
    go(settings={"max_input_characters": 100})

    with pytest.raises(InputTooLarge, match="more than 100 characters"):
        resume(result="2031 " * 100)


def test_without_a_result_the_same_step_is_handed_out_again_and_nobody_is_asked(go: Go, resume: Go) -> None:
    first, engine = go(), ScriptedEngine()

    assert resume(engine=engine) == first
    assert resume(engine=engine, execute="outside") == first
    assert not engine.calls


def test_every_step_of_the_run_is_handed_out(go: Go, resume: Go, home: Path) -> None:
    given = parts(search_and_answer)
    first = go(**given)["pause"]
    second = resume(result=TRANSCRIPT, **given)["pause"]
    output = resume(result="In 2031.", **given)

    assert [pause["task"]["kind"] for pause in (first, second)] == ["search", "answer"]
    assert "In 2031 the array opened." in second["prompt"]
    assert output["answer"] == "In 2031."


def test_a_result_that_nobody_waits_for_is_refused(go: Go, resume: Go) -> None:
    go(execute=None)

    with pytest.raises(InputError, match="does not wait for the result"):
        resume(result="2031.")


def test_a_run_that_waits_for_a_budget_takes_no_result(go: Go, resume: Go) -> None:
    assert go(settings={"budget_seconds": 1e-6}, clock=TickingClock())["pause"]["reason"] == "seconds"

    with pytest.raises(InputError, match="does not wait for the result"):
        resume(result="2031.")
    assert resume()["pause"]["reason"] == "execute"


def test_a_result_and_a_decision_do_not_go_together(go: Go, resume: Go) -> None:
    go()

    with pytest.raises(InputError, match="Leave one of them out"):
        resume(result="2031.", decision="stop")
    with pytest.raises(InputError, match="does not wait for a budget"):
        resume(decision={"budget_calls": 5})


def test_a_run_that_is_stopped_ends_with_what_it_has(go: Go, resume: Go) -> None:
    go()

    output = resume(decision="stop")

    assert output["status"] == "stopped"
    assert "pause" not in output
    assert resume() == output


def test_a_run_that_is_finished_reads_memory_itself(go: Go, resume: Go, home: Path) -> None:
    go()

    output = resume(decision="finish")

    assert "pause" not in output
    assert output["answer"] == TEXT
    assert not Ledger(Home(home).ledger).get("t").outside


def test_another_executor_may_take_over(go: Go, resume: Go) -> None:
    go()

    with pytest.raises(InputError, match="would do the step again"):
        resume(execute=lambda assignment: "2031.", result="2032.")
    assert resume(execute=lambda assignment: "2031.")["answer"] == "2031."


def test_a_run_that_began_inside_may_be_handed_out(go: Go, resume: Go) -> None:
    def breaking(event: dict[str, Any]) -> None:
        if event.get("done") == "plan":
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        go(execute=None, on_event=breaking)

    handed_out = resume(execute="outside")

    assert handed_out["pause"]["reason"] == "execute"
    assert resume() == handed_out


def test_a_runnable_and_a_graph_carry_out_the_steps_of_a_run(go: Go) -> None:
    assert go(execute=RunnableLambda(lambda prompt: "In 2031."))["answer"] == "In 2031."


@pytest.mark.parametrize("execute", ["inside", 7, "", ["outside"]])
def test_what_carries_nothing_out_is_refused(go: Go, home: Path, execute: Any) -> None:
    with pytest.raises(InputError, match="a Runnable, a compiled graph, or 'outside'"):
        go(execute=execute)
    assert not home.exists()


async def test_a_run_of_asynchronous_code_hands_its_steps_out_too(home: Path, resume: Go) -> None:
    output = await runs.arun(QUESTION, documents=[TEXT], thread="t", execute="outside", home=home, **parts())

    assert output["pause"]["reason"] == "execute"
    assert resume(result="2031.")["answer"] == "2031."


def test_a_run_that_is_not_kept_is_erased_when_its_last_result_is_in(go: Go, resume: Go, home: Path) -> None:
    go(keep=False)

    assert resume(result="2031.")["answer"] == "2031."
    assert not Home(home).folder("t").exists()
    assert not Ledger(Home(home).ledger).knows("t")


KILLED = """
import os, signal
from agentic_memory_bank import runs
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from datetime import timedelta

given = {"engine": ScriptedEngine(), "embeddings": HashEmbeddings(), "clock": TickingClock(step=timedelta(0))}

def die(event):
    if event.get("done") == os.environ["AT"]:
        os.kill(os.getpid(), signal.SIGKILL)

RUN
os.kill(os.getpid(), signal.SIGKILL)
"""
ASK = f"runs.run({QUESTION!r}, documents=[{TEXT!r}], thread='t', keep=True, execute='outside', on_event=die, **given)"
HAND_IN = f"runs.resume('t', result={TRANSCRIPT!r}, on_event=die, **given)"


def killed(home: Path, act: str, at: str = "") -> None:
    """Do something in another process, which is killed after a stage or when it is done."""
    environment = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "MEMORY_BANK_HOME": str(home), "AT": at}
    done = subprocess.run([sys.executable, "-c", KILLED.replace("RUN", act)], env=environment, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.kill
def test_a_run_killed_before_while_or_after_it_waits_comes_to_what_one_comes_to_that_was_not(
    go: Go, resume: Go, home: Path, tmp_path: Path
) -> None:
    (other := tmp_path / "whole").mkdir()
    whole = go(home=other)
    ended = resume(home=other, result=TRANSCRIPT)

    killed(home, ASK, "structure")
    assert resume() == whole
    runs.clear("t", home=home)
    killed(home, ASK)
    assert resume() == whole
    killed(home, HAND_IN, "execute")
    refused = "does not wait"
    try:  # the event comes just before or just after the checkpoint: the run may still wait
        resume(result=TRANSCRIPT)
    except InputError as error:
        refused = str(error)
    assert "does not wait" in refused
    assert resume() == ended
    assert runs.memory_digest(runs.read_state("t", home=home)) == runs.memory_digest(runs.read_state("t", home=other))
