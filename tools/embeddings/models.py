"""Chooses the embeddings: the one place that reads the setting `embeddings`, for every graph, command and route."""

import os
from typing import Any, Final

from langchain_core.embeddings import Embeddings

from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.local import local_embeddings
from agentic_memory_bank.tools.embeddings.weights import MODEL, given_folder

_ADDRESSES: Final = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def default_embeddings(settings: Settings | None = None) -> Embeddings:
    """Make the embeddings that settings name, which are used wherever none are given in code.

    A local model is loaded at the first text. Keys and addresses of others are read from the environment now.

    Args:
        settings: Settings that name them and what local ones run on. Default: those of the environment.

    Raises:
        EmbeddingError: The folder that they name does not exist.
        SettingsError: A package or a key is missing for what they name, or the environment has a wrong setting.

    Example:
        >>> default_embeddings(Settings(embeddings="local:/models/bge-m3"))
    """
    settings = settings or Settings.of(None)
    provider, _, model = (settings.embeddings or "").partition(":")
    backend = {"threads": settings.embedding_threads, "backend": settings.embedding_backend}
    if provider == "local":
        return local_embeddings(path=str(given_folder(os.path.expanduser(model))), **backend)
    if provider == "huggingface" and model != MODEL:
        return local_embeddings(repository=model, **backend)
    if provider in ("", "huggingface"):
        return local_embeddings(**backend)
    return _of_langchain(provider, model)


def _of_langchain(provider: str, model: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    more: dict[str, Any] = {}
    if provider == "openai" and any(os.environ.get(name) for name in _ADDRESSES):
        more["check_embedding_ctx_length"] = False  # servers that only speak OpenAI's protocol want text, not tokens
    try:
        return init_embeddings(model, provider=provider, **more)
    except Exception as fault:  # a package or a key is missing, a name is not known: each client has errors of its own
        raise SettingsError(
            f"The embeddings '{provider}:{model}' cannot be used ({type(fault).__name__}: {fault}). Mend "
            "MEMORY_BANK_EMBEDDINGS, install the package or set the key that it names, or use local:FOLDER."
        ) from None
