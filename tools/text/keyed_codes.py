"""Finds codes that are keyed in at a door, a safe or a phone, as people say them: digit by digit, or with "then star".

A code needs no name: "the keypad wants 7 0 2 6". It has the form of one, and stands beside what it opens.
"""

import re
from collections.abc import Iterator
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span

_BEFORE: Final = 70
"""Characters before a code in which that stands which it opens, or the word for keying it in."""
_AFTER: Final = 40
"""The same behind it."""

_WORDS: Final = r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double)"
_CHINESE: Final = "[零〇一二三四五六七八九幺]"
_SPELT: Final = lazy_pattern(
    r"(?<![\d.,:/+-])\d(?:(?:[ \t]{1,3}|[ \t]?[-–·][ \t]?)\d){3,7}(?![\d/:]|[ \t.,-]{1,2}\d)"
    rf"|\b{_WORDS}(?:[ \t,-]{{1,2}}{_WORDS}){{3,7}}\b"
    rf"|(?<!{_CHINESE}){_CHINESE}(?:[ \t、]?{_CHINESE}){{3,7}}(?!{_CHINESE}|[十百千万])",
    re.IGNORECASE,
)
"""Four to eight digits, each by itself."""
_WHOLE: Final = lazy_pattern(r"(?<![\w.,:/+$€£¥-])\d{3,8}(?![\w%€£]|[.,:/-]\d)")
"""The same as one number: it has to be keyed in, or to stand with what nothing but a code opens."""
_OPENED: Final = lazy_pattern(
    r"\b(?:(?:pass)?codes?|pins?|keypads?|pads?|combinations?|combo|(?:pad|dead)?locks?|lockers?|lock ?box|doors?"
    r"|gates?|garage|safes?|(?:key|safe|deposit) ?box|key ?safes?|alarms?|buzzers?|intercom|entry(?: ?phone)?"
    r"|entrance|turnstile|barrier|lobby|get (?:in|into)|let (?:yourself|you|them|him|her) in|unlocks?|disarm)\b"
    r"|密码|口令|门锁|门禁|[单大院前后侧铁房小]元?门|门口|开门|进门|锁|保险[箱柜]|闸机?|储物柜|快递柜|警报|按键",
    re.IGNORECASE,
)
"""What a code opens, or is called."""
_KEYED: Final = lazy_pattern(
    r"\b(?:press|punch|type|dial|key|tap|enter|hit)(?:s|es|ing|ed)?(?: in)?(?: the)?(?: code| number)? ?\Z"
    r"|\b(?:alarm|keypad|key ?safe|key ?box|lock ?box|pad ?lock|buzzer|intercom|combination|combo)"
    r"(?:'s| is|:)?(?: now| set to)? ?\Z|(?:按|输入?|摁)(?:一下)? ?\Z",
    re.IGNORECASE,
)
_ENDED: Final = lazy_pattern(
    r"\A[ ,]{0,2}(?:(?:and |and then |then )?(?:the )?(?:hash|star|pound key|asterisk|enter)\b|[#*]|再?按?[井星]号)",
    re.IGNORECASE,
)
"""How a code that is keyed in ends."""
_STOP: Final = lazy_pattern(r"[.!?。！？\n](?=\s|\Z|[\u3400-\u9fff])")


def keyed_codes(text: str) -> Iterator[Span]:
    """The stretches of a text that are codes to be keyed in."""
    if not _OPENED.search(text):
        return
    for found in _SPELT.finditer(text):
        before, after = _around(text, *found.span())
        if _OPENED.search(before) or _OPENED.search(after):
            yield found.span()
    for found in _WHOLE.finditer(text):
        before, after = _around(text, *found.span())
        is_keyed = _KEYED.search(before) or _ENDED.match(after)
        if is_keyed and (_OPENED.search(before) or _OPENED.search(after)):
            yield found.span()


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and behind a stretch in the same sentence, as far as it is read."""
    before, after = text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]
    stop = _STOP.search(after)
    return _STOP.split(before)[-1], after[: stop.start()] if stop else after
