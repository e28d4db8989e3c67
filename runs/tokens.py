"""Bearer tokens of a server's users: a file with a hash a line, read again when it changes."""

import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from agentic_memory_bank.runs.server import is_plain
from agentic_memory_bank.state.errors import InputError, SettingsError

_BYTES: Final = 32
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def new_token(name: str) -> tuple[str, str]:
    """Make a token for a user, and the line for the file of tokens.

    Args:
        name: Id of the user, made of letters, digits and `._@:/$-`.

    Returns:
        The token, which is kept nowhere, and the line with its hash.

    Raises:
        InputError: The name is empty or has other characters.
    """
    if not is_plain(name):
        raise InputError("A user is named by letters, digits and `._@:/$-`.")
    token = secrets.token_urlsafe(_BYTES)
    return token, f"{name} {_hashed(token)}"


class TokenFile:
    """Finds the user of a token in a file, which is read again when it changes.

    Tokens are long and random, so one round of SHA-256 is enough, and its digest can be looked up: nobody can choose
    tokens whose digests are near another one's.

    Args:
        path: Path of the file. A line is a name, a blank and the hash of a token; `#` begins a comment.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] = ()
        self._users: Mapping[str, str] = MappingProxyType({})

    def user_of(self, token: str) -> str | None:
        """Find the user of a token; None for an unknown token.

        Raises:
            SettingsError: The file cannot be used.
        """
        return self.users().get(_hashed(token))

    def users(self) -> Mapping[str, str]:
        """Read the users by the hashes of their tokens.

        Raises:
            SettingsError: The file cannot be read, others may write it, or a line says nothing.
        """
        with self._lock:
            try:
                with self._path.open(encoding="utf-8") as file:
                    told = os.fstat(file.fileno())
                    seen = (told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns, told.st_mode)
                    if seen != self._seen:
                        self._users, self._seen = _read(file.read(), told.st_mode, self._path), seen
            except (OSError, UnicodeDecodeError) as error:
                raise SettingsError(f"The file of tokens {self._path} cannot be read ({error}).") from None
            return self._users


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _read(text: str, mode: int, path: Path) -> Mapping[str, str]:
    if os.name == "posix" and mode & _OTHERS_WRITE:
        raise SettingsError(f"Others may write the file of tokens {path}: run `chmod go-w` on it.")
    users: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].split()
        if not said:
            continue
        if len(said) != 2 or not is_plain(said[0]) or not _is_hash(said[1]):
            raise SettingsError(
                f"Line {number} of {path} is no name with the hash of a token. `memory-bank token NAME` writes one."
            )
        users[said[1].lower()] = said[0]
    return MappingProxyType(users)


def _is_hash(text: str) -> bool:
    return len(text) == 64 and all(character in "0123456789abcdef" for character in text.lower())
