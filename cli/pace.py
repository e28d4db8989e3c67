"""How far work is that knows how much there is, and how long the rest takes at the pace so far."""

import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

BAR: Final = 20
"""Signs of a bar."""
_COUNTS: Final = ("embedded", "summarised", "indexed", "read", "compared", "merged", "pages", "answered")
"""What an event that says how much is `left` may count."""


class _Counted(NamedTuple):
    """What an event counts."""

    name: str
    done: int
    left: int

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self | None:
        """Read an event; None where it does not say how much is left."""
        left = event.get("left")
        name = next((name for name in _COUNTS if isinstance(event.get(name), int)), None)
        return None if name is None or not isinstance(left, int) else cls(name, event[name], left)


class Pace:
    """Follows the events of a run: the work that was counted last, until nothing of it is left."""

    def __init__(self) -> None:
        self._now: _Counted | None = None
        self._begun = 0.0
        self._first = 0

    def follow(self, event: Mapping[str, Any]) -> None:
        """Take in an event of the run."""
        found = _Counted.of(event)
        if found is None:
            return
        before = self._now
        if before is None or before.name != found.name or found.done < before.done:
            self._begun, self._first = time.monotonic(), found.done
        self._now = found if found.left else None

    @property
    def told(self) -> str:
        """A bar, what is done of what there is, and the time left; empty where nothing is counted."""
        if self._now is None:
            return ""
        whole = self._now.done + self._now.left
        full = BAR * self._now.done // whole
        return f"{'█' * full}{'░' * (BAR - full)} {self._now.done:,} of {whole:,}{self._time_left()}"

    def _time_left(self) -> str:
        """The time left; nothing before two events have shown how long things take."""
        if self._now is None or self._now.done <= self._first:
            return ""
        seconds = (time.monotonic() - self._begun) / (self._now.done - self._first) * self._now.left
        return f", about {_lasting(seconds)} left"


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"
