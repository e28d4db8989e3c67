"""Fits the weights by which a sentence is judged to answer a question, and prints what they are worth on the rest.

    python benchmarks/fit_relevance.py --eval DIR [--cache FILE] [--folds 6]

The questions of `documents/sets.dev.jsonl` of the evaluation folder, and those of `questions.jsonl` beside this file,
written for it, are asked of every sentence of their documents, in its place. First the weights of sentences, beside
those of "none" that only the fit knows: those under which softmax makes the labelled sentences (or "none", where the
documents do not say) most likely, with a penalty on their squares. Each question counts once more, for less, without
the sentences that answer it, and once more without vectors. Then how sure the best sentence is: logistic regression,
on questions that the first weights were not fitted on. Sets are left out in folds; the last line but the weights is
what the weights fitted on the others give on them.
"""

import argparse
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from agentic_memory_bank.engines.extractive.answering.judging import WEIGHTS, WEIGHTS_OF_SURE, of_sureness
from agentic_memory_bank.engines.extractive.answering.quoting import Passage, index_text, reads_of
from agentic_memory_bank.engines.extractive.answering.relevance import AskedQuestion, CandidateSentence, Numbers
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.text.places import sentences_of

BY_HAND = {"other speaker": -8.0, "found": 0.1, "new": 1.0, "fills": 4.0}
"""Weights of what the data hardly has."""
PENALTY, PENALTY_OF_SURE = 0.5, 1.0
WITHOUT_ANSWER, WITHOUT_VECTORS = 0.1, 0.5
"""How much a question counts without the sentences that answer it, and without vectors."""
ABSENT = 2.0
"""How much a question without an answer counts where it is learnt how sure to be."""


@dataclass(frozen=True)
class Example:
    """A question and the sentences it is asked of: features, which of them answer, and how much it counts."""

    group: str
    ask: str
    wanted: list[Any] | None
    texts: list[str]
    features: Numbers
    none: Numbers
    gold: Numbers
    weight: float = 1.0
    is_copy: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it is one of `questions.jsonl`."""
        return self.group.startswith("own")

    @property
    def has_answer(self) -> bool:
        """Whether a sentence answers it."""
        return bool(self.gold.any())


def main(argv: list[str] | None = None) -> int:
    """Fit, and print the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data")
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors between runs")
    parser.add_argument("--folds", type=int, default=6, help="in how many parts the sets are left out")
    given = parser.parse_args(argv)
    encoder, own = Encoder(cache=given.cache), Path(__file__).with_name("questions.jsonl")
    examples = [e for path in (given.eval / "documents/sets.dev.jsonl", own) for e in _examples(path, encoder)]
    groups = sorted({one.group for one in examples})
    held_out: list[tuple[Example, Numbers]] = []
    for fold in range(given.folds):
        left = set(groups[fold :: given.folds])
        weights = _fit([one for one in examples if one.group not in left])
        held_out += [(one, weights) for one in examples if one.group in left and not one.is_copy]
        held_out += [(one, weights) for one in examples if one.group in left and one.is_copy]
    rows = [(one, _sureness(one, weights)) for one, weights in held_out]
    sure = {group: _fit_sure([row for row in rows if row[0].group != group]) for group in groups}
    judged = zip(held_out, rows, strict=True)
    _report([(one, weights, float(_odds(traits @ sure[one.group]))) for (one, weights), (_, traits) in judged])
    weights = _fit(examples)
    for name, table, values in (
        ("WEIGHTS", WEIGHTS, weights[: len(WEIGHTS)]),
        ("WEIGHTS_OF_SURE", WEIGHTS_OF_SURE, _fit_sure(rows)),
    ):
        lines = (f'    "{key}": {value:.2f},\n' for key, value in zip(table, values.tolist(), strict=True))
        sys.stdout.write(f"{name}: Final[Mapping[str, float]] = {{\n{''.join(lines)}}}\n")
    return 0


def _examples(path: Path, encoder: Encoder) -> Iterator[Example]:
    for line in path.read_text(encoding="utf8").splitlines():
        one = json.loads(line)
        units = [unit for document in one["documents"] for unit in _units(document, encoder)]
        vectors = encoder.vectors([question["ask"] for question in one["questions"]])
        for question, vector in zip(one["questions"], vectors, strict=True):
            example = _example(one["id"], question, AskedQuestion(question["ask"], vector, units), units)
            yield example
            blind = [replace(unit, vector=None) for unit in units]
            asked = AskedQuestion(question["ask"], None, blind)
            yield replace(_example(one["id"], question, asked, blind), weight=WITHOUT_VECTORS, is_copy=True)
            if example.has_answer:
                kept = example.gold == 0
                texts = [text for text, is_kept in zip(example.texts, kept, strict=True) if is_kept]
                rest = replace(example, texts=texts, features=example.features[kept], gold=example.gold[kept])
                yield replace(rest, weight=WITHOUT_ANSWER, is_copy=True)


def _example(group: str, question: Any, asked: AskedQuestion, units: Sequence[CandidateSentence]) -> Example:
    gold = np.array([any(_overlap(unit.text, quote) for _, quote in question["gold"]) for unit in units], float)
    texts = [f"{unit.place}: {unit.text}" for unit in units]
    return Example(group, question["ask"], question.get("answer"), texts, asked.of_units(), asked.of_none(), gold)


def _units(document: Any, encoder: Encoder) -> list[CandidateSentence]:
    text = document["text"]
    found = sentences_of(text, document["name"])
    vectors = encoder.vectors([index_text(text[one.start : one.end], one.place) for one in found])
    return [read.unit for read in reads_of(Passage("", text, 1.0, found, vectors))]


def _fit(examples: Sequence[Example]) -> Numbers:
    """The weights of sentences, then those of "none"."""
    count, of_none = len(WEIGHTS), len(examples[0].none)
    blocks = [
        np.vstack([np.hstack([e.features, np.zeros((len(e.features), of_none))]), np.hstack([np.zeros(count), e.none])])
        for e in examples
    ]
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    owner = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    features = np.vstack(blocks)
    right = np.concatenate([np.append(e.gold, not e.has_answer) for e in examples])
    counts = np.array([e.weight for e in examples])[owner]
    fixed = np.array([name in BY_HAND for name in WEIGHTS] + [False] * of_none)

    def gradient(weights: Numbers) -> Numbers:
        scores = features @ weights
        likely = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
        likely /= np.add.reduceat(likely, starts)[owner]
        wanted = likely * right
        wanted /= np.maximum(np.add.reduceat(wanted, starts), 1e-12)[owner]
        slope = PENALTY * weights + features.T @ ((likely - wanted) * counts)
        slope[fixed] = 0.0
        return slope

    begin = np.array([BY_HAND.get(name, 0.0) for name in WEIGHTS] + [0.0] * of_none)
    return _descend(gradient, begin)


def _fit_sure(rows: Sequence[tuple[Example, Numbers]]) -> Numbers:
    """The weights of how sure the best sentence is."""
    known = [(one, traits) for one, traits in rows if not (one.is_copy and one.weight == WITHOUT_ANSWER)]
    features = np.array([traits for _, traits in known])
    right = np.array([float(one.has_answer) for one, _ in known])
    counts = np.array([one.weight * (1.0 if one.has_answer else ABSENT) for one, _ in known])

    def gradient(weights: Numbers) -> Numbers:
        penalty = PENALTY_OF_SURE * weights
        penalty[0] = 0.0
        return penalty + features.T @ ((_odds(features @ weights) - right) * counts)

    return _descend(gradient, np.zeros(features.shape[1]))


def _descend(gradient: Callable[[Numbers], Numbers], begin: Numbers, steps: int = 400, rate: float = 0.05) -> Numbers:
    """Gradient descent with a step of its own for each weight (Adam)."""
    weights, mean, square = begin.copy(), np.zeros_like(begin), np.zeros_like(begin)
    for step in range(1, steps + 1):
        slope = gradient(weights)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def _sureness(one: Example, weights: Numbers) -> Numbers:
    scores = one.features @ weights[: len(WEIGHTS)]
    likely = np.exp(scores - scores.max())
    return of_sureness(one.features, one.none, scores, likely / likely.sum())


def _odds(values: Any) -> Any:
    return 1 / (1 + np.exp(-values))


def _report(found: Sequence[tuple[Example, Numbers, float]]) -> None:
    """Print the share of right first sentences, and of answers and refusals at each threshold."""
    for name, is_own, is_copy in (
        ("folder, with vectors", False, False),
        ("folder, without", False, True),
        ("own, with vectors", True, False),
        ("own, without", True, True),
    ):
        rows = [(e, w, s) for e, w, s in found if e.is_copy == is_copy and e.weight != WITHOUT_ANSWER]
        rows = [row for row in rows if row[0].is_own == is_own]
        answerable = [(e, *_ranked(e, w), s) for e, w, s in rows if e.has_answer]
        refusable = [s for e, _, s in rows if not e.has_answer]
        first = np.mean([is_first for _, is_first, _, _ in answerable])
        sys.stdout.write(f"{name}: first sentence right {first:.2f} of {len(answerable)}\n")
        for least in (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6):
            kept = np.mean([is_held and s >= least for _, _, is_held, s in answerable])
            refused = np.mean([s < least for s in refusable])
            sys.stdout.write(f"  at {least:.2f}: answered {kept:.2f}, refused {refused:.2f} of {len(refusable)}\n")


def _ranked(one: Example, weights: Numbers) -> tuple[bool, bool]:
    """Whether the best sentence answers, and whether the best three hold all of the answer."""
    best = np.argsort(-(one.features @ weights[: len(WEIGHTS)]), kind="stable")[:3]
    if one.wanted is None:
        return bool(one.gold[best[0]]), bool(one.gold[best].any())
    said = _plain("\n".join([one.texts[number] for number in best.tolist()]))
    held = all(any(_plain(t) in said for t in (term if isinstance(term, list) else [term])) for term in one.wanted)
    return bool(one.gold[best[0]]), held


def _overlap(a: str, b: str) -> bool:
    """Whether one holds the other, or they share a stretch of half of the shorter one."""
    short, long = sorted((_plain(a), _plain(b)), key=len)
    size = len(short) if short in long else max(8, len(short) // 2)
    return len(short) >= 4 and any(short[at : at + size] in long for at in range(len(short) - size + 1))


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", str(text)).casefold() if not c.isspace())


if __name__ == "__main__":
    raise SystemExit(main())
