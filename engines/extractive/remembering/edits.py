"""Reads whether somebody asks to edit a text: "delete the section about my sister" is nothing for a memory to forget.

What goes is a part of something that is worked on, or the message says what that is: "cut the stuff about my sister, it
makes the speech too long". Where the memory itself is named, or what it was told, it is a wish all the same.
"""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

OF_TEXTS: Final = (
    r"paragraphs?|sentences?|words?|lines?|columns?|rows?|cells?|code|comments?|e-?mails?|photos?|browser|cache|cookies"
    r"|apps?|branch|tables?|slides?|drafts?|chapters?|sections?|commas?|instructions?|prompts?|functions?|tests?|stains?"
)
"""What is worked on, wherever a message names it."""
OF_DEVICES: Final = (
    r"accounts?|alarms?|timers?|tattoos?|insta(?:gram)?|tinder|facebook|whatsapp|playlists?|logos?|calendars?|files?"
    r"|folders?|pictures?|repo\w*|passages?|pages?|rules?|variables?|duplicates?"
)
OF_PAPERS: Final = r"essays?|letters?|reports?|intro(?:duction)?|bullets?|recipe|list of|version|ingredients?|smell"
_PARTS: Final = (
    rf"{OF_TEXTS}|{OF_DEVICES}|{OF_PAPERS}|recipes|versions|file notes|tickets?|reminders?|footnotes?|headings?"
    r"|headlines?|stanzas?|verses?|quotes?|clauses?|captions?|images?|charts?|figures?|diagrams?|appendix|abstract"
    r"|summary|conclusion|scenes?|subtitles?|bullet points?|attachments?|posts?|tweets?|articles?|spreadsheets?|cards?"
    r"|documents?|tasks?|events?|issues?|commits?|phrases?|brackets?|hashtags?|emojis?"
)
"""The same, and what is worked on only where it is itself what goes: "my card debt" is no card."""
_WHICH: Final = (
    r"(?:(?:the|that|this|those|these|my|our|your|all|any|every|each|a|an|whole|entire|last|first|second|third|fourth"
    r"|next|previous|final|opening|closing|long|short|other|old|new|empty|blank|extra|silly|both|two|three|\d+(?:st|nd"
    r"|rd|th)?)\s+){0,5}"
)
_EDITS: Final = (
    r"(?:delet(?:e|ing)|eras(?:e|ing)|remov(?:e|ing)|wip(?:e|ing)|cut(?:ting)?|drop|strike|scrap|bin|omit|trim|lose"
    r"|clear|discard|get rid of|(?:take|leave|cross|strike|cut|edit|chop|rub)(?: out| off| away)?)(?: out| off| away)?"
)
"""What is done to parts of a text; nobody forgets them."""
_AROUND: Final = (
    r"(?:about|on|of|in|from|with|where|which|that|called|named|titled|saying|for|to|at|and|or|please|again|now|too|is"
    r"|below|above|out|off|away|entirely|completely)"
)
_PART: Final = lazy_pattern(rf"\b{_EDITS} {_WHICH}(?:\w+ )?(?:{_PARTS})\b(?:$|[^\w\s]| {_AROUND}\b)", re.IGNORECASE)
"""The part itself is what goes."""
_ANY_EDIT: Final = lazy_pattern(rf"\b{_EDITS}\b", re.IGNORECASE)
_TEXT: Final = lazy_pattern(
    r"\b(?:the|my|this|our|an?|his|her|their) (?:\w+ ){0,2}?(?:drafts?|speech|essay|cover letter|presentation|deck"
    r"|slides|blog(?: post)?|cv|r[eé]sum[eé]|poem|script|manuscript|thesis|article|invitation|toast|eulogy|caption"
    r"|spreadsheet|newsletter|agenda|press release|translation|short story|bio|homepage|website|readme)\b",
    re.IGNORECASE,
)
"""A text that is worked on."""
_OFF_LIST: Final = lazy_pattern(
    r"\b(?:delete|remove|take|drop|cut|leave|strike|cross|kick|throw|get)\b[^.!?]{1,40}?"
    r"\b(?:from|off|out of) (?:the|my|our"
    r"|this|that) (?:\w+ ){0,2}(?:groups?|lists?|calendar|chat|contacts?|phone|invites?|order|basket|cart|will|policy"
    r"|account"
    r"|inbox|thread|meeting|rota|schedule|team|line-?up|seating|plan|menu|photos?|app|whatsapp|insurance|booking|bill"
    r"|homework|form|email|cv)\b|\b(?:leave|keep) (?:\S+ ){1,4}out of (?:it|this)\b",
    re.IGNORECASE,
)
"""What is taken off a list, or out of a group."""
_OFF_LIST_ZH: Final = lazy_pattern(
    r"从[^，。]{0,10}(?:群|名单|作业|日历|通讯录|手机|微信|菜单|购物车|订单|合同|表格?|简历|朋友圈|相册|黑板|文档)(?:里|中|上|聊)?[^，。]{0,3}(?:删|去掉|移|踢|划|拿掉)"
    r"|(?:那栏|这栏|那格|那一?列|那一?行)[^，。]{0,3}(?:删|去掉|划)"
)
_BIT: Final = lazy_pattern(
    rf"\b{_EDITS} (?:the|that|this|my|all the) (?:\w+ )?(?:bit|part|stuff|section|business|joke|story|line)s?\b"
    r"[^.!?]{0,80}[,;.–—-]\s{0,3}(?:and |as |since |because )?(?:it|that|this|they)?(?:'s| is|'re| are)? ?(?:just )?"
    r"(?:(?:way |far |much |a bit |so |very |really |rather )*(?:too (?:long|short|much|wordy|detailed|personal|formal"
    r"|dark|silly|negative)|long|wordy|boring|dull|clunky|redundant|repetitive|off[- ]topic|irrelevant|unnecessary"
    r"|cheesy)"
    r"|not (?:funny|needed|relevant|necessary)|sounds? like|reads? (?:badly|like|oddly)|drags?|waffles?"
    r"|doesn't (?:fit|flow|work|add|belong|read))\b",
    re.IGNORECASE,
)
"""A bit that is to go for how it reads."""
_OF_MEMORY: Final = lazy_pattern(
    r"\b(?:from|in|off|out of) (?:your|the) (?:memor(?:y|ies)|notes?|records?|head|mind|logs?|system|profile|history)\b"
    r"|\bwhat (?:you|i(?:'ve)? (?:said|told)|you(?:'ve| have)?) |\bi(?:'ve| have)? (?:told you|mentioned|said)\b"
    r"|\byou(?:'ve| have)? (?:know|got|remember|stored|saved|kept|noted)\b|\bremember(?:ed|ing)?\b|\bmemor(?:y|ies)\b",
    re.IGNORECASE,
)
"""The memory is named, or what it was told."""
_TEXT_ZH: Final = (
    r"(?:[这那第每前后上下末首几一二三四五六七八九十\d]{1,3}[大小]?(?:段|句|章|节|页|行|列)话?|段落|句子|章节|标题|幻灯片|表格|文档|草稿|初稿|稿子?|作文|演讲稿?|发言稿?|简历|文章|正文|结尾|开头|脚注|图片|插图|代码"
    r"|文件|邮件|附件|提醒|日程|闹钟|任务|工单|评论|帖子|朋友圈|微博|ppt|PPT|PPT)"
)
_PART_ZH: Final = lazy_pattern(
    r"(?:删|去|拿|抹|划|砍|剪|减|移)(?:掉|除|去|了|走)?[^，。,；！？!?]{0,24}" + _TEXT_ZH + r"(?!里?[^，。]{0,4}记)"
    r"|" + _TEXT_ZH + r"[^，。,；！？!?]{0,24}(?:删|去掉|拿掉|抹掉|划掉|砍掉|剪掉|移除)"
)
_BIT_ZH: Final = lazy_pattern(
    r"(?:删|去|拿|抹|划|砍|剪)(?:掉|除|去|了)[^。！？]{0,6}[，,。]?\s?(?:写得|读起来)?(?:太|有点|过于|显得)(?:长|短|啰嗦|罗嗦|多|乱|细|肉麻|生硬|正式|随便)"
    r"|(?:删|去|拿|抹|划|砍|剪)(?:掉|除|去|了)[^。！？]{0,6}[，,。]\s?(?:不好笑|多余|跑题|不通顺|不搭|没必要|重复)"
)
_BIT_OF_TALK_ZH: Final = lazy_pattern(
    r"(?!把|将|关于)[\u4e00-\u9fff]{2,8}(?<!的)那段话?(?:都|就|给我|可以)?(?:删|抹|去)(?:掉|了)?[吧啊哈]?\W*"
    r"|(?:刚才|刚刚|上一?)[^，。]{0,3}[句段条]话?(?:都|就|给我)?(?:删|抹|去)(?:掉|了)?[吧啊哈]?\W*"
)
"""What was talked about, and no part of a text: 离婚那段删了."""
_OF_MEMORY_ZH: Final = lazy_pattern(
    r"记忆|你的?(?:记录|记住|记着|记下|笔记|脑子)|跟你(?:说|讲|提)|告诉(?:过)?你|我[^，。]{0,4}(?:说|讲|提)[过的]|别记|不要记|忘"
)


def asks_to_edit(text: str) -> bool:
    """Whether a message asks to take something out of a text or a thing, and not out of a memory."""
    if _PART_ZH.search(text) or _BIT_ZH.search(text) or _OFF_LIST_ZH.search(text):
        return _OF_MEMORY_ZH.search(text) is None and _BIT_OF_TALK_ZH.fullmatch(text) is None
    if _OF_MEMORY.search(text):
        return False
    if _BIT.search(text) or _OFF_LIST.search(text):
        return True
    return _PART.search(text) is not None or (_ANY_EDIT.search(text) is not None and _TEXT.search(text) is not None)
