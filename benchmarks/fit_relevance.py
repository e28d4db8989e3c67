"""Fits the weights by which a sentence is judged to answer a question, and prints what they are worth on the rest.

    python benchmarks/fit_relevance.py --eval DIR [--left FILE] [--cache FILE] [--folds 8]

Fitted are the questions of `documents/sets.dev.jsonl` of the evaluation folder, and those of `questions.jsonl`,
`rephrased.jsonl` and `folders.jsonl` beside this file, which were written for it: the last two ask in other words than
the documents do, and a quarter to a third of them for what is nearly said. Each question is asked of every sentence of
its documents, in its place, and once more, for half, without vectors. First the weights of sentences: those under which
softmax makes the labelled ones most likely, with a penalty on their squares. Then how sure the best sentence is:
logistic regression, on questions that the first weights were not fitted on. What is printed is of sets that were left
out, in folds; of each kind of data the share of first sentences that answer, how many pairs of a question with an
answer and one without are ordered right by how sure is said to be, and at thresholds how many are answered and refused.
`--left` names sets that are never fitted (default: `sets.jsonl`).
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

from agentic_memory_bank.engines.extractive.answering.judging import WEIGHTS, WEIGHTS_OF_SURE, features_of, of_sureness
from agentic_memory_bank.engines.extractive.answering.quoting import Passage, reads_of
from agentic_memory_bank.engines.extractive.answering.relevance import AskedQuestion, CandidateSentence, Numbers
from agentic_memory_bank.tools.embeddings.encoder import Encoder

HERE = Path(__file__).parent
BY_HAND = {"other speaker": -8.0, "found": 0.1, "new": 1.0, "fills": 4.0, "supposes": -2.5, "points": -2.5}
"""Weights of what the data hardly has."""
NOTHING = ("amends", "amends it", "supposes", "plans", "asks", "new", "other speaker", "found", "points")
"""What tells which sentence comes first, and nothing of whether there is an answer."""
PENALTY, PENALTY_OF_SURE = 0.5, 5.0
WITHOUT_VECTORS = 0.5
"""How much a question counts without vectors."""
COUNTS = {"sets.dev": 2.0}
"""How much the questions of a file count: real folders ask less of what is nearly said than what was written for it."""
COUNTS_OF_SURE = {"sets.dev": 2.0, "rephrased": 0.5, "folders": 0.15}
"""The same where it is learnt how sure to be."""
THRESHOLDS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85)


@dataclass(frozen=True, eq=False)
class Example:
    """A question, the sentences it is asked of with their features, and which of them answer."""

    source: str
    group: str
    wanted: list[Any] | None
    texts: list[str]
    asked: AskedQuestion
    features: Numbers
    gold: Numbers
    is_blind: bool = False

    @property
    def has_answer(self) -> bool:
        """Whether a sentence answers it."""
        return bool(self.gold.any())

    @property
    def weight(self) -> float:
        """How much it counts."""
        return WITHOUT_VECTORS if self.is_blind else 1.0


@dataclass(frozen=True, eq=False)
class Verdict:
    """What weights make of an example that they were not fitted on."""

    example: Example
    scores: Numbers
    sure: float


def main(argv: list[str] | None = None) -> int:
    """Fit, and print the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data")
    parser.add_argument("--left", type=Path, default=HERE / "sets.jsonl", help="sets that are never fitted")
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors between runs")
    parser.add_argument("--folds", type=int, default=8, help="in how many parts the sets are left out")
    given = parser.parse_args(argv)
    encoder = Encoder(cache=given.cache)
    own = (HERE / f"{name}.jsonl" for name in ("questions", "rephrased", "folders"))
    fitted = (given.eval / "documents/sets.dev.jsonl", *own)
    examples = [example for path in fitted for example in _examples(path, encoder)]
    verdicts = _left_out(examples, given.folds)
    _report(verdicts)
    weights = _fit(examples)
    traits = np.array([_traits(one.example, one.scores) for one in verdicts])
    sureness = _fit_sure([one.example for one in verdicts], traits)
    _report([_judged(one, weights, sureness) for one in _examples(given.left, encoder)])
    for name, table, values in (("WEIGHTS", WEIGHTS, weights), ("WEIGHTS_OF_SURE", WEIGHTS_OF_SURE, sureness)):
        lines = (f'    "{key}": {value:.2f},\n' for key, value in zip(table, values.tolist(), strict=True))
        sys.stdout.write(f"{name}: Final[Mapping[str, float]] = {{\n{''.join(lines)}}}\n")
    return 0


def _examples(path: Path, encoder: Encoder) -> Iterator[Example]:
    for line in path.read_text(encoding="utf8").splitlines():
        one = json.loads(line)
        units = [unit for document in one["documents"] for unit in _units(document)]
        for question in one["questions"]:
            asked, blind = (AskedQuestion(question["ask"], units, encode) for encode in (encoder.vectors, None))
            example = _example(path.stem, one["id"], question, asked, units)
            yield example
            yield replace(example, asked=blind, features=features_of(blind), is_blind=True)


def _example(
    source: str, group: str, question: Any, asked: AskedQuestion, units: Sequence[CandidateSentence]
) -> Example:
    gold = np.array([any(_overlap(unit.text, quote) for _, quote in question["gold"]) for unit in units], float)
    texts = [f"{unit.place}: {unit.text}" for unit in units]
    return Example(source, group, question.get("answer"), texts, asked, features_of(asked), gold)


def _units(document: Any) -> list[CandidateSentence]:
    passage = Passage.of(document["name"], document["text"], 1.0, document["name"])
    return [read.unit for read in reads_of(passage)]


def _left_out(examples: Sequence[Example], folds: int) -> list[Verdict]:
    """Each example, judged by weights that were fitted on the other folds."""
    groups = sorted({one.group for one in examples})
    np.random.default_rng(0).shuffle(groups)
    fold = {group: number % folds for number, group in enumerate(groups)}
    weights = [_fit([one for one in examples if fold[one.group] != number]) for number in range(folds)]
    scores = [one.features @ weights[fold[one.group]] for one in examples]
    traits = np.array([_traits(one, score) for one, score in zip(examples, scores, strict=True)])
    of = np.array([fold[one.group] for one in examples])
    sureness = [
        _fit_sure([one for one in examples if fold[one.group] != number], traits[of != number])
        for number in range(folds)
    ]
    sure = [float(_odds(row @ sureness[number])) for row, number in zip(traits, of, strict=True)]
    return [Verdict(*row) for row in zip(examples, scores, map(_unless_named, examples, sure), strict=True)]


def _judged(one: Example, weights: Numbers, sureness: Numbers) -> Verdict:
    scores = one.features @ weights
    return Verdict(one, scores, _unless_named(one, float(_odds(_traits(one, scores) @ sureness))))


def _unless_named(one: Example, sure: float) -> float:
    return 0.0 if one.asked.lacks_a_name else sure


def _traits(one: Example, scores: Numbers) -> Numbers:
    return of_sureness(one.asked, one.features, scores)


def _fit(examples: Sequence[Example]) -> Numbers:
    """The weights of sentences."""
    known = [one for one in examples if one.has_answer]
    sizes = [len(one.features) for one in known]
    starts, owner = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(known)), sizes)
    features, right = np.vstack([one.features for one in known]), np.concatenate([one.gold for one in known])
    counts = np.array([one.weight * COUNTS.get(one.source, 1.0) for one in known])[owner]
    fixed = np.array([name in BY_HAND for name in WEIGHTS])

    def gradient(weights: Numbers) -> Numbers:
        scores = features @ weights
        likely = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
        likely /= np.add.reduceat(likely, starts)[owner]
        wanted = likely * right
        wanted /= np.maximum(np.add.reduceat(wanted, starts), 1e-12)[owner]
        slope = PENALTY * weights + features.T @ ((likely - wanted) * counts)
        slope[fixed] = 0.0
        return slope

    return _descend(gradient, np.array([BY_HAND.get(name, 0.0) for name in WEIGHTS]))


def _fit_sure(examples: Sequence[Example], traits: Numbers) -> Numbers:
    """The weights of how sure the best sentence is."""
    right = np.array([float(one.has_answer) for one in examples])
    counts = np.array([one.weight * COUNTS_OF_SURE.get(one.source, 1.0) for one in examples])

    fixed = np.isin(list(WEIGHTS_OF_SURE), [f"best {name}" for name in NOTHING])

    def gradient(weights: Numbers) -> Numbers:
        penalty = PENALTY_OF_SURE * weights
        penalty[0] = 0.0
        slope = penalty + traits.T @ ((_odds(traits @ weights) - right) * counts)
        slope[fixed] = 0.0
        return slope

    return _descend(gradient, np.zeros(traits.shape[1]))


def _descend(gradient: Callable[[Numbers], Numbers], begin: Numbers, steps: int = 400, rate: float = 0.05) -> Numbers:
    """Gradient descent with a step of its own for each weight (Adam)."""
    weights, mean, square = begin.copy(), np.zeros_like(begin), np.zeros_like(begin)
    for step in range(1, steps + 1):
        slope = gradient(weights)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def _odds(values: Any) -> Any:
    return 1 / (1 + np.exp(-values))


def _report(verdicts: Sequence[Verdict]) -> None:
    """Print the share of right first sentences, and of answers and refusals at each threshold."""
    for source, is_blind in sorted({(one.example.source, one.example.is_blind) for one in verdicts}):
        rows = [one for one in verdicts if (one.example.source, one.example.is_blind) == (source, is_blind)]
        answerable = [(*_ranked(one), one.sure) for one in rows if one.example.has_answer]
        refusable = np.array([one.sure for one in rows if not one.example.has_answer])
        first, held, sure = (np.array(column) for column in zip(*answerable, strict=True))
        ordered = np.mean(sure[:, None] > refusable[None])
        sys.stdout.write(
            f"{source}, {'without' if is_blind else 'with'} vectors: first sentence right {first.mean():.3f} of "
            f"{len(first)}, pairs ordered right {ordered:.3f}\n"
        )
        for least in THRESHOLDS:
            kept, refused = np.mean(held & (sure >= least)), np.mean(refusable < least)
            sys.stdout.write(f"  at {least:.2f}: answered {kept:.3f}, refused {refused:.3f} of {len(refusable)}\n")


def _ranked(one: Verdict) -> tuple[bool, bool]:
    """Whether the best sentence answers, and whether the best three hold all of the answer."""
    best, example = np.argsort(-one.scores, kind="stable")[:3], one.example
    if example.wanted is None:
        return bool(example.gold[best[0]]), bool(example.gold[best].any())
    said = _plain("\n".join([example.texts[number] for number in best.tolist()]))
    held = all(any(_plain(t) in said for t in (term if isinstance(term, list) else [term])) for term in example.wanted)
    return bool(example.gold[best[0]]), held


def _overlap(a: str, b: str) -> bool:
    """Whether one holds the other, or they share a stretch of half of the shorter one."""
    short, long = sorted((_plain(a), _plain(b)), key=len)
    size = len(short) if short in long else max(8, len(short) // 2)
    return len(short) >= 4 and any(short[at : at + size] in long for at in range(len(short) - size + 1))


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", str(text)).casefold() if not c.isspace())


if __name__ == "__main__":
    raise SystemExit(main())
