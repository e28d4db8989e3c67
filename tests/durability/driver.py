"""Runs memory banks in forked children that kill themselves at a chosen moment, and reports what they left behind.

Started once as `python driver.py`: it imports everything, then reads orders from stdin, one JSON object per line, and
answers with one line each. Orders are carried out side by side, each in children forked from the warm process. A child
passes named moments ("after put", "enter plan"); an order names a moment and its occurrence, and the child that gets
there sends itself SIGKILL.
"""

import gc
import importlib
import json
import logging
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

import agentic_memory_bank.graph.memory_bank as graph_module
import agentic_memory_bank.runs.cleanup as upkeep_module
import agentic_memory_bank.runs.export as export_module
import agentic_memory_bank.runs.home as home_module
import agentic_memory_bank.runs.homes as homes_module
import agentic_memory_bank.runs.ledger as ledger_module
import agentic_memory_bank.runs.run_steps as running_module
import agentic_memory_bank.tools.storage.disk as disk_module
from agentic_memory_bank import runs
from agentic_memory_bank.engines.base import ClaimSpan, DisputeVerdict, EvidenceSpan, Link, Pairing, Refresh, Relation
from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.runs.homes import home_at
from agentic_memory_bank.state.errors import EngineError, MemoryBankError, ThreadBusyError
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.embeddings.vector_cache import VectorCache
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

try:
    runs_database: Any = importlib.import_module("agentic_memory_bank.runs.database")
except ImportError:  # without the extra `postgres`, runs are in files
    runs_database = None
SAVERS: list[Any] = [SqliteSaver, *([runs_database.SharedSaver] if runs_database else [])]
LEDGERS: list[Any] = [ledger_module.Ledger, *([runs_database.SharedLedger] if runs_database else [])]

STAGES = [
    "adapter_in",
    "classify",
    "structure",
    "embed",
    "retrieve",
    "analyze_conflict",
    "analyze_related",
    "integrate",
    "plan",
    "execute",
    "adapter_out",
]
THREAD = "the thread"
TEXTS = [
    "The harbour bridge of Aldport was opened in 1931 after nine years of work on its two stone piers.",
    "The harbour bridge of Aldport was opened in 1934 after nine years of work on its two stone piers.",
    "The lighthouse of Aldport has a lamp of forty thousand candles and was restored by its keepers.",
    "The lighthouse of Aldport has a lamp of forty thousand candles, and it was restored by the keepers.",
    "The fish market of Aldport opens at five and sells what the boats of the harbour brought in.",
    "A letter of 1931 thanks the builders: the harbour bridge of Aldport was opened in 1931, on the second of May.",
]
QUESTION = "When was the harbour bridge of Aldport opened?"


# --- moments -----------------------------------------------------------------------------------------------------


class Trap:
    """Writes down the moments that are passed, and kills the process at one of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._at: tuple[str, int] | None = None
        self._trace = -1

    def set(self, at: tuple[str, int] | None, trace: Path) -> None:
        """Begin to count, in a child."""
        self._seen.clear()
        self._at = at
        self._trace = os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def reach(self, moment: str) -> None:
        """Pass a moment, or die there."""
        if self._trace < 0:
            return
        with self._lock:
            self._seen[moment] += 1
            os.write(self._trace, f"{moment}\n".encode())
            if (moment, self._seen[moment]) == self._at:
                os.kill(os.getpid(), signal.SIGKILL)


TRAP = Trap()


def around(owner: Any, name: str, label: str = "") -> None:
    """Have a function pass one moment before it is called and one after."""
    inner, label = getattr(owner, name), label or name

    @wraps(inner)
    def outer(*given: Any, **named: Any) -> Any:
        TRAP.reach(f"before {label}")
        result = inner(*given, **named)
        TRAP.reach(f"after {label}")
        return result

    setattr(owner, name, outer)


def watch_saver() -> None:
    """Moments around the saver's writes, and between a write and its commit."""
    doing = threading.local()
    cursor = SqliteSaver.cursor

    def named(saver: type[Any], name: str) -> None:
        inner = getattr(saver, name)

        @wraps(inner)
        def outer(*given: Any, **options: Any) -> Any:
            if name == "put" and given[3].get("source") == "input":
                TRAP.reach("input taken")
            TRAP.reach(f"before {name}")
            doing.what = name
            result = inner(*given, **options)
            doing.what = None
            TRAP.reach(f"after {name}")
            return result

        setattr(saver, name, outer)

    @contextmanager
    def watched(self: SqliteSaver, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        with cursor(self, transaction) as opened:
            yield opened
            if transaction and getattr(doing, "what", None):
                TRAP.reach(f"uncommitted {doing.what}")

    for saver in SAVERS:
        named(saver, "put")
        named(saver, "put_writes")
    SqliteSaver.cursor = watched  # type: ignore[method-assign]


def watch_stages() -> None:
    """Moments when a stage begins and ends; `intake` when documents are taken in."""
    for name in STAGES:
        stage = getattr(graph_module, name)

        def outer(state: Any, runtime: Any, deps: Any, *, name: str = name, stage: Callable[..., Any] = stage) -> Any:
            TRAP.reach(f"enter {name}")
            update = stage(state, runtime, deps=deps)
            if name == "adapter_in" and "documents" in update:
                TRAP.reach("intake")
            TRAP.reach(f"leave {name}")
            return update

        outer.__annotations__ = dict(stage.__annotations__)
        setattr(graph_module, name, outer)


class HalfFile:
    """A file of which one half is on disk before a moment passes, and the rest after it."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> "HalfFile":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, content: bytes) -> None:
        self._file.write(content[: len(content) // 2])
        self._file.flush()
        TRAP.reach("half exported")
        self._file.write(content[len(content) // 2 :])


def watch_disk() -> None:
    """Moments around ledger, export, vectors and erasure."""
    for name in ("write", "update", "remove"):
        for ledger in LEDGERS:
            around(ledger, name, f"ledger {name}")
    around(ledger_module, "cut_log", "log cut")
    around(running_module, "write_export")
    around(disk_module, "sync_folder", "export named")
    whole = open
    disk_module.open = lambda *given: HalfFile(whole(*given))  # type: ignore[attr-defined]
    around(upkeep_module, "erase_folder", "stray erased")
    around(home_module, "erase_folder")
    around(disk_module, "_overwrite", "file overwritten")
    around(shutil, "rmtree")
    around(VectorCache, "put", "vectors put")
    around(ThreadRows, "put", "rows put")
    around(homes_module.SharedHome, "clear", "thread cleared")
    around(home_module.Home, "make_folder")
    around(export_module, "_store", "import stored")


class Watched:
    """An engine that passes a moment before and after each judgement."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        return self._engine.name

    def __getattr__(self, name: str) -> Any:
        judge = getattr(self._engine, name)

        def judged(*given: Any) -> Any:
            TRAP.reach(f"ask {name}")
            result = judge(*given)
            TRAP.reach(f"told {name}")
            return result

        return judged


# --- scenarios ---------------------------------------------------------------------------------------------------


def find_conflicts(pairings: list[Pairing]) -> list[Relation]:
    """The years contradict each other; the two lighthouses say the same."""
    found: list[Relation] = []
    for pairing in pairings:
        for candidate in pairing.candidates:
            pair = (pairing.fresh, candidate)
            years = ["1934" in memory.text for memory in pair]
            if all("lighthouse" in memory.text for memory in pair):
                found.append(Relation(pairing.fresh.id, candidate.id, "merge"))
            elif all("bridge" in memory.text for memory in pair) and years[0] != years[1]:
                claims = tuple(
                    ClaimSpan("1934" if new else "1931", (0, len(m.text))) for new, m in zip(years, pair, strict=True)
                )
                relation = Relation(pairing.fresh.id, candidate.id, "conflict", "date", "The years differ.", claims)  # type: ignore[arg-type]
                found.append(relation)
    return found


def find_related(pairings: list[Pairing]) -> list[Link]:
    """Everything that is compared belongs together, and its older end is refreshed."""
    return [
        Link(p.fresh.id, c.id, {c.id: Refresh(f"{c.context[:60]} (of Aldport)", (*c.keywords[:4], "Aldport"))})
        for p in pairings
        for c in p.candidates
    ]


def validate(disputes: list[Any]) -> list[DisputeVerdict]:
    """1931 holds, by the letter."""
    found: list[DisputeVerdict] = []
    for dispute in disputes:
        letter = next(e for e in dispute.evidence if "letter" in e.text)
        span = EvidenceSpan(letter.entry, (letter.start, letter.start + len(letter.text)))
        found.append(DisputeVerdict("holds", dispute.values.index("1931"), "", "Two sources say 1931.", (span,)))
    return found


def broken(*given: Any) -> Any:
    """A judgement that cannot be had."""
    raise EngineError("The judge is out.")


def engine_of(scenario: str) -> Any:
    """The engine of a scenario, which passes moments."""
    if scenario == "extractive":
        return Watched(ExtractiveEngine(Encoder(HashEmbeddings())))
    related = broken if scenario == "setback" else find_related
    return Watched(ScriptedEngine(find_conflicts=find_conflicts, find_related=related, validate=validate))


def parts(scenario: str, home: Path | None) -> dict[str, Any]:
    """What a run is given in code: a clock that stands still, so that a resumed run can equal an unkilled one."""
    return {
        "engine": engine_of(scenario),
        "embeddings": HashEmbeddings(),
        "clock": TickingClock(step=timedelta(0)),
        "home": home,
    }


def place_of(order: dict[str, Any]) -> Path | None:
    """The home of an order; None where its runs are in a database, which the environment names from now on."""
    if not order.get("database"):
        return Path(order["folder"]) / "home"
    os.environ["MEMORY_BANK_DATABASE_URL"] = order["database"]
    return None


def thread_of(order: dict[str, Any]) -> str:
    """The thread of an order; those of one database have names of their own."""
    return f"{THREAD} {Path(order['folder']).name}" if order.get("database") else THREAD


def act(order: dict[str, Any], action: str) -> Any:
    """Carry out one action of an order in this process."""
    home, scenario, thread = place_of(order), order["scenario"], thread_of(order)
    export = Path(order["folder"]) / "export.json"
    if action == "run":
        again = scenario == "again"
        return runs.run(
            "What is told of the lighthouse?" if again else QUESTION,
            documents=["The lighthouse of Aldport was lit by gas until the keepers got electric light."]
            if again
            else TEXTS,
            thread=thread,
            keep=order.get("keep", False),
            export=export,
            **parts(scenario, home),
        )
    if action == "first":
        return runs.run(QUESTION, documents=TEXTS, thread=thread, keep=True, **parts(scenario, home))
    if action == "resume":
        return runs.resume(thread, **parts(scenario, home))
    if action == "import":
        return runs.import_thread(order["file"], thread, home=home)
    if action == "export":
        return runs.export_thread(thread, export, home=home)
    if action == "hold":
        return hold(order, home)
    return runs.collect_garbage(home=home)


def hold(order: dict[str, Any], home: Path | None) -> Any:
    """Run, and stay in the first judgement until killed from outside."""
    ready = Path(order["folder"]) / "holding"

    def forever(*given: Any) -> Any:
        ready.write_text(str(os.getpid()))
        threading.Event().wait()

    given = parts("scripted", home) | {"engine": ScriptedEngine(structure=forever)}
    return runs.run(QUESTION, documents=TEXTS, thread=thread_of(order), keep=False, **given)


# --- orders ------------------------------------------------------------------------------------------------------


def take(order: dict[str, Any], number: int, step: dict[str, Any]) -> dict[str, Any]:
    """Act, and report: what it returned or raised, whether it was killed, which moments it passed.

    What is to be killed acts in a child; what is not acts here, in another process than the one that was killed.
    """
    folder = Path(order["folder"])
    trace, killed, report = folder / f"{number}.trace", False, dict[str, Any]()
    if step.get("at"):
        child = os.fork()
        if child == 0:
            try:
                TRAP.set(tuple(step["at"]), trace)
                attempt(order, step["do"])
            finally:
                os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        if order.get("database"):
            let_go(order)
    else:
        TRAP.set(None, trace)
        report = attempt(order, step["do"])
    moments = trace.read_text().splitlines() if trace.exists() else []
    left = left_in_database(order) if order.get("database") else left_behind(folder)
    return report | {"killed": killed, "moments": moments} | left


def let_go(order: dict[str, Any]) -> None:
    """Wait until the database has noticed that a child is gone: until then its thread is in use."""
    while True:
        with suppress(ThreadBusyError), runs_database.run_database(order["database"]).lock(thread_of(order), ""):
            return


def attempt(order: dict[str, Any], action: str) -> dict[str, Any]:
    """The result of an action, or its error."""
    try:
        result = act(order, action)
        return {"result": {**result, "thread": THREAD} if isinstance(result, dict) else result}
    except MemoryBankError as error:
        return {"raised": type(error).__name__, "message": str(error)}
    except Exception:
        return {"crashed": traceback.format_exc()}


def left_behind(folder: Path) -> dict[str, Any]:
    """What is on disk: files of threads, rows of the ledger, saved checkpoints, the export."""
    home, export = folder / "home", folder / "export.json"
    files = sorted(str(f.relative_to(home)) for f in home.rglob("*") if f.is_file()) if home.exists() else []
    saved = next(home.glob("threads/*/checkpoints.sqlite"), None)
    return {
        "files": [f for f in files if f.startswith("threads")],
        "folders": sorted(f.name for f in (home / "threads").iterdir()) if (home / "threads").exists() else [],
        "rows": ask(home / "runs.sqlite", "SELECT state FROM runs"),
        "checkpoints": ask(saved, "SELECT checkpoint_id FROM checkpoints"),
        "taken_in": ask(saved, "SELECT 1 FROM writes WHERE channel = 'interaction_tree'"),
        "export": export.read_text() if export.exists() else None,
        "around": sorted(f.name for f in folder.iterdir() if f.name.startswith(".")),
    }


def left_in_database(order: dict[str, Any]) -> dict[str, Any]:
    """What is kept of the thread in the database, and its export."""
    folder, thread = Path(order["folder"]), thread_of(order)
    place_of(order)
    place = home_at()
    with runs_database.run_database(order["database"]).connection() as database:

        def asked(question: str) -> list[str]:
            return [str(row[0]) for row in database.execute(question, (thread,)).fetchall()]

        found = {
            "rows": asked("SELECT state FROM runs WHERE thread = %s"),
            "checkpoints": asked("SELECT checkpoint_id FROM checkpoints WHERE thread_id = %s"),
            "taken_in": asked("SELECT 1 FROM checkpoint_writes WHERE thread_id = %s AND channel = 'interaction_tree'"),
        }
    export = folder / "export.json"
    return found | {
        "files": [],
        "folders": [thread] if place.holds(thread) else [],
        "export": export.read_text() if export.exists() else None,
        "around": sorted(f.name for f in folder.iterdir() if f.name.startswith(".")),
    }


def ask(database: Path | None, question: str) -> list[str]:
    """Read a copy of a database, so that looking at it repairs nothing."""
    if database is None or not database.exists():
        return []
    copy = database.with_name(f"{database.name}.look")
    try:
        for suffix in ("", "-wal"):
            if (part := database.with_name(database.name + suffix)).exists():
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        connection = sqlite3.connect(copy)
        try:
            return [str(row[0]) for row in connection.execute(question)]
        finally:
            connection.close()
    except sqlite3.Error:
        return []
    finally:
        for suffix in ("", "-wal", "-shm"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """All steps of an order, one after the other."""
    folder = Path(order["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    if order.get("template"):
        shutil.copytree(order["template"], folder / "home")
    return {"steps": [take(order, number, step) for number, step in enumerate(order["steps"])]}


def serve() -> None:
    """Read orders, carry out some at a time, and answer each when it is done."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # nothing but answers may stand there
    at_a_time = max(1, int(os.environ.get("KILL_WORKERS", os.cpu_count() or 1)))
    busy: set[int] = set()
    for line in sys.stdin:
        while len(busy) >= at_a_time:
            busy.discard(os.wait()[0])
        order = json.loads(line)
        worker = os.fork()
        if worker == 0:
            code = 1
            try:
                report = Path(order["report"])
                written = report.with_suffix(".part")
                written.write_text(json.dumps(carry_out(order)))
                written.replace(report)
                os.write(answers.fileno(), f"{report}\n".encode())
                code = 0
            except BaseException:
                os.write(answers.fileno(), f"{order['report']} failed: {traceback.format_exc()!r}\n".encode())
            finally:
                os._exit(code)
        busy.add(worker)
    while busy:
        busy.discard(os.wait()[0])


def warm_up() -> None:
    """Run once here, so that what is imported and compiled on first use is there for every child."""
    for scenario in ("scripted", "extractive"):
        with tempfile.TemporaryDirectory() as folder:
            runs.run(QUESTION, documents=TEXTS, **parts(scenario, Path(folder)))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # one scenario fails a stage on purpose
    watch_saver()
    watch_stages()
    watch_disk()
    warm_up()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of the warm process
    serve()
