"""Memorizes texts so that nothing is lost, doubled or paid for twice, however often it is killed and begun again."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.runs.driving import Given, driven
from agentic_memory_bank.runs.home import Home, erase_folder
from agentic_memory_bank.runs.lease import locked
from agentic_memory_bank.state.memorizer import MemorizerOutput
from agentic_memory_bank.state.settings import Settings, checked_settings
from agentic_memory_bank.tools.pages.store import PageStores

_STOPPED = "Memorizing was stopped between two steps. Hand the same texts over again: nothing is done twice."


def memorize(
    texts: Sequence[Any],
    memory: str,
    settings: Settings | None = None,
    home: Path | None = None,
    given: Given | None = None,
) -> MemorizerOutput:
    """Make pages of texts. Killed at any point, it is called again with the same texts and does what was left.

    Args:
        texts: As the graph takes them.
        memory: The name of the memory, in the home folder.
        settings: Default: those of the environment.
        home: Folder of all memories. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        given: What to memorize with.

    Raises:
        InputError: A text, or the name, cannot be used.
        SettingsError: A model cannot be asked.
        ThreadBusyError: Another process is memorizing for this memory.
        RunError: It was stopped through `RunControl`.
        StorageError: The memory cannot be read or written, or is damaged.
    """
    given, place = given or Given(), Home(home)
    place.prepare()
    with closing(PageStores(place.path, clock=given.clock)) as stores:
        pages = cast(Path, stores.of(memory).path)
        answers = pages.with_suffix(".answers")  # a folder, for SQLite makes several files
        with locked(place.lock(f"memory {pages.stem}"), f"The memory '{memory}'"):
            memorizer = build_memorizer(
                engine=given.engine,
                models=given.models,
                stores=stores,
                clock=given.clock,
                answers=answers / "answers.sqlite",
            )
            wanted = {"texts": texts, "memory": memory}
            output = driven(memorizer, wanted, MemorizerOutput, checked_settings(settings), given, _STOPPED)
            if output.get("status") == "completed":
                erase_folder(answers)
    return cast(MemorizerOutput, output)
