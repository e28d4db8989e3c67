"""Memorizes texts as pages and answers requests from them: killed at any point, each can be called again.

Nothing is done, lost or paid for twice: the answers of models lie beside the pages until the call is done.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langchain_core.embeddings import Embeddings
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

from agentic_memory_bank.engines.research import ResearchEngine
from agentic_memory_bank.graph.chainable import RECURSION_LIMIT
from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.nodes.deps import Clock, utc_now
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.runs.homes import home_at
from agentic_memory_bank.runs.run_steps import Progress
from agentic_memory_bank.state.errors import RunError
from agentic_memory_bank.state.memorizer import MemorizerOutput
from agentic_memory_bank.state.research import ResearcherOutput
from agentic_memory_bank.state.settings import Settings, checked_settings
from agentic_memory_bank.tools.pages.store import MEMORIZING
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.text.cleaning import checked_text

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

_MEMORIZING_STOPPED = "Memorizing was stopped between two steps. Hand the same texts over again: nothing is done twice."
_RESEARCH_STOPPED = (
    "Research was stopped between two steps. Ask the same again: what was answered is not paid for twice."
)


@dataclass(frozen=True, slots=True)
class PageRunOptions:
    """Options of `memorize` and `research` in code; none of them is written to disk."""

    engine: ResearchEngine | None = None
    models: "GivenModels | None" = None
    embeddings: Embeddings | None = None
    clock: Clock = utc_now
    control: RunControl | None = None
    on_event: Progress | None = None


def memorize(
    texts: Sequence[Any],
    memory: str,
    settings: Settings | None = None,
    home: Path | None = None,
    given: PageRunOptions | None = None,
) -> MemorizerOutput:
    """Make pages of texts; killed at any point, a call with the same texts does what was left.

    Raises:
        InputError: A text, or the name, cannot be used.
        SettingsError: A model cannot be asked.
        ThreadBusyError: Another process is memorizing for this memory.
        RunError: The run was stopped through `RunControl`.
        StorageError: The memory cannot be read or written, or is damaged.
    """
    given, place = given or PageRunOptions(), home_at(home).prepare()
    with closing(PageStores(place.of_pages, clock=given.clock)) as stores:
        pages = stores.of(memory)
        with place.hold(f"memory {pages.name}", f"The memory '{memory}'"):
            memorizer = build_memorizer(
                engine=given.engine,
                models=given.models,
                embeddings=given.embeddings,
                stores=stores,
                clock=given.clock,
                answers=pages.answers(MEMORIZING),
            )
            wanted = {"texts": texts, "memory": memory}
            output = _run_to_end(
                memorizer, wanted, MemorizerOutput, checked_settings(settings), given, _MEMORIZING_STOPPED
            )
            if output.get("status") == "completed":
                pages.erase_answers(MEMORIZING)
    return cast(MemorizerOutput, output)


def research(
    request: str,
    memory: str,
    settings: Settings | None = None,
    home: Path | None = None,
    given: PageRunOptions | None = None,
) -> ResearcherOutput:
    """Answer a request from a memory of pages; killed at any point, a call with the same request goes on.

    Answers of models are kept beside the memory until the request is answered.

    Raises:
        InputError: The request, or the name, cannot be used.
        SettingsError: A model cannot be asked.
        ThreadBusyError: Another process is researching the same request in this memory.
        RunError: The run was stopped through `RunControl`.
        StorageError: The memory cannot be read, or is damaged.
    """
    given, asked = given or PageRunOptions(), checked_text(request, "request")
    place, work = home_at(home).prepare(), digest(asked)[:16]
    with closing(PageStores(place.of_pages, clock=given.clock)) as stores:
        pages = stores.of(memory)
        with place.hold(f"research {pages.name} {work}", f"This research in '{memory}'"):
            researcher = build_researcher(
                engine=given.engine,
                models=given.models,
                embeddings=given.embeddings,
                stores=stores,
                clock=given.clock,
                answers=pages.answers(work),
            )
            wanted = {"request": asked, "memory": memory}
            output = _run_to_end(
                researcher, wanted, ResearcherOutput, checked_settings(settings), given, _RESEARCH_STOPPED
            )
            if output.get("status") not in ("stopped", "failed"):
                pages.erase_answers(work)
    return cast(ResearcherOutput, output)


def _run_to_end(
    graph: Any, asked: Mapping[str, Any], output: type, settings: Settings, given: PageRunOptions, stopped: str
) -> Any:
    """Run a graph to its end.

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
