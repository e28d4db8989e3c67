"""What is tried of each door, by whose tests or client, as a table: how much passed, and why the rest did not.

Usage: `python tests/project/tried.py [--peers FOLDER]`, where FOLDER holds LangGraph's own tests of stores.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOORS = (
    ("langgraph-checkpoint-conformance, on the saver of durable runs", ["tests/durability/test_saver_conformance.py"]),
    ("our conformance suite, on each store of ours", ["tests/unit/test_store_conformance.py"]),
    ("langchain-tests, on retrievers and chat history", ["tests/graph/test_langchain_interfaces.py"]),
    ("langchain-tests, on the tools of `Memories.as_tools`", ["tests/unit/test_tool_standards.py"]),
    ("middlewares by order, five turns each", ["tests/graph/test_middleware_orders.py"]),
    ("deepagents: its composite backend and agent", ["tests/graph/test_deep_agents.py"]),
    ("`memory-bank mcp`, by `mcp`: each method, pipes and HTTP", ["tests/server/test_mcp_server.py"]),
    ("seven graphs by `mcp` and `a2a-sdk`, four modes", ["tests/server/test_doors.py"]),
    ("importers, hostile files included", ["tests/graph/test_importing.py"]),
    ("examples, by their real clients", ["tests/project/test_examples.py", "tests/server/test_examples_of_clients.py"]),
)


def told(command: Sequence[str | Path]) -> tuple[str, str]:
    """What passed, and in the words of the tests why the rest did not."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "LANGGRAPH_STRICT_MSGPACK": "true"}
    ran = subprocess.run([str(word) for word in command], cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = ran.stdout.strip().splitlines()
    counts = re.sub(r" in [\d.]+s.*$|[=]+", "", lines[-1] if lines else ran.stderr[-200:]).strip()
    why = [line for line in lines if re.match(r"(SKIPPED|XFAIL|FAILED|ERROR) ", line)]
    return counts, "; ".join(dict.fromkeys(re.sub(r"^\w+ (\[\d+\] )?|tests/[\w/.]+:?\d*:? ?", "", one) for one in why))


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="LangGraph's own tests of stores")
    peers = parser.parse_args().peers
    sys.stdout.write("| tests | result | what did not pass, and why |\n|---|---|---|\n")
    rows: list[tuple[str, list[str | Path]]] = []
    if peers:
        rows.append(("LangGraph's own, on `SqliteRecordStore`", ["tests/project/store_peers.py", peers]))
    rows += [(name, ["-m", "pytest", "-q", "-rsxfE", *files]) for name, files in DOORS]
    for name, words in rows:
        counts, why = told([sys.executable, *words])
        sys.stdout.write(f"| {name} | {counts} | {why or 'none'} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
