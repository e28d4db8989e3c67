"""Tells whether the write-ahead log of an SQLite file is damaged: SQLite itself takes the rest of it for never written.

A log ends where a process was killed, so SQLite reads it up to the first frame that is not sound. A frame that is not
sound and stands before the end of a transaction is no such end: what was written there, and all behind it, is lost.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_Words = NDArray[np.uint32]

_HEADER: Final = 32
_FRAME: Final = 24
_AT_ONCE: Final = 256
"""Frames that are summed up together: some megabytes."""
_MAGIC: Final = {0x377F0682: "<u4", 0x377F0683: ">u4"}
"""The first number of a log, and in which order of bytes it is summed up."""


def is_damaged(log: Path) -> bool:
    """Whether something that was written to a log is not there any more, or is not what was written.

    What cannot be told from a write that was cut short by a kill is none: the end of the log cut off, and damage to
    the very last frame.

    Raises:
        OSError: It cannot be read.
    """
    for _ in range(3):
        try:
            with log.open("rb") as file:
                raw = file.read()
                file.seek(0)
                is_the_same = file.read(_HEADER) == raw[:_HEADER]
        except FileNotFoundError:
            return False
        if is_the_same:
            return _is_damaged(raw)
    return False  # it is being written to again and again: whoever writes knows it


def _is_damaged(raw: bytes) -> bool:
    if len(raw) <= _HEADER + _FRAME or not any(raw):
        return False
    head = np.frombuffer(raw[:_HEADER], ">u4")
    order, size = _MAGIC.get(int(head[0])), int(head[2])
    if order is None or size < 512 or size & (size - 1) or size > 65_536:
        return True
    if not np.array_equal(_summed(np.frombuffer(raw[:24], order)[None, :], head[:0])[0], head[6:8]):
        return True
    frames = np.frombuffer(raw, np.uint8, offset=_HEADER)
    frames = frames[: len(frames) // (_FRAME + size) * (_FRAME + size)].reshape(-1, _FRAME + size)
    heads = np.ascontiguousarray(frames[:, :_FRAME]).view(">u4").astype(np.uint32)
    return _ends_early(heads, frames, head.astype(np.uint32), order)


def _ends_early(heads: _Words, frames: NDArray[np.uint8], head: _Words, order: str) -> bool:
    """Whether a transaction ends behind the first frame that is not sound."""
    before = np.concatenate([head[6:8][None, :], heads[:-1, 4:6]])
    is_of_now = (heads[:, 2:4] == head[4:6]).all(axis=1)
    for start in range(0, len(frames), _AT_ONCE):
        some = frames[start : start + _AT_ONCE]
        words = np.ascontiguousarray(np.concatenate([some[:, :8], some[:, _FRAME:]], axis=1)).view(order)
        sums = _summed(words, before[start : start + _AT_ONCE])
        is_sound = is_of_now[start : start + _AT_ONCE] & (sums == heads[start : start + _AT_ONCE, 4:6]).all(axis=1)
        if not is_sound.all():
            behind = start + int(np.argmin(is_sound)) + 1
            return bool((is_of_now[behind:] & (heads[behind:, 1] > 0)).any())
    return False


def _summed(words: NDArray[Any], before: NDArray[Any]) -> _Words:
    """The two sums SQLite makes over each row of words, going on from those before it, if there are any."""
    pairs = words.astype(np.uint32).reshape(len(words), -1, 2)
    weights = _weights(pairs.shape[1])
    first, both = pairs[:, :, 0], pairs[:, :, 0] + pairs[:, :, 1]
    sums = np.stack(
        [(first * weights[1:, i] + both * weights[1:, i + 1]).sum(axis=1, dtype=np.uint32) for i in (0, 1)], axis=1
    )
    if before.size:
        start = before.astype(np.uint32)
        sums += np.stack([start[:, 0] * weights[0, i] + start[:, 1] * weights[0, i + 1] for i in (0, 1)], axis=1)
    return sums


@cache
def _weights(pairs: int) -> _Words:
    """How much what comes before, and then each pair, counts in the end: numbers of Fibonacci, modulo 2 to the 32."""
    rows, (a, b, c) = list[tuple[int, int, int]](), (1, 0, 1)
    for _ in range(pairs + 1):
        rows.append((a, b, c))
        a, b, c = (a + b) % 2**32, (b + c) % 2**32, (b + 2 * c) % 2**32
    return np.array(rows[::-1], dtype=np.uint32)
