"""Tells whether texts may hold the particular of somebody that a question asks for: a birthday, an age, a phone number.

All that is told of somebody is as like such a question as an answer would be; a text that answers it shows so by its
words.
"""

import re
from collections.abc import Iterable
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

_NUMBER: Final = (
    r"(?:\d{1,3}|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
)
_PARTICULARS: Final = tuple(
    (lazy_pattern(asked, re.IGNORECASE), lazy_pattern(held, re.IGNORECASE))
    for asked, held in (
        (
            r"\bbirthdays?\b|\bb-?day\b|生日",
            r"\bbirthdays?\b|\bb-?day\b|\bborn\b|\bturn(?:s|ed|ing)?\b|\b\w{2,12}ieth\b|\b\d{1,3}(?:st|nd|rd|th)\b|生日|出生|寿"
            r"|周岁|[\d一二三四五六七八九十]岁|满月|百天|生于",
        ),
        (
            r"\bhow old\b|\bwhat age\b|多大(?:岁数|年纪|年龄|了|\W*$)|几岁|多少岁",
            rf"\b{_NUMBER}\b(?! ?(?:times?|mg|ml|k?g|hours?|min(?:ute)?s?|days?|nights?|km|miles?|%|[ap]m|o'clock|:\d))"
            r"|\b(?:years?|months?|weeks?)[ -]old\b|\bbirthday\b|\bborn\b|\bteen\w*\b"
            r"|岁|个?月大|周大|年级|生于|出生|生日|[一二三四五六七八九十]{2,4}|今年\d|属[鼠牛虎兔龙蛇马羊猴鸡狗猪]",
        ),
        (
            r"\b(?:phone|mobile|cell|telephone|whatsapp) (?:number|no)\b|手机号|电话号码?|电话是?多少",
            r"(?:\d[ .-]?){5}|\*\*\*|\bnumber\b[^.!?]{0,40}\d|(?:号码|手机|电话|尾号)[^，。]{0,12}\d",
        ),
    )
)
"""Of each particular, how it is asked for, and what a text has that holds it."""


def lacks_the_particular(question: str, texts: Iterable[str]) -> bool:
    """Whether a question asks for a particular that none of some texts can hold.

    Args:
        question: What is asked.
        texts: What may be shown for it.
    """
    held = [pattern for asked, pattern in _PARTICULARS if asked.search(question)]
    return bool(held) and not any(pattern.search(text) for text in texts for pattern in held)
