"""What went wrong with a request: may it be sent again, after how long, and what does a person have to mend?"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, Final

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

RETRIED: Final = frozenset({408, 409, 425, 429})
"""Statuses under 500 that may be gone with the next try."""

_FIRST_REFUSAL: Final = 400
_QUOTA: Final = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "insufficient balance",
    "exceeded your current quota",
)
_TOO_LONG: Final = (
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "context size",
    "too many tokens",
)
_MODE_WORDS: Final = {
    "json_schema": ("response_format", "json_schema", "structured output"),
    "function_calling": ("tool_choice", "tool choice", "tools", "tool call", "tool-call", "tool use", "functions")
    + ("function call", "function_call"),
    "json_mode": ("response_format", "json_object", "json mode"),
}
_PICTURE_WORDS: Final = ("image", "vision", "multimodal", "mmproj")
_ADVICE: Final = {
    400: "The server refused the request; check {model} and the settings MEMORY_BANK_{role}_*.",
    401: "Check the key in {key}.",
    402: "The account behind {key} is out of credit.",
    403: "The key in {key} may not use this model.",
    404: "The server does not have this model; check {model} and {address}.",
}


@dataclass(frozen=True, slots=True)
class ModelFault:
    """Why a request failed, in our own words: what a provider writes may hold keys and never goes further."""

    reason: str
    is_final: bool = False
    """A further try of this request cannot help."""
    is_general: bool = False
    """No request can be served until a person has mended something."""
    wait: float | None = None
    """Seconds that the server asked to wait."""
    refuses: bool = False
    """The server does not take this form of structured output."""


def fault_of(error: Exception, mode: str) -> ModelFault:
    """Classify what a client raised.

    Args:
        error: Error of any client; status and headers are looked for where the usual ones have them.
        mode: The form of structured output that was asked for.
    """
    error = _cause(error)
    if isinstance(error, NotImplementedError) and mode in _MODE_WORDS:
        return ModelFault("the client does not know this form of request.", refuses=True)
    status = _status(error)
    text = _text(error)
    if status is None:
        return _unanswered(error)
    if status in (400, 404, 405, 415, 422, 501) and any(word in text for word in _MODE_WORDS.get(mode, ())):
        return ModelFault(f"status {status}", refuses=True)
    if status in (400, 413, 422) and any(word in text for word in _TOO_LONG):
        return ModelFault(
            "the prompt is longer than the model's window. Lower MEMORY_BANK_{role}_WINDOW.", is_final=True
        )
    if status == 400 and "content_filter" in text:
        return ModelFault("the prompt was held back by the server's content filter.", is_final=True)
    if any(word in text for word in _QUOTA):
        return ModelFault(f"status {status}, the quota is used up. {_ADVICE[402]}", is_final=True, is_general=True)
    if status in RETRIED or status >= 500:
        return ModelFault(f"status {status}.", wait=_wait(error))
    return ModelFault(f"status {status}. {_ADVICE.get(status, _ADVICE[400])}", is_final=True, is_general=True)


def sightless(error: Exception, mode: str) -> ModelFault:
    """As `fault_of`, for a question with a picture: a server that refuses it may answer every other question."""
    error = _cause(error)
    fault, status = fault_of(error, mode), _status(error)
    names_pictures = status in (404, 500, 501) and any(word in _text(error) for word in _PICTURE_WORDS)
    if fault.refuses or not (names_pictures or (fault.is_general and status in (400, 413, 415, 422))):
        return fault
    said = f"status {status}: the model takes no pictures, or none like this. Choose one that sees; check {{model}}."
    return ModelFault(said, is_final=True)


def _cause(error: Exception) -> Exception:
    """LangChain warns of a refusal, and where warnings are errors that hides it."""
    return error.__context__ if isinstance(error, Warning) and isinstance(error.__context__, Exception) else error


def _unanswered(error: Exception) -> ModelFault:
    """No status: the connection failed, or the answer was none that the client could read."""
    kind = type(error).__name__
    if "ContentFilter" in kind:
        return ModelFault("the answer was held back by the server's content filter.")
    if "Timeout" in kind:
        return ModelFault("no complete answer in time. Raise MEMORY_BANK_{role}_TIMEOUT.")
    if "Connection" in kind or isinstance(error, OSError):
        return ModelFault("the server could not be reached, or closed the connection. Check {address}.")
    return ModelFault(f"the answer could not be read ({kind}).")


def broken_off(error: Exception) -> AIMessage | None:
    """The answer that a client read and raised over, because it was cut off: it was paid for all the same."""
    completion: Any = getattr(error, "completion", None)
    if not getattr(completion, "choices", None):
        return None
    choice, usage = completion.choices[0], getattr(completion, "usage", None)
    tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else None
    return AIMessage(
        choice.message.content or "",
        response_metadata={"finish_reason": choice.finish_reason},
        usage_metadata=tokens
        and UsageMetadata(input_tokens=tokens[0], output_tokens=tokens[1], total_tokens=sum(tokens)),
    )


def _status(error: Exception) -> int | None:
    """The status with which a server refused; an answer that came with 200 and could not be read has none."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and status >= _FIRST_REFUSAL:
                return status
    return None


def _text(error: Exception) -> str:
    """What the server wrote, small letters; looked at only, never passed on."""
    return f"{getattr(error, 'code', '')} {getattr(error, 'param', '')} {error}".casefold()


def _wait(error: Exception) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if isinstance(headers, Mapping) or hasattr(headers, "get") else None
    if not value:
        return None
    with suppress(ValueError):
        seconds = float(value)
        return max(0.0, seconds) if isfinite(seconds) else None
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
