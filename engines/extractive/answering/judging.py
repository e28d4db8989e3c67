"""Which sentence answers, and how sure that is: what `relevance` finds, weighed by what a fit has learnt.

Under the weights softmax over the sentences makes the right one likely. How sure the best one is, is
a second small model over what the first one found. Where there is a model to read with, the likeliest are read again.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from agentic_memory_bank.engines.extractive.answering.relevance import AskedQuestion, Numbers
from agentic_memory_bank.engines.extractive.answering.second_reading import (
    OF_ANSWERS,
    OF_SENTENCES,
    SENTENCES,
    Judge,
    read_again,
    signs_of_an_answer,
    signs_of_sentences,
)
from agentic_memory_bank.tools.text.cleaning import is_cjk


@dataclass(frozen=True)
class Judged:
    """What was made of the sentences: of each, how likely it is the answer if one of them is; and whether one is."""

    likely: Numbers
    sure: float


def judged(asked: AskedQuestion, judge: Judge | None = None) -> Judged:
    """Weigh each sentence, and how sure it is that the likeliest of them answers: by words, and by a judge if given."""
    if not asked.can_be_answered:
        return Judged(np.zeros(0), 0.0)
    features = features_of(asked)
    scores = features @ np.array(list(WEIGHTS.values()))
    sure = float(of_sureness(asked, features, scores) @ np.array(list(WEIGHTS_OF_SURE.values())))
    read = None
    if judge is not None and not asked.lacks_a_name:
        read = read_again(judge, asked.question, asked.placed_texts, scores, SENTENCES)
    if read is not None:
        chinese, by_words = is_cjk(asked.question), scores
        scores = signs_of_sentences(by_words, read) @ np.array(OF_SENTENCES[chinese])
        sure = float(signs_of_an_answer(sure, read, by_words, scores) @ np.array(OF_ANSWERS[chinese]))
    if asked.lacks_a_name:
        return Judged(likelihoods(scores), 0.0)
    return Judged(likelihoods(scores), 1 / (1 + math.exp(-max(-50.0, min(50.0, sure)))))


def features_of(asked: AskedQuestion) -> Numbers:
    """The features of each sentence; those that words make likeliest are compared by meaning, too."""
    features = asked.of_units()
    by_words = features.copy()
    by_words[:, _BLIND] = features[:, _BY_WORDS]
    chosen = np.argsort(-(by_words @ np.array(list(WEIGHTS.values()))), kind="stable")[:COMPARED]
    features[chosen, _COSINE] = asked.cosines(chosen.tolist())
    features[:, _AMENDS_IT] += features[:, _AMENDS] * features[:, _COSINE]
    return features


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
    compared = np.sort(cosines)[-COMPARED:]
    return float(best - compared.mean()) / (4 * float(compared.std() + _LEAST_SPREAD)) if compared.any() else 0.0


# Printed by `benchmarks/fit_relevance.py`; "other speaker", "found", "new", "fills" and "points" are set by hand, as
# its data has too little of them.
WEIGHTS: Final[Mapping[str, float]] = {
    "says": 4.23,
    "means": 5.58,
    "echoes": 8.95,
    "place says": 5.79,
    "place means": 4.27,
    "near says": 4.77,
    "near means": 2.54,
    "says, blind": 5.95,
    "means, blind": 2.66,
    "cosine": 9.30,
    "foreign": 1.73,
    "fits": 1.32,
    "misfits": -1.11,
    "placed": -1.14,
    "named": 0.92,
    "unnamed": -0.92,
    "fills": 4.00,
    "counts": 1.83,
    "asks": -2.81,
    "heading": -2.25,
    "row": 0.39,
    "code": -0.58,
    "supposes": -2.50,
    "plans": -0.18,
    "length": 0.86,
    "short": 0.33,
    "amends": 0.53,
    "amends it": 1.10,
    "new": 1.00,
    "other speaker": -8.00,
    "found": 0.10,
    "points": -2.50,
}
"""What a sentence is judged by."""
WEIGHTS_OF_SURE: Final[Mapping[str, float]] = {
    "always": -2.06,
    "best": 1.03,
    "likely": 0.98,
    "ahead": 0.00,
    "stands out": 0.47,
    "missing": -0.23,
    "anything": 0.42,
    "yes or no": -0.72,
    "blind": 0.50,
    "lacks noun": -1.20,
    "says all": 0.40,
    "leaves out": 1.21,
    "best says": -0.71,
    "best means": 1.15,
    "best echoes": 0.27,
    "best place says": -0.48,
    "best place means": 0.52,
    "best near says": -0.45,
    "best near means": 0.15,
    "best says, blind": -0.15,
    "best means, blind": 0.48,
    "best cosine": -0.01,
    "best foreign": -0.18,
    "best fits": 0.14,
    "best misfits": -0.71,
    "best placed": 0.11,
    "best named": -0.11,
    "best unnamed": -0.33,
    "best fills": 0.13,
    "best counts": 0.54,
    "best asks": 0.00,
    "best heading": 0.08,
    "best row": 0.21,
    "best code": 0.17,
    "best supposes": 0.00,
    "best plans": 0.00,
    "best length": -0.64,
    "best short": -0.17,
    "best amends": 0.00,
    "best amends it": 0.00,
    "best new": 0.00,
    "best other speaker": 0.00,
    "best found": 0.00,
    "best points": 0.00,
}
"""How sure the best sentence is, as the logarithm of its odds."""
_LEAST_SPREAD: Final = 0.05
"""Added to how much the likeness of sentences varies, so that a few alike ones do not make one stand out."""
COMPARED: Final = 16
"""How many sentences are compared with a question by meaning: a vector is what takes time. More find no more."""
_BY_WORDS, _BLIND = ([list(WEIGHTS).index(f"{name}{what}") for name in ("says", "means")] for what in ("", ", blind"))
_COSINE, _AMENDS, _AMENDS_IT = map(list(WEIGHTS).index, ("cosine", "amends", "amends it"))
_FAR_AHEAD: Final = 5.0
"""How far ahead of the next one the best sentence counts as being, at most."""
