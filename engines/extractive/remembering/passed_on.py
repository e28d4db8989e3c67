"""Finds what somebody passes on of another's message: "what the venue sent me: …", 群里的通知：「…」.

A quotation is mostly material to work on, and states nothing of whoever pastes it. What is led in as a message that
came to them does: it is kept in its own words, with the words that lead it in, so that nobody takes it for theirs.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.remembering.statements import only_asks, says_enough
from agentic_memory_bank.engines.own_words import PASTED, is_order
from agentic_memory_bank.tools.text.spans import Span

LONGEST: Final = 600
"""Characters of a message; a longer one is a text."""

_LED_IN: Final = re.compile(
    r"(?<![^\n:：。.!?！？])(?P<lead>[^\n:：。.!?！？]{4,80}+)(?:[:：][ \t]*+(?:\n[ \t]*+)?|\n[ \t]*+)"
    r"(?P<quote>\"[^\"]{12,600}\"|“[^”]{6,600}”|「[^」]{6,600}」|『[^』]{6,600}』"
    r"|(?:>[^\n>]{11,300}+(?:\n|\Z)){1,8}+)"
)
_CAME: Final = re.compile(
    r"\A\W*from (?:the |my |our )?\w|\b(?:sent|s[ae]ys|said|wrote|writes|posted|texted|emailed|messaged"
    r"|e?-?mail(?: from)?|message|letter|text|notice|note|reply|replied|announce(?:d|ment)|forward(?:ed|ing)?|fwd"
    r"|circular|whatsapp|reads as follows|pasted?|pasting|booking|confirmation|came|got this"
    r"|(?:keep|hold|save|copy|store) (?:it|this|that|the|these))"
    r" ?(?:me|us|from|to me|this|back|is|that)?\b"
    r"|发(?:来|的|给|了)|通知|消息|短信|公告|来信|邮件|回复|群里|留言|转发|原文|原话|粘贴?|贴(?:给|一下|过来)|存一?下|记一?下",
    re.IGNORECASE,
)
"""How somebody says that a message came to them."""


_OF_NOBODY: Final = re.compile(
    r"^\W*+(?:(?:he|she|they|it|someone|somebody)\b(?!.*\b(?:me|us)\b)|(?:他|她|它|有人)(?!.*我))", re.IGNORECASE
)
"""A lead that names no sender and does not say that it came to the user: a quotation."""


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
    for found in _LED_IN.finditer(text):
        quote = found["quote"][1:-1]
        if not _CAME.search(found["lead"]) or _OF_NOBODY.search(found["lead"]):
            continue
        if says_enough(quote) and not is_order(quote) and not only_asks(quote):
            yield PassedOn(found.span(), found.span("quote"))
