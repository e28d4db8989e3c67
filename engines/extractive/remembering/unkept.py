"""Reads what a user says is not to be kept in a message: all of it, a part, or what they said before it."""

import re
from typing import Final, NamedTuple

from agentic_memory_bank.engines.extractive.remembering.telling import Telling
from agentic_memory_bank.engines.extractive.remembering.wishes import wish_in
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.sentences import sentences

_ASKED: Final = lazy_pattern(
    r"\b(?:don'?t|do not|please not|never) (?:please |ever |even )?(?:save|store|remember|memori[sz]e|record|log|note"
    r"|write|hold on|hold onto|hang on)\b|\b(?:don'?t|do not) keep (?:any of |none of )?(?:that|this)\b"
    r"|\bbetween (?:us|you and me|the two of us)\b|\boff the record\b"
    r"|(?:别|別|不要|不许|唔好|莫)再?(?:[帮幫给給]我)?(?:往[下里])?(?:记|記|留存|保存)",
    re.IGNORECASE,
)
"""How somebody asks for it: "no need to note it" is a courtesy, and "don't keep it" is said of dogs, too."""
_ANNOUNCES: Final = lazy_pattern(
    r"\b(?:need to vent|venting|secret|between us|tell (?:you|u) something)\b|跟你[说讲]个|秘密|悄悄话", re.IGNORECASE
)
"""What tells that all that follows is meant."""
_OFFERS: Final = lazy_pattern(
    r"\b(?:save|note|keep|record|remember|store|log|write)\b[^?]{0,80}\?\W*\Z|[记存留記][^？?]{0,20}[？?]\W*\Z",
    re.IGNORECASE,
)
"""How an assistant offers to keep something: "no, don't save it" is an answer to that."""
_POINTS_BACK: Final = lazy_pattern(r"\b(?:that|it)\b|[那刚]", re.IGNORECASE)
_MANNERS: Final = (
    r"(?:(?:thanks?(?: you)?|actually|but|and|so|ok(?:ay)?|sorry|hey|well|please|pls|(?:could|can|would) you"
    r"|[你您请就也])\W*)*"
)
_OPENS: Final = lazy_pattern(rf"\W*{_MANNERS}", re.IGNORECASE)
_REASON: Final = lazy_pattern(rf"{_MANNERS}(?:i (?:had|only|just|was|wanted) .*)?", re.IGNORECASE)
"""What is said beside "don't keep that" that tells nothing: manners, and why it was said."""


class NotKept(NamedTuple):
    """A message that says that something is not to be kept."""

    rest: str
    """What it tells besides, to be kept as ever; empty for nothing."""
    takes_last: bool
    """Whether what its user said last is meant."""


def not_kept_in(text: str) -> NotKept | None:
    """What a message says is not to be kept; None for any other message.

    Where it holds a credential or a personal number, that is meant, which is left out of everything that is kept.

    Args:
        text: What a user says.
    """
    told = _told(text)
    if told is None:
        return None
    behind = _behind(text)
    rest = behind or ("" if _ANNOUNCES.search(text) else told.after)
    return NotKept(rest, bool(behind) or _says_nothing_else(text, told))


def offers_to_keep(text: str) -> bool:
    """Whether an assistant asks whether to keep something."""
    return _OFFERS.search(text) is not None


def _asked(text: str) -> re.Match[str] | None:
    return _ASKED.search(text.replace("’", "'"))


def _told(text: str) -> Telling | None:
    """The wish of a message that what is told is not to be kept; None for none, or where a number is meant."""
    if secrets_in(text) or (wish := wish_in(text)) is None:
        return None
    told = wish.telling
    is_asked = told.is_aside or _asked(text) is not None
    return told if told.kind == "this" and told.is_sure and is_asked else None


def _behind(text: str) -> str:
    """What a message tells behind a first sentence that only says "don't keep that", of what was said before."""
    spans = sentences(text)
    if len(spans) < 2:
        return ""
    first, rest = text[slice(*spans[0])], text[spans[1][0] :]
    told = _told(first)
    return rest if told is not None and not told.rest and _POINTS_BACK.search(first) else ""


def _says_nothing_else(text: str, told: Telling) -> bool:
    """Whether a message only says that something is not to be kept, and perhaps why it was said."""
    asked = _asked(text)
    opens = asked is not None and _OPENS.fullmatch(text, 0, asked.start())
    return (not told.rest or bool(opens)) and _REASON.fullmatch(told.rest) is not None
