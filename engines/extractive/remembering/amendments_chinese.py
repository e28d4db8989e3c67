"""Reads a Chinese correction that names nothing of what it corrects: 算了还是去成都吧, 现在归老李了, 调到周五了."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span

_TAKES_BACK: Final = lazy_pattern(
    r"算了|不对|[说记搞弄看写打]错|错了|不是.{1,8}[，,]?(?:而)?是|还是.{1,10}吧|其实|最后|后来|改|换|调[到成整]|推迟|推到|提前|延[期后到]|挪到|变成"
    r"|[涨降加减升]到|定下来|决定了?|更正"
)
"""How people take back what they said, or say that it has become another."""
_TURNED: Final = lazy_pattern(r"现在|以后|目前|如今|往后|从今")
_PART: Final = lazy_pattern(r"[^，,。！!；;、：:\s]+")
_FILLER: Final = lazy_pattern(
    r"我们?|咱们?|他们?|她们?|它|你|刚刚|刚才|刚|通知|说|就|又|再|已经|后来|最后|最终|还是|那就|那|这|一下|给|把|定下来|定|决定|打算|准备|其实|算了|不对"
    r"|[记搞弄看写打]?错|应该|得|要|是|改成|改到|改为|改在|改|换成|换到|换|调整|调到|调成|调|变成|变|涨到|降到|加到|减到|升到|涨|降|挪到|推迟到|推迟|推到|推"
    r"|提前到|提前|延期到|延期|延后|延到|更正|现在|以后|目前|如今|往后|从今儿?起?|起|到|在|成|为|了|吧|的|啊|呢|哈|呀|啦|喽|也|都"
)
"""Words of a correction that name nothing."""
_DAY: Final = lazy_pattern(
    r"(?:[下上这本]个?)?(?:周|星期|礼拜)[一二三四五六日天末](?:[和跟、到至][周星期礼拜]{0,2}[一二三四五六日天])?"
    r"|(?:[\d一二三四五六七八九十]{1,3}月)?(?:[\d一二三四五六七八九十]{1,3})[号日]|[\d一二三四五六七八九十]{1,3}月[底初份]?|国庆|元旦|春节|五一|中秋|清明|端午"
    r"|(?:下{1,2}|这|本)个?(?:周|星期|礼拜|月)|[明后]天|大后天|[月年]底"
)
_CLOCK: Final = lazy_pattern(
    r"(?:早上|上午|中午|下午|晚上|傍晚|凌晨)?[\d一二两三四五六七八九十]{1,3}(?:[:：]\d{2}|点[半钟一二三四五六七八九十\d刻]{0,4}分?)"
)
_AMOUNT: Final = lazy_pattern(
    r"[\d一二两三四五六七八九十百千万亿半][\d.,一二两三四五六七八九十百千万亿半]*+(?![号日月点年:：])"
    r"[个块元人位名斤公里岁桌间套平万千百]{0,3}"
)
_UNIT: Final = lazy_pattern(r"(?:公斤|公里|[个块元人位名斤岁桌间套平])\Z")
_REPLACES: Final = lazy_pattern(r"改|换|推|提前|挪|延|调|还是|不是|[说记搞弄看写打]错")
"""How a value is put in the place of another one, whatever is said before it."""
_WORD: Final = r"[\u4e00-\u9fffA-Za-z]"
_TO: Final = r"(?:去|飞|回|搬到|换到|改到|挪到|改在|定在|订在|安排在|放在|改去|换去)"
_SLOTS: Final = (
    # what the correction says; what an earlier clause says of the same kind
    (
        lazy_pattern(rf"\A(?:叫|取名叫?|起名叫?|定了?叫)(?P<new>{_WORD}{{1,5}})\Z"),
        lazy_pattern(rf"(?:取名叫?|起名叫?|名字[叫是]|叫)(?P<old>{_WORD}{{1,5}}?)(?=[，。；！,.!\s的]|$)"),
    ),
    (
        lazy_pattern(rf"\A(?:归|由|找|让|交给)(?P<new>{_WORD}{{1,4}}?)(?:来?(?:管|负责|做|弄|带|接手?|审|批))?\Z"),
        lazy_pattern(
            rf"(?:(?:归|由|找|让|交给)(?P<old>{_WORD}{{1,4}}?)(?=[来管负做弄带接审批，。；,.\s]|$))"
            rf"|是(?P<old2>{_WORD}{{1,4}}?)(?=(?:在|来)?(?:管|负责|做|弄|带|审|批))"
        ),
    ),
    (
        lazy_pattern(rf"\A{_TO}(?P<new>(?!的){_WORD}{{1,8}}?)(?:玩|办|住|开|吃)?\Z"),
        lazy_pattern(
            rf"(?:去|飞|回|搬到|定在|订在|安排在|放在|(?<![现正])在)(?P<old>(?!的|那|这)"
            rf"(?:(?!上班|工作|上学|读书|念书){_WORD}){{2,8}}?)"
            r"(?=[玩办住开吃出的，。；！,.!\s]|$)"
        ),
    ),
    (
        lazy_pattern(rf"\A(?:换成?|改成|改用|换用)(?P<new>(?!了){_WORD}{{1,6}})\Z"),
        lazy_pattern(
            rf"(?:订在?|选了?|用|买|(?<![\d一二两三四五六七八九十半几])点了?|吃|喝)(?P<old>(?!的){_WORD}{{1,6}}?)(?=[，。；！,.!\s的]|$)"
        ),
    ),
)
"""Kinds of value that have no form of their own, told by the word before them."""
_SLOTS_TURNED: Final = _SLOTS[1:2]
"""Those of them of which 现在 alone tells that it is another one: who is in charge."""

_MISTAKEN: Final = lazy_pattern(r"[说記记打写寫搞弄]错|错了|不对|不對|更正|口误|手误")
_MOST_PARTS: Final = 2
_SLIP: Final = lazy_pattern(rf"(?:是|叫|应该是|应该叫)?(?P<new>(?![是叫的了不我你他她它])(?:{_WORD}){{2,6}})")
_SAID_BEFORE: Final = lazy_pattern(
    rf"(?:叫|订在?|定在?|选在?|姓|[是在去到])(?P<old>(?![的了不]){_WORD}{{2,6}}?)(?=[，。；！,.!\s]|$)"
)
"""A name, or where something is, at the end of a clause."""
Matcher = Callable[[str], Span | None]


def amended_in_chinese(said: str, *, is_answer: bool) -> Matcher | None:
    """What finds the old value of a correction in a clause; None where it is no correction, or names what it corrects.

    Args:
        said: A sentence.
        is_answer: Whether it answers a question.
    """
    takes_back = _TAKES_BACK.search(said) is not None
    if not takes_back and (_TURNED.search(said) is None or is_answer):
        return None
    parts = [found[0] for found in _PART.finditer(said)]
    by_form = [(part, pattern) for part in parts for pattern in (_AMOUNT, _CLOCK, _DAY) if _is_only(part, pattern)]
    if by_form:
        part, pattern = by_form[-1]
        if _others_speak(parts, part):
            return None
        if not _REPLACES.search(part) and any(map(_names_a_thing, parts[: parts.index(part)])):
            unit = _UNIT.search(_value(part, pattern))
            return _of_unit(unit[0], _value(part, pattern)) if unit and pattern is _AMOUNT else None
        return _holder(pattern, _value(part, pattern))
    if _MISTAKEN.search(said) and (slip := _of_slip(parts)) is not None:
        return slip
    open_ = _SLOTS if takes_back else _SLOTS_TURNED
    slots = [(part, slot) for part in parts for slot in open_ if slot[0].match(_plain(part))]
    if slots:
        part, (new, old) = slots[0]
        found = new.match(_plain(part))
        return _in_slot(old, found["new"] if found else "") if not _others_speak(parts, part) else None
    return _of_sort(parts[-1]) if takes_back and parts and "还是" in said else None


def _of_slip(parts: Sequence[str]) -> Matcher | None:
    """A name or a place alone in the place of the last one that was said by mistake: 打错了，小婕; 不对，是聚贤楼."""
    bare = [found["new"] for part in parts if not _MISTAKEN.search(part) and (found := _SLIP.fullmatch(_plain(part)))]
    return _in_slot(_SAID_BEFORE, bare[0]) if len(bare) == 1 and len(parts) <= _MOST_PARTS else None


def taken_back_in_chinese(said: str) -> bool:
    """Whether somebody takes back what they said, and does not only say what is so now."""
    return _TAKES_BACK.search(said) is not None


def _is_only(part: str, pattern: re.Pattern[str]) -> bool:
    """Whether a part says nothing but a value of a kind."""
    found = pattern.search(part)
    return found is not None and not _FILLER.sub("", part[: found.start()] + part[found.end() :]).strip("半")


def _names_a_thing(part: str) -> bool:
    """Whether a part before the value names what it is a value of: 车险涨了，现在四千二."""
    return len(_FILLER.sub("", part)) > 1


def _of_unit(unit: str, besides: str) -> Matcher:
    """Of the same unit: after 人少了，减到10桌 other tables, and no days or weights."""
    return _holder(re.compile(rf"[\d一二两三四五六七八九十百千万半]{{1,8}}{unit}"), besides)


def _value(part: str, pattern: re.Pattern[str]) -> str:
    found = pattern.search(part)
    return found[0] if found else ""


def _others_speak(parts: list[str], part: str) -> bool:
    """Whether another part gives a value of its own: then more is told than a correction."""
    others = [other for other in parts if other is not part]
    return any(pattern.search(other) for other in others for pattern in (_DAY, _CLOCK)) or len(others) > 2


def _plain(part: str) -> str:
    """A part without what only announces it."""
    return _LEAD.sub("", _TAIL.sub("", part))


_LEAD: Final = lazy_pattern(
    r"\A(?:我们?|咱们?|他们?|她|它|刚刚|刚才|刚|通知我?们?|说|就|又|已经|后来|最后|最终|还是|那就|那|其实|算了|不对|应该|得|要|决定|打算|准备|现在|以后|目前|定了|改(?=叫|归|由))*"
)
_TAIL: Final = lazy_pattern(r"[了吧啊呢哈呀啦喽]{1,4}\Z")


def _holder(pattern: re.Pattern[str], besides: str) -> Matcher:
    def matcher(clause: str) -> Span | None:
        spans = [found.span() for found in pattern.finditer(clause) if found[0] != besides]
        return spans[-1] if spans else None

    return matcher


def _in_slot(pattern: re.Pattern[str], new: str) -> Matcher:
    def matcher(clause: str) -> Span | None:
        for found in pattern.finditer(clause):
            group = next(name for name, value in found.groupdict().items() if value)
            if found[group] != new:
                return found.span(group)
        return None

    return matcher


_SORT: Final = lazy_pattern(r"(?:还是)?(?:要|买|选|用|吃|喝|点)?(?P<new>[\u4e00-\u9fff]{2,4})\Z")


def _of_sort(part: str) -> Matcher | None:
    """Of a thing that ends with the same character, which is mostly what it is one of: 黑色, 白色; 火锅, 汤锅."""
    found = _SORT.match(_plain(part))
    if found is None:
        return None
    new = found["new"]

    def matcher(clause: str) -> Span | None:
        places = (place for place in range(1, len(clause)) if clause[place] == new[-1])
        return next(
            ((p - 1, p + 1) for p in places if clause[p - 1 : p + 1] != new[-2:] and is_cjk(clause[p - 1])), None
        )

    return matcher
