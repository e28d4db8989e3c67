"""What is planned, what may be at most, and what has come of it: values meant in different ways never clash."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.reading.concepts import of_term
from agentic_memory_bank.engines.extractive.reading.figures import Figure
from agentic_memory_bank.engines.extractive.reading.statements import Statement
from agentic_memory_bank.engines.extractive.reading.terms import terms_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_AHEAD: Final = lazy_pattern(
    r"\b(?:will|shall|to be [a-z]{2,20}(?:ed|en|ld|lt)|(?:is|are) (?:due|to)\b|"
    r"planned|intended|foreseen|scheduled|expected)\b"
    r"|将[于在]?|拟|计划|预计|预定|定于",
    re.IGNORECASE,
)
_OVER: Final = lazy_pattern(
    r"\b(?:was|were|did|had|has been|have been)\b|了(?=[，。；、\d]|$)|已[经于]?|当[天日时]", re.IGNORECASE
)
_LIMIT: Final = lazy_pattern(
    r"\b(?:deadline|at (?:the )?latest|no later than|closing date|quota|capacity|places|limit(?:ed)?|at most|up to|"
    r"budget|maximum)\b|最后期限|截止|期限|顺延至|延期至|名额|限额|限\d|上限|容量|预算|最迟|不超过",
    re.IGNORECASE,
)
_RESULT: Final = lazy_pattern(
    r"\b(?:finished|finishers|arrived|delivered|attended|came|took part|turned up|spent|completed|used|received)\b"
    r"|完赛|到货|到场|验收|实际|实到|出席|参加了|花了|完成",
    re.IGNORECASE,
)
_DEFAULT: Final = lazy_pattern(r"(?:\b|_)default|\bfactory\b|默认|缺省|出厂", re.IGNORECASE)
_SETTING: Final = lazy_pattern(r"[#\s]*[\w.-]{2,40} {0,12}= ?\S")

_LABEL: Final = lazy_pattern(r"(?<![\w])(?P<label>[A-Za-z][A-Za-z ]{1,24}|[\u4e00-\u9fff]{2,8}) ?[:：] ?(?=\S)")
_LEAST_LABELS: Final = 2


def meant_apart(first: Statement, second: Statement) -> bool:
    """Whether one statement says what is planned or allowed at most, and the other one what came of it.

    "The post is to be filled on 1 April" and "That post was filled in August" are both true of two posts, and of
    one whose filling took longer.
    """
    sides = _read(_words(first)), _read(_words(second))
    if _is_set(first, second) or _is_set(second, first):
        return True
    return any(_is_ahead(*some) or _is_limit(*some) for some in (sides, sides[::-1]))


def limited_apart(first: Statement, second: Statement) -> bool:
    """Whether one statement gives the latest or the most that may be, or a default, and the other what came of it."""
    sides = _read(_words(first)), _read(_words(second))
    if _is_limit(*sides) or _is_limit(*sides[::-1]):
        return True
    return _is_set(first, second) or _is_set(second, first)


def _is_set(first: Statement, second: Statement) -> bool:
    """Whether one statement gives a default, and the other is the line of a file that sets what somebody wants."""
    if not _SETTING.match(second.text):
        return False
    return _DEFAULT.search(first.text) is not None and not _DEFAULT.search(f"{second.place.name} {second.text}")


def _is_ahead(ours: "_Meaning", theirs: "_Meaning") -> bool:
    return ours.is_ahead and theirs.is_over and not ours.is_over and not theirs.is_ahead


def _is_limit(ours: "_Meaning", theirs: "_Meaning") -> bool:
    return ours.is_limit and not theirs.is_limit and theirs.is_result


class _Meaning(NamedTuple):
    """How a statement means its values."""

    is_ahead: bool
    is_over: bool
    is_limit: bool
    is_result: bool


@lru_cache(maxsize=4096)
def _read(words: str) -> _Meaning:
    """How words mean their values: each is held against many others."""
    return _Meaning(*(pattern.search(words) is not None for pattern in (_AHEAD, _OVER, _LIMIT, _RESULT)))


def _words(statement: Statement) -> str:
    """What a statement says; of a row, with the labels of its columns."""
    return f"{statement.text} {' '.join(statement.place.columns)}" if statement.cells else statement.text


def labelled_apart(first: Statement, figure: Figure, second: Statement, other: Figure) -> bool:
    """Whether a value has a label, in a line of several ("Installed: 2021   Place: B"), that the other side lacks."""
    return _is_labelled(first, figure, second) or _is_labelled(second, other, first)


@lru_cache(maxsize=4096)
def _labels(text: str) -> tuple[re.Match[str], ...]:
    return tuple(_LABEL.finditer(text))


def _is_labelled(own: Statement, figure: Figure, other: Statement) -> bool:
    labels = _labels(own.text)
    before = [match for match in labels if match.end() <= figure.start]
    if not before or len(labels) < _LEAST_LABELS:
        return False
    label = terms_of(before[-1]["label"])
    concepts = frozenset(one for term in label for one in of_term(term))
    return not label & (other.terms | other.about) and not concepts & other.concepts
