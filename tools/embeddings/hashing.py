"""Embeddings by hashing, without a model: for tests, and where no model fits."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
from langchain_core.embeddings import Embeddings

_RUN: Final = re.compile(r"\w+")
_SCRIPT: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+|[^\u3040-\u30ff\u3400-\u9fff]+")


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
