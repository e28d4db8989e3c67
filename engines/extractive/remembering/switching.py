"""Hears a user switch their memory off or on in a chat, for good or for this conversation, in plain words."""

import re
from typing import Final, NamedTuple

from agentic_memory_bank.engines.own_words import own_words
from agentic_memory_bank.state.conversations import MemoryMode
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern

LONGEST: Final = 160
"""Characters of a message that is read so; what is longer tells other things."""

_CLAUSE: Final = lazy_pattern(r"[^,;:.!?，。；：！？\n—–]+")
_LEAD: Final = (
    r"\A\W{0,4}(?:(?:please|pls|kindly|just|ok(?:ay)?|hey|hi|also|and|so|but|then|actually|well|right|now|look|btw"
    r"|sorry|from now on|from here on|(?:could|can|would|will) (?:you|u|we)|you (?:can|could|may|should|must"
    r"|need to|have to)|i(?:'d| would) (?:like|want|prefer) (?:you )?to|i (?:want|need) (?:you )?to|let's)\b\W{1,4}"
    r"){0,6}+"
)
_TALK: Final = r"(?:this|the current|our|the whole) (?:chat|conversation|session|talk|thread|dialogue)"
_LASTS: Final = (
    r"(?: (?:from now on|from here on|any ?more|going forward|for now|for good|again|ever again|please|at all|now|in"
    rf" future|(?:in|from|of|for|during) {_TALK}))*"
)
_MEMORY: Final = r"(?:(?:your|the|my) )?(?:long[- ]term )?memory(?: (?:feature|function|mode))?"
_SAID: Final = (
    r"(?:anything|everything|things|stuff|what|any of (?:it|what)|(?:any )?(?:details|facts|notes|information|info))"
    r"(?: (?:that )?(?:i|we)(?:'m|'ve| am| have)? (?:say|said|tell|telling|told|write|wrote|mention)(?:ing)?"
    r"(?: (?:to )?you)?| (?:about|on|of) me)?"
)
_KEEPING: Final = r"(?:remember|sav|stor|record|keep|memori[sz]|logg|retain|track)ing"
_KEEP: Final = r"(?:remember|save|store|record|keep|memori[sz]e|log|retain)"
_NO_WANT: Final = (
    r"i (?:don't|do not|wouldn't|no longer) (?:want|like|need) you (?:to )?"
    r"|i(?:'d| would) (?:rather|prefer)(?: it)?(?: if| that)? you (?:didn't|did not|don't) "
)
_OFF: Final = lazy_pattern(
    _LEAD + rf"(?:(?:turn|switch|shut) (?:off? {_MEMORY}|{_MEMORY} off)|(?:disable|deactivate|stop|pause|suspend)"
    rf" {_MEMORY}|(?:go|turn on|switch to|use) (?:incognito|private mode|incognito mode)|no memory)"
    + _LASTS
    + r"\W*\Z",
    re.IGNORECASE,
)
_NOT_KEPT: Final = lazy_pattern(
    _LEAD + rf"(?:(?:stop|quit|no more) {_KEEPING}(?: {_SAID})?"
    rf"|(?:don't|do not|never) {_KEEP} (?:{_SAID}(?P<lasts>{_LASTS})|(?:a record of )?{_TALK})"
    rf"|(?:{_NO_WANT})(?:{_KEEP}|{_KEEPING}) (?:{_SAID}|(?:a record of )?{_TALK})"
    rf"|(?:nothing|none of (?:it|what i say)|not a word)(?: (?:in|from|of) {_TALK}"
    r"| i (?:say|tell you)(?: here| today)?)?"
    r" (?:should|is to|must|may|shall|gets?|can) (?:be )?(?:kept|saved|stored|remembered|recorded)"
    rf"|{_TALK} (?:should not|shouldn't|must not|mustn't|is not to|isn't to) be"
    r" (?:kept|saved|stored|remembered|recorded))" + _LASTS + r"\W*\Z",
    re.IGNORECASE,
)
_ON: Final = lazy_pattern(
    _LEAD + rf"(?:(?:turn|switch) (?:(?:back )?on {_MEMORY}|{_MEMORY} (?:back )?on)"
    rf"|(?:enable|reactivate|resume|unpause|restart) {_MEMORY}"
    rf"|(?:start|resume|go back to|begin) {_KEEPING}(?: {_SAID})?"
    rf"|{_KEEP} (?:{_SAID}|me) again)" + _LASTS + r"\W*\Z",
    re.IGNORECASE,
)
_BACK_ON: Final = lazy_pattern(
    _LEAD
    + r"(?:(?:turn|switch|put) (?:it|that) (?:back )?on|(?:enable|resume|reactivate|unpause) it)"
    + _LASTS
    + r"\W*\Z",
    re.IGNORECASE,
)
"""What is said of memory by who has switched it off."""
_HERE: Final = lazy_pattern(
    rf"\b{_TALK}\b|\bhere\b(?! on\b)|\btoday\b"
    r"|今天|[这這本](?:次|段|个|個|场|場)?(?:对话|對話|聊天|谈话|談話|会话|會話)",
    re.IGNORECASE,
)
_LEAD_ZH: Final = (
    r"\A\s{0,4}(?:请|請|麻烦|你|您|帮我|可以|能不能|那|就|从现在(?:起|开始)|从今(?:往后|以后|天起)|以后|今后|往后|接下来|之后|先|都"
    r"|暂时|我(?:想|要|希望)){0,6}"
)
_MEMORY_ZH: Final = r"(?:你的|您的|我的)?(?:长期)?(?:记忆|記憶)(?:功能|模式)?"
_TALK_ZH: Final = (
    r"(?:[这這本](?:次|段|个|個|场|場)?(?:对话|對話|聊天|谈话|談話|会话|會話)(?:里|中)?的?(?:所有|全部|任何)?"
    r"(?:内容|內容|东西|话|話|信息)?)"
)
_SAID_ZH: Final = (
    r"(?:我(?:们)?(?:跟你|和你|对你)?(?:说|講|讲|聊|告诉你)的?(?:任何|所有)?(?:话|話|东西|内容|事情?)?"
    r"|我的(?:东西|事情?|话|内容|信息)|(?:接下来|后面|之后|下面)的?(?:话|内容|东西)|今天(?:说|聊|讲)的(?:话|内容|东西)?"
    r"|任何(?:东西|事情?|内容|信息))"
)
_NOT_ZH: Final = r"(?:你|您|都|全|就|一律){0,3}(?:别|別|不要|不用|不许|停止|唔好)再?"
_KEEP_ZH: Final = r"(?:记住|记录|记着|记|記|保存|存|留存|保留|收集)(?:下来?|着|住|录)?"
_TAIL_ZH: Final = r"(?:吧|了|啊|哈|呀|哦|嘛|谢谢|好吗|行吗|可以吗|可好)*\s{0,4}\Z"
_OFF_ZH: Final = lazy_pattern(
    _LEAD_ZH + rf"(?:(?:关掉|关闭|关上|关了|關掉|關閉|停用|禁用|暂停|停掉|停止)(?:一下)?{_MEMORY_ZH}"
    rf"|[把将]{_MEMORY_ZH}(?:给)?(?:关|停|禁用|關|暂停)(?:掉|了|上|闭|閉)?|(?:开启?|打开|用|切换?到|进入)(?:无痕|隐身|隐私)模式)"
    + _TAIL_ZH
)
_NOT_KEPT_ZH: Final = lazy_pattern(
    rf"{_LEAD_ZH}(?:(?:{_TALK_ZH})?{_NOT_ZH}{_KEEP_ZH}(?:{_TALK_ZH}|{_SAID_ZH})"
    rf"|(?:{_TALK_ZH}|{_SAID_ZH}){_NOT_ZH}{_KEEP_ZH}){_TAIL_ZH}"
)
_ON_ZH: Final = lazy_pattern(
    rf"{_LEAD_ZH}(?:(?:重新|再|把)?(?:打开|开启|恢复|启用|打開|開啟|恢復)(?:一下)?{_MEMORY_ZH}"
    rf"|[把将]?{_MEMORY_ZH}(?:重新|再|又|给我)?(?:打开|开(?:起来|回来|启)|恢复|打開|启用)"
    rf"|(?:又|重新|继续|接着){{1,2}}(?:可以|能)?{_KEEP_ZH}(?:{_SAID_ZH}|东西)?){_TAIL_ZH}"
)
_BACK_ON_ZH: Final = lazy_pattern(
    rf"{_LEAD_ZH}(?:(?:重新|再|又|给我)?(?:打开|开启|恢复|启用|開啟|打開)(?:它)?"
    rf"|(?:又|重新|继续|接着|开始)?(?:可以|能|来)?[记記](?:录|住)?){_TAIL_ZH}"
)


class Switching(NamedTuple):
    """What somebody switches their memory to."""

    mode: MemoryMode
    is_here: bool
    """Whether for this conversation alone."""
    is_back: bool = False
    """Whether it only says "turn it back on", which speaks of a memory that is off, and else of anything."""


def told_to_switch(text: str) -> Switching | None:
    """What a message switches memory to; None for any other message.

    Args:
        text: What a user says.
    """
    if len(text) > LONGEST:
        return None
    words = " ".join(_TYPED.sub(_spelt, own_words(text).replace("’", "'")).split())
    back: Switching | None = None
    for found in _CLAUSE.finditer(words):
        clause = found[0].strip()
        mode = _mode_zh(clause, words) if is_cjk(clause) else _mode(clause)
        is_here = _HERE.search(clause) is not None
        if mode is not None:
            return Switching(mode, is_here)
        if back is None and (_BACK_ON.match(clause) or _BACK_ON_ZH.match(clause)):
            back = Switching("on", is_here, is_back=True)
    return back


_TYPED: Final = lazy_pattern(r"\b(?:u|ur|dont|pls)\b", re.IGNORECASE)
_SPELT: Final = {"u": "you", "ur": "your", "dont": "don't", "pls": "please"}


def _spelt(found: re.Match[str]) -> str:
    return _SPELT[found[0].casefold()]


def _mode(clause: str) -> MemoryMode | None:
    if _OFF.match(clause):
        return "off"
    if (found := _NOT_KEPT.match(clause)) and (found["lasts"] != "" or _FROM_NOW.search(clause)):
        return "recall"  # "don't save anything" alone may be said of files
    return "on" if _ON.match(clause) else None


def _mode_zh(clause: str, words: str) -> MemoryMode | None:
    if _OFF_ZH.match(clause):
        return "off"
    if (found := _NOT_KEPT_ZH.match(clause)) and _lasts_zh(found, words):
        return "recall"
    return "on" if _ON_ZH.match(clause) else None


_FROM_NOW: Final = lazy_pattern(r"\bfrom (?:now|here) on\b", re.IGNORECASE)
_FROM_NOW_ZH: Final = lazy_pattern(r"停止|今天|后面|下面|从现在|从今|以后|今后|往后|接下来|之后|再")


def _lasts_zh(found: re.Match[str], words: str) -> bool:
    """Whether it is said of what is yet to come, or of all that is said in here."""
    return _HERE.search(found[0]) is not None or _FROM_NOW_ZH.search(words) is not None
