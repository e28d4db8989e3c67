"""Long chats with one user: is what they are asked later found, both sides of a contradiction, and the newer update?

    python benchmarks/long_chats.py --eval DIR [--half dev] [--only CONV ...] [--run FILE]

DIR is the folder of evaluation data, with BEAM's chats in `beam` and `score.py` as the judge. Each chat is a user of
`Memories`, each of its sessions a conversation; what is said is handed over two messages at a time, through the public
API alone, offline. A search counts for the messages that the source of a hit names, in the order of the hits.

*Newer*: of the updates whose two messages are both among the first ten, those where a hit of the newer message stands
before the older one's, or has taken its place. *Silent*: of the questions that no message answers, those for which
`recall` shows nothing. *Wishes*: of the questions for which the user has said how they want such questions to be
answered, those for which `recall` shows that. *Taking in*: CPU seconds for a message of 2,000 characters, by the time
of all of them and their length.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from research_calls import machine  # a benchmark, too

from agentic_memory_bank.nodes.messages import turns_of
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.tools.embeddings.models import local_embeddings

Row = dict[str, Any]

TOGETHER = 2
HITS = 40
"""Memories that a search returns; several may name one message."""
SHOWN = 10
LENGTH = 2_000
WISHED = "instruction_following"
"""Questions for which the user has said how they want such questions answered; the first gold message is where."""
PATIENCE = 60.0
BARS = {"all": 0.62, "contradiction": 0.80, "update": 0.75, "silent": 0.50, "taking in": 0.15}
"""What is to be reached; for taking in, at most."""


class Chat:
    """One chat, remembered by `Memories`."""

    def __init__(self, id: str, messages: Sequence[Row]) -> None:
        self._id, self._ids = id, dict[str, str]()
        settings = {"recall_timeout": PATIENCE}  # how fast it answers is measured elsewhere
        self._memories = Memories(InMemoryStore(), embeddings=local_embeddings(), settings=settings)
        began = time.process_time()
        sessions: dict[str, list[Row]] = defaultdict(list)
        for message in messages:
            sessions[message["session"]].append(message)
        for session, said in sessions.items():
            for start in range(0, len(said), TOGETHER):
                self._tell(session, said[start : start + TOGETHER], end=start + TOGETHER >= len(said))
        self.seconds = time.process_time() - began
        self.characters = sum(len(message["text"]) for message in messages)

    def _tell(self, session: str, said: Sequence[Row], *, end: bool) -> None:
        messages = [_message(one) for one in said]
        for message, one in zip(messages, said, strict=True):
            self._ids.update((turn.id, one["id"]) for turn in turns_of([message]))
        self._memories.remember(messages, user=self._id, conversation_id=session, end=end)

    def ranked(self, question: str) -> list[str]:
        """The messages that are found for a question, best first."""
        hits = self._memories.search(question, user=self._id, limit=HITS, threshold=None)
        named = (turn for hit in hits for source in hit.record["sources"] for turn in source["turns"])
        return [*dict.fromkeys(self._ids[turn] for turn in named if turn in self._ids)]

    def shown(self, question: str) -> set[str]:
        """The messages that the memories which are shown for a question name."""
        memories = self._memories.recall(question, user=self._id).get("memories", [])
        return {self._ids[turn] for memory in memories for turn in memory["turns"] if turn in self._ids}

    def close(self) -> None:
        """Let the memories go."""
        self._memories.close()


def main(argv: list[str] | None = None) -> int:
    """Measure and print. The exit status says whether all bars were reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data, with score.py")
    parser.add_argument("--half", default="dev", help="which half's files to read (default: dev)")
    parser.add_argument("--only", nargs="*", help="ids of chats (default: all)")
    parser.add_argument("--run", type=Path, help="where to write the rankings (default: nowhere)")
    arguments = parser.parse_args(argv)
    messages = _rows(arguments.eval / f"beam/messages.{arguments.half}.jsonl")
    queries = _rows(arguments.eval / f"beam/queries.{arguments.half}.jsonl")
    wanted = arguments.only or [*dict.fromkeys(message["conv"] for message in messages)]
    queries = [query for query in queries if query["conv"] in wanted]
    sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}\n\n")
    ranked, silent, seconds, characters = dict[str, list[str]](), list[bool](), 0.0, 0
    wishes = list[bool]()
    for conv in wanted:
        chat = Chat(conv, [message for message in messages if message["conv"] == conv])
        seconds, characters = seconds + chat.seconds, characters + chat.characters
        asked = [query for query in queries if query["conv"] == conv]
        ranked |= {query["qid"]: chat.ranked(query["question"]) for query in asked}
        silent += [not chat.shown(query["question"]) for query in asked if query["type"] == "abstention"]
        wishes += [query["gold"][0] in chat.shown(query["question"]) for query in asked if query["type"] == WISHED]
        chat.close()
    sys.stdout.write(_judged(arguments.eval, queries, ranked, arguments.run) + "\n")
    sys.stdout.write(
        f"      wishes about what is asked that are shown: {fmean(wishes or [False]):.3f} of {len(wishes)}\n"
    )
    return _report(queries, ranked, silent, seconds * LENGTH / max(1, characters))


def _judged(data: Path, queries: Sequence[Row], ranked: dict[str, list[str]], run: Path | None) -> str:
    """The judge's table of what was found, by type."""
    with tempfile.TemporaryDirectory() as folder:
        asked, found = Path(folder) / "queries.jsonl", run or Path(folder) / "run.jsonl"
        _write(asked, [query for query in queries if query["gold"]])
        _write(found, [{"qid": qid, "ranked": ids} for qid, ids in ranked.items()])
        judge = [sys.executable, str(data / "score.py"), "retrieval", "--queries", str(asked), "--run", str(found)]
        return subprocess.run([*judge, "--by", "type"], check=True, capture_output=True, text=True).stdout


def _report(queries: Sequence[Row], ranked: dict[str, list[str]], silent: Sequence[bool], cost: float) -> int:
    answered = [query for query in queries if query["gold"]]
    both = {
        type: fmean([_has_all(one, ranked) for one in answered if one["type"].startswith(type)] or [0.0])
        for type in ("contradiction", "knowledge_update")
    }
    newer = [_newer_first(one, ranked) for one in answered if one["type"] == "knowledge_update"]
    rows = (
        ("R@10, all types", fmean(_share(query, ranked) for query in answered), BARS["all"]),
        ("both sides of a contradiction", both["contradiction"], BARS["contradiction"]),
        ("both messages of an update", both["knowledge_update"], BARS["update"]),
        ("silent where nothing answers", fmean(silent or [False]), BARS["silent"]),
    )
    for name, value, bar in rows:
        sys.stdout.write(f"{'pass' if value >= bar else 'FAIL'}  {name}: {value:.3f}, target {bar:.2f}\n")
    is_cheap = cost <= BARS["taking in"]
    sys.stdout.write(f"{'pass' if is_cheap else 'FAIL'}  CPU s for {LENGTH:,} characters: {cost:.3f}, target 0.15\n")
    sys.stdout.write(f"      the newer message of an update before the older: {fmean(newer or [False]):.3f}\n")
    return 0 if is_cheap and all(value >= bar for _, value, bar in rows) else 1


def _share(query: Row, ranked: dict[str, list[str]]) -> float:
    return fmean(id in ranked[query["qid"]][:SHOWN] for id in query["gold"])


def _has_all(query: Row, ranked: dict[str, list[str]]) -> bool:
    return {*query["gold"]} <= {*ranked[query["qid"]][:SHOWN]}


def _newer_first(query: Row, ranked: dict[str, list[str]]) -> bool:
    """Whether the first of an update's messages that is found is the newer one."""
    newer = {*query.get("parts", {}).get("updated_info", ())}
    found = [id for id in ranked[query["qid"]] if id in query["gold"]]
    return bool(found) and found[0] in newer


def _message(row: Row) -> BaseMessage:
    about: Any = {"id": row["id"], "additional_kwargs": {"date": row["time"]} if row.get("time") else {}}
    return HumanMessage(row["text"], **about) if row["role"] == "user" else AIMessage(row["text"], **about)


def _write(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf8")


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    raise SystemExit(main())
