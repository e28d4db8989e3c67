"""Which sentence answers, and how sure that is: what `relevance` finds, weighed by what a fit has learnt.

Under the weights softmax over the sentences makes the right one likely. How sure the best one is, is
a second small model over what the first one found.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from agentic_memory_bank.engines.extractive.answering.relevance import AskedQuestion, Numbers


@dataclass(frozen=True)
class Judged:
    """What was made of the sentences: of each, how likely it is the answer if one of them is; and whether one is."""

    likely: Numbers
    sure: float


def judged(asked: AskedQuestion) -> Judged:
    """Weigh each sentence, and how sure it is that the likeliest of them answers."""
    if not asked.can_be_answered:
        return Judged(np.zeros(0), 0.0)
    features = asked.of_units()
    scores = features @ np.array(list(WEIGHTS.values()))
    likely = likelihoods(scores)
    if asked.lacks_a_name:
        return Judged(likely, 0.0)
    sure = of_sureness(asked, features, scores) @ np.array(list(WEIGHTS_OF_SURE.values()))
    return Judged(likely, 1 / (1 + math.exp(-max(-50.0, min(50.0, float(sure))))))


def likelihoods(scores: Numbers) -> Numbers:
    """How likely each sentence is the answer if one of them is."""
    likely = np.exp(scores - scores.max())
    return likely / likely.sum()


def of_sureness(asked: AskedQuestion, features: Numbers, scores: Numbers) -> Numbers:
    """What speaks for it that the likeliest sentence answers, in the order of `WEIGHTS_OF_SURE`."""
    number = int(np.argmax(scores))
    cosines, best, next_best = features[:, _COSINE], scores[number], np.delete(scores, number).max(initial=-math.inf)
    ahead = min(_FAR_AHEAD, best - next_best) / 2
    stands_out = _stands_out(cosines, cosines[number])
    choice = [1.0, best / 4, likelihoods(scores).max(), ahead, stands_out]
    return np.array([*choice, *asked.of_none(), *asked.of_coverage(number), *features[number]])


def _stands_out(cosines: Numbers, best: float) -> float:
    """How far the best sentence is nearer to the question than the others: how near any is differs with the text."""
    return float(best - cosines.mean()) / (4 * float(cosines.std() + _LEAST_SPREAD)) if cosines.any() else 0.0


# Printed by `benchmarks/fit_relevance.py`; "other speaker", "found", "new" and "fills" are set by hand, as its data
# has too little of them.
WEIGHTS: Final[Mapping[str, float]] = {
    "says": 5.93,
    "means": 5.96,
    "echoes": 6.08,
    "place says": 7.02,
    "place means": 4.12,
    "near says": 3.45,
    "near means": 2.11,
    "says, blind": 3.88,
    "means, blind": 2.17,
    "cosine": 8.39,
    "foreign": 0.56,
    "fits": 1.66,
    "misfits": -1.60,
    "placed": -0.54,
    "named": 0.62,
    "unnamed": -0.62,
    "fills": 4.00,
    "counts": 1.56,
    "asks": -1.49,
    "heading": -2.56,
    "row": 0.68,
    "code": -0.87,
    "supposes": -2.50,
    "plans": -0.74,
    "length": 1.05,
    "short": 0.36,
    "amends": 1.31,
    "amends it": 0.24,
    "new": 1.00,
    "other speaker": -8.00,
    "found": 0.10,
}
"""What a sentence is judged by."""
WEIGHTS_OF_SURE: Final[Mapping[str, float]] = {
    "always": -2.04,
    "best": 1.01,
    "likely": 0.97,
    "ahead": -0.09,
    "stands out": 0.98,
    "missing": -0.71,
    "anything": 0.47,
    "yes or no": -0.73,
    "blind": 0.68,
    "lacks noun": -1.07,
    "says all": 0.50,
    "leaves out": 1.52,
    "best says": -0.96,
    "best means": 1.29,
    "best echoes": 0.66,
    "best place says": -0.49,
    "best place means": 0.44,
    "best near says": -0.34,
    "best near means": 0.17,
    "best says, blind": 0.32,
    "best means, blind": 0.55,
    "best cosine": 0.15,
    "best foreign": -0.50,
    "best fits": 0.11,
    "best misfits": -0.81,
    "best placed": 0.03,
    "best named": -0.10,
    "best unnamed": -0.51,
    "best fills": 0.03,
    "best counts": 0.46,
    "best asks": 0.00,
    "best heading": 0.03,
    "best row": 0.18,
    "best code": 0.05,
    "best supposes": 0.00,
    "best plans": 0.00,
    "best length": -0.69,
    "best short": -0.30,
    "best amends": 0.00,
    "best amends it": 0.00,
    "best new": 0.00,
    "best other speaker": 0.00,
    "best found": 0.00,
}
"""How sure the best sentence is, as the logarithm of its odds."""
_LEAST_SPREAD: Final = 0.05
"""Added to how much the likeness of sentences varies, so that a few alike ones do not make one stand out."""
_COSINE = list(WEIGHTS).index("cosine")
_FAR_AHEAD: Final = 5.0
"""How far ahead of the next one the best sentence counts as being, at most."""
