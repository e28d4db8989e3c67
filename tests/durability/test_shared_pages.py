"""Memories of pages are as whole, apart and erasable in a Postgres database as in files, for all processes."""

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentic_memory_bank import Memories, runs
from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.runs.homes import home_at
from agentic_memory_bank.runs.page_runs import PageRunOptions, memorize, research
from agentic_memory_bank.state.errors import (
    SettingsError,
    StorageError,
    ThreadBusyError,
    UnknownMemoryError,
)
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.stores import PageStores

CANARY = "quixotic-zymurgy"
TEXTS = [f"The key of the {CANARY} lighthouse is kept by the harbour master.", "Rope Street was paved in 1881."]
QUESTION = f"Who keeps the key of the {CANARY} lighthouse?"
SCHEMA = "memory_bank_pages"


@pytest.fixture
def database(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database without pages, which the environment names."""
    with importlib.import_module("psycopg").connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", postgres)
    module = importlib.import_module("agentic_memory_bank.tools.pages.shared_store")
    module.page_database.cache_clear()
    yield postgres
    module.page_database(postgres).close()
    importlib.import_module("agentic_memory_bank.runs.database").run_database(postgres).close()


def in_tables(url: str) -> bytes:
    """Every row of every table."""
    with importlib.import_module("psycopg").connect(url, autocommit=True) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (SCHEMA,)).fetchall()
        rows = [connection.execute(f"SELECT * FROM {SCHEMA}.{name}").fetchall() for (name,) in names]
    return b"".join(
        bytes(value) if isinstance(value, bytes) else repr(value).encode()
        for table in rows
        for r in table
        for value in r
    )


def counted(url: str, condition: str = "TRUE") -> int:
    with importlib.import_module("psycopg").connect(url) as connection:
        return connection.execute(f"SELECT COUNT(*) FROM {SCHEMA}.kept WHERE {condition}").fetchone()[0]


def parts(**more: Any) -> PageRunOptions:
    return PageRunOptions(embeddings=HashEmbeddings(), **more)


# --- shared --------------------------------------------------------------------------------------------------------


def test_what_one_machine_memorizes_another_researches_and_no_file_is_written(
    database: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memorize(TEXTS, "letters", given=parts())
    monkeypatch.setenv("MEMORY_BANK_HOME", str(tmp_path / "another machine"))

    found = research(QUESTION, "letters", given=parts())

    assert "harbour master" in found["answer"]
    assert not home.exists()
    assert not (tmp_path / "another machine").exists()


def test_the_graphs_of_a_server_keep_the_pages_of_each_user_there(database: str, home: Path) -> None:
    for user in ("ann", "bob"):
        given: Any = {"texts": [f"{user} lives above the chandlery."], "memory": "notes"}
        build_memorizer(embeddings=HashEmbeddings()).invoke(given, context={"user": user})

    asked: Any = {"request": "Who lives above the chandlery?", "memory": "notes"}
    found = build_researcher(embeddings=HashEmbeddings()).invoke(asked, context={"user": "bob"})

    assert "bob" in found["answer"]
    assert "ann" not in json.dumps(found)
    assert [(one["memory"], one["user"]) for one in runs.list_pages()] == [("notes", "ann"), ("notes", "bob")]
    assert not home.exists()


def test_vectors_that_one_process_made_serve_the_others(database: str) -> None:
    class Counting(HashEmbeddings):
        asked = 0

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            Counting.asked += len(texts)
            return super().embed_documents(texts)

    memorize([f"Note {n} names the keeper {n}." for n in range(20)], "m", given=PageRunOptions(embeddings=Counting()))
    made = Counting.asked

    found = research("Who is the keeper 7?", "m", given=PageRunOptions(embeddings=Counting()))

    assert "7" in found["answer"]
    assert made >= 20
    assert Counting.asked - made <= 2, "the question alone"


def test_a_folder_that_is_named_is_used_in_place_of_the_database(database: str, tmp_path: Path) -> None:
    memorize(TEXTS, "letters", home=tmp_path, given=parts())

    assert [one["memory"] for one in runs.list_pages(tmp_path)] == ["letters"]
    assert runs.list_pages() == []


WRITER = """
import sys
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.pages.store import page_id

def page(text):
    fields = {"title": "", "abstract": "", "source": "", "metadata": {}, "created_at": "", "expires_at": None}
    return {"id": page_id(text), "text": text, **fields}

store = PageStores().of("m")
for number in range(40):
    store.put([page(f"{sys.argv[1]} {number}"), page(f"shared {number}")])
    if number % 4 == 3:
        store.delete([page_id(f"{sys.argv[1]} {number}")])
"""


def test_an_index_that_follows_while_processes_write_misses_nothing(database: str) -> None:
    store, held, sequence = PageStores().of("m"), dict[str, str](), 0
    with ExitStack() as running:
        writers = [running.enter_context(subprocess.Popen([sys.executable, "-c", WRITER, str(n)])) for n in range(2)]
        done = False
        while not done:
            done = all(writer.poll() is not None for writer in writers)
            changes = store.changes(sequence)
            held.update((page["id"], page["text"]) for page in changes.put)
            for gone in changes.removed:
                held.pop(gone, None)
            sequence = changes.sequence
        assert [writer.wait() for writer in writers] == [0, 0]

    kept = {f"{who} {n}" for who in range(2) for n in range(40) if n % 4 != 3} | {f"shared {n}" for n in range(40)}
    assert sorted(held.values()) == sorted(page["text"] for _, page in store.pages()) == sorted(kept)


def test_a_memory_is_memorized_for_by_one_process_at_a_time(database: str) -> None:
    with closing(PageStores()) as stores, home_at().hold(f"memory {stores.of('m').name}", "The memory"):
        with pytest.raises(ThreadBusyError, match="The memory 'm' is in use"):
            memorize(TEXTS, "m", given=parts())
        memorize(TEXTS, "another", given=parts())

    memorize(TEXTS, "m", given=parts())


# --- durable -------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from agentic_memory_bank.runs.page_runs import PageRunOptions, memorize
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.shared_store import SharedPageStore

where = sys.argv[1]
put, insert = SharedPageStore.put, SharedPageStore._insert

def dying_put(self, pages):
    done = put(self, pages)
    if where == "after a batch":
        os.kill(os.getpid(), signal.SIGKILL)
    return done

def dying_insert(self, database, pages):
    insert(self, database, pages)
    if where == "within a batch":
        os.kill(os.getpid(), signal.SIGKILL)

SharedPageStore.put, SharedPageStore._insert = dying_put, dying_insert
memorize(sys.argv[2:], "m", given=PageRunOptions(embeddings=HashEmbeddings()))
"""


@pytest.mark.kill
@pytest.mark.parametrize("where", ["within a batch", "after a batch"])
def test_memorizing_that_was_killed_goes_on_elsewhere_without_a_lost_doubled_or_half_page(
    database: str, where: str
) -> None:
    texts = [f"Note {n} names the keeper {n}." for n in range(30)]
    killed = subprocess.run([sys.executable, "-c", KILLED, where, *texts], env={**os.environ})
    assert killed.returncode == -signal.SIGKILL

    output = memorize(texts, "m", given=parts())

    assert output["status"] == "completed"
    assert [page["text"] for _, page in PageStores().of("m").pages()] == texts


# --- gone ----------------------------------------------------------------------------------------------------------


def test_a_memory_that_is_cleared_leaves_no_row(database: str) -> None:
    memorize(TEXTS, "letters", given=parts())
    memorize(["Rope Street was paved in 1881."], "streets", given=parts())
    research(QUESTION, "letters", given=parts())
    store = PageStores().of("letters")
    store.answers("a research").put([("answer", "key", CANARY.encode())])  # type: ignore[union-attr]
    assert CANARY.encode() in in_tables(database)

    assert runs.clear_pages("letters") == 2

    assert CANARY.encode() not in in_tables(database)
    assert counted(database, f"starts_with(thread, '{store.name}')") == 0
    assert [one["memory"] for one in runs.list_pages()] == ["streets"]
    with pytest.raises(UnknownMemoryError):
        runs.clear_pages("letters")


def test_answers_of_models_go_when_the_work_is_done_and_those_of_other_work_stay(database: str) -> None:
    memorize(TEXTS, "letters", given=parts())
    store = PageStores().of("letters")
    store.answers("another research").put([("answer", "key", b"paid for")])  # type: ignore[union-attr]

    research(QUESTION, "letters", given=parts())

    assert counted(database, "kind = 'answer'") == 1
    store.erase_answers()
    assert counted(database, "kind = 'answer'") == 0


@pytest.mark.parametrize("upkeep", ["gc", "maintain"])
def test_expired_pages_leave_the_database_with_upkeep_and_so_do_their_vectors(database: str, upkeep: str) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=9)
    old = PageStores(clock=lambda: long_ago).of("letters")
    old.set_ttl(timedelta(days=1))
    memorize(TEXTS, "letters", given=parts(clock=lambda: long_ago))

    if upkeep == "gc":
        runs.collect_garbage()
    else:
        with Memories(embeddings=HashEmbeddings()) as memories:
            assert memories.maintain()["pages"] == 2

    assert CANARY.encode() not in in_tables(database)
    assert [one["pages"] for one in runs.list_pages()] == [0]


# --- told ----------------------------------------------------------------------------------------------------------


def test_the_command_line_memorizes_lists_researches_shows_and_clears(database: str, tmp_path: Path) -> None:
    from agentic_memory_bank.cli.app import app

    notes = tmp_path / "notes.txt"
    notes.write_text(TEXTS[0])
    command = CliRunner()

    assert command.invoke(app, ["memorize", str(notes), "-M", "letters"]).exit_code == 0
    listed = json.loads(command.invoke(app, ["pages", "--json"]).stdout)["pages"]
    found = command.invoke(app, ["research", QUESTION, "-M", "letters"])
    cleared = command.invoke(app, ["pages", "letters", "--clear", "--yes"])

    assert [(one["memory"], one["pages"]) for one in listed] == [("letters", 1)]
    assert listed[0]["bytes"] > len(TEXTS[0])
    assert "harbour master" in found.stdout
    assert cleared.exit_code == 0
    assert json.loads(command.invoke(app, ["pages", "--json"]).stdout) == {"pages": []}


def test_a_database_that_cannot_be_reached_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("agentic_memory_bank.tools.pages.shared_store")
    monkeypatch.setattr("agentic_memory_bank.tools.storage.postgres.PATIENCE", 0.2)
    monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", "postgresql://nobody@/none?host=/nowhere")

    with pytest.raises(StorageError, match="database of pages cannot be used"):
        PageStores().of("m").pages()


def test_a_database_without_what_reads_one_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", "postgresql://nobody@/none")
    monkeypatch.setitem(sys.modules, "agentic_memory_bank.tools.pages.shared_store", None)

    with pytest.raises(SettingsError, match=r"pip install \"agentic-memory-bank\[postgres\]\""):
        PageStores().of("m")
