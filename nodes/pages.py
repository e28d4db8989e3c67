"""What the stages of memorizer and researcher work with besides state and settings, and whose memory it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from langgraph.config import get_config
from langgraph.runtime import Runtime

from agentic_memory_bank.engines.factory import Judge, Judges
from agentic_memory_bank.engines.research import ResearchEngine
from agentic_memory_bank.nodes.kit import Clock, Judged, judge_of, utc_now
from agentic_memory_bank.state.errors import InputError, ToolError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.pages.library import AbstractIndexes, PageLibraries, PageLibrary
from agentic_memory_bank.tools.pages.store import PageStore
from agentic_memory_bank.tools.pages.stores import PageStores

UNNAMED = "default"
"""The memory that is meant where nobody can name one: a message has no place for it."""


@dataclass(frozen=True, slots=True)
class PageKit:
    """Given to the stages when a graph is built; never part of state, config or checkpoints."""

    engine: ResearchEngine
    """Who judges this stage."""
    stores: PageStores
    clock: Clock = utc_now
    judges: Judges[ResearchEngine] | None = None
    """Who judges which run; None where the engine is the same for all."""
    abstracts: AbstractIndexes = field(default_factory=AbstractIndexes)
    libraries: PageLibraries | None = None
    """The memories that were searched last; None where nothing is searched."""
    searched: PageLibrary | None = None
    """What is searched whatever memory is named: the pages of a memory bank. None: the memory of that name."""
    agent: None = None
    """No stage here has tools."""

    def store(self, memory: str, runtime: Runtime[Settings]) -> PageStore:
        """The memory of this name that belongs to whoever is authenticated, or else to whom the caller names.

        Raises:
            InputError: The name cannot be kept, or the caller names another than the one who is authenticated.
        """
        return self.stores.of(memory, named_user(runtime))

    def library(self, memory: str, runtime: Runtime[Settings]) -> PageLibrary:
        """The same memory, ready to be searched, as it is now.

        Raises:
            InputError: The name cannot be kept.
            StorageError: The memory cannot be read, or is damaged.
            ToolError: This graph searches nothing.
        """
        if self.searched is not None:
            return self.searched
        if self.libraries is None:
            raise ToolError("This graph has no pages to search. Build it with `libraries`.")
        return self.libraries.of(self.store(memory, runtime), Settings.of(runtime))

    def judge(self, state: Judged, runtime: Runtime[Settings]) -> Judge[ResearchEngine]:
        """The engine of this run."""
        if self.judges is None:
            return Judge(self.engine)
        work = cast("Mapping[str, Any]", state).get("work", {})  # the graphs call what they do alike
        return judge_of(self.judges, state, runtime, self.clock, str(work.get("id", "")))


def named_user(runtime: Runtime[Any]) -> str:
    """On whose behalf an invocation is made: who is authenticated, or else whom the caller names; empty where neither.

    Raises:
        InputError: The caller names another than the one who is authenticated.
    """
    context, authenticated = Settings.of(runtime), user_of(runtime)
    named: str = getattr(context, "user", None) or ""
    if authenticated and named not in ("", authenticated):
        raise InputError("The user in `context` is not the one who is authenticated. Leave `user` out.")
    return authenticated or named


def user_of(runtime: Runtime[Any]) -> str:
    """Who is authenticated, as LangGraph's server says; empty where nobody has to be.

    A client cannot set it: the server refuses these keys of `configurable` from outside.
    """
    info = runtime.server_info
    if info and info.user is not None:
        return str(info.user.identity)
    configurable: Mapping[str, Any] = get_config().get("configurable", {})
    user = configurable.get("langgraph_auth_user")  # plain data where the server encrypts what it stores
    named = user.get("identity") if isinstance(user, Mapping) else None
    return str(configurable.get("langgraph_auth_user_id") or named or "")
