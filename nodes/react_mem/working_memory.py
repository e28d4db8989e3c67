"""Keeps the working memory of an agent within its threshold: the last steps word for word, the older ones in few words.

Nothing is taken out of the agent's own messages. What is shown in few words, or as an excerpt, has an id under which
`deep_retrieval` reads it whole.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage

from agentic_memory_bank.nodes import agent_messages
from agentic_memory_bank.nodes.agent_messages import Exchange, Limits
from agentic_memory_bank.nodes.react_mem import steps
from agentic_memory_bank.state.react_mem import Condensed
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.text.tokens import estimate_tokens

CLIP: Final = 20
"""Characters for each token of the threshold: so much of a text tells whether it passes, unless it is blank."""
CONDENSED_SHARE: Final = 0.3
"""Share of the threshold that the older steps take in few words."""
NEWER_SHARE: Final = 0.7
"""Share of that for the newer ones among them, each with what it found; the others are shown shorter."""
LONG_LINE: Final = (120, 220)
"""Characters of arguments and of results in a line of the newer ones."""
SHORT_LINE: Final = (50, 60)
"""The same of the others."""
DECISION: Final = 160
"""Characters of what the agent said to a step."""
COUNT_TOKENS: Final = 70
"""What the line takes that counts the oldest steps."""


class ShownSteps(NamedTuple):
    """What is shown of the steps of an invocation."""

    condensed: str
    """The older ones in few words; empty where all are shown."""
    messages: list[AnyMessage]
    """The others, in whole exchanges."""
    is_cut: bool
    """Whether anything is not shown word for word."""


def threshold(settings: Settings) -> int:
    """Tokens of steps from which the older ones are condensed."""
    if settings.working_memory_tokens is not None or settings.working_memory_share is None:
        return settings.working_memory_tokens or 2_000
    return max(200, int(settings.working_memory_share * settings.role("react").window))


def is_over(exchanges: Sequence[Exchange], settings: Settings) -> bool:
    """Whether the steps pass the threshold."""
    return not _fits(exchanges, threshold(settings))


def fitted(exchanges: Sequence[Exchange], settings: Settings, id: str, told: Condensed | None = None) -> ShownSteps:
    """What is shown of the steps.

    Args:
        exchanges: All of them, oldest first.
        settings: Say how much is shown.
        id: Names the invocation: under it all steps are listed.
        told: What a model made of the first of them.
    """
    most = threshold(settings)
    told = told if told and told["invocation"] == id and told["steps"] <= len(exchanges) else None
    if told:
        rest, spoken = exchanges[told["steps"] :], estimate_tokens(told["text"])
        if _fits(rest, most - spoken):
            return ShownSteps(told["text"], _flat(rest), True)
    elif not is_over(exchanges, settings):
        return ShownSteps("", _flat(exchanges), False)
    last = _last(exchanges, most - int(CONDENSED_SHARE * most), settings.keep_steps)
    older = exchanges[: len(exchanges) - len(last.exchanges)]
    room = max(int(CONDENSED_SHARE * most), most - sum(map(agent_messages.total, last.exchanges)))
    return ShownSteps(condensed(older, min(room, most // 2), id), _flat(last.exchanges), bool(older) or last.is_cut)


def condensed(older: Sequence[Exchange], room: int, id: str) -> str:
    """Steps in few words, by rule: tool, arguments, what it found, figures, identifiers, decisions.

    Args:
        older: The steps, oldest first.
        room: Tokens for all of them: the newer they are the more is said; the oldest are counted.
        id: Under which all are listed.
    """
    if not older:
        return ""
    left = room - COUNT_TOKENS
    lines: list[str] = []
    for number in range(len(older), 0, -1):
        is_newer = left > room * (1 - NEWER_SHARE)
        text = _line(number, older[number - 1], *(LONG_LINE if is_newer else SHORT_LINE))
        cost = estimate_tokens(text) + 1
        if cost > left:
            return "\n".join([_counted(older[:number], id), *reversed(lines)])
        left -= cost
        lines.append(text)
    return "\n".join(reversed(lines))


def listed(exchanges: Sequence[Exchange]) -> str:
    """All steps of an invocation, a line each, with the ids under which they are read."""
    return "\n".join(_line(number, exchange, *LONG_LINE) for number, exchange in enumerate(exchanges, 1))


def _line(number: int, exchange: Exchange, arguments: int, found: int) -> str:
    said = " ".join(steps.spoken(exchange).split())[: DECISION if found == LONG_LINE[1] else 0]
    parts = [_call(call, arguments, found) for call in steps.called(exchange)]
    return f"{number}. " + " | ".join(part for part in (said, *parts) if part)


def _call(call: steps.ToolCallResult, arguments: int, found: int) -> str:
    named = f"[{call.id}] " if call.id else ""
    verb = "FAILED: " if call.failed else ""
    return f"{named}{call.tool}({steps.gist(call.arguments, arguments)}) → {verb}{steps.gist(call.result, found)}"


def _counted(oldest: Sequence[Exchange], id: str) -> str:
    """The oldest steps as numbers."""
    made = steps.actions(oldest)
    counted = [f"{tool} x{times}" for tool, times in Counter(call.tool for call in made).most_common(4)]
    failed = sum(call.failed for call in made)
    what = ", ".join([*counted, *([f"{failed} of them failed"] if failed else [])]) or "nothing was called"
    return f"Steps 1 to {len(oldest)}: {what}. deep_retrieval with node_id {id} lists them."


class _Last(NamedTuple):
    exchanges: list[Exchange]
    is_cut: bool


def _last(exchanges: Sequence[Exchange], room: int, keep: int) -> _Last:
    """As many of the last steps as fit word for word, at most so many; one in any case, then as an excerpt."""
    for count in range(min(keep, len(exchanges)), 0, -1):
        last = list(exchanges[-count:])
        if _fits(last, room):
            return _Last(last, False)
    last = exchanges[-1]
    calls = agent_messages.calls_of(last)
    limits = Limits(room, room, 1)
    shown = agent_messages.fit(last, room, limits, lambda m: steps.id_of(m, calls))
    if shown is None:  # so many calls at once that not even their names fit: they are never parted from the results
        shown = [agent_messages.excerpted(m, limits.shrunk(agent_messages.BARE), steps.id_of(m, calls)) for m in last]
    return _Last([list(shown)], True)


def _fits(exchanges: Sequence[Exchange], room: int) -> bool:
    """Whether there is room for steps; a text of megabytes is not counted to its end to see that there is none."""
    for exchange in exchanges:
        cost = agent_messages.total([_clipped(message, room) for message in exchange])
        is_long = any(len(message.text) > CLIP * max(room, 1) for message in exchange)
        room -= agent_messages.total(exchange) if is_long and cost <= room else cost
        if room < 0:
            return False
    return room >= 0


def _clipped(message: BaseMessage, room: int) -> BaseMessage:
    text, most = message.content, CLIP * max(room, 1)
    return (
        message.model_copy(update={"content": text[:most]}) if isinstance(text, str) and len(text) > most else message
    )


def _flat(exchanges: Sequence[Exchange]) -> list[Any]:
    return [message for exchange in exchanges for message in exchange]
