"""Tells tracers what memory does, as spans by the OpenTelemetry API where that is installed; else nothing is done.

Only the API is used, as in `metrics`. Names are those of OpenTelemetry's conventions for generative AI, where it has
one. No span holds a text, a user, a project or an id, nor the message of an error, which may quote a text.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing, closing, contextmanager, nullcontext
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any, Final, ParamSpec, Protocol, TypeVar, cast

TRACER: Final = "agentic_memory_bank"
OPERATION: Final = "gen_ai.operation.name"
ERROR: Final = "error.type"
FOUND: Final = "memory_bank.memories"
"""How many memories an operation found, stored or deleted."""
_INTERNAL, _CLIENT = "INTERNAL", "CLIENT"

Attributes = Mapping[str, str | int | float | bool]
_P = ParamSpec("_P")
_R = TypeVar("_R")
_Step = TypeVar("_Step")


class Span(Protocol):
    """What is used of a span."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Add an attribute."""

    def set_status(self, status: Any) -> None:
        """Say how it went."""

    def end(self) -> None:
        """End it."""


@lru_cache(maxsize=1)
def _api() -> tuple[Any, Any] | None:
    """The API's module of tracing and our tracer; None where it is not installed."""
    try:
        trace = import_module("opentelemetry.trace")
    except ImportError:
        return None
    return trace, trace.get_tracer(TRACER)


def _begun(name: str, attributes: Attributes, kind: str = _INTERNAL) -> Span | None:
    api = _api()
    if api is None:
        return None
    trace, tracer = api
    return cast(Span, tracer.start_span(name, kind=getattr(trace.SpanKind, kind), attributes=dict(attributes)))


def _current(span: Span) -> AbstractContextManager[Any]:
    """Make a span the parent of those that begin meanwhile; it goes on after that."""
    trace, _ = cast("tuple[Any, Any]", _api())
    return trace.use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False)


def _failed(span: Span, fault: BaseException) -> None:
    """Note the kind of an error: no pause, and nobody's going away, is one."""
    trace, _ = cast("tuple[Any, Any]", _api())
    if isinstance(fault, Exception) and not _is_pause(fault):
        span.set_attribute(ERROR, type(fault).__name__)
        span.set_status(trace.StatusCode.ERROR)


def _is_pause(fault: Exception) -> bool:
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(fault).__mro__)


@contextmanager
def span(name: str, attributes: Attributes, kind: str = _INTERNAL) -> Iterator[Span | None]:
    """Tell of what is done within; None where nobody listens.

    Args:
        name: One of few: never words of anybody's.
        attributes: What tells spans of this name apart, likewise.
        kind: `CLIENT` for what is asked of another process.
    """
    begun = _begun(name, attributes, kind)
    with _ended(begun), _within(begun):
        yield begun


@contextmanager
def _ended(begun: Span | None) -> Iterator[None]:
    """End a span after what is done within, with the error that ends it, if one does."""
    try:
        yield
    except BaseException as fault:
        if begun is not None:
            _failed(begun, fault)
        raise
    finally:
        if begun is not None:
            begun.end()


def _within(begun: Span | None) -> AbstractContextManager[object]:
    """Open a span for what is done within; nothing where nobody listens."""
    return nullcontext() if begun is None else _current(begun)


def model_call(model: str) -> AbstractContextManager[Span | None]:
    """Tell of a call of a chat model; `annotate` adds what it read and wrote."""
    provider, colon, name = model.partition(":")
    told = {OPERATION: "chat", "gen_ai.request.model": name or model}
    return span(f"chat {name or model}", {**told, "gen_ai.provider.name": provider} if colon else told, _CLIENT)


def annotate(attributes: Attributes) -> None:
    """Add to the span that is open."""
    api = _api()
    if api is not None:
        current = api[0].get_current_span()
        for name, value in attributes.items():
            current.set_attribute(name, value)


def memory_operation(operation: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Tell of each call of a function as an operation on memories, and of how many it returns."""

    def told(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def called(*args: _P.args, **options: _P.kwargs) -> _R:
            with span(operation, {OPERATION: operation}) as open_span:
                result = function(*args, **options)
                if open_span is not None:
                    open_span.set_attribute(FOUND, _size(result))
                return result

        return called

    return told


def _size(result: object) -> int:
    """How many memories came back: of several searches, those of all."""
    if not isinstance(result, list | tuple):
        return 1
    several = cast("list[object]", result)
    return sum(_size(one) if isinstance(one, list) else 1 for one in several)


def stage_of(graph: str, stage: str) -> AbstractContextManager[Span | None]:
    """Tell of one stage of a graph."""
    return span(stage, {"memory_bank.graph": graph, "memory_bank.stage": stage})


def run_of(steps: Generator[_Step, Any, Any], graph: str) -> Generator[_Step, Any, Any]:
    """The steps of a graph, told of as one run; who asks for them keeps their own span meanwhile."""
    begun = _begun_run(graph)
    with _ended(begun), closing(steps):
        while True:
            with _within(begun):
                try:
                    step = next(steps)
                except StopIteration:
                    return
            yield step


async def arun_of(steps: AsyncGenerator[_Step, Any], graph: str) -> AsyncGenerator[_Step, Any]:
    """As `run_of`, in asynchronous code."""
    begun = _begun_run(graph)
    with _ended(begun):
        async with aclosing(steps):
            while True:
                with _within(begun):
                    try:
                        step = await anext(steps)
                    except StopAsyncIteration:
                        return
                yield step


def _begun_run(graph: str) -> Span | None:
    return _begun(f"invoke_workflow {graph}", {OPERATION: "invoke_workflow", "gen_ai.agent.name": graph})
