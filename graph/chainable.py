"""A compiled graph that works the same in LangChain chains, streamed ones too, as alone."""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from functools import cache, wraps
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, cast, overload

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import DEFAULT_RECURSION_LIMIT, merge_configs, var_child_runnable_config
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import Command, Durability, TracePolicy
from langgraph.typing import ContextT, InputT, OutputT, StateT
from pydantic import BaseModel, GetJsonSchemaHandler, create_model

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.forms import schema_of, taken_from_clients
from agentic_memory_bank.tools.concurrency.waiting import awaited, waited_for
from agentic_memory_bank.tools.memories.store_adapter import check_store
from agentic_memory_bank.tools.spans import arun_of, run_of, stage_of

RECURSION_LIMIT = 10_000
"""Super-steps of one invocation; a graph that is about to reach it pauses, and is resumed with as many again."""


@cache
def _version() -> str:
    """The version that is installed, which is looked up once; that of a copy that nobody installed is not known."""
    try:
        return version("agentic-memory-bank")
    except PackageNotFoundError:
        return "unknown"


class ChainableGraph(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled graph with two other defaults, and a context schema for servers.

    Chains hand their steps LangChain's default limit of 25 super-steps, which would end a long task early, and streamed
    chains expect values, not the updates of stages. The context schema names what a client of a server may set.
    """

    @classmethod
    def of(
        cls, graph: CompiledStateGraph[Any, Any, Any, Any], hidden: Collection[str] = ()
    ) -> "ChainableGraph[Any, Any, Any, Any]":
        """Make one of a compiled graph.

        Args:
            hidden: Keys that are kept like all others, and neither streamed nor shown as part of the state.

        Raises:
            InputError: Its store is none of LangGraph's.
        """
        check_store(graph.store)
        _tell_of_stages(graph)
        shown = [key for key in graph.stream_channels_list if key not in hidden]
        told = {"memory_bank_graph": graph.get_name(), "memory_bank_version": _version()}
        attributes: dict[str, Any] = {
            **vars(graph),
            "stream_mode": "values",
            "stream_channels": shown,
            "config": merge_configs(graph.config, {"metadata": told}),  # LangSmith finds runs by it
        }
        return cls(**attributes)

    def _checked(self, input: Any) -> Any:
        """Check that the input is a `Command`, or None to go on with what waits, or names what the graph takes."""
        if input is None or isinstance(input, Command):
            return input
        taken = self.builder.schemas[self.builder.input_schema]
        told = f"`{self.get_name()}` takes {', '.join(taken)}."
        if not isinstance(input, Mapping):
            raise InputError(f"The input is of type {type(input).__name__}. Hand over a mapping: {told}")
        if input and not any(key in taken for key in input):
            raise InputError(f"The input names {', '.join(map(repr, input))}, and nothing that the graph knows. {told}")
        return input

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """Give the schema of the context that clients may send: what this graph uses, and nothing of the operator's."""
        return schema_of(self.get_name(), taken_from_clients())

    def config_schema(self, *, include: Sequence[str] | None = None) -> type[BaseModel]:
        """Give the same schema under `configurable`: servers show clients both, and forms may be made of either."""
        form = type(self.get_name(), (_Form,), {"shown": self.get_context_jsonschema()})
        return create_model(self.get_name("Config"), configurable=(form, None))

    if TYPE_CHECKING:  # LangGraph's own signatures know neither a mapping as context nor what comes back

        @overload
        def invoke(
            self,
            input: InputT | Command[Any] | None,
            config: RunnableConfig | None = None,
            *,
            context: ContextT | Mapping[str, Any] | None = None,
            durability: Durability | None = None,
        ) -> OutputT: ...
        @overload
        def invoke(
            self,
            input: InputT | Command[Any] | None,
            config: RunnableConfig | None = None,
            *,
            context: ContextT | Mapping[str, Any] | None = None,
            **options: Any,
        ) -> Any: ...
        def invoke(  # pyright: ignore[reportIncompatibleMethodOverride] - all of its overloads are the second one here
            self, input: Any, config: RunnableConfig | None = None, **options: Any
        ) -> Any:
            """As LangGraph's `invoke`; a context may be a mapping of settings by name."""

        @overload
        async def ainvoke(
            self,
            input: InputT | Command[Any] | None,
            config: RunnableConfig | None = None,
            *,
            context: ContextT | Mapping[str, Any] | None = None,
            durability: Durability | None = None,
        ) -> OutputT: ...
        @overload
        async def ainvoke(
            self,
            input: InputT | Command[Any] | None,
            config: RunnableConfig | None = None,
            *,
            context: ContextT | Mapping[str, Any] | None = None,
            **options: Any,
        ) -> Any: ...
        async def ainvoke(  # pyright: ignore[reportIncompatibleMethodOverride] - as above
            self, input: Any, config: RunnableConfig | None = None, **options: Any
        ) -> Any:
            """As `invoke`."""

    def stream(  # pyright: ignore[reportIncompatibleMethodOverride] - LangGraph's overloads differ in what they yield
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> Iterator[Any]:
        """Stream as LangGraph does; `stream_mode` is "values" unless given.

        Who stops asking for steps is no longer waited for: requests that are under way are hung up on.

        Raises:
            InputError: The input is no mapping, or names nothing that the graph takes.
        """
        steps = super().stream(self._checked(input), _roomy(config, self.config), **options)
        return waited_for(run_of(cast("Generator[Any]", steps), self.get_name()))

    def astream(  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Stream as LangGraph's `astream` does; `stream_mode` is "values" unless given.

        Raises:
            InputError: The input is no mapping, or names nothing that the graph takes.
        """
        steps = super().astream(self._checked(input), _roomy(config, self.config), **options)
        return awaited(arun_of(cast("AsyncGenerator[Any]", steps), self.get_name()))


def _tell_of_stages(graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    """Make each stage a span, in place: what a stage takes by name was read from its signature before."""
    for name, node in graph.builder.nodes.items():
        stage: Any = node.runnable
        if not hasattr(stage, "func") or name.startswith("__") or hasattr(stage, "told_of"):
            continue
        stage.told_of = name
        if stage.func is not None:
            stage.func = _told(stage.func, graph.get_name(), name)
        if stage.afunc is not None:
            stage.afunc = _atold(stage.afunc, graph.get_name(), name)


def _told(function: Callable[..., Any], graph: str, stage: str) -> Callable[..., Any]:
    @wraps(function)
    def told(*args: Any, **named: Any) -> Any:
        with stage_of(graph, stage):
            return function(*args, **named)

    return told


def _atold(function: Callable[..., Awaitable[Any]], graph: str, stage: str) -> Callable[..., Awaitable[Any]]:
    @wraps(function)
    async def told(*args: Any, **named: Any) -> Any:
        with stage_of(graph, stage):
            return await function(*args, **named)

    return told


def abridge_traces(graph: StateGraph[Any, Any, Any, Any], hidden: Collection[str]) -> None:
    """Leave keys out of what tracers record of each stage, which is its whole state; other callbacks see all."""

    def abridged(value: Any) -> Any:
        return {k: v for k, v in value.items() if k not in hidden} if isinstance(value, Mapping) else value

    for stage in graph.nodes.values():
        stage.trace_policy = TracePolicy(process_inputs=abridged, process_outputs=abridged)


class _Form(BaseModel):
    """A model whose JSON schema is given."""

    shown: ClassVar[dict[str, Any]]

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**cls.shown}


def _roomy(config: RunnableConfig | None, own: RunnableConfig | None) -> RunnableConfig | None:
    """Replace LangChain's default limit in a config; a function or tool around the graph hands it down, too."""
    given: RunnableConfig = config or {}
    around = {} if own and "recursion_limit" in own else var_child_runnable_config.get() or {}
    if given.get("recursion_limit", around.get("recursion_limit")) != DEFAULT_RECURSION_LIMIT:
        return config
    return {**given, "recursion_limit": RECURSION_LIMIT}
