"""Marks what is not kept of a conversation: what told the memory to forget or to be switched, and the answers."""

from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agentic_memory_bank.engines.extractive.forgetting import (
    Wish,
    is_no,
    is_yes,
    subjects_of,
    told_to_switch,
    wish_in,
    without,
)
from agentic_memory_bank.nodes.messages import RECALLED, TOLD, text_of
from agentic_memory_bank.prompts import forgetting
from agentic_memory_bank.tools.text.terms import tokenize


def requests_marked(messages: Sequence[AnyMessage], last: HumanMessage) -> Iterator[AnyMessage]:
    """Earlier requests with their answers, marked: whoever hands a conversation over again knows no marks."""
    is_answered = is_asked = False
    for place, message in enumerate(messages):
        if message is last:
            return
        if isinstance(message, AIMessage):
            if is_answered and not message.additional_kwargs.get(RECALLED):
                yield marked(message)
            is_asked = is_answered and message.text.rstrip().endswith(("?", "？"))
        elif isinstance(message, HumanMessage):
            words, after = text_of(message), messages[place + 1 : place + 3]
            is_open = any(isinstance(one, AIMessage) and forgetting.asks_back(one.text) for one in after[:1])
            is_reply, wish = is_asked and (is_yes(words) or is_no(words)), wish_in(words)
            is_switch = (switching := told_to_switch(words)) is not None and not switching.is_back
            is_answered = is_reply or is_switch or is_open or (wish is not None and wish.telling.is_sure)
            is_plain = is_reply or is_switch or (wish is not None and wish.telling.is_plain)
            is_kept = not is_plain and not any(is_yes(text_of(one)) for one in after[1:])
            if is_answered and not is_kept and not message.additional_kwargs.get(RECALLED):
                yield (_news(message, wish, is_open=is_open) if wish else None) or marked(message)


def kept_of(message: HumanMessage, wish: Wish, *, is_open: bool) -> HumanMessage | None:
    """What is kept of a message with a wish; what may be none is kept as it was said until a yes says that it was."""
    return _news(message, wish, is_open=is_open) if wish.telling.is_plain else message


def _news(message: HumanMessage, wish: Wish, *, is_open: bool) -> HumanMessage | None:
    """What a message tells beside a wish, as a message of its own; None for nothing.

    Args:
        is_open: Whether it was asked back: what it tells of the thing itself goes with it, or stays with it.
    """
    news = wish.news if is_open or not wish.news else without(wish.news, subjects_of(wish.words))
    return message.model_copy(update={"content": news}) if tokenize(news) else None


def marked(message: AnyMessage) -> AnyMessage:
    """A message that is shown to no model, and never kept."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, RECALLED: True, TOLD: True}})
