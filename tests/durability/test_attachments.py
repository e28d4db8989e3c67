"""Attachments of durable runs: read from files, there after a kill, exported, imported and erased with their task."""

import base64
import gc
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentic_memory_bank import runs
from agentic_memory_bank.runs import export, run_steps
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.ledger import Ledger
from agentic_memory_bank.state.errors import ExportError, InputError, InputTooLarge, LoadError, StorageFullError
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.documents.attachments import AttachmentStore
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.storage.database_form import sealed

CANARY = b"quixotic-zymurgy"
PNG = b"\x89PNG\r\n\x1a\n" + CANARY
NOTES = b"The array of Aldport was opened in 2031 by the mayor. " + CANARY
THREAD = "t"
QUESTION = "When was the array of Aldport opened?"
Go = Callable[..., Any]


def parts(home: Path) -> dict[str, Any]:
    return {
        "engine": ScriptedEngine(),
        "embeddings": HashEmbeddings(),
        "clock": lambda: datetime(2026, 1, 1, tzinfo=UTC),
        "home": home,
    }


def written(folder: Path) -> list[Path]:
    """A picture and a document on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chart.png").write_bytes(PNG)
    (folder / "notes.md").write_bytes(NOTES)
    return [folder / "chart.png", folder / "notes.md"]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return written(tmp_path / "files")


@pytest.fixture
def go(home: Path, files: list[Path]) -> Go:
    """`run` on a kept thread, with both files."""

    def run(**options: Any) -> Any:
        return runs.run(QUESTION, **{"attachments": files, "thread": THREAD, "keep": True, **parts(home), **options})

    return run


def store_of(home: Path, thread: str = THREAD) -> AttachmentStore:
    return export.files_of(thread, Home(home))


def named(home: Path, thread: str = THREAD) -> list[str]:
    """What the entries of a thread name."""
    return sorted(export.named_files(runs.read_state(thread, home=home)["interaction_tree"]))


def everything_on_disk(home: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


# --- running -----------------------------------------------------------------------------------------------------


def test_files_are_read_by_run_and_kept_with_the_thread(go: Go, home: Path) -> None:
    result = go()

    assert "2031" in result["answer"]
    assert store_of(home).kept() == named(home) == sorted(hashlib.sha256(data).hexdigest() for data in (PNG, NOTES))
    assert store_of(home).held() == []
    kept = list(Home(home).attachments(THREAD).rglob("*"))
    assert {oct(path.stat().st_mode & 0o777) for path in kept} == {"0o600", "0o700"}


def test_a_single_path_a_string_and_a_mapping_are_taken_alike(go: Go, files: list[Path], home: Path) -> None:
    go(attachments=files[1])
    go(attachments=[str(files[0]), {"name": "more.txt", "data": base64.b64encode(b"It is large.").decode()}])

    assert len(named(home)) == 3


def test_no_byte_of_an_attachment_is_left_when_the_task_ends(go: Go, home: Path) -> None:
    go(keep=False)

    assert CANARY not in everything_on_disk(home)
    assert base64.b64encode(CANARY)[:20] not in everything_on_disk(home)
    assert not list((home / "threads").iterdir())


def test_clearing_a_thread_erases_its_files(go: Go, home: Path) -> None:
    go()
    runs.clear(THREAD, home=home)

    assert CANARY not in everything_on_disk(home)


def test_what_is_no_usable_file_is_refused_before_anything_is_written(
    go: Go, files: list[Path], home: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "a.exe").write_bytes(b"MZ\0\0" * 20)
    (tmp_path / "empty.png").touch()
    for wrong, kind in (
        (tmp_path / "pipe.png", LoadError),
        (tmp_path, LoadError),
        ("/dev/zero", LoadError),
        (tmp_path / "missing.png", LoadError),
        (tmp_path / "a.exe", InputError),
        (tmp_path / "empty.png", InputError),
        ({"name": "a.png", "data": "!"}, InputError),
        ({"name": "a.png", "path": str(files[0])}, InputError),
    ):
        with pytest.raises(kind):
            go(attachments=[files[1], wrong])
    with pytest.raises(InputTooLarge, match="MAX_ATTACHMENT_BYTES"):
        go(settings={"max_attachment_bytes": 10})
    with pytest.raises(InputError, match="more than the 32"):
        go(attachments=files * 20)
    with pytest.raises(InputError, match="`attachments`"):
        go(attachments=7)
    assert not home.exists()


def test_a_run_that_died_before_its_first_checkpoint_begins_again_from_the_ledger(
    go: Go, files: list[Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(Exception):
        pass

    def die(*given: Any) -> None:
        raise Died

    with monkeypatch.context() as dying:
        dying.setattr(run_steps, "_advance", die)
        with pytest.raises(Died):
            go()
    for file in files:
        file.unlink()

    result = runs.resume(THREAD, **parts(home))

    assert "2031" in result["answer"]
    assert len(named(home)) == 2
    assert Ledger(Home(home).ledger).get(THREAD).attachments == []


def test_a_ledger_of_an_older_version_is_given_the_columns_it_lacks(go: Go, home: Path) -> None:
    go()
    place = Home(home).ledger
    for lacking in (("attachments",), ("attachments", "usage")):
        with sqlite3.connect(place) as database:
            database.create_function("sealed", -1, sealed, deterministic=True)
            columns = [row[1] for row in database.execute("PRAGMA table_info(runs)")]
            kept = ", ".join(column for column in columns if column not in lacking)
            database.execute(f"CREATE TABLE older AS SELECT {kept} FROM runs")
            database.execute("DROP TABLE runs")
            database.execute("ALTER TABLE older RENAME TO runs")
            database.execute("PRAGMA application_id = 0")
            database.execute("PRAGMA user_version = 0")
        database.close()

        (found,) = Ledger(place).all()
        assert (found.thread, found.attachments, found.usage) == (THREAD, [], None)


def test_the_command_line_attaches_files_and_lists_runs_without_them(
    files: list[Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentic_memory_bank.cli import options
    from agentic_memory_bank.cli.app import app

    monkeypatch.setattr(options, "parts_from", lambda settings: {k: v for k, v in parts(home).items() if k != "home"})
    attach = [word for file in files for word in ("--attach", str(file))]

    asked = CliRunner().invoke(app, ["ask", QUESTION, *attach, "--thread", THREAD, "--json"])
    listed = CliRunner().invoke(app, ["runs", "--json"])
    missing = CliRunner().invoke(app, ["ask", QUESTION, "--attach", "missing.png"])

    assert "2031" in json.loads(asked.stdout)["answer"]
    assert len(named(home)) == 2
    assert "attachments" not in json.loads(listed.stdout)["runs"][0]
    assert (missing.exit_code, "missing.png cannot be read" in missing.stderr) == (2, True)


# --- export and import -------------------------------------------------------------------------------------------


@pytest.fixture
def exported(go: Go, tmp_path: Path) -> Path:
    go(export=tmp_path / "export.json")
    return tmp_path / "export.json"


def rewritten(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write an export anew with a sha256 that is right."""
    whole = json.loads(file.read_bytes())
    change(whole)
    whole["sha256"] = hashlib.sha256(export.canonical(whole["memory"])).hexdigest()
    file.write_bytes(export.canonical(whole) + b"\n")


def test_an_export_carries_the_files_and_an_import_restores_them(exported: Path, home: Path, tmp_path: Path) -> None:
    content = json.loads(exported.read_bytes())
    assert content["version"] == 2
    assert sorted(map(base64.b64decode, content["memory"]["attachments"].values())) == sorted([PNG, NOTES])

    runs.import_thread(exported, "copy", home=home)
    runs.export_thread("copy", tmp_path / "again.json", home=home)

    assert store_of(home, "copy").kept() == named(home, "copy") == named(home)
    assert (tmp_path / "again.json").read_bytes() == exported.read_bytes()


def test_an_export_without_files_is_one_that_older_versions_read(go: Go, home: Path, tmp_path: Path) -> None:
    go(attachments=None, documents=["The array was opened in 2031."], export=tmp_path / "export.json")

    assert json.loads((tmp_path / "export.json").read_bytes())["version"] == 1
    runs.import_thread(tmp_path / "export.json", "copy", home=home)


def test_what_is_only_held_is_not_exported(go: Go, home: Path, tmp_path: Path) -> None:
    go()
    store_of(home).stage(PNG + b"held")
    store_of(home).keep(store_of(home).stage(PNG + b"of nobody"))

    runs.export_thread(THREAD, tmp_path / "again.json", home=home)

    assert sorted(json.loads((tmp_path / "again.json").read_bytes())["memory"]["attachments"]) == named(home)


def test_a_path_in_an_export_that_is_none_of_ours_is_ignored(exported: Path, home: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(PNG)
    paths = [str(secret), "../../../../secret.png", "/proc/self/environ", "C:\\secret.png", "a\0b", "A" * 64]

    def foreign(whole: dict[str, Any]) -> None:
        (entry, *_) = whole["memory"]["interaction_tree"]["entries"].values()
        entry["attachments"] += [{"id": f"a{i}", "name": "x", "kind": "image", "path": p} for i, p in enumerate(paths)]

    rewritten(exported, foreign)
    runs.import_thread(exported, "copy", home=home)

    assert named(home, "copy") == named(home)
    assert store_of(home, "copy").kept() == named(home)


@pytest.mark.parametrize(
    "change",
    [
        lambda memory: memory["attachments"].update({"../../evil": base64.b64encode(PNG).decode()}),
        lambda memory: memory["attachments"].update({next(iter(memory["attachments"])): "AAAA"}),
        lambda memory: memory["attachments"].update({"0" * 64: "no base64!"}),
        lambda memory: memory["attachments"].update({"0" * 64: 7}),
        lambda memory: memory.pop("attachments"),
    ],
)
def test_an_export_whose_files_are_not_what_they_are_named_is_refused_as_a_whole(
    exported: Path, home: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    rewritten(exported, lambda whole: change(whole["memory"]))

    with pytest.raises(ExportError):
        runs.import_thread(exported, "copy", home=home)
    assert not Home(home).folder("copy").exists()


def test_an_import_whose_files_cannot_be_written_leaves_nothing(
    exported: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> None:
        raise StorageFullError("full")

    with monkeypatch.context() as disk:
        disk.setattr(AttachmentStore, "keep", full)
        with pytest.raises(StorageFullError):
            runs.import_thread(exported, "copy", home=home)
    assert not Home(home).folder("copy").exists()
    runs.import_thread(exported, "copy", home=home)


def test_garbage_is_what_is_held_by_a_finished_run_and_what_no_entry_names(go: Go, home: Path) -> None:
    go()
    store = store_of(home)
    store.stage(PNG + b"held")
    store.keep(store.stage(PNG + b"of nobody"))

    runs.collect_garbage(home=home)

    assert (store.held(), store.kept()) == ([], named(home))


# --- kills -------------------------------------------------------------------------------------------------------


class Deadly:
    """Kills this process at the n-th time it opens, renames or removes a file of the attachments."""

    def __init__(self, number: int, trace: Path) -> None:
        self._left = number
        self._trace = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "os.remove", "os.mkdir") and "/attachments" in str(arguments[0]):
            os.write(self._trace, f"{event}\n".encode())
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def carry_out(order: dict[str, Any]) -> None:
    """Run or resume, in a child that may die of it."""
    home = Path(order["home"])
    sys.addaudithook(Deadly(order["at"], home.with_suffix(".trace")))
    if order["do"] == "run":
        files = written(home.with_suffix(".files"))
        given = {"attachments": files, "thread": THREAD, "keep": True, "export": home.with_suffix(".json")}
        runs.run(QUESTION, **given, **parts(home))
    else:
        runs.resume(THREAD, **parts(home))


def serve() -> None:
    """Carry out what is ordered, one after the other, each in a child of this warm process."""
    with tempfile.TemporaryDirectory() as folder:
        files = written(Path(folder) / "files")
        runs.run(QUESTION, attachments=files, **parts(Path(folder) / "home"))
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            try:
                carry_out(json.loads(line))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


@pytest.fixture(scope="module")
def order() -> Iterator[Callable[..., int]]:
    """Have a run started or resumed in a child; its exit code."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-W", "error", __file__], env=environment, **pipes) as process:

        def tell(do: str, home: Path, at: int = 0) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"do": do, "home": str(home), "at": at}) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield tell
        process.kill()


@pytest.mark.kill
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.kill_full)])
def test_a_run_killed_around_any_move_of_a_file_comes_to_the_same_and_leaves_no_orphan(
    order: Callable[..., int], tmp_path: Path, step: int
) -> None:
    assert order("run", tmp_path / "whole") == 0
    whole = (tmp_path / "whole.json").read_bytes()
    moves = len((tmp_path / "whole.trace").read_text().splitlines())
    assert moves > 12

    for at in range(1, moves + 1, step):
        home = tmp_path / f"killed{at}"
        assert order("run", home, at) == -signal.SIGKILL
        assert order("resume", home) == 0
        runs.collect_garbage(home=home)

        assert home.with_suffix(".json").read_bytes() == whole, at
        store = store_of(home)
        assert (store.held(), store.kept()) == ([], named(home)), at
        assert not [path for path in Home(home).attachments(THREAD).rglob(".*")], at


if __name__ == "__main__":
    serve()
