"""What `run`, `resume` and `import` refuse before anything is written: wrong arguments, lost memories, other files."""

import os
import sqlite3
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy
import pytest
from langchain_core.messages import HumanMessage

from agentic_memory_bank import runs
from agentic_memory_bank.nodes.memory_bank.pausing import DECISIONS
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.ledger import Ledger
from agentic_memory_bank.state.errors import ExportError, InputError, SettingsError, StorageDamagedError
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.storage.database_form import sealed

QUESTION, DOCUMENT = "How deep is the lake?", "The lake is 30 m deep."


def go(**options: Any) -> Any:
    """`run` without a model."""
    given = {"documents": [DOCUMENT], "engine": ScriptedEngine(), "embeddings": HashEmbeddings()}
    return runs.run(QUESTION, **{**given, **options})


def again(thread: str, **options: Any) -> Any:
    """`resume` without a model."""
    return runs.resume(thread, **{"engine": ScriptedEngine(), "embeddings": HashEmbeddings(), **options})


# --- arguments ----------------------------------------------------------------------------------------------------


def named(options: dict[str, Any]) -> str:
    """The same in every process, which what Python prints for an object is not."""
    [(name, value)] = options.items()
    return f"{name}={type(value).__name__}"


WRONG: list[dict[str, Any]] = [
    {"engine": object()},
    {"engine": ScriptedEngine},
    {"embeddings": 3},
    {"embeddings": HashEmbeddings},
    {"execute": 3},
    {"clock": 3},
    {"clock": None},
    {"on_event": 3},
    {"control": 3},
    {"home": 3},
]


@pytest.mark.parametrize("options", [*WRONG, {"keep": "yes"}, {"export": 3}, {"documents": 3}], ids=named)
def test_what_cannot_be_used_is_refused_by_name_before_anything_is_written(home: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        go(**options)
    assert not home.exists()


@pytest.mark.parametrize("options", WRONG, ids=named)
def test_a_resume_refuses_what_a_run_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        again("t", **options)


@pytest.mark.parametrize("settings", [{"k": 0}, {"k": "many"}, 3, "k=3", [("k", 3)], {3: "k"}], ids=str)
def test_settings_that_are_not_allowed_are_refused_before_anything_is_written(home: Path, settings: Any) -> None:
    with pytest.raises(SettingsError):
        go(settings=settings)
    assert not home.exists()


def test_a_name_handed_in_for_a_model_is_refused_with_the_place_for_names() -> None:
    with pytest.raises(SettingsError, match=r"Settings\(model="):
        runs.run("What?", documents=["text"], models="openai:gpt-4o-mini")  # type: ignore[arg-type]


def test_settings_may_be_a_dict_which_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BANK_K", "3")
    monkeypatch.setenv("MEMORY_BANK_ALPHA", "0.25")

    go(thread="t", keep=True, settings={"k": 7})
    go(thread="u", keep=True, settings={})

    found = [Ledger(Home().ledger).get(thread).settings for thread in ("t", "u")]
    assert [(settings["k"], settings["alpha"]) for settings in found] == [(7, 0.25), (3, 0.25)]


def test_a_variable_that_cannot_be_read_is_a_settings_error(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("MEMORY_BANK_PRICES", "{")  # broken JSON

    with pytest.raises(SettingsError, match=r"prices.*MEMORY_BANK_"):
        go()
    assert not home.exists()


def test_a_wrong_variable_is_a_typed_error_of_the_resume_of_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(thread="t", keep=True, export=tmp_path / "t.json")
    runs.import_thread(tmp_path / "t.json", "copy")  # it brings no settings, so those of the environment hold
    monkeypatch.setenv("MEMORY_BANK_K", "many")

    with pytest.raises(SettingsError, match="k: "):
        again("copy")


@pytest.mark.parametrize("documents", [None, [], ()])
def test_no_documents_may_be_said_in_any_way(documents: Any) -> None:
    assert go(documents=documents)["status"] == "not_found"


def test_one_message_is_one_document() -> None:
    go(documents=HumanMessage("The lake is deep.", name="Ann"), thread="t", keep=True)

    [entry] = runs.read_state("t")["interaction_tree"]["entries"].values()
    assert entry["text"] == "Ann: The lake is deep."


@pytest.mark.parametrize("decision", ["bogus", "", None, "Continue", 1])
def test_a_decision_that_is_none_is_refused_and_the_run_still_waits(decision: Any) -> None:
    assert "pause" in go(thread="t", settings={"budget_seconds": 1e-9})
    before = Ledger(Home().ledger).get("t")

    with pytest.raises(InputError, match=", ".join(DECISIONS)):
        again("t", decision=decision)

    assert Ledger(Home().ledger).get("t") == before
    assert again("t", decision="stop")["status"] == "stopped"


# --- metadata -----------------------------------------------------------------------------------------------------


class Size(IntEnum):
    """A number with a type of its own."""

    LARGE = 3


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (1 << 70, str(1 << 70)),
        (-(1 << 64), str(-(1 << 64))),
        (numpy.int64(3), 3),
        (numpy.float64(0.5), 0.5),
        (numpy.float32(0.5), 0.5),
        (numpy.bool_(True), True),
        (numpy.array(7), 7),
        ([numpy.float64(0.5)], [0.5]),
        (Size.LARGE, 3),
    ],
    ids=repr,
)
def test_numbers_of_any_size_and_type_are_kept_as_something_storable(value: Any, kept: Any) -> None:
    go(documents=[{"text": DOCUMENT, "metadata": {"n": value}}], thread="t", keep=True)

    [entry] = runs.read_state("t")["interaction_tree"]["entries"].values()
    assert entry["metadata"] == {"n": kept}
    assert type(entry["metadata"]["n"]) is type(kept)


class Unsayable:
    """A value that cannot be put into words."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize("value", [10**5_000, Unsayable(), [Unsayable()]], ids=["long", "unsayable", "inside"])
def test_metadata_that_cannot_be_kept_is_refused_by_its_key_before_anything_is_written(home: Path, value: Any) -> None:
    with pytest.raises(InputError, match="'size' cannot be kept"):
        go(documents=[{"text": DOCUMENT, "metadata": {"size": value}}])
    assert not home.exists()


def test_a_key_that_cannot_be_kept_is_refused() -> None:
    with pytest.raises(InputError, match="key"):
        go(documents=[{"text": DOCUMENT, "metadata": {10**5_000: 1}}])


# --- what is on disk ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["folder", "file", "rows"])
def test_a_question_on_a_kept_thread_that_is_lost_writes_nothing(how: str) -> None:
    go(thread="t", keep=True)
    before, checkpoints = Ledger(Home().ledger).get("t"), Home().checkpoints("t")
    if how == "rows":
        rewritten(checkpoints, "DELETE FROM checkpoints")
    else:
        for file in checkpoints.parent.glob("*" if how == "folder" else "checkpoints*"):
            file.unlink()
    if how == "folder":
        checkpoints.parent.rmdir()

    with pytest.raises(StorageDamagedError, match=r"[Cc]lear"):
        go(thread="t")

    assert Ledger(Home().ledger).get("t") == before
    assert checkpoints.exists() == (how == "rows")


def rewritten(file: Path, *statements: str) -> None:
    """Change a database as another program would."""
    with sqlite3.connect(file) as database:
        database.create_function("sealed", -1, sealed, deterministic=True)
        for statement in statements:
            database.execute(statement)
    database.close()


def replaced(file: Path, *statements: str) -> None:
    """Put another program's database in the place of ours."""
    for old in file.parent.glob(f"{file.name}*"):
        old.unlink()
    rewritten(file, *statements)


FOREIGN = {
    "other tables": ["CREATE TABLE recipes (name)"],
    "other columns": ["CREATE TABLE runs (a)", "CREATE TABLE checkpoints (a)", "CREATE TABLE writes (a)"],
    "views": ["CREATE VIEW runs AS SELECT 1 AS thread", "CREATE VIEW checkpoints AS SELECT 1 AS thread_id"],
    "another column": ["CREATE TABLE runs (thread PRIMARY KEY, other NOT NULL)", "CREATE TABLE checkpoints (rowid)"],
}


@pytest.mark.parametrize("schema", FOREIGN)
def test_checkpoints_of_another_program_are_an_error_that_says_what_to_do(schema: str, tmp_path: Path) -> None:
    go(thread="t", keep=True)
    before = Ledger(Home().ledger).get("t")
    replaced(Home().checkpoints("t"), *FOREIGN[schema])

    acts: list[Callable[[], Any]] = [
        lambda: go(thread="t"),
        lambda: again("t"),
        lambda: runs.read_state("t"),
        lambda: runs.export_thread("t", tmp_path / "t.json"),
    ]
    for act in acts:
        with pytest.raises(StorageDamagedError, match=r"[Cc]lear.*import an export"):
            act()
    assert Ledger(Home().ledger).get("t") == before
    runs.clear("t")
    assert go(thread="t")["status"] == "completed"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE checkpoints SET type = NULL",
        "UPDATE checkpoints SET checkpoint = NULL",
        "UPDATE checkpoints SET metadata = '{'",
    ],
)
def test_a_saved_step_without_its_parts_is_damaged(damage: str) -> None:
    go(thread="t", keep=True)
    rewritten(Home().checkpoints("t"), damage)

    with pytest.raises(StorageDamagedError, match="damaged"):
        runs.read_state("t")


@pytest.mark.parametrize("schema", FOREIGN)
def test_a_ledger_of_another_program_is_an_error_that_says_what_to_do(schema: str) -> None:
    go(thread="t", keep=True)
    replaced(Home().ledger, *FOREIGN[schema])

    for act in (lambda: go(thread="t"), lambda: go(), lambda: runs.resume(), lambda: runs.collect_garbage()):
        with pytest.raises(StorageDamagedError, match=r"move it away.*memory-bank gc"):
            act()
    assert Home().checkpoints("t").exists()


def test_a_pipe_or_a_device_is_not_imported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for file in (tmp_path / "pipe", Path("/dev/null"), Path("/dev/zero")):
        with pytest.raises(ExportError, match="pipe, socket or device"):
            runs.import_thread(file, "t")


def test_an_export_to_no_regular_file_is_refused_before_anything_is_written(tmp_path: Path, home: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for file in (tmp_path / "pipe", "/dev/null", tmp_path / ("x" * 300) / "memory.json"):
        with pytest.raises(InputError, match="cannot be written"):
            go(export=file)
    assert not home.exists()


def test_a_home_that_was_there_keeps_its_rights(tmp_path: Path) -> None:
    place = tmp_path / "there"
    place.mkdir(mode=0o755)

    go(home=place, keep=True)

    assert oct(place.stat().st_mode & 0o777) == "0o755"
    assert {oct(folder.stat().st_mode & 0o777) for folder in (place / "threads", place / "locks")} == {"0o700"}
