"""Drives a graph that keeps no thread of its own: its events are told, and it can be stopped between two steps."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

from agentic_memory_bank.engines.research import ResearchEngine
from agentic_memory_bank.graph.chainable import RECURSION_LIMIT
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.state.errors import RunError
from agentic_memory_bank.state.settings import Settings

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

Progress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Given:
    """What is given in code to memorize or to research with; none of it is written to disk."""

    engine: ResearchEngine | None = None
    models: "GivenModels | None" = None
    embeddings: Embeddings | None = None
    clock: Clock = utc_now
    control: RunControl | None = None
    on_event: Progress | None = None


def driven(graph: Any, asked: Mapping[str, Any], output: type, settings: Settings, given: Given, stopped: str) -> Any:
    """Run a graph to its end.

    Args:
        graph: The compiled graph.
        asked: Its input.
        output: The mapping type that says what comes back.
        settings: Of the run.
        given: Holds who hears of events, and who may stop it.
        stopped: What is said when it was stopped.

    Raises:
        RunError: It was stopped through `RunControl`.
    """
    found: Any = {}
    options = {"control": given.control} if given.control else {}
    told = graph.stream(
        asked,
        {"recursion_limit": RECURSION_LIMIT},
        context=settings,
        stream_mode=["custom", "updates", "values"],
        output_keys=list(output.__annotations__),
        **options,
    )
    try:
        with closing(told):  # its threads must end before the stores they write to are closed
            for mode, news in told:
                if mode == "values":
                    found = news
                elif given.on_event:
                    for event in [news] if mode == "custom" else [{"done": stage} for stage in news]:
                        given.on_event(event)
    except GraphDrained:
        raise RunError(stopped) from None
    return found
