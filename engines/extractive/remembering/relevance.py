"""Judges whether memories help with a message, and which: by its words, theirs, and how alike the two are.

Two small logistic models with the weights below, for English and for Chinese, of which all-MiniLM-L6-v2 says little.
`benchmarks/fit_recall.py` fits them and prints how well they do on dialogues they were not fitted on.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.queries import is_personal
from agentic_memory_bank.tools.text.cleaning import is_cjk

HELPS: Final = 0.5
"""Probability from which memories are shown for a message."""
SHARE_OF_BEST: Final = 0.35
"""Share of the best memory's probability from which another one is shown beside it."""

_TASK: Final = re.compile(
    r"^\W*(?:please |pls )?(?:write|translate|give me|tell me a|recommend|explain|convert|define|spell|calculate"
    r"|suggest)\b"
    r"|翻译|帮我写|解释|推荐|写[一个首]|讲个|算一下|简单说说|给我写",
    re.IGNORECASE,
)
"""A task that takes no knowledge of whoever sets it."""
_INDEFINITE: Final = re.compile(r"\b(?:an?|any) \w", re.IGNORECASE)
_FUNCTION: Final = frozenset(
    "的了吗呢吧啊呀是在有和就都也要会个一不来去上下到给对做用让得着过把被从跟与及或但还很太最这那哪什么怎样多少几谁我你您他她它们"
    "时候里儿家人年月日天号点大小新叫"
)
"""Characters that say nothing of what a Chinese question is about."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a memory has in common with a message."""

    cosine: float
    coverage: float
    """Share of the message's words that the memory holds, each by its rarity among the user's memories."""
    rarest: float
    """The rarity of the rarest word they share, from 0 to 1 for a word of a single memory."""
    characters: float
    """Share of the message's Chinese characters, function words aside, that the memory holds."""
    is_turn: bool
    """Whether it is a turn word for word, as opposed to what was extracted from one."""
    by_assistant: bool
    """Whether the assistant said it."""
    asks: bool
    """Whether it ends with a question."""


_Weights = Mapping[str, float]

HELP: Final[Mapping[bool, _Weights]] = {
    False: {
        "bias": -3.24,
        "personal": 3.16,
        "task": -2.0,
        "indefinite": -1.8,
        "cosine": 5.8,
        "coverage": 2.59,
        "rarest": 0.91,
    },
    True: {
        "bias": -2.1,
        "personal": 2.92,
        "task": -2.26,
        "cosine": -0.6,
        "coverage": 0.35,
        "rarest": 1.56,
        "characters": 4.96,
    },
}
"""Weights of a message, for English and for Chinese."""
FIT: Final[Mapping[bool, _Weights]] = {
    False: {
        "bias": -2.75,
        "cosine": 5.57,
        "coverage": 1.4,
        "rarest": 1.06,
        "turn": -2.31,
        "assistant": -2.38,
        "asks": -0.42,
    },
    True: {
        "bias": -2.65,
        "cosine": 0.08,
        "coverage": 0.33,
        "rarest": 1.91,
        "characters": 3.34,
        "turn": -1.82,
        "assistant": -2.29,
    },
}
"""Weights of a memory, for English and for Chinese."""


def shared_characters(query: str, text: str) -> float:
    """Share of the Chinese characters of a query, function words aside, that a text holds."""
    wanted = {char for char in query if is_cjk(char)} - _FUNCTION
    return len(wanted & set(text)) / len(wanted) if wanted else 0.0


def helps(query: str, found: Sequence[Likeness]) -> bool:
    """Whether memories help with a message at all: it is about its speaker's world, or about what they hold.

    Args:
        query: What is searched.
        found: The memories that are most like it.
    """
    return bool(found) and _probability(message_features(query, found), HELP[is_cjk(query)]) >= HELPS


def fit(query: str, found: Sequence[Likeness]) -> list[float]:
    """The probability of each memory that it is one of those that help, where any does."""
    return [_probability(memory_features(one), FIT[is_cjk(query)]) for one in found]


def message_features(query: str, found: Sequence[Likeness]) -> Mapping[str, float]:
    """What tells whether memories help with a message."""
    return {
        "bias": 1.0,
        "personal": float(is_personal(query)),
        "task": float(_TASK.search(query) is not None),
        "indefinite": float(_INDEFINITE.search(query) is not None),
        "cosine": max((one.cosine for one in found), default=0.0),
        "coverage": max((one.coverage for one in found), default=0.0),
        "rarest": max((one.rarest for one in found), default=0.0),
        "characters": max((one.characters for one in found), default=0.0),
    }


def memory_features(one: Likeness) -> Mapping[str, float]:
    """What tells whether a memory is one of those that help."""
    return {
        "bias": 1.0,
        "cosine": one.cosine,
        "coverage": one.coverage,
        "rarest": one.rarest,
        "characters": one.characters,
        "turn": float(one.is_turn),
        "assistant": float(one.by_assistant),
        "asks": float(one.asks),
    }


def _probability(features: Mapping[str, float], weights: _Weights) -> float:
    return 1 / (1 + math.exp(-math.fsum(weights.get(name, 0.0) * value for name, value in features.items())))
