"""Makes the embeddings that the setting `embeddings` names, for all; local ones are loaded at the first text."""

import logging
import os
import re
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakSet

from langchain_core.embeddings import Embeddings

from agentic_memory_bank.state.errors import EmbeddingError, SettingsError
from agentic_memory_bank.state.settings import EmbeddingBackend as Backend
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings import minilm
from agentic_memory_bank.tools.embeddings.answering import AnswerModel
from agentic_memory_bank.tools.embeddings.sessions import Runtime
from agentic_memory_bank.tools.embeddings.weights import MODEL, default_folder, from_hub, given_folder, name_of
from agentic_memory_bank.tools.embeddings.windows import Vectors

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


_LOG: Final = logging.getLogger(__name__)
SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half a character, which no model can read."""


_Model = TypeVar("_Model")


class LocalModel(Protocol):
    """A model in this process."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, (texts x dimension), also for texts longer than the model's window."""
        ...


class LocalEmbeddings(Embeddings):
    """A sentence-transformers model on the CPU, loaded at the first text and kept. Safe across threads and a fork.

    all-MiniLM-L6-v2 runs in ONNX Runtime or OpenVINO; PyTorch is loaded for any other model. A text longer than the
    model's window is embedded in parts, cut at sentence ends or white space; its vector is the mean of theirs, weighted
    by length. Loading sets `TOKENIZERS_PARALLELISM` to `false` unless it is set already: otherwise the tokenizer
    complains on stderr whenever the process forks.

    Args:
        path: The folder of the model. Default: all-MiniLM-L6-v2, wherever it is.
        repository: The name of a model on the Hugging Face hub, in place of a folder.
        threads: How many cores it uses at most. Default: all this process may use.
        backend: What runs all-MiniLM-L6-v2: ONNX Runtime, OpenVINO, or PyTorch (sentence-transformers).
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        repository: str = "",
        threads: int | None = None,
        backend: Backend = "onnx",
    ) -> None:
        self._path = path
        self._repository = repository
        self._threads = threads
        self._backend = backend
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._loaded: LocalModel | None = None
        self._answering: AnswerModel | None = None
        self._lock_of_answering = threading.Lock()  # who reads a question waits for nobody who encodes a library
        self._cannot_answer: EmbeddingError | None = None

    @property
    def model(self) -> str:
        """Name of the model: the same wherever the same weights came from.

        Raises:
            EmbeddingError: There are no such weights.
        """
        is_default = self._path is None and not self._repository
        return MODEL if is_default else name_of(self._folder(), self._repository)

    @property
    def is_loaded(self) -> bool:
        """Ask whether the model is in memory."""
        return self._loaded is not None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one L2-normalised vector per text.

        Raises:
            EmbeddingError: The weights are not there, or cannot be loaded.
        """
        return self.encode(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        return self.embed_documents([text])[0]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors as one matrix, (texts x dimension), L2-normalised. Raises as `embed_documents`."""
        with self._lock:
            loaded = self._load()
            return loaded.encode([SURROGATE.sub("\ufffd", text) for text in texts])

    def answers(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return of each text how likely it states what a question asks for, as the logarithm of the odds.

        That is told by all-MiniLM-L6-v2 alone, and never in PyTorch.

        Raises:
            EmbeddingError: The weights are not there or cannot be loaded, or the model failed.
        """
        model = self._load_answering()
        read = [SURROGATE.sub("\ufffd", text) for text in (question, *texts)]
        return model.answers(read[0], read[1:]).tolist()

    @property
    def can_answer(self) -> bool:
        """Ask whether `answers` tells at once: what it reads with is in memory, or cannot be loaded."""
        return self._answering is not None or self._cannot_answer is not None

    @property
    def _runtime(self) -> Runtime:
        return "openvino" if self._backend == "openvino" else "onnx"

    def _load_answering(self) -> AnswerModel:
        """Load what `answers` reads with; once it could not be loaded, it is not tried again. Raises as `answers`."""
        with self._lock_of_answering:
            if self._cannot_answer is not None:
                raise self._cannot_answer
            if self._answering is None:
                try:
                    self._answering = self._begun(self._answer_model_in)
                except EmbeddingError as fault:
                    self._cannot_answer = fault
                    _LOG.warning("Which texts answer a question is judged by words and vectors alone: %s", fault)
                    raise
            return self._answering

    def _answer_model_in(self, folder: Path) -> AnswerModel:
        known = self._loaded
        base = known if isinstance(known, minilm.MiniLM) else minilm.MiniLM(folder, self._threads, self._runtime)
        return AnswerModel(base, self._threads)

    def _load(self) -> LocalModel:
        if self._loaded is None:
            self._loaded = self._begun(self._model_in)
        return self._loaded

    def _begun(self, model_in: Callable[[Path], _Model]) -> _Model:
        """Load a model from the folder of the weights."""
        folder = self._folder()
        _LOG.info("Loading the embedding model in %s", folder, extra={"loading": True})
        try:
            return model_in(folder)
        except EmbeddingError:
            raise
        except Exception as fault:  # whatever a foreign library raises on a broken folder or a lack of memory
            message = f"The embedding model in {folder} cannot be loaded ({type(fault).__name__}: {fault})."
            raise EmbeddingError(f"{message} Check the folder, or install the model again.") from fault
        finally:
            _LOG.info("The embedding model is loaded, or cannot be", extra={"loading": False})

    def _folder(self) -> Path:
        if self._path is not None:
            return given_folder(self._path)
        return from_hub(self._repository) if self._repository else default_folder()

    def _model_in(self, folder: Path) -> LocalModel:
        is_default = (folder / minilm.TOKENIZER).is_file() and name_of(folder) == MODEL
        if self._backend != "pytorch" and is_default:
            return minilm.MiniLM(folder, self._threads, self._runtime)
        if any(find_spec(package) is None for package in ("torch", "sentence_transformers")):
            raise EmbeddingError(
                f"The embedding model in {folder} runs in PyTorch, which is not installed. Install it with "
                '`pip install "agentic-memory-bank[torch]"`, or use the default model, which needs none.'
            )
        from agentic_memory_bank.tools.embeddings.pytorch_model import PyTorchModel

        return PyTorchModel(folder, self._threads)


_all: WeakSet[LocalEmbeddings] = WeakSet()
_inherited: list[object] = []


def _after_fork() -> None:
    """The threads of a model are the parent's: the child loads its own, and keeps the parent's, which it cannot end."""
    for embeddings in list(_all):
        _inherited.extend((embeddings._loaded, embeddings._answering))  # pyright: ignore[reportPrivateUsage]
        embeddings._begin()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@lru_cache(maxsize=8)
def local_embeddings(
    path: str | None = None, repository: str = "", threads: int | None = None, backend: Backend = "onnx"
) -> LocalEmbeddings:
    """Get the one `LocalEmbeddings` of a model in this process; arguments are those of the class."""
    return LocalEmbeddings(path, repository=repository, threads=threads, backend=backend)
