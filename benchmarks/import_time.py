"""How long importing the package takes, beside `import langgraph.graph`, each in fresh interpreters.

Usage: `.venv/bin/python benchmarks/import_time.py [--eval DIR]`
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

STATEMENTS = {
    "nothing": "pass",
    "langgraph.graph": "import langgraph.graph",
    "agentic_memory_bank": "import agentic_memory_bank",
    "memory_bank": "from agentic_memory_bank import memory_bank",
}
"""What is timed, by the name it is printed under."""


def seconds(statement: str) -> float:
    """How long a fresh interpreter takes for a statement, start and end included."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - begun


def measure(repetitions: int) -> dict[str, float]:
    """The median time of each statement, the interpreter's own taken off; taken in turns, so that noise hits all."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(repetitions + 1):
        for name, statement in STATEMENTS.items():
            times[name].append(seconds(statement))
    medians = {name: statistics.median(found[1:]) for name, found in times.items()}  # the first one warms the disk
    return {name: median - medians["nothing"] for name, median in medians.items() if name != "nothing"}


def main() -> None:
    """Print the times, and their ratio to `import langgraph.graph`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", help="not used: this benchmark needs no data")
    parser.add_argument("--repetitions", type=int, default=9)
    found = measure(parser.parse_args().repetitions)
    base = found["langgraph.graph"]
    report = {name: {"seconds": round(t, 3), "times_langgraph": round(t / base, 2)} for name, t in found.items()}
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
