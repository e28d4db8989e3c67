"""What LangGraph's server needs besides the graphs: the store of memories, and the user of a request.

Nothing here needs a server to be installed; the routes are in `http_app`.
"""

import os
import re
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from langgraph.config import get_store
from langgraph.store.base import BaseStore

from agentic_memory_bank.state.errors import InputError, NoUserError, SettingsError
from agentic_memory_bank.tools.storage.sqlite_store import default_store

USER_HEADER: Final = "x-authz-user-id"
"""Header that names the user where the server authenticates nobody; a proxy in front of it sets it."""

_PLAIN: Final = re.compile(r"[a-zA-Z0-9._@:/$-]{1,512}")


@cache
def store() -> BaseStore:
    """Open the store of memories for `store.path` in langgraph.json: the file that the command line uses, too.

    To keep memories in the server's own store, leave `store` out of the configuration.

    Raises:
        SettingsError: The server runs in a container, and `MEMORY_BANK_HOME` names no folder that outlives it.
    """
    variant = os.environ.get("LANGSMITH_LANGGRAPH_API_VARIANT", "local_dev")
    if variant != "local_dev" and not os.environ.get("MEMORY_BANK_HOME"):
        raise SettingsError(
            "The memories of this server would be in a file that goes with its container. Take `store` out of "
            "langgraph.json, so that they are in the server's own database, or set MEMORY_BANK_HOME to a volume."
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
