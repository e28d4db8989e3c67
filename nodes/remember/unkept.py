"""Leaves out of a conversation what its user says is not to be kept: "don't hold on to that", said of what was told."""

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agentic_memory_bank.engines.extractive.forgetting import Telling, wish_in
from agentic_memory_bank.nodes.messages import is_of_user, text_of
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.sentences import sentences

_ASKED = lazy_pattern(
    r"\b(?:don'?t|do not|please not|never) (?:please |ever |even )?(?:save|store|remember|memori[sz]e|record|log|note"
    r"|write|hold on|hold onto|hang on)\b|\b(?:don'?t|do not) keep (?:any of |none of )?(?:that|this)\b"
    r"|\bbetween (?:us|you and me|the two of us)\b|\boff the record\b"
    r"|(?:别|別|不要|不许|唔好|莫)再?(?:[帮幫给給]我)?(?:往[下里])?(?:记|記|留存|保存)",
    re.IGNORECASE,
)
"""How somebody asks for it: "no need to note it" is a courtesy, and "don't keep it" is said of dogs, too."""
_ANNOUNCES = lazy_pattern(
    r"\b(?:need to vent|venting|secret|between us|tell (?:you|u) something)\b|跟你[说讲]个|秘密|悄悄话", re.IGNORECASE
)
"""What tells that all that follows is meant."""
_OFFERS = lazy_pattern(
    r"\b(?:save|note|keep|record|remember|store|log|write)\b[^?]{0,80}\?\W*\Z|[记存留記][^？?]{0,20}[？?]\W*\Z",
    re.IGNORECASE,
)
"""How an assistant offers to keep something: "no, don't save it" is an answer to that."""
_POINTS_BACK = lazy_pattern(r"\b(?:that|it)\b|[那刚]", re.IGNORECASE)
_MANNERS = (
    r"(?:(?:thanks?(?: you)?|actually|but|and|so|ok(?:ay)?|sorry|hey|well|please|pls|(?:could|can|would) you"
    r"|[你您请就也])\W*)*"
)
_OPENS = lazy_pattern(rf"\W*{_MANNERS}", re.IGNORECASE)
_REASON = lazy_pattern(rf"{_MANNERS}(?:i (?:had|only|just|was|wanted) .*)?", re.IGNORECASE)
"""What is said beside "don't keep that" that tells nothing: manners, and why it was said."""


def without_unkept(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Messages without those that are to be kept nowhere, and what the assistant answers to them.

    Of a message that goes on to other things the rest stays; one that only says "don't keep that" takes what its
    user said before it along, as far as that was handed over with it. Where a message holds a credential or a personal
    number, that is meant, which is left out of everything that is kept anyway.

    Args:
        messages: As `checked_messages` gives them.
    """
    kept: list[BaseMessage] = []
    is_answer = False
    for message in messages:
        if isinstance(message, AIMessage) and is_answer:
            continue
        is_answer = is_answer and not isinstance(message, HumanMessage)
        words = text_of(message) if is_of_user(message) else ""
        wish = _wish(words)
        if wish is None:
            kept.append(message)
            continue
        is_answer = True
        rest = _behind(words)
        if (rest or _says_nothing_else(words, wish)) and not (kept and _is_offer(kept[-1])):
            del kept[_said_last(kept) :]
        if told := rest or (wish.after if not _ANNOUNCES.search(words) else ""):
            kept.append(message.model_copy(update={"content": told}))
    return kept


def _wish(words: str) -> Telling | None:
    """The wish of a message that what is told is not to be kept; None for none, or where a number is meant."""
    if not words or not _ASKED.search(words.replace("’", "'")) or secrets_in(words):
        return None
    wish = wish_in(words)
    is_meant = wish is not None and wish.telling.kind == "this" and wish.telling.is_sure
    return wish.telling if wish is not None and is_meant else None


def _behind(words: str) -> str:
    """What a message tells behind a first sentence that only says "don't keep that", of what was said before."""
    spans = sentences(words)
    if len(spans) < 2:
        return ""
    first, rest = words[slice(*spans[0])], words[spans[1][0] :]
    wish = _wish(first)
    return rest if wish is not None and not wish.rest and _POINTS_BACK.search(first) else ""


def _says_nothing_else(words: str, wish: Telling) -> bool:
    """Whether a message only says that something is not to be kept, and perhaps why it was said."""
    asked = _ASKED.search(words.replace("’", "'"))
    opens = asked is not None and _OPENS.fullmatch(words, 0, asked.start())
    return (not wish.rest or bool(opens)) and _REASON.fullmatch(wish.rest) is not None


def _is_offer(message: BaseMessage) -> bool:
    """Whether the assistant has just offered to keep something."""
    return isinstance(message, AIMessage) and _OFFERS.search(text_of(message)) is not None


def _said_last(messages: Sequence[BaseMessage]) -> int:
    """Where the last thing that the user said begins; the end where they said nothing."""
    said = (place for place in range(len(messages) - 1, -1, -1) if is_of_user(messages[place]))
    return next(said, len(messages))
