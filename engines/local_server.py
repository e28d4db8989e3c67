"""Asks the server of a `local:` model what it can do: its models, how long a context, how many requests at once."""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from agentic_memory_bank.engines.providers import PROVIDERS
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.model_table import LOCAL, ServerLimits, note_limits

REMEMBERED: Final = 600.0
"""Seconds for which an answer holds; a server may be started anew with another model."""
UNANSWERED: Final = 60.0
"""Seconds for which a server that says nothing is not asked again."""
WAIT_SECONDS: Final = 5.0
"""How long others wait while one asks for the first time."""
_CONTEXTS: Final = ("n_ctx", "max_model_len", "loaded_context_length", "context_length", "context_window")
"""Where llama.cpp, vLLM, LM Studio, Ollama and others say how much a model takes."""
_LEAST: Final = 64

_ASKED: dict[tuple[str, str], float] = {}
"""Until when the answer of a model and address holds."""
_FIRST: dict[tuple[str, str], threading.Event] = {}
"""Set when a model and address were asked for the first time; until then nothing is known, and it is waited for."""
_LOCK: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class ServerReport:
    """What a server says of a model.

    Attributes:
        answers: Whether it says which models it has.
        models: Their names.
        limits: What it can do with this one.
    """

    answers: bool
    models: tuple[str, ...]
    limits: ServerLimits


def learn_limits(model: str) -> None:
    """Have the table of models keep to what the server of a model can do; asked once in a while, by one of all callers.

    Only the first time it is waited for: later, what was learnt holds until the server has answered again.
    """
    if not model.startswith(LOCAL):
        return
    provider = PROVIDERS[LOCAL[:-1]]
    key = model, os.environ.get(provider.address) or provider.default_address
    with _LOCK:
        is_due = time.monotonic() >= _ASKED.get(key, 0.0)
        if is_due:
            _ASKED[key] = time.monotonic() + UNANSWERED
        is_first = is_due and key not in _FIRST
        known = _FIRST.setdefault(key, threading.Event())
    if is_first:
        _learn(key)
    elif is_due:
        threading.Thread(target=_learn_again, args=(key,), name="memories-limits", daemon=True).start()
    else:
        known.wait(WAIT_SECONDS)


def _learn_again(key: tuple[str, str]) -> None:
    with suppress(SettingsError):  # who makes the client says so
        _learn(key)


def _learn(key: tuple[str, str]) -> None:
    try:
        found = report_of(key[0])
        with _LOCK:
            _ASKED[key] = time.monotonic() + (REMEMBERED if found.answers else UNANSWERED)
        if found.answers:
            note_limits(key[0], found.limits)
    finally:
        _FIRST[key].set()


def report_of(model: str) -> ServerReport:
    """Ask the server of a model.

    Raises:
        SettingsError: Its address cannot be used.
    """
    from agentic_memory_bank.engines.openai_client import look_up

    name = model.removeprefix(LOCAL)
    (listed,) = look_up(model, ["models"])
    known = [entry for entry in _entries(listed) if isinstance(entry.get("id"), str)]
    mine = [entry for entry in known if entry["id"] == name] or (known if len(known) == 1 else [])
    owner = str(mine[0].get("owned_by", "")) if mine else ""
    context, slots = next((found for entry in mine if (found := _context(entry))), None), None
    if owner == "llamacpp":
        (props,) = look_up(model, ["/props"])
        slots = _number(props, "total_slots")
    elif owner == "library":  # Ollama says it of the models it has loaded
        (loaded,) = look_up(model, ["/api/ps"])
        running = loaded.get("models") if isinstance(loaded, dict) else None
        held = [entry for entry in _entries({"data": running}) if name in (entry.get("name"), entry.get("model"))]
        context = next((found for entry in held if (found := _context(entry))), None)
    return ServerReport(isinstance(listed, dict), tuple(entry["id"] for entry in known), ServerLimits(context, slots))


def _entries(listed: Any) -> list[Mapping[str, Any]]:
    data = cast("dict[str, Any]", listed).get("data") if isinstance(listed, dict) else None
    return [entry for entry in cast("list[Any]", data) if isinstance(entry, dict)] if isinstance(data, list) else []


def _context(entry: Mapping[str, Any]) -> int | None:
    inner = entry.get("meta")
    return next(_contexts(entry), None) or (next(_contexts(inner), None) if isinstance(inner, dict) else None)


def _contexts(entry: Mapping[str, Any]) -> Iterator[int]:
    yield from (found for name in _CONTEXTS if (found := _number(entry, name)))


def _number(entry: Any, name: str) -> int | None:
    value: Any = cast("dict[str, Any]", entry).get(name) if isinstance(entry, dict) else None
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if value >= (_LEAST if name in _CONTEXTS else 1) else None
