"""Does work in a thread of its own while its progress is shown, and obeys Ctrl-C within two seconds."""

import json
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import typer

from agentic_memory_bank.cli import terminal
from agentic_memory_bank.cli.progress import Emit, Event, Progress, progress

if TYPE_CHECKING:
    from langgraph.runtime import RunControl

Result = TypeVar("Result")

GRACE_SECONDS: Final = 1.2
"""How long a step that was under way may take to end by itself after Ctrl-C."""
LAST_RESORT_SECONDS: Final = 1.8
"""When the process ends after Ctrl-C even if the terminal takes no more text."""
TICK_SECONDS: Final = 0.1


class Interrupted(Exception):
    """Ctrl-C or SIGTERM: what was saved stays, what was under way may still be running in its thread."""


class Attempt:
    """What Ctrl-C needs to know of a run: how to ask it to end, and whether it may have been saved."""

    control: "RunControl | None" = None
    has_begun = False

    def begin(self) -> "RunControl":
        """Note that from now on the run may be saved, and make what asks it to end."""
        from langgraph.runtime import RunControl

        self.has_begun, self.control = True, RunControl()
        return self.control

    def stop(self) -> None:
        """Ask the run to end after the step it is in."""
        if self.control is not None:
            self.control.request_drain("interrupted")


Work = Callable[[Emit, Attempt], Result]
"""Does something, tells of it, and begins an attempt once there is something to interrupt."""


def attended(work: Work[Result], on_interrupt: Callable[[Attempt], tuple[Event, str]], *, as_json: bool) -> Result:
    """Work with progress on stderr; after Ctrl-C say what becomes of it, and leave."""
    attempt = Attempt()
    try:
        return attend(lambda emit: work(emit, attempt), progress(as_json=as_json), attempt.stop)
    except Interrupted:
        event, said = on_interrupt(attempt)
        typer.echo(json.dumps({"interrupted": True, **event}) if as_json else f"Interrupted{said}", err=True)
        sys.stderr.flush()
        leave()
        raise


def attend(work: Callable[[Emit], Result], shown: Progress, stop: Callable[[], None]) -> Result:
    """Do work in a thread of its own, show its events, and come back when it is done or when Ctrl-C was pressed.

    Args:
        work: What to do; it is given a function that takes its events.
        shown: Where the events go.
        stop: Asks the work to end after the step it is in; called at the first Ctrl-C.

    Raises:
        Interrupted: Ctrl-C or SIGTERM, and the work did not end in time or did so without a result. A thread of it
            may be left, so leave the process with `leave`.
    """
    news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    thread = threading.Thread(target=_put_outcome, args=(work, news), name="memory-bank", daemon=True)
    with _Signals() as signals, shown:
        thread.start()
        while True:
            if signals.first:
                stop()
            if signals.is_out_of_time:
                raise Interrupted
            kind, what = _next(news)
            if kind == "event":
                shown.event(what)
            elif kind == "result":
                signals.spare()
                return what
            elif kind == "error" and signals.received:
                raise Interrupted from what
            elif kind == "error":
                raise what
            shown.tick()


def _put_outcome(work: Callable[[Emit], Any], news: "queue.SimpleQueue[tuple[str, Any]]") -> None:
    try:
        news.put(("result", work(lambda event: news.put(("event", event)))))
    except BaseException as error:  # whatever it is, it belongs to whoever waits
        news.put(("error", error))


def _next(news: "queue.SimpleQueue[tuple[str, Any]]") -> tuple[str, Any]:
    try:
        return news.get(timeout=TICK_SECONDS)
    except queue.Empty:
        return "nothing", None


class _Signals:
    """Takes SIGINT and SIGTERM while work is attended to.

    The first one asks for an end and starts the last resort, the second ends the waiting, the third the process.
    """

    def __init__(self) -> None:
        self.received = 0
        self._seen = 0
        self._deadline = math.inf
        self._last_resort = threading.Timer(LAST_RESORT_SECONDS, leave)
        self._last_resort.daemon = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def first(self) -> bool:
        """True once, after the first signal."""
        is_first, self._seen = self.received > 0 and self._seen == 0, self.received
        return is_first

    @property
    def is_out_of_time(self) -> bool:
        """Whether the work had its time to end, or was asked twice."""
        return self.received > 1 or time.monotonic() >= self._deadline

    def spare(self) -> None:
        """The work was done in time: the process may live."""
        self._last_resort.cancel()

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.received += 1
        if self.received == 1:
            self._deadline = time.monotonic() + GRACE_SECONDS
            self._last_resort.start()
        elif self.received > 2:
            leave()


def leave() -> None:
    """End the process now, whatever its threads do: every step is on disk, and waiting for one could take minutes."""
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\x1b[?25h")  # the live display hides the cursor
    os._exit(terminal.INTERRUPTED)
