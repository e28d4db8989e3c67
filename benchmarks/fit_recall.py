"""Fits the weights by which `recall` judges whether memories help with a message, and which of them do.

    python benchmarks/fit_recall.py --eval DIR [--file dialogues.dev.jsonl]

DIR is the folder of evaluation data. Each dialogue of `everyday`, and of dialogues.jsonl beside this file, is told as
in `everyday.py`; each of its checks is one message. A message of kind `silent` needs no memory, and neither do those
of other dialogues, nor what anybody may ask (general_messages.txt), nor what somebody asks of their own life who never
told of it (personal_messages.txt, each with the words that would be a sign that it was told). Of the others, the
memories that hold what the check asks for help, but for what the assistant says after them. Prints how well weights do
on dialogues they were not fitted on (four parts), and the weights fitted on all, as they stand in
engines/extractive/answering/helping.py: those of the messages are moved from what stands there, so that what was
fitted on other people before is not lost.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from everyday import Dialogue, _is_held, _rows  # benchmarks, too
from langgraph.store.base import BaseStore
from sklearn.linear_model import LogisticRegression

from agentic_memory_bank.engines.extractive.answering.helping import HELP, HELPS, MessageReading
from agentic_memory_bank.engines.extractive.answering.likeness import Likeness
from agentic_memory_bank.nodes.recall.memory_search import CANDIDATES, likenesses, worth_reading
from agentic_memory_bank.runs.memories import Memories
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.models import local_embeddings
from agentic_memory_bank.tools.memories.record_store import RecordStore
from agentic_memory_bank.tools.text.cleaning import is_cjk

PARTS = 4
OTHERS = 0.15
"""What a message counts that is not of the dialogue."""
PERSONAL = 0.3
"""What a message counts that asks for what was never told."""
NEARNESS = 1.0
"""How much weights cost that are moved."""
STEPS = 50
HELPFUL = 3.0
"""What a memory that helps counts: there are many more that do not."""
RECENT = 0.8
"""The weight of how late a memory was said, set by hand: these checks are made right after what they are about, so that
a fit would hide all that is older. At 0.8 age alone hides nothing that fits as well."""
OWN = Path(__file__).with_name("dialogues.jsonl")
"""Invented people, written for this by authors who had not seen the package."""
GENERAL = Path(__file__).with_name("general_messages.txt")
UNTOLD = Path(__file__).with_name("personal_messages.txt")


class Message(NamedTuple):
    """A message, and what was found for it."""

    part: int
    text: str
    reading: MessageReading
    helpful: Sequence[bool]
    needs: bool
    is_own: bool
    counts: float


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
        found = worth_reading(ask, found)
        likeness: Sequence[Likeness] = likenesses(ask, found)
        helpful = [
            any(_is_held([one.record["text"]], term) for term in has) and not like.by_assistant  # which only echoes
            for one, like in zip(found, likeness, strict=True)
        ]
        counts = 1.0 if is_own else PERSONAL if ask in _untold() else OTHERS
        return Message(self._part, ask, MessageReading(ask, likeness), helpful, bool(has), is_own, counts)


def main(argv: list[str] | None = None) -> int:
    """Fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data")
    parser.add_argument("--file", default="dialogues.dev.jsonl", help="which dialogues (default: %(default)s)")
    arguments = parser.parse_args(argv)
    data = [*_rows(arguments.eval / "everyday" / arguments.file), *_rows(OWN)]
    messages = [message for one in _told(data) for message in one]
    for chinese in (False, True):
        own = [message for message in messages if is_cjk(message.text) == chinese and message.reading.memories]
        _print(own, "Chinese" if chinese else "English")
    return 0


@cache
def _untold() -> Mapping[str, str]:
    """Questions for what somebody may never have told, each with the words that tell that they have."""
    return dict(line.split("\t") for line in UNTOLD.read_text(encoding="utf8").splitlines())


def _told(data: Sequence[dict[str, Any]]) -> Iterator[Sequence[Message]]:
    general = GENERAL.read_text(encoding="utf8").split("\n")
    for number, one in enumerate(data):
        silent = [c["ask"] for other in data if other is not one for c in other["checks"] if c["kind"] == "silent"]
        said = " ".join(text for conversation in one["conversations"] for _, text in conversation["turns"])
        untold = [ask for ask, told in _untold().items() if not re.search(told, said, re.IGNORECASE)]
        others = [ask for ask in (*silent, *general, *untold) if ask and is_cjk(ask) == (one["lang"] == "zh")]
        dialogue = _Asked(one, others, number % PARTS)
        dialogue.run()
        yield dialogue.messages


def _print(messages: Sequence[Message], language: str) -> None:
    told: list[tuple[float, Message]] = []
    places: list[int] = []
    for part in range(PARTS):
        others = [one for one in messages if one.part != part]
        memories = _fitted_memories(others)
        needs = _fitted_messages(others, memories)
        for one in (one for one in messages if one.part == part):
            told.append((_needs(needs, memories, one), one))
            places += _place_of_best(memories, one)
    own = [(p, one) for p, one in told if one.is_own]
    opened = np.mean([p >= HELPS for p, one in own if one.needs])
    closed = np.mean([p < HELPS for p, one in own if not one.needs])
    others = np.mean([p < HELPS for p, one in told if not one.is_own and one.counts == OTHERS])
    untold = np.mean([p < HELPS for p, one in told if one.counts == PERSONAL])
    first, third = np.mean([place < 1 for place in places]), np.mean([place < 3 for place in places])
    sys.stdout.write(f"{language}: {opened:.3f} of messages that need memories are let through, {closed:.3f} of those ")
    sys.stdout.write(f"that need none are not; of those that are not of the dialogue {others:.3f}, of those ")
    sys.stdout.write(f"that ask for what was never told {untold:.3f}\n")
    sys.stdout.write(f"  a memory that helps is first for {first:.3f}, among the first three for {third:.3f}\n")
    memories = _fitted_memories(messages)
    sys.stdout.write(f"  HELP {_weights(_fitted_messages(messages, memories), _message(messages[0], memories))}\n")
    sys.stdout.write(f"  FIT  {_weights(memories.coef_[0], messages[0].reading.memories[0])}\n")


def _place_of_best(model: LogisticRegression, one: Message) -> Sequence[int]:
    """Where the likeliest memory that helps stands; nothing where there is none."""
    if not any(one.helpful):
        return []
    ranked = np.argsort([-chance for chance in _chances(model, one)], kind="stable")
    return [next(place for place, number in enumerate(ranked) if one.helpful[number])]


def _chances(model: LogisticRegression, one: Message) -> list[float]:
    return [float(chance) for chance in model.predict_proba([[*f.values()] for f in one.reading.memories])[:, 1]]


def _message(one: Message, memories: LogisticRegression) -> Mapping[str, float]:
    return one.reading.message(_chances(memories, one))


def _fitted_messages(messages: Sequence[Message], memories: LogisticRegression) -> np.ndarray:
    """The weights of messages, moved from those that stand there as little as these messages allow."""
    rows = [_message(one, memories) for one in messages]
    features = np.array([[*row.values()] for row in rows])
    needs = np.array([float(one.needs) for one in messages])
    counts = np.array([one.counts for one in messages])
    stood = np.array([HELP[is_cjk(messages[0].text)].get(name, 0.0) for name in rows[0]])
    moved = np.zeros_like(stood)
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-features @ (stood + moved)))
        slope = features.T @ (counts * (chances - needs)) + NEARNESS * moved
        bend = (features.T * (counts * chances * (1 - chances))) @ features + NEARNESS * np.eye(len(moved))
        moved -= np.linalg.solve(bend, slope)
    return stood + moved


def _fitted_memories(messages: Sequence[Message]) -> LogisticRegression:
    asked = [one for one in messages if any(one.helpful)]
    pairs = [pair for one in asked for pair in zip(one.reading.memories, one.helpful, strict=True)]
    features = [[*found.values()] for found, _ in pairs]
    counts = [HELPFUL if helpful else 1.0 for _, helpful in pairs]
    place = [*pairs[0][0]].index("recent")
    for row in features:
        row[place] = 0.0
    fitted = _model(1.0).fit(features, [helpful for _, helpful in pairs], sample_weight=counts)
    fitted.coef_[0, place] = RECENT
    return fitted


def _model(strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=5_000, fit_intercept=False)


def _needs(weights: np.ndarray, memories: LogisticRegression, one: Message) -> float:
    return float(1 / (1 + np.exp(-np.array([*_message(one, memories).values()]) @ weights)))


def _weights(weights: np.ndarray, names: Any) -> dict[str, float]:
    return {name: round(float(value), 2) for name, value in zip(names, weights, strict=True)}


if __name__ == "__main__":
    raise SystemExit(main())
