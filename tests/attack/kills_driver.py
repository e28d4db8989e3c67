"""Runs one command of the command line in forked children, each of which kills itself at another moment.

`kills_driver.py COMMAND FOLDER POINTS` prints one JSON object: how many moments the command has, how many children died
at one, and what was wrong afterwards. A moment is before or after a statement of SQLite, or a change of a file's name.
Nothing may be lost that the command had acknowledged, by a line that it printed; what it erases is there as a whole or
gone, and what a killed erasure has left is gone with the next upkeep.
"""

import gc
import json
import os
import shutil
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agentic_memory_bank import Memories, runs
from agentic_memory_bank.cli import options
from agentic_memory_bank.cli.app import app
from agentic_memory_bank.state.errors import MemoryBankError, UnknownThreadError
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.store import page_id
from agentic_memory_bank.tools.pages.stores import PageStores

CANARY = "quixotic-zymurgy"
NAMES = ("Rex", "Minka", "Halcyon", "Tesla", "Bluefin")
SAID = [
    "My dog is called Rex.",
    "My cat is called Minka.",
    "My boat is called Halcyon.",
    "I drive a Tesla.",
    "The project I lead is called Bluefin Harvest.",
]
KEPT = "My brother is called Oskar."
TEXTS = ["The harbour bridge of Aldport was opened in 1931.", f"The {CANARY} house of Aldport was founded in 1881."]
Found = dict[str, Any]


# --- moments -----------------------------------------------------------------------------------------------------


class Trap:
    """Counts moments in a child, and kills it at one of them."""

    def __init__(self) -> None:
        self._lock, self._seen, self._at, self._is_set = threading.Lock(), 0, 0, False
        self.told = -1

    def set(self, at: int, told: int) -> None:
        self._at, self.told, self._is_set = at, told, True

    def reach(self) -> None:
        if not self._is_set:
            return
        with self._lock:
            self._seen += 1
            if self._seen == self._at:
                os.kill(os.getpid(), signal.SIGKILL)

    @property
    def seen(self) -> int:
        return self._seen


TRAP = Trap()


def around(call: Callable[..., Any]) -> Callable[..., Any]:
    def called(*given: Any, **named: Any) -> Any:
        TRAP.reach()
        result = call(*given, **named)
        TRAP.reach()
        return result

    return called


class Cursor(sqlite3.Cursor):
    execute = around(sqlite3.Cursor.execute)
    executemany = around(sqlite3.Cursor.executemany)
    executescript = around(sqlite3.Cursor.executescript)


class Connection(sqlite3.Connection):
    commit = around(sqlite3.Connection.commit)

    def cursor(self, factory: Any = Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, *given: Any) -> Any:
        return self.cursor().execute(*given)

    def executemany(self, *given: Any) -> Any:
        return self.cursor().executemany(*given)


def watch() -> None:
    """Put moments around what changes files."""
    connect = sqlite3.connect

    def watched(*given: Any, **named: Any) -> Any:
        kind = named.pop("factory", sqlite3.Connection)
        return connect(*given, **named, factory=type("Watched", (Connection, kind), {}))

    sqlite3.connect = watched  # type: ignore[assignment]
    for name in ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync"):
        setattr(os, name, around(getattr(os, name)))


# --- children ----------------------------------------------------------------------------------------------------


def forked(work: Callable[[int], None]) -> tuple[bool, bytes]:
    """Do work in a child; whether it was killed, and what it wrote to its pipe."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            work(writer)
            status = 0
        except SystemExit:
            status = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read()
    _, ended = os.waitpid(child, 0)
    if not os.WIFSIGNALED(ended) and os.WEXITSTATUS(ended):
        raise RuntimeError(f"A child failed: {told!r}")
    return os.WIFSIGNALED(ended), told


def command(home: Path, arguments: Sequence[str], said: str, at: int) -> Callable[[int], None]:
    """The command line in a child, its output in the pipe, and its moments in a file."""

    def work(writer: int) -> None:
        os.environ["MEMORY_BANK_HOME"] = str(home)
        entered = home.parent / "stdin"
        entered.write_text(said)
        os.dup2(os.open(entered, os.O_RDONLY), 0)
        os.dup2(writer, 1)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w", buffering=1)
        TRAP.set(at, writer)
        try:
            app(list(arguments), standalone_mode=False)
        finally:
            sys.stdout.flush()
            (home.parent / "moments").write_text(str(TRAP.seen))

    return work


def looked_at(home: Path, look: Callable[[Path], Found]) -> Found:
    """What another process finds."""

    def work(writer: int) -> None:
        os.environ["MEMORY_BANK_HOME"] = str(home)
        try:
            found = look(home)
        except MemoryBankError as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        data = json.dumps(found).encode()
        while data:
            data = data[os.write(writer, data) :]

    return json.loads(forked(work)[1])


# --- what is there -----------------------------------------------------------------------------------------------


def memories(home: Path, **options: Any) -> Memories:
    return Memories(home=home, embeddings=HashEmbeddings(), **options)


def everything(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file())


def texts(home: Path) -> Found:
    with memories(home) as own:
        records = own.list(user="ana", project=None, limit=100, replaced=True).records
        return {"texts": sorted(record["text"] for record in records)}


def kept_up(home: Path) -> Found:
    """After upkeep: what is remembered, and whether what was erased is on disk."""
    with memories(home) as own:
        own.maintain()
    runs.collect_garbage(home=home)
    return {**texts(home), "canary": CANARY.encode() in everything(home)}


def thread(home: Path) -> Found:
    """The thread, if there is one, before upkeep and after it."""
    found: Found = {"before": _digest(home)}
    runs.collect_garbage(home=home)
    found["after"] = _digest(home)
    found["left"] = CANARY.encode() in everything(home) or any((home / "threads").iterdir())
    return found


def _digest(home: Path) -> str | None:
    with suppress(UnknownThreadError):
        return runs.memory_digest(runs.read_state("t", home=home))
    return None


# --- commands ----------------------------------------------------------------------------------------------------


class Case:
    """A command, the home it begins with, and what has to hold after it was killed."""

    arguments: Sequence[str]
    said = ""

    def prepare(self, home: Path) -> None:
        """Make the home."""
        with memories(home) as own:
            own.store(KEPT, user="ana")

    def begin(self, home: Path) -> None:
        """Note what the home holds."""

    def faults(self, home: Path, told: str, *, is_killed: bool) -> list[str]:
        """What is wrong afterwards."""
        raise NotImplementedError


class Chat(Case):
    arguments = ("chat", "--user", "ana", "--json")
    said = "".join(f"{line}\n" for line in SAID)

    def faults(self, home: Path, told: str, *, is_killed: bool) -> list[str]:
        answers = told.count('"answer"')
        kept = looked_at(home, texts)["texts"]
        lost = [name for name in NAMES[:answers] if not any(name in text for text in kept)]
        drawn = looked_at(home, kept_up)["texts"]
        lost += [f"{name} after upkeep" for name in NAMES[:answers] if not any(name in text for text in drawn)]
        return [f"{answers} answers, lost {lost}"] * bool(lost) + ["KEPT is lost"] * (KEPT not in kept)


class Remember(Case):
    arguments = ("remember", " ".join(SAID), "--user", "ana", "--conversation", "c", "--end")

    def faults(self, home: Path, told: str, *, is_killed: bool) -> list[str]:
        kept = looked_at(home, texts)["texts"]
        found = [name for name in NAMES if any(name in text for text in kept)]
        is_right = len(found) == len(NAMES) if "Remembered" in told else len(found) in (0, len(NAMES))
        return [f"{found} of what was said is kept"] * (not is_right) + ["KEPT is lost"] * (KEPT not in kept)


class Forget(Case):
    """Forgets two memories of three that hold the canary in their words, their history or their turns."""

    def prepare(self, home: Path) -> None:
        super().prepare(home)
        with memories(home) as own:
            first = own.store(f"My {CANARY} is on the shelf.", user="ana")
            second = own.store(f"My boat is called {CANARY}.", user="ana")
            own.update(second["id"], "My boat is called Halcyon.", user="ana")
            (home / "ids").write_text(json.dumps([first["id"], second["id"]]))

    def begin(self, home: Path) -> None:
        self.arguments = ("forget", *json.loads((home / "ids").read_text()), "--user", "ana", "--yes")

    def faults(self, home: Path, told: str, *, is_killed: bool) -> list[str]:
        is_done, kept = "Erased" in told, looked_at(home, texts)["texts"]
        after = looked_at(home, kept_up)
        there = [name for name in (CANARY, "Halcyon") if any(name in text for text in kept)]
        wrong = ["KEPT is lost"] * (KEPT not in kept or KEPT not in after["texts"])
        wrong += [f"{there} is left"] * (len(there) not in (0, 2) or (is_done and bool(there)))
        wrong += ["it is gone and on disk"] * (not there and after["canary"])
        wrong += ["it was there, and went by itself"] * (bool(there) and not after["canary"])
        return wrong


class Clear(Case):
    arguments = ("clear", "t")

    def prepare(self, home: Path) -> None:
        given: Any = {"engine": ScriptedEngine(), "embeddings": HashEmbeddings()}
        runs.run("When was the bridge opened?", documents=TEXTS, thread="t", home=home, **given)

    def begin(self, home: Path) -> None:
        self.whole = looked_at(home, thread)["before"]

    def faults(self, home: Path, told: str, *, is_killed: bool) -> list[str]:
        found = looked_at(home, thread)
        if "error" in found:
            return [found["error"]]
        wrong = ["it was erased, and is there"] * ("Erased" in told and found["before"] is not None)
        wrong += ["it is half there"] * (found["before"] not in (None, self.whole))
        wrong += ["it is half there after upkeep"] * (found["after"] not in (None, found["before"]))
        wrong += ["something is left"] * (found["after"] is None and found["left"])
        return wrong


class Import(Clear):
    def prepare(self, home: Path) -> None:
        super().prepare(home)
        runs.export_thread("t", home.parent / "export.json", home=home)

    def begin(self, home: Path) -> None:
        super().begin(home)
        shutil.rmtree(home)
        home.mkdir()
        self.arguments = ("import", str(home.parent / "export.json"), "--thread", "t")

    def faults(self, home: Path, told: str, *, is_killed: bool) -> list[str]:
        found = looked_at(home, thread)
        if "error" in found:
            return [found["error"]]
        wrong = ["it was imported, and is not there"] * ("Imported" in told and found["after"] is None)
        wrong += ["it is half there"] * any(found[when] not in (None, self.whole) for when in ("before", "after"))
        wrong += ["something is left"] * (found["after"] is None and found["left"])
        return wrong


class Maintain(Case):
    arguments = ("maintain",)

    def prepare(self, home: Path) -> None:
        super().prepare(home)
        long_ago = datetime.now(UTC) - timedelta(days=9)
        with memories(home, clock=lambda: long_ago) as own:
            own.store(f"My {CANARY} is on the shelf.", user="ana", expires_at=long_ago + timedelta(days=1))
            own.remember_later(SAID[0], user="ana", conversation_id="c")
            own.flush()
        pages = PageStores(home, clock=lambda: long_ago)
        store = pages.of("letters")
        store.set_ttl(timedelta(days=1))
        text = f"{CANARY} keeps the light."
        page: Any = {"id": page_id(text), "title": "", "abstract": text, "text": text, "source": "", "metadata": {}}
        store.put([{**page, "created_at": "", "expires_at": None}])
        pages.close()

    def faults(self, home: Path, told: str, *, is_killed: bool) -> list[str]:
        kept, after = looked_at(home, texts)["texts"], looked_at(home, kept_up)
        wrong = ["KEPT is lost"] * (KEPT not in kept or KEPT not in after["texts"])
        wrong += ["Rex is lost"] * any(not any("Rex" in text for text in some) for some in (kept, after["texts"]))
        wrong += ["Rex is drawn more than once"] * (sum("Rex" in text for text in after["texts"]) > 2)
        return wrong + ["what is over is on disk"] * after["canary"]


CASES: dict[str, type[Case]] = {
    "chat": Chat,
    "remember": Remember,
    "import": Import,
    "forget": Forget,
    "clear": Clear,
    "maintain": Maintain,
}


def main(name: str, folder: Path, points: int) -> Found:
    """Kill a command at so many moments, spread over all it has."""
    case, template, home = CASES[name](), folder / "template" / "home", folder / "trial" / "home"
    for place in (template, home):
        place.mkdir(parents=True)
    forked(lambda _: case.prepare(template))
    if (template.parent / "export.json").exists():
        shutil.copy(template.parent / "export.json", home.parent)
    wrong: list[str] = []

    def tried(at: int) -> bool:
        shutil.rmtree(home)
        shutil.copytree(template, home)
        case.begin(home)
        is_killed, told = forked(command(home, case.arguments, case.said, at))
        wrong.extend(f"at {at}: {one}" for one in case.faults(home, told.decode(), is_killed=is_killed))
        return is_killed

    tried(0)
    moments = int((home.parent / "moments").read_text())
    chosen = sorted({1 + place * moments // (points + 1) for place in range(points + 1)})
    killed = sum(tried(at) for at in chosen)
    return {"moments": moments, "killed": killed, "faults": wrong}


if __name__ == "__main__":
    options.parts_from = lambda settings: {"engine": ScriptedEngine(), "embeddings": HashEmbeddings()}
    watch()
    gc.disable()
    asked, place, count = sys.argv[1:]
    sys.stdout.write(json.dumps(main(asked, Path(place), int(count))))
