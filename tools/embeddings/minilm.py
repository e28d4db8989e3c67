"""all-MiniLM-L6-v2 without PyTorch: its own weights in ONNX Runtime or OpenVINO, behind a graph that is ours.

The weights are read from the model's `model.safetensors` when a session begins, so nothing is made, cached or left
behind on disk.
"""

import json
import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.tools.concurrency.waiting import check_waited_for
from agentic_memory_bank.tools.embeddings.sessions import DIMENSION, LAYERS, Runtime, cores, session
from agentic_memory_bank.tools.embeddings.windows import Vectors, by_pieces, in_parts

if TYPE_CHECKING:
    from tokenizers import Encoding

WEIGHTS: Final = "model.safetensors"
TOKENIZER: Final = "tokenizer.json"
EMBEDDINGS: Final = {
    "words": "word_embeddings.weight",
    "positions": "position_embeddings.weight",
    "kinds": "token_type_embeddings.weight",
    "scale": "LayerNorm.weight",
    "shift": "LayerNorm.bias",
}
"""The weights of the first step, as the graph names them and as the file does behind `embeddings.`."""
LAYER: Final = {
    "attend": [f"attention.self.{part}.weight" for part in ("query", "key", "value")],
    "attend.bias": [f"attention.self.{part}.bias" for part in ("query", "key", "value")],
    "attended": ["attention.output.dense.weight"],
    "attended.bias": ["attention.output.dense.bias"],
    "attended.scale": ["attention.output.LayerNorm.weight"],
    "attended.shift": ["attention.output.LayerNorm.bias"],
    "widen": ["intermediate.dense.weight"],
    "widen.bias": ["intermediate.dense.bias"],
    "narrow": ["output.dense.weight"],
    "narrow.bias": ["output.dense.bias"],
    "narrow.scale": ["output.LayerNorm.weight"],
    "narrow.shift": ["output.LayerNorm.bias"],
}
"""The same of each layer, behind `encoder.layer.<number>.`; several of them stand side by side in one matrix."""

_WINDOW: Final = 256
"""Word pieces that the model reads, its two marks among them, where its folder says nothing else."""
_BATCH_PIECES: Final = 512
"""Word pieces of one batch, padding among them: what more of them compute does not stay in a processor's cache."""
_MOST_PIECES: Final = 512
"""The model has no positions beyond."""


class Piece(NamedTuple):
    """What of a text fits the model's window."""

    ids: Sequence[int]
    """Its word pieces, without the marks of beginning and end."""
    length: int
    """Its characters."""


class MiniLM:
    """The model, ready to encode. Encoding is safe across threads, not across a fork.

    Args:
        threads: How many cores are used at most. Default: all this process may use.
        runtime: What multiplies.

    Raises:
        EmbeddingError: OpenVINO is not installed.
        OSError: A file cannot be read.
    """

    def __init__(self, folder: Path, threads: int | None = None, runtime: Runtime = "onnx") -> None:
        from tokenizers import Tokenizer

        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else it complains whenever the process forks
        self.tokenizer: Final = Tokenizer.from_file(str(folder / TOKENIZER))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._first, self._last = self.tokenizer.encode("").ids
        self._window = _window(folder) - 2
        self.weights: Final = _weights(folder / WEIGHTS)
        self.runtime: Final = runtime
        self._session = session(self.weights, threads, runtime)
        self._callers = (threads or cores()) if runtime == "openvino" else 1

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector for each text, (texts x 384); a text longer than the window is encoded in parts."""
        read = dict(zip(texts, self.tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True))
        return in_parts(texts, lambda text: self._pieces(text, read[text]), self._encoded, lambda piece: piece.length)

    def _pieces(self, text: str, read: "Encoding") -> list[Piece]:
        """What of a text is encoded together; its word pieces are counted once, and shared out among the parts."""
        if len(read.ids) <= self._window:
            return [Piece(read.ids, len(text))]
        ids, first = read.ids, [start for start, _ in read.offsets]
        cuts = by_pieces(text, read, self._window)
        return [Piece(ids[bisect_left(first, a) : bisect_left(first, b)][: self._window], b - a) for a, b in cuts]

    def _encoded(self, pieces: Sequence[Piece]) -> Vectors:
        """Encode pieces of one length together, so that little is padded."""
        vectors = np.empty((len(pieces), DIMENSION), dtype=np.float32)
        batches = list(_batches(pieces))
        with closing(self._made(batches, pieces)) as each:
            for batch, made in zip(batches, each, strict=True):
                check_waited_for()
                vectors[batch] = made
        return vectors

    def _made(self, batches: Sequence[Sequence[int]], pieces: Sequence[Piece]) -> Generator[Vectors]:
        """The vectors of each batch in turn; where calls have a core each, of as many batches at a time."""
        of_batches = ([pieces[place].ids for place in batch] for batch in batches)
        if self._callers == 1 or len(batches) < 2:
            yield from map(self._run, of_batches)
            return
        pool, begun = ThreadPoolExecutor(self._callers, "embedding"), deque[Callable[[], Vectors]]()
        try:
            for batch in of_batches:
                begun.append(self._begun(pool, batch))
                if len(begun) > 2 * self._callers:
                    yield begun.popleft()()
            while begun:
                yield begun.popleft()()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _begun(self, pool: ThreadPoolExecutor, batch: Sequence[Sequence[int]]) -> Callable[[], Vectors]:
        """Begin a batch; what returns its vectors."""
        try:
            return pool.submit(self._run, batch).result
        except RuntimeError:  # the interpreter ends, and begins no thread for anybody
            return partial(self._run, batch)

    def _run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        ids = np.zeros((len(batch), max(map(len, batch)) + 2), dtype=np.int32)
        mask = np.zeros_like(ids)
        for row, piece in enumerate(batch):
            ids[row, : len(piece) + 2] = (self._first, *piece, self._last)
            mask[row, : len(piece) + 2] = 1
        return self._session(ids, np.zeros_like(ids), mask)


def _window(folder: Path) -> int:
    """How many word pieces the model reads, as its folder says."""
    file = folder / "sentence_bert_config.json"
    said = json.loads(file.read_text()).get("max_seq_length") if file.is_file() else None
    return min(said or _WINDOW, _MOST_PIECES)


def _batches(pieces: Sequence[Piece]) -> Iterator[list[int]]:
    """The places of the pieces, longest first, as many together as a batch may have."""
    batch: list[int] = []
    for place in sorted(range(len(pieces)), key=lambda place: -len(pieces[place].ids)):
        if batch and (len(batch) + 1) * (len(pieces[batch[0]].ids) + 2) > _BATCH_PIECES:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _weights(file: Path) -> dict[str, NDArray[np.float32]]:
    """The weights under the names that the graph has for them, turned as it multiplies with them."""
    from safetensors.numpy import load_file

    read = load_file(file)
    named = {name: read[f"embeddings.{key}"] for name, key in EMBEDDINGS.items()}
    for layer in range(LAYERS):
        of = f"encoder.layer.{layer}."
        for name, keys in LAYER.items():
            parts = [read[of + key].T for key in keys]
            named[f"{layer}.{name}"] = np.ascontiguousarray(np.concatenate(parts, axis=-1))
    return named
