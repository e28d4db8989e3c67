"""Fits the weights by which `recall` judges whether memories help with a message, and which of them do.

    python benchmarks/fit_recall.py --eval DIR [--file dialogues.dev.jsonl]

DIR is the folder of evaluation data. Each dialogue of `everyday` is told as in `everyday.py`; each of its checks is one
message. A message of kind `silent` needs no memory, and neither do those of other dialogues; of the others, the
memories that hold what the check asks for help, but for what the assistant says after them. Prints how well weights do
on dialogues they were not fitted on (four parts), and the weights fitted on all, as they stand in
engines/extractive/remembering/relevance.py.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from everyday import Dialogue, _is_held, _rows  # benchmarks, too
from langgraph.store.base import BaseStore
from sklearn.linear_model import LogisticRegression

from agentic_memory_bank.engines.extractive.remembering.relevance import (
    HELPS,
    Likeness,
    memory_features,
    message_features,
)
from agentic_memory_bank.nodes.recall.memory_search import likeness
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.local import local_embeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.text.cleaning import is_cjk

PARTS = 4
OTHERS = 0.3
"""What a message of another dialogue counts."""
HELPFUL = 3.0
"""What a memory that helps counts: there are many more that do not."""
CANDIDATES = 20


class Message(NamedTuple):
    """A message, and what was found for it."""

    part: int
    text: str
    found: Sequence[Likeness]
    helpful: Sequence[bool]
    needs: bool
    is_own: bool


class _Asked(Dialogue):
    """A dialogue of which nothing is wanted but what is found for each message."""

    def __init__(self, data: dict[str, Any], others: Sequence[str], part: int) -> None:
        super().__init__(data)
        self._others, self._part = others, part
        self._encoder = Encoder(local_embeddings())
        self.messages: list[Message] = []

    def _checked(self, memories: Memories, store: BaseStore, check: dict[str, Any], project: str) -> dict[str, Any]:
        records = RecordStore(store, self._encoder, lambda: self._now)
        if "ask" in check and check["kind"] != "as_of":
            self.messages.append(self._message(records, check["ask"], check.get("has", []), project, is_own=True))
        if check is self._data["checks"][-1]:
            self.messages += [self._message(records, ask, [], project, is_own=False) for ask in self._others]
        return {}

    def _message(self, store: RecordStore, ask: str, has: Sequence[Any], project: str, *, is_own: bool) -> Message:
        found = store.search(self._data["id"], ask, project=project, limit=CANDIDATES, threshold=None)
        likenesses = [likeness(ask, one) for one in found]
        helpful = [
            any(_is_held([one.record["text"]], term) for term in has) and not like.by_assistant  # which only echoes
            for one, like in zip(found, likenesses, strict=True)
        ]
        return Message(self._part, ask, likenesses, helpful, bool(has), is_own)


def main(argv: list[str] | None = None) -> int:
    """Fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data")
    parser.add_argument("--file", default="dialogues.dev.jsonl", help="which dialogues (default: %(default)s)")
    arguments = parser.parse_args(argv)
    data = _rows(arguments.eval / "everyday" / arguments.file)
    messages = [message for one in _told(data) for message in one]
    for chinese in (False, True):
        own = [message for message in messages if is_cjk(message.text) == chinese and message.found]
        _print(own, "Chinese" if chinese else "English")
    return 0


def _told(data: Sequence[dict[str, Any]]) -> Iterator[Sequence[Message]]:
    for number, one in enumerate(data):
        silent = [c["ask"] for other in data if other is not one for c in other["checks"] if c["kind"] == "silent"]
        dialogue = _Asked(one, [ask for ask in silent if is_cjk(ask) == (one["lang"] == "zh")], number % PARTS)
        dialogue.run()
        yield dialogue.messages


def _print(messages: Sequence[Message], language: str) -> None:
    told: list[tuple[float, Message]] = []
    for part in range(PARTS):
        model = _fitted_messages([one for one in messages if one.part != part])
        told += [(_probability(model, one), one) for one in messages if one.part == part]
    own = [(p, one) for p, one in told if one.is_own]
    opened = np.mean([p >= HELPS for p, one in own if one.needs])
    closed = np.mean([p < HELPS for p, one in own if not one.needs])
    others = np.mean([p < HELPS for p, one in told if not one.is_own])
    sys.stdout.write(f"{language}: {opened:.3f} of messages that need memories are let through, {closed:.3f} of those ")
    sys.stdout.write(f"that need none are not; of those of other dialogues {others:.3f}\n")
    sys.stdout.write(f"  HELP {_weights(_fitted_messages(messages), message_features('', []))}\n")
    sys.stdout.write(f"  FIT  {_weights(_fitted_memories(messages), memory_features(messages[0].found[0]))}\n")


def _fitted_messages(messages: Sequence[Message]) -> LogisticRegression:
    features = [[*message_features(one.text, one.found).values()] for one in messages]
    counts = [1.0 if one.is_own else OTHERS for one in messages]
    return _model(3.0).fit(features, [one.needs for one in messages], sample_weight=counts)


def _fitted_memories(messages: Sequence[Message]) -> LogisticRegression:
    pairs = [pair for one in messages if any(one.helpful) for pair in zip(one.found, one.helpful, strict=True)]
    features = [[*memory_features(found).values()] for found, _ in pairs]
    counts = [HELPFUL if helpful else 1.0 for _, helpful in pairs]
    return _model(1.0).fit(features, [helpful for _, helpful in pairs], sample_weight=counts)


def _model(strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=5_000, fit_intercept=False)


def _probability(model: LogisticRegression, one: Message) -> float:
    return float(model.predict_proba([[*message_features(one.text, one.found).values()]])[0, 1])


def _weights(model: LogisticRegression, names: Any) -> dict[str, float]:
    return {name: round(float(value), 2) for name, value in zip(names, model.coef_[0], strict=True)}


if __name__ == "__main__":
    raise SystemExit(main())
