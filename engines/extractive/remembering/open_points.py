"""Says what a user still has to do, without what they have told since to be done."""

import re
from collections.abc import Sequence
from typing import Final

from agentic_memory_bank.engines.extractive.reading.phrases import ENDS_ASKING
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

LOOKED_THROUGH: Final = 200
"""The last sentences that are read."""

_TO_DO: Final = lazy_pattern(
    r"\b(?:(?:i|we) (?:still )?(?:need|have) to|(?:i|we) still need|to[- ]do|still (?:open|missing|to be|to do|to find"
    r"|to book|have to|need to)|next step|follow up on|waiting (?:for|to hear|on))\b"
    r"|\A\W*(?:still )?(?:need|have|got) to\b|还需要|还要|还差|还缺|待办|待定|未定|下一步|还没",
    re.IGNORECASE,
)
_SETTLED: Final = lazy_pattern(
    r"\b(?:done|booked|bought|signed|paid|found|got|sorted|ordered|chosen|chose|picked|hired|cancelled|sent|finished"
    r"|arranged|confirmed|settled|rented|applied|fixed|sold|collected|received|moved|decided|going with|is on|are on"
    r"|has a place|have a)\b"
    r"|(?:好|完|定|订|买|签|付|选|找|约|办|交|租|修|装|搞|谈)(?:了|好|妥|定|到|下来|上了)"
    r"|联系上|搞定|到位|到货|解决|确定|落实",
    re.IGNORECASE,
)
"""How somebody tells that a thing is done."""
_ASKED: Final = lazy_pattern(rf"{ENDS_ASKING}|[吗呢]\W*+$")
_LIST: Final = lazy_pattern(r"\A(?P<lead>[^:：]{1,40}[:：]\s?)(?P<items>.{2,300})\Z", re.DOTALL)
_BETWEEN: Final = lazy_pattern(r"\s?[,;、，；]\s?(?:and )?|\s(?:and)\s|和")
_HAN: Final = lazy_pattern(r"[\u3400-\u9fff]{2,}")
_EMPTY_ZH: Final = lazy_pattern(
    r"还没有?|还需要|还要|还差|还缺|待定|未定|没定|没想好|没联系|下一步|联系|准备|需要|的是|我们?|要|请|想|找|买|订|定|去|了|的|是"
)
_EMPTY: Final = frozenset(
    tokenize("need have still find book buy order cancel get choose wait hear open missing todo do")
)


def is_to_do(sentence: str) -> bool:
    """Whether a sentence says that something is still to be done."""
    return _TO_DO.search(sentence) is not None and _ASKED.search(sentence) is None


def still_to_do(said: Sequence[str]) -> list[str]:
    """What is still to be done, as it was said, the latest first; of a list the items that are left.

    Args:
        said: The sentences of a user, in their order.
    """
    said = said[-LOOKED_THROUGH:]
    left: list[str] = []
    for place, sentence in enumerate(said):
        if not is_to_do(sentence):
            continue
        later = [one for one in said[place + 1 :] if _SETTLED.search(one) and not is_to_do(one)]
        if rest := _unsettled(sentence, later):
            left.append(rest)
    return [*dict.fromkeys(reversed(left))]


def _unsettled(sentence: str, later: Sequence[str]) -> str:
    """What of a sentence no later one settles; empty for nothing."""
    listed = _LIST.match(sentence)
    if listed is None or not _TO_DO.search(listed["lead"]):
        return "" if any(_is_of(sentence, one) for one in later) else sentence
    mark = "、" if is_cjk(sentence) else ", "
    items = [item.strip(" .。") for item in _BETWEEN.split(listed["items"])]
    left = [item for item in items if item and not any(_is_of(item, one) for one in later)]
    return sentence if len(left) == len(items) else listed["lead"] + mark.join(left) if left else ""


def _is_of(thing: str, sentence: str) -> bool:
    """Whether a sentence speaks of what a thing is named by."""
    if is_cjk(thing):
        parts = _HAN.findall(_EMPTY_ZH.sub(" ", thing))
        return any(part[at : at + 2] in sentence for part in parts for at in range(len(part) - 1))
    words = set(tokenize(thing)) - _EMPTY
    return bool(words) and 2 * len(words & set(tokenize(sentence))) >= min(len(words), 4)
