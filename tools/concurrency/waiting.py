"""Lets the threads that do the work of a graph see whether anybody still waits for it, so that they can stop."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final, TypeVar

_Step = TypeVar("_Step")
_Result = TypeVar("_Result")


@dataclass(slots=True)
class Waiter:
    """Whoever waits for the steps of a graph; where that is part of another graph, they wait for that one, too."""

    around: "Waiter | None" = None
    has_left: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether nobody waits any more."""
        return self.has_left or (self.around is not None and self.around.is_gone)


_WAITER: Final[ContextVar[Waiter | None]] = ContextVar("waiter", default=None)
"""Threads that a graph starts for its stages have it from whoever asked for the next step."""


def check_waited_for() -> None:
    """See that somebody waits for what this thread does, as far as is known.

    Raises:
        CancelledError: Nobody does. It is no `Exception`, so that nothing is tried again or done otherwise instead.
    """
    waiter = _WAITER.get()
    if waiter is not None and waiter.is_gone:
        raise asyncio.CancelledError("Nobody waits for this any more.")


class TimeLimitReached(Exception):
    """What was to be done within some time was not done."""


def within(seconds: float, work: Callable[[], _Result]) -> _Result:
    """Do something on a thread of its own, which nobody waits for any more after so many seconds.

    Raises:
        TimeLimitReached: It was not done; what it does meanwhile has no effect on whoever asked.
    """
    done: Future[_Result] = Future()
    waiter, context = Waiter(_WAITER.get()), copy_context()

    def do() -> None:
        _WAITER.set(waiter)
        try:
            done.set_result(work())
        except BaseException as fault:
            done.set_exception(fault)

    Thread(target=context.run, args=(do,), daemon=True).start()
    try:
        wait([done], seconds)
    finally:
        waiter.has_left = not done.done()
    if waiter.has_left:
        raise TimeLimitReached
    return done.result()


def waited_for(steps: Generator[_Step, Any, Any]) -> Generator[_Step]:
    """The steps of a graph, whose threads are told when nobody asks for the next one any more."""
    waiter = Waiter(_WAITER.get())
    try:
        while True:
            before = _WAITER.set(waiter)
            try:
                step = next(steps)
            except StopIteration:
                return
            finally:
                _WAITER.reset(before)
            yield step
    except BaseException:
        waiter.has_left = True
        raise
    finally:
        steps.close()


async def awaited(steps: AsyncGenerator[_Step, Any]) -> AsyncGenerator[_Step]:
    """As `waited_for`; who waits may also be cancelled."""
    waiter = Waiter(_WAITER.get())
    try:
        while True:
            before = _WAITER.set(waiter)
            try:
                step = await anext(steps)
            except StopAsyncIteration:
                return
            finally:
                _WAITER.reset(before)
            yield step
    except BaseException:
        waiter.has_left = True
        raise
    finally:
        await steps.aclose()
