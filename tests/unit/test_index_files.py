"""A user's index that is kept in a file says what the events say, or it is not used; and it keeps nothing erased."""

import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.state.errors import StorageError
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories import event_log, index_files, index_keeper, maintenance
from agentic_memory_bank.tools.memories.deletion import plan_deletion
from agentic_memory_bank.tools.memories.event_log import EventLog
from agentic_memory_bank.tools.memories.index_files import IndexFiles
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.store_adapter import StoreAdapter
from agentic_memory_bank.tools.memories.user_memories import UserMemories
from agentic_memory_bank.tools.memories.validation import user_hash
from agentic_memory_bank.tools.search import index_slots
from agentic_memory_bank.tools.search.query import unit_vector
from agentic_memory_bank.tools.storage.section_file import SectionFile
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

ENCODER = Encoder(HashEmbeddings(32))
WORDS = ["lisbon", "berlin", "tesla", "guitar", "peanuts", "cello", "sailing", "chess", "Zoe", "42", "Renault", "paint"]
CANARY = "Zanzibarquux"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes are kept from a few memories on."""
    monkeypatch.setattr(index_keeper, "FEWEST", 4)


@pytest.fixture(params=[False, True], ids=["exact", "quantised"])
def _of_any_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are those of few memories, and those of very many."""
    if request.param:
        monkeypatch.setattr(index_slots, "NEAR_FROM", 16)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memories.sqlite"


@pytest.fixture
def opened(place: Path) -> Iterator[Callable[..., RecordStore]]:
    """Opens the memories as a process does that has just begun."""
    stores: list[SqliteRecordStore] = []

    def open_them(at: Path | None = None, encoder: Encoder = ENCODER, **settings: Any) -> RecordStore:
        stores.append(SqliteRecordStore(at or place))
        return RecordStore(stores[-1], encoder, settings=Settings(**settings))

    yield open_them
    for store in stores:
        store.close()


def kept(memories: RecordStore) -> RecordStore:
    assert memories._users.flush(10)
    return memories


def index_file(place: Path, user: str = "ann") -> Path:
    return place.with_suffix(".indexes") / f"{user_hash(user)}.index"


def filled(memories: RecordStore, count: int = 12, user: str = "ann") -> list[str]:
    texts = [{"text": f"{user} has {WORDS[n % len(WORDS)]} number {n}."} for n in range(count)]
    return [one.record["id"] for one in kept_results(memories, user, texts)]


def kept_results(memories: RecordStore, user: str, texts: Any) -> Any:
    stored = memories.store_many(user, texts)
    kept(memories)
    return stored


def seen(memories: RecordStore, user: str = "ann") -> Any:
    """All that can be found, with its scores, and all that is there."""
    queries = [*WORDS, "What does Zoe play?", "number 3"]
    hits = {query: [tuple(hit) for hit in memories.search(user, query, limit=50)] for query in queries}
    records = memories.list(user, limit=100, replaced=True).records
    return hits, records, memories.export_events(user)


def as_events_say(place: Path, user: str = "ann") -> Any:
    """The same where no index is kept."""
    store = SqliteRecordStore(place)
    memories = RecordStore(store, ENCODER)
    memories._users._files = None
    try:
        return seen(memories, user)
    finally:
        store.close()


# --- the same as without ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_of_any_size")
@pytest.mark.parametrize("seed", range(6))
def test_whatever_was_done_the_file_says_what_the_events_say(
    seed: int, place: Path, opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    used, read = list[bool](), IndexFiles.open
    monkeypatch.setattr(IndexFiles, "open", lambda *args: (found := read(*args), used.append(found is not None))[0])
    chance = random.Random(seed)
    processes = [opened(), opened()]
    ids = filled(processes[0])
    for step in range(40):
        memories = chance.choice(processes)
        source: Any = {"conversation": f"c{chance.randrange(3)}", "turns": [f"t{step}"], "quotes": []}
        text = " ".join(chance.choices(WORDS, k=4))
        match chance.randrange(7):
            case 0 | 1:
                drawn: Any = {"project": chance.choice(["", "p"]), "type": chance.choice(["semantic", "verbatim"])}
                ids.append(memories.store("ann", text, source=source, **drawn).record["id"])
            case 2:
                memories.count_use("ann", chance.choices(ids, k=2))
                assert memories.flush(5)
            case 3:
                memories.delete("ann", [chance.choice(ids)])
            case 4 if there := memories.list("ann", types=["semantic"], project="").records:
                memories.supersede("ann", chance.choice(there)["id"], text)
            case 5 if there := memories.list("ann").records:
                memories.update("ann", chance.choice(there)["id"], text)
            case _:
                kept(memories)
                processes[chance.randrange(2)] = opened()
    for memories in processes:
        kept(memories)

    assert used.count(True) > 2
    expected = as_events_say(place)
    assert seen(opened()) == expected
    assert [seen(memories) for memories in processes] == [expected, expected]


def test_a_process_that_has_just_begun_reads_what_came_after_the_file_alone(
    opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened()
    filled(first)
    monkeypatch.setattr(index_keeper, "FEWEST", 400)
    first.store("ann", "Ann has a boat now.")

    monkeypatch.setattr(EventLog, "_everything", refused)

    assert opened().search("ann", "boat", limit=1)[0].record["text"] == "Ann has a boat now."


def test_the_file_is_still_good_when_those_who_wrote_are_long_gone(
    opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(opened())
    monkeypatch.setattr(maintenance, "IDLE", timedelta(days=-1))

    assert kept(janitor := opened()).maintain()["writers"] == 1

    kept(janitor)
    monkeypatch.setattr(EventLog, "_everything", refused)
    assert len(opened().list("ann").records) == 12


def refused(*_: object) -> None:
    raise AssertionError("all events were read")


@pytest.mark.parametrize("is_first", [True, False])
def test_whoever_searches_and_stores_while_the_file_is_written_waits_for_nothing_and_loses_nothing(
    place: Path, opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    memories = opened()
    if not is_first:
        filled(memories)
    begun, go_on, write = threading.Event(), threading.Event(), IndexFiles.write

    def slow(*given: Any) -> None:
        begun.set()
        assert go_on.wait(10)
        write(*given)

    monkeypatch.setattr(IndexFiles, "write", slow)
    memories.store_many("ann", [{"text": f"Ann has cello number {n}."} for n in range(6)])
    assert begun.wait(10)

    found = memories.search("ann", "cello")
    late = memories.store("ann", "Ann sold the cello 17.").record["id"]
    gone = memories.store("ann", "Ann plays chess on Sundays.").record["id"]
    go_on.set()
    kept(memories)
    memories.delete("ann", [gone])

    assert found
    assert late in {hit.record["id"] for hit in memories.search("ann", "sold the cello", limit=20)}
    assert seen(memories) == as_events_say(place)
    assert seen(opened()) == as_events_say(place)


def test_what_is_stored_while_a_file_is_written_is_in_the_next_one(
    place: Path, opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    memories, begun, go_on, write = opened(), threading.Event(), threading.Event(), IndexFiles.write

    def slow(*given: Any) -> None:
        begun.set()
        assert go_on.wait(10)
        write(*given)

    monkeypatch.setattr(IndexFiles, "write", slow)
    memories.store_many("ann", [{"text": f"Ann has cello number {n}."} for n in range(6)])
    assert begun.wait(10)
    memories.store_many("ann", [{"text": f"Ann has book number {n}."} for n in range(40)])
    go_on.set()
    kept(memories)

    found = IndexFiles(place.with_suffix(".indexes")).open(user_hash("ann"), ENCODER.model, 32)
    assert found is not None
    assert len(found.found.records) == 46


def test_who_was_overtaken_by_thousands_of_writes_indexes_only_what_is_new(
    opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "RING", 4)
    reader, writer = opened(), opened()
    filled(writer)
    reader.list("ann")
    before = reader._users.peek(user_hash("ann")).index  # pyright: ignore[reportOptionalMemberAccess]
    monkeypatch.setattr(index_keeper, "FEWEST", 400)
    for number in range(9):
        writer.store("ann", f"Ann has read book {number}.")

    assert len(reader.list("ann", limit=100).records) == 21
    assert reader._users.peek(user_hash("ann")).index is before  # pyright: ignore[reportOptionalMemberAccess]


# --- files that may not be used --------------------------------------------------------------------------------------


def half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def foreign(file: Path) -> None:
    file.write_bytes(b"SQLite format 3\0" * 500)


def flipped_in_the_middle(file: Path) -> None:
    flip(file, file.stat().st_size // 2)


def flipped_at_the_beginning(file: Path) -> None:
    flip(file, 3)


def flipped_in_the_header(file: Path) -> None:
    flip(file, file.stat().st_size - 60)


def flipped_at_the_end(file: Path) -> None:
    flip(file, file.stat().st_size - 2)


def flip(file: Path, at: int) -> None:
    """As a disk may; who has the file mapped is not to see it."""
    content = bytearray(file.read_bytes())
    content[at] ^= 0x55
    file.unlink()
    file.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [
        half,
        emptied,
        foreign,
        flipped_in_the_middle,
        flipped_at_the_beginning,
        flipped_in_the_header,
        flipped_at_the_end,
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_damaged_file_is_noticed_and_made_anew(
    spoil: Callable[[Path], None], place: Path, tmp_path: Path, opened: Callable[..., RecordStore]
) -> None:
    filled(opened())
    copy = tmp_path / "spoiled"
    shutil.copy(index_file(place), copy)
    spoil(copy)
    copy.replace(index_file(place))

    memories = opened()

    assert seen(memories) == as_events_say(place)
    kept(memories)
    assert IndexFiles(place.with_suffix(".indexes")).open(user_hash("ann"), ENCODER.model, 32) is not None


def test_a_damaged_vector_of_very_many_is_noticed_when_it_is_read(
    place: Path, opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_slots, "NEAR_FROM", 16)
    filled(opened(), count=20)
    vector, content = SectionFile(index_file(place))["matrix"][3].tobytes(), index_file(place).read_bytes()
    flip(index_file(place), content.index(vector) + 5)
    memories = opened()

    with pytest.raises(StorageError, match="made anew"):
        memories.search("ann", "lisbon", limit=50)

    assert not index_file(place).exists()
    assert seen(memories) == as_events_say(place)


def test_any_byte_that_changes_is_noticed(place: Path, opened: Callable[..., RecordStore]) -> None:
    filled(opened())
    content, files = index_file(place).read_bytes(), IndexFiles(place.with_suffix(".indexes"))
    whole = files.open(user_hash("ann"), ENCODER.model, 32)
    assert whole is not None
    for at in range(0, len(content), max(1, len(content) // 400)):
        spoiled = bytearray(content)
        spoiled[at] ^= 1
        index_file(place).unlink()
        index_file(place).write_bytes(spoiled)
        found = files.open(user_hash("ann"), ENCODER.model, 32)
        assert found is None or content[at : at + 1] == b"\0", "only what fills up between two arrays says nothing"


def test_the_file_of_another_user_is_never_read_for_one(place: Path, opened: Callable[..., RecordStore]) -> None:
    memories = opened()
    filled(memories, user="bob")
    filled(memories)
    shutil.copy(index_file(place, "bob"), index_file(place, "ann"))
    assert IndexFiles(place.with_suffix(".indexes")).open(user_hash("ann"), ENCODER.model, 32) is None

    found = seen(opened())

    assert found == as_events_say(place)
    assert "bob" not in str(found)


def test_a_file_of_another_embedding_model_is_not_searched(place: Path, opened: Callable[..., RecordStore]) -> None:
    filled(opened())
    other = Encoder(HashEmbeddings(16))

    memories = opened(encoder=other)

    with pytest.raises(Exception, match="another embedding model"):
        memories.search("ann", "lisbon")
    assert len(memories.list("ann", limit=100).records) == 12
    memories.reembed()
    assert memories.search("ann", "lisbon", limit=1)[0].cosine > 0


def test_a_file_that_other_rules_have_made_is_made_anew(
    place: Path, opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(index_files, "rules_of_indexes", lambda: "of the version before")
        filled(opened())

    assert IndexFiles(place.with_suffix(".indexes")).open(user_hash("ann"), ENCODER.model, 32) is None
    assert seen(opened()) == as_events_say(place)


def test_a_file_that_is_ahead_of_a_store_put_back_from_a_copy_is_not_believed(
    place: Path, tmp_path: Path, opened: Callable[..., RecordStore]
) -> None:
    first = opened()
    filled(first)
    first._adapter.store.close()  # pyright: ignore[reportAttributeAccessIssue]
    shutil.copy(place, tmp_path / "backup")
    later = opened()
    kept_results(later, "ann", [{"text": f"Ann has forgotten {n}."} for n in range(8)])
    later._adapter.store.close()  # pyright: ignore[reportAttributeAccessIssue]
    for file in place.parent.glob(f"{place.name}*"):
        file.unlink()
    shutil.copy(tmp_path / "backup", place)

    found = seen(opened())

    assert found == as_events_say(place)
    assert "forgotten" not in str(found)


# --- erasing ---------------------------------------------------------------------------------------------------------


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


@pytest.mark.usefixtures("_of_any_size")
def test_what_is_forgotten_is_in_no_file(place: Path, opened: Callable[..., RecordStore]) -> None:
    memories, other = opened(), opened()
    filled(memories)
    (secret,) = kept_results(memories, "ann", [{"text": f"Ann knows {CANARY} well."}])
    kept_results(memories, "ann", [{"text": f"Ann likes {word}."} for word in WORDS])
    other.list("ann")
    assert CANARY.encode() in index_file(place).read_bytes()
    unit = ENCODER.vector(secret.record["text"])
    vector = unit_vector(unit, None)
    assert vector is not None
    assert vector.tobytes() in index_file(place).read_bytes()

    memories.delete("ann", [secret.record["id"]])

    assert CANARY.lower().encode() not in bytes_of(place.parent).lower()
    for late in (memories, other):
        late.search("ann", "cello")
        kept(late)
        assert CANARY.lower().encode() not in bytes_of(place.parent).lower()
        assert vector.tobytes() not in bytes_of(place.parent)
    assert index_file(place).exists(), "it is made anew without it"
    assert other.search("ann", CANARY, limit=50) == opened().search("ann", CANARY, limit=50)


def test_a_user_who_is_erased_leaves_no_file(place: Path, opened: Callable[..., RecordStore]) -> None:
    memories = opened()
    filled(memories)
    filled(memories, user="bob")

    memories.delete_all("ann")
    kept(memories)

    assert not index_file(place).exists()
    assert index_file(place, "bob").exists()


def test_nobody_writes_a_file_from_before_an_erasure(
    place: Path, opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    late, eraser = opened(), opened()
    filled(eraser)
    (secret,) = kept_results(eraser, "ann", [{"text": f"Ann knows {CANARY} well."}])
    late.list("ann")
    eraser.delete("ann", [secret.record["id"]])
    kept(eraser)
    index_file(place).unlink(missing_ok=True)

    behind = late._users.peek(user_hash("ann"))
    assert behind is not None
    monkeypatch.setattr(behind._keeper, "_is_stale", True)
    behind.keep_index()

    assert not index_file(place).exists()


def test_where_the_file_cannot_be_removed_nothing_is_said_to_be_erased(
    opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = opened()
    ids = filled(memories)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(IndexFiles, "_remove", refuse)

    with pytest.raises(Exception, match="Permission denied"):
        memories.delete("ann", ids[:1])
    assert len(memories.list("ann", limit=100).records) == 12


def test_a_file_that_another_machine_may_have_to_erase_is_not_kept_for_ever(tmp_path: Path) -> None:
    files = IndexFiles(tmp_path, is_shared=True)
    old, young = tmp_path / "aa.index", tmp_path / "bb.index"
    for file in (old, young):
        file.touch()
    week = time.time() - index_files.KEPT_SECONDS - 60
    os.utime(old, (week, week))

    with files.writing("cc"):
        pass

    assert (old.exists(), young.exists()) == (False, True)


# --- the rest --------------------------------------------------------------------------------------------------------


def test_files_are_private(place: Path, opened: Callable[..., RecordStore]) -> None:
    filled(opened())

    folder = place.with_suffix(".indexes")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_what_is_in_memory_alone_leaves_no_file(home: Path) -> None:
    memories = RecordStore(InMemoryStore(), ENCODER)
    filled(memories)
    assert not list(home.rglob("*.index"))


def test_few_memories_are_kept_in_no_file(place: Path, opened: Callable[..., RecordStore]) -> None:
    filled(opened(), count=3)
    assert not index_file(place).exists()


def test_where_no_file_can_be_written_memories_go_on(
    place: Path, opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(index_files, "write_sections", full)
    memories = opened()
    filled(memories)

    assert memories.search("ann", "lisbon", limit=1)[0].record["text"] == "ann has lisbon number 0."
    assert not index_file(place).exists()


def test_indexes_are_bounded_by_their_bytes(
    opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_keeper, "FEWEST", 400)
    memories = opened(memory_index_megabytes=1)
    for user in ("ann", "bob", "cid"):
        filled(memories, count=150, user=user)

    held = [user for user in ("ann", "bob", "cid") if memories._users.peek(user_hash(user))]
    assert held[-1:] == ["cid"]
    assert "ann" not in held
    assert len(memories.list("ann", limit=100).records) == 100


@pytest.mark.parametrize("is_wanted", [True, False])
def test_no_garbage_is_collected_while_all_is_read_and_then_as_the_program_wants(
    is_wanted: bool, opened: Callable[..., RecordStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(opened(), count=3)
    collected, everything = list[bool](), StoreAdapter.everything

    def noted(self: StoreAdapter, namespace: tuple[str, ...]) -> Any:
        collected.append(gc.isenabled())
        if "events" in namespace and len(collected) < 3:
            raise StorageError("down")
        return everything(self, namespace)

    monkeypatch.setattr(index_keeper, "FEWEST", 10**9)
    monkeypatch.setattr(StoreAdapter, "everything", noted)
    monkeypatch.setattr(IndexFiles, "open", lambda *_: None)
    was = gc.isenabled()
    (gc.enable if is_wanted else gc.disable)()
    try:
        memories = opened()
        with pytest.raises(StorageError):
            memories.has_any("ann", None, None)
        after = [gc.isenabled()]
        assert memories.has_any("ann", None, None)
        after.append(gc.isenabled())
    finally:
        (gc.enable if was else gc.disable)()
    assert collected == [False] * 4
    assert after == [is_wanted] * 2


def test_an_index_in_a_file_takes_little_memory(opened: Callable[..., RecordStore]) -> None:
    memories = opened()
    filled(memories, count=200)

    def size(of: RecordStore) -> int:
        known: UserMemories | None = of._users.peek(user_hash("ann"))
        assert known is not None
        return known.index.size

    later = opened()
    assert later.has_any("ann", None, None)
    assert size(later) < 200 * 1_000
    assert size(memories) < 200 * 1_000, "whoever wrote it goes on with the file"


def told_and_drawn(memories: RecordStore, count: int = 200) -> tuple[list[str], list[str]]:
    """Turns, and a fact drawn from each, of which every other one has an insight as well."""
    spots: list[Any] = [{"conversation": f"c{n % 7}", "turns": [f"t{n}"], "quotes": []} for n in range(count)]
    turns = [{"text": f"Ann has number {n}.", "type": "verbatim", "source": spot} for n, spot in enumerate(spots)]
    said = [one.record["id"] for one in memories.store_many("ann", cast("Any", turns))]
    quoting = [{**spot, "quotes": [f"number {n}"]} for n, spot in enumerate(spots)]
    facts = [{"text": f"Ann owns number {n}.", "source": spot} for n, spot in enumerate(quoting)]
    drawn = [one.record["id"] for one in memories.store_many("ann", cast("Any", facts))]
    insights = [{"text": f"Ann counts: {n}.", "evidence": drawn[n : n + 2]} for n in range(0, count, 2)]
    memories.store_many("ann", cast("Any", insights))
    memories.consolidate("ann", drawn[5:8], "Ann owns three numbers.")
    kept(memories)
    return said, drawn


class GoneThrough:
    """All memories, gone through one by one for what has to do with another."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self.records = dict(records)

    def drawn_from(self, id: str) -> list[str]:
        return [other for other, one in self.records.items() if id in (*one["evidence"], *one["replaces"])]

    def said_in(self, turns: Iterable[tuple[str, str]]) -> list[str]:
        wanted = {*turns}
        spots = {
            id: [(s["conversation"], t) for s in one["sources"] for t in s["turns"]] for id, one in self.records.items()
        }
        return [id for id, told in spots.items() if not wanted.isdisjoint(told)]


def test_a_deletion_reads_no_more_than_what_it_has_to_do_with(opened: Callable[..., RecordStore]) -> None:
    said, drawn = told_and_drawn(opened())
    later = opened()
    assert later.get("ann", said[0])
    known: UserMemories | None = later._users.peek(user_hash("ann"))
    assert known is not None
    before = known.index.records.held

    assert len(later.delete("ann", [said[20]])) == 3, "the turn, what was drawn from it, and what from that"
    assert known.index.records.held - before < 10

    for ids in ([said[30]], [drawn[40]], [drawn[6]], said[50:53], [drawn[7], said[9]]):
        assert later.preview_delete("ann", ids) == plan_deletion(GoneThrough(known.index.records), ids)


_CHILD = """
import sys
from pathlib import Path
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories import index_keeper
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.search import index_slots
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore
index_keeper.FEWEST = 4
index_slots.NEAR_FROM = int(sys.argv[3])
memories = RecordStore(SqliteRecordStore(Path(sys.argv[1])), Encoder(HashEmbeddings(32)))
print("begun", flush=True)
for number in range(100_000):
    ids = [one.record["id"] for one in memories.store_many(
        "ann", [{"text": f"Ann has seen {sys.argv[2]} {number} {n}."} for n in range(6)])]
    memories.delete("ann", ids[:1])
    memories._users.flush(5)
"""


@pytest.mark.parametrize("near_from", [16, 100_000])
def test_a_process_that_is_killed_while_it_writes_the_file_leaves_the_right_answers(
    near_from: int, place: Path, opened: Callable[..., RecordStore]
) -> None:
    for number in range(4):
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(place), f"round{number}", str(near_from)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.3 + 0.05 * number)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()

        memories = opened()
        assert seen(memories) == as_events_say(place)
        kept(memories)
