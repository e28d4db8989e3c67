"""Research that is killed with SIGKILL at any super-step, or right after any answer, comes to the same and pays once.

The test starts this file as a process, which forks a child for each moment: one dies there, the next one resumes.
"""

import gc
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver

from agentic_memory_bank.engines.llm.answers import AnswerStore
from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.runs.checkpoints import open_saver
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.testing import ChatRequest, ScriptedJudge, TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.stores import PageStores

pytestmark = pytest.mark.kill

CONFIG: Any = {"configurable": {"thread_id": "t"}}
SETTINGS: Any = {"research_pages": 1}
QUESTIONS = (
    "Who keeps the key of the lighthouse?",
    "Who is the harbour master of Aldport?",
    "Where does Ida Lindqvist live, above what?",
)
TEXTS = (
    "The key of the lighthouse is kept by the harbour master.",
    "The harbour master of Aldport is Ida Lindqvist.",
    "Ida Lindqvist lives above the chandlery.",
    "Rope Street was paved in 1881.",
)
CALLS = ["gather", "reflect", "plan_searches", "gather", "reflect", "plan_searches", "gather", "respond"]
STEPS = 15
"""The input, and after it take_in, four stages for each of three rounds, and answer."""


def _gather(prompt: str) -> dict[str, Any]:
    return {**ScriptedJudge._gather(prompt), "is_enough": False}


def _reflect(prompt: str) -> dict[str, Any]:
    return {"is_enough": False, "requests": [QUESTIONS[prompt.count("<asked ")]]}


def _respond(prompt: str) -> dict[str, Any]:
    said = re.findall(r"<excerpt[^>]*>(.*?)</excerpt>", prompt)
    return {"is_found": True, "answer": said[-1], "quotes": [{"excerpt": 1, "words": said[0]}]}


JUDGE = ScriptedJudge(gather=_gather, reflect=_reflect, respond=_respond)


class Model(BaseChatModel):
    """Answers as the judge does, and writes down what it was asked before it says anything."""

    log: Path

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        request = ChatRequest({"messages": [{"role": m.type, "content": m.content} for m in messages]})
        with self.log.open("a") as log:
            log.write(JUDGE.kind_of(request) + "\n")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(json.dumps(JUDGE(request).data)))])


# --- the process that forks --------------------------------------------------------------------------------------


def work(folder: Path, given: Any) -> dict[str, Any]:
    """Run or resume, from what is on disk alone."""
    with open_saver(folder / "checkpoints.sqlite") as saver:
        researcher = build_researcher(
            models=Model(log=folder / "asked"),
            embeddings=HashEmbeddings(),
            stores=PageStores(folder.parent),
            checkpointer=saver,
            answers=folder / "answers.sqlite",
            clock=TickingClock(),
        )
        return researcher.invoke(given, CONFIG, context=SETTINGS, durability="sync")


def die_after(owner: type, name: str, count: int) -> None:
    """Have this process kill itself once something has been done so often; 0 for never."""
    done, original = [0], getattr(owner, name)

    def counted(*given: Any, **named: Any) -> Any:
        result = original(*given, **named)
        done[0] += 1
        if done[0] == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, counted)


def forked(act: Callable[[], Any], report: Path) -> bool:
    """Act in a child, and report; whether it was killed."""
    child = os.fork()
    if child == 0:
        try:
            report.write_text(json.dumps(act()))
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def kill_and_resume(place: Path, moment: str, count: int) -> dict[str, Any]:
    """Kill a run at a moment, and resume it in another process."""
    folder = place / f"{moment}-{count}"
    folder.mkdir()
    owner, name = (SqliteSaver, "put") if moment == "step" else (AnswerStore, "note")

    def begin() -> Any:
        die_after(owner, name, count)
        return work(folder, {"request": QUESTIONS[0], "memory": "m"})

    killed = forked(begin, folder / "report")
    if killed:
        forked(lambda: work(folder, None), folder / "report")
    output = json.loads((folder / "report").read_text())
    return {"killed": killed, "output": output, "asked": (folder / "asked").read_text().split()}


def page(number: int, text: str) -> Page:
    known: Any = {"id": f"p{number}", "title": "", "abstract": text, "text": text, "source": "", "metadata": {}}
    return {**known, "created_at": "", "expires_at": None}


def main(place: Path) -> None:
    stores = PageStores(place)
    stores.of("m").put([page(number, text) for number, text in enumerate(TEXTS)])
    stores.close()
    warm = place / "warm"
    warm.mkdir()
    work(warm, {"request": QUESTIONS[0], "memory": "m"})  # what is imported on first use is there for every child
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of the warm process
    moments = [("step", 0), *(("step", n + 1) for n in range(STEPS)), *(("answer", n + 1) for n in range(len(CALLS)))]
    reports = {f"{moment} {count}": kill_and_resume(place, moment, count) for moment, count in moments}
    sys.stdout.write(json.dumps(reports))


# --- the test ----------------------------------------------------------------------------------------------------


def test_a_run_killed_at_any_moment_and_resumed_comes_to_the_same_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", __file__, str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=environment)

    reports = json.loads(done.stdout)
    whole = reports.pop("step 0")
    assert (whole["killed"], whole["asked"], whole["output"]["status"]) == (False, CALLS, "partial")
    assert [finding["text"] for finding in whole["output"]["findings"]] == list(TEXTS[:3])
    assert all(report["killed"] for report in reports.values()), "there are as many super-steps as were counted"
    assert len(reports) == STEPS + len(CALLS)
    for moment, report in reports.items():
        assert report["output"] == whole["output"], moment
        assert report["asked"] == CALLS, moment


if __name__ == "__main__":
    main(Path(sys.argv[1]))
