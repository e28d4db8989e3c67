"""What becomes of conversations as people have them: drawn, recalled, corrected, left unsaid, answered, and forgotten.

    python benchmarks/everyday.py --eval DIR [--file dialogues.dev.jsonl] [--run FILE] [--only ID ...] [--failed]

DIR is the folder of evaluation data; its own `everyday.py` is the judge, and `everyday/README.md` says what is tried.
Each dialogue is a user. Each of its conversations is remembered as a whole and ended, with the clock at its date; each
check is made two hours after, in a conversation of its own, with the defaults and without a model. What is said in a
check (`answer`, `forget`) is said to a copy of the memories, so that no check sees what another one has left.

`--file benchmarks/people.jsonl` takes 14 people of our own, `later_people.jsonl` 18 more, `third_people.jsonl` to
`seventh_people.jsonl` 14 each, `eighth_people.jsonl` 10.

Besides what the judge counts, *forget by description*: what `concerning` shows for the words of each `forget` check is
erased by its ids. How many of the terms of `gone` are gone; how many of those of `kept`, and of the labelled facts that
hold no term of `gone`, are there still?
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.memory import InMemoryStore
from research_calls import machine  # benchmarks, too

from agentic_memory_bank.nodes.messages import turns_of
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.records import TYPES, Record
from agentic_memory_bank.tools.embeddings.models import local_embeddings

Row = dict[str, Any]
Term = str | list[str]

AFTER = timedelta(hours=2)
"""How long after a conversation its checks are made."""
TURN = timedelta(seconds=30)
"""From one turn to the next."""
PAGE = 100
PATIENCE = 60.0
"""Seconds that are waited for what is remembered in the background."""
DRAWN = [type for type in TYPES if type != "verbatim"]


def main(argv: list[str] | None = None) -> int:
    """Run the package over the dialogues, and print what the judge says of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data, with everyday.py")
    parser.add_argument("--file", default="dialogues.dev.jsonl", help="a name there, or any file (%(default)s)")
    parser.add_argument("--run", type=Path, help="where to write the run (default: nowhere)")
    parser.add_argument("--only", nargs="*", help="ids of dialogues (default: all)")
    parser.add_argument("--failed", action="store_true", help="print what failed, too")
    arguments = parser.parse_args(argv)
    own = Path(arguments.file)
    data = _rows(own if own.is_file() else arguments.eval / "everyday" / own)
    if arguments.only:
        data = [one for one in data if one["id"] in arguments.only]
    sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}\n\n")
    began, run, forgotten = time.perf_counter(), list[Row](), Forgotten()
    for one in data:
        dialogue = Dialogue(one)
        run.append(dialogue.run())
        for check, before, left in dialogue.forgotten:
            forgotten.count(one, check, before, left)
    with tempfile.TemporaryDirectory() as folder:
        given, path = Path(folder) / "data.jsonl", arguments.run or Path(folder) / "run.jsonl"
        _write(given, data)
        _write(path, run)
        judge = [sys.executable, str(arguments.eval / "everyday.py"), "--data", str(given), "--run", str(path)]
        judge += ["--failed"] if arguments.failed else []
        sys.stdout.write(subprocess.run(judge, check=True, capture_output=True, text=True).stdout)
    sys.stdout.write(f"\n{forgotten}\n{time.perf_counter() - began:.0f} s\n")
    return 0


class _LockedStore(InMemoryStore):
    """A store that is copied while what was shown is counted in the background."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        with self._lock:
            return super().batch(ops)


class Forgotten:
    """How far what a description shows, once it is erased, was what was meant."""

    def __init__(self) -> None:
        self._gone = self._kept = self._meant = self._others = self._facts = self._all_facts = 0
        self._lost: list[str] = []

    def count(self, one: Row, check: Row, before: Sequence[str], left: Sequence[str]) -> None:
        """Take in one check of a dialogue: what was there before, and what is left."""
        id = one["id"]
        for fact in one["facts"]:
            said = [text for text in before if all(_is_held([text], term) for term in fact["all"])]
            if said and not any(_is_held([text], term) for text in said for term in check["gone"]):
                is_left = any(all(_is_held([text], term) for term in fact["all"]) for text in left)
                self._all_facts += 1
                self._facts += is_left
                self._lost += [] if is_left else [f"{id}: {fact['all']}"]
        for term in check["gone"]:
            self._meant += 1
            self._gone += not _is_held(left, term)
        for term in check["kept"]:
            if _is_held(before, term):  # what was never kept cannot be lost here
                self._others += 1
                self._kept += _is_held(left, term)
                self._lost += [] if _is_held(left, term) else [f"{id}: {term}"]

    def __str__(self) -> str:
        rows = [
            f"{'forget by description: gone':36s} {self._gone:>7} of {self._meant}",
            f"{'forget by description: kept':36s} {self._kept:>7} of {self._others}",
            f"{'forget by description: other facts':36s} {self._facts:>7} of {self._all_facts}",
        ]
        return "\n".join([*rows, *(f"LOST  {one}" for one in self._lost)])


class Dialogue:
    """One dialogue, told to memories of its own."""

    def __init__(self, data: Row) -> None:
        self._data = data
        self._now = datetime.now(UTC)
        self._places: dict[str, list[Any]] = {}
        """Conversation and index of each turn, by the id under which the memories know it."""
        self.forgotten: list[tuple[Row, Sequence[str], Sequence[str]]] = []
        """Of each check of `forget`: itself, the memories before it, and those that are left."""

    def run(self) -> Row:
        """Tell it, with its checks; what the judge wants to know of it."""
        store, found = _LockedStore(), dict[int, Row]()
        with self._memories(store) as memories:
            for conversation in self._data["conversations"]:
                self._tell(memories, conversation)
                self._now += AFTER
                for number, check in enumerate(self._data["checks"]):
                    if check["after"] == conversation["id"]:
                        found[number] = self._checked(memories, store, check, conversation.get("project", ""))
            drawn = [record for record in self._all(memories, replaced=True) if record["type"] in DRAWN]
        checks = [found.get(number, {}) for number in range(len(self._data["checks"]))]
        return {"id": self._data["id"], "drawn": [self._told(record) for record in drawn], "checks": checks}

    def _memories(self, store: BaseStore) -> Memories:
        patient = {"recall_timeout": PATIENCE}  # what is found is not to hang on how busy the machine is
        return Memories(store, embeddings=local_embeddings(), settings=patient, clock=lambda: self._now)

    def _tell(self, memories: Memories, conversation: Row) -> None:
        self._now = datetime.fromisoformat(conversation["date"]).replace(hour=12, tzinfo=UTC)
        messages = [_message(*turn) for turn in conversation["turns"]]
        for message, place in zip(messages, range(len(messages)), strict=True):
            message.id = f"{conversation['id']}.{place}"
        self._places.update(
            (turn.id, [conversation["id"], place])
            for place, message in enumerate(messages)
            for turn in turns_of([message])
        )
        project = conversation.get("project", "")
        memories.remember(
            messages, user=self._data["id"], project=project, conversation_id=conversation["id"], end=True
        )
        self._now += TURN * len(messages)

    def _told(self, record: Record) -> Row:
        turns = [self._places[turn] for source in record["sources"][:1] for turn in source["turns"][-1:]]
        return {"text": record["text"], "turn": turns[0] if turns else None}

    # --- checks ----------------------------------------------------------------------------------------------------

    def _checked(self, memories: Memories, store: BaseStore, check: Row, project: str) -> Row:
        match check["kind"]:
            case "answer":
                memories.flush()
                with self._memories(_copied(store)) as copy:
                    return {"answer": self._said(copy, check["ask"], project)}
            case "forget":
                memories.flush()
                with self._memories(_copied(store)) as copy:
                    self.forgotten.append((check, self._texts(copy), self._by_description(copy, check)))
                with self._memories(_copied(store)) as copy:
                    if self._said(copy, check["say"], project).rstrip().endswith(("?", "？")):
                        yes = "是的。" if self._data["lang"] == "zh" else "Yes."
                        self._said(copy, yes, project)
                    return {"left": self._texts(copy)}
            case _:
                day = check.get("date")
                found = memories.recall(check["ask"], user=self._data["id"], project=project, as_of=day)
                texts = [one["text"] for one in found.get("memories", ())]
                return {"block": found.get("block", ""), "memories": texts}

    def _said(self, memories: Memories, words: str, project: str) -> str:
        """The answer to something that is said in a conversation of its own."""
        output = memories.talk(words, user=self._data["id"], project=project, conversation_id="check")
        memories.flush(PATIENCE)
        return str(output["messages"][-1].text)

    def _by_description(self, memories: Memories, check: Row) -> Sequence[str]:
        """What is left once all that a description shows is erased."""
        with suppress(InputError):  # words that describe nothing ("forget that") are refused, and nothing is erased
            shown = memories.preview_delete_about(check["say"], user=self._data["id"])
            memories.delete(shown.ids, user=self._data["id"])
        return self._texts(memories)

    def _texts(self, memories: Memories) -> list[str]:
        return [record["text"] for record in self._all(memories, replaced=True)]

    def _all(self, memories: Memories, *, replaced: bool) -> Iterator[Record]:
        cursor = None
        while True:
            page = memories.list(user=self._data["id"], project=None, limit=PAGE, cursor=cursor, replaced=replaced)
            yield from page.records
            cursor = page.cursor
            if cursor is None:
                return


def _message(role: str, text: str) -> BaseMessage:
    return HumanMessage(text) if role == "user" else AIMessage(text)


def _copied(store: BaseStore) -> BaseStore:
    """Another store with all that is in one."""
    copy = _LockedStore()
    for namespace in store.list_namespaces(limit=1_000_000):
        for item in store.search(namespace, limit=1_000_000):
            if item.namespace == namespace:
                copy.put(namespace, item.key, item.value)
    return copy


def _is_held(texts: Sequence[str], term: Term) -> bool:
    words = [_plain(one) for one in (term if isinstance(term, list) else [term])]
    return any(word in _plain(text) for text in texts for word in words)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf8")


if __name__ == "__main__":
    raise SystemExit(main())
