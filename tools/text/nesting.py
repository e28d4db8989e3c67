"""Says whether brackets open so deep in a text that reading it as JSON would use up the stack.

Short: whatever reads JSON of somebody else, in any layer, asks here first.
"""

import re
from typing import Final

import numpy as np

DEEPEST: Final = 400
"""Brackets that may be open at once; Python's stack ends at a thousand calls, of which a graph has made some."""
_STRING: Final = re.compile(rb'"(?:\\.|[^"\\])*+"?+', re.DOTALL)
"""A string, also one that does not end: looked for anew at each quote within it, that would take the square."""
_STEPS: Final = np.zeros(256, dtype=np.int32)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1


def is_too_deep(text: str | bytes) -> bool:
    """Ask before a text of somebody else is read as JSON.

    Where the stack ends within the reader, whatever Python happens to collect just then is not finalized: a connection
    stays open, a place in a queue stays taken. Strings count, too, for what is JSON in them is read in its turn.

    Example:
        >>> is_too_deep("[" * 500), is_too_deep("[]" * 500)
        (True, False)
    """
    written = text.encode(errors="replace") if isinstance(text, str) else text
    return _depth(written) > DEEPEST or _depth(_STRING.sub(b"", written)) > DEEPEST


def _depth(written: bytes) -> int:
    opened = written.count(b"[") + written.count(b"{")
    if opened <= DEEPEST:
        return opened
    now = np.cumsum(_STEPS[np.frombuffer(written, dtype=np.uint8)])
    return int((now - np.minimum.accumulate(now)).max())
