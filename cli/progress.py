"""Keeps a person, or a program, informed while a run works: JSON lines, plain lines, or a live display."""

import json
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self, cast

import typer

from agentic_memory_bank.cli import terminal
from agentic_memory_bank.cli.pace import Pace

Event = dict[str, Any]
Emit = Callable[[Event], None]

SILENCE_SECONDS = 8.0
"""After this long without news, plain and JSON progress say that work goes on."""
LOADER = "agentic_memory_bank.tools.embeddings.models"
"""The logger that says when the embedding model is loaded; to import it would take as long as loading."""
_LINES_SHOWN = 8
_TASK_CHARACTERS = 100


def progress(*, as_json: bool) -> "Progress":
    """The progress that fits: JSON lines for machines, a live display on a terminal, plain lines elsewhere."""
    if as_json:
        return JsonProgress()
    return LiveProgress() if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else PlainProgress()


def described(event: Event) -> str:
    """An event in words: the stage, and what it counts; empty where it is no news for a person."""
    if "note" in event:
        return terminal.on_one_line(str(event["note"]))
    if "loading" in event:
        return "loading the model" if event["loading"] else ""
    if "research" in event:
        return f"research: {described(event['research'])}"
    if "stage" not in event:
        return terminal.spent(event.get("usage"))
    rest = {key: value for key, value in event.items() if key != "stage"}
    if "task" in rest:
        task = rest.pop("task")
        said = f"next: {task['kind']}: {task['text']}" if task else "nothing is left to do"
        return f"{event['stage']}: {terminal.shortened(said, _TASK_CHARACTERS)}"
    counts = ", ".join(_said(value, name) for name, value in rest.items())
    return terminal.shortened(f"{event['stage']}: {counts}", _TASK_CHARACTERS)


def is_asking(event: Event) -> bool:
    """Whether an event tells what a model is asked, or how much it has answered: it is shown beside the stage alone."""
    told = event.get("research", event)
    return "asking" in told or "answered" in told


def _is_news(event: Event) -> bool:
    """Whether an event tells of something that is under way now."""
    return "stage" in event or "research" in event


def _said(value: object, name: str) -> str:
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if isinstance(value, list):
        return _listed(cast("list[Any]", value), name)
    return f"{name} {value}" if name == "round" or not isinstance(value, int) else _counted(value, name)


def _listed(items: list[Any], name: str) -> str:
    """How many there are, and what they say; of pages there is nothing to say but their ids."""
    words = [str(item.get("request") or item.get("text") or "") if isinstance(item, dict) else item for item in items]
    return ": ".join(filter(None, (_counted(len(items), name), "" if name == "pages" else "; ".join(words))))


def _counted(value: int, name: str) -> str:
    if value == 1:
        name = f"{name.removesuffix('ies')}y" if name.endswith("ies") else name.removesuffix("s")
        name = name.removesuffix("e") if name.endswith("che") else name
    return f"{value:,} {name}"


class Progress:
    """Shows what a run does, on stderr: the clock, the stage under way, and what the package logs meanwhile."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._heard = self._begun
        self._doing: Event | None = None
        self._spent: Event = {}
        self._asking: tuple[float, Event] | None = None
        self._is_loading = False
        self._pace = Pace()
        self._log = _Notes(self.event)

    def __enter__(self) -> Self:
        self._begun = self._heard = time.monotonic()
        self._log.attach()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.detach()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begun

    def event(self, event: Event) -> None:
        """Take in an event of the run, a note, `{"note": text}`, or a model that is loaded, `{"loading": True}`."""
        told = event.get("research", event)
        self._pace.follow(told)
        if is_asking(event):
            self._asking = (time.monotonic(), told["asking"]) if "asking" in told else None
            return
        self._heard = time.monotonic()
        self._asking = None
        if "usage" in event and event["usage"]["calls"] > self._spent.get("usage", {}).get("calls", 0):  # in any order
            self._spent = event
        if _is_news(event):
            self._doing = event
        elif "done" in event:
            self._doing = None
        self._is_loading = bool(event.get("loading", self._is_loading))

    @property
    def doing(self) -> str:
        """What is under way, in words; empty where that is not known."""
        if self._is_loading:
            return described({"loading": True})
        return "; ".join(filter(None, (described(self._doing or {}), self._asked(), self._pace.told)))

    def _asked(self) -> str:
        """What a model is asked, with the seconds that are left for it."""
        if self._asking is None:
            return ""
        at, asking = self._asking
        told = [f"asking {asking['role']}", f"{max(0.0, asking['seconds'] + at - time.monotonic()):.0f} s left"]
        told += [f"try {asking['attempt']}"] if asking["attempt"] > 1 else []
        return ", ".join(told + ([_counted(asking["tokens"], "tokens")] if asking["tokens"] else []))

    def tick(self) -> None:
        """Called several times a second: says that work goes on when nothing was said for long."""
        if time.monotonic() - self._heard >= SILENCE_SECONDS:
            self._heard = time.monotonic()
            self.alive()

    def alive(self) -> None:
        """Say that work goes on."""


class PlainProgress(Progress):
    """One line of text per piece of news."""

    def __init__(self) -> None:
        super().__init__()
        self._told = self._spent

    def event(self, event: Event) -> None:
        """Print what a stage counts, and what models have cost by the end of a stage that asked one."""
        super().event(event)
        if is_asking(event):
            return
        if _is_news(event) or "note" in event or event.get("loading"):
            self._line(described(event))
        elif "done" in event and self._spent is not self._told:
            self._told = self._spent
            self._line(described(self._spent))

    def alive(self) -> None:
        """Print what is still under way."""
        self._line(f"still working ({self.doing})" if self.doing else "still working")

    def _line(self, text: str) -> None:
        _tell(f"{self.elapsed:6.1f} s  {text}")


class JsonProgress(Progress):
    """One JSON object per line, as the run reports it, with the seconds since the beginning."""

    def event(self, event: Event) -> None:
        """Print the event as it came."""
        super().event(event)
        self._line(event)

    def alive(self) -> None:
        """Print that the process is alive."""
        self._line({"alive": True})

    def _line(self, event: Event) -> None:
        _tell(json.dumps({**event, "elapsed": round(self.elapsed, 3)}))


def _tell(line: str) -> None:
    """Write a line to stderr; where that is full or closed, nothing is told, and the work goes on."""
    with suppress(OSError):
        typer.echo(line, err=True)


class LiveProgress(Progress):
    """The last few stages and a clock that ticks, redrawn in place and gone at the end."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        super().__init__()
        self._lines: deque[str] = deque(maxlen=_LINES_SHOWN)
        self._spinner = Spinner("dots")
        self._live = Live(
            console=Console(stderr=True), get_renderable=self._drawn, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> Self:
        """Show the display."""
        super().__enter__()
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the display."""
        self._live.stop()
        super().__exit__(kind, fault, trace)

    def event(self, event: Event) -> None:
        """Move a stage that is done to the lines above the clock; a note stays on the screen for good."""
        before = self._doing
        super().event(event)
        if "note" in event:
            self._live.console.print(described(event), markup=False, highlight=False)
        elif before is not None and before is not self._doing:
            self._lines.append(described(before))

    def _drawn(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        self._spinner.update(
            text=Text(f"{self.elapsed:.0f} s  {self.doing or 'working'}", no_wrap=True, overflow="ellipsis")
        )
        done = [Text(f"  {line}", style="dim", no_wrap=True, overflow="ellipsis") for line in list(self._lines)]
        total = [Text(f"  {described(self._spent)}", no_wrap=True, overflow="ellipsis")] if self._spent else []
        return Group(*done, self._spinner, *total)


class _Notes(logging.Handler):
    """Makes events of what the package logs: its warnings, which would tear the display, and that a model is loaded."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(logging.INFO)
        self._emit = emit

    def attach(self) -> None:
        """Listen from now on."""
        logging.getLogger("agentic_memory_bank").addHandler(self)
        logging.getLogger(LOADER).setLevel(logging.INFO)

    def detach(self) -> None:
        """Listen no more."""
        logging.getLogger("agentic_memory_bank").removeHandler(self)
        logging.getLogger(LOADER).setLevel(logging.NOTSET)

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, "loading"):
            self._emit({"loading": cast(Any, record).loading})
        elif record.levelno >= logging.WARNING:
            self._emit({"note": record.getMessage()})


@contextmanager
def loading_shown() -> Iterator[None]:
    """Say on a terminal when the model is loaded, for commands that have no other progress to show."""
    notes = _Notes(lambda event: typer.echo(described(event), err=True) if event.get("loading") else None)
    if not sys.stderr.isatty():
        yield
        return
    notes.attach()
    try:
        yield
    finally:
        notes.detach()
