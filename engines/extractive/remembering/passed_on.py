"""Finds what somebody passes on of another's message: "what the venue sent me: …", 群里的通知：「…」.

A quotation is mostly material to work on, and states nothing of whoever pastes it. What is led in as a message that
came to them does: it is kept in its own words, with the words that lead it in, so that nobody takes it for theirs.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.remembering.statements import only_asks, says_enough
from agentic_memory_bank.engines.extractive.remembering.telling import told_to_forget
from agentic_memory_bank.engines.own_words import PASTED, is_order
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span

LONGEST: Final = 600
"""Characters of a message; a longer one is a text."""

_LED_IN: Final = lazy_pattern(
    r"(?<![^\n:：。.!?！？])(?P<lead>[^\n:：。.!?！？]{4,80}+)(?:[:：][ \t]*+(?:\n[ \t]*+)?|\n[ \t]*+)"
    r"(?P<quote>\"[^\"]{12,600}\"|“[^”]{6,600}”|「[^」]{6,600}」|『[^』]{6,600}』"
    r"|(?:>[^\n>]{11,300}+(?:\n|\Z)){1,8}+)"
)
_CAME: Final = lazy_pattern(
    r"\A\W*from (?:(?:himself|herself|themselves)\b"
    r"|\w+ (?:\w+ )?(?:this (?:morning|afternoon|evening)|yesterday|today|last night|just now)\b)"
    r"|\A\W*from (?:my|our|the) (?:[\w'-]+ ){0,2}(?:boss|manager|landlord|landlady|school|nursery|club|team|bank|office"
    r"|doctor|surgery|clinic|hospital|teacher|coach|mum|mom|dad|sister|brother|wife|husband|neighbou?r|agency|company"
    r"|council|hotel|venue|supplier|brewery|airline|garage)\b|\b(?:sent|s[ae]ys|said|wrote|writes|posted|texted|emailed"
    r"|messaged|e?-?mail(?: from)?|message|letter|text|notice|note|reply|replied|announce(?:d|ment)|forward(?:ed|ing)?"
    r"|fwd|circular|whatsapp|reads as follows|pasting (?=what|from)|paste of|booking|confirmation"
    r"|came (?=from|in\b|today|through)|got this (?=from|today)"
    r"|(?:keep|hold|save|copy) (?:it|this|that|the \w+)(?= (?:somewhere|safe|for (?:me|us|later)|handy|bits|parts)\b))"
    r" ?(?:me|us|from|to me|this|back|is|that)?\b"
    r"|[转贴抄][给畀]?你|发(?:来|的|给|了)|通知|消息|短信|公告|来信|邮件|回复|群里|留言|转发|存一下|记一下",
    re.IGNORECASE,
)
"""How somebody says that a message came to them."""


_OF_NOBODY: Final = lazy_pattern(
    r"^\W*+(?:(?:he|she|they|it|someone|somebody)\b(?!.*\b(?:me|us)\b)|(?:他|她|它|有人)(?!.*我))", re.IGNORECASE
)
"""A lead that names no sender and does not say that it came to the user: a quotation."""


_WORKED_ON: Final = lazy_pattern(
    r"\b(?:translate|translation|correct|proofread|rewrite|rephrase|improve|shorten|summari[sz]e|edit|polish|wrong with"
    r"|version of|reply to|answer to|story|novel|poem|song|lyrics|code|script|query)\b"
    r"|翻译|改写|润色|修改|总结|回复一下|作文|诗|小说|歌词|代码",
    re.IGNORECASE,
)
"""A text that is to be worked on, or was made up."""
_TO_AN_ASSISTANT: Final = lazy_pattern(
    r"\b(?:from now on|always|never|must|user prefers)\b[^.!?]{0,40}\b(?:answer|reply|respond|say|tell|recommend|sudo"
    r"|instructions?|memor(?:y|ies)|share (?:the|all))\b",
    re.IGNORECASE,
)
"""What another one's message would have an assistant do."""
_FENCE: Final = "```"


class PassedOn(NamedTuple):
    """A message that somebody passes on."""

    span: Span
    """Where it stands, with the words that lead it in."""
    quote: Span
    """Where it stands, with its marks."""


def passed_on(text: str) -> Iterator[PassedOn]:
    """The messages of others that a turn passes on, as far as they state something and give no orders.

    Args:
        text: The turn, word for word.
    """
    if PASTED.search(text):
        return
    fences, read = 0, 0
    for found in _LED_IN.finditer(text):
        fences, read = fences + text.count(_FENCE, read, found.start()), found.start()
        lead, quote = found["lead"], found["quote"][1:-1]
        if not _CAME.search(lead) or _OF_NOBODY.search(lead) or _WORKED_ON.search(lead):
            continue
        if fences % 2 or _TO_AN_ASSISTANT.search(quote) or told_to_forget(quote):
            continue
        if says_enough(quote) and not is_order(quote) and not only_asks(quote):
            yield PassedOn(found.span(), found.span("quote"))
