"""Reads the steps of an agent: what was called, what came of it, what failed, and what must stay in few words."""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from agentic_memory_bank.nodes import agent_messages
from agentic_memory_bank.nodes.agent_messages import Exchange, as_json
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.nodes.messages import RECALLED, is_of_user, text_of
from agentic_memory_bank.nodes.transcripts import OWN_TOOLS
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.patterns import lazy_pattern

STORE_FACT: Final = "store_fact"
MEMORY_TOOLS: Final = OWN_TOOLS | {"retrieve_facts", "recall_episodes", STORE_FACT}
"""Tools of ours: what they return is known already, and calling them is no action."""

LONGEST_WORD: Final = 30
"""Characters; where no space is so near, nothing is lost by cutting anywhere: the text is Chinese, or no prose."""

_FAILED: Final = lazy_pattern(
    r"\W{0,3}(?:\w*error|exception|failed|failure|fatal|traceback|invalid|unknown|denied|forbidden|timed? ?out|timeout"
    r"|not found|no such|cannot|can't|could not|unable|http [45]\d\d|错误|失败|无法|找不到)(?![\w-])",
    re.IGNORECASE,
)
_RUN: Final = lazy_pattern(r"(?:[^\s,;()\[\]{}\"'<>=|`\u2e80-\uffef]|(?<=\d),(?=\d{3})){1,100}")
"""What a figure or an identifier may consist of."""
READ: Final = 20_000
"""Characters of a text that are looked at for its gist; the rest is read by its id."""


class ToolCallResult(NamedTuple):
    """One call of a tool and what came of it."""

    id: str
    """Under which the result is read; empty for none."""
    tool: str
    arguments: str
    result: str
    failed: bool


class Steps(NamedTuple):
    """The messages of an agent around the question it works on."""

    before: list[AnyMessage]
    question: HumanMessage | None
    exchanges: list[Exchange]
    """What it did since."""


def split(messages: Sequence[AnyMessage]) -> Steps:
    """Divide the messages of an agent at the question, or at a summary that stands for it."""
    place = next((i for i in range(len(messages) - 1, -1, -1) if is_of_user(messages[i])), None)
    if place is None:
        return Steps(list(messages), None, [])
    asked = messages[place]
    assert isinstance(asked, HumanMessage)
    return Steps(list(messages[:place]), asked, agent_messages.exchanges(messages[place + 1 :]))


def answered(messages: Sequence[AnyMessage], *, is_structured: bool) -> Sequence[AnyMessage]:
    """The messages of an agent that came to its end, with the result of a last call as its answer.

    Args:
        messages: The messages of the agent.
        is_structured: Whether the last call gives the answer in a given form: it is no action then.
    """
    if not messages or not isinstance(last := messages[-1], ToolMessage):
        return messages
    answer = AIMessage(last.text, additional_kwargs={RECALLED: True})  # what a tool says is nobody's fact
    caller = next((i for i in range(len(messages) - 1, -1, -1) if isinstance(messages[i], AIMessage)), 0)
    return [*(messages[:caller] if is_structured else messages), answer]


def has_media(message: BaseMessage) -> bool:
    """Whether a message holds pictures or other parts that no summary says in words."""
    entry = agent_messages.entry_of(message, {})
    return entry is not None and "content" in entry["metadata"]


def called(exchange: Exchange) -> list[ToolCallResult]:
    """The calls of one exchange with their results; those of our own tools are left out."""
    calls = agent_messages.calls_of(exchange)
    results = {m.tool_call_id: m for m in exchange if isinstance(m, ToolMessage)}
    return [
        _called(call, results.get(str(id)), calls) for id, call in calls.items() if call["name"] not in MEMORY_TOOLS
    ]


def actions(exchanges: Sequence[Exchange]) -> list[ToolCallResult]:
    """All calls, oldest first."""
    return [call for exchange in exchanges for call in called(exchange)]


def spoken(exchange: Exchange) -> str:
    """What the agent said in an exchange, without thoughts."""
    return text_of(exchange[0]) if isinstance(exchange[0], AIMessage) else ""


def final(exchanges: Sequence[Exchange]) -> str:
    """The last words of the agent; empty where it has said none after its last call."""
    last = exchanges[-1][0] if exchanges else None
    return text_of(last) if isinstance(last, AIMessage) and not last.tool_calls else ""


def id_of(message: BaseMessage, calls: agent_messages.Calls) -> str | None:
    """The id under which a message is read; None for what is not kept."""
    entry = agent_messages.entry_of(message, calls)
    return entry["id"] if entry and entry["source"] not in MEMORY_TOOLS else None


def marks(text: str) -> list[str]:
    """The figures and identifiers of a text as they are written, each once, in their order."""
    found = (run.strip(".:!?") for run in _RUN.findall(text))
    return list(dict.fromkeys(run for run in found if any(map(str.isdigit, run))))


def gist(text: str, room: int) -> str:
    """What a text says in so many characters: how it begins, and the figures and identifiers behind that."""
    flat = " ".join(text[:READ].split())
    if len(flat) <= room and len(text) <= READ:
        return flat
    head = flat[: room // 2]
    if (space := head.rfind(" ")) > len(head) - LONGEST_WORD:
        head = head[:space]
    left, kept = room - len(head) - 8, list[str]()
    for mark in marks(flat[len(head) :]):
        if len(mark) + 2 <= left and mark not in head:
            kept.append(mark)
            left -= len(mark) + 2
    return f"{head} ... {', '.join(kept)}".rstrip()


def asked_hash(message: BaseMessage) -> str:
    """By what a question is known when the conversation is handed over again."""
    return digest("asked", " ".join(text_of(message).split()))[:16]


def _called(call: Any, result: ToolMessage | None, calls: agent_messages.Calls) -> ToolCallResult:
    text = clean(result.text) if result else ""
    failed = result is not None and (result.status == "error" or _FAILED.match(text[:200]) is not None)
    id = id_of(result, calls) if result else None
    return ToolCallResult(id or "", str(call["name"]), _arguments(call["args"]), text, failed)


def _arguments(given: Any) -> str:
    if isinstance(given, dict) and len(given) == 1:
        (value,) = given.values()
        return clean(value if isinstance(value, str) else as_json(value))
    if isinstance(given, dict):
        return clean(
            ", ".join(f"{name}={value if isinstance(value, str) else as_json(value)}" for name, value in given.items())
        )
    return clean(as_json(given))
