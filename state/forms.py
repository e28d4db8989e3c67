"""Which settings each graph uses, by groups: its form in Studio, the tables in the docs; which a client may set."""

import os
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final

from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import InputError, SettingsError
from agentic_memory_bank.state.model_table import (
    BANK_ROLES,
    CONVERSATION_ROLES,
    MEMORIZER_ROLES,
    RECALL_ROLES,
    REMEMBER_ROLES,
    RESEARCHER_ROLES,
    ROLES,
    Role,
)
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.state.variables import EARLIER, nearest

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Whose memories": ("user", "project", "enable_memory", "auto_store", "tool_names"),
    "Models": ("model", *(f"{role}_model" for role in ROLES), "window", "output", "timeout"),
    "Embeddings": ("embeddings", "embedding_threads", "embedding_backend"),
    "Search": ("k", "neighbours_per_hit", "memory_tokens", "alpha", "alpha_zh", "gate_english", "gate_chinese"),
    "Research": ("research_rounds", "research_pages", "research_fusion", "research_tokens", "research_instructions"),
    "Pages": ("page_tokens", "page_batch", "page_ttl_days", "page_ttl_hours", "page_ttl_minutes", "page_ttl_seconds"),
    "Abstracts": ("abstract_context", "abstract_context_tokens", "abstract_instructions"),
    "Recall": (
        *("recall_limit", "recall_threshold", "recall_tokens", "recall_timeout"),
        *("recall_recency_days", "recall_hyde", "recall_elbow", "recall_routing"),
    ),
    "Remember": (
        *("remember_every", "remember_idle_minutes", "remember_drift", "remember_turns", "remember_without"),
        *("memory_ttl_days", "conversation_days"),
    ),
    "Conversation": ("conversation_tokens", "conversation_limit"),
    "Agent": (
        *("fact_limit", "episode_limit", "auto_facts", "record_episodes", "memory_tools", "additional_context"),
        *("working_memory_tokens", "working_memory_share", "keep_steps", "condense_with_model"),
        *("react_calls", "react_context", "react_result_tokens"),
    ),
    "Web": ("search_provider", "visit_reader", "allow_private_addresses"),
    "Requests": ("retries", "longest_wait", "max_concurrency", "window_ratio"),
    "Budgets": ("budget_calls", "budget_tokens", "budget_money", "budget_seconds", "stage_timeout", "prices"),
    "Limits": (
        *("max_input_characters", "max_attachment_bytes", "memory_quota", "memory_prune_facts"),
        *("memory_index_megabytes", "remember_queue"),
    ),
}
"""Every setting by what it is about, in the order in which people are shown them; the numbers of a role aside, which
are the table of models."""

_AGENT: Final = GROUPS["Agent"]
_STEPS: Final = _AGENT[-3:]
"""Settings of an agent's loop, with memory or without."""
_ASKING: Final = (*GROUPS["Requests"], *GROUPS["Budgets"])
_GATES: Final = ("gate_english", "gate_chinese")
_ALPHAS: Final = ("alpha", "alpha_zh")
_TIMES: Final = ("recall_threshold", "recall_timeout")

_WHOSE: Final = ("user", "project", "enable_memory")

_USES: Final[Mapping[str, tuple[tuple[Role, ...], tuple[str, ...]]]] = {
    "memory_bank": (
        (*BANK_ROLES, *RESEARCHER_ROLES),
        (*GROUPS["Search"], *GROUPS["Research"], *_STEPS, *GROUPS["Web"], *_ASKING, *GROUPS["Limits"][:2]),
    ),
    "memorizer": (
        MEMORIZER_ROLES,
        ("user", *GROUPS["Pages"], *GROUPS["Abstracts"], *_ASKING, "max_input_characters"),
    ),
    "researcher": (RESEARCHER_ROLES, ("user", *GROUPS["Research"], *_ALPHAS, *_ASKING)),
    "recall": (RECALL_ROLES, (*GROUPS["Whose memories"], *GROUPS["Recall"], *_ASKING)),
    "remember": (REMEMBER_ROLES, (*_WHOSE, "auto_store", *GROUPS["Remember"], *_GATES, *_ASKING)),
    "conversation": (
        CONVERSATION_ROLES,
        (
            *GROUPS["Whose memories"],
            *GROUPS["Conversation"],
            *GROUPS["Recall"],
            *GROUPS["Remember"],
            *_GATES,
            *_ASKING,
        ),
    ),
    "react_mem": (
        ("react", *REMEMBER_ROLES),
        (
            *(*_WHOSE, "auto_store"),
            *_AGENT,
            *_TIMES,
            *GROUPS["Remember"],
            *_GATES,
            *GROUPS["Web"],
            *_ASKING,
        ),
    ),
}
"""For each graph the roles that it asks, and the other settings that its invocations use. What is settled where a
graph is built, such as its embeddings, is not among them."""


def used_by(graph: str) -> tuple[str, ...]:
    """List the fields that a graph's context may have, in the order of the form; all of them for a foreign graph."""
    if graph not in _USES:
        return tuple(MemoryContext.model_fields)
    roles, names = _USES[graph]
    numbers = (name for role in roles for name in MemoryContext.model_fields if name.startswith(f"{role}_"))
    models = ("model", *(f"{role}_model" for role in roles), "window", "output", "timeout")
    return tuple(dict.fromkeys((*names, *models, *(name for name in numbers if name in _NUMBERS))))


def schema_of(graph: str, taken: Collection[str]) -> dict[str, Any]:
    """Make the JSON schema of a graph's context, with its group in front of each field's title."""
    whole = MemoryContext.model_json_schema()
    titles, fields = _titles(), whole["properties"]
    properties = {name: {**fields[name], "title": titles[name]} for name in used_by(graph) if name in taken}
    return {"title": f"Settings of {graph}", "type": "object", "properties": properties}


@cache
def _titles() -> dict[str, str]:
    """Make the title of each field from its group and name; the numbers of a role stand with the models."""
    titles = {name: f"Models: {name.replace('_', ' ')}" for name in MemoryContext.model_fields}
    for group, names in GROUPS.items():
        titles.update((name, f"{group}: {_words(group, name)}") for name in names)
    return titles


def _words(group: str, name: str) -> str:
    """Write a name in words, without the word that its group says already."""
    first, _, rest = name.partition("_")
    is_said = rest and group.casefold().startswith(first)
    return (rest if is_said else name).replace("_", " ")


_NUMBERS: Final = frozenset(MemoryContext.model_fields) - {name for names in GROUPS.values() for name in names}
"""The columns of the table of models besides the model itself."""
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
        "research_instructions",
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
