"""Long documents through the whole product: does the prompt's memory hold the gold paragraphs, and what does it cost?

For each document of the evaluation set's `longctx` (50, 200 and 800 paragraphs), the share of gold paragraphs whose
text stands whole in the prompt's memory block is compared with what the retrieval index alone finds with the same
number of paragraphs; and the CPU time of a run with that of encoding each sentence once, cold cache and model loading
on both sides, in each runtime that is installed. Then 1.5 MB of text become a memory of pages: what memorizing it and
the first question of a new process cost. Memorizing is also killed while it makes vectors (of hashes): how many that
were made are not kept, and of how many batches it has told. With `--file`, also checks that every quote of an answer
stands verbatim in a document.
"""

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from _bars import holds  # beside this

from agentic_memory_bank.cli.terminal import NOT_FOUND
from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.prompts.fence import unescape
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.embeddings.models import local_embeddings
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.search.query import alpha_for
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize

MOST_POINTS_LOST = 5.0
MOST_TIME = 1.3
"""Of a run, over that of encoding each sentence once."""
MOST_A_MEGABYTE = 60.0
"""CPU seconds of a run."""
MOST_FIRST_QUESTION = 30.0
"""CPU seconds of the first question of a process over a memory of pages."""
PAGES, KILLED = 1_500_000, 400_000
"""Characters of the texts that become pages, and of the one whose memorizing is killed."""
BATCH = 256
"""Vectors that an encoder makes at once, and that a kill may cost."""
KILLED_AFTER = 3


class CachedEmbeddings(HashEmbeddings):
    """The default embeddings behind one cache, so that paragraphs many documents share are encoded once."""

    model = "cached"

    def __init__(self, cache: Path | None) -> None:
        super().__init__()
        self._encoder = Encoder(local_embeddings(), cache=cache)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Encode what the cache does not hold."""
        return self._encoder.vectors(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        """Encode one text."""
        return self._encoder.vector(text).tolist()


class Telling(HashEmbeddings):
    """Says how many vectors it has made."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Make vectors of hashes."""
        made = super().embed_documents(texts)
        sys.stdout.write(json.dumps({"made": len(made)}) + "\n")
        sys.stdout.flush()
        return made


def main() -> int:
    """Run both parts and print the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, help="the evaluation folder; without it only the time is measured")
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors between runs, for the shares")
    parser.add_argument("--documents", type=int, default=12, help="how many documents of each size")
    parser.add_argument("--file", type=Path, help="a document for the time; default: one of 800 paragraphs")
    parser.add_argument("--megabyte", action="store_true", help="repeat the measure of time on a text of 1 MB")
    parser.add_argument("--only", choices=["shares", "time", "pages"], nargs="+", help="parts; default: all")
    parser.add_argument("--side", choices=["encode", "run", "memorize"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        return _one_side(given.side, given.file)
    parts, met = given.only or ["shares", "time", "pages"], True
    sys.stdout.write(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, load {os.getloadavg()[0]:.1f}\n")
    if given.eval and "shares" in parts:
        met &= _shares(given.eval, given.cache, given.documents)
    if "time" in parts:
        met &= _time(given.file or _document(given.eval, 1_000_000 if given.megabyte else 380_000))
    if "pages" in parts:
        met &= _killed(given.file or _document(given.eval, KILLED))
        met &= _first_question(given.file or _document(given.eval, PAGES))
    return 0 if met else 1


def _shares(folder: Path, cache: Path | None, count: int) -> bool:
    corpus = {row["id"]: row for row in _rows(folder / "multihop" / "corpus.jsonl")}
    embeddings, encoder = CachedEmbeddings(cache), Encoder(local_embeddings(), cache=cache)
    found: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for file in sorted((folder / "multihop").glob("longctx.*.jsonl")):
        for row in _rows(file):
            size = len(row["order"])
            if len(found[size]) < count:
                paragraphs = {i: f"{corpus[i]['title']}\n{corpus[i]['text']}" for i in row["order"]}
                found[size].append(_share(row, paragraphs, embeddings, encoder))
    met = True
    for size, rows in sorted(found.items()):
        block, alone, shown = (sum(column) / len(rows) for column in zip(*rows, strict=True))
        lost = 100 * (alone - block)
        met &= lost <= MOST_POINTS_LOST
        sys.stdout.write(
            f"{'pass' if lost <= MOST_POINTS_LOST else 'FAIL'}  {size} paragraphs, {len(rows)} documents: memory block "
            f"{block:.3f}, index alone {alone:.3f} with as many paragraphs ({shown:.1f}); {lost:+.1f} points lost "
            f"(at most {MOST_POINTS_LOST:g})\n"
        )
    return met


def _share(
    row: dict[str, Any], paragraphs: dict[str, str], embeddings: CachedEmbeddings, encoder: Encoder
) -> tuple[float, float, int]:
    """The gold share in the memory block, that of the index alone, and how many paragraphs the block shows."""
    block = _memory_block(row["query"], "\n\n".join(paragraphs.values()), embeddings)
    shown = [i for i, text in paragraphs.items() if _body(text) in block]
    index = HybridIndex()
    for (name, text), vector in zip(paragraphs.items(), encoder.vectors(list(paragraphs.values())), strict=True):
        index.put(name, tokenize(text), vector)
    settings = Settings()
    alpha = alpha_for(row["query"], settings.alpha, settings.alpha_zh)
    hits = index.search(tokenize(row["query"]), encoder.vector(row["query"]), max(1, len(shown)), alpha=alpha)
    gold = set(row["gold"])
    return len(gold & set(shown)) / len(gold), len(gold & {hit.id for hit in hits}) / len(gold), len(shown)


def _memory_block(question: str, text: str, embeddings: CachedEmbeddings) -> str:
    """The memory block of the prompt with which the question is answered, as plain text without line breaks."""
    prompts: list[str] = []
    graph = build_memory_bank(embeddings=embeddings, execute=lambda a: prompts.append(a.prompt) or "read")
    graph.invoke({"question": question, "documents": [text]})
    return _plain(unescape(prompts[-1]))


def _body(paragraph: str) -> str:
    return _plain(paragraph.split("\n", 1)[1])


def _plain(text: str) -> str:
    return " ".join(text.split())


def _document(folder: Path | None, most: int) -> Path:
    """A document of as many paragraphs as make so many characters."""
    if folder is None:
        raise SystemExit("Give --eval or --file.")
    rows = _rows(folder / "multihop" / "corpus.jsonl")
    text = ""
    for row in rows:
        text += f"{row['title']}\n{row['text']}\n\n"
        if len(text) >= most:
            break
    place = Path("build") / f"long-{len(text)}.txt"
    place.parent.mkdir(exist_ok=True)
    place.write_text(text, encoding="utf-8")
    return place


def _time(file: Path) -> bool:
    """Both sides in fresh processes, one after the other, twice; the better time of each counts."""
    met: list[bool] = []
    size, command = file.stat().st_size, [sys.executable, __file__, "--file", str(file), "--side"]
    for runtime in ("onnx", "openvino") if find_spec("openvino") else ("onnx",):
        times: dict[str, float] = {}
        for side in ("encode", "run", "encode", "run"):
            spent = _cpu([*command, side], MEMORY_BANK_EMBEDDING_BACKEND=runtime)
            times[side] = min(times.get(side, float("inf")), spent)
        run, encode = times["run"], times["encode"]
        a_megabyte = round(run / size * 1e6, 1)
        met += [
            holds(f"run over {size:,} bytes, {runtime}, s of CPU per MB", a_megabyte, most=MOST_A_MEGABYTE),
            holds(f"of encoding each sentence once, {runtime}, times", round(run / encode, 2), most=MOST_TIME),
        ]
        sys.stdout.write(f"run {run:.1f} s of CPU, encoding each sentence once {encode:.1f} s\n")
    return all(met)


def _killed(file: Path) -> bool:
    """Kill a process that memorizes after some batches of vectors; what it had made and told of, and what is kept."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, __file__, "--side", "memorize", "--file", str(file)]
        environment = {**os.environ, "MEMORY_BANK_HOME": home}
        made = told = left = 0
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                said = json.loads(line)
                made += said.get("made", 0)
                told += "embedded" in said
                left = said.get("left", left)
                if told == KILLED_AFTER:
                    process.kill()
        (kept,) = [_count(found) for found in Path(home).rglob("*.vectors.sqlite")]
        again = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        later = sum(json.loads(line).get("made", 0) for line in again.splitlines())
    sys.stdout.write(f"killed when it said that {left:,} vectors were left: {kept:,} are kept, {later:,} made later\n")
    return all(
        [
            holds("vectors that were made and are not kept", made - kept, most=BATCH),
            holds("vectors that were made twice", max(0, later - left), most=BATCH),
        ]
    )


def _count(file: Path) -> int:
    with closing(sqlite3.connect(file)) as database:
        return database.execute("SELECT count(*) FROM vectors").fetchone()[0]


def _first_question(file: Path) -> bool:
    """Memorize the text into an empty home, and ask a question of it, each in a process of its own."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "agentic_memory_bank.cli"]
        making = _cpu([*command, "memorize", str(file), "--memory", "long"], MEMORY_BANK_HOME=home)
        asking = _cpu([*command, "research", "What is it about?", "--memory", "long"], MEMORY_BANK_HOME=home)
    size = file.stat().st_size
    sys.stdout.write(f"as a memory of pages, {size:,} bytes are memorized in {making:.1f} s of CPU\n")
    return holds("first question of a new process, s of CPU", round(asking, 1), most=MOST_FIRST_QUESTION)


def _cpu(command: list[str], **variables: str) -> float:
    """CPU seconds of a process that ends well, or has nothing to say."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1, NOT_FOUND):
        raise SystemExit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _one_side(side: str, file: Path) -> int:
    text = file.read_text(encoding="utf-8")
    if side == "encode":
        Encoder().vectors([text[start:end].strip() for start, end in sentences(text)])
        return 0
    if side == "memorize":
        for told in build_memorizer(embeddings=Telling()).stream(
            {"texts": [text], "memory": "long"}, stream_mode="custom"
        ):
            if "embedded" in told:
                sys.stdout.write(json.dumps(told) + "\n")
                sys.stdout.flush()
        return 0
    from agentic_memory_bank.runs import run

    result = run("What is this document about?", documents=[file])
    wrong = [s["quote"] for s in result["sources"] if text[s["start"] : s["end"]] != s["quote"]]
    return 1 if wrong else 0


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
