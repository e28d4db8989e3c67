"""Answers for an agent that had to end before it answered: its last words, and quotes of what its tools found."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from agentic_memory_bank.engines.extractive.responder import quoted_from
from agentic_memory_bank.nodes.messages import RECALLED, text_of
from agentic_memory_bank.nodes.react_mem import steps
from agentic_memory_bank.tools.text.cleaning import clean, is_cjk

READ: Final = 40_000
"""Characters of results that are searched for what answers, the latest first."""
QUOTES: Final = 3
"""How many are shown at most."""
GIST: Final = 300
"""Characters of a result of which no sentence fits the question."""

_WORDS: Final = {
    "found": (
        "I had to stop before I came to an answer. What was found until then:",
        "在得出答案之前我不得不停下。到那时为止找到的内容：",
    ),
    "nothing": (
        "I had to stop before I came to an answer, and nothing was found until then.",
        "在得出答案之前我不得不停下，到那时为止什么也没有找到。",
    ),
}
"""What is said, in English and in Chinese."""


class _Found(NamedTuple):
    tool: str
    text: str


def answer_from_results(messages: Sequence[AnyMessage]) -> AIMessage:
    """Make the answer of an agent that had to end; no facts are extracted from it."""
    asked = steps.split(messages)
    question = text_of(asked.question) if asked.question else ""
    done = [message for exchange in asked.exchanges for message in exchange]
    lines = [*_last_words(done), *_quoted(question, _results(done))]
    opening = _WORDS["found" if lines else "nothing"][is_cjk(question)]
    return AIMessage("\n".join([opening, *lines]), additional_kwargs={RECALLED: True})


def has_found(messages: Sequence[AnyMessage]) -> bool:
    """Whether there is anything to answer from."""
    return bool(_results([message for exchange in steps.split(messages).exchanges for message in exchange]))


def _last_words(done: Sequence[BaseMessage]) -> list[str]:
    spoken = (text_of(message) for message in reversed(done) if isinstance(message, AIMessage))
    return [words for words in spoken if words.strip()][:1]


def _results(done: Sequence[BaseMessage]) -> list[_Found]:
    """What tools brought, the latest first."""
    found, left = list[_Found](), READ
    for message in reversed(done):
        is_result = isinstance(message, ToolMessage) and message.status != "error" and message.name != steps.STORE_FACT
        text = clean(message.text[:left]).strip() if is_result else ""
        if text:
            found.append(_Found(message.name or "tool", text))
            left -= len(text)
    return found


def _quoted(question: str, results: Sequence[_Found]) -> list[str]:
    quotes = quoted_from(question, [one.text for one in results], QUOTES)
    chosen = [_Found((one := results[place]).tool, one.text[slice(*span)].strip()) for place, span in quotes]
    shown = chosen or [_Found(one.tool, steps.gist(one.text, GIST)) for one in results[:QUOTES]]
    return [f"- {one.tool}: {one.text}" for one in shown]
