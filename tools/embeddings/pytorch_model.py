"""Any sentence-transformers model, in PyTorch: what is no all-MiniLM-L6-v2 is loaded here, which takes seconds."""

import importlib
import logging
import os
import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from agentic_memory_bank.tools.embeddings.windows import Vectors, by_pieces, in_parts

_SHORT_TEXT: Final = 240  # characters
_SHORT_BATCH, _LONG_BATCH = 16, 4


class PyTorchModel:
    """A model on the CPU, ready to encode; for one caller at a time.

    Args:
        threads: How many cores PyTorch uses at most, in this whole process. Default: as it decides.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else it complains whenever the process forks
        import torch
        from tokenizers import Tokenizer

        # A type checker would read all of transformers for one class, which takes it longer than this whole package.
        model: Any = importlib.import_module("sentence_transformers").SentenceTransformer
        if threads is not None:
            torch.set_num_threads(threads)
        with _quiet():
            self._model = model(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)
        backend = getattr(self._model.tokenizer, "backend_tokenizer", None)
        self._tokenizer = None if backend is None else Tokenizer.from_str(backend.to_str())
        if self._tokenizer is not None:
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
            marks = self._tokenizer.num_special_tokens_to_add(False)
            self._window = int(self._model.max_seq_length or 512) - marks

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text, (texts x dimension); a text longer than the window is encoded in parts."""
        return in_parts(texts, self.parts, self._encoded, len)

    def parts(self, text: str) -> list[str]:
        """The parts in which a text is encoded."""
        if self._tokenizer is None or len(text) * 3 <= self._window:  # a Hangul syllable makes up to three pieces
            return [text]
        read = self._tokenizer.encode(text, add_special_tokens=False)
        return [text[start:end] for start, end in by_pieces(text, read, self._window)]

    def _encoded(self, parts: Sequence[str]) -> Vectors:
        """Encode short and long texts apart: each in batches of the size that fits a processor's cache best."""
        made: dict[int, Vectors] = {}
        for is_long, batch_size in ((False, _SHORT_BATCH), (True, _LONG_BATCH)):
            places = [place for place, part in enumerate(parts) if (len(part) > _SHORT_TEXT) == is_long]
            if places:
                made.update(zip(places, self._encode_batches([parts[p] for p in places], batch_size), strict=True))
        return np.stack([made[place] for place in range(len(parts))])

    def _encode_batches(self, parts: list[str], batch_size: int) -> Vectors:
        made = self._model.encode(
            parts,
            batch_size=batch_size,
            convert_to_numpy=True,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return np.asarray(made, dtype=np.float32)


@contextmanager
def _quiet() -> Generator[None, None, None]:
    """Keep progress bars and warnings of the libraries off stderr while the model is loaded."""
    transformers_logging: Any = importlib.import_module("transformers.utils").logging
    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    own = logging.getLogger("sentence_transformers")
    own_level = own.level
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    own.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(level)
        own.setLevel(own_level)
        if bars:
            transformers_logging.enable_progress_bar()
