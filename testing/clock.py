"""A clock for tests: it starts at a fixed moment and moves by a fixed step."""

from datetime import UTC, datetime, timedelta


class TickingClock:
    """Gives a moment, and at each further call one that is `step` later; two clocks alike tell the same times."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC), step: timedelta = timedelta(seconds=1)):
        self._next = start
        self._step = step

    def __call__(self) -> datetime:
        """Tell the time, and move on."""
        moment, self._next = self._next, self._next + self._step
        return moment
