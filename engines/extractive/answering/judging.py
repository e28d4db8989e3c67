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
    features, none = asked.of_units(), asked.of_none()
    scores = features @ np.array(list(WEIGHTS.values()))
    likely = np.exp(scores - scores.max())
    likely /= likely.sum()
    if asked.lacks_a_name:
        return Judged(likely, 0.0)
    sure = of_sureness(features, none, scores, likely) @ np.array(list(WEIGHTS_OF_SURE.values()))
    return Judged(likely, 1 / (1 + math.exp(-max(-50.0, min(50.0, float(sure))))))


def of_sureness(features: Numbers, none: Numbers, scores: Numbers, likely: Numbers) -> Numbers:
    """What speaks for it that the likeliest sentence answers, in the order of `WEIGHTS_OF_SURE`."""
    best = features[int(np.argmax(scores))]
    said, placed, cosine, misfits = best[0] + best[1], best[3] + best[4], best[_COSINE], best[_MISFITS]
    _, _, _, is_choice, is_blind, lacks_noun = none
    known = [1.0, scores.max() / 4, said, placed, cosine, _stands_out(features[:, _COSINE], cosine), is_blind, misfits]
    return np.array([*known, likely.max(), best[_ROW], is_choice, lacks_noun])


def _stands_out(cosines: Numbers, best: float) -> float:
    """How far the best sentence is nearer to the question than the others: how near any is differs with the text."""
    return float(best - cosines.mean()) / (4 * float(cosines.std() + _LEAST_SPREAD)) if cosines.any() else 0.0


# Printed by `benchmarks/fit_relevance.py`; "other speaker", "found", "new" and "fills" are set by hand, as its data
# has too little of them.
WEIGHTS: Final[Mapping[str, float]] = {
    "says": 4.17,
    "means": 5.01,
    "echoes": 4.00,
    "place says": 2.90,
    "place means": 2.25,
    "near says": 1.16,
    "near means": -0.11,
    "says, blind": 3.94,
    "means, blind": 2.62,
    "cosine": 6.62,
    "foreign": 0.97,
    "fits": -0.02,
    "misfits": -3.12,
    "placed": -1.15,
    "named": 0.52,
    "unnamed": -1.28,
    "fills": 4.00,
    "counts": 2.60,
    "asks": -1.72,
    "heading": -2.42,
    "row": 0.06,
    "code": -0.45,
    "supposes": -1.02,
    "plans": -0.22,
    "length": -1.38,
    "short": -0.33,
    "amends": 0.56,
    "amends it": 0.63,
    "new": 1.00,
    "other speaker": -8.00,
    "found": 0.10,
}
"""What a sentence is judged by."""
WEIGHTS_OF_SURE: Final[Mapping[str, float]] = {
    "always": -2.27,
    "best": 1.66,
    "says": -0.15,
    "place says": 0.11,
    "cosine": 0.23,
    "stands out": 1.70,
    "blind": 1.43,
    "misfits": -1.57,
    "likely": 0.92,
    "row": 1.04,
    "yes or no": -1.39,
    "lacks noun": -2.12,
}
"""How sure the best sentence is, as the logarithm of its odds."""
_LEAST_SPREAD: Final = 0.05
"""Added to how much the likeness of sentences varies, so that a few alike ones do not make one stand out."""
_COSINE, _MISFITS, _ROW = (list(WEIGHTS).index(name) for name in ("cosine", "misfits", "row"))
