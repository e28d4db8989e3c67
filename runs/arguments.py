"""Checks what `run` and `resume` are given in code, before anything is written."""

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langgraph.runtime import RunControl, Runtime

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.engines.judges import Judges
from agentic_memory_bank.state.errors import InputError, SettingsError
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.attachments import MOST, checked_attachments, read_file

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels


def checked_settings(given: object) -> Settings:
    """Settings as a run uses them: those that were given, over those of the environment.

    Args:
        given: `Settings`, a mapping of their values by name, or `None`.

    Raises:
        SettingsError: It is neither, or a value is not allowed, here or in a `MEMORY_BANK_*` variable.
    """
    if isinstance(given, Settings):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise SettingsError(f"The settings are of type {type(given).__name__}. Give `Settings`, or a dict of values.")
    if unknown := sorted(set(map(str, given or ())) - set(Settings.model_fields)):
        raise SettingsError(
            f"There is no setting {', '.join(unknown)}. The settings are {', '.join(Settings.model_fields)}."
        )
    try:
        return Settings.of(Runtime(context=cast(Any, None if given is None else dict(given))))
    except SettingsError:
        raise
    except (TypeError, ValueError) as fault:  # a name that is no string; a variable that is not the JSON it should be
        raise SettingsError(
            f"These settings cannot be used: {fault}. Mend the argument or the variable MEMORY_BANK_<NAME>."
        ) from fault


def check_parts(
    engine: object, embeddings: object, execute: object, clock: object, home: object, on_event: object, control: object
) -> None:
    """See that everything given to run with can be what it is given as; `None` is always fine but for the clock.

    Raises:
        InputError: Something is not.
    """
    for name, given, is_fit, wanted in (
        ("engine", engine, _is_engine(engine), "an `Engine`, which has a name and every judgement"),
        ("embeddings", embeddings, _can(embeddings, "embed_documents", "embed_query"), "LangChain `Embeddings`"),
        ("execute", execute, callable(execute), "a function that takes an `Assignment`"),
        ("home", home, isinstance(home, str | os.PathLike), "the path of a folder"),
        ("on_event", on_event, callable(on_event), "a function that takes an event"),
        ("control", control, isinstance(control, RunControl), "LangGraph's `RunControl`"),
    ):
        if given is not None and not is_fit:
            raise _unfit(name, given, wanted)
    if not callable(clock):
        raise _unfit("clock", clock, "a function that returns the time")


def check_models(settings: Settings, engine: Engine | None, models: "GivenModels | None") -> None:
    """See that the models of a run can be asked; where an engine is given there are none. Sends nothing.

    Raises:
        SettingsError: A name is not known, a key is not set, or a budget of money lacks a price.
    """
    Judges(cast(Engine, engine), engine, models).check(settings)


def attached_files(given: object, settings: Settings) -> list[dict[str, str]]:
    """The attachments of a question as the ledger and the graph take them; paths are read here, and nowhere else.

    Args:
        given: Paths, and mappings with `name` and base64 `data`; a single one, or a sequence. None is none.
        settings: Hold the size limit.

    Raises:
        InputError: One has no name or no data, or is of no type that can be read; or they are too many.
        InputTooLarge: One is over `Settings.max_attachment_bytes`.
        LoadError: A file is missing, unreadable, or no regular file.
    """
    is_one = isinstance(given, str | os.PathLike | Mapping)
    if given is not None and not is_one and not isinstance(given, Sequence):
        raise _unfit("attachments", given, "a list of paths")
    items = cast("Sequence[object]", [given] if is_one else given or [])
    if len(items) > MOST:
        raise InputError(f"There are {len(items)} attachments, more than the {MOST} allowed. Hand over fewer.")
    read = [_attached(item, settings.max_attachment_bytes) for item in items]
    return [
        {"name": file.name, "data": base64.b64encode(file.data).decode()}
        for file in checked_attachments(read, settings)
    ]


def _attached(item: object, most: int) -> object:
    if not isinstance(item, str | os.PathLike):
        return item
    path = Path(item)
    return {"name": path.name, "data": base64.b64encode(read_file(path, most)).decode()}


def check_wishes(*, keep: object, export: object) -> None:
    """See that what is to become of the memory is said in terms that can be written down.

    Raises:
        InputError: It is not.
    """
    if keep is not None and not isinstance(keep, bool):
        raise _unfit("keep", keep, "True, False or None")
    if export is not None and not isinstance(export, str | os.PathLike):
        raise _unfit("export", export, "the path of a file")


def _is_engine(given: object) -> bool:
    return isinstance(given, Engine) and isinstance(cast(object, given.name), str)


def _can(given: object, *methods: str) -> bool:
    return not isinstance(given, type) and all(callable(getattr(given, method, None)) for method in methods)


def _unfit(name: str, given: object, wanted: str) -> InputError:
    return InputError(f"`{name}` cannot be of type {type(given).__name__}. Give {wanted}, or leave it out.")
