"""The seven graphs answer the official clients of MCP and A2A in each mode of who asks, each user with their own."""

from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.server,
    pytest.mark.enable_socket,
    pytest.mark.skipif(not (find_spec("a2a") and find_spec("mcp")), reason="pip install a2a-sdk mcp"),
]


@pytest.mark.parametrize("mode", ["local", "proxy", "token", "none"])
async def test_every_graph_answers_both_official_clients(mode: str, tmp_path: Path) -> None:
    from .doors import rows, served

    with served(mode, tmp_path) as server:
        found = await rows(server)

    assert [row for row in found if row.mcp or row.a2a] == []
    assert len(found) == 7
