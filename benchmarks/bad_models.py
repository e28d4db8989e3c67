"""Models that answer as badly as they can, over documents and conversations: is anything worse than without a model?

    python benchmarks/bad_models.py --eval DIR [--judge NAME ...] [--sets ID ...] [--dialogues ID ...] [--failed]

DIR is the folder of evaluation data; its own `documents.py` and `everyday.py` are the judges of what comes out. Each
model of `agentic_memory_bank.testing.bad_judges` serves all roles, on loopback. The first row is without a model.
"""

import argparse
import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import documents  # benchmarks, too
import everyday

from agentic_memory_bank.testing import ModelServer
from agentic_memory_bank.testing.bad_judges import BAD_JUDGES

OFFLINE = "offline"
SETS = ("en-01", "en-08", "en-13", "zh-01")
"""One of each kind, and one in Chinese."""
DIALOGUES = 10
FIGURES = (
    "contradictions found", "false alarms a set", "answered", "first quote right", "refused", "settled",
    "recall", "answer", "drawn", "facts", "kept", "precision",
)  # fmt: skip
"""How the rows of the judges begin that are shown."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks of documents and conversations with each model, and print what their judges say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data")
    parser.add_argument("--judge", nargs="*", default=[OFFLINE, *BAD_JUDGES], help="which models (default: all)")
    parser.add_argument("--sets", nargs="*", help="ids of document sets (default: four)")
    parser.add_argument("--dialogues", nargs="*", help="ids of dialogues (default: the first ten)")
    parser.add_argument("--failed", action="store_true", help="print what failed, too")
    arguments = parser.parse_args(argv)
    sets = SETS if arguments.sets is None else arguments.sets
    told = (
        _first(arguments.eval / "everyday/dialogues.dev.jsonl") if arguments.dialogues is None else arguments.dialogues
    )
    for name in arguments.judge:
        began = time.perf_counter()
        with _served(name):
            text = _said(documents.main, arguments, sets) + _said(everyday.main, arguments, told)
        shown = text if arguments.failed else "\n".join(x for x in text.splitlines() if x.strip().startswith(FIGURES))
        sys.stdout.write(f"--- {name}, {time.perf_counter() - began:.0f} s\n{shown}\n")
        sys.stdout.flush()
    return 0


def _first(path: Path) -> list[str]:
    """The ids of the first dialogues."""
    with path.open(encoding="utf8") as lines:
        return [str(json.loads(line)["id"]) for line, _ in zip(lines, range(DIALOGUES), strict=False)]


def _said(run: object, arguments: argparse.Namespace, ids: Sequence[str]) -> str:
    if not ids:
        return ""
    failed = ["--failed"] if arguments.failed else []
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run(["--eval", str(arguments.eval), "--only", *ids, *failed])  # type: ignore[operator]
    return out.getvalue()


@contextlib.contextmanager
def _served(name: str) -> Iterator[None]:
    """Have a model serve all roles; none for `offline`."""
    if name == OFFLINE:
        yield
        return
    with ModelServer(BAD_JUDGES[name]) as server:
        os.environ |= {"MEMORY_BANK_MODEL": "local:bad", "MEMORY_BANK_LOCAL_BASE_URL": server.url}
        try:
            yield
        finally:
            del os.environ["MEMORY_BANK_MODEL"], os.environ["MEMORY_BANK_LOCAL_BASE_URL"]


if __name__ == "__main__":
    sys.exit(main())
