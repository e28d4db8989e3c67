"""What the stages of every graph work with besides state and settings: an engine, a clock, and on whose behalf."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, cast

from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from agentic_memory_bank.engines.base import EngineT
from agentic_memory_bank.engines.factory import EngineFactory, EngineRequest, MeteredEngine
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import InputError, NoUserError, unfit
from agentic_memory_bank.state.memory_bank import Allowance, Usage
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.memories.validation import stamp

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.react_agent import ReactAgent
    from agentic_memory_bank.tools.concurrency.long_work import Listener
    from agentic_memory_bank.tools.embeddings.encoder import Told

Clock = Callable[[], datetime]
Graph = CompiledStateGraph[Any, Any, Any, Any]


class MeteredState(TypedDict, total=False):
    """The keys that every graph's state shares: what a run may spend, and what it has spent."""

    started: float
    """When the run began or was last allowed to go on, in seconds since 1970."""
    allowance: Allowance
    usage: Usage
    degraded: list[str]
    judge: str
    """The chat models the run was begun with; empty for an engine that needs none."""


class Owner(NamedTuple):
    """Whose memories are read and written."""

    user: str
    project: str
    """Empty for memories without a project."""


class BackgroundQueue(Protocol):
    """Runs jobs in the background; those of one key one after the other."""

    def submit(self, key: str, job: Callable[[], object]) -> bool:
        """Take a job; False where the queue is full."""
        ...


def utc_now() -> datetime:
    """Tell the time, as every graph does unless it is given another clock."""
    return datetime.now(UTC)


def timestamp(moment: datetime, not_before: str = "") -> str:
    """Format a time as ISO 8601 in UTC with microseconds.

    Args:
        not_before: An earlier timestamp; it is returned where the clock was set back behind it.
    """
    return max(stamp(moment), not_before)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDeps(Generic[EngineT]):
    """Dependencies of a graph's stages. Given when the graph is built; never part of state, config or checkpoints."""

    engine: EngineT
    """The engine passed in code, or else the offline one; within `run_stage`, the engine of the run."""
    engines: EngineFactory[EngineT] | None = None
    """Makes the engine of each run; None where `engine` serves all runs."""
    clock: Clock = utc_now
    agent: "ReactAgent | None" = None
    """Carries out steps with tools; only runs of the memory bank have one."""

    def __post_init__(self) -> None:
        """Check the clock, where it is given and not where it first strikes.

        Raises:
            InputError: It cannot be called.
        """
        if not callable(cast(object, self.clock)):
            raise unfit("clock", self.clock, "a function that returns the time")

    @property
    def offline(self) -> EngineT:
        """The engine that needs no model: it stands in where none answers."""
        return self.engines.offline if self.engines else self.engine

    def goal_of(self, state: Any) -> str:
        """Name what a run works on; what it spends is counted under this name."""
        return ""

    def engine_for(self, state: Any, runtime: Runtime[Any], goal: str | None = None) -> MeteredEngine[EngineT]:
        """Make the engine of a run, with the meter that counts what it spends.

        Args:
            state: Any graph's state; the keys of `MeteredState` are read.
            goal: What is spent is counted under this name. Default: `goal_of(state)`.
        """
        if self.engines is None:
            return MeteredEngine(self.engine)
        shared = cast(MeteredState, state)
        info, started = runtime.execution_info, shared.get("started", 0.0)
        thread = info.thread_id if info else None
        goal = self.goal_of(state) if goal is None else goal
        return self.metered(
            Settings.of(runtime),
            thread or goal,
            # Runs of the same input are kept apart that have no thread, and are therefore never resumed.
            goal if thread else f"{goal} {shared.get('started', '')}",
            allowance=shared.get("allowance", {}),
            started=started,
            on_event=runtime.stream_writer,
        )

    def metered(
        self,
        settings: Settings,
        thread: str,
        goal: str,
        *,
        allowance: Allowance | None = None,
        started: float | None = None,
        on_event: Callable[[dict[str, Any]], object] = lambda _: None,
    ) -> MeteredEngine[EngineT]:
        """Make an engine that charges what it spends to a goal.

        Args:
            thread: Whose paid answers are used again.
        """
        if self.engines is None:
            return MeteredEngine(self.engine)
        begun = self.clock().timestamp() if started is None else started
        elapsed = lambda: self.clock().timestamp() - begun  # noqa: E731
        return self.engines.of(EngineRequest(settings, thread, goal, allowance or {}, elapsed, on_event))


def context_of(runtime: Runtime[MemoryContext]) -> MemoryContext:
    """Read settings, user and project of an invocation.

    Raises:
        SettingsError: A value is not allowed.
    """
    return MemoryContext.of(cast("Runtime[Settings]", runtime))


def user_of(runtime: Runtime[Any]) -> str:
    """Name the authenticated user of LangGraph's server; empty where there is no authentication.

    A client cannot set it: the server refuses these keys of `configurable` from outside.
    """
    info = runtime.server_info
    if info and info.user is not None:
        return str(info.user.identity)
    configurable: Mapping[str, Any] = get_config().get("configurable", {})
    user = configurable.get("langgraph_auth_user")  # plain data where the server encrypts what it stores
    named = user.get("identity") if isinstance(user, Mapping) else None
    return str(configurable.get("langgraph_auth_user_id") or named or "")


def named_user(runtime: Runtime[Any]) -> str:
    """Name the authenticated user, or else the one whom the caller names; empty where there is neither.

    Raises:
        InputError: The caller names another than the one who is authenticated.
    """
    context, authenticated = Settings.of(runtime), user_of(runtime)
    named: str = getattr(context, "user", None) or ""
    if authenticated and named not in ("", authenticated):
        raise InputError("The user in `context` is not the one who is authenticated. Leave `user` out.")
    return authenticated or named


def owner_of(runtime: Runtime[MemoryContext]) -> Owner:
    """Say whose memories an invocation uses: the authenticated user's, or else those of the user in `context`.

    Raises:
        NoUserError: There is no user.
        InputError: `context` names another user than the authenticated one.
    """
    user = named_user(runtime)
    if not user:
        raise NoUserError('Nobody is named whose memories are meant. Pass `context={"user": ...}`.')
    return Owner(user, context_of(runtime).project)


def work_progress(runtime: Runtime[Any], stage: str) -> "Listener":
    """Make a listener that sends, as custom events, how much of a stage's long work is done and how much is left."""
    return lambda counted, done, whole: runtime.stream_writer({"stage": stage, counted: done, "left": whole - done})


def embedding_progress(runtime: Runtime[Any], stage: str) -> "Told":
    """Make a callback that sends, as a custom event, how many texts of a stage have vectors and how many are left."""
    return partial(work_progress(runtime, stage), "embedded")
