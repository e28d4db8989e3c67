"""Runs are as durable, apart and erasable in a Postgres database as in files, and any process goes on with them."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import RunControl
from typer.testing import CliRunner

from agentic_memory_bank import runs
from agentic_memory_bank.engines.base import QuotedAnswer
from agentic_memory_bank.runs import export
from agentic_memory_bank.runs.doctor import examine
from agentic_memory_bank.runs.home import lease
from agentic_memory_bank.runs.homes import home_at, ledger_of
from agentic_memory_bank.state.errors import (
    EngineError,
    RunError,
    SettingsError,
    StorageError,
    ThreadBusyError,
    UnknownThreadError,
)
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import default_store

CANARY = "quixotic-zymurgy"
TEXTS = [
    f"The {CANARY} house of Aldport was founded in 1881.",
    f"Its {CANARY} cellar holds forty barrels of dark beer.",
]
QUESTION = f"When was the {CANARY} house founded?"
SCHEMA = "memory_bank_runs"
Say = Callable[[str], list[Any]]


@pytest.fixture
def database(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database without runs, which the environment names."""
    with importlib.import_module("psycopg").connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        module = importlib.import_module("agentic_memory_bank.runs.database")
        module.run_database.cache_clear()
        monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", postgres)
        yield postgres
        opened = module.run_database(postgres)
        opened.close()


@pytest.fixture(params=["files", "database"])
def kept(request: pytest.FixtureRequest, home: Path) -> Callable[[], bytes]:
    """Where runs are kept: all that is kept there."""
    if request.param == "files":
        return lambda: b"\0".join(str(f).encode() + f.read_bytes() for f in sorted(home.rglob("*")) if f.is_file())
    url = request.getfixturevalue("database")
    return lambda: in_tables(url) + b"".join(f.read_bytes() for f in home.rglob("*") if f.is_file())


def in_tables(url: str) -> bytes:
    """Every row of every table."""
    with importlib.import_module("psycopg").connect(url, autocommit=True) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (SCHEMA,)).fetchall()
        rows = [connection.execute(f"SELECT * FROM {SCHEMA}.{name}").fetchall() for (name,) in names]
    return b"".join(
        bytes(value) if isinstance(value, bytes) else repr(value).encode() for row in rows for r in row for value in r
    )


def parts() -> dict[str, Any]:
    return {"engine": ScriptedEngine(), "embeddings": HashEmbeddings(), "clock": TickingClock(step=timedelta(0))}


def go(question: str = QUESTION, **options: Any) -> Any:
    return runs.run(question, **{"documents": TEXTS, **parts(), **options})


def stopped_after(stage: str, thread: str = "t", **options: Any) -> None:
    """Leave an unfinished run behind."""
    control = RunControl()

    def watch(event: dict[str, Any]) -> None:
        if event.get("done") == stage:
            control.request_drain("test")

    with pytest.raises(RunError, match="Resume the thread"):
        go(thread=thread, control=control, on_event=watch, **options)


# --- durable -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["adapter_in", "structure", "retrieve", "plan", "execute"])
def test_a_run_that_was_stopped_comes_to_the_memory_of_one_that_was_not(kept: Any, stage: str) -> None:
    whole = go(thread="whole", keep=True)
    stopped_after(stage, keep=True)

    resumed = runs.resume("t", **parts())

    assert {**resumed, "thread": ""} == {**whole, "thread": ""}
    assert len({runs.memory_digest(runs.read_state(thread)) for thread in ("whole", "t")}) == 1


KILLED = """
import os, signal, sys
from datetime import timedelta
from agentic_memory_bank import runs
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

def die(event):
    if event.get("done") == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)

runs.run(sys.argv[2], documents=sys.argv[3:], thread="t", keep=True, on_event=die, engine=ScriptedEngine(),
         embeddings=HashEmbeddings(), clock=TickingClock(step=timedelta(0)))
"""


@pytest.mark.kill
@pytest.mark.parametrize("stage", ["classify", "embed", "plan"])
def test_what_a_killed_process_began_another_with_a_folder_of_its_own_ends(
    kept: Any, request: pytest.FixtureRequest, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = go(thread="whole", keep=True)
    killed = subprocess.run([sys.executable, "-c", KILLED, stage, QUESTION, *TEXTS], env={**os.environ})
    assert killed.returncode == -signal.SIGKILL
    if "MEMORY_BANK_DATABASE_URL" in os.environ:
        monkeypatch.setenv("MEMORY_BANK_HOME", str(tmp_path / "another machine"))

    resumed = runs.resume("t", **parts())

    assert {**resumed, "thread": ""} == {**whole, "thread": ""}
    assert runs.memory_digest(runs.read_state("t")) == runs.memory_digest(runs.read_state("whole"))


def test_a_run_goes_on_on_a_machine_whose_clock_is_behind(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = go(thread="whole", keep=True)
    stopped_after("structure", keep=True)
    ids = importlib.import_module("langgraph.checkpoint.base.id")
    monkeypatch.setattr(ids.time, "time_ns", lambda now=time.time_ns: now() - 10**15)
    monkeypatch.setattr(ids, "_last_v6_timestamp", None)
    stopped_again = RunControl()
    with pytest.raises(RunError):
        runs.resume("t", control=stopped_again, on_event=lambda e: stopped_again.request_drain("test"), **parts())

    resumed = runs.resume("t", **parts())

    assert {**resumed, "thread": ""} == {**whole, "thread": ""}
    assert runs.memory_digest(runs.read_state("t")) == runs.memory_digest(runs.read_state("whole"))


def test_a_further_question_finds_what_was_kept(kept: Any) -> None:
    go(thread="t")

    assert go("How many barrels are in the cellar?", documents=[], thread="t")["sources"]


def test_a_thread_is_run_by_one_process_at_a_time(kept: Any) -> None:
    place = home_at().prepare()
    with lease(place, "t"):
        with pytest.raises(ThreadBusyError), lease(home_at(), "t"):
            pass
        with lease(home_at(), "another"):
            pass
    with lease(home_at(), "t"):
        pass


def test_who_has_lost_the_connection_that_holds_a_thread_saves_nothing_more(database: str) -> None:
    holder = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"

    def cut_off(event: dict[str, Any]) -> None:
        if event.get("done") == "structure":
            with importlib.import_module("psycopg").connect(database, autocommit=True) as connection:
                connection.execute(holder)

    with pytest.raises(StorageError, match="then resume"):
        go(thread="t", on_event=cut_off, keep=True)
    assert runs.resume("t", **parts())["status"] == "completed"


STRANGE: list[dict[str, Any]] = [
    {"text": "A half \ud83d character", "metadata": {"\udc00key": "\ud83d"}, "source": "a\ud800"},
    {"text": "A \0 byte", "metadata": {"nul": "\0"}},
    {"text": "A large number", "metadata": {"n": 1 << 64, "m": -(1 << 70), "f": 1e308, "nan": float("nan")}},
]


@pytest.mark.parametrize("document", STRANGE, ids=lambda document: document["text"][:6])
def test_strange_values_are_the_same_after_a_resume(kept: Any, document: dict[str, Any]) -> None:
    question = "What of \ud83d and \0 here?"
    go(question, thread="whole", keep=True, documents=[document])
    stopped_after("adapter_in", keep=True, documents=[document], question=question)
    runs.resume("t", **parts())

    texts = [repr(runs.read_state(thread)["interaction_tree"]["entries"]) for thread in ("whole", "t")]
    assert texts[0] == texts[1]


BEGUN_AT_ONCE = 4


@pytest.mark.kill
def test_processes_that_begin_at_once_on_an_empty_database_all_come_to_their_end(database: str) -> None:
    code = KILLED.replace('thread="t"', "thread=sys.argv[1]").replace("on_event=die, ", "")
    command = [sys.executable, "-c", code]
    begun = [
        subprocess.Popen([*command, f"t{n}", QUESTION, *TEXTS], stderr=subprocess.PIPE) for n in range(BEGUN_AT_ONCE)
    ]

    told = [process.communicate()[1].decode() for process in begun]

    assert [process.returncode for process in begun] == [0] * BEGUN_AT_ONCE, told
    threads = [f"t{n}" for n in range(BEGUN_AT_ONCE)]
    assert sorted(run.thread for run in ledger_of(home_at()).all()) == threads
    assert len({runs.memory_digest(runs.read_state(thread)) for thread in threads}) == 1


# --- apart ---------------------------------------------------------------------------------------------------------


def test_threads_named_alike_are_different_threads(kept: Any) -> None:
    for thread in ("1", "01", "1 ", "Ä", "a/b", "../b"):
        go(thread=thread, keep=True, documents=[f"The text of {thread!r}."])
    runs.clear("a/b")

    for thread in ("1", "01", "1 ", "Ä", "../b"):
        entries = runs.read_state(thread)["interaction_tree"]["entries"]
        assert [entry["text"] for entry in entries.values()] == [f"The text of {thread!r}."]
    assert sorted(run.thread for run in ledger_of(home_at()).all()) == sorted(("1", "01", "1 ", "Ä", "../b"))


def test_a_folder_that_is_named_is_used_in_place_of_the_database(database: str, tmp_path: Path) -> None:
    go(thread="t", keep=True, home=tmp_path / "own")

    assert (tmp_path / "own" / "runs.sqlite").exists()
    with pytest.raises(UnknownThreadError):
        runs.read_state("t")


def test_runs_in_a_database_leave_no_file_behind(database: str, home: Path) -> None:
    go(thread="t", keep=True)

    assert not home.exists()


# --- erased --------------------------------------------------------------------------------------------------------


def failing(*given: Any) -> Any:
    raise EngineError(f"No judgement on {CANARY}.")


@pytest.mark.parametrize(
    "engine",
    [
        ScriptedEngine(),
        ScriptedEngine(answer=lambda question, passages: QuotedAnswer("", (), "")),
        ScriptedEngine(answer=failing),
    ],
    ids=["success", "not found", "failure"],
)
def test_nothing_of_a_task_is_left_when_it_ended(kept: Callable[[], bytes], engine: ScriptedEngine) -> None:
    go(engine=engine, thread=f"about {CANARY}", keep=False)

    left = kept()
    assert CANARY.encode() not in left
    assert b"1881" not in left
    assert ledger_of(home_at()).all() == []


def test_a_kept_memory_is_left_until_it_is_cleared(kept: Callable[[], bytes]) -> None:
    go(thread="t", keep=True)
    go(thread="other", keep=True, documents=["The lake is deep."], question="How deep is the lake?")
    assert CANARY.encode() in kept()

    runs.clear("t")

    assert CANARY.encode() not in kept()
    assert runs.read_state("other")["interaction_tree"]["entries"]
    with pytest.raises(UnknownThreadError):
        runs.clear("t")


def test_clearing_an_unfinished_run_leaves_nothing_of_it(kept: Callable[[], bytes]) -> None:
    stopped_after("structure")

    runs.clear("t")

    assert CANARY.encode() not in kept()


def test_attachments_are_there_for_the_next_process_and_go_with_their_thread(kept: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text(f"The array was opened in 2031. {CANARY}")
    go(thread="t", keep=True, attachments=[notes])

    store = export.files_of("t", home_at())
    (name,) = store.kept()
    assert store.read(name) == notes.read_bytes()
    runs.clear("t")
    assert CANARY.encode() not in kept()


def test_garbage_is_what_no_run_needs(kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_after("structure", "unfinished")
    go(thread="kept", keep=True, export=tmp_path / "memory.json")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        for ledger in {type(ledger_of(home_at())), importlib.import_module("agentic_memory_bank.runs.ledger").Ledger}:
            patched.setattr(ledger, "write", killed)
        if "MEMORY_BANK_DATABASE_URL" in os.environ:
            patched.setattr(importlib.import_module("agentic_memory_bank.runs.homes").SharedHome, "clear", killed)
        with pytest.raises(KeyboardInterrupt):
            runs.import_thread(tmp_path / "memory.json", "half")

    assert runs.resume("unfinished", **parts())["status"] == "completed"
    runs.collect_garbage()
    assert [run.thread for run in ledger_of(home_at()).all()] == ["kept", "unfinished"]
    runs.import_thread(tmp_path / "memory.json", "half")
    runs.export_thread("half", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "memory.json").read_bytes()


# --- the command line ----------------------------------------------------------------------------------------------


def test_the_command_line_lists_shows_and_clears_the_runs_of_the_database(database: str, home: Path) -> None:
    from agentic_memory_bank.cli.app import app

    go(thread="t", keep=True)
    command = CliRunner()

    listed = json.loads(command.invoke(app, ["runs", "--json"]).stdout)
    shown = command.invoke(app, ["show", "t"])
    cleared = command.invoke(app, ["clear", "t"])

    assert [run["thread"] for run in listed["runs"]] == ["t"]
    assert "1881" in shown.stdout
    assert cleared.exit_code == 0
    assert json.loads(command.invoke(app, ["runs", "--json"]).stdout) == {"runs": []}


def test_the_doctor_counts_the_runs_of_the_database_and_does_not_tell_its_address(database: str) -> None:
    go(thread="t", keep=True)

    found = examine()

    assert found["runs"] == {"threads": 1, "unfinished": 0, "leftovers": 0}
    assert found["storage"]["runs and pages"] == "in the database that MEMORY_BANK_DATABASE_URL names"
    assert database not in json.dumps(found)


def test_a_database_that_cannot_be_reached_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    database = pytest.importorskip("agentic_memory_bank.runs.database")
    monkeypatch.setattr("agentic_memory_bank.tools.storage.postgres.PATIENCE", 0.2)
    monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", "postgresql://nobody@/none?host=/nowhere")

    with pytest.raises(StorageError, match="database of runs cannot be used"):
        go(thread="t")
    database.run_database.cache_clear()


def test_an_address_that_cannot_be_read_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", "postgres//ana:hunter2@host/db")

    for use in (lambda: go(thread="t"), default_store):
        with pytest.raises(SettingsError, match="no address of a Postgres database") as refused:
            use()
        assert "hunter2" not in "".join(traceback.format_exception(refused.value))


def test_a_database_without_what_reads_one_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", "postgresql://nobody@/none")
    monkeypatch.setitem(sys.modules, "agentic_memory_bank.runs.database", None)

    with pytest.raises(SettingsError, match=r"pip install \"agentic-memory-bank\[postgres\]\""):
        go(thread="t")
