"""Types the commands of docs/first_hour.md into a fresh clone, and prints the seconds of each step: `make first-hour`.

Usage: `python tests/project/first_hour.py`; memories go to a folder that is removed afterwards.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "first_hour.md"
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```(bash|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ELIDED = "…"


@dataclass(frozen=True)
class Command:
    """What is typed at once, and what the page says that it prints."""

    typed: str
    printed: str


def steps(page: Path = PAGE) -> dict[str, list[Command]]:
    """Read the steps of a page by their titles; a heading in a file that is typed is none of the page."""
    text = page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    heads = [at for at in HEADING.finditer(text) if not any(f.start() < at.start() < f.end() for f in fences)]
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return {
        head[1]: list(_commands([f for f in fences if head.start() < f.start() < end]))
        for head, end in zip(heads, ends, strict=True)
        if head[1][0].isdigit()
    }


def _commands(fences: Sequence[re.Match[str]]) -> Iterator[Command]:
    blocks = [(fence[1], fence[2]) for fence in fences]
    for (kind, body), (after, printed) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "bash":
            yield Command(body, printed if after == "text" else "")


def is_as_shown(printed: str, shown: str) -> bool:
    """Whether what was printed is what the page shows: a line `…` stands for any lines, within a line for anything."""
    lines, at = [line.rstrip() for line in printed.strip().splitlines()], 0
    anywhere = False
    for line in shown.strip().splitlines():
        if line == ELIDED:
            anywhere = True
            continue
        found = [n for n in range(at, len(lines)) if _fits(lines[n], line)]
        if not found or (found[0] > at and not anywhere):
            return False
        at, anywhere = found[0] + 1, False
    return anywhere or at == len(lines)


def _fits(line: str, shown: str) -> bool:
    first, *others = shown.split(ELIDED)
    if not others:
        return line == shown
    at = len(first)
    for part in others[:-1]:
        at = line.find(part, at) + len(part) if part in line[at:] else len(line) + 1
    return line.startswith(first) and line.endswith(others[-1]) and at + len(others[-1]) <= len(line)


def typed_in(command: Command, folder: Path, environment: dict[str, str]) -> str:
    """Type it in a folder, and give back what it prints."""
    done = subprocess.run(
        ["bash", "-euc", command.typed],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=1_800,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{command.typed}\nends with {done.returncode}:\n{done.stderr[-2_000:]}")
    return done.stdout


def surroundings(programs: Path, home: Path) -> dict[str, str]:
    """The environment of whoever sits there: programs of the clone first, memories in a folder of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_BANK_", "VIRTUAL_ENV"))}
    return kept | {"PATH": f"{programs}:{os.environ['PATH']}", "MEMORY_BANK_HOME": str(home), "COLUMNS": "120"}


def main(words: Sequence[str] | None = None) -> int:
    """Take the steps in a fresh clone; 1 if one prints something else than the page says."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args(words)
    different = 0
    with tempfile.TemporaryDirectory(prefix="first-hour-") as place:
        clone = Path(place) / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        environment = surroundings(clone / ".venv" / "bin", Path(place) / "home")
        for title, commands in steps().items():
            began = time.monotonic()
            printed = [typed_in(command, clone, environment) for command in commands]
            print(f"{time.monotonic() - began:7.1f} s  {title}", flush=True)  # noqa: T201
            for command, said in zip(commands, printed, strict=True):
                if command.printed and not is_as_shown(said, command.printed):
                    different = 1
                    print(f"{command.typed}prints something else than the page says:\n{said}")  # noqa: T201
    return different


if __name__ == "__main__":
    sys.exit(main())
