"""Whether a text answers a question: all-MiniLM-L6-v2, reading both at once, moved by a small file of changes.

`answering.npz` holds what is added to the weights of the default model (two thin matrices for each of its own) and how
its output is weighed; `benchmarks/fit_answering.py` fits it. The graph is the one of the vectors. The model reads
English: Chinese is handed to it word for word in the English of `glosses.txt` (`word<TAB>gloss`, in simplified
characters; a particle has none), which was written for this by language models.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.tools.concurrency.waiting import check_waited_for
from agentic_memory_bank.tools.embeddings.minilm import MiniLM
from agentic_memory_bank.tools.embeddings.sessions import session
from agentic_memory_bank.tools.text.traditional import simplified

FILE: Final = Path(__file__).with_name("answering.npz")
MOST_ASKED: Final = 40
"""Word pieces that are read of a question, its last ones."""
MOST_READ: Final = 96
"""Word pieces of a question and a text together, with the three marks around them."""
MOST_CHARACTERS: Final = 1_000
"""Characters that are read of either, at most."""
_BATCH: Final = 16

_GLOSSES: Final = Path(__file__).with_name("glosses.txt")
_LONGEST: Final = 6
_CHINESE: Final = re.compile(r"[\u3400-\u9fff]+")
_MARKS: Final = str.maketrans("，。、；：？！（）“”‘’《》", ',.,;:?!()""\'\'""')

Logits = NDArray[np.float32]


class AnswerModel:
    """The model, ready to read. It is safe across threads, not across a fork.

    Args:
        base: The default model: its tokenizer, its runtime, and what of its weights is not changed are shared.
        threads: How many cores are used at most. Default: all this process may use.

    Raises:
        OSError: The file of changes cannot be read.
    """

    def __init__(self, base: MiniLM, threads: int | None = None) -> None:
        self._tokenizer = base.tokenizer
        self._first, self._last = self._tokenizer.encode("").ids
        with np.load(FILE) as changes:
            self._head = changes["head"].astype(np.float32), float(changes["bias"])
            self._weights = changed(base.weights, changes)  # kept, since a session may read them where they are
        _glosses()
        self._session = session(self._weights, threads, base.runtime)

    def answers(self, question: str, texts: Sequence[str]) -> Logits:
        """How likely each text states what the question asks for, as the logarithm of the odds."""
        said = [glossed(question[-MOST_CHARACTERS:]), *(glossed(text[:MOST_CHARACTERS]) for text in texts)]
        (asked, *read) = (one.ids for one in self._tokenizer.encode_batch(said, add_special_tokens=False))
        asked = asked[-MOST_ASKED:]  # what is asked comes last
        read = [ids[: MOST_READ - len(asked) - 3] for ids in read]
        logits = np.empty(len(texts), np.float32)
        order = sorted(range(len(read)), key=lambda place: len(read[place]))
        for start in range(0, len(order), _BATCH):
            check_waited_for()
            batch = order[start : start + _BATCH]
            logits[batch] = self._run(asked, [read[place] for place in batch])
        return logits

    def _run(self, asked: Sequence[int], batch: Sequence[Sequence[int]]) -> Logits:
        before = len(asked) + 2
        ids = np.zeros((len(batch), before + max(map(len, batch)) + 1), dtype=np.int32)
        segments, mask = np.zeros_like(ids), np.zeros_like(ids)
        for row, text in enumerate(batch):
            end = before + len(text) + 1
            ids[row, :end] = (self._first, *asked, self._last, *text, self._last)
            segments[row, before:end] = 1
            mask[row, :end] = 1
        try:
            vectors = self._session(ids, segments, mask)
        except Exception as fault:  # what multiplies has errors of its own, for a lack of memory too
            raise EmbeddingError(f"The embedding model could not read ({fault}). Check its memory.") from fault
        weights, bias = self._head
        return vectors @ weights + bias


def changed(weights: Mapping[str, NDArray[np.float32]], changes: Any) -> dict[str, NDArray[np.float32]]:
    """The weights of the default model with what a file of changes adds to them."""
    moved = dict(weights)
    for name in changes.files:
        kind, _, of = name.partition(":")
        if kind == "add":
            moved[of] = weights[of] + changes[name].astype(np.float32)
        elif kind == "in":
            thin, wide = changes[name].astype(np.float32), changes[f"out:{of}"].astype(np.float32)
            moved[of] = weights[of] + np.concatenate([a @ b for a, b in zip(thin, wide, strict=True)], axis=-1)
    if not all(np.isfinite(changes[name]).all() for name in changes.files):
        raise ValueError("some of the numbers are not finite")
    return moved


def glossed(text: str) -> str:
    """The text with each of its Chinese words in English; what has no gloss stays.

    Chinese is cut so that the fewest characters are left without a gloss, then into the fewest words: 没电梯 holds
    电梯, though 没电 is a word, too.
    """
    return _CHINESE.sub(lambda found: f" {_glosses_of(found[0])} ", simplified(text).translate(_MARKS)).strip()


def _glosses_of(run: str) -> str:
    known = _glosses()
    best = [(0, 0, 0)]
    """Of what follows each place, from the end: characters without a gloss, words, minus the first one's length."""
    for at in reversed(range(len(run))):
        cuts = list[tuple[int, int, int]]()
        for length in range(1, min(_LONGEST, len(run) - at) + 1):
            is_known = run[at : at + length] in known
            if is_known or length == 1:
                left, words, _ = best[-length]
                cuts.append((left + (not is_known), words + 1, -length))
        best.append(min(cuts))
    said, at = list[str](), 0
    while at < len(run):
        end = at - best[len(run) - at][2]
        said.append(known.get(run[at:end], run[at:end]))
        at = end
    return " ".join(filter(None, said))


@lru_cache(maxsize=1)
def _glosses() -> dict[str, str]:
    return dict(line.split("\t", 1) for line in _GLOSSES.read_text(encoding="utf8").splitlines())
