"""Finds what people say they do not have or do any more, and the least of an earlier clause that is over with it.

Of "I take the statin at night and ramipril in the morning" only what was stopped goes, and of "Spanish is on Wednesdays
with Lucía" only the day, where another day is told: what else a clause says holds until it is changed, too.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.clauses import VERB, clause_spans, days_in, value_kinds
from agentic_memory_bank.engines.extractive.remembering.one_of_values import changed_value
from agentic_memory_bank.engines.extractive.remembering.told_apart import renumbered
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span

LONGEST: Final = 300
"""Characters of a message that is read so; who writes more says what it is about."""

_TO_THE_END: Final = (
    r"(?=,|;|[.!?](?!\d)|:|\s(?:because|since|as|so|and|but|after|when|now|for good|last|this|next)\b|\Z)"
)
_ENDED: Final = lazy_pattern(
    r"\b(?:don't|doesn't|do not|does not|can't|cannot|won't|'m not|am not|'re not)"
    r" (?P<a>[^,.;!?]{2,50}?) (?:any ?more|any longer)\b"
    rf"|\bno longer (?P<b>[^,.;!?]{{2,50}}?){_TO_THE_END}"
    r"|\b(?:gave up|given up|giving up|packed in|dropped out of|dropping out of|took me off|taken me off"
    r"|pulled out of|(?:done|finished) with(?= \w+ing\b| (?:the|my|our)\b)"
    r"|sold|traded(?: in)?|got(?:ten)? rid of|cancell?ed|stopped(?= \w+ing\b| (?:the|my|our)\b)"
    rf"|quit(?= \w+ing\b| (?:the|my|our)\b)) (?P<c>[^,.;!?]{{2,50}}?)(?: in| off)?{_TO_THE_END}",
    re.IGNORECASE,
)
"""What is not done, or not had, any more."""
_ENDED_CHINESE: Final = lazy_pattern(
    r"(?P<a>[\u4e00-\u9fffA-Za-z]{2,10}?)(?:早就|已经|都|也|给)?(?:卖|退|停|取消|黄|转让|送人|戒|退掉|卖掉|捐|送给[^，。]{1,6}?)了"
    r"(?![\d一二两三四五六七八九十百千万几])"
    r"|(?P<c>[\u4e00-\u9fff]{2,6}?)(?:早就|已经|都|也)?不(?:再)?[吃喝养种订]了"
    r"|不(?:再)?(?P<b>(?![用行对错见好得知是到少多管说要过如同会能想敢来去明懂清])[\u4e00-\u9fff]{2,4}?)了(?=[，。！,.!\s]|改|换|\Z)"
)
_ONCE: Final = lazy_pattern(r"(?:[今明昨后][天晚早]|[这下上][次周回])[^，。！？]{0,12}\Z")
_OWN: Final = lazy_pattern(r"\A(?:我们?|那个|the|my|our|a|an|any)(?:的|\s+|(?<=[们我个]))", re.IGNORECASE)

_AND: Final = "(?:、|和|跟|与|及|加|以及|还有)"
_TAKES: Final = "[吃喝]"
_AGE: Final = lazy_pattern(r"\d\s*岁|[一二三四五六七八九十]岁")
_DETERMINERS: Final = r"(?:(?:the|my|our|some|a|an)\s+)?"
_GOES_ON: Final = lazy_pattern(r"\A(?:and|or)\s+", re.IGNORECASE)
_COUNT: Final = r"(?:[一二两三四五六七八九十]{1,3}|\d{1,3})[个位名条只斤瓶盒双件张份块杯碗片颗粒]半?"
_COUNTED: Final = lazy_pattern(rf"{_COUNT}(?P<thing>(?:(?!{_COUNT})[\u4e00-\u9fff]){{1,4}})")
_ENDS_COUNT: Final = lazy_pattern("[就也都够了吧呢和]")
_ON: Final = lazy_pattern(r"(?:\b(?:on|every|each)\s+|在|每)\Z", re.IGNORECASE)
_BESIDES: Final = lazy_pattern(
    r"\b(?:with|at|in)\s+(?!the (?:morning|afternoon|evening)|night|noon|first|least|last)(?:the\s+)?\w{3,}"
    r"|[跟和]老?师?[\u4e00-\u9fff]|在(?!家)[\u4e00-\u9fff]{2}",
    re.IGNORECASE,
)
"""With whom, or where: a day that changes leaves it."""


def ended_in(text: str) -> list[tuple[str, int]]:
    """What a text says that its speaker, or somebody, does not have or do any more, and where it says so."""
    pattern = _ENDED_CHINESE if is_cjk(text) else _ENDED
    found = [one for one in pattern.finditer(text) if not _ONCE.search(text[: max(one.start(), one.end("c"))])]
    return [(next(filter(None, one.groups())), one.start()) for one in found]


def narrowed(new: str, old: str, spans: Sequence[Span]) -> list[Span]:
    """What of an earlier memory is over, within the clauses that a later one replaces.

    Args:
        new: What is said now.
        old: What was said earlier.
        spans: The clauses of it that are replaced.
    """
    if len(new) > LONGEST:
        return [*spans]
    things = [_OWN.sub("", thing) for thing, _ in ended_in(new.replace("’", "'"))]
    after = dict(pairwise(clause_spans(old)))
    return [_least(new, old, span, after.get(span), things) for span in spans]


def _least(new: str, old: str, span: Span, after: Span | None, things: Sequence[str]) -> Span:
    """The stretch of a replaced clause that is over; all of it where nothing less is sure."""
    start, clause = span[0], old[slice(*span)]
    for thing in things:
        found = _item(clause, thing) if is_cjk(clause) else _first_item(old, span, after, thing)
        if found:
            return found[0] + start, found[1] + start
    readers = () if things else (_counted, _day, renumbered, changed_value)
    found = next(filter(None, (reader(new, clause) for reader in readers)), None)
    return (found[0] + start, found[1] + start) if found else span


def _item(clause: str, thing: str) -> Span | None:
    """One of several things in a Chinese clause, with what joins it to the others; or what somebody of an age does."""
    name = re.escape(thing)
    if found := re.search(rf"(?<={_TAKES})\w+({_TAKES}.{{0,2}}{name})", clause) or re.search(
        rf"(?<=\w)({_AND}.{{0,2}}{name})", clause
    ):
        return found.span(1)
    if len(_COUNTED.findall(clause)) > 1 and (found := re.search(rf"(?<=\w)({_COUNT}\w{{0,2}}?{name})", clause)):
        return found.span(1)
    if found := re.search(rf"{name}{_AND}(?=\w)", clause):
        return found.span()
    if clause.endswith(thing) and _AGE.search(clause[: -len(thing)]):
        return len(clause) - len(thing), len(clause)
    return None


def _first_item(text: str, span: Span, after: Span | None, thing: str) -> Span | None:
    """The first of several things, up to the next one: "I take [ramipril in the morning and] the statin at night"."""
    found = re.search(rf"(?<=\s){_DETERMINERS}{re.escape(thing)}\b", text[slice(*span)], re.IGNORECASE)
    going_on = _GOES_ON.match(text[slice(*after)]) if after else None
    if found is None or after is None or going_on is None or VERB.search(text[slice(*after)]):
        return None
    return found.start(), after[0] + going_on.end() - span[0]


def _counted(new: str, clause: str) -> Span | None:
    """One of several things that are counted, where there are more or fewer of it now: 三个咖啡师一个厨师."""
    counted = [*_COUNTED.finditer(clause)]
    now = {_ENDS_COUNT.split(one["thing"])[0] for one in _COUNTED.finditer(new)}
    changed = [one for one in counted if one["thing"] in now]
    return changed[0].span() if len(counted) > 1 and len(changed) == 1 else None


def _day(new: str, clause: str) -> Span | None:
    """The day of a clause that says with whom, or where, too, where a text tells another day and no other value."""
    days, now = days_in(clause), days_in(new)
    if len(days) != 1 or not now or "amount" in value_kinds(new):
        return None
    start, end = days[0]
    before = _ON.search(clause[:start])
    start = before.start() if before else start
    end += len(clause[end:]) - len(clause[end:].lstrip(" "))
    rest = clause[:start] + clause[end:]
    return (start, end) if any(found[0] not in new for found in _BESIDES.finditer(rest)) else None
