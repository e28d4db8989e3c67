"""Numbers, quantities and dates read out of English and Chinese text, and whether two of them can both be true."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading.lexicon import stem
from agentic_memory_bank.engines.extractive.reading.number_words import (
    CARDINALS,
    DAY_WORDS,
    HAN_COUNTERS,
    HAN_DIGITS,
    NO_HALF,
    ORDINALS,
    PART_OF_ONE,
    han_amount,
    han_year,
    is_number_word,
    numbered,
    small_number,
    spelled_amount,
)
from agentic_memory_bank.engines.extractive.reading.units import CURRENCY, CURRENCY_CODES, UNITS
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_SUFFIXES: Final = {
    **{"k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "trillion": 1e12},
    **{"dozen": 12.0, "hundred": 1e2, "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8, "万亿": 1e12},
}
_MONTHS: Final = {
    **numbered("january february march april may june july august september october november december", 1),
    **numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1),
    "sept": 9,
}
_CHINESE_UNITS: Final = sorted((name for name in UNITS if not name.isascii()), key=lambda name: (-len(name), name))
_MEASURES: Final = tuple(name for name in _CHINESE_UNITS if name[0] not in "年月日")
_CHINESE_UNIT_STARTS: Final = frozenset(name[0] for name in _CHINESE_UNITS)

_MONTH: Final = r"(?P<{0}>(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r"))\b\.?"
_YEAR: Final = r"(?P<{0}>1[0-9]{{3}}|20[0-9]{{2}})"
_DAY: Final = r"(?P<{0}>[0-3]?[0-9])(?:st|nd|rd|th)?"
_HAN: Final = "〇零一二三四五六七八九十"
_DATE_PATTERNS: Final = tuple(
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![A-Za-z0-9_.]){_YEAR.format('year')}[-/.](?P<month>[01]?[0-9])[-/.](?P<day>[0-3]?[0-9])(?![A-Za-z0-9_-])",
        rf"(?P<year>(?<![0-9])[0-9]{{4}}|[{_HAN}]{{4}})\s?年\s?(?P<month>[0-9]{{1,2}}|[{_HAN}]{{1,2}})\s?月\s?(?:(?P<day>[0-9]{{1,2}}|[{_HAN}]{{1,3}})\s?[日号])?",
        rf"(?P<year>(?<![0-9])[0-9]{{4}}|[{_HAN}]{{4}})\s?年(?!代)(?![0-9])",
        rf"(?<![0-9])(?P<month>[0-9]{{1,2}}|[{_HAN}]{{1,2}})\s?月\s?(?P<day>[0-9]{{1,2}}|[{_HAN}]{{1,3}})\s?[日号]",
        rf"\b(?:{_DAY.format('day')}\s+(?:of\s+)?|(?P<spelled>{DAY_WORDS})\s+(?:day\s+)?of\s+){_MONTH.format('month')}(?:\s*+(?:,\s*+)?(?:of\s+)?{_YEAR.format('year')}\b)?",
        rf"\b{_MONTH.format('month')}\s*{_DAY.format('day')}\b(?!\s*:)(?:\s*+(?:,\s*+)?{_YEAR.format('year')}\b)?",
        rf"\b{_MONTH.format('month')}\s*+(?:,\s*+)?(?:of\s+)?{_YEAR.format('year')}\b",
        rf"(?:\b(?:in|on|since|until|till|during|of|by|late|early|mid)[\s-]+)(?P<named>{_MONTH.format('month')})(?!\w)",
        rf"(?<![A-Za-z0-9_.,$€£¥#/])(?<![A-Za-z]-)(?<![^0-9][0-9][0-9]-){_YEAR.format('year')}(?P<decade>s)?(?![A-Za-z0-9_%]|[.,][0-9]|-[a-z])",
    )
)
_NUMBER: Final = lazy_pattern(
    r"(?<![A-Za-z0-9_.])(?<![A-Za-z]-)(?P<currency>US\$|[$€£¥￥]|(?:" + CURRENCY_CODES + r")(?=[ \d]))?\s{0,4}"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)"
    r"(?:(?P<ordinal>st|nd|rd|th)\b|\s{0,4}(?P<suffix>thousand|million|billion|trillion|dozen|hundred|bn|mn|k|万亿|千万|百万|万|亿|千)(?![a-z])|(?P<joined>m)(?![a-z0-9])(?=\s+(?:people|users|dollars)))?",
    re.IGNORECASE,
)
_HAN_NUMBER: Final = lazy_pattern(r"第?[零〇一二两三四五六七八九十百千万亿]+")
_NUMBER_WORD: Final = "|".join(sorted((*CARDINALS, *ORDINALS), key=len, reverse=True))
_WORD: Final = lazy_pattern(rf"(?:{_NUMBER_WORD})(?:-(?:{_NUMBER_WORD}))*\b|[A-Za-z]+", re.IGNORECASE)
_AFTER: Final = lazy_pattern(
    r"(?:\s{0,4}|-)(?P<unit>%|°\s?[CF]|℃|℉|degrees?\s(?:[CF]\b|[Cc]elsius|[Ff]ahrenheit)"
    r"|(?:square|cubic|sq)\s(?:m|km|ft|metres?|meters?|feet|foot|kilomet(?:re|er)s?)\b|km/h\b|[A-Za-z]+[2²3³]?)"
)
_COUNTED: Final = lazy_pattern(r"(?:\s{0,4}|-)((?:[A-Za-z][\w'’-]*\s+){0,2}?)([A-Za-z][\w'’-]*)")
_FUNCTION_WORDS: Final = """
    the a an of in on at to from by for with and or as is are was were be been has have had who which that than it
    its his her their after before until when while but not per
"""
_NOT_COUNTED: Final = frozenset(_FUNCTION_WORDS.split())
_WHO_IS_COUNTED: Final = "people men women children soldiers students users screens employees residents inhabitants"
_PEOPLE: Final = frozenset(_WHO_IS_COUNTED.split())
_DIGIT_BEFORE: Final = lazy_pattern(r"[0-9][\s-]?$")
_NO_RANK: Final = lazy_pattern(r"\s*(?:s\b|later|before|after|per)")
_BOUND_BELOW: Final = lazy_pattern(
    r"(?:(?<!no )(?<!not )more than|over|at least|above|exceed\w{0,9}|greater than|minimum of|"
    r"(?:not|never|no) (?:before|earlier than|sooner than|until)|超过|至少|不少于|多于)"
    r"\s*+(?:[$€£¥]\s*+)?$",
    re.IGNORECASE,
)
_BOUND_ABOVE: Final = lazy_pattern(
    r"(?:less than|under|at most|below|"
    r"(?:\bno|\bnot|\bnever|n['’]t)(?: [a-z]{2,9}){0,2} (?:more than|over|above|exceed)|不[得应可能要宜]?超过|"
    r"(?<!go )(?<!goes )(?<!went )(?<!gone )(?<!going )up to|"
    r"fewer than|maximum of|少于|不足|至多|不超过|低于)\s*+(?:[$€£¥]\s*+)?$",
    re.IGNORECASE,
)
_ROUGH_BEFORE: Final = lazy_pattern(
    r"(?:\b(?:about|around|approximately|roughly|nearly|almost|circa|some|c\.|ca\.?|estimated)|大约|约|近|将近)\s*+(?:[$€£¥]\s*+)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Value:
    """A number or a date that a text states, with where it stands.

    Attributes:
        kind: "number" or "date".
        start: Offset of its first character in the text.
        end: Offset past its last character (its unit included).
        amount: The number in base units of `unit`; 0.0 for dates.
        unit: Dimension ("length", "dollar", …), else the stem of the counted noun, else "".
        ordinal: Whether the number is a rank ("third", "第三").
        date: (year, month, day), each None where the text does not say.
        bound: "at least", "at most", "about" or "" (exact).
        measured: Whether `unit` comes from the table of units, and not from a counted noun.
        factor: How many base units its unit is.
        step: Half of what its last significant digit stands for, in base units.
    """

    kind: Literal["number", "date"]
    start: int
    end: int
    amount: float = 0.0
    unit: str = ""
    ordinal: bool = False
    date: tuple[int | None, int | None, int | None] = (None, None, None)
    bound: str = ""
    measured: bool = False
    factor: float = 1.0
    step: float = 0.0


_RANGE: Final = lazy_pattern(r"\s?(?:to|[-–—~～至到])\s?")
_LONGEST_LINK: Final = 4
_CHANGES_FROM: Final = lazy_pattern(
    r"(?:\b(?:ris|rais|rose|increas|grow|grew|go|went|drop|fall|fell|reduc|lower|cut|chang|extend|"
    r"shorten|mov|adjust|brought|up|down)\w*\b[^.;]{0,20}\bfrom|[由从原])\s?$",
    re.IGNORECASE,
)
"""What says that a value became another one, and is no range of them."""
_CHANGES_REACH: Final = 40


def agree(first: Value, second: Value) -> bool:
    """Whether two values of one kind can both be true of the same thing."""
    if first.kind == "date":
        return all(
            left is None or right is None or left == right for left, right in zip(first.date, second.date, strict=True)
        )
    return _amounts_agree(first, second)


def comparable(first: Value, second: Value) -> bool:
    """Whether two values answer the same kind of question: dates that share a field, numbers of one dimension."""
    if first.kind != second.kind or first.ordinal != second.ordinal:
        return False
    if first.kind == "date":
        return any(left is not None and right is not None for left, right in zip(first.date, second.date, strict=True))
    return first.unit == second.unit


def values_of(text: str) -> tuple[Value, ...]:
    """Every date and number of a text, in the order in which they stand.

    Args:
        text: Any text, English, Chinese or mixed.
    """
    return _values_of(text)


@lru_cache(maxsize=4096)
def _values_of(text: str) -> tuple[Value, ...]:
    dates = _dates(text)
    taken = [False] * (len(text) + 1)
    for value in dates:
        for index in range(value.start, value.end):
            taken[index] = True
    numbers = [
        value for value in (*_digit_numbers(text), *_word_numbers(text), *_han_numbers(text)) if not taken[value.start]
    ]
    return tuple(sorted((*dates, *_ranged(text, numbers)), key=lambda value: (value.start, value.end)))


def _ranged(text: str, numbers: list[Value]) -> list[Value]:
    """The same numbers; of a range ("12 to 24 V"), each end as a limit, the lower one in the unit of the upper."""
    found = sorted(numbers, key=lambda value: (value.start, value.end))
    for at, (low, high) in enumerate(pairwise(found)):
        between = text[low.end : high.start] if high.start - low.end <= _LONGEST_LINK else ""
        if not (_RANGE.fullmatch(between) and low.unit in ("", high.unit) and low.amount * high.factor < high.amount):
            continue
        if _CHANGES_FROM.search(text[max(0, low.start - _CHANGES_REACH) : low.start]):
            continue
        unit = replace(low, unit=high.unit, amount=low.amount * high.factor, factor=high.factor, measured=high.measured)
        found[at] = replace(low if low.unit else unit, bound="at least")
        found[at + 1] = replace(high, bound="at most")
    return found


_MOST_ROUNDED: Final = 0.03
"""Share of a measure by which it may be off when it was converted and rounded."""


def _amounts_agree(first: Value, second: Value) -> bool:
    low, high = sorted((first, second), key=lambda value: value.amount)
    if (low.bound == "at least" or high.bound == "at most") and low.bound != high.bound:
        return True  # two limits differ like any two values
    if first.measured and first.factor != second.factor:  # written in other units: as exact as the coarser one
        rounded = min(max(first.step, second.step), _MOST_ROUNDED * high.amount)
        if abs(first.amount - second.amount) <= rounded:
            return True
    slack = 0.1 if "about" in (first.bound, second.bound) else 0.002
    if not first.measured or first.amount == second.amount:
        slack = slack if slack > 0.01 else 0.0
    return abs(first.amount - second.amount) <= slack * max(abs(first.amount), abs(second.amount))


def _dates(text: str) -> list[Value]:
    found: list[Value] = []
    taken: set[int] = set()
    for pattern in _DATE_PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span("named") if "named" in pattern.groupindex else match.span()
            if start in taken or end - 1 in taken:
                continue
            date = _date(match.groupdict())
            if date is None or (date[1:] == (None, None) and _is_plain_number(text, match)):
                continue
            end -= text[end - 1] == "."
            found.append(Value("date", start, end, date=date))
            taken.update(range(start, end))
    return found


def _date(groups: dict[str, str | None]) -> tuple[int | None, int | None, int | None] | None:
    if groups.get("decade"):
        return None
    year = han_year(groups.get("year"))
    name = groups.get("month")
    month = _MONTHS.get(name.lower()) if name and name.isascii() and name.isalpha() else small_number(name)
    spelled = groups.get("spelled")
    day = int(spelled_amount(spelled.lower().split("-"))) if spelled else small_number(groups.get("day"))
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    return year, month, day


def _is_plain_number(text: str, match: re.Match[str]) -> bool:
    """A bare four-digit figure that counts something ("2000 people", "2000 m") is no year."""
    if not match.group().isdigit():
        return False
    after = _AFTER.match(text, match.end())
    word = after.group("unit").lower() if after else ""
    counted = text[match.end() : match.end() + 8].lstrip(" ")
    if counted[:1] in HAN_COUNTERS or counted.startswith(_MEASURES):
        return True
    return word in _PEOPLE or (word in UNITS and word not in {"in", "t", "g", "m"} and not word.startswith("second"))


def _digit_numbers(text: str) -> list[Value]:
    found: list[Value] = []
    for match in _NUMBER.finditer(text):
        if match.end() < len(text) and text[match.end()].isalpha() and not _glued_unit(text, match.end()):
            continue
        amount = float(match.group("digits").replace(",", ""))
        suffix = match.group("suffix") or match.group("joined")
        amount *= _SUFFIXES.get(suffix.lower(), 1.0) if suffix else 1.0
        currency = CURRENCY.get((match.group("currency") or "").lower())
        if not (amount < 1e300):
            continue
        start = match.start("currency") if currency else match.start("digits")
        found.append(_number(text, start, match.end(), amount, ordinal=bool(match.group("ordinal")), currency=currency))
    return found


def _glued_unit(text: str, position: int) -> bool:
    after = _AFTER.match(text, position)
    return not text[position].isascii() or (after is not None and after.group("unit").lower() in UNITS)


def _number(
    text: str, start: int, end: int, amount: float, *, ordinal: bool = False, currency: str | None = None
) -> Value:
    bound = _bound(text[max(0, start - 32) : start])
    if currency:
        return Value("number", start, end, amount, currency, False, bound=bound, measured=True)
    unit, factor, unit_end, measured = _unit(text, end) if not ordinal else ("", 1.0, end, False)
    if text.startswith("日", end) and text.endswith("提前", 0, start):
        unit, factor, unit_end, measured = "time", 86400.0, end + 1, True
    if measured and text.startswith("半", unit_end) and not text.startswith(NO_HALF, unit_end + 1):
        amount, unit_end = amount + 0.5, unit_end + 1
    step = _step(text[start:end]) * factor
    return Value(
        "number",
        start,
        unit_end,
        amount * factor,
        unit,
        ordinal,
        bound=bound,
        measured=measured,
        factor=factor,
        step=step,
    )


def _step(written: str) -> float:
    """Half of what the last digit other than a closing zero stands for: 50 for "1,200", 0.05 for "3.2"."""
    digits = "".join(char for char in written if char.isdigit() or char == ".").strip(".")
    whole, dot, rest = digits.partition(".")
    if dot:
        return float(0.5 * 10.0 ** -len(rest))
    return float(0.5 * 10.0 ** (len(whole) - len(whole.rstrip("0")))) if whole.strip("0") and len(whole) < 16 else 0.0


@lru_cache(maxsize=1024)
def _bound(before: str) -> str:
    """What the words just before a number say of it: "at least", "at most", "about" or nothing."""
    if _BOUND_ABOVE.search(before):
        return "at most"
    if _BOUND_BELOW.search(before):
        return "at least"
    return "about" if _ROUGH_BEFORE.search(before) else ""


def _unit(text: str, end: int) -> tuple[str, float, int, bool]:
    near = text[end : end + 8]
    rest = near.lstrip()
    for name in _CHINESE_UNITS if rest[:1] in _CHINESE_UNIT_STARTS and not rest.startswith("年级") else ():
        if rest.startswith(name):
            return *UNITS[name], end + len(near) - len(rest) + len(name), True
    after = _AFTER.match(text, end)
    if after:
        word = after.group("unit").lower().replace(" ", "")
        if word in UNITS:
            return *UNITS[word], after.end(), True
    counted = _COUNTED.match(text, end)
    return (_head_noun(counted), 1.0, end, False) if counted else ("", 1.0, end, False)


def _head_noun(match: re.Match[str]) -> str:
    for word in (words := (match.group(1) + match.group(2)).split()):
        if word.lower() in _NOT_COUNTED:
            return ""
        if word.lower().endswith("s") or word.lower() in _PEOPLE:
            return stem(word)
    return stem(words[-1]) if words else ""


def _word_numbers(text: str) -> list[Value]:
    found: list[Value] = []
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        if run and _joins(text, run[-1], match):
            run.append(match)
            continue
        if run:
            found.extend(_spelled(text, run))
        run = [match] if is_number_word(match.group()) and not _preceded_by_digit(text, match.start()) else []
    parts = ((match, 0.5 if match["half"] else 0.25) for match in PART_OF_ONE.finditer(text))
    return [*found, *(_spelled(text, run) if run else ()), *(_number(text, *part.span(), size) for part, size in parts)]


def _preceded_by_digit(text: str, start: int) -> bool:
    return bool(_DIGIT_BEFORE.search(text[max(0, start - 2) : start]))


def _joins(text: str, last: re.Match[str], following: re.Match[str]) -> bool:
    gap = text[last.end() : following.start()]
    return gap.isspace() and is_number_word(following.group()) and last.group().lower() not in ORDINALS


def _spelled(text: str, run: list[re.Match[str]]) -> list[Value]:
    words = [part for match in run for part in match.group().lower().split("-")]
    if words == ["second"] and _NO_RANK.match(text, run[-1].end()):
        return []
    amount = spelled_amount(words)
    ordinal = words[-1] in ORDINALS
    if amount >= 1e300:
        return []
    return [_number(text, run[0].start(), run[-1].end(), amount, ordinal=ordinal)]


_HAN_HALF: Final = lazy_pattern(r"(?<![个年月天点大多小上下前后])半(?=个?小时|个月|年(?!级)|天)")


def _han_numbers(text: str) -> list[Value]:
    found: list[Value] = []
    for match in _HAN_NUMBER.finditer(text):
        word = match.group()
        ordinal = word.startswith("第")
        digits = word.removeprefix("第")
        follows = text[match.end() : match.end() + 1]
        if text[max(0, match.start() - 1) : match.start()].isdigit() or not any(
            char in HAN_DIGITS or char == "十" for char in digits
        ):
            continue
        counts = bool(follows) and (follows in HAN_COUNTERS or text.startswith(_MEASURES, match.end()))
        if len(digits) > 12 or not (ordinal or counts):
            continue
        found.append(_number(text, match.start(), match.end(), han_amount(digits), ordinal=ordinal))
    return found + [_number(text, *match.span(), 0.5) for match in _HAN_HALF.finditer(text)]
