"""Where an export may be written, and how it is told from other files; checked before anything heavy is loaded."""

import os
from pathlib import Path
from typing import Final

from agentic_memory_bank.state.errors import InputError

FORMAT: Final = "agentic-memory-bank"
"""Value of the field `format` in an export."""
LONGEST_NAME: Final = 200
"""Longest name in bytes: that of the part file is longer, and file systems allow 255."""


def checked_export(path: str | Path | None) -> Path | None:
    """Check the path of an export.

    Raises:
        InputError: The path is a folder, pipe or device, or its name is no name of a file.
    """
    if path is None or path == "":
        return None
    place = Path(path).absolute()
    refused = f"The export cannot be written to {str(path)!r}"
    try:
        if not place.name or "\0" in str(place) or len(os.fsencode(place.name)) > LONGEST_NAME or place.is_dir():
            raise InputError(f"{refused}. Give the name of a file.")
        if place.exists() and not place.is_file():
            raise InputError(f"{refused}: it is no regular file. Give another name.")
    except OSError as error:
        raise InputError(f"{refused} ({error.strerror}). Give another name.") from error
    return place
