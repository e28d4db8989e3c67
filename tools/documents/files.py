"""Opens the files and folders that somebody names, or says why they cannot be read."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

from agentic_memory_bank.state.errors import InputTooLarge, LoadError
from agentic_memory_bank.tools.text.cleaning import clean

MAX_BYTES: Final = 200 * 1024 * 1024
"""Largest file that is read."""


class UnusableError(LoadError):
    """Nothing to read here: an error for a path that was named, a reason to go on for one found in a folder."""


def shown(path: Path) -> str:
    """A path as text."""
    return clean(str(path))  # a file name may hold bytes that are no text


def is_folder(path: Path) -> bool:
    """Whether there is a folder of this name.

    Raises:
        LoadError: There is nothing of this name, or it cannot be looked at.
    """
    return stat.S_ISDIR(_status(path).st_mode)


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except (OSError, ValueError) as fault:
        raise cannot_open(path, fault) from fault


def read(path: Path, max_bytes: int) -> bytes:
    """Read a regular file; a pipe, device or socket is not even opened, for that may block or act.

    Raises:
        LoadError: It is not there, empty, no regular file, or cannot be read.
        InputTooLarge: It has more than `max_bytes`.
    """
    _check(path, _status(path), max_bytes)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as stream:
            _check(path, os.fstat(stream.fileno()), max_bytes)  # another file may have taken the name since
            data = stream.read(max_bytes + 1)
    except OSError as fault:
        raise cannot_open(path, fault) from fault
    if not data:
        raise UnusableError(f"{shown(path)} is empty. Give a file with text.")
    if len(data) > max_bytes:
        raise _too_large(path, len(data), max_bytes)
    return data


def check_readable(path: Path, max_bytes: int = MAX_BYTES) -> None:
    """See that a path leads to a folder, or to a file that can be read; nothing is opened.

    Raises:
        LoadError, InputTooLarge: As `read`.
    """
    if not is_folder(path):
        _check(path, _status(path), max_bytes)


def _check(path: Path, status: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnusableError(f"{shown(path)} is a pipe, socket or device, which is not read. Copy it to a regular file.")
    if status.st_size == 0:
        raise UnusableError(f"{shown(path)} is empty (0 bytes). Give a file with text.")
    if status.st_size > max_bytes:
        raise _too_large(path, status.st_size, max_bytes)


def _too_large(path: Path, size: int, max_bytes: int) -> InputTooLarge:
    return InputTooLarge(f"{shown(path)} has {size:,} bytes; the limit is {max_bytes:,}. Split it, or raise max_bytes.")


def cannot_open(path: Path, fault: Exception) -> LoadError:
    """The error for a path that could not be opened."""
    if isinstance(fault, OSError) and fault.errno in (errno.ENOENT, errno.ENOTDIR):
        if path.is_symlink():
            return UnusableError(f"{shown(path)} is a link to a file that is not there. Give the file itself.")
        return LoadError(f"There is no file or folder {shown(path)}. Check the path.")
    if isinstance(fault, PermissionError):
        return LoadError(f"{shown(path)} may not be read by this user. Change its permissions, or copy it.")
    if isinstance(fault, OSError) and fault.errno == errno.ELOOP:
        return UnusableError(f"{shown(path)} is a link that leads back to itself. Give the file itself.")
    return LoadError(f"{shown(path)} cannot be opened ({fault}). Check the path and the disk.")
