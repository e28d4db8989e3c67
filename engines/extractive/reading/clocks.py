"""Times of day, in figures and in words, English and Chinese: "7.30 pm", "half past seven", 晚上七点半."""

import re
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.reading.number_words import CARDINALS, han_amount
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_CLOCK: Final = lazy_pattern(
    r"(?<![\d:.,$£€/-])(?P<part>上午|下午|晚上|傍晚|早上|中午|凌晨)?\s?(?P<hour>[0-2]?\d)"
    r"(?:(?P<mark>[:：.])(?P<minute>[0-5]\d)(?!\.?\d|:)|\s?[点时](?:(?P<half>半)|(?P<past>[0-5]?\d)分)?)?"
    r"\s{0,2}(?P<half_day>[ap]\.?m\.?(?![a-z])|o'clock)?(?![\d%:])",
    re.IGNORECASE,
)
_AT: Final = lazy_pattern(
    r"(?:\b(?:at|from|to|until|till|by|and|before|after|between)|day,?|\||[–—,-])\s{0,2}$", re.IGNORECASE
)
_MEASURED: Final = lazy_pattern(r"\s?[a-zA-Z%€$£]")
_LEAVES_AT: Final = lazy_pattern(
    r"\b(?:leav|depart|arriv|train|bus|boat|ferry|flight|coach|start|begin|began|open|clos|end)[a-z]{0,5} "
    r"(?:[a-z]{2,8} )?at $",
    re.IGNORECASE,
)
_SPOKEN: Final = lazy_pattern(
    r"\b(?:(?P<half>half)|(?:a )?(?P<quarter>quarter)|(?P<count>five|ten|twenty|twenty-five|5|10|20|25)(?: minutes)?) "
    r"(?P<way>past|to) (?P<hour>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|1[0-2]|[1-9])\b"
    r"(?! (?:per|%|of)\b)(?P<late> (?:in the (?:afternoon|evening)|p\.?m\b))?(?P<early> (?:in the morning|a\.?m\b))?"
    r"|\b(?P<whole>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) "
    r"(?:(?P<whole_late>in the (?:afternoon|evening)|at night)|in the morning)\b"
    r"|\b(?:at|from|until|till|by|before|after|is|to) (?P<named>(?:noon|midday|midnight)\b)"
    r"|(?P<part>上午|下午|晚上|傍晚|早上|早晨|清晨|中午|凌晨)?(?P<han>[一二两三四五六七八九十]{1,2})点"
    r"(?:(?P<halved>半)|(?P<sharp>整|钟)|(?P<one>一刻)|(?P<three>三刻)|(?P<minutes>[一二三四五]?十[一二三四五六七八九]?|[一二三四五六七八九])分)?",
    re.IGNORECASE,
)
"""A time of day in words."""
_BEGINS: Final = lazy_pattern(
    r"(?<![\d:.,$£€/-])(?P<hour>1[0-2]|[1-9])(?=\s?(?:to|until|till|and|[-–—])\s?(?P<end>1[0-2]|[1-9])(?:[:.][0-5]\d)?"
    r"\s?(?P<half>[ap])\.?m\b)",
    re.IGNORECASE,
)
"""What begins a span of hours whose end alone tells morning from evening ("7 to 9 pm")."""
_LATE_PARTS: Final = ("下午", "晚上", "傍晚")
_OF_A_TIME: Final = lazy_pattern(r"\b(?:at|about|around|until|till|before|after|nearly)(?: a)? $", re.IGNORECASE)
_NAMED_HOURS: Final = {"noon": 720, "midday": 720, "midnight": 1440}


class Clock(NamedTuple):
    """A time of day.

    Attributes:
        start: Offset of its first character.
        end: Offset past its last character.
        minutes: Minutes after midnight.
        half_day: Whether it tells morning from evening.
    """

    start: int
    end: int
    minutes: int
    half_day: bool


def clocks_of(text: str) -> list[Clock]:
    """The times of day in a text, in no order.

    Example:
        >>> [(one.minutes, one.half_day) for one in clocks_of("at half past seven, doors at 6.30 pm")]
        [(1110, True), (450, False)]
    """
    written = [clock for match in _CLOCK.finditer(text) if (clock := _written(match))]
    written += [_begun(match) for match in _BEGINS.finditer(text)]
    taken = {index for one in written for index in range(one.start, one.end)}
    spoken = [clock for match in _SPOKEN.finditer(text) if match.start() not in taken and (clock := _spoken(match))]
    return written + spoken


def _spoken(match: re.Match[str]) -> Clock | None:
    """A time of day in words; of a Chinese one, part of the day or minutes have to be said: 一点 is "a bit", too."""
    if match["named"]:
        return Clock(*match.span("named"), _NAMED_HOURS[match["named"].lower()], True)
    if match["whole"]:
        return _on_the_clock(match, _number(match["whole"]), 0, bool(match["whole_late"]), True)
    if match["han"]:
        hour, minutes = int(han_amount(match["han"])), _han_minutes(match)
        if hour > 24 or minutes is None and not match["part"]:
            return None
        return _on_the_clock(match, hour, minutes or 0, match["part"] in _LATE_PARTS, bool(match["part"]))
    is_told = bool(match["late"] or match["early"]) or match["way"].lower() == "past"
    if not is_told and not _OF_A_TIME.search(match.string[max(0, match.start() - 12) : match.start()]):
        return None  # "from five to ten", "by ten to one"
    minutes = 30 if match["half"] else 15 if match["quarter"] else _number(match["count"])
    hour = _number(match["hour"])
    sign = 1 if match["way"].lower() == "past" else -1
    late, early = bool(match["late"]), bool(match["early"])
    return _on_the_clock(match, hour, sign * minutes, late, late or early)


def _begun(match: re.Match[str]) -> Clock:
    hour, end = int(match["hour"]) % 12, int(match["end"]) % 12
    late = match["half"].lower() == "p" and hour <= end
    return Clock(*match.span("hour"), 60 * (hour + 12 * late), True)


def _on_the_clock(match: re.Match[str], hour: int, minutes: int, late: bool, half_day: bool) -> Clock:
    hour += 12 * (late and hour < 12)
    return Clock(*match.span(), (60 * hour + minutes) % 1440, half_day or hour > 12)


def _han_minutes(match: re.Match[str]) -> int | None:
    if match["minutes"]:
        return int(han_amount(match["minutes"]))
    return next((n for name, n in (("halved", 30), ("one", 15), ("three", 45), ("sharp", 0)) if match[name]), None)


def _number(word: str) -> int:
    parts = word.lower().split("-")
    return int(word) if word.isdigit() else int(sum(CARDINALS[part] for part in parts))


def _written(match: re.Match[str]) -> Clock | None:
    half_day = (match["half_day"] or "").lower().replace(".", "")
    if not (match["part"] or match["mark"] or half_day or match.group().strip()[-1:] in "点时半分"):
        return None
    if match["mark"] == "." and not half_day and not _is_dotted(match):
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or match["past"] or (30 if match["half"] else 0))
    late = half_day == "pm" or match["part"] in _LATE_PARTS or (match["part"] == "中午" and hour < 10)
    hour += 12 * (late and hour < 12)
    is_told = bool(match["part"] or half_day) or match["hour"][0] == "0" or not 0 < hour <= 12
    return Clock(*match.span(), 60 * hour + minute, is_told) if hour <= 24 else None


def _is_dotted(match: re.Match[str]) -> bool:
    """Whether "9.30" is a time of day, and no number: after "at" or at the head of a row, and without a unit."""
    before = match.string[max(0, match.start("hour") - 20) : match.start("hour")]
    if _MEASURED.match(match.string, match.end()):
        return False
    return bool(_LEAVES_AT.search(before) or match["minute"][1] in "05" and _AT.search(before))
