"""Small sets of documents as they lie in real folders: what contradicts in them, and what is answered from them.

    python benchmarks/documents.py --eval DIR [--file sets.dev.jsonl] [--run FILE] [--only ID ...] [--failed]
    python benchmarks/documents.py --eval DIR --plain [--sample N] [--failed]

DIR is the folder of evaluation data; its own `documents.py` is the judge, and `documents/README.md` says what is tried.
Each set is a thread: its documents are handed over with the first question, under their names; the others are asked
after it, offline and with the defaults. Besides what the judge counts: of the questions with an answer, for how many
does a quote that answers stand, word for word, in what an executor is shown? `--file benchmarks/sets.jsonl` takes 28
sets of our own, harder ones, to which nothing is fitted, `later_sets.jsonl` 28 more, `quiet_sets.jsonl` 42 without a
contradiction and without questions, of which the false alarms were read and mended.

`--plain` counts conflicts reported where nothing is known to contradict: in meetings (qmsum) and papers (longdoc) of
the folder, each alone; N of each, spread over all of them. An hour of a meeting is taken for 9,000 spoken words, a
paper for 8,000.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from research_calls import machine  # benchmarks, too

from agentic_memory_bank import run
from agentic_memory_bank.nodes.executors import Assignment

Row = dict[str, Any]

HOUR_WORDS = 9_000
"""Words that are spoken in an hour of a meeting."""
PAPER_WORDS = 8_000
"""Words of a paper."""
UNASKED = "What is this about?"
"""What is asked of a document of which only the conflicts are counted."""


def main(argv: list[str] | None = None) -> int:
    """Run the package over the sets, and print what the judge says of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data, with documents.py")
    parser.add_argument("--file", default="sets.dev.jsonl", help="sets: a name there, or any file (%(default)s)")
    parser.add_argument("--run", type=Path, help="where to write the run (default: nowhere)")
    parser.add_argument("--only", nargs="*", help="ids of sets (default: all)")
    parser.add_argument("--failed", action="store_true", help="print what failed, too")
    parser.add_argument("--plain", action="store_true", help="count conflicts in meetings and papers instead")
    parser.add_argument("--sample", type=int, default=6, help="how many of each (default: %(default)s)")
    arguments = parser.parse_args(argv)
    sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}\n\n")
    began = time.perf_counter()
    if arguments.plain:
        _plain(arguments.eval, arguments.sample, failed=arguments.failed)
    else:
        _sets(arguments)
    sys.stdout.write(f"{time.perf_counter() - began:.0f} s\n")
    return 0


# --- sets ----------------------------------------------------------------------------------------------------------


def _sets(arguments: argparse.Namespace) -> None:
    own = Path(arguments.file)
    data = _rows(own if own.is_file() else arguments.eval / "documents" / own)
    if arguments.only:
        data = [one for one in data if one["id"] in arguments.only]
    with tempfile.TemporaryDirectory() as folder:
        read = [_read(one, Path(folder) / "home") for one in data]
        given, path = Path(folder) / "data.jsonl", arguments.run or Path(folder) / "run.jsonl"
        _write(given, data)
        _write(path, [row for row, _ in read])
        judge = [sys.executable, str(arguments.eval / "documents.py"), "--data", str(given), "--run", str(path)]
        judge += ["--failed"] if arguments.failed else []
        sys.stdout.write(subprocess.run(judge, check=True, capture_output=True, text=True).stdout)
    recalled = [found for _, all_found in read for found in all_found]
    missing = [question for question, is_found in recalled if not is_found]
    share = 1 - len(missing) / max(1, len(recalled))
    sys.stdout.write(f"{'gold quote in the prompt':36s} {share:>7.4f} of {len(recalled)}\n")
    if arguments.failed:
        sys.stdout.write("".join(f"not in the prompt | {question}\n" for question in missing))


def _read(one: Row, home: Path) -> tuple[Row, list[tuple[str, bool]]]:
    """A set in the form of the judge; and of each question with an answer whether the prompt holds a gold quote."""
    asked = one["questions"]
    outputs = [
        run(q["ask"], documents=_documents(one) if number == 0 else (), thread=one["id"], home=home)
        for number, q in enumerate(asked)
    ]
    seen = outputs or [run(UNASKED, documents=_documents(one), thread=one["id"], home=home)]
    prompts = [_prompt(q["ask"], one["id"], home) if q["gold"] else "" for q in asked]
    recalled = [
        (f"{one['id']} | {q['ask']}", any(_plainly(quote) in _plainly(prompt) for _, quote in q["gold"]))
        for q, prompt in zip(asked, prompts, strict=True)
        if q["gold"]
    ]
    answers = [
        {"status": o["status"], "answer": o["answer"], "quotes": [source["quote"] for source in o["sources"]]}
        for o in outputs
    ]
    return {"id": one["id"], "conflicts": _conflicts(seen[0]), "answers": answers}, recalled


def _documents(one: Row) -> list[Row]:
    return [{"text": document["text"], "source": document["name"]} for document in one["documents"]]


def _conflicts(output: Mapping[str, Any]) -> list[Row]:
    """What contradicts, with the name of the document that holds where that is settled."""
    return [
        {
            "quotes": [claim["quote"] for claim in conflict["claims"]],
            "status": conflict["status"],
            "holds": conflict["claims"][conflict["winner"]]["source"] if conflict["outcome"] == "holds" else None,
        }
        for conflict in output["conflicts"]
    ]


def _prompt(question: str, thread: str, home: Path) -> str:
    """What an executor is shown for a question; nothing of this is remembered."""
    shown: list[str] = []

    def look(assignment: Assignment) -> Row:
        shown.append(assignment.prompt)
        return {"answer": "Seen."}

    run(question, thread=thread, home=home, execute=look)
    return "\n".join(shown)


def _plainly(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if not c.isspace())


# --- text without contradictions -----------------------------------------------------------------------------------


def _plain(folder: Path, sample: int, *, failed: bool) -> None:
    """Print the conflicts for each hour of meeting, and for each paper."""
    meetings = _joined(folder / "qmsum/pages.dev.jsonl", "\n")
    papers = {id: text for id, text in _joined(folder / "longdoc/pages.dev.jsonl", "\n\n").items() if "paper" in id}
    for name, texts, size in (("meetings", meetings, HOUR_WORDS), ("papers", papers, PAPER_WORDS)):
        chosen = sorted(texts)[:: max(1, len(texts) // max(1, sample))][:sample]
        words, alarms = 0, Counter[str]()
        for id in chosen:
            with tempfile.TemporaryDirectory() as home:
                output = run(UNASKED, documents=[{"text": texts[id], "source": id}], home=home)
            words += len(texts[id].split())
            alarms[id] = len(output["conflicts"])
            for conflict in output["conflicts"] if failed else ():
                sys.stdout.write(f"false alarm | {id} | {' | '.join(c['quote'] for c in conflict['claims'])}\n")
        rate = alarms.total() / max(1.0, words / size)
        sys.stdout.write(
            f"{name}: {alarms.total()} conflicts in {len(chosen)} of {words:,} words, {rate:.2f} for each {size:,} "
            f"(target 0.20); most {max(alarms.values(), default=0)}\n"
        )


def _joined(path: Path, gap: str) -> dict[str, str]:
    """Documents made of their pages, in order."""
    pages: defaultdict[str, list[Row]] = defaultdict(list)
    for row in _rows(path):
        pages[row["group"]].append(row)
    return {id: gap.join(p["text"] for p in sorted(of, key=lambda p: p["order"])) for id, of in pages.items()}


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf8")


if __name__ == "__main__":
    raise SystemExit(main())
