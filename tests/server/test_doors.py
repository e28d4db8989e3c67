"""The seven graphs answer the official clients of MCP and A2A; in each mode of who asks, each user with their own."""

from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.server,
    pytest.mark.enable_socket,
    pytest.mark.skipif(not (find_spec("a2a") and find_spec("mcp")), reason="pip install a2a-sdk mcp"),
]


async def test_every_graph_answers_both_official_clients(tmp_path: Path) -> None:
    from .doors import rows, served

    with served("local", tmp_path) as server:
        found = await rows(server)

    assert [row for row in found if row.mcp or row.a2a] == []
    assert len(found) == 7


@pytest.mark.parametrize(
    ("mode", "graphs"),
    [
        ("proxy", ["memorizer", "researcher", "recall"]),
        ("token", ["memorizer", "researcher", "recall"]),
        ("none", ["memory_bank", "recall"]),
    ],
)
async def test_in_each_mode_of_who_asks_both_official_clients_come_to_what_is_theirs(
    mode: str, graphs: list[str], tmp_path: Path
) -> None:
    """The mode is the server's and not a graph's: one each that keeps pages and memories of users, or needs nobody.

    `make doors` tries all seven in each.
    """
    from .doors import rows, served

    with served(mode, tmp_path) as server:
        found = await rows(server, graphs)

    assert [row for row in found if row.mcp or row.a2a] == []
    assert len(found) == len(graphs)
