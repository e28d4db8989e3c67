"""What each command costs from its start to its end, in CPU seconds, beside the same with the model in PyTorch.

Usage: `.venv/bin/python benchmarks/start.py [--repetitions 3]`
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).parents[1] / "examples" / "meridian_array"
DOCUMENT = (
    "The mirror of the Meridian Array is 8.2 metres wide. It was cast in Jena in 2009 and polished for three years. "
    "The array stands on a plateau at 2,635 metres, four hours from the coast. Ana Ruiz directed the project from 2007 "
    "until 2015, and Tomas Berg after her. It cost 310 million euros, of which the university paid a third. It opened "
    "on 4 March 2014. The telescope observes on some 290 nights a year; its camera has 3.2 gigapixels. In 2019 the "
    "second mirror was replaced, since its coating had aged faster than was thought."
)
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""An installed package is compiled; a variable of this machine must not have our sources compiled at each start."""
QUESTION = "How wide is the mirror?"


class Command(NamedTuple):
    """A command, and the CPU seconds that it may take."""

    words: Sequence[str]
    bar: float
    input: str = ""
    embeds: bool = False


def commands(folder: Path) -> Mapping[str, Command]:
    """What is timed, by the name it is printed under."""
    document = folder / "document.txt"
    document.write_text(DOCUMENT)
    demo = [word for file in sorted(EXAMPLES.iterdir()) for word in ("--context", str(file))]
    bad = 0.5
    return {
        "help": Command(["--help"], bad),
        "runs": Command(["runs"], bad),
        "empty question": Command(["ask", " "], bad),
        "missing file": Command(["ask", QUESTION, "--context", str(folder / "missing.txt")], bad),
        "unknown setting": Command(["ask", QUESTION, "--set", "kk=3"], bad),
        "unknown thread": Command(["resume", "nobody"], bad),
        "thread without memory": Command(["ask", QUESTION, "--thread", "nobody"], bad),
        "unknown memory": Command(["research", QUESTION, "--memory", "nothing"], bad),
        "no user": Command(["recall", QUESTION, "--user", ""], bad),
        "ask": Command(["ask", QUESTION, "--context", str(document)], 2.5, embeds=True),
        "demo": Command(["ask", QUESTION, *demo], 3.0, embeds=True),
        "first recall of a chat": Command(["chat", "--user", "ana"], 2.0, "Where do I live?\n/quit\n", embeds=True),
    }


def spent(command: Command, home: Path, backend: str) -> float:
    """CPU seconds of a command, user and system, in a process of its own."""
    program = [sys.executable, "-m", "agentic_memory_bank.cli", *command.words]
    variables = {"MEMORY_BANK_HOME": str(home), "MEMORY_BANK_EMBEDDING_BACKEND": backend, **COMPILED}
    process = subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **variables},
    )
    assert process.stdin is not None
    process.stdin.write(command.input.encode())
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def remembered(home: Path) -> None:
    """Give the chat something to recall."""
    spent(Command(["remember", "I live in Lisbon.", "--user", "ana"], 0), home, "onnx")


def measured(repetitions: int) -> dict[str, dict[str, float | bool]]:
    """The least that each command took, in turns; the first round warms the disk and does not count."""
    report: dict[str, dict[str, float | bool]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        remembered(folder / "home")
        for name, command in commands(folder).items():
            backends = ("onnx", "pytorch") if command.embeds else ("onnx",)
            times = {backend: [] for backend in backends}
            for _ in range(repetitions + 1):
                for backend in backends:
                    times[backend].append(spent(command, folder / "home", backend))
            best = {f"{backend}_cpu_seconds": round(min(found[1:]), 2) for backend, found in times.items()}
            report[name] = {**best, "bar": command.bar, "within": best["onnx_cpu_seconds"] <= command.bar}
    return report


def imports(least: float) -> dict[str, float]:
    """CPU of importing what `ask` needs, by module, itself alone; those that take at least so many seconds."""
    program = "import agentic_memory_bank.runs.bank_runs, onnxruntime, tokenizers, safetensors.numpy"
    told = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **COMPILED},
    )
    rows = (line.removeprefix("import time:").split("|") for line in told.stderr.splitlines() if "|" in line)
    found = {name.strip(): int(own) / 1e6 for own, _, name in rows if own.strip().isdigit()}
    packages: dict[str, float] = {}
    for name, seconds in found.items():
        package = name.partition(".")[0]
        packages[package] = packages.get(package, 0) + seconds
    return {name: round(took, 3) for name, took in sorted(packages.items(), key=lambda x: -x[1]) if took >= least}


def main() -> None:
    """Print what the commands and the imports cost; fail where a command passes its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    found = measured(parser.parse_args().repetitions)
    sys.stdout.write(json.dumps({"commands": found, "import seconds by package": imports(0.02)}, indent=2) + "\n")
    if slow := [name for name, row in found.items() if not row["within"]]:
        sys.exit(f"Over the bar: {', '.join(slow)}.")


if __name__ == "__main__":
    main()
