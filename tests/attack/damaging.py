"""Files of every kind, the ways a disk damages them, and what may come of it: the right answer, or a typed error."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp

from agentic_memory_bank import runs
from agentic_memory_bank.engines.llm.answers import AnswerStore, Call
from agentic_memory_bank.runs.export import read_export
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.runs.ledger import Ledger
from agentic_memory_bank.state.errors import MemoryBankError
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.documents.attachments import AttachmentStore
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.store import PageStore, page_id
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore

THREADS = ("first", "second", "third")


@dataclass(frozen=True)
class Kind:
    """One kind of file."""

    make: Callable[[Path], list[Path]]
    """Fills a folder; the files that are damaged."""
    read: Callable[[Path], Any]
    """All that is in it, as a caller gets it."""
    is_log: bool = False
    """Whether the answer of an earlier moment is right as well: a log that ends early is what a kill leaves."""


# --- what is stored ----------------------------------------------------------------------------------------------


def page(number: int) -> Page:
    text = f"Page {number}. " + f"The keeper of tower {number} wrote this down. " * (5 + 40 * (number % 4))
    return {
        "id": page_id(text),
        "title": f"t{number}",
        "abstract": f"Of tower {number}.",
        "text": text,
        "source": "s",
        "metadata": {"n": number},
        "created_at": "",
        "expires_at": None,
    }


def pages(folder: Path) -> list[Path]:
    with closing(PageStore(folder / "p.sqlite", "m")) as store:
        for start in range(0, 40, 8):
            store.put([page(n) for n in range(start, start + 8)])
        store.delete([page(3)["id"]])
    return [folder / "p.sqlite"]


def read_pages(folder: Path) -> Any:
    with closing(PageStore(folder / "p.sqlite", "m")) as store:
        wanted = [page(n) for n in range(40)]
        ids = [p["id"] for p in wanted]
        changes = store.changes()
        return {
            "get": store.get(ids),
            "all": [p for _, p in store.pages()],
            "bare": store.changes(texts=False).put,
            "changes": [changes.sequence, changes.put, sorted(changes.removed)],
            "known": sorted(store.existing(ids)),
            "stats": store.stats(),
            "identity": store.identity,
        }


def memories(folder: Path) -> list[Path]:
    with closing(SqliteRecordStore(folder / "m.sqlite")) as store:
        for start in range(0, 60, 6):
            ops = [
                PutOp(("u", str(n % 3)), f"k{n}", {"text": f"value {n} " * (1 + 60 * (n % 5))})
                for n in range(start, start + 6)
            ]
            store.batch(ops)
        store.delete(("u", "0"), "k3")
    return [folder / "m.sqlite"]


def read_memories(folder: Path) -> Any:
    with closing(SqliteRecordStore(folder / "m.sqlite")) as store:
        items = store.search(("u",), limit=1_000)
        gets = [store.get(("u", str(n % 3)), f"k{n}") for n in range(60)]
        return {
            "search": [[*i.namespace, i.key, i.value, str(i.created_at)] for i in items],
            "get": [g and g.value for g in gets],
            "names": [list(name) for name in store.list_namespaces()],
        }


def ledger_and_threads(folder: Path) -> None:
    for thread in THREADS:
        runs.run(
            "When was the lighthouse lit?",
            documents=[f"The lighthouse of {thread} was lit by gas in 1931.", "It is tall and white. " * 40],
            attachments=[{"name": "a.txt", "data": "VGhlIGtlZXBlcg=="}],
            thread=thread,
            keep=True,
            home=folder,
            engine=ScriptedEngine(),
            embeddings=HashEmbeddings(),
        )


def ledger(folder: Path) -> list[Path]:
    ledger_and_threads(folder)
    return [folder / "runs.sqlite"]


def read_ledger(folder: Path) -> Any:
    """Garbage is collected first: nothing of what is kept may be gone for what the ledger says then."""
    kept = sorted(str(f.relative_to(folder)) for f in folder.glob("threads/*/*.sqlite"))
    with suppress(MemoryBankError):
        runs.collect_garbage(unfinished=True, home=folder)
    left = sorted(str(f.relative_to(folder)) for f in folder.glob("threads/*/*.sqlite"))
    assert left == kept, "a memory that is kept was erased"
    rows = Ledger(folder / "runs.sqlite")
    found = {thread: rows.find(thread) for thread in THREADS}
    return [repr(found), sorted(map(repr, rows.all())), rows.threads()]


def checkpoints(folder: Path) -> list[Path]:
    ledger_and_threads(folder)
    return [Home(folder).checkpoints("first")]


def read_checkpoints(folder: Path) -> Any:
    state = runs.read_state("first", home=folder)
    again = runs.run(
        "When was the lighthouse lit?",
        thread="first",
        home=folder,
        engine=ScriptedEngine(),
        embeddings=HashEmbeddings(),
    )
    return [runs.memory_digest(state), state["answer"], again["answer"], again["status"]]


def vectors(folder: Path) -> list[Path]:
    encoder = Encoder(HashEmbeddings(64), cache=folder / "v.sqlite")
    encoder.vectors([f"text {n}" for n in range(120)])
    encoder.close()
    return [folder / "v.sqlite"]


def read_vectors(folder: Path) -> Any:
    encoder = Encoder(HashEmbeddings(64), cache=folder / "v.sqlite")
    found = encoder.vectors([f"text {n}" for n in range(120)]).tolist()
    encoder.close()
    return found


def answers(folder: Path) -> list[Path]:
    with closing(AnswerStore(folder / "a.sqlite")) as store:
        for n in range(30):
            store.note(
                Call("i1", "classify", "local:m", "json_schema", n, 2), f"k{n}", f"said {n} " * (1 + 100 * (n % 3))
            )
            store.keep_result(f"r{n}", f"result {n} " * (1 + 90 * (n % 4)))
    return [folder / "a.sqlite"]


def read_answers(folder: Path) -> Any:
    with closing(AnswerStore(folder / "a.sqlite")) as store:
        return [
            [store.find(f"k{n}") for n in range(30)],
            [store.result(f"r{n}") for n in range(30)],
            repr(store.calls("i1")),
        ]


def attachments(folder: Path) -> list[Path]:
    store = AttachmentStore(folder / "files")
    for n in range(3):
        store.keep(store.stage(f"file {n} ".encode() * 2_000))
    return sorted(f for f in folder.rglob("*") if f.is_file())


def read_attachments(folder: Path) -> Any:
    store = AttachmentStore(folder / "files")
    return [store.read(name).decode() for name in store.kept()]


def exported(folder: Path) -> list[Path]:
    ledger_and_threads(folder)
    runs.export_thread("first", folder / "e.json", home=folder)
    return [folder / "e.json"]


def read_exported(folder: Path) -> Any:
    return json.dumps(read_export(folder / "e.json"), sort_keys=True)


def logged(fill: Callable[[Path], list[Path]]) -> Callable[[Path], list[Path]]:
    """The same, killed before its log was written back: the log is what is damaged."""

    def made(folder: Path) -> list[Path]:
        work = folder / "work"
        work.mkdir()
        (path,) = fill(work)
        with closing(sqlite3.connect(path)) as holder:  # while somebody has it open, closing writes nothing back
            holder.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            _write_more(work)
            for part in work.iterdir():
                if part.name.startswith(path.name) and not part.name.endswith("-shm"):
                    shutil.copyfile(part, folder / part.name)
        shutil.rmtree(work)
        return [folder / f"{path.name}-wal"]

    return made


def _write_more(folder: Path) -> None:
    if (file := folder / "p.sqlite").exists():
        with closing(PageStore(file, "m")) as store:
            for n in range(40, 44):
                store.put([page(n)])
    if (file := folder / "m.sqlite").exists():
        with closing(SqliteRecordStore(file)) as store:
            for n in range(60, 64):
                store.put(("u", "9"), f"k{n}", {"text": f"value {n} " * 300})
    if (file := folder / "a.sqlite").exists():
        with closing(AnswerStore(file)) as store:
            for n in range(30, 34):
                store.note(Call("i1", "classify", "local:m", "json_schema", n, 2), f"k{n}", f"said {n} " * 300)


KINDS = {
    "page store": Kind(pages, read_pages),
    "memories": Kind(memories, read_memories),
    "ledger": Kind(ledger, read_ledger),
    "checkpoints": Kind(checkpoints, read_checkpoints),
    "vectors": Kind(vectors, read_vectors),
    "answers": Kind(answers, read_answers),
    "attachments": Kind(attachments, read_attachments),
    "export": Kind(exported, read_exported),
    "log of the page store": Kind(logged(pages), read_pages, is_log=True),
    "log of the memories": Kind(logged(memories), read_memories, is_log=True),
    "log of the answers": Kind(logged(answers), read_answers, is_log=True),
}


# --- what a disk does --------------------------------------------------------------------------------------------


def flipped(raw: bytes, chance: random.Random) -> tuple[str, bytes]:
    bit, changed = chance.randrange(len(raw) * 8), bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return f"bit {bit % 8} of byte {bit // 8} flipped", bytes(changed)


def cut(raw: bytes, chance: random.Random) -> tuple[str, bytes]:
    end = chance.randrange(len(raw))
    return f"cut at {end} of {len(raw)}", raw[:end]


def swapped(raw: bytes, chance: random.Random) -> tuple[str, bytes]:
    size = 4096 if len(raw) > 8192 else max(1, len(raw) // 8)
    one, other = sorted(chance.sample(range(len(raw) // size), 2))
    parts = [raw[n * size : (n + 1) * size] for n in range(-(-len(raw) // size))]
    parts[one], parts[other] = parts[other], parts[one]
    return f"pieces {one} and {other} of {size} swapped", b"".join(parts)


DAMAGES = {"flip": flipped, "cut": cut, "swap": swapped}


@dataclass(frozen=True)
class Outcome:
    """What came of a damage."""

    done: str
    found: Any
    """None for an error of our own tree."""
    right: Any
    earlier: Sequence[Any]

    @property
    def is_held(self) -> bool:
        """Whether it is the right answer, or an error."""
        return self.found is None or self.found == self.right or self.found in self.earlier


def outcomes(name: str, damage: str, times: int, folder: Path, seed: int = 1) -> Iterator[Outcome]:
    """Damage a kind of file again and again, each time another copy of it."""
    kind, chance = KINDS[name], random.Random(f"{seed} {name} {damage}")
    whole = folder / "whole"
    whole.mkdir(parents=True)
    targets = [target.relative_to(whole) for target in kind.make(whole)]
    right = _read(kind, whole, {})
    assert right is not None
    earlier = [_read(kind, whole, {targets[0]: part}) for part in _moments(whole / targets[0])] if kind.is_log else []
    for _ in range(times):
        target = chance.choice(targets)
        done, raw = DAMAGES[damage]((whole / target).read_bytes(), chance)
        yield Outcome(f"{target}: {done}", _read(kind, whole, {target: raw}), right, earlier)


def _read(kind: Kind, whole: Path, changed: dict[Path, bytes]) -> Any:
    look = whole.with_name("look")
    shutil.copytree(whole, look)
    try:
        for target, raw in changed.items():
            (look / target).write_bytes(raw)
        return json.loads(json.dumps(kind.read(look)))
    except MemoryBankError:
        return None
    finally:
        shutil.rmtree(look)


def _moments(log: Path) -> Iterator[bytes]:
    """A log as it was after each of its transactions, and before the first."""
    raw = log.read_bytes()
    yield b""
    for end in range(32, len(raw), 24 + 4096):
        if int.from_bytes(raw[end + 4 : end + 8], "big"):
            yield raw[: end + 24 + 4096]
