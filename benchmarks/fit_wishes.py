"""Fits a head that hears wishes to forget, beside the patterns, and prints what it is worth on what is left out.

    python benchmarks/fit_wishes.py [--eval DIR] [--folds 8]

`wishes.jsonl` beside this file, written for it, holds wishes in the ways people say them, and messages that only sound
like one. The ordinary messages are what users say in `dialogues.jsonl` beside it and, with the folder of evaluation
data, in `everyday/dialogues.dev.jsonl`. The head is ridge logistic regression over the words of a message (up to three
in a row; in Chinese, characters) and, in English, its vector by the default embedding model, which is blind to Chinese.
Everything is judged by a fit on the other folds. The threshold is the least at which no more than one ordinary message
in 300 is taken for a wish, so precision among hard messages is shown beside it.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from research_calls import machine  # benchmarks, too

from agentic_memory_bank.engines.extractive.forgetting import told_to_forget
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings
from agentic_memory_bank.tools.text.cleaning import is_cjk

Numbers = NDArray[np.floating[Any]]

ORDINARY: Final = 300
"""Ordinary messages, of which one may be taken for a wish."""
PENALTY: Final = 0.1
LONGEST_RUN: Final = 3
"""Words, or Chinese characters, of a feature."""
STEPS: Final = 12
"""Newton steps; the fit stands still after about eight."""

_WORD: Final = re.compile(r"\w+")
_MARKS: Final = re.compile(r"\W+")


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
    given = parser.parse_args(argv)
    began, here = time.perf_counter(), Path(__file__)
    sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}\n")
    messages = [Message(one["text"], one["lang"], one["wish"]) for one in _rows(here.with_name("wishes.jsonl"))]
    files = [here.with_name("dialogues.jsonl")]
    files += [given.eval / "everyday/dialogues.dev.jsonl"] if given.eval else []
    messages += [message for file in files for message in _said(file)]
    for lang in ("en", "zh"):
        some = [message for message in messages if message.lang == lang]
        words = _of_words([message.text for message in some])
        _report(f"{lang}, words", some, words, given.folds)
        if lang == "en":
            vectors = _of_vectors([message.text for message in some])
            _report(f"{lang}, vector", some, vectors, given.folds)
            _report(f"{lang}, words and vector", some, words + vectors, given.folds)
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


# --- what is seen of a message ---------------------------------------------------------------------------------------


def _of_words(texts: Sequence[str]) -> Numbers:
    """How much of their words each two messages share."""
    seen = [_runs(text) for text in texts]
    places = {run: place for place, run in enumerate(sorted(set[str]().union(*seen)))}
    table = np.zeros((len(texts), len(places)), np.float32)
    for row, runs in enumerate(seen):
        table[row, [places[run] for run in runs]] = 1 / max(1.0, len(runs)) ** 0.5
    return (table @ table.T).astype(float)


def _runs(text: str) -> set[str]:
    plain = text.casefold().replace("’", "'").replace("'", "")
    if is_cjk(text):
        units, joint = list(f"^{_MARKS.sub('_', plain)}$"), ""
    else:
        units, joint = ["^", *_WORD.findall(plain), "$"], " "
    lengths = range(1, LONGEST_RUN + 1)
    return {joint.join(units[at : at + n]) for n in lengths for at in range(len(units) - n + 1)}


def _of_vectors(texts: Sequence[str]) -> Numbers:
    """How near each two messages are in meaning."""
    vectors: Any = LocalEmbeddings().encode(list(texts))
    return (vectors @ vectors.T).astype(float)


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
    """Print precision and recall at the threshold, and what is heard of the wishes that the patterns do not hear."""
    scores = _left_out(messages, alike, folds)
    is_wish = np.array([message.is_wish for message in messages])
    is_ordinary = np.array([bool(message.dialogue) for message in messages])
    by_pattern = np.array([told_to_forget(message.text) is not None for message in messages])
    ordinary = np.sort(scores[is_ordinary])[::-1]
    is_heard = scores > ordinary[len(ordinary) // ORDINARY]
    hard, missed = ~is_wish & ~is_ordinary, is_wish & ~by_pattern
    heard, wrong = int((is_heard & is_wish).sum()), int((is_heard & hard).sum())
    sys.stdout.write(
        f"{name}: {heard} of {int(is_wish.sum())} wishes ({int((by_pattern & is_wish).sum())} by the patterns), "
        f"{int((is_heard & missed).sum())} of the {int(missed.sum())} that the patterns miss; "
        f"{wrong} of {int(hard.sum())} hard messages ({int((by_pattern & hard).sum())} by the patterns), "
        f"{int((is_heard & is_ordinary).sum())} of {len(ordinary)} ordinary; precision {heard / (heard + wrong):.2f}\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
