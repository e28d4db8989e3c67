"""Listens on loopback for clients of the Model Context Protocol that bring the token of this installation."""

import hmac
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.tools.storage.disk import storage_errors, write_whole

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"
TOKEN_FILE: Final = "mcp.token"
"""The file of the token, in the home of all that is kept."""
_BYTES: Final = 32
_OTHERS: Final = 0o077


def token_in(folder: Path) -> str:
    """The token of this installation, which is made, 0600, where there is none.

    Raises:
        SettingsError: Others may read it, or it is empty.
        StorageError: It cannot be read or written.
    """
    path = folder / TOKEN_FILE
    if not path.exists():
        write_whole(path, secrets.token_urlsafe(_BYTES).encode(), path.with_name(f".{path.name}.{os.getpid()}.part"))
    with storage_errors(path):
        token, mode = path.read_text(encoding="utf-8").strip(), path.stat().st_mode
    if not token or (os.name == "posix" and mode & _OTHERS):
        raise SettingsError(f"The token in {path} is empty, or others may read it. Delete the file for a new one.")
    return token


class TokenRequired:
    """Lets requests in that bring the token, and refuses all others before they reach the server.

    Args:
        app: What it stands in front of.
        token: The token.
    """

    def __init__(self, app: "ASGIApp", token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve a request, as ASGI asks."""
        said = [value for name, value in scope.get("headers", ()) if name.lower() == b"authorization"]
        is_request = scope["type"] != "lifespan"
        if is_request and not (len(said) == 1 and hmac.compare_digest(said[0], self._wanted)):
            from starlette.responses import PlainTextResponse

            told = PlainTextResponse("Send the header `Authorization: Bearer TOKEN`.\n", 401)
            return await told(scope, receive, send)
        return await self._app(scope, receive, send)


def listen(server: "MCPServer[Any]", port: int, token: str) -> None:
    """Serve until the process is told to end, at `/mcp` of loopback; other hosts in a request are refused.

    Args:
        server: The server.
        port: Port on loopback.
        token: What clients have to bring.
    """
    import uvicorn

    app = TokenRequired(server.streamable_http_app(host=HOST), token)
    uvicorn.run(app, host=HOST, port=port, log_level="warning", access_log=False)
