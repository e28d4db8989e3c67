"""Opens the files and folders that somebody names, and turns bytes into text, or says why that cannot be done."""

import codecs
import errno
import os
import re
import stat
from pathlib import Path
from typing import Final

from agentic_memory_bank.state.errors import InputTooLarge, LoadError
from agentic_memory_bank.tools.text.cleaning import clean
from agentic_memory_bank.tools.text.patterns import lazy_pattern

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


_MARKED = (  # the longer marks first: that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b") + b"\x7f"
_SAMPLE = 100_000  # characters outside ASCII that are looked at to judge an encoding
_NOT_ASCII = lazy_pattern(r"[^\x00-\x7f]+")
_UTF8_PAIR = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
_CHINESE = lazy_pattern(r"[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef\u2010-\u203b·]")
_FREQUENT = frozenset("的一是了不在有人我他这中大来上国年为和地到以")  # Chinese prose does not go on long without any
_WESTERN = lazy_pattern("[À-ÖØ-öø-ÿŠšŽžŒœŸ°§«»‘’“”–—…€£©®ªº¡¿·²³½¼¾\xa0]")


class BinaryError(LoadError):
    """The bytes are no text in any encoding, as opposed to text in an unknown one."""


def decode(data: bytes, name: str) -> str:
    """Return the text: UTF-8, UTF-16 or UTF-32 with a byte order mark, GB18030, or, where plausible, Latin-1.

    Raises:
        BinaryError: These are no characters.
        LoadError: These are characters, in an unknown encoding or in several.
    """
    for mark, encoding in _MARKED:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding, name)
    if _is_binary(data):
        raise BinaryError(f"{name} is binary, and not of a type that can be read. Convert it to text, PDF or DOCX.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        text = _as_chinese(data) or _as_western(data)
        if text is None:
            raise _unknown(name, f"byte {fault.start} is not UTF-8, and no other encoding fits all of it") from fault
        return text


def _strictly(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as fault:
        raise _unknown(name, f"it is marked as {encoding}, and byte {fault.start} is not") from fault


def _unknown(name: str, why: str) -> LoadError:
    return LoadError(f"The encoding of {name} is mixed or unknown: {why}. Save it as UTF-8 and load it again.")


def _is_binary(data: bytes) -> bool:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return controls * 50 > len(data)


def _as_chinese(data: bytes) -> str | None:
    """Read GB18030 (and GBK and GB2312, its subsets), unless that gives characters nobody writes."""
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return None
    foreign = _foreign(text)
    chinese = sum(1 for character in foreign if _CHINESE.match(character))
    common = len(foreign.encode("gb2312", "ignore")) / 2
    if min(chinese, common) < 0.8 * len(foreign):
        return None
    return text if len(foreign) < 100 or _FREQUENT.intersection(foreign) else None


def _as_western(data: bytes) -> str | None:
    """Read Latin-1, as Windows extends it, if the rest looks like letters of western words in mostly plain text."""
    if _UTF8_PAIR.search(data):
        return None  # some of it is UTF-8
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    foreign = _foreign(text)
    alone = all(_WESTERN.match(character) for character in foreign)
    longest = max(map(len, _NOT_ASCII.findall(text)), default=0)
    return text if alone and longest <= 3 and len(foreign) * 3 <= len(text) else None


def _foreign(text: str) -> str:
    found: list[str] = []
    size = 0
    for run in _NOT_ASCII.finditer(text):
        found.append(run.group()[: _SAMPLE - size])
        size += len(found[-1])
        if size >= _SAMPLE:
            break
    return "".join(found)
