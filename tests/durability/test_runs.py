"""Durable runs without a kill: the ledger, resuming, leases, export and import, what is erased, and what is damaged."""

import asyncio
import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.runtime import RunControl

from agentic_memory_bank import runs
from agentic_memory_bank.engines.base import PlannerInput, QuotedAnswer, Step
from agentic_memory_bank.runs import checkpoints, export, home, ledger
from agentic_memory_bank.runs.checkpoints import PackedSerializer, open_saver
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.ledger import Ledger
from agentic_memory_bank.state.errors import (
    EngineError,
    EngineMismatchError,
    ExportError,
    InputError,
    RunError,
    StorageDamagedError,
    StorageError,
    StorageFullError,
    ThreadBusyError,
    UnknownThreadError,
)
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.documents import loaders
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.storage.database_form import DatabaseForm, sealed
from agentic_memory_bank.tools.text.cleaning import clean

CANARY = "quixotic-zymurgy"
TEXTS = [
    f"The {CANARY} house of Aldport was founded in 1881.",
    f"Its {CANARY} cellar holds forty barrels of dark beer.",
]
QUESTION = f"When was the {CANARY} house founded?"
Go = Callable[..., Any]


@pytest.fixture
def go(home: Path) -> Go:
    """`run` without a model, under a clock that stands still."""

    def run(question: str = QUESTION, **options: Any) -> Any:
        return runs.run(question, **{"documents": TEXTS, **parts(), "home": home, **options})

    return run


@pytest.fixture
def resume(home: Path) -> Go:
    """`resume` with the same parts."""

    def again(thread: str | None = None, **options: Any) -> Any:
        return runs.resume(thread, **{**parts(), "home": home, **options})

    return again


def parts() -> dict[str, Any]:
    still = TickingClock(step=timedelta(0))
    return {"engine": ScriptedEngine(), "embeddings": HashEmbeddings(), "clock": still}


def stopping(control: RunControl, at: str) -> Callable[[dict[str, Any]], None]:
    """Ask a run to stop after a stage."""

    def watch(event: dict[str, Any]) -> None:
        if event.get("done") == at:
            control.request_drain("test")

    return watch


def stopped_after(go: Go, stage: str, thread: str = "t", **options: Any) -> None:
    """Leave an unfinished run behind."""
    control = RunControl()
    with pytest.raises(RunError, match="Resume the thread"):
        go(thread=thread, control=control, on_event=stopping(control, stage), **options)


def everything_on_disk(place: Path) -> bytes:
    return b"\0".join(str(f).encode() + f.read_bytes() for f in sorted(place.rglob("*")) if f.is_file())


# --- ledger and resume --------------------------------------------------------------------------------------------


def test_what_was_asked_is_written_down_before_the_first_step(go: Go, home: Path) -> None:
    seen: list[Any] = []

    class Curious(HashEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            seen.extend(Ledger(Home(home).ledger).all())
            return super().embed_documents(texts)

    go(thread="t", embeddings=Curious())

    assert (seen[0].thread, seen[0].question) == ("t", QUESTION)
    assert [document["text"] for document in seen[0].documents] == TEXTS


@pytest.mark.parametrize("stage", ["adapter_in", "structure", "retrieve", "plan", "execute"])
def test_a_drained_run_resumes_to_the_memory_of_one_that_was_not(go: Go, resume: Go, home: Path, stage: str) -> None:
    whole = go(thread="whole", keep=True)
    stopped_after(go, stage, keep=True)

    resumed = resume("t")

    assert {**resumed, "thread": ""} == {**whole, "thread": ""}
    digests = {runs.memory_digest(runs.read_state(thread, home=home)) for thread in ("whole", "t")}
    assert len(digests) == 1


def test_without_a_name_the_unfinished_run_that_was_active_last_is_resumed(go: Go, resume: Go) -> None:
    stopped_after(go, "structure", "older", clock=TickingClock())
    stopped_after(go, "structure", "newer", clock=TickingClock(step=timedelta(days=9)))
    go(thread="done", keep=True)

    assert resume()["thread"] == "newer"


def test_resuming_a_finished_kept_run_gives_its_outcome_and_asks_nobody(go: Go, resume: Go) -> None:
    whole, engine = go(thread="t", keep=True), ScriptedEngine()

    assert resume("t", engine=engine) == whole
    assert not engine.calls


def test_a_named_thread_is_kept_and_a_further_question_finds_its_memory(go: Go, home: Path) -> None:
    go(thread="t")

    again = go(question="How many barrels are in the cellar?", documents=[], thread="t")

    assert again["sources"]
    assert Ledger(Home(home).ledger).get("t").keep


def test_a_named_thread_is_erased_where_a_run_says_that_it_is_not_to_be_kept(go: Go, home: Path) -> None:
    go(thread="t")

    assert go(question="How many barrels are in the cellar?", documents=[], thread="t", keep=False)["sources"]

    assert not Home(home).folder("t").exists()
    assert not Ledger(Home(home).ledger).knows("t")


def test_a_nameless_thread_is_erased_unless_it_is_to_be_kept(go: Go, home: Path) -> None:
    passing, kept = go()["thread"], go(keep=True)["thread"]

    assert not Home(home).folder(passing).exists()
    assert Home(home).folder(kept).exists()


def test_asking_a_named_thread_that_holds_nothing_is_an_error_and_writes_nothing(go: Go, home: Path) -> None:
    for _ in range(2):
        with pytest.raises(UnknownThreadError, match="holds no memory"):
            go(thread="t", documents=[])
    go(thread="t", keep=False)
    with pytest.raises(UnknownThreadError, match="holds no memory"):
        go(thread="t", documents=None)

    assert not Ledger(Home(home).ledger).knows("t")
    assert not Home(home).folder("t").exists()


def test_a_named_thread_that_holds_nothing_may_begin_with_what_an_executor_brings(go: Go) -> None:
    assert go(thread="t", documents=[], execute="outside")["pause"]["reason"] == "execute"


def test_another_engine_or_other_embeddings_cannot_go_on(go: Go, resume: Go) -> None:
    stopped_after(go, "structure")

    with pytest.raises(EngineMismatchError, match="scripted"):
        resume("t", engine=ScriptedEngine(name="another"))
    with pytest.raises(EngineMismatchError, match="embeddings"):
        resume("t", embeddings=HashEmbeddings(dimension=64))
    assert resume("t")["status"] == "completed"


def test_a_thread_with_an_unfinished_run_takes_no_new_one(go: Go, home: Path) -> None:
    stopped_after(go, "structure")

    with pytest.raises(RunError, match="unfinished"):
        go(thread="t")
    assert Ledger(Home(home).ledger).get("t").state == "running"


@pytest.mark.parametrize("thread", [1, "", "  ", None, b"1"])
def test_a_thread_is_named_by_text(home: Path, thread: Any) -> None:
    with pytest.raises(InputError):
        runs.clear(thread, home=home)


def test_an_unknown_thread_is_an_error(resume: Go, home: Path) -> None:
    for act in (resume, lambda t: runs.clear(t, home=home), lambda t: runs.read_state(t, home=home)):
        with pytest.raises(UnknownThreadError):
            act("nobody")
    with pytest.raises(UnknownThreadError, match="No run is unfinished"):
        resume()


def test_bad_input_leaves_nothing_on_disk(go: Go, home: Path) -> None:
    home.mkdir(parents=True)
    for options in ({"question": " "}, {"documents": [3]}, {"documents": [""]}, {"thread": ""}, {"export": home}):
        with pytest.raises(InputError):
            go(**options)
    assert not [f for f in home.rglob("*") if f.is_file()]


@pytest.mark.parametrize("nth", [1, 2, 5, 9])
def test_an_event_of_the_caller_that_fails_is_the_callers(go: Go, resume: Go, nth: int) -> None:
    told: list[dict[str, Any]] = []
    before = set(threading.enumerate())

    def broken_pipe(event: dict[str, Any]) -> None:
        told.append(event)
        if len(told) == nth:
            raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        go(thread="t", on_event=broken_pipe)
    assert set(threading.enumerate()) == before, "a thread that saves must not outlive the database it saves to"
    assert resume("t")["status"] == "completed"


def test_a_clock_that_was_set_back_loses_no_step(
    go: Go, resume: Go, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_after(go, "retrieve", keep=True)
    with sqlite3.connect(Home(home).checkpoints("t")) as saved:
        saved.create_function("sealed", -1, sealed, deterministic=True)
        # as if a clock a century ahead had named the last one
        (last,) = saved.execute("SELECT max(checkpoint_id) FROM checkpoints").fetchone()
        ahead = "2" + last[1:]
        saved.execute("UPDATE checkpoints SET checkpoint_id = ? WHERE checkpoint_id = ?", (ahead, last))
        saved.execute("UPDATE writes SET checkpoint_id = ? WHERE checkpoint_id = ?", (ahead, last))
    saved.close()

    assert resume("t")["status"] == "completed"
    assert runs.read_state("t", home=home)["answer"]


def test_a_run_cleans_the_text_of_a_file_once(go: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "house.txt"
    file.write_text("\n".join(TEXTS))
    cleaned: list[str] = []
    monkeypatch.setattr(loaders, "clean", lambda text: cleaned.append(text) or clean(text))

    assert go(documents=[file])["sources"]
    assert cleaned.count(file.read_text()) == 1


def test_strict_msgpack_has_nothing_to_complain_of(home: Path, tmp_path: Path) -> None:
    code = (
        "import logging, warnings; logging.basicConfig(level=0); warnings.simplefilter('error')\n"
        "from agentic_memory_bank import runs; from agentic_memory_bank.testing import ScriptedEngine\n"
        "from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings as H\n"
        "runs.run('What?', documents=['It is so.'], thread='t', keep=True, engine=ScriptedEngine(), embeddings=H())\n"
        "print(runs.resume('t', engine=ScriptedEngine(), embeddings=H())['status'])\n"
    )
    environment = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "MEMORY_BANK_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "completed"
    assert "llowlist" not in done.stderr + done.stdout
    assert "eserializ" not in done.stderr


# --- leases -------------------------------------------------------------------------------------------------------


def test_a_thread_in_use_is_refused_at_once(go: Go, resume: Go, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, let_go = threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        waiting.set()
        let_go.wait(120)
        return QuotedAnswer("", (), "")

    worker = threading.Thread(target=lambda: go(thread="t", engine=ScriptedEngine(answer=slow)))
    worker.start()
    assert waiting.wait(60)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("It waits."))
    try:
        acts: list[Callable[[], Any]] = [
            lambda: go(thread="t"),
            lambda: resume("t"),
            lambda: runs.clear("t", home=home),
            lambda: runs.export_thread("t", home / "x.json", home=home),
        ]
        for act in acts:
            with pytest.raises(ThreadBusyError, match="'t'"):
                act()
        assert runs.collect_garbage(unfinished=True, home=home) == []
    finally:
        let_go.set()
        worker.join()


@pytest.mark.kill
def test_a_lease_holds_across_processes_and_ends_with_its_holder(driver: Any, resume: Go) -> None:
    folder = driver.folder()
    order = {"folder": str(folder), "steps": [{"do": "hold", "at": ["until it is killed", 1]}]}
    holder = threading.Thread(target=driver.carry_out, args=([order],))
    holder.start()
    ready = folder / "holding"
    while not (ready.exists() and ready.read_text()):
        time.sleep(0.01)
    place = folder / "home"
    with pytest.raises(ThreadBusyError):
        resume("the thread", home=place)

    os.kill(int(ready.read_text()), 9)
    holder.join()

    assert resume("the thread", home=place)["status"] == "completed"


def test_threads_named_alike_are_different_threads(go: Go, home: Path) -> None:
    for thread in ("1", "01", "1 ", "Ä", "a/b", "../b"):
        go(thread=thread, keep=True, documents=[f"The text of {thread!r}."])

    for thread in ("1", "01", "1 ", "Ä", "a/b", "../b"):
        entries = runs.read_state(thread, home=home)["interaction_tree"]["entries"]
        assert [entry["text"] for entry in entries.values()] == [f"The text of {thread!r}."]
    assert sorted(f.name for f in home.parent.iterdir()) == [home.name]


async def test_a_cancelled_arun_leaves_a_run_that_can_be_resumed(resume: Go, home: Path) -> None:
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    work = asyncio.create_task(
        runs.arun(
            QUESTION,
            documents=TEXTS,
            thread="t",
            on_event=lambda event: loop.call_soon_threadsafe(begun.set),
            **parts(),
            home=home,
        )
    )
    await begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    found = Ledger(Home(home).ledger).find("t")
    assert found is None or (await asyncio.to_thread(resume, "t"))["status"] == "completed"


async def test_arun_gives_what_run_gives(go: Go, home: Path) -> None:
    whole = await asyncio.to_thread(go, thread="t", keep=False)

    assert await runs.arun(QUESTION, documents=TEXTS, thread="t", keep=False, home=home, **parts()) == whole


# --- erasing ------------------------------------------------------------------------------------------------------


def failing(*given: Any) -> Any:
    raise EngineError(f"No judgement on {CANARY}.")


@pytest.mark.parametrize(
    ("engine", "status"),
    [
        (ScriptedEngine(), "completed"),
        (ScriptedEngine(answer=lambda question, passages: QuotedAnswer("", (), "")), "not_found"),
        (ScriptedEngine(answer=failing), "completed_with_failures"),
    ],
    ids=["success", "not found", "failure"],
)
def test_no_byte_of_a_task_is_left_when_it_ended(go: Go, home: Path, engine: ScriptedEngine, status: str) -> None:
    outcome = go(engine=engine, thread=f"about {CANARY}", keep=False)

    assert outcome["status"] == status
    left = everything_on_disk(home)
    assert CANARY.encode() not in left
    assert b"1881" not in left
    assert not list((home / "threads").iterdir())


def test_a_run_whose_planner_failed_is_kept_and_goes_on_and_then_leaves_no_byte(go: Go, home: Path) -> None:
    is_broken = [True]

    def plan(situation: PlannerInput) -> Step | None:
        return failing() if is_broken[0] else ScriptedEngine().plan(situation)

    engine = ScriptedEngine(plan=plan)
    failed = go(engine=engine, thread="t", keep=False)
    is_broken[0] = False
    outcome = runs.resume("t", home=home, **parts() | {"engine": engine})

    assert (failed["status"], outcome["status"]) == ("failed", "completed")
    assert outcome["answer"]
    assert CANARY.encode() not in everything_on_disk(home)


def test_a_kept_memory_is_left_until_it_is_cleared(go: Go, home: Path) -> None:
    go(thread="t", keep=True)
    assert len(Ledger(Home(home).ledger).all()) == 1

    runs.clear("t", home=home)

    assert CANARY.encode() not in everything_on_disk(home)


def test_clearing_an_unfinished_run_leaves_no_byte_of_it(go: Go, home: Path) -> None:
    stopped_after(go, "structure", export=home.parent / "export.json")
    (home.parent / export.part_of(home.parent / "export.json", "t").name).write_text(CANARY)

    runs.clear("t", home=home)

    assert CANARY.encode() not in everything_on_disk(home.parent)


def test_what_is_on_disk_is_for_its_owner_alone(go: Go, home: Path) -> None:
    umask = os.umask(0)
    try:
        stopped_after(go, "retrieve")
        go(thread="k", keep=True, export=home / "export.json")
    finally:
        os.umask(umask)

    modes = {f: stat.S_IMODE(f.stat().st_mode) for f in [home, *home.rglob("*")]}
    assert {f: oct(mode) for f, mode in modes.items() if mode != (0o700 if f.is_dir() else 0o600)} == {}


def test_garbage_is_what_no_run_needs(go: Go, resume: Go, home: Path) -> None:
    stopped_after(go, "structure", "unfinished")
    go(thread="kept", keep=True)
    go(thread="ended", keep=True)
    with sqlite3.connect(home / "runs.sqlite") as rows:
        rows.create_function("sealed", -1, sealed, deterministic=True)
        rows.execute("UPDATE runs SET keep = 0 WHERE thread = 'ended'")
    rows.close()
    Home(home).make_folder("stray")

    assert runs.collect_garbage(home=home) == ["ended", Home(home).folder("stray").name]
    assert resume("unfinished")["status"] == "completed"
    assert resume("kept")["status"] == "completed"
    assert runs.collect_garbage(unfinished=True, home=home) == []


# --- damage -------------------------------------------------------------------------------------------------------


def zeroed(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def random_bytes(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(file.stat().st_size))


def gone(file: Path) -> None:
    file.unlink()


DAMAGES = pytest.mark.parametrize("damage", [zeroed, cut, random_bytes, gone])


@DAMAGES
def test_lost_or_damaged_checkpoints_are_no_silent_new_start(
    go: Go, resume: Go, home: Path, damage: Callable[[Path], None]
) -> None:
    stopped_after(go, "retrieve")
    damage(Home(home).checkpoints("t"))

    with pytest.raises(StorageDamagedError, match=r"[Cc]lear"):
        resume("t")
    runs.clear("t", home=home)
    assert go(thread="t")["status"] == "completed"


@DAMAGES
def test_a_kept_memory_that_is_lost_is_no_silent_new_start(
    go: Go, resume: Go, home: Path, damage: Callable[[Path], None]
) -> None:
    go(thread="t", keep=True)
    damage(Home(home).checkpoints("t"))

    for act in (lambda: runs.read_state("t", home=home), lambda: go(thread="t", keep=True), lambda: resume("t")):
        with pytest.raises(StorageDamagedError, match=r"[Cc]lear"):
            act()
    runs.clear("t", home=home)


@pytest.mark.parametrize("damage", [cut, random_bytes])
def test_a_damaged_ledger_says_what_to_do(go: Go, home: Path, damage: Callable[[Path], None]) -> None:
    go(thread="t", keep=True)
    damage(home / "runs.sqlite")

    with pytest.raises(StorageDamagedError, match="move it away"):
        go(thread="t")


def test_a_damaged_row_can_be_cleared(go: Go, resume: Go, home: Path) -> None:
    stopped_after(go, "structure")
    with sqlite3.connect(home / "runs.sqlite") as rows:
        rows.create_function("sealed", -1, sealed, deterministic=True)
        rows.execute("UPDATE runs SET documents = '[{'")
    rows.close()

    with pytest.raises(StorageDamagedError, match="clear that thread"):
        resume("t")
    runs.clear("t", home=home)
    assert go(thread="t")["status"] == "completed"


def test_a_changed_bit_in_a_saved_step_is_found_or_changes_nothing(go: Go, home: Path) -> None:
    go(thread="t", keep=True)
    state, unfound = runs.read_state("t", home=home), 0
    chance, file = random.Random(3), Home(home).checkpoints("t")
    with sqlite3.connect(file) as saved:
        saved.create_function("sealed", -1, sealed, deterministic=True)
        (last, blob) = saved.execute("SELECT rowid, checkpoint FROM checkpoints ORDER BY rowid DESC").fetchone()
        for _ in range(40):
            at, bit = chance.randrange(len(blob)), 1 << chance.randrange(8)
            changed = blob[:at] + bytes([blob[at] ^ bit]) + blob[at + 1 :]
            saved.execute("UPDATE checkpoints SET checkpoint = ? WHERE rowid = ?", (changed, last))
            saved.commit()
            with suppress(StorageDamagedError):
                assert runs.read_state("t", home=home) == state
                unfound += 1  # a bit that fills up the last byte of what is compressed
    saved.close()
    assert unfound < 4


@pytest.mark.parametrize("code", range(8))
def test_a_forged_row_runs_no_code(go: Go, home: Path, tmp_path: Path, code: int) -> None:
    go(thread="t", keep=True)
    marker = tmp_path / "marker"
    call = ormsgpack.packb(["os", "system", f"touch {marker}", "__call__"])
    with open_saver(Home(home).checkpoints("t")) as saver:
        saved = saver.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
        assert saved is not None
        forged = ormsgpack.packb({**saved.checkpoint, "channel_values": {"answer": ormsgpack.Ext(code, call)}})
        packed = forged + checkpoints.zlib.crc32(forged).to_bytes(4, "big")
        saver.conn.execute("UPDATE checkpoints SET checkpoint = ?, type = 'msgpack+crc32'", (packed,))
        saver.conn.commit()

    asks_for_a_type = code <= 5
    with pytest.raises(StorageDamagedError) if asks_for_a_type else nullcontext():
        runs.read_state("t", home=home)
    assert not marker.exists()


@pytest.mark.parametrize("kind", ["pickle+crc32", "json+crc32", "msgpack", "pickle", "msgpack+none", ""])
def test_only_values_of_our_own_form_are_read(kind: str) -> None:
    with pytest.raises(StorageDamagedError):
        PackedSerializer().loads_typed((kind, b"cos\nsystem\n(S'true'\ntR."))


def test_a_small_value_that_unpacks_to_a_huge_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_MOST", 1_000)
    serializer = PackedSerializer()

    with pytest.raises(StorageDamagedError, match="too long"):
        serializer.loads_typed(serializer.dumps_typed("x" * 2_000))


@pytest.mark.parametrize("value", [1 << 70, object(), {"a": {1j}}], ids=["large", "object", "complex"])
def test_a_value_that_cannot_be_stored_is_a_typed_error(value: Any) -> None:
    with pytest.raises(StorageError, match="cannot be stored"):
        PackedSerializer().dumps_typed(value)


# --- a full disk --------------------------------------------------------------------------------------------------


def test_a_full_disk_stops_a_run_which_goes_on_once_there_is_space(
    go: Go, resume: Go, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = go(thread="whole", keep=True)
    digest = runs.memory_digest(runs.read_state("whole", home=home))
    opened, met = DatabaseForm.open, 0
    for pages in (8, 10, 12, 14, 17, 20, 24, 28):
        thread = f"t{pages}"

        def narrow(form: DatabaseForm, path: Path, most: int = pages) -> sqlite3.Connection:
            connection = opened(form, path)
            if path.name == "checkpoints.sqlite":
                connection.execute(f"PRAGMA max_page_count={most}")
            return connection

        with monkeypatch.context() as full:
            full.setattr(DatabaseForm, "open", narrow)
            try:
                go(thread=thread, keep=True)
            except StorageFullError:
                met += 1
            else:
                continue
        resumed = resume(thread)
        assert {**resumed, "thread": ""} == {**whole, "thread": ""}
        assert runs.memory_digest(runs.read_state(thread, home=home)) == digest
    assert met >= 3


def test_an_export_to_a_full_disk_leaves_no_part_and_can_be_made_later(
    go: Go, resume: Go, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "export.json"

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(StorageFullError, match="Free some space"):
            go(thread="t", export=file, keep=False)
    assert not list(tmp_path.iterdir())
    assert resume("t")["status"] == "completed"
    assert export.read_export(file)["answer"]
    assert CANARY.encode() not in everything_on_disk(home)


# --- export and import --------------------------------------------------------------------------------------------


@pytest.fixture
def exported(go: Go, tmp_path: Path) -> Path:
    file = tmp_path / "memory.json"
    go(thread="source", export=file, keep=False)
    return file


def test_the_export_is_written_before_anything_is_erased(
    go: Go, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    file, clear = tmp_path / "out.json", Home.clear

    def watch(place: Home, thread: str) -> None:
        seen.append(file.exists())
        clear(place, thread)

    monkeypatch.setattr(Home, "clear", watch)
    go(thread="t", export=file, keep=False)

    assert seen == [False, True]  # before the run, of what an earlier one left; and at its end
    assert not list((home / "threads").iterdir())


def test_export_import_export_gives_the_same_bytes(exported: Path, home: Path, tmp_path: Path) -> None:
    runs.import_thread(exported, "copy", home=home)
    runs.export_thread("copy", tmp_path / "again.json", home=home)

    assert (tmp_path / "again.json").read_bytes() == exported.read_bytes()


def test_an_imported_memory_answers(exported: Path, go: Go, home: Path) -> None:
    runs.import_thread(exported, "copy", home=home)

    assert go(documents=[], thread="copy", keep=True)["sources"]


def test_a_name_that_is_taken_is_not_imported_over(exported: Path, go: Go, home: Path) -> None:
    go(thread="taken", keep=True)
    digest = runs.memory_digest(runs.read_state("taken", home=home))

    with pytest.raises(RunError, match="already"):
        runs.import_thread(exported, "taken", home=home)
    assert runs.memory_digest(runs.read_state("taken", home=home)) == digest


def test_no_changed_bit_of_an_export_is_taken_in(exported: Path, home: Path, tmp_path: Path) -> None:
    raw, chance, changed = exported.read_bytes(), random.Random(11), tmp_path / "changed.json"
    for _ in range(1_000):
        at, bit = chance.randrange(len(raw)), 1 << chance.randrange(8)
        changed.write_bytes(raw[:at] + bytes([raw[at] ^ bit]) + raw[at + 1 :])
        with pytest.raises(ExportError):
            runs.import_thread(changed, "t", home=home)
    assert not home.exists() or not Ledger(Home(home).ledger).all()


def rewritten(file: Path, **changes: Any) -> None:
    """Write an export anew with a sha256 that is right."""
    content = json.loads(file.read_bytes())
    content["memory"] = {**content["memory"], **changes.pop("memory", {})}
    content["sha256"] = export.hashlib.sha256(export.canonical(content["memory"])).hexdigest()
    file.write_bytes(export.canonical({**content, **changes}) + b"\n")


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"version": 0},
        {"version": "1"},
        {"format": "mem0"},
        {"memory": {"answer": 3}},
        {"memory": {"query_graph": []}},
        {"memory": {"query_graph": {"nodes": {}, "related": {"n1": ["n2"]}}}},
        {"memory": {"interaction_tree": {"entries": {}}}},
        {"memory": {"status": "done"}},
    ],
    ids=str,
)
def test_a_foreign_newer_or_broken_export_is_refused(exported: Path, home: Path, changes: dict[str, Any]) -> None:
    rewritten(exported, **changes)

    with pytest.raises(ExportError):
        runs.import_thread(exported, "t", home=home)
    with pytest.raises(UnknownThreadError):
        runs.read_state("t", home=home)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"[1]", b"\xff\xfe", b'{"format":"agentic-memory-bank"}', b"[" * 100_000, b"9" * 5_000],
    ids=lambda content: str(content[:12]),
)
def test_what_is_no_export_is_refused(home: Path, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content)

    with pytest.raises(ExportError):
        runs.import_thread(file, "t", home=home)


def test_an_export_with_half_a_character_is_refused(exported: Path, home: Path) -> None:
    exported.write_bytes(exported.read_bytes().replace(b"Aldport", b"Ald\\ud800port", 1))

    with pytest.raises(ExportError):
        runs.import_thread(exported, "t", home=home)


def test_a_file_that_is_missing_or_a_folder_cannot_be_imported(home: Path, tmp_path: Path) -> None:
    for file in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(ExportError, match="cannot be read"):
            runs.import_thread(file, "t", home=home)


def test_every_cut_of_an_export_is_refused(exported: Path, home: Path, tmp_path: Path) -> None:
    raw, short = exported.read_bytes(), tmp_path / "short.json"
    for length in range(0, len(raw), max(1, len(raw) // 50)):
        short.write_bytes(raw[:length])
        with pytest.raises(ExportError):
            runs.import_thread(short, "t", home=home)


def test_an_import_that_fails_leaves_nothing(exported: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise StorageFullError("full")

    with monkeypatch.context() as full:
        full.setattr(ledger.Ledger, "write", fail)
        with pytest.raises(StorageFullError):
            runs.import_thread(exported, "t", home=home)
    assert not list((home / "threads").iterdir())
    runs.import_thread(exported, "t", home=home)


# --- strange values -----------------------------------------------------------------------------------------------

STRANGE: list[dict[str, Any]] = [
    {"text": "A half \ud83d character", "metadata": {"\udc00key": "\ud83d"}, "source": "a\ud800"},
    {"text": "A \0 byte", "metadata": {"nul": "\0"}},
    {"text": "A large number", "metadata": {"n": 1 << 64, "m": -(1 << 70), "k": (1 << 63) - 1, "f": 1e308}},
    {"text": "Numbers for keys", "metadata": {1: "a", (2, 3): "b", None: {4: 5}}},
    {"text": "Other values", "metadata": {"set": {1}, "bytes": b"\xff", "when": timedelta(1), "nan": float("nan")}},
]


@pytest.mark.parametrize("document", STRANGE, ids=lambda document: document["text"][:12].encode("ascii", "replace"))
def test_strange_values_are_the_same_after_a_resume(go: Go, resume: Go, home: Path, document: dict[str, Any]) -> None:
    go(thread="whole", keep=True, documents=[document])
    stopped_after(go, "adapter_in", keep=True, documents=[document])
    resume("t")

    texts = [repr(runs.read_state(thread, home=home)["interaction_tree"]["entries"]) for thread in ("whole", "t")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("document", STRANGE, ids=lambda document: document["text"][:12].encode("ascii", "replace"))
def test_strange_values_are_the_same_when_a_run_begins_from_the_ledger(
    go: Go, resume: Go, home: Path, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    go(thread="whole", keep=True, documents=[document])
    with monkeypatch.context() as killed:
        killed.setattr(runs.bank_runs, "drive", lambda *given: None)  # accepted, and no step taken
        go(thread="t", keep=True, documents=[document])
    resume("t")

    texts = [repr(runs.read_state(thread, home=home)["interaction_tree"]["entries"]) for thread in ("whole", "t")]
    assert texts[0] == texts[1]


def test_deep_metadata_is_refused_at_the_door(go: Go) -> None:
    deep: Any = "bottom"
    for _ in range(20_000):
        deep = [deep]

    with pytest.raises(InputError, match="nested too deeply"):
        go(documents=[{"text": "Deep.", "metadata": {"deep": deep}}])


def test_storage_errors_tell_a_full_disk_from_other_faults(tmp_path: Path) -> None:
    for number, kind in ((28, StorageFullError), (122, StorageFullError), (13, StorageError)):
        with pytest.raises(kind), home.storage_errors(tmp_path):
            raise OSError(number, "it failed")


def test_the_latest_checkpoint_of_an_empty_thread_is_none(tmp_path: Path) -> None:
    with open_saver(tmp_path / "empty.sqlite") as saver:
        assert saver.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}) is None


def test_a_further_question_does_not_erase_what_was_kept() -> None:
    given: dict[str, Any] = {"engine": ScriptedEngine(), "embeddings": HashEmbeddings(), "thread": "k"}
    runs.run("How deep is the lake?", documents=["The lake is deep."], keep=True, **given)

    runs.run("And how deep is the lake?", **given)

    assert runs.read_state("k")["interaction_tree"]["entries"]


def test_a_thread_whose_erasure_was_killed_is_gone_for_who_reads_it_and_with_gc(
    go: Go, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(thread="t")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "remove", killed)
    with pytest.raises(KeyboardInterrupt):
        runs.clear("t", home=home)
    monkeypatch.undo()

    with pytest.raises(UnknownThreadError, match="erased"):
        runs.read_state("t", home=home)
    assert runs.collect_garbage(home=home) == ["t"]
    assert not Ledger(Home(home).ledger).knows("t")
