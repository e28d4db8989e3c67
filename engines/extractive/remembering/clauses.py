"""Cuts what people say into clauses, and tells what a clause is about from the values it gives."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

MOST: Final = 40
"""Clauses of a memory that are compared."""
TOPICAL: Final = 3
"""A word that so many of the memories hold which are most like a new one names what all of them are about, and not what
has changed. Chosen with `benchmarks/long_chats.py` and `everyday.py`."""
_CLAUSE: Final = lazy_pattern(
    r"(?:(?!\s-\s|\sand\s|(?<=[\u3400-\u9fff\d]{4})\s(?=[\u3400-\u9fff]))[^,;，；。.!?！？\n]|[.,](?=\d))+"
)
"""Chinese parts clauses by spaces, too; what is shorter may be the thing that the next clause is about."""
_DAY: Final = lazy_pattern(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:mon|tues?|wed|thurs?|thur|fri)\b"
    r"|\b(?:sat|sun)\b(?=\W*+(?:\d|to\b|till\b|until\b|[&/]))"
    r"|\b(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december|spring|summer|autumn|winter|easter|christmas)\b"
    r"|\bthe \d{1,2}(?:st|nd|rd|th)\b(?! (?:floor|grade|time|year|street|century|birthday|place|one)\b)"
    r"|周[一二三四五六日天]"
    r"|(?:星期|礼拜)[一二三四五六日天]|[\d一二三四五六七八九十]月|(?<!\d)\d{1,2}[号日](?![楼线院门馆])|国庆|元旦|春节|五一|过年",
    re.IGNORECASE,
)
VERB: Final = lazy_pattern(
    r"\b(?:i|he|she|they|we|it|you|who|is|are|was|were|am|has|have|had|will|would|can|can't|do|does|did|goes?)\b"
    r"|'(?:m|s|re|ve|ll)\b",
    re.IGNORECASE,
)
"""A subject or a verb: a clause with one says something by itself, and is no mere item of a list."""
_DATE: Final = lazy_pattern(r"\d{1,2}月\d{1,2}[号日]?|\d{1,4}[年月号日]|\b\d{1,2}(?:st|nd|rd|th)\b", re.IGNORECASE)
"""Figures of a date, which are no amount."""
_TURNING: Final = lazy_pattern(
    r"(?:提高|增加|降低|减少|压缩|追加|扩大|缩短|延长|缩减|[改换变调搬涨降掉升减加])(?:成|到|为|在|至)了?|最终|最后|现在|原来|以后|不能|不给"
)
"""Words of a change that say nothing of what changes."""
_AMOUNT: Final = lazy_pattern(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety|hundred|half|twice|once (?:a|every))\b"
    r"|(?<![a-z\d])\d[\d.,]*|[一二三四五六七八九十百千万半两][点个万元块号天次双]",
    re.IGNORECASE,
)
_GENERAL: Final = frozenset(
    tokenize(
        "thing time day week month year hour minute now still just really also like get go come want need know think"
        " say tell make take let good new old bit lot way back much many keep put people user assistant today everybody"
        " everyone always every done work off person name night morning evening afternoon weekend stay first next last"
        " book went came got gone made took told said thought kept move change switch shift drop put raise bump cut"
        " dollar pound euro buck quid cent percent shilling am pm cost"
        " kinda sorta worry stress curious anxious nervous excite consider wonder decide feel understand"
        " look find sure cm mm feb apr jun jul aug sep sept oct nov"
    )
)
"""What is said of everything."""
_SHORT_FORMS: Final = {
    short: tokenize(word)[0]
    for short, word in zip(
        ["op", "appt", "uni", "bday", "mtg", "doc"],
        ["operation", "appointment", "university", "birthday", "meeting", "doctor"],
        strict=True,
    )
}
"""What people write for short, as index terms."""
_PARTICLES: Final = frozenset("了的是在着就都也很")
_GENERAL_CHINESE: Final = frozenset(
    tokenize(
        "我们 现在 原来 以后 以前 今天 明天 时候 这个 那个 一个 就是 还是 不是 的时 是个 上午 下午 晚上 早上 一天 每天"
        " 每周 一下 可以 因为 所以 跟你 你说 说下 就行 开始 不了 的是 他的 她的 这次 上次"
    )
)


def subject_terms(text: str) -> frozenset[str]:
    """The words that may tell what a clause is about: neither its values nor what is said of everything."""
    subject = without_values(text)
    general = _GENERAL | _GENERAL_CHINESE
    terms = (t for t in tokenize(subject) if len(t) > 1 and t not in general and _PARTICLES.isdisjoint(t))
    return frozenset(_SHORT_FORMS.get(term, term) for term in terms)


def topical_terms(texts: Iterable[str]) -> frozenset[str]:
    """The words that may tell what a clause is about, but do not among these texts, as too many hold them."""
    held = Counter(term for text in texts for term in subject_terms(text))
    return frozenset(term for term, count in held.items() if count >= TOPICAL)


def without_values(text: str) -> str:
    """A text without its days and amounts, and without what says that they are others now."""
    return _TURNING.sub(" ", _AMOUNT.sub(" ", _DAY.sub(" ", text)))


def value_kinds(text: str) -> set[str]:
    """Of what kinds the values of a clause are."""
    found = {"day"} if _DAY.search(text) else set[str]()
    return found | ({"amount"} if _AMOUNT.search(_DATE.sub(" ", text)) else set[str]())


def days_in(text: str) -> list[Span]:
    """Where days, months and holidays stand."""
    return [found.span() for found in _DAY.finditer(text)]


def clause_spans(text: str) -> Iterator[Span]:
    """Where the clauses of a text stand, the first forty of them."""
    for number, found in enumerate(_CLAUSE.finditer(text)):
        if number < MOST and found[0].strip():
            yield found.span()
