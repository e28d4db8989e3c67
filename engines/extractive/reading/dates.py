"""When something was, said from the day on which it was told: "yesterday" on 8 May 2023 is 7 May 2023."""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.terms import tokenize

_COUNTING: Final = ("a an one", "two couple", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS: Final = {word: number for number, words in enumerate(_COUNTING, start=1) for word in words.split()}
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAY: Final = r"mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thur?s?(?:day)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
_COUNT: Final = r"\d{1,2}|a couple(?: of)?|a few|" + "|".join(_NUMBERS)
_RELATIVE: Final = lazy_pattern(
    r"\b(?P<shift>the day before yesterday|yesterday(?: (?:morning|afternoon|evening))?|last night|tomorrow|today|"
    r"tonight|this (?:morning|afternoon|evening))\b"
    r"|\b(?P<which>this past|this coming|last|next|this|past|previous|coming) "
    rf"(?:(?P<unit>week|weekend|month|year)|(?P<day>{_DAY})|(?P<season>spring|summer|autumn|fall|winter))\b"
    rf"|\b(?P<ago>{_COUNT}) (?P<past>day|week|weekend|month|year)s? (?:ago|back)\b"
    rf"|\bin (?P<ahead>{_COUNT}) (?P<future>day|week|month|year)s?\b"
    rf"|\bon (?P<weekday>{_DAY})\b|(?P<now>\bcurrently\b|\bright now\b|\bthese days\b)"
    r"|(?P<chinese>前天|昨天|昨晚|今天|今晚|今早|明天|后天|上周|上个?星期|本周|这周|下周|上个?月|这个月|本月|下个?月|去年|今年|明年|前年)",
    re.IGNORECASE,
)
_IS_AHEAD: Final = lazy_pattern(
    r"\b(?:is|are|am|will|shall|going to|gonna|has to|have to|must|need|needs|can|can't|cannot|should|(?:'ve|have|has)"
    r" got|want|wants|plan|planning|(?<!had )(?<!was )(?<!were )to be|due|until|till)\b|'(?:ll|m|re|s)\b(?! been)",
    re.IGNORECASE,
)
"""What tells of a time to come, whatever else the clause says: "is moved to", "have got a test"."""
_IS_OVER: Final = lazy_pattern(
    r"\b(?:was|were|did|didn't|had|been|went|got|saw|met|took|made|gave|found|came|left|ran|bought|built|broke|wrote"
    r"|spent|flew|drove|won|lost|began|sang|swam|slept|taught|told|said|sent|sold|fell|felt|heard|held|kept|paid|put"
    r"|ate|drank|caught|chose|cut|hit|hurt|quit|read|rode|sat|stood|thought|threw|woke|wore|forgot|became|brought"
    r"|agreed|[a-z]{2,20}(?<!e)ed)\b",
    re.IGNORECASE,
)
"""What tells of a time that is over."""
_LASTED: Final = lazy_pattern(
    r"\b(?:first|haven't|hasn't|hadn't|havent|hasnt|never|not|no|nothing|nobody|best|worst|longest|biggest|hardest|only"
    r" time)\b|\b(?:read|finished|painted|built|wrote|did|made|learn(?:ed|t)|cleaned|fixed|walked|drove|lost|gained)"
    r" (?:it|that|them|all of it|everything|the \w+|\d+ ?\w+)\W*\Z",
    re.IGNORECASE,
)
"""Before "in three years" it tells how long something has lasted: "my first steak in twelve years"."""
_CLAUSE_END: Final = lazy_pattern(r"[,;:.!?\n]|\s[-–—]\s|\b(?:and|but|so|because|then)\b")
_LONGEST_CLAUSE: Final = 200
_SHIFTS: Final = {"the": -2, "yesterday": -1, "last": -1, "tomorrow": 1}
_CHINESE_DAYS: Final = {"前天": -2, "昨天": -1, "昨晚": -1, "今天": 0, "今晚": 0, "今早": 0, "明天": 1, "后天": 2}
_BEFORE_EVENT: Final = lazy_pattern(
    r"\bbefore (?:the|my|our|we|i|he|she|they|that) (?P<event>[a-z][\w' -]{1,40})"
    r"|(?:^|[在，,])我?们?(?P<chinese>[\u3400-\u9fff]{2,4}?)(?:之前|以前)",
    re.IGNORECASE,
)
_WAS: Final = lazy_pattern(r"\b(?:did|was|were|had|used)\b", re.IGNORECASE)
_TO_DO: Final = lazy_pattern(r"\b(?:should|must|need|have to)\b|要|该", re.IGNORECASE)
_CHINESE_YEARS: Final = {"前年": -2, "去年": -1, "今年": 0, "明年": 1}
_SEASONS: Final = ("spring", "summer", "autumn", "fall", "winter")
_SIDES: Final = {-1: "before", 0: "of", 1: "after"}


@dataclass(frozen=True, slots=True)
class Moment:
    """An expression of time: `text[start:end]` of what was said, and the same by the calendar."""

    start: int
    end: int
    calendar: str


def day_of(words: str) -> date | None:
    """The first full date in some words, such as those of a session; None where there is none."""
    for value in values_of(words):
        year, month, day = value.date
        if year and month and day:
            try:
                return date(year, month, day)
            except ValueError:  # 31 June
                continue
    return None


def written(day: date, *, chinese: bool = False) -> str:
    """A day in words: 7 May 2023, or 2023年5月7日."""
    return f"{day.year}年{day.month}月{day.day}日" if chinese else f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


_ASKS_PAST: Final = lazy_pattern(
    r"\b(?:did|was|were|had|used to|back in|as of|at (?:the|that) time|by then|last (?:year|month))\b"
    r"|去年|前年|上个?月|当时|那时|那会儿|那阵子|[0-9一二三四五六七八九十]月(?:份|底|初|中|里|\d|[一二三四五六七八九十])|年[0-9一二三四五六七八九十]+月",
    re.IGNORECASE,
)
_BEFORE: Final = lazy_pattern(rf"\bbefore (?P<month>{'|'.join(_MONTHS)})\b(?! \d)", re.IGNORECASE)
_CHINESE_MONTH: Final = lazy_pattern(
    r"(?<![\d一二三四五六七八九十])(1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?![\d一二三四五六七八九十])"
)
_AHEAD: Final = lazy_pattern(r"要|打算|准备|计划|将|会不会|还有|下个?月|明年|后")
_CHINESE_MONTHS: Final = {name: place for place, name in enumerate((*"一二三四五六七八九十", "十一", "十二"), 1)}
_YEARS: Final = (("去年", -1), ("last year", -1), ("前年", -2), ("今年", 0), ("this year", 0))


_SEASON: Final = lazy_pattern(
    r"\b(?:last|in the|during the|that) (?P<english>spring|summer|autumn|fall)\b(?: of)?"
    r"|(?P<chinese>[春夏秋])(?:天|季|里)"
)
_SEASON_ENDS: Final = {"spring": 5, "春": 5, "summer": 8, "夏": 8, "autumn": 11, "fall": 11, "秋": 11}
"""The last month of each; a winter belongs to two years."""


def past_asked(question: str, today: date) -> date | None:
    """The last day of the time in the past that a question asks about: "where did I live in January?"; None for none.

    Args:
        question: The question, word for word.
        today: The day on which it is.
    """
    chinese = None if _AHEAD.search(question) else _CHINESE_MONTH.search(question)
    if _ASKS_PAST.search(question) is None and chinese is None:
        return None
    shift = next((years for words, years in _YEARS if words in question.casefold()), None)
    dated = next((value.date for value in values_of(question) if value.date[0] or value.date[1]), (None, None, None))
    year, month, day = dated
    if chinese is not None and month is None:
        return _month_asked(chinese[1], today, year or (today.year + (shift or 0)))
    if before := _BEFORE.search(question):
        return _day_before(date(today.year, _MONTHS.index(before["month"].capitalize()) + 1, 1), today)
    if year is None and shift is not None:
        year = today.year + shift
    if month is None and (season := _SEASON.search(question.casefold())):
        month = _SEASON_ENDS[season["english"] or season["chinese"]]
    if year is None and month is not None:
        year = today.year - (_last_day(today.year, month, day) > today)
    if year is None:
        return None
    last = _last_day(year, month, day)
    return last if last < today else None


_SINCE: Final = lazy_pattern(
    rf"\b(?:since|as of|from)\s(?:the )?(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?"
    rf"(?P<month>{'|'.join(_MONTHS)})\b"
    r"(?! to\b)(?: (?P<date>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? (?P<year>\d{4})\b)?|\bsince (?P<alone>(?:19|20)\d\d)\b"
    r"|(?:自|从|打)(?:(?P<nian>\d{4})年)?(?P<yue>1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月(?:份|(?P<ri>\d{1,2})[日号])?"
    r"(?:起|开始|以来|就)",
    re.IGNORECASE,
)
"""From when on something holds."""
_SINCE_THEN: Final = lazy_pattern(
    r"\b(?:moved|started|switched|changed|joined|became|took over|quit|left|got (?:a new|married|divorced)|began"
    r"|went (?:up|down)|bought|been)\b|搬|换|开始|入职|跳槽|改成|涨到|降到|离职|升",
    re.IGNORECASE,
)
"""What a new state of things begins with."""
_YEARS_TOLD: Final = lazy_pattern(
    r"(?P<until>\b(?:until|till|before|up to)\s)?(?<!\d)(?P<first>(?:19|20)\d\d)(?!\d)年?"
    r"(?:\s?(?:to|and|until|till|-|–|—|到|至)\s?(?P<last>(?:19|20)\d\d)(?!\d)年?)?(?P<upto>以前|之前)?",
    re.IGNORECASE,
)
"""Years of which something is told, from the one to the other or until one."""


def holds_from(text: str, said: date) -> date:
    """The day from which on it is true what a text says: "rent's 830 since May", or that on which it was said.

    Args:
        text: What was said, word for word.
        said: The day on which it was.
    """
    if found := _SINCE.search(text):
        return min(said, _since(found, said) or said)
    if _SINCE_THEN.search(text):
        for moment in moments(text, said):
            first = _first_day(moment.calendar)
            if first is not None and first < said:
                return first
    return said


def tells_of_time(text: str, asked: date, said: date) -> bool:
    """Whether a text tells of a month, a year or years that hold a day: "in 2019 I lived in Oslo".

    Args:
        text: What was said, word for word.
        asked: The day.
        said: The day on which it was said, for "last year".
    """
    for found in _YEARS_TOLD.finditer(text):
        first, last = int(found["first"]), int(found["last"] or found["first"])
        if (found["until"] or found["upto"]) and asked.year <= last:
            return True
        if found["last"] and first <= asked.year <= last:
            return True
    told = "; ".join((text, *(moment.calendar for moment in moments(text, said))))
    dates = (value.date for value in values_of(told))
    return any(year == asked.year and month in (None, asked.month) and day is None for year, month, day in dates)


def _since(found: re.Match[str], said: date) -> date | None:
    """The day that "since May" begins with: the last May before it is said."""
    if found["alone"]:
        return date(int(found["alone"]), 1, 1)
    name = found["month"] or found["yue"]
    month = _MONTHS.index(name.capitalize()) + 1 if found["month"] else int(_CHINESE_MONTHS.get(name, 0) or name)
    day, year = int(found["day"] or found["date"] or found["ri"] or 1), found["year"] or found["nian"]
    try:
        first = date(int(year or said.year), month, day)
        is_over = year or first <= said or found[0].casefold().startswith("since")
        return (first if year or first <= said else first.replace(year=said.year - 1)) if is_over else None
    except ValueError:  # 31 June
        return None


def _first_day(calendar: str) -> date | None:
    """The first day of a month or a year that is said by the calendar, or the day itself; None for a week or season."""
    if calendar.startswith(("the ", *_SEASONS)) or calendar[-1:] in "周":
        return None
    year, month, day = next((value.date for value in values_of(calendar) if value.date[0]), (None, None, None))
    return date(year, month or 1, day or 1) if year else None


def event_asked_before(question: str) -> str | None:
    """The event before which a question about the past asks: "move" of "where did I live before the move?"."""
    found = None if _TO_DO.search(question) else _BEFORE_EVENT.search(question)
    if found is None or (found["event"] and _WAS.search(question) is None):
        return None
    return found["event"] or found["chinese"]


def tells_of_event(text: str, event: str) -> bool:
    """Whether a text tells of an event: "we moved to Hull" of the move, 搬到常州了 of 搬家."""
    if is_cjk(event):
        return event in text or any(f"{event[0]}{after}" in text for after in "到了去完")
    terms = frozenset(tokenize(event))
    return bool(terms) and terms <= frozenset(tokenize(text))


def _month_asked(name: str, today: date, year: int) -> date | None:
    """The last day of a Chinese month; one that is still to come is asked about as it will be."""
    last = _last_day(year, int(name) if name.isdigit() else _CHINESE_MONTHS[name], None)
    return last if last < today else None


def _day_before(first: date, today: date) -> date:
    """The day before a month, of last year where the month is still to come."""
    return (first if first < today else first.replace(year=first.year - 1)) - timedelta(days=1)


def _last_day(year: int, month: int | None, day: int | None) -> date:
    """The last day of a year, of one of its months, or the day itself."""
    month = month or 12
    _, length = monthrange(year, month)
    return date(year, month, min(day or length, length))


def moments(text: str, said: date) -> Iterator[Moment]:
    """Yield each expression of time in a text that the day on which it was said makes definite.

    Args:
        text: A turn, word for word.
        said: The day on which it was.
    """
    for found in _RELATIVE.finditer(text):
        if found["ahead"] and _is_how_long(found):
            continue
        try:
            yield Moment(found.start(), found.end(), _calendar(found, said))
        except OverflowError:  # before the year 1, or after 9999
            continue


def _calendar(found: re.Match[str], said: date) -> str:
    if found["shift"]:
        return written(said + timedelta(_SHIFTS.get(found["shift"].lower().split()[0], 0)))
    if found["which"]:
        return _named(found, said)
    if found["weekday"]:
        return _weekday(found["weekday"], _side_of(found), said)
    if found["ago"]:
        return _distant(found["ago"].lower(), found["past"].lower(), -1, said)
    if found["ahead"]:
        return _distant(found["ahead"].lower(), found["future"].lower(), 1, said)
    return _chinese(found["chinese"], said) if found["chinese"] else _month(said, 0)


def _is_how_long(found: re.Match[str]) -> bool:
    """Whether "in three days" says how long something took, or has been: "painted it in three days"."""
    clause = _CLAUSE_END.split(found.string[max(0, found.start() - _LONGEST_CLAUSE) : found.start()])[-1]
    return _LASTED.search(clause) is not None


def _side_of(found: re.Match[str]) -> int:
    """Whether a day is over or still to come, by the clause it stands in: people make plans where no verb tells."""
    text, (start, end) = found.string, found.span()
    low, high = max(0, start - _LONGEST_CLAUSE), end + _LONGEST_CLAUSE
    before = _CLAUSE_END.split(text[low:start])[-1]
    after = _CLAUSE_END.split(text[end:high])[0]
    if not before.strip() and not after.strip():  # "on Friday, we went to the zoo"
        after = next((clause for clause in _CLAUSE_END.split(text[end:high]) if clause.strip()), "")
    clause = f"{before} {after}"
    return -1 if _IS_OVER.search(clause) and not _IS_AHEAD.search(clause) else 1


def _named(found: re.Match[str], said: date) -> str:
    """Last week, next Friday, this summer."""
    which = found["which"].lower().split()[-1]
    step = {"last": -1, "past": -1, "previous": -1, "this": 0}.get(which, 1)
    if found["day"]:
        return _weekday(found["day"], step or 1, said)
    if found["season"]:
        return f"{found['season'].lower()} {said.year + step}"
    unit = found["unit"].lower()
    if unit == "month":
        return _month(said, step)
    return str(said.year + step) if unit == "year" else f"the {unit} {_SIDES[step]} {written(said)}"


def _month(day: date, step: int) -> str:
    count = day.year * 12 + day.month - 1 + step
    return f"{_MONTHS[count % 12]} {count // 12}"


def _weekday(day: str, step: int, said: date) -> str:
    name = next(name for name in _DAYS if name.lower().startswith(day.lower()[:3]))
    return f"the {name} {_SIDES[step]} {written(said)}"


def _distant(count: str, unit: str, sign: int, said: date) -> str:
    """Two weeks ago, in three months; what is not counted ("a few") stays as it was said."""
    word = count.removesuffix(" of")
    number = int(word) if word.isdigit() else _NUMBERS.get(word.removeprefix("a "), 0)
    if number and unit == "day":
        return written(said + timedelta(sign * number))
    if number and unit == "month":
        return _month(said, sign * number)
    if number and unit == "year":
        return str(said.year + sign * number)
    amount = f"the {unit}" if number == 1 else f"{word.removeprefix('a ') if number else word} {unit}s"
    return f"{amount} {_SIDES[sign]} {written(said)}"


def _chinese(word: str, said: date) -> str:
    if word in _CHINESE_DAYS:
        return written(said + timedelta(_CHINESE_DAYS[word]), chinese=True)
    if word in _CHINESE_YEARS:
        return f"{said.year + _CHINESE_YEARS[word]}年"
    step = {"上": -1, "下": 1}.get(word[0], 0)
    if word.endswith("月"):
        count = said.year * 12 + said.month - 1 + step
        return f"{count // 12}年{count % 12 + 1}月"
    return f"{written(said, chinese=True)}{('那周', '的下一周', '的前一周')[step]}"
