"""Which settings a client of a server may set: those that concern what it asks, none that concern the operator."""

import os
from collections.abc import Mapping
from typing import Any, Final

from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import InputError, SettingsError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.state.variables import EARLIER, nearest

VARIABLE: Final = "MEMORY_BANK_CLIENT_SETTINGS"
DEFAULT: Final = "default"

OF_CLIENTS: Final = frozenset(
    (
        "k",
        "alpha",
        "alpha_zh",
        "neighbours_per_hit",
        "memory_tokens",
        "gate_english",
        "gate_chinese",
        "page_tokens",
        "page_ttl_days",
        "page_ttl_hours",
        "page_ttl_minutes",
        "page_ttl_seconds",
        "abstract_context",
        "abstract_context_tokens",
        "abstract_instructions",
        "research_rounds",
        "research_pages",
        "research_fusion",
        "research_tokens",
        "recall_limit",
        "recall_threshold",
        "recall_tokens",
        "recall_timeout",
        "recall_hyde",
        "recall_elbow",
        "recall_routing",
        "recall_recency_days",
        "remember_every",
        "remember_idle_minutes",
        "remember_drift",
        "remember_turns",
        "remember_without",
        "conversation_tokens",
        "conversation_limit",
        "conversation_days",
        "fact_limit",
        "episode_limit",
        "working_memory_tokens",
        "working_memory_share",
        "keep_steps",
        "condense_with_model",
        "auto_facts",
        "record_episodes",
        "memory_tools",
        "additional_context",
        "memory_ttl_days",
    )
)
"""What clients may set unless the operator says otherwise. Whatever is not here is the operator's: addresses, paths,
models, providers, prices, budgets, quotas, limits of input, and what a machine can bear."""

_OF_INVOCATIONS: Final = frozenset(set(MemoryContext.model_fields) - set(Settings.model_fields))
"""Fields of a context that are no settings: the user and project, and whether memory takes part."""


def of_clients() -> frozenset[str]:
    """List the settings that clients may set.

    Raises:
        SettingsError: `MEMORY_BANK_CLIENT_SETTINGS` names something that is no setting.
    """
    named = {name.strip() for name in (os.environ.get(VARIABLE) or DEFAULT).split(",") if name.strip()}
    for name in sorted(named - {DEFAULT, *Settings.model_fields}):
        raise SettingsError(f"{VARIABLE} names {name}, which is no setting. {nearest(name, Settings.model_fields)}")
    return frozenset(named - {DEFAULT}) | (OF_CLIENTS if DEFAULT in named else frozenset())


def taken_from_clients() -> frozenset[str]:
    """List the fields of a context that a client may fill in."""
    return of_clients() | _OF_INVOCATIONS


def check_given(context: Mapping[str, Any], user: str) -> None:
    """Check that a client's context names no other user and no setting of the operator.

    Args:
        context: The context that the client sent.
        user: Id of the authenticated user.

    Raises:
        InputError: The context names another user.
        SettingsError: The context has an unknown setting, one of the operator's, or a value that is not allowed.
    """
    allowed = taken_from_clients()
    for named in context:
        name = EARLIER.get(named, (named,))[0]
        if name not in MemoryContext.model_fields:
            raise SettingsError(f"There is no setting {name}. {nearest(name, allowed)}")
        if name not in allowed:
            raise SettingsError(
                f"The setting {named} is the operator's: a client of this server cannot set it. Leave it out, or have "
                f"it added to {VARIABLE}, or set on the server as MEMORY_BANK_{named.upper()}."
            )
    if context.get("user") not in (None, "", user):
        raise InputError("The user in `context` is not the one who is authenticated. Leave `user` out.")
    MemoryContext(**context)
