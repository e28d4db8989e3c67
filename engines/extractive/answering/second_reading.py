"""What a model that reads a question and a text together adds to what their words say.

Words come first: they choose the few texts that are read, and where they tell that a message needs no memory, none is.
What the two count is fitted by `benchmarks/fit_second_reading.py`, for English and for Chinese.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from agentic_memory_bank.tools.text.sentences import QUESTION_END, sentences

Numbers = npt.NDArray[np.float64]
Judge = Callable[[str, Sequence[str]], Sequence[float] | None]
"""Tells of each text how likely it states what a question asks for, as the logarithm of the odds; or None, where there
is no model to tell (`Encoder.answers`)."""

MEMORIES: Final = 6
"""How many memories are read beside a message, at most."""
SENTENCES: Final = 8
"""How many sentences are read beside a question, at most."""
OPEN: Final = -4.0
"""The logarithm of the odds that a message needs memories, by words alone, from which they are read."""
STATED: Final = 0.0
"""What reading has to say of a memory that states what an occasion held."""
UNREAD: Final = -6.0
"""What is taken to have been told of a text that was not read."""
_MOST: Final = 8.0
_ASKING: Final = 2
_UNIT: Final = 5.0

_Weights = Mapping[bool, tuple[float, ...]]

OF_MEMORIES: Final[_Weights] = {False: (0.02, 0.79, 1.15, -0.07), True: (0.37, 0.67, 1.65, -0.42)}
"""Weights of a memory, in the order of `signs_of_memories`, for English and for Chinese."""
OF_MESSAGES: Final[_Weights] = {False: (1.12, 0.67, 1.45, 0.06, 0.74), True: (1.08, 0.51, 1.53, -0.23, 1.19)}
"""Weights of whether a message needs memories, in the order of `signs_of_a_message`."""
OF_SENTENCES: Final[_Weights] = {False: (0.62, 1.92, -0.73), True: (0.94, 1.68, 0.22)}
"""Weights of a sentence, in the order of `signs_of_sentences`."""
OF_ANSWERS: Final[_Weights] = {False: (0.08, 1.14, 1.79, -0.29, 0.19), True: (-0.02, 1.12, 1.63, 0.32, 0.65)}
"""Weights of whether the best sentence answers, in the order of `signs_of_an_answer`."""


def read_again(judge: Judge, question: str, texts: Sequence[str], first: Numbers, most: int) -> Numbers | None:
    """What a judge makes of the texts that words place first, in units of five.

    None where it cannot tell, or nothing is asked in words. Of a long message the sentences that ask are read.

    Args:
        judge: The model.
        question: What is asked.
        texts: What may answer it.
        first: How well each of them does by words.
        most: How many are read.
    """
    if not any(map(str.isalnum, question)):
        return None
    chosen = np.argsort(-first, kind="stable")[:most]
    told = judge(_asking(question), [texts[int(place)] for place in chosen])
    if told is None:
        return None
    read = np.full(len(texts), UNREAD / _UNIT)
    read[chosen] = np.clip(np.array(told, float), -_MOST, _MOST) / _UNIT
    return read


def _asking(question: str) -> str:
    """The last sentences that ask, or all where none does."""
    said = [question[start:end] for start, end in sentences(question)]
    return " ".join([one for one in said if QUESTION_END.search(one)][-_ASKING:]) or question


def signs_of_memories(by_words: Numbers, read: Numbers) -> Numbers:
    """Of each memory a row: always, its odds by words, what reading says, and that where it is for it."""
    return np.stack([np.ones_like(by_words), by_words, read, np.maximum(read, 0.0)], axis=1)


def signs_of_a_message(by_words: float, read: Numbers, memories: Numbers) -> Numbers:
    """Of a message: always, its odds by words, the most that reading says, that where it is for it, the best memory."""
    most = float(read.max())
    return np.array([1.0, by_words, most, max(most, 0.0), float(memories.max()) / _UNIT])


def signs_of_sentences(by_words: Numbers, read: Numbers) -> Numbers:
    """Of each sentence a row: its score by words, what reading says, and that where it is for it."""
    return np.stack([by_words, read, np.maximum(read, 0.0)], axis=1)


def signs_of_an_answer(by_words: float, read: Numbers, first: Numbers, scores: Numbers) -> Numbers:
    """Of the best sentence: always, odds by words, what reading says, that where it is for it, and if words agree."""
    best = int(scores.argmax())
    told = float(read[best])
    return np.array([1.0, by_words, told, max(told, 0.0), float(best == int(first.argmax()))])
