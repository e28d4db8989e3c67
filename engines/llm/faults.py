"""What went wrong with a request: may it be sent again, after how long, and what does a person have to mend?"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final

RETRIED: Final = frozenset({408, 409, 425, 429})
"""Statuses under 500 that may be gone with the next try."""

_QUOTA: Final = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "insufficient balance",
    "exceeded your current quota",
)
_TOO_LONG: Final = ("context_length_exceeded", "maximum context length", "context window", "too many tokens")
_RUNG_WORDS: Final = {
    "json_schema": ("response_format", "json_schema", "structured output"),
    "function_calling": ("tool_choice", "tools", "tool call", "function call", "functions", "function_call"),
    "json_mode": ("response_format", "json_object", "json mode"),
}
_ADVICE: Final = {
    400: "The server refused the request; check the model's name and the settings of the role.",
    401: "Check the key in {key}.",
    402: "The account behind {key} is out of credit.",
    403: "The key in {key} may not use this model.",
    404: "The server does not have this model; check its name, and {address}.",
}


@dataclass(frozen=True, slots=True)
class Fault:
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


def fault_of(error: Exception, rung: str) -> Fault:
    """Classify what a client raised.

    Args:
        error: Of the client, whichever it is: status and headers are looked for where the usual ones have them.
        rung: The form of structured output that was asked for.
    """
    status = _status(error)
    text = _text(error)
    if status is None:
        return _unanswered(error)
    if status in (400, 404, 405, 415, 422, 501) and any(word in text for word in _RUNG_WORDS.get(rung, ())):
        return Fault(f"status {status}", refuses=True)
    if status in (400, 413, 422) and any(word in text for word in _TOO_LONG):
        return Fault("the prompt is longer than the model's window. Lower MEMORY_BANK_{role}_WINDOW.", is_final=True)
    if status == 400 and "content_filter" in text:
        return Fault("the prompt was held back by the server's content filter.", is_final=True)
    if any(word in text for word in _QUOTA):
        return Fault(f"status {status}, the quota is used up. {_ADVICE[402]}", is_final=True, is_general=True)
    if status in RETRIED or status >= 500:
        return Fault(f"status {status}.", wait=_wait(error))
    return Fault(f"status {status}. {_ADVICE.get(status, _ADVICE[400])}", is_final=True, is_general=True)


def _unanswered(error: Exception) -> Fault:
    """No status: the connection failed, or the answer was none that the client could read."""
    kind = type(error).__name__
    if "Length" in kind:
        return Fault("the answer was cut off. Raise MEMORY_BANK_{role}_OUTPUT.")
    if "ContentFilter" in kind:
        return Fault("the answer was held back by the server's content filter.")
    if "Timeout" in kind:
        return Fault("no complete answer in time. Raise MEMORY_BANK_{role}_TIMEOUT.")
    if "Connection" in kind or isinstance(error, OSError):
        return Fault("the server could not be reached, or closed the connection. Check {address}.")
    return Fault(f"the answer could not be read ({kind}).")


def _status(error: Exception) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
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
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
