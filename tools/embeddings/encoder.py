"""Any embeddings made safe to index: checked, normalised, and each text encoded once."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from langchain_core.embeddings import Embeddings

from agentic_memory_bank.state.errors import EmbeddingError, SettingsError, unfit
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.concurrency.long_work import tell
from agentic_memory_bank.tools.concurrency.lru import LruCache
from agentic_memory_bank.tools.concurrency.waiting import check_waited_for
from agentic_memory_bank.tools.embeddings.models import SURROGATE, LocalEmbeddings, default_embeddings
from agentic_memory_bank.tools.embeddings.vector_cache import VectorCache, VectorRows
from agentic_memory_bank.tools.embeddings.weights import MODEL
from agentic_memory_bank.tools.embeddings.windows import Vectors, characters, in_parts
from agentic_memory_bank.tools.storage.thread_rows import ThreadRows

Told = Callable[[int, int], object]
"""Called after each batch with how many texts have their vectors, and how many are to get one."""

_BATCH_CHARACTERS: Final = 50_000
"""Characters of a batch at most, so that long texts are heard of and kept as often as short ones."""
_ANSWERS: Final = 10_000
"""Pairs of a question and a text of which is remembered what was told: one request is read for several times."""
_NOT_ROWS: Final = "something that is not rows of numbers, all of one length"
_NAMES: Final = ("model", "model_name", "model_id", "model_path", "deployment")
_SIZES: Final = ("dimensions", "dimension", "size")


def check_embeddings(given: object) -> None:
    """Check what is given as embeddings; None is the default ones.

    Raises:
        InputError: It cannot make vectors of texts.
    """
    is_fit = all(callable(getattr(given, method, None)) for method in ("embed_documents", "embed_query"))
    if given is not None and (isinstance(given, type) or not is_fit):
        raise unfit("embeddings", given, "LangChain `Embeddings`, such as `init_embeddings('openai:NAME')`")


class Encoder:
    """Any LangChain `Embeddings` made safe to index: checked, normalised, each text encoded once and remembered.

    Args:
        embeddings: The model. Default: what the environment names when the first text is encoded.
        cache: An SQLite file (made with mode 0600) that keeps the vectors; `None` keeps them in memory alone. The
            file is derived data: it may be erased at any time, and no fault of it stops the encoder. Rows of a thread
            in a database keep them for all its processes.
        memory: How many vectors are kept in memory, the most recently used ones.
        window: The longest text, in characters, that a foreign model reads; a longer one is embedded in parts. `None`:
            no limit. (The local model knows its own.)
        batch: How many texts are handed to the model, and then written to the cache, at a time.
    """

    def __init__(
        self,
        embeddings: Embeddings | None = None,
        *,
        cache: Path | ThreadRows | None = None,
        memory: int = 100_000,
        window: int | None = None,
        batch: int = 256,
    ) -> None:
        if memory < 0 or batch < 1 or (window is not None and window < 1):
            raise EmbeddingError("An encoder needs memory >= 0, batch >= 1 and window >= 1 (or no window).")
        check_embeddings(embeddings)
        self._given = embeddings
        self._default: tuple[Embeddings, str | None] | None = None
        self._disk = VectorRows(cache) if isinstance(cache, ThreadRows) else VectorCache(cache) if cache else None
        self._memory: LruCache[str, Vectors] = LruCache(memory)
        self._answers: LruCache[str, float] = LruCache(_ANSWERS)
        self._window = window
        self._batch = batch
        self._lock = threading.Lock()
        self._asked = 0
        self._dimension: int | None = None
        self._model: str | None = None

    def check(self, settings: Settings) -> None:
        """Check that an invocation names no other embeddings: vectors of two models cannot be compared.

        Raises:
            SettingsError: The settings name others, or those of the environment cannot be used.
        """
        if self._given is not None:
            return
        _, named = self._from_environment()
        if settings.embeddings != named:
            raise SettingsError(
                f"The embeddings here are '{named or MODEL}', not '{settings.embeddings or MODEL}': they are chosen "
                "where a graph is built. Set MEMORY_BANK_EMBEDDINGS, or build a graph with "
                "`embeddings=default_embeddings(settings)`."
            )

    @property
    def _embeddings(self) -> Embeddings:
        return self._given or self._from_environment()[0]

    def _from_environment(self) -> tuple[Embeddings, str | None]:
        """Make the embeddings that the environment named at first, with their name."""
        if self._default is None:
            settings = Settings.of(None)
            self._default = default_embeddings(settings), settings.embeddings
        return self._default

    @property
    def model(self) -> str:
        """Name of the model in keys: class, model, and what else changes the vectors."""
        if self._model is None:
            self._model = _model_name(self._embeddings, self._window)
        return self._model

    @property
    def dimension(self) -> int | None:
        """The length of a vector; `None` until one was made."""
        return self._dimension

    @property
    def is_loaded(self) -> bool:
        """Ask whether texts can be embedded, and read beside a question, at once; local models are loaded first."""
        given, reader = self._embeddings, self._reader
        return not isinstance(given, LocalEmbeddings) or given.is_loaded and (reader is None or reader.can_answer)

    @property
    def _reader(self) -> LocalEmbeddings | None:
        """The embeddings, where they are the default model, which reads questions, too."""
        given = self._embeddings
        try:
            return given if isinstance(given, LocalEmbeddings) and given.model == MODEL else None
        except EmbeddingError:  # there are no weights, of which whoever embeds is told
            return None

    @property
    def is_busy(self) -> bool:
        """Ask whether the model is at work."""
        return self._asked > 0

    def load(self) -> None:
        """Load a local model, which may take seconds; does nothing for others. Raises as `vectors`."""
        if not self.is_loaded:
            self._embed(["."])
            self.answers("?", ["."])

    def key(self, text: str) -> str:
        """Return the name of a text's vector: sha256 of model and text, in hexadecimal."""
        return hashlib.sha256(f"{self.model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()

    def vector(self, text: str) -> Vectors:
        """Return the vector of one text. Raises as `vectors`."""
        return self.vectors([text])[0]

    def vectors(self, texts: Sequence[str], told: Told | None = None) -> Vectors:
        """Return one L2-normalised vector per text, (texts x dimension); that of a blank text is zero.

        Args:
            texts: What is embedded; what was embedded before is looked up.
            told: Hears of each batch after it was written to the cache, where there are several. Default: whom
                `long_work.told_to` names.

        Raises:
            EmbeddingError: The model failed, or what it made is no set of vectors; nothing of that batch is kept.
            CancelledError: Nobody waits for them any more.
        """
        told = told or partial(tell, "embedded")
        keys = [self.key(text) for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if text.strip()}
        known = self._recall(list(wanted))
        missing = [(key, text) for key, text in wanted.items() if key not in known]
        missing.sort(key=lambda pair: len(pair[1]))  # texts of one length pad each other least
        done = 0
        for batch in self._batches(missing):
            check_waited_for()
            known.update(self._make(batch))
            done += len(batch)
            if len(missing) > len(batch):
                told(done, len(missing))
        return self._matrix(keys, known)

    def _batches(self, pairs: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
        batch, characters = list[tuple[str, str]](), 0
        for pair in pairs:
            if batch and (len(batch) == self._batch or characters + len(pair[1]) > _BATCH_CHARACTERS):
                yield batch
                batch, characters = [], 0
            batch.append(pair)
            characters += len(pair[1])
        if batch:
            yield batch

    def try_vectors(self, texts: Sequence[str], told: Told | None = None) -> Vectors | None:
        """Return what `vectors` does, or None where the model fails: keywords alone have to do then."""
        try:
            return self.vectors(texts, told)
        except EmbeddingError:
            return None

    def answers(self, question: str, texts: Sequence[str]) -> list[float] | None:
        """Return of each text how likely it states what a question asks for, as the logarithm of the odds.

        None where the embeddings are another model's, or the default one fails: words have to do then.

        Raises:
            CancelledError: Nobody waits for it any more.
        """
        reader = self._reader
        if reader is None:
            return None
        keys = [self.key(f"{question}\0{text}") for text in texts]
        known = {key: told for key in keys if (told := self._answers.peek(key)) is not None}
        left = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        try:
            made = reader.answers(question, [*left.values()]) if left else []
        except EmbeddingError:
            return None
        known.update(zip(left, made, strict=True))
        for key in left:
            self._answers.put(key, known[key])
        return [known[key] for key in keys]

    def retain(self, texts: Iterable[str]) -> None:
        """Erase all vectors from the cache file but those of these texts."""
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
        known = {key: vector for key in keys if (vector := self._memory.peek(key)) is not None}
        for key, vector in known.items():
            self._memory.put(key, vector)
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
        for key, vector in vectors.items():
            self._memory.put(key, vector.copy())  # a row alone, not its whole batch

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
                made = self._embeddings.embed_documents([SURROGATE.sub("\ufffd", text) for text in texts])
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
