"""What LangGraph's server needs besides the graphs: the store of memories, the user of a request, and bearer tokens.

Nothing here needs a server to be installed; the routes are in `http_app`.
"""

import hashlib
import os
import re
import secrets
import stat
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from langgraph.config import get_store
from langgraph.store.base import BaseStore

from agentic_memory_bank.state.errors import InputError, NoUserError, SettingsError
from agentic_memory_bank.tools.memories.stores import default_store
from agentic_memory_bank.tools.storage.postgres import DATABASE_URL

USER_HEADER: Final = "x-authz-user-id"
"""Header that names the user where the server authenticates nobody; a proxy in front of it sets it."""

_PLAIN: Final = re.compile(r"[a-zA-Z0-9._@:/$-]{1,512}")


@cache
def store() -> BaseStore:
    """Open the store of memories for `store.path` in langgraph.json: the one that the command line uses, too.

    To keep memories in the server's own store, leave `store` out of the configuration.

    Raises:
        SettingsError: The server runs in a container, and neither `MEMORY_BANK_DATABASE_URL` names a database nor
            `MEMORY_BANK_HOME` a folder that outlives it.
    """
    variant = os.environ.get("LANGSMITH_LANGGRAPH_API_VARIANT", "local_dev")
    if variant != "local_dev" and not (os.environ.get("MEMORY_BANK_HOME") or os.environ.get(DATABASE_URL)):
        raise SettingsError(
            "The memories of this server would be in a file that goes with its container. Set MEMORY_BANK_DATABASE_URL "
            "to a Postgres database, or MEMORY_BANK_HOME to a volume."
        )
    return default_store()


async def brought_store() -> BaseStore | None:
    """Find the store of the server around this request; None outside of LangGraph's server.

    The server is asked directly: to custom routes it hands the store that it had before `store.path` was read
    (langgraph-api 0.16), which is not the one that the graphs get.
    """
    server = sys.modules.get("langgraph_api.store")
    if server is not None:
        return cast(BaseStore, await server.get_store())
    try:
        return get_store()
    except (RuntimeError, KeyError):
        return None


def is_plain(name: str) -> bool:
    """Ask whether a name that comes over HTTP is made of letters, digits and `._@:/$-` alone."""
    return _PLAIN.fullmatch(name) is not None


def user_of_request(scope: Mapping[str, Any], header: str | None, claimed: str | None) -> str:
    """Find the user of a request: who is authenticated; without authentication, the header or the request itself.

    Args:
        scope: ASGI scope of the request; its `user` is who was authenticated.
        header: Value of the header `USER_HEADER`.
        claimed: User that the request itself names.

    Raises:
        NoUserError: Nobody is authenticated or named.
        InputError: The request names another than who is authenticated, or the name has characters that none may have.
    """
    authenticated = _authenticated(scope)
    if authenticated:
        if any(name not in (None, "", authenticated) for name in (header, claimed)):
            raise InputError("The request names another user than the one who is authenticated. Leave it out.")
        return authenticated
    if _authenticates():
        raise NoUserError(
            "Nobody is authenticated. A langgraph.json with `auth` needs `enable_custom_route_auth` under `http`, too."
        )
    user = header or claimed
    if not user:
        raise NoUserError(f"Nobody is named whose memories are meant. Send the header {USER_HEADER}, or `user_id`.")
    if not is_plain(user):
        raise InputError("A user is named by letters, digits and `._@:/$-`.")
    return user


def _authenticated(scope: Mapping[str, Any]) -> str:
    user = scope.get("user")
    if user is None or not getattr(user, "is_authenticated", False):
        return ""
    return str(user.identity)


def _authenticates() -> bool:
    """Ask whether the server has an auth handler: then no header is believed."""
    settings = sys.modules.get("langgraph_api.config")
    if settings is None:
        return False
    return bool(getattr(settings, "LANGGRAPH_AUTH", None)) or getattr(settings, "LANGGRAPH_AUTH_TYPE", "noop") != "noop"


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
