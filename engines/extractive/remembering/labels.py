"""Reads notes of a value under a label, "Budget: $10,000", and whether one announces that the value has changed.

People jot them down without a sentence: "Budget increased to $12,000", "Final budget: $15,000", 最终预算：1.5万. No
label says whether it means one thing that changes or several things; so only a note that announces a change ("final",
"now", "increased to") takes the place of an earlier one.
"""

import re
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

LONGEST: Final = 120
"""Characters of a note; what is longer is prose."""
MOST_WORDS: Final = 4
"""Words of a label."""

MOST_OF_VALUE: Final = 4
"""Words of a value, or twice as many Chinese characters: what goes on is prose."""

_PROSE: Final = lazy_pattern(r", |[，；;。]\s?\S")
_ENGLISH: Final = lazy_pattern(
    r"\W{0,3}(?P<newest>(?:final|new|current|updated|revised|latest) )?(?:(?:the|our|my) )?"
    r"(?P<label>[a-z][\w'-]{1,30}(?: [a-z][\w'-]{1,30}){0,3}?)"
    r"(?: ?[:=] ?(?P<now>now )?"
    r"|(?P<changed> (?:has |have |was |is |been |got ){0,3}(?:increased|raised|changed|cut|reduced|lowered|moved"
    r"|updated|dropped|revised|grown|gone up|up|down)(?: from [^\s]{1,20}(?: [a-z]{1,12})?)? to | (?:is )?now ))"
    r"(?P<value>\S[^\n:]{0,60})",
    re.IGNORECASE,
)
_CHINESE: Final = lazy_pattern(
    r"\W{0,3}(?P<newest>最终|最后|最新|新的?|现在的?|目前的?)?(?P<label>[\u4e00-\u9fff]{2,6}?)"
    r"(?:[:：](?P<now>现在)?|(?P<changed>(?:已经?)?(?:增加|提高|减少|调整|上调|下调|降低|追加|压缩|降|涨|加|减|升|改)(?:到|为|至|成)"
    r"|现在是)|[是为](?=\D?[\d一二两三四五六七八九十百千])|(?<=[\u4e00-\u9fff]{2})(?=\d|[一二两三四五六七八九十]{1,3}[百千万亿]))"
    r"(?P<value>\S[^\n:：]{0,30})"
)

_FIGURE_ZH: Final = lazy_pattern(r"[零一二两三四五六七八九十百千万亿半]{2,8}[元块人个位]?\W{0,2}")
"""A figure in Chinese words: 一万二."""


class LabelledValue(NamedTuple):
    """A value under a label."""

    label: frozenset[str]
    value: str
    is_change: bool
    """Whether it is announced as the one that holds now."""


def labelled(words: str) -> LabelledValue | None:
    """The value that a note gives under a label; None for whatever is no such note.

    Args:
        words: What was said, without who and when.
    """
    text = " ".join(words.split())
    found = None if len(text) > LONGEST else _ENGLISH.fullmatch(text) or _CHINESE.fullmatch(text)
    if found is None or not _is_figure(found["value"]):
        return None
    label = frozenset(tokenize(found["label"]))
    if not 0 < len(label) <= MOST_WORDS:
        return None
    return LabelledValue(
        label, found["value"].rstrip(" .。"), bool(found["newest"] or found["changed"] or found["now"])
    )


def _is_figure(value: str) -> bool:
    """Whether a value is a figure or a date with its unit, and nothing else."""
    is_short = len(value.split()) <= MOST_OF_VALUE and sum(map(is_cjk, value)) <= 2 * MOST_OF_VALUE
    is_figure = _FIGURE_ZH.fullmatch(value) is not None or bool(values_of(value))
    return is_short and _PROSE.search(value) is None and is_figure
