"""Hears a user ask for all that is known of them: "what do you know about me?", 你都记得我些什么."""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences

LONGEST: Final = 200
"""Characters of a message that is read so."""
_ENDS: Final = (
    r"(?:,? (?:so far|by now|now|already|at the moment|right now|until now|up to now|exactly|these days|then|anyway"
    r"|please|in total|all together|(?:from|in) (?:our|earlier|other|past|previous)"
    r" (?:chats?|conversations?|talks?)))*\W{0,9}\Z"
)
_KNOWN: Final = (
    r"(?:know|remember|recall|have|keep|hold|store|save|learned?|learnt|got|kept|stored|saved|noted|written down)"
)
_OF_ME: Final = r"(?: (?:stored|saved|kept|noted|on file|in memory|in your memory))? (?:about|on|of) (?:me|myself)"
_ENGLISH: Final = lazy_pattern(
    r"\A\W{0,4}(?:(?:and|so|ok(?:ay)?|hey|hi|please|pls|now|tell me|show me|remind me|list|give me|(?:can|could|would)"
    r" you(?: please)? (?:tell|show|remind|give) me|i(?:'d| would) like to (?:know|see))\b\W{1,4}){0,5}+(?:"
    rf"(?:what|everything|all|anything)(?: (?:else|all|exactly|that))?(?: (?:do|did|have|has|can))?(?: it)? you"
    rf"(?:'ve| have)?(?: (?:actually|already|still))? {_KNOWN}{_OF_ME}"
    r"|what(?: all)? have i (?:told|said to|shared with)(?: you)?(?: about (?:me|myself))?"
    r"|(?:everything|all|what) (?:that )?i(?:'ve| have)? (?:ever )?(?:told|said to|shared with) you(?: about"
    r" (?:me|myself))?"
    rf"|(?:do|did) you (?:know|remember|have) anything{_OF_ME}"
    r"|what(?:'s| is) in (?:your|my) memory(?: (?:about|of) me)?|what(?: do)? you remember"
    r"|(?:all )?(?:of )?(?:my|your) memories(?: (?:of|about) me)?"
    r")" + _ENDS,
    re.IGNORECASE,
)
_NOW_ZH: Final = r"(?:都|还|现在|目前|到底|一共|已经|到现在){0,4}"
_KNOWN_ZH: Final = r"(?:知道|记得|了解|记住|记着|记|保存|存|掌握|晓得|認識|知)(?:了|着|住|下来?)?"
_WHAT_ZH: Final = r"(?:的)?(?:哪些|什么|什麼|多少|些什么|些啥|啥|乜嘢|咩)(?:事情?|信息|内容|东西)?"
_CHINESE: Final = lazy_pattern(
    rf"\A\s{{0,4}}(?:请问|那|那么|告诉我|说说|讲讲){{0,2}}(?:(?:你|您|你们){_NOW_ZH}{_KNOWN_ZH}(?:关于|有关)?我(?:们)?{_WHAT_ZH}"
    rf"|(?:你|您){_NOW_ZH}{_KNOWN_ZH}{_WHAT_ZH}(?:关于|有关)我的(?:事情?|信息|内容|东西)?"
    rf"|(?:关于|有关|对)我(?:的事)?(?:你|您)?{_NOW_ZH}{_KNOWN_ZH}{_WHAT_ZH}|(?:你|您)对我{_NOW_ZH}{_KNOWN_ZH}{_WHAT_ZH}"
    rf"|我(?:之前|以前|都|一共){{0,3}}(?:跟|和|对|告诉)过?(?:你|您)(?:都)?(?:说|讲|聊|提)?过?(?:了)?{_WHAT_ZH}"
    r"|(?:列出|列一下|给我看看|看看)?(?:你|您)?(?:所有|全部)?(?:知道|记得|记住|保存)的?(?:所有|全部|一切)?(?:关于|有关)?我的"
    r"(?:一切|所有|全部|事情?|信息|内容|记忆)"
    rf"|(?:你|您)的?(?:记忆|记录)(?:里|中)(?:都)?有(?:关于)?(?:我的?)?{_WHAT_ZH})(?:啊|呀|呢|吗|了|来着)*\W{{0,9}}\Z"
)


def asks_for_everything(text: str) -> bool:
    """Whether the last sentence of a message asks for all that is known of the user.

    Args:
        text: What a user says.
    """
    if len(text) > LONGEST or not (said := sentences(text)):
        return False
    last = text[slice(*said[-1])].replace("’", "'")
    return _ENGLISH.match(last) is not None or _CHINESE.match(last) is not None
