"""Fits the weights by which `recall` judges whether a later memory has replaced an earlier one.

    python benchmarks/fit_succession.py --eval DIR

DIR is the folder of evaluation data. Each dialogue of `everyday`'s dev half, and of the people beside this file, is
told as in `everyday.py`, and so is each scene of changes.jsonl, which was written for this by language models that had
seen neither the package nor the data: a person's messages over months, and questions with the places of all that
answer them and hold, and of those that no longer do; half of the questions have several answers that hold side by side.

Of the memories that are found for a question, a later one has replaced an earlier one where that only says what does
not hold and the later one what does; it has not where the earlier one says what holds. Prints of each file how many of
its questions are shown what they must and nothing that they must not, where nothing is replaced and by weights that
the other files give, and the weights of all as they stand in engines/extractive/remembering/succession.py.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from everyday import Dialogue, Row, _is_held, _rows  # benchmarks, too
from langgraph.store.base import BaseStore
from sklearn.linear_model import LogisticRegression

from agentic_memory_bank.engines.extractive.answering.helping import MessageReading
from agentic_memory_bank.engines.extractive.remembering.succession import WEIGHTS, Pair, Told, pairs, succeeded
from agentic_memory_bank.nodes.recall.memory_search import CANDIDATES, SHARE_OF_BEST, as_told, likenesses, worth_reading
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.models import local_embeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore

KINDS = ("recall", "only", "answer")
PEOPLE = (
    "people",
    "later_people",
    "third_people",
    "fourth_people",
    "fifth_people",
    "sixth_people",
    "seventh_people",
    "eighth_people",
)
SCENES = "changes"
PARTS = 4


class Message(NamedTuple):
    """A question, and the memories that were found for it."""

    file: str
    ask: str
    told: Sequence[Told]
    chances: Sequence[float]
    pairs: Sequence[Pair]
    needed: Sequence[frozenset[int]]
    """The places of those that say what must be shown, for each thing that must."""
    stale: frozenset[int]
    """The places of those that say what must not be shown."""
    most: int
    """How many may be shown."""


class _Asked(Dialogue):
    """A dialogue of which nothing is wanted but what is found for each question."""

    def __init__(self, data: Row, file: str, encoder: Encoder) -> None:
        super().__init__(data)
        self._file, self._encoder = file, encoder
        self.messages: list[Message] = []

    def _checked(self, memories: Memories, store: BaseStore, check: Row, project: str) -> Row:
        if check["kind"] not in KINDS or not check.get("has"):
            return {}
        ask, records = check["ask"], RecordStore(store, self._encoder, lambda: self._now)
        found = records.search(self._data["id"], ask, project=project or None, limit=CANDIDATES, threshold=None)
        if found := worth_reading(ask, found):
            chances = MessageReading(ask, likenesses(ask, found), self._encoder.answers).chances
            told, known = [as_told(one) for one in found], [one.record for one in found]
            needed = [places for term in check["has"] if (places := self._holding(known, term))]
            stale = frozenset[int]().union(*(self._holding(known, term) for term in check.get("not", [])))
            rivals, most = [*pairs(ask, told, chances)], check.get("most", len(told))
            self.messages.append(Message(self._file, ask, told, chances, rivals, needed, stale, most))
        return {}

    def _holding(self, records: Sequence[Record], term: Any) -> frozenset[int]:
        """The places of the memories that hold a term; of a scene, those that were drawn from one of its messages."""
        if not isinstance(term, int):
            return frozenset(place for place, one in enumerate(records) if _is_held([one["text"]], term))
        return frozenset(
            place
            for place, one in enumerate(records)
            if any(self._number(turn) == term for source in one["sources"] for turn in source["turns"])
        )

    def _number(self, turn: Any) -> int:
        conversation, place = self._places.get(turn, ("0", -1))
        return int(conversation) + place


def main(argv: list[str] | None = None) -> int:
    """Fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data")
    folder: Path = parser.parse_args(argv).eval / "everyday"
    data = [("dev", one) for one in _rows(folder / "dialogues.dev.jsonl")]
    data += [(name, one) for name in PEOPLE for one in _rows(_beside(name))]
    data += [(f"{SCENES} {n % PARTS}", _as_dialogue(one, n)) for n, one in enumerate(_rows(_beside(SCENES)))]
    encoder, messages = Encoder(local_embeddings()), list[Message]()
    for name, one in data:
        dialogue = _Asked(one, name, encoder)
        dialogue.run()
        messages += dialogue.messages
    for name, group in groupby(sorted(messages, key=lambda one: one.file), key=lambda one: one.file):
        left, weights = [*group], _fitted([one for one in messages if one.file != name])
        before, after = (np.mean([_passes(one, which) for one in left]) for which in (None, weights))
        sys.stdout.write(f"{name:14} {before:.3f} -> {after:.3f} of {len(left)}\n")
    sys.stdout.write(f"{_fitted(messages)}\n")
    return 0


def _beside(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.jsonl")


def _as_dialogue(scene: Row, number: int) -> Row:
    """A scene as a dialogue: a conversation a day, named by the number of its first message."""
    days = [[*day] for _, day in groupby(enumerate(scene["told"]), key=lambda one: one[1][0])]
    told = [
        {"id": str(day[0][0]), "date": day[0][1][0], "turns": [["user", text] for _, (_, text) in day]} for day in days
    ]
    checks = [
        {"after": told[-1]["id"], "kind": KINDS[0], "ask": one["ask"], "has": one["holds"], "not": one["replaced"]}
        for one in scene["asked"]
    ]
    return {"id": f"scene {number}", "lang": scene["lang"], "conversations": told, "checks": checks}


def _fitted(messages: Sequence[Message]) -> dict[str, float]:
    labelled = [(pair, is_replaced) for one in messages for pair, is_replaced in _labelled(one)]
    signs = [[float(pair.signs[name]) for name in WEIGHTS] for pair, _ in labelled]
    model = LogisticRegression(C=1.0, max_iter=5_000, fit_intercept=False).fit(signs, [known for _, known in labelled])
    return {name: round(float(weight), 2) for name, weight in zip(WEIGHTS, model.coef_[0], strict=True)}


def _labelled(one: Message) -> Sequence[tuple[Pair, bool]]:
    """The pairs of which it is known whether the later memory has replaced the earlier one."""
    wanted = frozenset[int]().union(*one.needed)
    return [
        (pair, pair.earlier in one.stale)
        for pair in one.pairs
        if (pair.earlier in wanted) != (pair.earlier in one.stale)
        and (pair.later in wanted or pair.earlier not in one.stale)
    ]


def _passes(one: Message, weights: dict[str, float] | None) -> bool:
    """Whether what is shown for a question is what must be, and nothing that must not."""
    chances, gone = [*one.chances], frozenset[int]()
    if weights is not None:
        chances, gone = succeeded(one.ask, one.told, chances, SHARE_OF_BEST, weights)
    least = SHARE_OF_BEST * max(chances)
    shown = {place for place, chance in enumerate(chances) if chance >= least and place not in gone}
    return all(shown & places for places in one.needed) and not shown & one.stale and len(shown) <= one.most


if __name__ == "__main__":
    raise SystemExit(main())
