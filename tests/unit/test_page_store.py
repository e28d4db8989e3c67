"""Pages are kept once, for as long as they may stay, whole, by name and user; a damaged store is left as it is."""

import gc
import importlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st

from agentic_memory_bank.state.errors import (
    InputError,
    SettingsError,
    StorageDamagedError,
    StorageError,
    StorageFullError,
)
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.rows import time_to_live
from agentic_memory_bank.tools.pages.store import PageStore, page_id
from agentic_memory_bank.tools.pages.stores import PageStores, checked_name

DAY = timedelta(days=1)


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, time: timedelta) -> None:
        self.now += time


@pytest.fixture
def clock() -> Hand:
    return Hand()


Make = Callable[..., PageStore]


@pytest.fixture
def make(tmp_path: Path, clock: Hand) -> Make:
    """Open the memory `m` anew, as another process would."""
    return lambda name="m", user="": PageStores(tmp_path / "home", clock=clock).of(name, user)


@pytest.fixture
def make_shared(postgres: str, monkeypatch: pytest.MonkeyPatch, clock: Hand) -> Iterator[Make]:
    """Open the memory `m` of an empty database anew, as another process would."""
    shared = importlib.import_module("agentic_memory_bank.tools.pages.shared_store").page_database(postgres)
    with shared.connection() as database:
        database.execute("TRUNCATE memories, kept CASCADE")
    monkeypatch.setenv("MEMORY_BANK_DATABASE_URL", postgres)
    yield lambda name="m", user="": PageStores(clock=clock).of(name, user)
    shared.close()


@pytest.fixture(params=["make", "make_shared"], ids=["on disk", "in a database"])
def reopen(request: pytest.FixtureRequest) -> Make:
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["on disk", "in memory", "in a database"])
def store(request: pytest.FixtureRequest, make: Make, clock: Hand) -> PageStore:
    if request.param == "in memory":
        return PageStores(in_memory=True, clock=clock).of("m")
    return make() if request.param == "on disk" else request.getfixturevalue("make_shared")()


def page(text: str, source: str = "", **fields: Any) -> Page:
    made: Any = {
        "id": page_id(text, source),
        "title": f"Title of {text}",
        "abstract": f"About {text}.",
        "text": text,
        "source": source,
        "metadata": {"date": "8 May 2023", "turns": [1, 2]},
        "created_at": "",
        "expires_at": None,
        **fields,
    }
    return made


def pages(*texts: str) -> list[Page]:
    return [page(text) for text in texts]


def texts(store: PageStore) -> list[str]:
    return [found["text"] for _, found in store.pages()]


# --- kept --------------------------------------------------------------------------------------------------------


def test_pages_come_back_as_they_were_put_in_their_order(store: PageStore) -> None:
    given = pages("one", "two", "three")

    assert store.put(given).added == [p["id"] for p in given]

    found = [p for _, p in store.pages()]
    assert found == [{**p, "created_at": "2026-01-01T00:00:00.000000Z"} for p in given]


def test_a_store_is_there_again_when_it_is_opened_again(reopen: Make) -> None:
    reopen().put(pages("one", "two"))

    assert texts(reopen()) == ["one", "two"]
    assert reopen().last() == reopen().pages()[-1][1]


def test_a_duplicate_is_kept_once_and_named(store: PageStore) -> None:
    store.put(pages("one"))

    stored = store.put(pages("one", "two", "two"))

    assert stored.added == [page_id("two")]
    assert stored.duplicates == [page_id("one"), page_id("two")]
    assert texts(store) == ["one", "two"]


def test_a_page_that_is_there_stays_as_it_is(store: PageStore) -> None:
    store.put(pages("one"))

    store.put([{**page("one"), "abstract": "Something else."}])

    (found,) = store.get([page_id("one")])
    assert found["abstract"] == "About one."


def test_the_same_words_have_the_same_id_however_they_are_spaced() -> None:
    assert page_id("a  b\n") == page_id(" a b")
    assert len({page_id("a"), page_id("b"), page_id("a", "s"), page_id("a", "", "t"), page_id("a", "t")}) == 5


def test_nothing_is_put_and_nothing_is_made_of_nothing(make: Make, tmp_path: Path) -> None:
    store = make()

    assert store.put([]) == ([], [])
    assert (store.pages(), store.get(["p1"]), store.last(), store.existing(["p1"])) == ([], [], None, set())
    assert store.changes() == (0, [], [])
    assert (store.delete_expired(), store.delete_all(), store.delete(["p1"]), store.identity) == (0, [], [], "")
    assert store.stats() == {"total": 0, "valid": 0, "expired": 0, "ttl_seconds": None}
    assert not (tmp_path / "home").exists()


def test_pages_are_got_by_id_in_the_order_asked_for_and_unknown_ids_are_left_out(store: PageStore) -> None:
    store.put(pages("one", "two", "three"))

    found = store.get([page_id("three"), "p-1", page_id("one"), "", "0", page_id("three"), "x' OR 1 --"])

    assert [p["text"] for p in found] == ["three", "one"]
    assert store.existing([page_id("two"), "nobody"]) == {page_id("two")}


def test_any_number_of_ids_can_be_asked_for(store: PageStore) -> None:
    many = [str(n) for n in range(1_203)]
    store.put(pages(*many))

    assert [p["text"] for p in store.get(map(page_id, reversed(many)))] == many[::-1]


def test_pages_are_read_on_from_a_position(store: PageStore) -> None:
    store.put(pages("one", "two", "three", "four"))

    first = store.pages(limit=2)
    rest = store.pages(after=first[-1][0])

    assert [p["text"] for _, p in first] == ["one", "two"]
    assert [p["text"] for _, p in rest] == ["three", "four"]


@trials(max_examples=50, deadline=None)
@given(st.text(), st.text(min_size=1), st.dictionaries(st.text(), st.none() | st.integers() | st.text()))
def test_any_storable_text_comes_back_to_the_character(text: str, title: str, metadata: dict[str, Any]) -> None:
    made = {**page(text.replace("\0", "")), "title": title, "metadata": metadata}
    if any("\ud800" <= c <= "\udfff" for value in (made["text"], title, str(metadata)) for c in value):
        return
    store = PageStore()
    store.put([made])

    (found,) = store.get([made["id"]])
    assert (found["text"], found["title"], found["metadata"]) == (made["text"], title, metadata)


# --- how long ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({"days": 30}, 2_592_000),
        ({"days": 7}, 604_800),
        ({"hours": 12}, 43_200),
        ({"minutes": 30}, 1_800),
        ({"days": 30, "hours": 5, "seconds": 1_000}, 1_000),
        ({"days": 1, "hours": 6}, 108_000),
    ],
)
def test_a_time_to_live_is_the_sum_of_its_parts_unless_seconds_are_given(given: dict[str, float], seconds: int) -> None:
    ttl = time_to_live(**given)
    assert ttl is not None
    assert ttl.total_seconds() == seconds


def test_without_a_time_pages_stay_for_ever() -> None:
    assert time_to_live() is time_to_live(days=3, seconds=0) is None


@pytest.mark.parametrize("given", [{"days": -1}, {"seconds": -0.1}, {"days": 1e300}, {"seconds": float("nan")}])
def test_a_time_that_is_none_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(InputError, match="1,000 years"):
        time_to_live(**given)


def test_the_statistics_tell_what_there_is_and_how_long_it_stays(store: PageStore) -> None:
    store.set_ttl(time_to_live(days=30))
    store.put(pages("one", "two"))

    assert store.stats() == {"total": 2, "valid": 2, "expired": 0, "ttl_seconds": 2_592_000}


def test_without_a_time_to_live_nothing_expires(store: PageStore, clock: Hand) -> None:
    store.put(pages("one", "two"))
    clock.pass_by(10_000 * DAY)

    assert store.stats() == {"total": 2, "valid": 2, "expired": 0, "ttl_seconds": None}
    assert store.delete_expired() == 0


def test_what_is_over_is_counted_then_cleaned_up(store: PageStore, clock: Hand) -> None:
    store.set_ttl(DAY)
    store.put(pages("one", "two"))
    before = store.stats()
    clock.pass_by(DAY)
    over = store.stats()

    assert store.delete_expired() == 2
    after = store.stats()
    assert [(s["total"], s["valid"], s["expired"]) for s in (before, over, after)] == [(2, 2, 0), (2, 0, 2), (0, 0, 0)]


def test_what_is_over_is_never_given_out_also_before_it_is_cleaned_up(store: PageStore, clock: Hand) -> None:
    store.set_ttl(DAY)
    store.put(pages("one"))
    clock.pass_by(DAY)

    assert (store.pages(), store.get([page_id("one")]), store.last()) == ([], [], None)
    assert store.existing([page_id("one")]) == set()
    assert store.changes() == (1, [], [page_id("one")])


def test_a_store_that_is_opened_again_has_cleaned_up(make: Make, clock: Hand, tmp_path: Path) -> None:
    store = make()
    store.set_ttl(DAY)
    store.put(pages("one", "two"))
    clock.pass_by(DAY)

    assert make().stats() == {"total": 0, "valid": 0, "expired": 0, "ttl_seconds": 86_400}
    assert b"About one" not in b"".join(f.read_bytes() for f in (tmp_path / "home" / "pages").glob("*.sqlite"))


def test_of_old_and_new_pages_exactly_the_new_ones_stay(store: PageStore, clock: Hand) -> None:
    store.set_ttl(DAY)
    store.put(pages("old", "older"))
    clock.pass_by(DAY / 2)
    store.put(pages("new", "newer"))
    clock.pass_by(DAY / 2)

    assert store.delete_expired() == 2
    assert texts(store) == ["new", "newer"]


def test_putting_cleans_up_and_what_was_over_can_come_again(store: PageStore, clock: Hand) -> None:
    store.set_ttl(DAY)
    store.put(pages("one"))
    clock.pass_by(DAY)

    assert store.put(pages("one", "two")).added == [page_id("one"), page_id("two")]
    assert store.stats()["total"] == 2


def test_a_store_with_a_time_to_live_stays_small_and_one_without_does_not(clock: Hand) -> None:
    stores = PageStores(in_memory=True, clock=clock)
    bounded, unbounded = stores.of("bounded"), stores.of("unbounded")
    bounded.set_ttl(DAY)
    for number in range(1_000):
        for store in (bounded, unbounded):
            store.put(pages(str(number)))
        clock.pass_by(DAY / 10)

    assert bounded.stats()["total"] <= 11
    assert unbounded.stats()["total"] == 1_000


def test_a_new_time_to_live_is_for_new_pages_and_outlives_the_process(reopen: Make, clock: Hand) -> None:
    reopen().put(pages("for ever"))
    reopen().set_ttl(DAY)
    reopen().put(pages("a day"))
    reopen().set_ttl(None)
    reopen().put(pages("again for ever"))

    ends = {p["text"]: p["expires_at"] for _, p in reopen().pages()}
    assert ends == {"for ever": None, "a day": "2026-01-02T00:00:00.000000Z", "again for ever": None}
    assert reopen().stats()["ttl_seconds"] is None


def test_one_page_has_one_end_which_reading_and_opening_leave_as_it_is(reopen: Make, clock: Hand) -> None:
    reopen().set_ttl(DAY)
    reopen().put(pages("one"))
    for _ in range(3):
        clock.pass_by(DAY / 5)
        reopen().changes()
        reopen().put(pages("one"))

    (found,) = reopen().get([page_id("one")])
    assert found["created_at"] == "2026-01-01T00:00:00.000000Z"
    assert found["expires_at"] == "2026-01-02T00:00:00.000000Z"


def test_a_page_keeps_the_time_it_came_with(store: PageStore) -> None:
    store.set_ttl(DAY)
    store.put([page("one", created_at="2025-12-31T12:00:00.000000Z")])

    (found,) = store.get([page_id("one")])
    assert found["expires_at"] == "2026-01-01T12:00:00.000000Z"


# --- followed ----------------------------------------------------------------------------------------------------


def follow(held: dict[str, str], store: PageStore, since: int) -> int:
    changes = store.changes(since)
    held.update((p["id"], p["text"]) for p in changes.put)
    for gone in changes.removed:
        held.pop(gone, None)
    return changes.sequence


def test_an_index_that_follows_holds_what_the_store_holds(store: PageStore, clock: Hand) -> None:
    held: dict[str, str] = {}
    sequence = 0
    store.set_ttl(DAY)
    for step, act in enumerate(
        (
            lambda: store.put(pages("one", "two", "three")),
            lambda: store.delete([page_id("two"), "nobody"]),
            lambda: store.put(pages("two", "four")),
            lambda: clock.pass_by(DAY),
            lambda: store.put(pages("one")),
            lambda: (store.delete([page_id("one")]), store.put(pages("one", "five"))),
            store.delete_all,
            lambda: store.put(pages("six")),
        )
    ):
        act()
        sequence = follow(held, store, sequence)
        assert list(held.values()) == texts(store) or sorted(held.values()) == sorted(texts(store)), step
    assert list(held.values()) == ["six"]


def test_an_exchange_of_one_page_for_another_is_seen_though_their_number_stays(store: PageStore) -> None:
    store.put(pages("one", "two"))
    sequence = store.changes().sequence
    store.delete([page_id("one")])
    store.put(pages("three"))

    changes = store.changes(sequence)

    assert ([p["text"] for p in changes.put], changes.removed) == (["three"], [page_id("one")])
    assert store.changes(changes.sequence) == (changes.sequence, [], [])


def test_changes_can_be_read_without_the_raw_texts(store: PageStore) -> None:
    store.put(pages("one"))

    (found,) = store.changes(texts=False).put

    assert (found["text"], found["abstract"], found["title"]) == ("", "About one.", "Title of one")


@trials(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["put", "remove", "wait", "follow"]), st.integers(0, 5)), max_size=25))
def test_followed_at_any_moments_an_index_comes_to_the_same(steps: list[tuple[str, int]]) -> None:
    clock = Hand()
    store = PageStore(clock=clock)
    store.set_ttl(3 * DAY)
    held: dict[str, str] = {}
    sequence = 0
    for what, number in steps:
        if what == "put":
            store.put(pages(str(number)))
        elif what == "remove":
            store.delete([page_id(str(number))])
        elif what == "wait":
            clock.pass_by(DAY)
        else:
            sequence = follow(held, store, sequence)
    follow(held, store, sequence)

    assert sorted(held.values()) == sorted(texts(store))


def test_another_store_in_the_same_place_is_told_apart(make: Make) -> None:
    store = make()
    store.put(pages("one"))
    before = store.identity
    assert store.path
    for file in store.path.parent.glob("*.sqlite*"):
        file.unlink()
    store.put(pages("two"))

    assert before
    assert store.identity not in ("", before)
    assert texts(make()) == ["two"], "what is written after the file was deleted is not lost"


# --- whose -------------------------------------------------------------------------------------------------------

NAMES = ["a", "A", "a ", "../a", "/etc/passwd", "C:\\a", "a\nb", "日本", "é", "e\u0301", "%2e%2e", "con", "." * 300]


def test_names_are_never_the_same(reopen: Make) -> None:
    for name in NAMES:
        reopen(name).put(pages(name))

    assert [texts(reopen(name)) for name in NAMES] == [[name] for name in NAMES]


def test_names_are_never_paths(make: Make, tmp_path: Path) -> None:
    for name in NAMES:
        make(name).put(pages(name))

    files = [f for f in (tmp_path).rglob("*") if f.is_file()]
    assert {f.parent for f in files} == {tmp_path / "home" / "pages"}
    assert all(f.name.split(".")[0].isalnum() for f in files if f.name not in (".making", ".reserve"))


def test_users_never_share_a_memory(reopen: Make) -> None:
    owners = [("m", ""), ("m", "ann"), ("m", "bob"), ("ann", "m"), ("m", '"ann"'), ('", "m', "ann")]
    for number, owner in enumerate(owners):
        reopen(*owner).put(pages(str(number)))

    assert [texts(reopen(*owner)) for owner in owners] == [[str(number)] for number in range(len(owners))]


@pytest.mark.parametrize("name", ["", "  ", None, 1, b"a", "a\0", "\ud800", "a" * 1_001, ["a"]])
def test_a_name_that_cannot_be_kept_is_refused(name: Any) -> None:
    with pytest.raises(InputError):
        checked_name(name)
    with pytest.raises(InputError):
        PageStores(in_memory=True).of(name)


def test_the_place_is_that_of_the_environment_when_a_memory_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stores = PageStores()
    monkeypatch.setenv("MEMORY_BANK_HOME", str(tmp_path / "first"))
    stores.of("m").put(pages("one"))
    monkeypatch.setenv("MEMORY_BANK_HOME", str(tmp_path / "second"))

    assert texts(stores.of("m")) == []
    monkeypatch.setenv("MEMORY_BANK_HOME", "~nobody-of-that-name/home")
    with pytest.raises(SettingsError, match="MEMORY_BANK_HOME"):
        stores.of("m")


def test_only_their_owner_can_read_memories(make: Make, tmp_path: Path) -> None:
    make().put(pages("one"))

    modes = {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*") if p.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "home", tmp_path / "home" / "pages")} == {0o700}


def test_a_name_is_opened_once_and_few_files_stay_open(tmp_path: Path) -> None:
    stores = PageStores(tmp_path, size=2)
    first = stores.of("0")
    assert stores.of("0") is first
    for number in range(8):
        stores.of(str(number)).put(pages(str(number)))

    opened = [name for fd in os.listdir("/proc/self/fd") for name in _file_of(fd)]
    assert len({name for name in opened if name.startswith(str(tmp_path)) and name.endswith(".sqlite")}) <= 2
    assert texts(first) == ["0"], "a store that was closed opens again"
    first.close()
    stores.close()


def _file_of(descriptor: str) -> list[str]:
    """None where it has been closed meanwhile, which those of other threads may be."""
    try:
        return [os.readlink(f"/proc/self/fd/{descriptor}")]
    except FileNotFoundError:
        return []


def test_what_is_cleared_is_gone_from_disk(make: Make, tmp_path: Path) -> None:
    store = make()
    store.put(pages("a secret of ours"))

    assert store.delete_all() == [page_id("a secret of ours")]
    assert all(b"a secret of ours" not in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())


def test_the_vectors_of_what_is_cleared_are_erased_with_it(make: Make) -> None:
    store = make()
    store.put(pages("a secret of ours"))
    vectors = store.vectors
    assert isinstance(vectors, Path)
    Encoder(HashEmbeddings(), cache=vectors).vectors(["a secret of ours"])

    store.delete_all()

    assert [f.name for f in vectors.parent.iterdir() if ".vectors." in f.name] == []


# --- damaged -----------------------------------------------------------------------------------------------------


def filled(make: Make) -> Path:
    store = make()
    store.put(pages(*(f"{number} {'word ' * 400}" for number in range(40))))
    store.close()
    assert store.path
    return store.path


def shorter(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def without_header(file: Path) -> None:
    file.write_bytes(b"\0" * 100 + file.read_bytes()[100:])


def no_database(file: Path) -> None:
    file.write_text('{"pages": []}')


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def scribbled(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096:12288] = b"\xa5" * 8192
    file.write_bytes(data)


def altered(statement: str) -> Callable[[Path], None]:
    def alter(file: Path) -> None:
        connection = sqlite3.connect(file)
        connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()

    return alter


def foreign(file: Path) -> None:
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE pages (id TEXT)")
    connection.commit()
    connection.close()


DAMAGES = {
    "half": shorter,
    "no header": without_header,
    "no database": no_database,
    "empty": emptied,
    "scribbled over": scribbled,
    "foreign": foreign,
    "no events": altered("DROP TABLE events"),
    "another column": altered("ALTER TABLE pages ADD COLUMN mood TEXT"),
    "newer": altered("PRAGMA user_version = 99"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_store_is_refused_and_left_as_it_is(make: Make, name: str) -> None:
    file = filled(make)
    DAMAGES[name](file)
    before = file.read_bytes()

    for act in (
        lambda: make().put(pages("new")),
        lambda: make().pages(),
        lambda: make().get(["p1"]),
        lambda: make().changes(),
        lambda: make().stats(),
        lambda: make().delete_expired(),
        lambda: make().delete_all(),
        lambda: make().set_ttl(DAY),
    ):
        with pytest.raises(StorageDamagedError, match=str(file.name)):
            act()
    assert file.read_bytes() == before


def test_a_store_that_is_whole_again_is_used_again(make: Make) -> None:
    file = filled(make)
    whole = file.read_bytes()
    store = make()
    shorter(file)
    with pytest.raises(StorageDamagedError):
        store.pages()
    file.write_bytes(whole)

    assert store.stats()["total"] == 40


def test_what_was_half_made_when_a_process_died_is_no_store(make: Make, tmp_path: Path) -> None:
    store = make()
    assert store.path
    store.path.parent.mkdir(parents=True)
    store.path.with_suffix(".half").write_bytes(b"SQLite format 3\0 and no more")

    store.put(pages("one"))

    assert texts(make()) == ["one"]
    assert not store.path.with_suffix(".half").exists()


def test_a_full_disk_keeps_all_that_was_there_and_nothing_of_what_was_not(make: Make) -> None:
    store = make()
    store.put(pages("one"))
    connection = store._file._open()  # pyright: ignore[reportPrivateUsage]
    (size,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {size + 4}")

    with pytest.raises(StorageFullError, match="free some space"):
        store.put([page("two"), page("word " * 20_000)])
    assert texts(store) == ["one"]

    connection.execute("PRAGMA max_page_count = 1000000")
    store.put([page("two"), page("word " * 20_000)])
    assert store.stats()["total"] == 3


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")

    with pytest.raises(StorageError):
        PageStores(tmp_path / "file").of("m").put(pages("one"))


def test_what_is_over_is_not_shown_though_it_cannot_be_erased(
    make: Make, clock: Hand, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make().set_ttl(DAY)
    make().put(pages("one"))
    clock.pass_by(DAY)

    def full(*_: object) -> int:
        raise StorageFullError("The disk is full.")

    monkeypatch.setattr(PageStore, "delete_expired", full)

    assert texts(make()) == []
    assert "could not be erased" in caplog.text


# --- together ----------------------------------------------------------------------------------------------------


WRITER = """
import sys
from pathlib import Path
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.pages.store import page_id

def page(text):
    fields = {"title": "", "abstract": "", "source": "", "metadata": {}, "created_at": "", "expires_at": None}
    return {"id": page_id(text), "text": text, **fields}

store = PageStores(Path(sys.argv[1])).of("m")
for number in range(60):
    store.put([page(f"{sys.argv[2]} {number}"), page(f"shared {number}")])
"""


def test_processes_that_write_at_the_same_time_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    with ExitStack() as running:
        commands = [[sys.executable, "-c", WRITER, str(tmp_path), str(who)] for who in range(2)]
        writers = [running.enter_context(subprocess.Popen(command)) for command in commands]
        assert [writer.wait() for writer in writers] == [0, 0]

    store = PageStores(tmp_path).of("m")
    expected = {f"{who} {n}" for who in range(2) for n in range(60)} | {f"shared {n}" for n in range(60)}
    assert sorted(texts(store)) == sorted(expected)
    assert len(store.changes().put) == store.changes().sequence == 180


def test_threads_share_one_store(store: PageStore) -> None:
    def work(who: int) -> None:
        for number in range(25):
            store.put(pages(f"{who} {number}"))
            assert store.get([page_id(f"{who} {number}")])

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert store.stats()["total"] == 100


def test_a_forked_child_opens_the_file_for_itself(make: Make) -> None:
    store = make()
    store.put(pages("parent"))
    child = os.fork()
    if not child:
        try:
            store.put(pages("child"))
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)

    assert status == 0
    store.put(pages("parent again"))
    assert sorted(texts(store)) == ["child", "parent", "parent again"]


def test_bytes_written_for_a_page_do_not_grow_with_the_store(make: Make) -> None:
    store = make()

    def written() -> int:
        before = _written()
        for _ in range(10):
            store.put(pages(f"{store.stats()['total']} word " * 50))
        return (_written() - before) // 10

    store.put(pages("first"))
    early = written()
    store.put(pages(*(f"{number} " + "word " * 100 for number in range(2_000))))
    late = written()

    assert late < 3 * early + 20_000


def _written() -> int:
    return int(dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["wchar"])


def test_a_failure_inside_a_batch_leaves_nothing_of_it(store: PageStore) -> None:
    with pytest.raises(TypeError):
        store.put([*pages("one", "two"), page("three", metadata={"unkeepable": object()})])

    assert texts(store) == []
    assert store.put(pages("one")).added == [page_id("one")]


# --- what is closed ------------------------------------------------------------------------------------------------


def held(folder: Path) -> int:
    """How many files below a folder this process holds open, deleted ones too."""
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
    return sum(os.readlink(link).startswith(str(folder)) for link in links if link.is_symlink())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list a process's open files")
def test_a_file_that_was_put_in_the_place_of_another_leaves_none_of_the_other_open(tmp_path: Path) -> None:
    place = tmp_path / "pages" / "pages.sqlite"
    store = PageStore(place)
    for number in range(4):
        for file in place.parent.glob("pages.sqlite*"):
            file.unlink()
        store.put([page(f"Page {number}.")])
        if not number:
            opened = held(tmp_path)

    assert held(tmp_path) == opened
    store.close()
    assert held(tmp_path) == 0


def test_a_store_that_nobody_closes_is_closed_with_the_last_who_holds_it() -> None:
    store = PageStore()
    store.put([page("Only here.")])

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        del store
        gc.collect()

    assert [str(one.message) for one in told] == []
