"""Names, identifiers, dates and numbers of a text in normal form: what rarely stands in two texts by chance."""

import re
from collections.abc import Iterator
from functools import lru_cache

from agentic_memory_bank.tools.text.cleaning import CJK, is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import JOINTS, STOP_WORDS, WORD, fold, plain_number, words_of

_MONTH_NAMES = """january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|
october oct|november nov|december dec"""
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split("|"), start=1) for name in names.split()}
_MONTH = "(?P<month{}>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY = r"(?P<day{}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year{}>[12]\d{{3}})"
_DATE = lazy_pattern(
    r"(?=[\djfmasond])(?:"  # what a date begins with: most places of a text are passed over at once
    + "|".join(
        (
            rf"\b{_DAY.format(1)}(?: of)? {_MONTH.format(1)}(?:,? {_YEAR.format(1)})?(?!\w)",
            rf"\b{_MONTH.format(2)} {_DAY.format(2)}(?:,? {_YEAR.format(2)})?(?![\w.])",
            rf"\b{_MONTH.format(3)},? {_YEAR.format(3)}(?!\w)",
            rf"(?<![\d.-]){_YEAR.format(4)}[-/.](?P<month4>0?[1-9]|1[0-2])[-/.]{_DAY.format(4)}(?![\d-])",
            rf"(?<!\d){_YEAR.format(5)} ?年(?: ?(?P<month5>\d{{1,2}}) ?月(?: ?{_DAY.format(5)} ?[日号])?)?",
            rf"(?<!\d)(?P<month6>\d{{1,2}}) ?月 ?{_DAY.format(6)} ?[日号]",
        )
    )
    + ")",
    re.IGNORECASE,
)
_QUANTITY = lazy_pattern(
    r"(?<![A-Za-z0-9_.])(?P<number>\d{1,2}:\d{2}(?!\d)|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?: ?(?P<scale>%|percent\b|per cent\b|thousand\b|million\b|billion\b|trillion\b|[万亿]))?",
    re.IGNORECASE,
)
_LETTER_AND_DIGIT = lazy_pattern(f"[^\\W\\d_{CJK}][-.:_]?\\d")
_IDENTIFIER = lazy_pattern(f"(?<![^\\W_])[^\\W\\d_{CJK}](?:[^\\W_{CJK}]|[-.:_](?=[^\\W_{CJK}]))*")
_HALF_WIDTH = str.maketrans({0xFF01 + i: 0x21 + i for i in (*range(15, 25), *range(32, 58), *range(64, 90), 13, 4)})
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "万": 4, "亿": 8}
_NO_NAMES = STOP_WORDS | _MONTHS.keys() | words_of("monday tuesday wednesday thursday friday saturday sunday")
_NAME = lazy_pattern(f"{WORD}(?:(?:[-.&]|_+){WORD})*(?:\\+\\+|#)?")
_CHINESE_NAME = lazy_pattern(f"《([^《》\n]{{1,40}})》|([{CJK}]{{1,8}}(?:·[{CJK}]{{1,8}})+)")


def names_and_numbers(text: str) -> set[str]:
    """Collect what rarely stands in two texts by chance: names, identifiers, dates and numbers, each in a normal form.

    Names are Latin words with a capital (at the start of a sentence only when they come again inside one, or with
    another capital behind them), any Latin word in a Chinese text, and Chinese titles in 《》 and names with a dot.
    Dates read `2023-05-07`, `2023-05` or `05-07`, numbers `1121`, `3.14` or `85%`; single digits are left out.
    """
    dates, undated = _dates(text)
    return _names(text, undated) | {number for number, _ in [*dates, *_quantities(undated)]}


def numbers_with_offsets(text: str) -> list[tuple[str, Span]]:
    """List dates, times and numbers of two digits and more in normal form, each with where it stands, in order."""
    dates, undated = _dates(text)
    return sorted([*dates, *_quantities(undated)], key=lambda item: item[1])


@lru_cache(maxsize=4096)
def marks(text: str) -> frozenset[str]:
    """Collect `names_and_numbers` of a text that is compared with many others, once."""
    return frozenset(names_and_numbers(text))


def _dates(text: str) -> tuple[list[tuple[str, Span]], str]:
    """The dates of a text, and the text in letters of half width with blanks where they stand."""
    plain = text.translate(_HALF_WIDTH)
    found = [(_iso(date), date.span()) for date in _DATE.finditer(plain)]
    return found, _DATE.sub(_blank, plain) if found else plain


def _quantities(undated: str) -> list[tuple[str, Span]]:
    rest = _IDENTIFIER.sub(_blank_identifier, undated) if _LETTER_AND_DIGIT.search(undated) else undated
    return [(number, match.span()) for match in _QUANTITY.finditer(rest) if (number := _quantity(match))]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _blank_identifier(word: re.Match[str]) -> str:
    return _blank(word) if any(map(str.isdigit, word[0])) else word[0]


def _iso(date: re.Match[str]) -> str:
    fields = {name.rstrip("123456"): value for name, value in date.groupdict().items() if value}
    month = fields.get("month", "").casefold()
    number = _MONTHS.get(month) or (int(month) if month else None)
    day = fields.get("day")
    parts = [fields.get("year"), f"{number:02d}" if number else None, f"{int(day):02d}" if day else None]
    return "-".join(part for part in parts if part)


def _quantity(match: re.Match[str]) -> str | None:
    number, scale = plain_number(match["number"]), (match["scale"] or "").casefold()
    if scale in ("%", "percent", "per cent"):
        return number + "%"
    if scale in _SCALES:
        return _scaled(number, _SCALES[scale])
    return number if len(number) > 1 else None


def _scaled(number: str, zeros: int) -> str:
    whole, _, fraction = number.partition(".")
    shifted = (whole + fraction[:zeros].ljust(zeros, "0")).lstrip("0") or "0"
    rest = fraction[zeros:].rstrip("0")
    return f"{shifted}.{rest}" if rest else shifted


def _names(text: str, undated: str) -> set[str]:
    names = {next(filter(None, match.groups())) for match in _CHINESE_NAME.finditer(text)}
    chinese = is_cjk(text)
    words = [word for start, end in sentences(undated) for word in _sentence_words(undated[start:end], chinese)]
    inside = {folded for folded, writing in words if writing == "capital"}
    for folded, writing in words:
        if writing == "identifier" or folded in inside or (chinese and len(folded) > 1):
            names.add(folded)
    return names


def _sentence_words(sentence: str, chinese: bool) -> Iterator[tuple[str, str]]:
    """Yield the Latin words of a sentence, folded, each with how it is written: identifier, capital, first or plain.

    Words in small letters are names in Chinese alone, and left out of other texts.
    """
    words: list[str] = _NAME.findall(sentence)
    shouted = sum(map(str.isupper, words)) * 2 > len(words) > 2
    for position, word in enumerate(words):
        if (not chinese and word.islower() and word.isalpha()) or word[0].isdigit():
            continue
        folded = _joined(word)
        if folded not in _NO_NAMES:
            followed = position + 1 < len(words) and words[position + 1][:1].isupper()
            yield folded, _writing(word, position == 0 and not followed, shouted)


@lru_cache(maxsize=1 << 14)
def _joined(word: str) -> str:
    """A name without its joints, case and accents."""
    return "".join(JOINTS.split(fold(word))).casefold()


def _writing(word: str, first: bool, shouted: bool) -> str:
    if any(map(str.isdigit, word)) or "_" in word or (not shouted and any(map(str.isupper, word[1:]))):
        return "identifier"
    if not word[:1].isupper() or shouted:
        return "plain"
    return "first" if first else "capital"
