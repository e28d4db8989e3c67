"""Finds what of an earlier memory a later one replaces: a correction in ordinary words, and the clause it corrects.

A change is announced ("not 8k any more", "has moved to", 改到周四了) and says of what it is a change by a word that the
earlier clause has, too. Where both give a value of one kind (a day, an amount), one such word is enough.
"""

import re
from collections.abc import Iterator
from typing import Final

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.spans import Span
from agentic_memory_bank.tools.text.terms import tokenize

LEAST_SHARED: Final = 2
"""Words that a change and a clause share, from which the clause is replaced whatever values they give."""
MOST: Final = 40
"""Clauses of a memory that are compared."""

_CHANGE: Final = re.compile(
    r"\b(?:any ?more|no longer|instead|rather than|no more|switch(?:ed|ing)|switch to|chang(?:ed|es|ing)|moved?|moving"
    r"|shift(?:ed|s)?|(?:is|are|was|were|'s|'re) (?:now|out|off|dead|gone|over|up to|down to)|now|these days"
    r"|(?:up|down|back|on) to|(?:went|gone|goes|going|put|bumped|raised|cut) (?:up|down|back)|rose|dropped|scratch that"
    r"|correction|turns out|replac(?:ed|es|ing)|t(?:ook|akes?|aking) over|used to|cancel(?:l?ed)|called off"
    r"|(?:ain't|not) happening|swapped|settled on|retired|left|quit|so it's|(?:double|over) ?booked|can't do"
    r"|signs? off)\b"
    r"|改|换|变成|变了|不[^，。；]{0,12}了|停了|搬|调(?:到|整|成)|[涨降掉升加减]到|涨价|降价|[涨降](?:了|租|薪)|跳槽|离职|辞职|退租|以后不|现在|原来|取消|不再|算了|其实|不对"
    r"|还是[^，。]{0,8}吧|退(?:了|休)",
    re.IGNORECASE,
)
"""How people announce that something is not as it was."""
_AGENT: Final = re.compile(r"^[^把让]*[把让]")
"""Who does something to what follows: in Chinese that is what changes."""
_JOINTS: Final = re.compile(r"(?<![\s,;，；、])\s*+([,;，；、][\s,;，；、]*+)")
"""What joins clauses, more than once where one between them is gone."""
_CLAUSE: Final = re.compile(r"(?:(?!\s-\s|\sand\s)[^,;，；。.!?！？\n]|[.,](?=\d))+")
_DAY: Final = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december|spring|summer|autumn|winter|easter|christmas)\b|周[一二三四五六日天]"
    r"|星期[一二三四五六日天]|[\d一二三四五六七八九十]月|国庆|元旦|春节|五一|过年",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety|hundred|half)\b|\d|[一二三四五六七八九十百千万半两][点个万元块号天次双]",
    re.IGNORECASE,
)
_GENERAL: Final = frozenset(
    tokenize(
        "thing time day week month year hour minute now still just really also like get go come want need know think"
        " say tell make take let good new old bit lot way back much many keep put people user assistant today everybody"
        " everyone always every done work off person name night morning evening afternoon weekend stay first next last"
        " book went came got gone made took told said thought kept"
    )
)
"""What is said of everything."""
_GENERAL_CHINESE: Final = frozenset(
    tokenize(
        "我们 现在 原来 以后 以前 今天 明天 时候 这个 那个 一个 就是 还是 不是 的时 是个 上午 下午 晚上 早上 一天 每天"
        " 每周 一下 可以 因为 所以 跟你 你说 说下 就行 开始 不了 的是 他的 她的 这次 上次"
    )
)


def announces_change(text: str) -> bool:
    """Whether a text says that something is not as it was."""
    return _CHANGE.search(text) is not None


def replaced(new: str, old: str) -> list[Span]:
    """The clauses of an earlier memory that a later one replaces; none where it announces no change.

    Args:
        new: What is said now.
        old: What was said earlier, by the same speaker.
    """
    said: set[str] = set()
    kinds: set[str] = set()
    for clause in _changed(new):
        said |= subject_terms(clause)
        kinds |= _kinds(clause)
    if not said:
        return []
    values = names_and_numbers(new)
    return [span for span in _clauses(old) if _is_replaced(old[slice(*span)], new, said, kinds, values)]


def _changed(text: str) -> Iterator[str]:
    """The clauses that announce a change, each with the one before it, where what changes may stand."""
    before = ""
    for start, end in _clauses(text):
        clause = text[start:end]
        if announces_change(clause):
            yield f"{before}, {_AGENT.sub('', clause)}"
        before = clause


def without(text: str, spans: list[Span]) -> str:
    """What is left of a text without some of its clauses."""
    left, end = "", 0
    for start, stop in spans:
        left, end = left + text[end:start], stop
    return _JOINTS.sub(_joint, left + text[end:]).strip(" ,;，；、\n")


def _joint(found: re.Match[str]) -> str:
    last = found[1].rstrip()[-1]
    return last if is_cjk(last) or last in "，；、" else f"{last} "


def _is_replaced(clause: str, new: str, said: set[str], kinds: set[str], values: set[str]) -> bool:
    shared = _words(said & subject_terms(clause), clause)
    ours = names_and_numbers(clause)
    if not shared or (ours and ours <= values):  # it says the very same
        return False
    if kinds & _kinds(clause) or len(shared) >= LEAST_SHARED:
        return True
    return any(_is_denied(word, new) for word in shared)


def _words(terms: set[str], clause: str) -> list[str]:
    """Terms as words: in Chinese, where terms overlap, the longest runs of them."""
    words: list[str] = []
    end = 0
    for place in range(len(clause) - 1):
        if clause[place : place + 2] not in terms or not is_cjk(clause[place : place + 2]):
            continue
        if words and place < end:
            words[-1] += clause[place + 1]
        else:
            words.append(clause[place : place + 2])
        end = place + 2
    return [*words, *(term for term in terms if not is_cjk(term))]


def _is_denied(word: str, text: str) -> bool:
    """Whether a Chinese text says that something is not, or not any more."""
    place = text.find(word)
    after = text[place + len(word) :][:2]
    return place >= 0 and ("不" in text[max(0, place - 2) : place + 1] or "不" in after or "停" in after)


def subject_terms(text: str) -> frozenset[str]:
    """The words that may tell what a clause is about: neither its values nor what is said of everything."""
    subject = _AMOUNT.sub(" ", _DAY.sub(" ", text))
    return frozenset(t for t in tokenize(subject) if len(t) > 1 and t not in _GENERAL and t not in _GENERAL_CHINESE)


def _kinds(text: str) -> set[str]:
    """Of what kinds the values of a clause are."""
    found = {"day"} if _DAY.search(text) else set[str]()
    return found | ({"amount"} if _AMOUNT.search(text) else set[str]())


def _clauses(text: str) -> Iterator[Span]:
    for number, found in enumerate(_CLAUSE.finditer(text)):
        if number < MOST and found[0].strip():
            yield found.span()
