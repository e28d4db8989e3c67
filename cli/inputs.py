"""What commands are given: settings, documents, files and standard input, checked before anything heavy is loaded."""

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentic_memory_bank.cli.options import budgets_of
from agentic_memory_bank.cli.progress import Emit
from agentic_memory_bank.state.errors import InputError, InputTooLarge, LoadError, SettingsError

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from agentic_memory_bank.state.settings import Settings

STDIN: Final = "-"
"""What stands for standard input where a path is asked for."""
_STDIN_NAME: Final = "standard input"
_SKIPPED_SHOWN: Final = 5


def settings_from(
    assignments: Iterable[str] | None, model: str | None = None, budgets: Iterable[str] | None = None
) -> "Settings":
    """The settings of the environment, what `--set` says instead, and what `--model` and `--budget` say above that.

    Raises:
        SettingsError: There is no such setting, or no such value of it.
    """
    from agentic_memory_bank.state.settings import Settings, checked_settings
    from agentic_memory_bank.state.variables import EARLIER

    values: dict[str, Any] = {}
    for assignment in assignments or ():
        name, equals, value = assignment.partition("=")
        if not equals or name not in {*Settings.model_fields, *EARLIER}:
            known = ", ".join(Settings.model_fields)
            raise SettingsError(
                f"--set {assignment!r} names no setting. Write NAME=VALUE, where NAME is one of {known}."
            )
        values[name] = _parsed(value, "{")
    chosen = {} if model is None else {"model": model}
    return checked_settings({**values, **chosen, **budgets_of(budgets)})


def parts_from(settings: "Settings") -> dict[str, Any]:
    """What runs are given to work with. Tests put parts here that load no model.

    Raises:
        EmbeddingError: There is no folder where the settings say that the model is.
        SettingsError: The embeddings that the settings name lack a package or a key.
    """
    if settings.embeddings is None:
        return {}
    from agentic_memory_bank.tools.embeddings.models import default_embeddings

    return {"embeddings": default_embeddings(settings)}


def parts_of_memories(settings: "Settings") -> dict[str, Any]:
    """The same for memories, which are judged by engines of their own. Raises as `parts_from`."""
    return {name: part for name, part in parts_from(settings).items() if name in ("models", "embeddings")}


def check_paths(paths: Iterable[str]) -> None:
    """Refuse paths that lead nowhere before anything is loaded that reads documents.

    Raises:
        InputError: Standard input is named twice.
        LoadError: A path leads nowhere.
    """
    from agentic_memory_bank.tools.documents.files import check_readable

    given = list(paths)
    if given.count(STDIN) > 1:
        raise InputError("Standard input (`-`) can be read once. Give it a single time.")
    for path in given:
        if path != STDIN:
            check_readable(Path(path))


def documents_from(paths: Iterable[str], emit: Emit) -> "list[Document]":
    """Read files, folders and standard input in the order in which they were given."""
    from agentic_memory_bank.tools.documents.loaders import SkippedFile, load_all

    given = list(paths)
    if not given:
        return []
    emit({"stage": "read", "paths": len(given)})
    documents: list[Document] = []
    skipped: list[SkippedFile] = []
    for is_stdin, group in groupby(given, key=lambda path: path == STDIN):
        documents += [_standard_input()] if is_stdin else load_all(map(Path, group), skipped=skipped)
    emit({"stage": "read", "documents": len(documents), "characters": sum(len(d.page_content) for d in documents)})
    for path, reason in skipped[:_SKIPPED_SHOWN]:
        emit({"note": f"left out {path}: {reason}"})
    if len(skipped) > _SKIPPED_SHOWN:
        emit({"note": f"left out {len(skipped) - _SKIPPED_SHOWN} more"})
    return documents


def _standard_input() -> "Document":
    from langchain_core.documents import Document

    text = text_of(STDIN, "Pipe a text into it, or leave out `-`.")
    return Document(text, metadata={"source": _STDIN_NAME})


def text_of(path: str, if_empty: str) -> str:
    """The text of a file or of standard input.

    Args:
        path: The file, or `-`.
        if_empty: What to do where it holds nothing.

    Raises:
        LoadError: It cannot be read.
        InputTooLarge: It is too long.
        InputError: It is empty.
    """
    from agentic_memory_bank.tools.documents.decoding import decode
    from agentic_memory_bank.tools.documents.files import MAX_BYTES
    from agentic_memory_bank.tools.text.cleaning import clean

    name, title = (_STDIN_NAME, _STDIN_NAME.capitalize()) if path == STDIN else (path, path)
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise LoadError(f"{title} cannot be read ({why}). Check the path and its rights.") from fault
    if len(data) > MAX_BYTES:
        raise InputTooLarge(f"{title} holds more than {MAX_BYTES:,} bytes. Split it, or give less.")
    text = clean(decode(data, name)) if data else ""
    if not text.strip():
        raise InputError(f"{title} is empty. {if_empty}")
    return text


def text_or_json(path: str, opening: str, if_empty: str) -> Any:
    """The text of a file or of standard input, or the JSON it holds if it begins with one of `opening`: `"[{"`.

    Raises as `text_of`.
    """
    return _parsed(text_of(path, if_empty), opening)


def _parsed(text: str, opening: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text) if text.lstrip().startswith(tuple(opening)) else text.rstrip()
    return text.rstrip()


def check_export(export: Path | None) -> None:
    """Refuse now what could not be written after all the work, and what would be lost by it.

    Raises:
        InputError: It cannot be written, or is there and no export.
    """
    if export is None:
        return
    from agentic_memory_bank.runs.home import EXPORT_FORMAT, checked_export

    checked_export(export)  # not even opened if it is a pipe: that is to wait for who reads it
    folder = next(parent for parent in export.absolute().parents if parent.exists())
    if export.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"An export cannot be written to {export}. Give the name of a file in a folder you can write.")
    with suppress(FileNotFoundError), export.open("rb") as file:
        if EXPORT_FORMAT.encode() not in file.read(256):
            raise InputError(f"{export} is there already and is no export. Give another name.")
