"""Checks what `run` and `resume` are given in code, before anything is written."""

import os
from collections.abc import Mapping
from typing import Any, cast

from langgraph.runtime import RunControl, Runtime

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.state.errors import InputError, SettingsError
from agentic_memory_bank.state.settings import Settings


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
