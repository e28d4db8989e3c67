"""Stage 1, the door: what is asked, on whose behalf, and whether memories are worth a search for this message."""

import time
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, cast

from langgraph.runtime import Runtime

from agentic_memory_bank.engines.conversation import Hints
from agentic_memory_bank.engines.extractive.conversation import asks_for_everything
from agentic_memory_bank.nodes.deps import context_of, owner_of
from agentic_memory_bank.nodes.memory_deps import MemoryDeps, mode_in_time
from agentic_memory_bank.nodes.messages import checked_messages
from agentic_memory_bank.nodes.recall.message import asked_in
from agentic_memory_bank.nodes.recall.overview import MOST_OF_ALL
from agentic_memory_bank.state.conversations import (
    MemoryContext,
    RecallOutcome,
    RecallReceipt,
    RecallRequest,
    RecallState,
    RecallUpdate,
)
from agentic_memory_bank.state.errors import InputError, MemoryBankError
from agentic_memory_bank.tools.memories.validation import checked_filter, checked_limit
from agentic_memory_bank.tools.metrics import RECALLS, count


def gate(state: RecallState, runtime: Runtime[MemoryContext], deps: MemoryDeps) -> RecallUpdate:
    """Take in what is asked, and let through what a memory may help with; in doubt it may.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
        InputError: What was handed in cannot be used.
        SettingsError: A setting has no meaning, or other embeddings are wanted than those of this graph.
    """
    context = context_of(runtime)
    messages = checked_messages(state.get("messages"))
    message = asked_in(messages)
    asked = _asked(state, context, everything=message.turn is not None and asks_for_everything(message.turn.text))
    hints = Hints(context.tool_names, _said(state, "is_fact"), _said(state, "needs_tool"))
    if not context.enable_memory:
        return _closed(asked, "disabled", "")
    owner = owner_of(runtime)
    deps.stores.encoder.check(context)
    if message.turn is None:
        return _closed(asked, "ignored", "empty")
    degraded: list[str] = []
    why = "search"
    try:
        why = deps.engine.gate(message.turn, message.history, hints).why
    except MemoryBankError as error:
        degraded = [f"gate: {type(error).__name__}"]
    if why != "search":
        return _closed(asked, "ignored", why)
    begun = time.monotonic()
    if mode_in_time(deps.stores, runtime.store, owner, context) == "off":
        return _closed(asked, "disabled", "switched off")
    return {**_closed(asked, "missing", "", degraded), "waited": time.monotonic() - begun}


def _asked(state: RecallState, context: MemoryContext, *, everything: bool) -> RecallRequest:
    """What is asked; what was left out has the default of the settings, and None is no default.

    Args:
        everything: Whether all that is known of the user is asked for: of that more is shown.

    Raises:
        InputError: A value has no meaning.
    """
    given = cast("Mapping[str, Any]", state)
    types = given.get("types")
    limit = given.get("limit", max(context.recall_limit, MOST_OF_ALL) if everything else context.recall_limit)
    if types is not None and not isinstance(types, list | tuple | set | frozenset):
        raise InputError(f"The types are a list of types of memories, not {types!r}. Leave them out for all.")
    wanted = checked_filter(context.project, types)
    is_given = "threshold" in given
    threshold = given.get("threshold", context.recall_threshold)
    if threshold is not None and not _is_cosine(threshold):
        raise InputError(f"A threshold is a cosine from -1 to 1, not {threshold!r}. Give None for no threshold.")
    return {
        "types": cast("Any", None if wanted.types is None else sorted(wanted.types)),
        "limit": checked_limit(limit),
        "threshold": None if threshold is None else float(threshold),
        "by_kind": not is_given and threshold is None,
        "as_of": _day(given.get("as_of")),
        "everything": everything,
    }


def _said(state: RecallState, name: str) -> bool | None:
    """What the caller says of the message.

    Raises:
        InputError: It is neither true nor false.
    """
    given = cast("Mapping[str, Any]", state).get(name)
    if given is None or isinstance(given, bool):
        return given
    raise InputError(f"`{name}` is true, false or left out, not {given!r}.")


def _day(given: object) -> str | None:
    """A day as ISO 8601.

    Raises:
        InputError: It is none.
    """
    if given is None:
        return None
    try:
        return date.fromisoformat(str(given)[:10]).isoformat()
    except ValueError as error:
        raise InputError(f"`as_of` is a day such as 2026-05-31, not {given!r}.") from error


def _is_cosine(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1 <= value <= 1


def _closed(asked: RecallRequest, outcome: RecallOutcome, reason: str, degraded: Sequence[str] = ()) -> RecallUpdate:
    """Nothing found so far, and nothing left of what this thread recalled before."""
    if outcome != "missing":
        count(RECALLS, outcome=outcome, reason=reason)
    receipt: RecallReceipt = {
        "outcome": outcome,
        "reason": reason,
        "searched": 0,
        "shown": [],
        "cosines": {},
        "degraded": [*degraded],
    }
    return {"asked": asked, "query": "", "passages": [], "memories": [], "block": "", "receipt": receipt}
