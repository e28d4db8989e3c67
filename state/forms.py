"""Which settings each graph uses, by groups: its context schema, the form in Studio, and the tables in the docs."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final

from agentic_memory_bank.state.conversations import MemoryContext
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

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Whose memories": ("user", "project", "enable_memory", "auto_store", "tool_names"),
    "Models": ("model", *(f"{role}_model" for role in ROLES), "window", "output", "timeout"),
    "Embeddings": ("embeddings", "embedding_threads", "embedding_backend"),
    "Search": ("k", "neighbours_per_hit", "memory_tokens", "alpha", "alpha_zh", "gate_english", "gate_chinese"),
    "Research": ("research_rounds", "research_pages", "research_fusion", "research_tokens"),
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
    "Budgets": ("budget_calls", "budget_tokens", "budget_money", "budget_seconds", "prices"),
    "Limits": ("max_input_characters", "max_attachment_bytes", "memory_quota", "memory_prune_facts", "remember_queue"),
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
    """Make the JSON schema of a graph's context, with its group in front of each field's title.

    Args:
        graph: Name of the graph, as langgraph.json has it.
        taken: Names of the settings that the form may show.
    """
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
