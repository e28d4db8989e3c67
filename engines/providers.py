"""Chat models by name: `openai:NAME`, `deepseek:NAME`, or `local:NAME` for any server that speaks OpenAI's protocol."""

import os
from dataclasses import dataclass
from typing import Final

from agentic_memory_bank.state.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Provider:
    """Variables and default address of a provider; keys and addresses are never settings."""

    name: str
    key: str
    """Variable that holds the key."""
    address: str
    """Variable that holds the base URL."""
    default_address: str
    needs_key: bool = True


PROVIDERS: Final = {
    provider.name: provider
    for provider in (
        Provider("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        Provider("deepseek", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "https://api.deepseek.com"),
        Provider(
            "local", "MEMORY_BANK_LOCAL_API_KEY", "MEMORY_BANK_LOCAL_BASE_URL", "http://127.0.0.1:11434/v1", False
        ),
    )
}


def provider_of(model: str) -> tuple[Provider, str]:
    """Split the name of a model into its provider and the name there.

    Raises:
        SettingsError: The name is not `provider:name`, or the provider is unknown.
    """
    name, colon, rest = model.partition(":")
    if not colon or not rest.strip() or name not in PROVIDERS:
        known = ", ".join(f"{provider}:NAME" for provider in PROVIDERS)
        raise SettingsError(
            f"The model '{model}' is not known. Name it as one of {known}, or pass a chat model in code."
        )
    return PROVIDERS[name], rest.strip()


def missing_key(model: str) -> str | None:
    """Name the variable that this model needs and that is not set; None where none is missing."""
    provider, _ = provider_of(model)
    return provider.key if provider.needs_key and not os.environ.get(provider.key) else None
