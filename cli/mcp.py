"""The command `mcp`: what is remembered of a user, for any client of the Model Context Protocol."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from agentic_memory_bank.cli import options
from agentic_memory_bank.cli.memories import opened
from agentic_memory_bank.state.errors import SettingsError


def mcp(
    *,
    user: options.User,
    project: Annotated[
        str,
        typer.Option("--project", "-p", envvar="MEMORY_BANK_PROJECT", help="Which of the user's projects."),
    ] = "",
    folder: Annotated[
        list[Path] | None,
        typer.Option("--folder", metavar="FOLDER", help="Files below it may be read. May be given several times."),
    ] = None,
    http: Annotated[
        int | None,
        typer.Option("--http", metavar="PORT", min=1, max=65535, help="Listen at http://127.0.0.1:PORT/mcp instead."),
    ] = None,
    config: Annotated[bool, typer.Option("--config", help="Print what a client's file of servers needs.")] = False,
    settings: options.Assignments = None,
) -> None:
    """Serve the user's memories to a client of the Model Context Protocol: Claude Desktop, Cursor, VS Code, any other.

    Speaks over standard input and output. With `--http` it listens on this machine alone, for clients with the token.
    """
    folders = [one.expanduser().resolve() for one in folder or ()]
    if config:
        typer.echo(_config(user, project, folders))
        return
    try:
        from agentic_memory_bank.runs.mcp_server import McpTools, build_mcp_server
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise SettingsError('The server needs the package mcp: pip install "agentic-memory-bank[mcp]".') from None
    with opened(settings, user=user) as memories:
        server = build_mcp_server(McpTools(memories, user, project, folders))
        if http is None:
            server.run("stdio")
        else:
            _listen(server, http)


def _listen(server: object, port: int) -> None:
    from typing import Any, cast

    from agentic_memory_bank.runs.mcp_listening import HOST, TOKEN_FILE, listen, token_in
    from agentic_memory_bank.tools.storage.disk import default_home

    home = default_home()
    token = token_in(home)
    typer.echo(f"http://{HOST}:{port}/mcp for clients with the token in {home / TOKEN_FILE}", err=True)
    listen(cast(Any, server), port, token)


def _config(user: str, project: str, folders: list[Path]) -> str:
    """What goes into a client's file of servers."""
    named = ["--user", user, *(["--project", project] if project else [])]
    below = [part for folder in folders for part in ("--folder", str(folder))]
    command = str(Path(sys.argv[0]).resolve())
    return json.dumps({"mcpServers": {"memory-bank": {"command": command, "args": ["mcp", *named, *below]}}}, indent=2)
