"""Small sets of documents as they lie in real folders: what contradicts in them, and what is answered from them.

    python benchmarks/documents.py --eval DIR [--file sets.dev.jsonl] [--run FILE] [--only ID ...] [--failed]
    python benchmarks/documents.py --eval DIR --plain [--sample N] [--failed]
    python benchmarks/documents.py --eval DIR --prompts [--file sets.dev.jsonl] [--failed]
    python benchmarks/documents.py --eval DIR --pages FOLDER [--failed]

DIR is the folder of evaluation data; its own `documents.py` is the judge, and `documents/README.md` says what is tried.
Each set is a thread: its documents are handed over with the first question, under their names; the others are asked
after it, offline and with the defaults. Besides what the judge counts: of the questions with an answer, for how many
does a quote that answers stand, word for word, in what an executor is shown? `--file benchmarks/sets.jsonl` takes 28
sets of our own, harder ones, to which nothing is fitted, `later_sets.jsonl` 28 more, `quiet_sets.jsonl` 42 without a
contradiction and without questions, of which the false alarms were read and mended, and `third_sets.jsonl` 90 more
without questions, read and mended by kind after a first run.

`--plain` counts conflicts reported where nothing is known to contradict: in meetings (qmsum) and papers (longdoc) of
the folder, each alone; N of each, spread over all of them. An hour of a meeting is taken for 9,000 spoken words, a
paper for 8,000.

`--pages` counts what is said to contradict among the Markdown files of a folder, read pair by pair: long pages about
one thing, such as the `docs` of this repository, in which nobody knows of a contradiction.

`--prompts` counts what a chat model could find: the labelled contradictions of which both sides stand, word for word,
in one prompt that asks for conflicts, and the calls of a window. A server on the loopback interface answers as a
diligent model would, with a topic for each section or each document, which it sums up whole or by its first third,
and finds nothing itself.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from model_calls import INGESTION, MOST_WORDS, PARAGRAPH, TOPIC, pointed_at, structured  # benchmarks, too
from research_calls import machine

from agentic_memory_bank import build_memory_bank, run
from agentic_memory_bank.engines.extractive import contradictions
from agentic_memory_bank.nodes.executors import Assignment
from agentic_memory_bank.prompts.fence import unescape
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ModelServer, ScriptedJudge

Row = dict[str, Any]

HOUR_WORDS = 9_000
"""Words that are spoken in an hour of a meeting."""
PAPER_WORDS = 8_000
"""Words of a paper."""
_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
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
    parser.add_argument("--pages", type=Path, help="a folder of Markdown files to count conflicts among instead")
    parser.add_argument("--prompts", action="store_true", help="count what stands in prompts that ask for conflicts")
    parser.add_argument("--sample", type=int, default=6, help="how many of each (default: %(default)s)")
    arguments = parser.parse_args(argv)
    sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}\n\n")
    began = time.perf_counter()
    if arguments.plain:
        _plain(arguments.eval, arguments.sample, failed=arguments.failed)
    elif arguments.pages:
        _pages(arguments.pages, failed=arguments.failed)
    elif arguments.prompts:
        _prompts(_data(arguments), failed=arguments.failed)
    else:
        _sets(arguments)
    sys.stdout.write(f"{time.perf_counter() - began:.0f} s\n")
    return 0


# --- sets ----------------------------------------------------------------------------------------------------------


def _data(arguments: argparse.Namespace) -> list[Row]:
    own = Path(arguments.file)
    data = _rows(own if own.is_file() else arguments.eval / "documents" / own)
    return [one for one in data if not arguments.only or one["id"] in arguments.only]


def _sets(arguments: argparse.Namespace) -> None:
    data = _data(arguments)
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


# --- what a chat model would be shown ------------------------------------------------------------------------------


def _by_section(prompt: str) -> Row:
    """A topic for each section: what stands under one heading."""
    topics: list[list[tuple[int, str]]] = []
    for text in _TEXT.findall(prompt):
        for place, (number, words) in enumerate(PARAGRAPH.findall(text)):
            said = unescape(words).lstrip()
            if place == 0 or said.startswith("#"):
                topics.append([])
            topics[-1].append((int(number), said))
    return {
        "topics": [
            {"paragraphs": [{"first": of[0][0], "last": of[-1][0]}], "context": of[0][1][:100], "keywords": []}
            for of in topics
        ]
    }


def _summarised(prompt: str) -> Row:
    """Of each topic as many words as are asked for at most."""
    most = int(MOST_WORDS.findall(prompt)[-1])
    told = [(int(number), unescape(text).split()) for number, text in TOPIC.findall(prompt)]
    return {
        "memories": [
            {"id": n, "summary": " ".join(words[:most]), "context": " ".join(words[:12]), "keywords": words[:6]}
            for n, words in told
        ]
    }


def _prompts(data: Sequence[Row], *, failed: bool) -> None:
    """Print the share of labelled contradictions that a model is shown whole, and its calls."""
    labelled = [one for one in data if one.get("contradictions")]
    topics = {"a topic for each section": {"classify": _by_section}, "a topic for each document": {}}
    summaries = {"summed up whole": _summarised, "by a third": structured}
    for (topic, classify), (length, structure) in product(topics.items(), summaries.items()):
        name, judge = f"{topic}, {length}", ScriptedJudge(structure=structure, **classify)
        with ModelServer(judge) as server, pointed_at(server.url):
            seen = [_shown_whole(one, server) for one in labelled]
        whole = [is_shown for row, _ in seen for is_shown in row.values()]
        sys.stdout.write(
            f"{name}: both sides in one prompt {sum(whole) / max(1, len(whole)):.4f} of {len(whole)} (target 0.97), "
            f"at most {max(calls for _, calls in seen)} calls of ingestion a window (target 4)\n"
        )
        for one, (row, _) in zip(labelled, seen, strict=True) if failed else ():
            sys.stdout.write(
                "".join(f"not shown | {one['id']} | {about}\n" for about, is_shown in row.items() if not is_shown)
            )


def _shown_whole(one: Row, server: ModelServer) -> tuple[dict[str, bool], int]:
    """Of each contradiction of a set whether a prompt holds both sides; and the calls before anything is settled.

    The documents of a set fit into one window.
    """
    server.reset()
    bank = build_memory_bank(checkpointer=InMemorySaver())
    given = {"question": UNASKED, "documents": _documents(one)}
    bank.invoke(given, {"configurable": {"thread_id": one["id"]}}, context=Settings(model="local:bench"))
    kinds = [ScriptedJudge.kind_of(request) for request in server.chats]
    asked = [
        unescape(r.messages[1]["content"]) for r, k in zip(server.chats, kinds, strict=True) if k == "find_conflicts"
    ]
    prompts = [_plainly(prompt) for prompt in asked]
    found = {
        f"{number} {one_of['about']}": any(all(_plainly(quote) in p for _, quote in one_of["sides"]) for p in prompts)
        for number, one_of in enumerate(one["contradictions"])
    }
    first = kinds[: kinds.index("integrate")] if "integrate" in kinds else kinds
    return found, sum(kind in INGESTION for kind in first)


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


def _pages(folder: Path, *, failed: bool) -> None:
    """Print what contradicts among the pages of a folder, two and two."""
    pages = [(str(file.relative_to(folder)), file.read_text(encoding="utf8")) for file in sorted(folder.rglob("*.md"))]
    pairs, began = list(combinations(pages, 2)), time.process_time()
    found = [(a[0], b[0], one) for a, b in pairs for one in contradictions(a, b)]
    taken = time.process_time() - began
    sys.stdout.write(f"{len(found)} conflicts in {len(pairs)} pairs of {len(pages)} pages, {taken:.0f} s of CPU\n")
    for first, second, one in found if failed else ():
        sys.stdout.write(f"false alarm | {first} | {second} | {one.first.text} | {one.second.text}\n")


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
