"""What a checkpoint costs, by the size of memory: bytes and milliseconds per super-step, and a cold `get_state`.

Judgement is stubbed (a scripted engine, hashed vectors), so that what is measured is the machinery. A memory is filled
to a size and imported into a kept thread; then one run works in steady rounds: each round an executor brings one new
short document, which is remembered, compared, linked and refreshed, and the next step is planned. Full copies of the
layers are part of what is measured. Each size runs in a process of its own.
"""

import argparse
import gc
import json
import math
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from agentic_memory_bank import runs
from agentic_memory_bank.engines.base import Link, Pairing, PlannerInput, Refresh, Step, TopicSummary, TopicText
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.runs.checkpoints import open_saver
from agentic_memory_bank.runs.export import write_export
from agentic_memory_bank.runs.home import Home
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

SIZES = (100, 1_000, 10_000)
STEPS = 5_000
WARM = 100
"""Super-steps before the clock is started: indexes are built in them."""
THREAD = "cost"
STEPS_PER_ROUND = 10
ENTRY_CHARACTERS = 800
SUMMARY_CHARACTERS = 400
WORDS = 4_000

READINGS = 23
"""How often the state is read cold, at moments that lie differently between two full copies."""
STATE_SIZE = 1_000
WRITTEN = (
    "SELECT sum(length(checkpoint) + length(metadata)) FROM checkpoints",
    "SELECT sum(length(value) + length(channel)) FROM writes",
)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

MOST_BYTES = 10_000
MOST_TIMES = 2.0
MOST_STATE_MS = 100.0
MOST_TIMES_TEXT = 5.0
MOST_SHARE_SHOWN = 0.2

Row = dict[str, Any]


class Writer:
    """Writes texts of made-up words, always the same ones for a seed; words are as frequent as in real text."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        letters = np.random.default_rng(1).integers(97, 123, (WORDS, 9)).astype(np.uint8)
        self._words = [bytes(row[: 3 + i % 7]).decode() for i, row in enumerate(letters)]
        self._weights = list(np.cumsum(1 / np.arange(8, WORDS + 8)))

    def text(self, characters: int) -> str:
        """Some sentences."""
        words = self._chance.choices(self._words, cum_weights=self._weights, k=characters // 5)
        lines = [" ".join(words[start : start + 12]).capitalize() + "." for start in range(0, len(words), 12)]
        return " ".join(lines)[:characters]

    def words(self, count: int) -> list[str]:
        """Some rare words."""
        return self._chance.sample(self._words[WORDS // 4 :], count)


def filled(size: int) -> dict[str, Any]:
    """A memory of so many nodes, each with an entry, a few neighbours and judged pairs."""
    writer, chance, encoder = Writer(size), random.Random(size), Encoder(HashEmbeddings())
    nodes: dict[str, Any] = {}
    entries: dict[str, Any] = {}
    for number in range(size):
        node_id, entry_id, text = f"n{number:012x}", f"e{number:012x}", writer.text(ENTRY_CHARACTERS)
        at = f"2026-01-01T00:00:{number % 60:02d}.000000Z"
        entries[entry_id] = _entry(entry_id, text, at)
        node = _node(node_id, entry_id, text, writer, at)
        nodes[node_id] = {**node, "embedding": encoder.key(text)}
    ids = list(nodes)
    related: dict[str, list[str]] = {node_id: [] for node_id in ids}
    judged: dict[str, str] = {}
    for position, node_id in enumerate(ids[1:], 1):
        for other in {ids[chance.randrange(position)] for _ in range(2)}:
            related[node_id].append(other)
            related[other].append(node_id)
            judged[f"{node_id[1:]}|{other[1:]}"] = "related"
    return {
        "insight_doc": {"id": "i0", "goal": "Fill the memory.", "current": None, "completed": [], "archived": []},
        "query_graph": {"nodes": nodes, "related": related, "conflicts": {}, "judged": judged},
        "interaction_tree": {"entries": entries, "merges": []},
        "status": "completed",
        "now": "2026-01-01T00:01:00.000000Z",
    }


def _entry(entry_id: str, text: str, at: str) -> dict[str, Any]:
    return {
        "id": entry_id,
        "kind": "document",
        "text": text,
        "created_at": at,
        "source": "filling.txt",
        "metadata": {"page": 1},
        "tool_calls": [],
        "attachments": [],
    }


def _node(node_id: str, entry_id: str, text: str, writer: Writer, at: str) -> dict[str, Any]:
    return {
        "id": node_id,
        "summary": text[:SUMMARY_CHARACTERS],
        "context": text[:120],
        "keywords": writer.words(8),
        "embedding": None,
        "created_at": at,
        "anchors": [{"entry": entry_id, "start": 0, "end": len(text)}],
        "provenance": {"sources": ["filling.txt"], "task": None, "merged_from": []},
        "history": [],
    }


class Stub(ScriptedEngine):
    """Plans so many steps, remembers each result as one memory, and links it to one other."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self._rounds = rounds

    def plan(self, situation: PlannerInput) -> Step | None:
        """Look for more."""
        done = len(situation.insight_doc.get("completed", []))
        return Step("search", f"Look for more, time {done + 1}.") if done < self._rounds else None

    def structure(self, topics: Sequence[TopicText]) -> list[TopicSummary]:
        """How the text begins."""
        return [TopicSummary(t.text[:SUMMARY_CHARACTERS], t.text[:120], tuple(t.text.split()[:8])) for t in topics]

    def find_related(self, pairings: Sequence[Pairing]) -> list[Link]:
        """The best candidate, which is refreshed."""
        return [
            Link(p.fresh.id, p.candidates[0].id, {p.candidates[0].id: Refresh(p.fresh.context, p.fresh.keywords)})
            for p in pairings
        ]


@dataclass
class Reading:
    """Seconds and bytes up to a moment; what reading the state took is not in them."""

    wall: float = 0.0
    processor: float = 0.0
    written: int = 0


class Meter:
    """Watches a run: time and bytes between two super-steps, and now and then what a cold `get_state` takes."""

    def __init__(self, home: Home, steps: int) -> None:
        self._home = home
        self._steps = steps
        self._count = 0
        self._begun = Reading()
        self._aside = Reading()
        self.spent = Reading()
        self.state_ms: list[float] = []

    def __call__(self, event: dict[str, Any]) -> None:
        """Take note of an event of a run."""
        if "done" not in event:
            return
        self._count += 1
        if self._count == WARM:
            gc.collect()
            self._begun = self._now()
        elif self._count == WARM + self._steps:
            end, begun, aside = self._now(), self._begun, self._aside
            self.spent = Reading(
                end.wall - begun.wall - aside.wall,
                end.processor - begun.processor - aside.processor,
                end.written - begun.written,
            )
        elif WARM < self._count < WARM + self._steps and self._count % (self._steps // READINGS) == 0:
            wall, processor = time.perf_counter(), time.process_time()
            self.state_ms.append(cold_state(self._home))
            self._aside.wall += time.perf_counter() - wall
            self._aside.processor += time.process_time() - processor

    def _now(self) -> Reading:
        with closing(sqlite3.connect(self._home.checkpoints(THREAD), timeout=30)) as database:
            written = sum(database.execute(question).fetchone()[0] or 0 for question in WRITTEN)
        return Reading(time.perf_counter(), time.process_time(), written)


def cold_state(home: Home) -> float:
    """Milliseconds of `get_state` over a connection and a graph of its own: the best of three.

    What the measuring process holds besides is kept out of garbage collection, as it would not be there in a fresh one.
    """
    taken: list[float] = []
    gc.collect()
    gc.freeze()
    for _ in range(3):
        with open_saver(home.checkpoints(THREAD)) as saver:
            bank = build_memory_bank(engine=ScriptedEngine(), embeddings=HashEmbeddings(), checkpointer=saver)
            start = time.perf_counter()
            bank.get_state({"configurable": {"thread_id": THREAD}})
            taken.append((time.perf_counter() - start) * 1_000)
    gc.unfreeze()
    return min(taken)


def measure(size: int, steps: int, folder: Path) -> Row:
    """Fill a memory, and run steady rounds on it."""
    home = Home(folder)
    export = folder / "filled.json"
    write_export(export, THREAD, filled(size), Encoder(HashEmbeddings()).model)
    runs.import_thread(export, THREAD, home=folder)
    writer, meter = Writer(size + 1), Meter(home, steps)
    runs.run(
        "Keep looking.",
        thread=THREAD,
        keep=True,
        settings=Settings(gate_english=-1),  # every round has pairs to judge
        engine=Stub((WARM + steps) // STEPS_PER_ROUND + 3),
        embeddings=HashEmbeddings(),
        execute=lambda assignment: writer.text(ENTRY_CHARACTERS),
        clock=TickingClock(),
        home=folder,
        on_event=meter,
    )
    return {
        "size": size,
        "bytes": meter.spent.written / steps,
        "wall_ms": meter.spent.wall / steps * 1_000,
        "processor_ms": meter.spent.processor / steps * 1_000,
        "state_ms": statistics.median(meter.state_ms),
        "worst_state_ms": max(meter.state_ms),
        "resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024,
    }


def measure_document(characters: int, folder: Path, document: Path | None) -> Row:
    """Take in one long document with the real engine, and weigh all checkpoints of its run."""
    text = document.read_text() if document else Writer(5).text(characters)
    start = time.perf_counter()
    runs.run(
        "What is told first?", documents=[text], thread=THREAD, keep=True, embeddings=HashEmbeddings(), home=folder
    )
    seconds = time.perf_counter() - start
    home = Home(folder)
    with closing(sqlite3.connect(home.checkpoints(THREAD))) as database:
        written = sum(database.execute(question).fetchone()[0] or 0 for question in WRITTEN)
        (steps,) = database.execute("SELECT count(*) FROM checkpoints").fetchone()
    return {
        "characters": len(text),
        "bytes": written,
        "file_bytes": home.checkpoints(THREAD).stat().st_size,
        "steps": steps,
        "seconds": seconds,
        "in_code": shown(home, brief=False),
        "on_a_server": shown(home, brief=True),
    }


def shown(home: Home, *, brief: bool) -> dict[str, int]:
    """Characters of JSON that are shown of a run: its state, the last ten checkpoints of its history, and all of it.

    The last is what a stream of values sends.
    """
    with open_saver(home.checkpoints(THREAD)) as saver:
        bank = build_memory_bank(engine=ScriptedEngine(), embeddings=HashEmbeddings(), checkpointer=saver, brief=brief)
        history = bank.get_state_history({"configurable": {"thread_id": THREAD}})
        sizes = [len(json.dumps(snapshot.values, default=str, ensure_ascii=False)) for snapshot in history]
    return {"state": sizes[0], "ten": sum(sizes[:10]), "all": sum(sizes)}


def apart(*given: str) -> Row:
    """Measure in a process of its own, so that no memory weighs on the next."""
    command = [sys.executable, str(Path(__file__)), *given]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD})
    return json.loads(done.stdout)


def report(rows: list[Row], document: Row) -> bool:
    """Print what was measured and whether it meets the targets."""
    say(
        f"{'nodes':>7} {'bytes/step':>11} {'ms/step':>9} {'cpu ms/step':>12}"
        f" {'get_state ms':>13} {'worst':>6} {'MB':>5}"
    )
    for row in rows:
        say(
            f"{row['size']:>7,} {row['bytes']:>11,.0f} {row['wall_ms']:>9.2f} {row['processor_ms']:>12.2f}"
            f" {row['state_ms']:>13.0f} {row['worst_state_ms']:>6.0f} {row['resident_mb']:>5.0f}"
        )
    say(
        f"a document of {document['characters']:,} characters: {document['bytes']:,} bytes of checkpoints "
        f"({document['file_bytes']:,} in the file) over {document['steps']} steps, {document['seconds']:.0f} s"
    )
    for where in ("in_code", "on_a_server"):
        sizes = document[where]
        say(
            f"its state {where.replace('_', ' ')}: {sizes['state']:,} characters of JSON, ten checkpoints of history"
            f" {sizes['ten']:,}, all steps {sizes['all']:,}"
        )
    state_ms = next(row["state_ms"] for row in rows if row["size"] == STATE_SIZE)
    new_text = ENTRY_CHARACTERS / STEPS_PER_ROUND
    targets = {
        f"bytes per step within {MOST_TIMES:g} times": spread(rows, "bytes") <= MOST_TIMES,
        f"bytes per step under {MOST_BYTES:,} besides {new_text:.0f} of new text": all(
            row["bytes"] < MOST_BYTES for row in rows
        ),
        f"processor milliseconds per step within {MOST_TIMES:g} times": spread(rows, "processor_ms") <= MOST_TIMES,
        f"get_state at {STATE_SIZE:,} nodes under {MOST_STATE_MS:g} ms": state_ms < MOST_STATE_MS,
        f"a document costs at most {MOST_TIMES_TEXT:g} times its characters": document["file_bytes"]
        <= MOST_TIMES_TEXT * document["characters"],
        f"its state on a server is at most {MOST_SHARE_SHOWN:g} of its characters": document["on_a_server"]["state"]
        <= MOST_SHARE_SHOWN * document["characters"],
    }
    say(
        f"largest over smallest: bytes {spread(rows, 'bytes'):.2f}, ms {spread(rows, 'wall_ms'):.2f},"
        f" processor ms {spread(rows, 'processor_ms'):.2f}"
    )
    for small, large in pairwise(rows):
        exponent = math.log(large["processor_ms"] / small["processor_ms"]) / math.log(large["size"] / small["size"])
        say(f"growth of a step, {small['size']:,} to {large['size']:,} nodes: {exponent:.2f}")
    for target, is_met in targets.items():
        say(f"{'pass' if is_met else 'FAIL'}  {target}")
    return all(targets.values())


def spread(rows: list[Row], what: str) -> float:
    """The largest over the smallest."""
    values = [row[what] for row in rows]
    return max(values) / min(values)


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def main() -> int:
    """Measure all sizes and the document, or, in a process of its own, one of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two sizes, few steps: that it works, not what it costs")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--characters", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--document", type=Path, help="a text to take in instead of made-up words")
    given = parser.parse_args()
    steps = min(given.steps, 400) if given.quick else given.steps
    characters = 100_000 if given.quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        if given.size:
            say(json.dumps(measure(given.size, steps, Path(folder))))
            return 0
        if given.characters:
            say(json.dumps(measure_document(given.characters, Path(folder), given.document)))
            return 0
    sizes = SIZES[:2] if given.quick else SIZES
    rows = [apart("--size", str(size), "--steps", str(steps)) for size in sizes]
    named = ["--document", str(given.document)] if given.document else []
    return 0 if report(rows, apart("--characters", str(characters), *named)) else 1


if __name__ == "__main__":
    sys.exit(main())
