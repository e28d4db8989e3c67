"""Fits the head that hears wishes to forget beside the patterns, and prints what it is worth on what is left out.

    python benchmarks/fit_wishes.py [--eval DIR] [--folds 8] [--write]

`wishes.jsonl` beside this file, written for it, holds wishes in the ways people say them, and messages that only sound
like one. The ordinary messages are what users say in `dialogues.jsonl` beside it, those of `general_messages.txt` and
`personal_messages.txt`, and, with the folder of evaluation data, `everyday/dialogues.dev.jsonl`. The head is ridge
logistic regression over the words of a message (up to three in a row; in Chinese, characters) and, in English, its
vector by the default embedding model, which is blind to Chinese.

It is judged by a fit on the other folds, at several thresholds. `--write` ships a fit on all messages, as
`wish_head.npz` beside the module that reads it. What is shipped is told ordinary talk that no fit has seen:
`people.jsonl` beside this file and, with the folder, LoCoMo and BEAM; what it hears there that no pattern does is
printed, to be read.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from research_calls import machine  # benchmarks, too

from agentic_memory_bank.engines.extractive.forgetting import sounds_like_a_wish, told_to_forget
from agentic_memory_bank.engines.extractive.remembering.telling import LONGEST
from agentic_memory_bank.engines.extractive.remembering.wish_head import FILE, SIZE, place_of, runs_of
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings
from agentic_memory_bank.tools.text.cleaning import is_cjk

Numbers = NDArray[np.floating[Any]]

THRESHOLDS: Final[dict[str, float]] = {"en": 0.25, "zh": -0.25}
"""Scores from which a wish is heard, chosen by the curves below."""
CURVE: Final = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
PENALTY: Final = 0.1
STEPS: Final = 12
"""Newton steps; the fit stands still after about eight."""
LEVELS: Final = 127
"""Whole numbers on each side of nought that a weight is rounded to."""


class Message(NamedTuple):
    """A message: its text, its language, whether it is a wish, and the dialogue it is said in, if any."""

    text: str
    lang: str
    is_wish: bool
    dialogue: str = ""


def main(argv: list[str] | None = None) -> int:
    """Fit, and print what the fit hears."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, help="folder of evaluation data")
    parser.add_argument("--folds", type=int, default=8, help="in how many parts the messages are left out")
    parser.add_argument("--write", action="store_true", help="ship the weights")
    given = parser.parse_args(argv)
    began, here = time.perf_counter(), Path(__file__)
    sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}\n")
    messages = [Message(one["text"], one["lang"], one["wish"]) for one in _rows(here.with_name("wishes.jsonl"))]
    files = [here.with_name("dialogues.jsonl")]
    files += [given.eval / "everyday/dialogues.dev.jsonl"] if given.eval else []
    messages += [message for file in files for message in _said(file)]
    messages += [message for name in ("general", "personal") for message in _listed(here, name)]
    shipped: dict[str, Any] = {}
    for lang in ("en", "zh"):
        some = [message for message in messages if message.lang == lang]
        rows = _hashed([message.text for message in some])
        words = _of_words(rows)
        _report(f"{lang}, words", some, words, given.folds)
        vectors = None
        if lang == "en":
            vectors = _vectors([message.text for message in some])
            _report(f"{lang}, words and vector", some, words + vectors @ vectors.T, given.folds)
        shipped |= _shipped(lang, some, rows, words, vectors)
    if given.write:
        np.savez_compressed(FILE, **shipped)
        sys.stdout.write(f"{FILE.name}: {FILE.stat().st_size:,} bytes\n")
    _heard(list(_unseen(here, given.eval)))
    sys.stdout.write(f"{time.perf_counter() - began:.0f} s\n")
    return 0


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _said(file: Path) -> Iterator[Message]:
    """What users say in dialogues: ordinary messages."""
    for one in _rows(file):
        for conversation in one["conversations"]:
            for role, text in conversation["turns"]:
                if role == "user":
                    yield Message(text, "zh" if is_cjk(text) else "en", is_wish=False, dialogue=one["id"])


def _listed(here: Path, name: str) -> Iterator[Message]:
    """Ordinary messages of a list: the text stands before a tab."""
    for line in here.with_name(f"{name}_messages.txt").read_text(encoding="utf-8").splitlines():
        text = line.partition("\t")[0].strip()
        yield Message(text, "zh" if is_cjk(text) else "en", is_wish=False, dialogue=name)


def _unseen(here: Path, folder: Path | None) -> Iterator[Message]:
    """Ordinary talk that nothing is fitted on; what is too long to be read as a wish is passed over."""
    found = list(_said(here.with_name("people.jsonl")))
    if folder:
        files = [folder / "locomo/turns.dev.jsonl", folder / "beam/messages.dev.jsonl"]
        rows = [(one, file.parent.name) for file in files for one in _rows(file) if one.get("role") != "assistant"]
        found += [Message(one["text"], "zh" if is_cjk(one["text"]) else "en", False, name) for one, name in rows]
    return (message for message in found if len(message.text) <= LONGEST)


# --- what is seen of a message ---------------------------------------------------------------------------------------


def _hashed(texts: Sequence[str]) -> list[list[int]]:
    """The places of the runs of each message."""
    return [[place_of(run) for run in runs_of(text)] for text in texts]


def _of_words(rows: Sequence[Sequence[int]]) -> Numbers:
    """How much of their words each two messages share."""
    columns = {place: column for column, place in enumerate(sorted({place for row in rows for place in row}))}
    table = np.zeros((len(rows), len(columns)), np.float32)
    for number, row in enumerate(rows):
        np.add.at(table[number], [columns[place] for place in row], 1 / max(1, len(row)) ** 0.5)
    return (table @ table.T).astype(float)


def _vectors(texts: Sequence[str]) -> Numbers:
    vectors: Any = LocalEmbeddings().encode(list(texts))
    return vectors.astype(float)


# --- the fit ---------------------------------------------------------------------------------------------------------


def _fit(alike: Numbers, wanted: Numbers) -> Numbers:
    """How much each message speaks for a wish in what is like it: Newton's steps, in the dual, which is small here."""
    scores, shares = np.zeros(len(wanted)), np.zeros(len(wanted))
    for _ in range(STEPS):
        odds = 1 / (1 + np.exp(-scores))
        slope = np.maximum(odds * (1 - odds), 1e-4)
        shares = np.linalg.solve(alike + PENALTY * np.diag(1 / slope), scores + (wanted - odds) / slope)
        scores = alike @ shares
    return shares


def _left_out(messages: Sequence[Message], alike: Numbers, folds: int) -> Numbers:
    """What each message scores by a fit on the other folds; a dialogue stands in one of them."""
    alike = alike + 1.0  # the intercept
    wanted = np.array([float(message.is_wish) for message in messages])
    dialogues = {name: number for number, name in enumerate(sorted({message.dialogue for message in messages}))}
    drawn = np.random.default_rng(0).integers(0, folds, len(messages))
    fold = np.array(
        [dialogues[one.dialogue] % folds if one.dialogue else place for one, place in zip(messages, drawn, strict=True)]
    )
    scores = np.zeros(len(messages))
    for number in range(folds):
        inside, outside = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        shares = _fit(alike[np.ix_(outside, outside)], wanted[outside])
        scores[inside] = alike[np.ix_(inside, outside)] @ shares
    return scores


def _report(name: str, messages: Sequence[Message], alike: Numbers, folds: int) -> None:
    """Print what is heard at several thresholds: of the wishes that the patterns do not hear, and of other messages."""
    scores = _left_out(messages, alike, folds)
    is_wish = np.array([message.is_wish for message in messages])
    is_ordinary = np.array([bool(message.dialogue) for message in messages])
    by_pattern = np.array([told_to_forget(message.text) is not None for message in messages])
    hard, missed = ~is_wish & ~is_ordinary & ~by_pattern, is_wish & ~by_pattern
    ordinary = is_ordinary & ~by_pattern
    sys.stdout.write(f"{name}: the patterns miss {int(missed.sum())} of {int(is_wish.sum())} wishes\n")
    for least in CURVE:
        found = scores > least
        heard, wrong, false = (int((found & group).sum()) for group in (missed, hard, ordinary))
        sys.stdout.write(
            f"  {least:5.2f}: {heard} of them, {wrong} of {int(hard.sum())} hard messages, {false} of "
            f"{int(ordinary.sum())} ordinary ones\n"
        )


def _shipped(
    lang: str, messages: Sequence[Message], rows: Sequence[Sequence[int]], words: Numbers, vectors: Numbers | None
) -> dict[str, Any]:
    """The weights of a fit on all messages."""
    wanted = np.array([float(message.is_wish) for message in messages])
    shares = _fit(words + (0 if vectors is None else vectors @ vectors.T) + 1.0, wanted)
    table = np.zeros(SIZE)
    for share, row in zip(shares, rows, strict=True):
        np.add.at(table, row, share / max(1, len(row)) ** 0.5)
    scale = float(np.abs(table).max()) / LEVELS
    vector = np.zeros(0) if vectors is None else vectors.T @ shares
    return {
        f"{lang}_runs": np.round(table / scale).astype(np.int8),
        f"{lang}_vector": vector.astype(np.float32),
        f"{lang}_numbers": np.array([scale, float(shares.sum()), THRESHOLDS[lang]]),
    }


def _heard(messages: Sequence[Message]) -> None:
    """Print what the shipped head hears in talk that was never seen and no pattern hears, and how long it takes."""
    model, vectors = LocalEmbeddings(), dict[str, Any]()

    def vector(text: str) -> Any:
        if text not in vectors:
            vectors[text] = model.encode([text])[0]
        return vectors[text]

    texts = {one.text: one.lang for one in messages if told_to_forget(one.text) is None}
    heard = [text for text in texts if sounds_like_a_wish(text, vector)]
    began = time.process_time()
    _ = [sounds_like_a_wish(text, vector) for text in texts]
    taken = (time.process_time() - began) / max(1, len(texts))
    for lang in ("en", "zh"):
        of_lang, some = sum(one == lang for one in texts.values()), [text for text in heard if texts[text] == lang]
        sys.stdout.write(f"{lang}: the shipped head hears {len(some)} of {of_lang} unseen messages\n")
        sys.stdout.write("".join(f"  {text[:200]!r}\n" for text in some))
    sys.stdout.write(
        f"{len(vectors)} vectors were asked for; {taken * 1e6:.0f} microseconds of CPU a message beside them\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
