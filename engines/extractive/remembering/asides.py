"""Hears somebody say in passing that nothing of a message is to be kept: "the code is 8812 (don't write that down)"."""

import re
from typing import Final

from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern

_OPENS: Final = (
    r"\A\W{0,4}(?:(?:and|but|so|no|nah|ok(?:ay)?|lol|haha|please|pls|now|also|just|then|oh|well|obviously|seriously|strictly"
    r"|all|you(?:'re|'ll| are| do| must| can| should| have)?(?: to)?)\b\W{1,4}){0,6}+"
)
_POINTER: Final = (
    r"(?:(?:any |all |none )?(?:of )?(?:this|that|it|these|those|them|what i (?:just )?(?:said|told you|wrote))"
    r"(?: (?:one|bit|part|number|code|message|thing|line|last bit))?)"
)
_RECORD: Final = r"(?:(?:your|my|the|any) )?(?:memory|memories|notes?|records?|files?|books?|profile|history|logs?)"
_KEEP: Final = (
    r"(?:remember|memori[sz]e|store|save|retain|record|note|log|write|jot|hold on ?to|hang on ?to"
    r"|(?:make|take|keep) (?:a )?(?:note|record)s? of)"
)
_KEPT: Final = r"(?:kept|stored|saved|remembered|recorded|noted|logged|written down|on file|on record)"
_NOT: Final = r"(?:don't|do not|never|not to)"
_DONE: Final = (
    r"(?:(?:right |straight )?after(?:wards?| this| that| (?:you|we)\b.{1,30})?|once (?:you|we)\b.{1,30}"
    r"|when (?:you|we)\b.{1,30})"
)
_LOSE: Final = r"(?:forget|lose|bin|scrub|delete|erase|drop|wipe|shred|burn)"
_ENDS: Final = (
    r"(?:\s{1,4}(?:down|away|up|(?:in|to|on|onto|into) "
    + _RECORD
    + r"|please|ok(?:ay)?|lol|haha|ha|thanks?|yeah|yes|right"
    r"|anywhere|though|either|mind|obviously|will you|would you|if you can|for me|at all|again|now|too))*"
    r"(?:\s{1,4}(?:i'm|im|i am|it's|its|cos|coz|because|since|but|i was|i'd|i just|i only)\b.{0,80})?\W{0,9}\Z"
)
_ASKED: Final = lazy_pattern(
    _OPENS + r"(?:"
    rf"{_NOT} {_KEEP} {_POINTER}"
    rf"|{_NOT} (?:keep|put|take|add|file) {_POINTER} (?:down |away )?(?:in|into|to|on) {_RECORD}"
    rf"|{_NOT} (?:file {_POINTER} away|take {_POINTER} down)"
    rf"|(?:keep|leave) {_POINTER} (?:out of|off) (?:your|my) (?:{_RECORD})"
    rf"|{_LOSE} {_POINTER} {_DONE}"
    rf"|forget (?:you(?:'ve)? (?:ever )?)?(?:saw|seen|read|heard) {_POINTER}"
    rf"|(?:never|didn't) (?:saw|see|read|heard|hear) {_POINTER}(?! from\b)"
    rf"|(?:pretend|act (?:like|as if)) (?:you|i) (?:never|didn't|hadn't) (?:saw|see|seen|read|heard|hear|said|say|sent"
    rf"|send) {_POINTER}"
    r")" + _ENDS,
    re.IGNORECASE,
)
_STATED: Final = lazy_pattern(
    r"\A(?:.{0,200}?\b(?:but|and|so)\s)?" + _OPENS.removeprefix(r"\A") + r"(?:"
    rf"i(?:'d)? (?:don't|do not|wouldn't|rather not) (?:want|like|need|have) {_POINTER} (?:to be )?{_KEPT}"
    rf"|(?:{_POINTER}(?:'s| is| was) )?not (?:for|part of|one for) (?:keeping|storing|saving|keeps|{_RECORD})"
    rf"|{_POINTER} (?:isn't|ain't|wasn't) (?:for|part of|one for) (?:keeping|storing|saving|keeps|{_RECORD})"
    rf"|(?:{_POINTER}(?:'s| is| was) )?not something i(?:'d)? (?:want|wanted|like|need) {_KEPT}"
    rf"|{_POINTER} (?:stays?|is to stay|should stay|must stay|is to be kept) (?:out of|off) {_RECORD}"
    r"|(?:(?:this|that|it)(?:'s| is| was|s) )?off the record"
    r"|(?:only )?for this (?:chat|conversation|session)(?: only| alone)?"
    r")" + _ENDS,
    re.IGNORECASE,
)
"""The same said of the record, which may stand behind other words: "the gate is 2291 but that's not for keeping"."""
_ORDERED: Final = lazy_pattern(
    rf"\A\W{{0,4}}(?:(?:and|so|then|ok(?:ay)?|good|thanks?)\b\W{{1,4}}){{0,4}}+(?:now {_LOSE} {_POINTER}"
    rf"|you(?:'re| are| have) to (?:forget|lose) {_POINTER})" + _ENDS,
    re.IGNORECASE,
)
"""What a bare "forget it" would not say: that it is to be done now, or at once."""
_TAG: Final = lazy_pattern(r"\W*(?:(?:did|have|do|will) (?:you|we|I)\b|for\b)|\s*(?:这?[是就]|我还要)", re.IGNORECASE)
"""What makes a question of the clause before it, or says something of it: "看完就删，是我妈的习惯"."""
_NOT_ZH: Final = (
    r"(?:(?:可|就|都|也|请|你|您|千万)*(?:别|別|不要|不用|不必|甭|不许|不許|无需|無需|勿|莫要?|唔好|唔使)再?"
    r"(?:[给帮替給幫]我)?)"
)
_PLACE_ZH: Final = (
    r"(?:记忆|記憶|档案|檔案|笔记|筆記|备忘录?|備忘錄?|小本本|小本子|记录|記錄|资料|資料|数据库|脑子)(?:里|裡|上|中)?"
)
_ANY_KEEP_ZH: Final = r"(?:[记記](?:上|下来?|下來?|录|錄|着|住)?|保存|保留|存(?:着|下来?|下來?|档|檔)?|留(?:存|着)?)"
_PLACED_ZH: Final = (
    rf"(?:往(?:心里|下|{_PLACE_ZH})(?:记|存|放)|(?:写|寫|放|存|记|記|录|錄|加|收)?(?:进|進|入|到|在){_PLACE_ZH}(?:去)?"
    r"|[记記](?:上|在案|小本[本子](?:上|里)?|[脑心]子?里)|存底|留(?:底|档|檔|痕迹?)|入档|归档|歸檔)"
)
"""Where it is to be kept: without that, and without "this", the clause before may say what is meant."""
_THING_ZH: Final = (
    r"(?:(?:这|這|此|以上|以下|上面|下面|刚才|剛才)(?:个|個|条|條|句|段|些|串|件|份|番)?"
    r"(?:内容|內容|话|話|事儿?|信息|号码|號碼|数字|消息)?)"
)
_VERB_ZH: Final = r"[看用说說听聽数數算讲講读讀查回答弄译譯翻改写寫帮幫]"
_GONE_ZH: Final = (
    r"(?:忘|删|刪|清|扔|销毁)(?:了|掉|干净|乾淨)*|(?:别|別|不用|不要|不必)(?:存|记|記|留|保存|记住)(?:着|下来?|了)?"
    r"|算了|[当當]我?[没沒](?:看|听|聽|说|說|发生)(?:见|見|过|過|到)*"
)
_CHINESE: Final = lazy_pattern(
    rf"\A\s{{0,4}}(?:[号號][码碼]|密码|密碼)?(?:(?:{_THING_ZH})?(?:你|您)?{_NOT_ZH}{_PLACED_ZH}|{_THING_ZH}(?:你|您)?{_NOT_ZH}{_ANY_KEEP_ZH})(?:吧|了|啊|哈|呀|哦|嘛|谢谢|謝謝|行吗|好吗)*\s*"
    rf"|\A\s{{0,4}}(?:[号號][码碼]|密码|密碼|{_THING_ZH})?(?:你|您|请|請|麻烦)*{_VERB_ZH}(?:完|过|過|好)了?(?:之?[后後])?(?:你|您|就|便|请|請)*"
    rf"(?:{_GONE_ZH})(?:吧|了|啊|哈|呀|哦|嘛|谢谢|好吗)*\s*"
)


def keeps_nothing(clause: str, after: str = "") -> bool:
    """Whether a clause says that nothing of its message is to be kept.

    Args:
        clause: A clause of what a user says, with straight apostrophes.
        after: What follows it: "you never saw that, did you?" asks.
    """
    if _TAG.match(after):
        return False
    if is_cjk(clause):
        return _CHINESE.fullmatch(clause) is not None
    return any(pattern.fullmatch(clause) for pattern in (_ASKED, _STATED, _ORDERED))
