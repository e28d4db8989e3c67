"""Says which clauses may go on about what the clause before them tells, though they do not name it.

"Got diagnosed in March, on 30 mg now": who wants the one forgotten hardly wants the other kept, and is asked.
"""

import re
from typing import Final

from agentic_memory_bank.engines.extractive.remembering.antecedents import ROLE_NAMES
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern

LONGEST: Final = 160
"""Characters of a clause that is read; a longer one tells enough to stand alone."""

_JOINED: Final = lazy_pattern(r"\A[\s,;:，；：、—–-]{0,6}(?:(?:but|so|plus)\s{0,3})?")
_AND: Final = lazy_pattern(r"\A\s{0,3}(?:and\b|&)", re.IGNORECASE)
_WORD: Final = lazy_pattern(r"[A-Za-z][\w'’-]*")
_ROLES: Final = "|".join(sorted((re.escape(one) for one in ROLE_NAMES), key=len, reverse=True))
_APART: Final = lazy_pattern(
    r"(?:(?:also|btw|by the way|anyway|meanwhile|besides|otherwise|finally|lastly|then)\b"
    r"|(?:my|our|your|you|an?|another|some|any|no|there|it's (?:raining|snowing))\b"
    rf"|(?:{_ROLES})\b(?!['’]s\b))",
    re.IGNORECASE,
)
"""What begins with something else: with a thing or a person of its own."""
_SPEAKER: Final = lazy_pattern(r"(?:i|we)(?:['’](?:m|ve|d|ll|re))?\b", re.IGNORECASE)
_OBJECT: Final = lazy_pattern(r"\b(?:her|him|them|it)\b(?!['’]s\b)", re.IGNORECASE)
_TWO: Final = lazy_pattern(r"\b(?:he|she|his|her|him|someone|somebody|together|dating|seeing|met)\b", re.IGNORECASE)
_DAY: Final = lazy_pattern(
    r"\b(?:(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:day)?s?|\d{1,2}(?::\d\d| ?[ap]m))\b", re.IGNORECASE
)
_ACTS: Final = lazy_pattern(
    r"\b(?:i|we|he|she|they|it)\b|['’](?:s|m|ve|d|ll|re)\b"
    r"|\b(?:is|are|was|were|am|has|have|had|got|get|found|did|does|do|will|went|go|need|want|started?|owes?|\w{1,20}ed)\b",
    re.IGNORECASE,
)
"""A clause that says something: behind a bare item of a list stands the next item."""
_APART_ZH: Final = lazy_pattern(
    r"(?:不过|但是?|所以|而且|然后)?(?:另外|还有|对了|顺便|话说|再就是|你|您|俺|(?:今天|明天|昨天|周[一二三四五六日天]|下周|上周)?(?:我|咱)"
    r"|(?!还|又|也|都)[^她他，。]{1,4}[说问让叫]|[老小阿][\u4e00-\u9fff][在是要说也去来]"
    rf"|(?!医生|大夫)(?:{_ROLES})(?!的)|(?:房子?|车子?|工作|公司|孩子|猫|狗|预算|房租|工资|婚礼|家里|周末))"
)
"""What begins with a thing or a person of its own."""
_GOES_ON_ZH: Final = lazy_pattern(
    r"(?:不过|但是?|所以|而且|然后)?(?:现在|目前|一直|天天|老是|又|还|已经?|刚|正|也|都|才|就){0,3}"
    r"(?:在|每|半|\d|[一两三四五六七八九十]|吃|喝|服|打针|做|查|看|去|说|住院|要(?:做|吃|打|复|住|休)|得(?:做|吃|打|复|住|休)|准备|打算"
    r"|情绪|心情|状态|精神|检查|复查|手术|症状|药|心理医生|医生|大夫|预产期|怀|病|确诊|分手|离婚|欠|借|因为|下周[一二三四五六日天]?(?:手术|复查|检查)|很|特别"
    r"|疼|痛|难受|害怕|睡|哭|治|化疗|出院|康复|还没好)"
)
"""What leaves its subject out, or is of the kind that illness, love and debts bring with them."""


def is_apart(text: str) -> bool:
    """Whether a Chinese clause begins with a thing or a person of its own: 儿子在大连.

    Args:
        text: The clause.
    """
    return _APART_ZH.match(_JOINED.sub("", text, count=1)) is not None


def may_go_on(before: str, text: str) -> bool:
    """Whether a clause may go on about what the one before it in its sentence tells.

    Args:
        before: The clause before it, which speaks of what is meant.
        text: The clause.
    """
    if len(text) > LONGEST or len(before) > LONGEST:
        return False
    plain = _JOINED.sub("", text, count=1)
    if is_cjk(text):
        return not is_apart(text) and _GOES_ON_ZH.match(plain) is not None
    if _AND.match(plain) or _APART.match(plain) or _ACTS.search(before) is None:
        return False
    if _SPEAKER.match(plain):
        is_of_both = plain[:2].casefold() == "we" and _TWO.search(before) is not None
        return is_of_both or _OBJECT.search(plain) is not None
    first = _WORD.match(plain)
    if first is not None and any(name[0].isalpha() for name in names_and_numbers(f"so {first[0]}")):
        return False
    return not (_DAY.search(before) and _DAY.search(plain))
