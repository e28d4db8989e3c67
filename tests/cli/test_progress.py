"""Progress: what each event says, that silence is broken, and that a terminal is left as it was found."""

import errno
import io
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from agentic_memory_bank.cli import progress, work
from agentic_memory_bank.cli.pace import Pace
from agentic_memory_bank.cli.progress import JsonProgress, LiveProgress, PlainProgress, described
from agentic_memory_bank.cli.work import Interrupted, attend
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings

from .conftest import DRIVER, json_lines, started

HEAVY = ("torch", "faiss", "transformers", "sentence_transformers", "langchain_community")


def test_events_are_told_with_their_counts() -> None:
    assert (
        described({"stage": "classify", "chunks": 3, "characters": 12_000}) == "classify: 3 chunks, 12,000 characters"
    )
    assert described({"stage": "execute", "kind": "answer", "memories": 5}) == "execute: kind answer, 5 memories"
    assert described({"stage": "integrate", "memories": 1, "pairs": 1}) == "integrate: 1 memory, 1 pair"
    assert described({"stage": "plan", "task": None}) == "plan: nothing is left to do"
    assert described({"stage": "plan", "task": {"kind": "answer", "text": "a\nb"}}) == "plan: next: answer: a b"
    assert described({"note": "careful\x1b[2J"}) == "careful\ufffd[2J"


def test_silence_is_broken_by_what_is_still_under_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SILENCE_SECONDS", 0.0)
    with PlainProgress() as plain:
        plain.event({"stage": "embed", "memories": 9})
        plain.tick()
        plain.event({"done": "embed"})
        plain.tick()
    with JsonProgress() as machine:
        machine.tick()

    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" s  ")[-1] for line in lines[:3]] == [
        "embed: 9 memories",
        "still working (embed: 9 memories)",
        "still working",
    ]
    assert json_lines(lines[3])[0]["alive"] is True


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LocalEmbeddings:
    """An embedding model in a folder, whose weights are none."""
    model = SimpleNamespace(encode=lambda texts: np.ones((len(texts), 2)))
    monkeypatch.setattr(LocalEmbeddings, "_model_in", lambda self, folder: model)
    return LocalEmbeddings(str(tmp_path))


def test_a_model_is_told_of_while_it_is_loaded_and_once(
    unloaded: LocalEmbeddings, capsys: pytest.CaptureFixture[str]
) -> None:
    with PlainProgress() as plain:
        plain.event({"stage": "embed", "memories": 9})
        unloaded.embed_query("a")
        assert plain.doing == "embed: 9 memories"
        unloaded.embed_query("b")
    unloaded._begin()
    unloaded.embed_query("c")

    told = [line.split(" s  ")[-1] for line in capsys.readouterr().err.splitlines()]
    assert told == ["embed: 9 memories", "loading the model"]


def test_on_a_terminal_a_model_that_loads_stands_beside_the_clock() -> None:
    shown = LiveProgress()
    shown.event({"stage": "embed", "memories": 9})
    shown.event({"loading": True})
    assert shown.doing == "loading the model"
    shown.event({"loading": False})

    assert shown.doing == "embed: 9 memories"


def test_commands_without_progress_tell_of_loading_where_a_terminal_watches(
    unloaded: LocalEmbeddings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for is_watched, told in ((False, ""), (True, "loading the model\n")):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_watched=is_watched: is_watched)
        unloaded._begin()
        with progress.loading_shown():
            unloaded.embed_query("a")
        assert capsys.readouterr().err == told


def test_a_tick_after_news_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with PlainProgress() as plain:
        plain.tick()

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("shown", [PlainProgress, JsonProgress])
def test_work_goes_on_where_nothing_can_be_told_of_it(monkeypatch: pytest.MonkeyPatch, shown: Any) -> None:
    class Full(io.StringIO):
        def write(self, _: str, /) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())

    assert attend(lambda emit: emit({"stage": "classify", "chunks": 3}) or "done", shown(), lambda: None) == "done"


@pytest.mark.parametrize("closed", ["0<&-", "2>&-"])
def test_an_answer_needs_no_stream_but_that_which_it_goes_to(document: Path, closed: str) -> None:
    asked = f'exec "$0" -m agentic_memory_bank.cli ask "How many qubits has the chip?" --context "$1" {closed}'
    done = subprocess.run(["bash", "-c", asked, sys.executable, str(document)], stdout=subprocess.PIPE, timeout=100)

    assert done.returncode == 0
    assert done.stdout


def usage(calls: int) -> progress.Event:
    return {"usage": {"calls": calls, "input_tokens": 1_000 * calls, "output_tokens": 10, "cost": None}}


def test_what_models_cost_is_told_once_a_stage_is_done_whatever_the_order_of_the_calls(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with PlainProgress() as plain:
        for event in (usage(1), usage(3), usage(2), {"done": "classify"}, {"done": "structure"}, {"unheard": "of"}):
            plain.event(event)

    told = [line.split(" s  ")[1] for line in capsys.readouterr().err.splitlines()]
    assert told == ["3 calls, 3,000 tokens in, 10 out, cost unknown"]


def test_on_a_terminal_what_models_cost_stands_below_the_clock() -> None:
    shown = LiveProgress()
    shown.event({"stage": "structure", "topics": 5})
    shown.event(usage(2))

    console = Console(width=100)
    with console.capture() as drawn:
        console.print(shown._drawn())

    assert drawn.get().splitlines()[0].endswith("structure: 5 topics")
    assert drawn.get().splitlines()[1] == "  2 calls, 2,000 tokens in, 10 out, cost unknown"


@pytest.mark.parametrize(
    ("asking", "told"),
    [
        ({"role": "plan", "attempt": 1, "seconds": 90.4, "tokens": 0}, "structure: 5 topics; asking plan, 90 s left"),
        (
            {"role": "plan", "attempt": 2, "seconds": 0, "tokens": 1200},
            "structure: 5 topics; asking plan, 0 s left, try 2, 1,200 tokens",
        ),
    ],
)
def test_what_a_model_is_asked_stands_beside_the_stage_until_it_has_answered(asking: Any, told: str) -> None:
    shown = PlainProgress()
    shown.event({"stage": "structure", "topics": 5})
    for event in ({"asking": asking}, {"research": {"asking": asking}}):
        shown.event(event)
        assert shown.doing == told
    shown.event(usage(2))
    assert shown.doing == "structure: 5 topics"


def test_work_that_counts_what_is_left_has_a_bar_and_from_its_pace_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    shown = PlainProgress()
    shown.event({"stage": "structure", "topics": 40})
    for answered in (10, 20):
        clock[0] += 5
        shown.event({"answered": answered, "left": 40 - answered})

    assert shown.doing == "structure: 40 topics; ██████████░░░░░░░░░░ 20 of 40, about 10 s left"
    shown.event({"answered": 40, "left": 0})
    assert shown.doing == "structure: 40 topics"


@pytest.mark.parametrize(
    ("seconds", "told"), [(1, "about 30 s left"), (10, "about 5 min left"), (600, "about 5.0 h left")]
)
def test_the_time_left_is_told_in_what_it_is_long_in(
    monkeypatch: pytest.MonkeyPatch, seconds: float, told: str
) -> None:
    clock, pace = [0.0], Pace()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    pace.follow({"stage": "embed", "embedded": 256, "left": 512})
    assert pace.told == f"{'█' * 6}{'░' * 14} 256 of 768"
    clock[0] = seconds * 10
    pace.follow({"stage": "store", "pages": 0, "left": 40})
    clock[0] += seconds
    pace.follow({"stage": "store", "pages": 1, "left": 30})

    assert pace.told.endswith(told)


def test_other_work_begins_with_a_pace_of_its_own() -> None:
    pace = Pace()
    for answered in (1, 2, 1):
        pace.follow({"answered": answered, "left": 10})

    pace.follow({"stage": "plan", "task": None})

    assert pace.told.endswith("1 of 11")


def test_work_is_done_in_a_thread_and_its_errors_come_back() -> None:
    names: list[str] = []

    def work(emit: progress.Emit) -> int:
        names.append(threading.current_thread().name)
        return 7

    def broken(emit: progress.Emit) -> int:
        raise ValueError("no")

    assert attend(work, PlainProgress(), lambda: None) == 7
    assert names == ["memory-bank"]
    with pytest.raises(ValueError, match="no"):
        attend(broken, PlainProgress(), lambda: None)


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Patience without end, and a note in the place of the end of the process."""
    notes: list[str] = []
    monkeypatch.setattr(work, "GRACE_SECONDS", 600.0)
    monkeypatch.setattr(work, "LAST_RESORT_SECONDS", 600.0)
    monkeypatch.setattr(work, "leave", lambda: notes.append("left"))
    return notes


def test_after_the_first_ctrl_c_work_that_ends_is_heeded(left: list[str]) -> None:
    stopped = threading.Event()

    def work(emit: progress.Emit) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        assert stopped.wait(30)
        return "done in time"

    assert attend(work, PlainProgress(), stopped.set) == "done in time"
    assert left == []


def test_after_the_first_ctrl_c_work_that_fails_was_interrupted(left: list[str]) -> None:
    stopped = threading.Event()

    def work(emit: progress.Emit) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopped.wait(30)
        raise RuntimeError("the run was stopped between two steps")

    with pytest.raises(Interrupted):
        attend(work, PlainProgress(), stopped.set)


def test_the_second_ctrl_c_does_not_wait_for_the_work(left: list[str]) -> None:
    stopped, end = threading.Event(), threading.Event()

    def work(emit: progress.Emit) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert stopped.wait(30)
        os.kill(os.getpid(), signal.SIGINT)
        end.wait(30)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted):
        attend(work, PlainProgress(), stopped.set)
    end.set()

    assert signal.getsignal(signal.SIGINT) is before
    assert left == []


def _read_all(terminal: int, pieces: list[bytes]) -> None:
    with open(terminal, "rb", buffering=0) as stream, suppress(OSError):  # EIO: the other end was closed
        while piece := stream.read(4096):
            pieces.append(piece)


def test_on_a_terminal_progress_is_drawn_and_gone_at_the_end(document: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, DRIVER, "ask", "How many qubits?", "-c", document]
    environment = {**os.environ, "TEST_ENGINE_OF_MEMORY_BANK": "brief", "TERM": "xterm", "COLUMNS": "100"}
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": slave}
    pieces: list[bytes] = []
    reading = threading.Thread(target=_read_all, args=(master, pieces))  # a full terminal would stop the process
    with started(command, env=environment, **streams) as process:
        os.close(slave)
        reading.start()
        output, _ = process.communicate(timeout=120)
    reading.join()
    drawn = b"".join(pieces).decode()

    assert process.returncode == 0
    assert "structure: 1 topic" in drawn
    assert drawn.rindex("\x1b[?25h") > drawn.rindex("\x1b[?25l")  # the cursor is back
    assert "“The chip has 433 qubits.”" in output.decode()


def test_help_and_runs_start_without_heavy_packages_and_without_langgraph() -> None:
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from agentic_memory_bank.cli.app import app\n"
        "assert CliRunner().invoke(app, [sys.argv[1]]).exit_code == 0\n"
        "print(*[name for name in sys.argv[2:] if name in sys.modules])\n"
    )
    for word in ("--help", "runs"):
        command = [sys.executable, "-c", script, word, *HEAVY, "langgraph", "langchain_core", "numpy"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


def test_the_process_is_made_safe_and_quiet_before_langgraph_is_imported(document: Path) -> None:
    script = (
        "import os, sys, warnings, logging\n"
        "from agentic_memory_bank.cli import app as cli\n"
        "def look():\n"
        "    assert 'langgraph' not in sys.modules\n"
        "    print(os.environ['LANGGRAPH_STRICT_MSGPACK'], os.environ['LANGSMITH_TRACING'])\n"
        "    warnings.warn('old', DeprecationWarning)\n"
        "    logging.getLogger('foreign').warning('noise')\n"
        "cli.app = look\n"
        "cli.main()\n"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("LANGGRAPH_STRICT_MSGPACK", "LANGSMITH_TRACING")}
    for chosen, printed in (({}, "true false\n"), ({"LANGSMITH_TRACING": "true"}, "true true\n")):
        result = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**environment, **chosen}
        )
        assert result.stdout == printed
        assert result.stderr == ""
