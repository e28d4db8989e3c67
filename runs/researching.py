"""Looks a request up in a memory so that no answer of a model is paid for twice, however often it is begun again."""

from contextlib import closing
from pathlib import Path
from typing import cast

from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.runs.driving import Given, driven
from agentic_memory_bank.runs.home import Home, erase_folder
from agentic_memory_bank.runs.lease import locked
from agentic_memory_bank.state.research import ResearcherOutput
from agentic_memory_bank.state.settings import Settings, checked_settings
from agentic_memory_bank.tools.pages.store import PageStores
from agentic_memory_bank.tools.text.cleaning import checked_text

_STOPPED = "Research was stopped between two steps. Ask the same again: what was answered is not paid for twice."


def research(
    request: str,
    memory: str,
    settings: Settings | None = None,
    home: Path | None = None,
    given: Given | None = None,
) -> ResearcherOutput:
    """Answer a request from a memory. Killed or stopped at any point, it is called again with the same request.

    The answers of models lie beside the memory until the request is answered.

    Args:
        request: What to find out.
        memory: The name of the memory, in the home folder.
        settings: Default: those of the environment.
        home: Folder of all memories. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        given: What to research with.

    Raises:
        InputError: The request, or the name, cannot be used.
        SettingsError: A model cannot be asked.
        ThreadBusyError: Another process is looking the same up in this memory.
        RunError: It was stopped through `RunControl`.
        StorageError: The memory cannot be read, or is damaged.
    """
    given, place, asked = given or Given(), Home(home), checked_text(request, "request")
    place.prepare()
    with closing(PageStores(place.path, clock=given.clock)) as stores:
        pages = cast(Path, stores.of(memory).path)
        answers = pages.with_suffix(".research") / digest(asked)[:16]
        with locked(place.lock(f"research {pages.stem} {answers.name}"), f"This research in '{memory}'"):
            researcher = build_researcher(
                engine=given.engine,
                models=given.models,
                embeddings=given.embeddings,
                stores=stores,
                clock=given.clock,
                answers=answers / "answers.sqlite",
            )
            wanted = {"request": asked, "memory": memory}
            output = driven(researcher, wanted, ResearcherOutput, checked_settings(settings), given, _STOPPED)
            if output.get("status") not in ("stopped", "failed"):
                erase_folder(answers)
    return cast(ResearcherOutput, output)
