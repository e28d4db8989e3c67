"""What is found of dialogues once they are remembered, what stands in the store twice, and how surely values change?

    python benchmarks/memory_quality.py --eval DIR [--cache DIR] [--half dev]

DIR is the folder of evaluation data; its own `score.py` is the judge. No model is asked: whoever judges is the engine
that works offline.

*Evidence*: each dialogue of LoCoMo is a user, each of its sessions a conversation; the product's `remember` graph is
handed two turns at a time. A search of the store counts for the turns that the source of a hit names, in the order of
the hits; a turn that several hits name counts once. The same questions are asked of the raw turns: in the index of
`retrieval_quality.py`, and in a store that memories were never drawn in. The better of the two is the target.

*Duplicates*: of the memories that are current in the end, those that repeat an earlier one of the same user and
speaker: the words are the same but for case and punctuation, or the cosine of the two vectors is at least 0.95 and they
hold the same names and numbers. Who said it, and when, is no part of the words.

*Changes*: of each pair of texts (RAMDocs apart, whose passages are no memories), the second is weighed as what is said
after the first. What counts is whether the change is seen: the second supersedes the first, or both stay and each names
the other; it should for a contradiction alone. How many are superseded is printed beside it.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.messages import HumanMessage
from research_calls import machine  # benchmarks, too
from retrieval_quality import TARGETS, answers

from agentic_memory_bank.engines.conversation import ExistingMemory, Fact, TurnQuote
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.nodes.messages import turns_of
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore
from agentic_memory_bank.tools.text.attribution import unattributed
from agentic_memory_bank.tools.text.names import names_and_numbers

Row = dict[str, Any]

TOGETHER = 2
"""Turns that are handed over at a time: what the user said, and the answer."""
HITS = 40
"""Memories that a search returns; several may name the same turn."""
SHOWN = 10
"""Turns that are judged."""
MOST_DUPLICATES = 0.02
ALIKE = 0.95
"""Cosine from which two memories with the same names and numbers are taken for one."""
LEAST_PRECISION, LEAST_RECALL = 0.80, 0.20

_WORD = re.compile(r"[\w$€£¥%]+")


def main(argv: list[str] | None = None) -> int:
    """Measure and print the judge's tables. The exit status says whether all targets were reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data, with score.py")
    parser.add_argument("--cache", type=Path, help="folder to keep vectors in")
    parser.add_argument("--half", default="dev", help="which half's files to read (default: dev)")
    arguments = parser.parse_args(argv)
    there = sorted(path.suffixes[-2][1:] for path in arguments.eval.glob("locomo/turns.*.jsonl"))
    if arguments.half not in there:
        parser.error(f"There is no half {arguments.half!r} in {arguments.eval}/locomo; there is: {', '.join(there)}")
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(cache=arguments.cache / "vectors.sqlite" if arguments.cache else None)
    sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}, vectors of {encoder.model}\n\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.eval, arguments.half, encoder, Path(folder))
        verdicts = [*bench.dialogues(), *bench.changes()]
    sys.stdout.write("\n" + "\n".join(f"{'pass' if met else 'FAIL'}  {line}" for line, met in verdicts) + "\n")
    return 0 if all(met for _, met in verdicts) else 1


@dataclass(frozen=True)
class Remembered:
    """A store with all dialogues in it, and how long that took."""

    records: RecordStore
    turns: Mapping[str, str]
    """The turn of the evaluation data, by the id under which the product knows it."""
    seconds: float


class Bench:
    """The data, the product, and the judge."""

    def __init__(self, data: Path, half: str, encoder: Encoder, folder: Path) -> None:
        self._data, self._half, self._encoder, self._folder = data, half, encoder, folder

    # --- dialogues -------------------------------------------------------------------------------------------------

    def dialogues(self) -> Iterator[tuple[str, bool]]:
        """Remember all dialogues; what of their turns is found, and what is there twice."""
        turns = _rows(self._data / f"locomo/turns.{self._half}.jsonl")
        queries = _rows(self._data / f"locomo/queries.{self._half}.jsonl")
        target = TARGETS[0]
        indexed = self._judged("raw turns, in the index", list(answers(target, queries, turns, self._encoder)))
        raw = self._judged("raw turns, in the store", self._found(queries, self._remembered(turns, draws=False)))
        done = self._remembered(turns, draws=True)
        drawn = self._judged("facts and turns, in the store", self._found(queries, done))
        sys.stdout.write(f"{done.seconds / len(turns):.4f} s per turn ({len(turns):,} turns, with their vectors)\n\n")
        least = max(indexed, raw)
        yield _at_least(f"LoCoMo turns, facts and turns against raw turns: {target.metric}", drawn, least)
        share = _duplicates(done.records, sorted({turn["group"] for turn in turns}), self._encoder)
        yield (
            f"share of duplicates in the store: {share:.4f}, target below {MOST_DUPLICATES:.2f}",
            share < MOST_DUPLICATES,
        )

    def _remembered(self, turns: Sequence[Row], *, draws: bool) -> Remembered:
        """All dialogues in a store of their own, with the memories that are drawn from them or without."""
        place = SqliteRecordStore(self._folder / f"{'drawn' if draws else 'raw'}.sqlite")
        stores = RecordStores(place, self._encoder)
        graph, ids = build_remember(engine=ExtractiveConversationEngine(), stores=stores), dict[str, str]()
        settings: Row = {} if draws else {"remember_every": 1_000}
        began = time.perf_counter()
        for (user, session), members in _sessions(turns).items():
            messages = [_message(turn) for turn in members]
            ids.update(zip((t.id for t in turns_of(messages)), (m["id"] for m in members), strict=True))
            for start in range(0, len(messages), TOGETHER):
                is_last = draws and start + TOGETHER >= len(messages)
                said = {"messages": messages[start : start + TOGETHER], "conversation_id": session, "end": is_last}
                graph.invoke(said, context={"user": user, **settings})  # pyright: ignore[reportArgumentType]
        return Remembered(stores.of(), ids, time.perf_counter() - began)

    def _found(self, queries: Sequence[Row], done: Remembered) -> list[Row]:
        """The turns that are named by what each question finds, best first."""
        self._encoder.vectors([query["query"] for query in queries])
        run: list[Row] = []
        for query in queries:
            hits = done.records.search(query["group"], query["query"], limit=HITS)
            named = (turn for hit in hits for source in hit.record["sources"] for turn in source["turns"])
            run.append({"qid": query["qid"], "ranked": list(dict.fromkeys(done.turns[turn] for turn in named))[:SHOWN]})
        return run

    def _judged(self, name: str, run: Sequence[Row]) -> float:
        target = TARGETS[0]
        queries = self._data / f"{target.queries}.{self._half}.jsonl"
        given = ["retrieval", "--queries", str(queries), "--exclude", target.exclude]
        return self._scored(name, given, run)["ALL"][target.metric]

    # --- changes ---------------------------------------------------------------------------------------------------

    def changes(self) -> Iterator[tuple[str, bool]]:
        """Weigh the pairs of texts that contradict each other, and those that do not."""
        pairs = [p for p in _rows(self._data / f"conflict/pairs.{self._half}.jsonl") if p["source"] != "ramdocs"]
        vectors = self._encoder.vectors([pair[side] for pair in pairs for side in ("a", "b")])
        engine = ExtractiveConversationEngine()
        verdicts: list[str] = []
        for place, pair in enumerate(pairs):
            known = ExistingMemory("a", pair["a"], "semantic", float(vectors[2 * place] @ vectors[2 * place + 1]))
            quote = TurnQuote("b", pair["b"], (0, len(pair["b"])))
            verdicts.append(engine.resolve([Fact(pair["b"], "semantic", (quote,))], [[known]])[0].verdict)
        given = ["pairs", "--pairs", str(self._written("pairs", pairs)), "--by", "source"]
        for name, counted in (("superseded", ("supersede",)), ("seen", ("supersede", "contradicts"))):
            run = [{"pid": p["pid"], "pred": verdict in counted} for p, verdict in zip(pairs, verdicts, strict=True)]
            table = self._scored(name, given, run)["ALL"]
            yield _at_least(f"changes {name}, RAMDocs apart: precision", table["P"], LEAST_PRECISION)
            yield _at_least(f"changes {name}, RAMDocs apart: recall", table["R"], LEAST_RECALL)

    # --- the judge -------------------------------------------------------------------------------------------------

    def _scored(self, name: str, given: Sequence[str], run: Sequence[Row]) -> dict[str, dict[str, float]]:
        judge = [sys.executable, str(self._data / "score.py"), *given, "--run", str(self._written("run", run))]
        table = subprocess.run(judge, check=True, capture_output=True, text=True).stdout
        sys.stdout.write(f"{name}\n{table}\n")
        return json.loads(subprocess.run([*judge, "--json"], check=True, capture_output=True, text=True).stdout)

    def _written(self, name: str, rows: Sequence[Row]) -> Path:
        path = self._folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
        return path


def _sessions(turns: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    sessions: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for turn in turns:
        sessions[turn["group"], turn["session"]].append(turn)
    return dict(sessions)


def _message(turn: Row) -> HumanMessage:
    """What an application hands over: both sides of these dialogues are people."""
    said = " ".join(" ".join(filter(None, (turn["text"], turn.get("caption")))).split())
    return HumanMessage(said, id=turn["id"], name=turn["speaker"], additional_kwargs={"date": turn["date"]})


def _duplicates(records: RecordStore, users: Sequence[str], encoder: Encoder) -> float:
    """The share of current memories that repeat an earlier one of the same user and speaker."""
    repeated = total = 0
    for user in users:
        kept = list(_current(records, user))
        vectors = encoder.vectors([record["text"] for record in kept])
        cosines = np.tril(vectors @ vectors.T, -1)
        heads = [unattributed(record["text"]) for record in kept]
        words = [(speaker, _WORD.findall(said.casefold())) for speaker, _, said in heads]
        marks = [(speaker, names_and_numbers(said)) for speaker, _, said in heads]
        first = {str(said): place for place, said in reversed(list(enumerate(words)))}
        for place, said in enumerate(words):
            alike = np.flatnonzero(cosines[place] >= ALIKE)
            repeated += first[str(said)] < place or any(marks[place] == marks[other] for other in alike)
        total += len(kept)
    sys.stdout.write(f"{total:,} memories are current, {repeated} repeat an earlier one\n\n")
    return repeated / max(1, total)


def _current(records: RecordStore, user: str) -> Iterator[Record]:
    """The memories of a user that are current, oldest first."""
    pages, cursor = list[Record](), None
    while True:
        page = records.list(user, limit=100, cursor=cursor)
        pages += page.records
        cursor = page.cursor
        if cursor is None:
            return reversed(pages)


def _at_least(name: str, reached: float, least: float) -> tuple[str, bool]:
    return f"{name} {reached:.4f}, target {least:.4f}", reached >= least


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    raise SystemExit(main())
