"""What numbers written in words come to, in English ("twenty-one", "third") and Chinese ("二十一", "二〇二六")."""

import re
from typing import Final


def numbered(words: str, start: int, step: int = 1) -> dict[str, int]:
    """Words in order, each with its number."""
    return {word: start + step * index for index, word in enumerate(words.split())}


_ONES: Final = numbered(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """,
    0,
)
_TENS: Final = numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
_SCALES: Final = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0}
_ORDINAL_ONES: Final = numbered(
    """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth
    """,
    1,
)
_ORDINAL_TENS: Final = {word[:-1] + "ieth": number for word, number in _TENS.items()}
_ORDINAL_SCALES: Final = {"hundredth": 1e2, "thousandth": 1e3, "millionth": 1e6}
ORDINALS: Final = {**_ORDINAL_ONES, **_ORDINAL_TENS, **_ORDINAL_SCALES}
CARDINALS: Final = {**_ONES, **_TENS, **_SCALES}
HAN_DIGITS: Final = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_SCALES: Final = {"十": 10, "百": 100, "千": 1000}


HAN_COUNTERS: Final = frozenset(
    "个名人位只台辆本次年天层米条家间张座场部所岁吨元月周倍种件支枚颗艘架万亿号季届"
    "箱户处块桌套扇盏棵头页栋排根袋瓶包盒篇节对双匹幅株亩杯份"
)
"""What stands behind a Chinese number that counts something."""
NO_HALF: Final = tuple("年月天价数径截路")
"""What makes of 半 behind a measure the half of something else ("三年半价")."""
DAY_WORDS: Final = (
    r"(?:(?:twenty|thirty)-)?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|"
    r"(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|thirtieth"
)
"""The days of a month in words."""
PART_OF_ONE: Final = re.compile(
    r"\b(?:(?P<half>half)|(?:a )?quarter of) an? "
    r"(?=(?:hour|year|day|mile|metre|meter|kilo|litre|liter|pound|ton)\w{0,8})",
    re.IGNORECASE,
)
"""Half of one measure, or a quarter of it, in words."""


def is_number_word(word: str) -> bool:
    """Whether an English word is a number, or several by hyphens ("twenty-first")."""
    parts = word.lower().split("-")
    return all(part in CARDINALS or part in ORDINALS for part in parts)


def spelled_amount(words: list[str]) -> float:
    """The number that English words say together, in lower case: 2,021 for two, thousand, twenty, one."""
    total, current = 0.0, 0.0
    for word in words:
        if word in _SCALES or word in _ORDINAL_SCALES:
            scale = _SCALES.get(word) or _ORDINAL_SCALES[word]
            current = max(current, 1.0) * scale
            if scale >= 1000:
                total, current = total + current, 0.0
        else:
            current += CARDINALS.get(word, ORDINALS.get(word, 0))
    return total + current


def han_amount(word: str) -> float:
    """What Chinese numerals come to: 21 for "二十一"."""
    total, section, digit = 0.0, 0, 0
    for char in word:
        if char in HAN_DIGITS:
            digit = HAN_DIGITS[char]
        elif char in _HAN_SCALES:
            section, digit = section + max(digit, 1) * _HAN_SCALES[char], 0
        elif char in "万亿":
            total, section, digit = (total + section + digit) * (1e4 if char == "万" else 1e8), 0, 0
    return total + section + digit


def han_year(word: str | None) -> int | None:
    """A year in digits or in Chinese ones: 2026 for "二〇二六"."""
    if not word:
        return None
    return int(word) if word.isdigit() else int("".join(str(HAN_DIGITS.get(char, 0)) for char in word))


def small_number(word: str | None) -> int | None:
    """A day or a month, in digits or in Chinese numerals."""
    if not word:
        return None
    return int(word) if word.isdigit() else int(han_amount(word))
