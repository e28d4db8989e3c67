"""Scores how much a message sounds like a wish to forget something, in whatever words: a head that was fitted to it.

Linear, over the words of a message (up to three in a row; in Chinese, characters) and, in English, its vector by the
default embedding model. `benchmarks/fit_wishes.py` fits the weights and prints what they are worth. It is asked where
no pattern hears a wish, and whoever hears one this way asks before anything is erased.
"""

import re
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentic_memory_bank.engines.extractive.remembering.telling import LONGEST
from agentic_memory_bank.engines.extractive.remembering.telling_chinese import LONGEST_ZH
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.floating[Any]]

FILE: Final = Path(__file__).with_name("wish_head.npz")
SIZE: Final = 1 << 17
"""Places that runs of words are hashed to."""
LONGEST_RUN: Final = 3
"""Words, or Chinese characters, of a run."""

LEAST_OF_WORDS: Final = -4.5
"""What the words of an English message have to say so that its vector is asked for, which `recall` needs, too."""
LEAST_OF_A_SENTENCE: Final = -3.5
"""The same of one of its sentences, whose vector nobody else needs."""
LONGEST_WORDS: Final = 45
"""Words of a message that is read for a wish; what is longer tells a story."""
_STAYS: Final = lazy_pattern(
    r"\b(?:never|don't|do not|dont|not to|without) (?:ever |you )?(?:delet|eras|los|forget|wip|remov|drop|bin)"
    r"(?:e|ing)?\b"
    r"|\bkeep (?:what|that|the|all)\b|\b(?:leave|keep) (?:it|that) in\b|\byou can keep\b"
    r"|(?:别|不要|永远别|千万别|不能|不许)再?(?:删|丢|忘|弄丢|抹)|可以留着|(?:要|请|继续|一直)留着|你?记着(?:点|吗)|你知道就行",
    re.IGNORECASE,
)
"""What is to stay."""
_HANDED: Final = lazy_pattern(
    r"\A\W*(?:(?:please|now|ok(?:ay)?|can you|could you|would you)\W+){0,2}"
    r"(?:give|show|send|get|write|make|draw|find|tell|bring|buy|book|print|read) (?:me|us)\b"
    r"|\A\W*请?(?:给我|帮我(?:找|写|做|查|订|买|画))",
    re.IGNORECASE,
)
"""What is to be handed over: "give me a dump of the tickets"."""
_WORD: Final = re.compile(r"\w+")
_MARKS: Final = re.compile(r"\W+")


class WishWeights(NamedTuple):
    """The weights of one language."""

    runs: "NDArray[np.int8]"
    """By the place of a run; times `scale`."""
    scale: float
    vector: "Numbers"
    """By the dimensions of a vector; none where vectors say nothing."""
    bias: float
    threshold: float
    """The least score at which a wish is heard."""


def runs_of(text: str) -> set[str]:
    """The runs of words, or of Chinese characters, of a message."""
    plain = text.casefold().replace("’", "'").replace("'", "")
    if is_cjk(text):
        units, joint = list(f"^{_MARKS.sub('_', plain)}$"), ""
    else:
        units, joint = ["^", *_WORD.findall(plain), "$"], " "
    lengths = range(1, LONGEST_RUN + 1)
    return {joint.join(units[at : at + n]) for n in lengths for at in range(len(units) - n + 1)}


def place_of(run: str) -> int:
    """The place of a run in the table."""
    return zlib.crc32(run.encode()) % SIZE


def sounds_like_a_wish(text: str, vector_of: Callable[[str], "Numbers | None"]) -> bool:
    """Whether a message, or one of its sentences, sounds like a wish to forget something.

    Args:
        text: What a user says.
        vector_of: Makes the vector of a text by the default embedding model, without which English is not judged. It is
            asked for where the words alone do not speak against a wish.
    """
    if len(text) > LONGEST or _STAYS.search(text) or _HANDED.match(text):
        return False
    said = [text[start:end].strip() for start, end in sentences(text)]
    return _sounds(text, vector_of, LEAST_OF_WORDS) or (
        len(said) > 1 and any(_sounds(one, vector_of, LEAST_OF_A_SENTENCE) for one in said)
    )


def _sounds(text: str, vector_of: Callable[[str], "Numbers | None"], least: float) -> bool:
    is_of = is_cjk(text)
    if len(text) > LONGEST_ZH if is_of else len(text.split()) > LONGEST_WORDS:
        return False
    weights = weights_of("zh" if is_of else "en")
    total = of_words(weights, text)
    if is_of or total < least:
        return is_of and total >= weights.threshold
    vector = vector_of(text)
    return vector is not None and total + float(weights.vector @ vector) >= weights.threshold


def of_words(weights: WishWeights, text: str) -> float:
    """What the words of a message say of it, the intercept included."""
    runs = runs_of(text)
    return (
        weights.scale * sum(int(weights.runs[place_of(run)]) for run in runs) / max(1, len(runs)) ** 0.5 + weights.bias
    )


@lru_cache(maxsize=2)
def weights_of(lang: str) -> WishWeights:
    """The weights of a language, `en` or `zh`."""
    import numpy as np

    with np.load(FILE) as held:
        scale, bias, threshold = held[f"{lang}_numbers"].tolist()
        return WishWeights(held[f"{lang}_runs"], scale, held[f"{lang}_vector"], bias, threshold)
