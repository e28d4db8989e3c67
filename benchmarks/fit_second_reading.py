"""Fits what is made of a question and the likeliest texts read together, beside what their words say.

    python benchmarks/fit_second_reading.py --eval DIR [--cache FILE]

DIR is the folder of evaluation data. Sentences are those of `fit_relevance.py`, with vectors; memories and messages
those of `fit_recall.py`, of all our own people. Of each, words choose the texts that are read, as the package does, by
the weights that stand there. Then, for English and for Chinese: the weights of a memory and of a sentence, under which
the right ones are likeliest; and of whether any of them answers. Printed are they, as they stand in
engines/extractive/answering/second_reading.py, and what they are worth on groups of sets and people that were left out:
how often the first text is right, and how many pairs of a question with an answer and one without are ordered right, by
words alone and with reading.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from everyday import _rows  # benchmarks, too
from fit_recall import _told
from fit_relevance import COUNTS, COUNTS_OF_SURE, HERE, _descend, _examples
from sklearn.linear_model import LogisticRegression

from agentic_memory_bank.engines.extractive.answering import judging
from agentic_memory_bank.engines.extractive.answering.second_reading import (
    MEMORIES,
    OPEN,
    SENTENCES,
    Numbers,
    read_again,
    signs_of_a_message,
    signs_of_an_answer,
    signs_of_memories,
    signs_of_sentences,
)
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.models import local_embeddings
from agentic_memory_bank.tools.text.cleaning import is_cjk

PARTS = 4
PEOPLE = ("dialogues", "people", "later_people", "third_people", "fourth_people", "fifth_people", "sixth_people")
HELPFUL = 3.0
"""What a memory that helps counts: there are many more that do not."""


@dataclass(frozen=True, eq=False)
class Case:
    """A question or a message, and what words and reading make of its texts."""

    part: int
    by_words: Numbers
    """Of each text."""
    whole: float
    """Whether any answers, by words: the logarithm of the odds."""
    read: Numbers
    right: Numbers
    has_answer: bool
    counts: float
    counts_of_whole: float


def main(argv: list[str] | None = None) -> int:
    """Fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data")
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors between runs")
    given = parser.parse_args(argv)
    encoder = Encoder(local_embeddings(), cache=given.cache)
    for chinese in (False, True):
        language = "Chinese" if chinese else "English"
        _print(f"sentences, {language}", _of_documents(given.eval, encoder, chinese=chinese), of_memories=False)
        _print(f"memories, {language}", _of_people(given.eval, encoder, chinese=chinese), of_memories=True)
    return 0


def _of_documents(folder: Path, encoder: Encoder, *, chinese: bool) -> list[Case]:
    weights, of_sure = (np.array(list(one.values())) for one in (judging.WEIGHTS, judging.WEIGHTS_OF_SURE))
    own = (HERE / f"{name}.jsonl" for name in ("questions", "rephrased", "folders"))
    cases, groups = list[Case](), dict[str, int]()
    for path in (folder / "documents/sets.dev.jsonl", *own):
        for one in _examples(path, encoder):
            if one.is_blind or is_cjk(one.asked.question) != chinese or not one.asked.can_be_answered:
                continue
            scores = one.features @ weights
            read = read_again(encoder.answers, one.asked.question, one.asked.placed_texts, scores, SENTENCES)
            whole = float(judging.of_sureness(one.asked, one.features, scores) @ of_sure)
            part = groups.setdefault(one.group, len(groups)) % PARTS
            counts = COUNTS.get(one.source, 1.0), COUNTS_OF_SURE.get(one.source, 1.0)
            cases.append(Case(part, scores, whole, _there(read), one.gold, one.has_answer, *counts))
    return cases


def _of_people(folder: Path, encoder: Encoder, *, chinese: bool) -> list[Case]:
    cases = list[Case]()
    files = (folder / "everyday/dialogues.dev.jsonl", *(HERE / f"{name}.jsonl" for name in PEOPLE))
    for messages in _told([row for path in files for row in _rows(path)]):
        for one in messages:
            reading = one.reading
            if is_cjk(one.text) != chinese or not reading.memories or reading.needed_by_words < OPEN:
                continue
            odds, right = reading.by_words, np.array(one.helpful, float)
            read = read_again(encoder.answers, one.text, reading.texts, odds, MEMORIES)
            cases.append(Case(one.part, odds, reading.needed_by_words, _there(read), right, one.needs, 1.0, one.counts))
    return cases


def _there(read: Numbers | None) -> Numbers:
    if read is None:
        raise SystemExit("The default model is needed, and it cannot be loaded.")
    return read


def _print(name: str, cases: Sequence[Case], *, of_memories: bool) -> None:
    told: list[tuple[Case, float, float, float]] = []
    for part in range(PARTS):
        left = [one for one in cases if one.part == part]
        fitted = [one for one in cases if one.part != part]
        texts = _fitted_texts(fitted, of_memories=of_memories)
        whole = _fitted_whole(fitted, texts, of_memories=of_memories)
        for one in left:
            scores = _signs(one, of_memories=of_memories) @ texts
            sure = float(_signs_of_whole(one, scores, of_memories=of_memories) @ whole)
            told.append((one, float(one.right[scores.argmax()]), float(one.right[one.by_words.argmax()]), sure))
    known = [row for row in told if row[0].right.any()]
    first, by_words = (np.mean([row[at] for row in known]) for at in (1, 2))
    ordered, ordered_by_words = (
        np.mean([[_less(other, one, at) for other in told if not other[0].has_answer] for one in known])
        for at in (3, 0)
    )
    sys.stdout.write(
        f"{name}: first {by_words:.3f} by words, {first:.3f} with reading, of {len(known)}; "
        f"ordered {ordered_by_words:.3f}, {ordered:.3f}\n"
    )
    texts = _fitted_texts(cases, of_memories=of_memories)
    whole = _fitted_whole(cases, texts, of_memories=of_memories)
    sys.stdout.write(f"  {tuple(texts.round(2).tolist())}, {tuple(whole.round(2).tolist())}\n")
    sys.stdout.flush()


def _less(one: tuple[Case, float, float, float], other: tuple[Case, float, float, float], at: int) -> bool:
    return one[3] < other[3] if at else one[0].whole < other[0].whole


def _signs(one: Case, *, of_memories: bool) -> Numbers:
    return (signs_of_memories if of_memories else signs_of_sentences)(one.by_words, one.read)


def _signs_of_whole(one: Case, scores: Numbers, *, of_memories: bool) -> Numbers:
    if of_memories:
        return signs_of_a_message(one.whole, one.read, scores)
    return signs_of_an_answer(one.whole, one.read, one.by_words, scores)


def _fitted_texts(cases: Sequence[Case], *, of_memories: bool) -> Numbers:
    known = [one for one in cases if one.right.any()]
    signs = [_signs(one, of_memories=of_memories) for one in known]
    if of_memories:
        right = np.concatenate([one.right for one in known])
        fitted = LogisticRegression(C=10.0, max_iter=5_000, fit_intercept=False)
        return fitted.fit(np.vstack(signs), right, sample_weight=np.where(right, HELPFUL, 1.0)).coef_[0]
    begun = np.array([1.0, 0.0, 0.0])

    def gradient(weights: Numbers) -> Numbers:
        slope = 0.2 * (weights - begun)
        for one, rows in zip(known, signs, strict=True):
            likely = judging.likelihoods(rows @ weights)
            wanted = likely * one.right
            slope += one.counts * (rows.T @ (likely - wanted / max(math.fsum(wanted), 1e-12)))
        return slope

    return _descend(gradient, begun)


def _fitted_whole(cases: Sequence[Case], texts: Numbers, *, of_memories: bool) -> Numbers:
    rows = [
        _signs_of_whole(one, _signs(one, of_memories=of_memories) @ texts, of_memories=of_memories) for one in cases
    ]
    fitted = LogisticRegression(C=1.0, max_iter=5_000, fit_intercept=False)
    answered = [one.has_answer for one in cases]
    return fitted.fit(np.array(rows), answered, sample_weight=[one.counts_of_whole for one in cases]).coef_[0]


if __name__ == "__main__":
    raise SystemExit(main())
