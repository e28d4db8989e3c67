"""Are questions answered, end to end? Texts are memorized, questions researched, and answers judged by their words.

    python benchmarks/research_answers.py --eval DIR [--cache FILE] [--set locomo,multihop,cmrc] [--model NAME]

DIR is the folder of evaluation data; its own `score.py` says what F1 and EM are, and BLEU-1 is made of the same tokens.
A session of a dialogue, and a paragraph, is a page each; a question is asked of the memory of its own group. Without a
model everything is offline, and the exit status says whether each F1 has reached its target. With one, `--limit` keeps
the cost low: it takes so many questions of each set, spread over all of it.
"""

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.graph.researcher import build_researcher
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.pages.stores import PageStores

Row = dict[str, Any]
Tokens = Callable[[str], list[str]]


@dataclass(frozen=True)
class Target:
    """A set of questions over a set of texts, and the F1 that is to be reached without a model."""

    name: str
    queries: str
    texts: str
    least: float
    exclude: str = ""


TARGETS = (
    Target("locomo", "locomo/queries", "locomo/turns.{half}", 0.21, "adversarial"),
    Target("multihop", "multihop/queries", "multihop/corpus", 0.25),
    Target("cmrc", "cmrc_zh/queries", "cmrc_zh/corpus", 0.34),
)


@dataclass
class Spent:
    """What the answers of a set have cost."""

    memorizing: float = 0.0
    seconds: list[float] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0
    cost: float | None = 0.0

    def add(self, usage: Any) -> None:
        """Count what a run has used; one whose price is not known makes the sum unknown."""
        self.calls += usage.get("calls", 0)
        self.tokens += usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        price = usage.get("cost", 0.0)
        self.cost = None if self.cost is None or price is None else self.cost + price

    def line(self) -> str:
        """The figures for each question."""
        count = max(1, len(self.seconds))
        ranked = sorted(self.seconds) or [0.0]
        cost = "unknown" if self.cost is None else f"{self.cost / count:.5f}"
        return (
            f"memorizing {self.memorizing:.1f} s; a question: {math.fsum(ranked) / count:.3f} s (longest "
            f"{ranked[-1]:.3f}), {self.calls / count:.2f} calls, {self.tokens / count:.0f} tokens, cost {cost}"
        )


class _Cached(Embeddings):
    """The product's own embeddings, with a file of vectors that outlives the run."""

    def __init__(self, file: Path | None) -> None:
        self._encoder = Encoder(cache=file)
        self.model = self._encoder.model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._encoder.vectors(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self._encoder.vector(text).tolist()


class _Harness:
    """The memories of a set, and a researcher that answers from them."""

    def __init__(self, embeddings: Embeddings, settings: Settings) -> None:
        stores = PageStores(in_memory=True)
        self._settings = settings
        self._memorizer = build_memorizer(stores=stores)
        self._researcher = build_researcher(embeddings=embeddings, stores=stores)

    def memorize(self, group: str, texts: list[Document], spent: Spent) -> None:
        """Make pages of the texts of a group."""
        done = self._memorizer.invoke({"texts": texts, "memory": group}, context=self._settings)
        spent.add(done["usage"])

    def answer(self, group: str, question: str, spent: Spent) -> tuple[str, str]:
        """Research one question: the answer, and what it is called."""
        begun = time.perf_counter()
        said = self._researcher.invoke({"request": question, "memory": group}, context=self._settings)
        spent.seconds.append(time.perf_counter() - begun)
        spent.add(said["usage"])
        return said["answer"], said["status"]


def main(argv: list[str] | None = None) -> int:
    """Measure each set and print the judge's tables. The exit status says whether all targets were reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="the evaluation folder, with score.py")
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors between runs")
    parser.add_argument("--set", default="locomo,multihop,cmrc", help="which sets (default: all three)")
    parser.add_argument("--model", default="", help='a chat model, such as "openai:NAME" (default: none)')
    parser.add_argument("--half", default="dev", help="which half's files to read (default: dev)")
    parser.add_argument("--limit", type=int, help="how many questions of each set at most")
    given = parser.parse_args(argv)
    names = given.set.split(",")
    settings = Settings(model=given.model) if given.model else Settings()
    verdicts = [
        _measure(target, given.eval, given.half, given.limit, _Harness(_Cached(given.cache), settings))
        for target in TARGETS
        if target.name in names
    ]
    sys.stdout.write("\n".join(line for line, _ in verdicts) + "\n")
    return 0 if given.model or all(passed for _, passed in verdicts) else 1


def _measure(target: Target, data: Path, half: str, limit: int | None, harness: _Harness) -> tuple[str, bool]:
    rows = _rows(data / f"{target.queries}.{half}.jsonl")
    queries = [q for q in rows if q.get("type") != target.exclude and q["query"].strip()]  # two of CMRC ask nothing
    queries = queries[:: max(1, len(queries) // limit)][:limit] if limit else queries
    spent = Spent()
    begun = time.perf_counter()
    groups = {query["group"] for query in queries}
    for group, texts in _texts(_rows(data / f"{target.texts.format(half=half)}.jsonl")).items():
        if group in groups:
            harness.memorize(group, texts, spent)
    spent.memorizing = time.perf_counter() - begun
    for group in groups:  # the first question brings the index up to date
        harness.answer(group, "?", Spent())
    found = {query["qid"]: harness.answer(query["group"], query["query"], spent) for query in queries}
    answers = {qid: text for qid, (text, _) in found.items()}
    figures = _judged(data / "score.py", queries, answers)
    bleu = _mean_bleu(data / "score.py", queries, answers)
    reached = figures["ALL"]["F1"]
    passed = reached >= target.least
    sys.stdout.write(f"{target.name}: {spent.line()}\n{_held(_tokens_of(data / 'score.py'), queries, found)}\n\n")
    figure = f"F1 {reached:.4f} (target {target.least:.2f}), BLEU-1 {bleu:.4f}, EM {figures['ALL']['EM']:.4f}"
    return f"{'pass' if passed else 'FAIL'}  {target.name}: {figure}", passed


def _held(tokens: Tokens, queries: list[Row], found: dict[str, tuple[str, str]]) -> str:
    """In how many answers a gold answer stands, and in how many of those that are called `answered`."""
    told = Counter(status for _, status in found.values())
    held = Counter[str]()
    for query in queries:
        text, status = found[query["qid"]]
        said = f" {' '.join(tokens(text))} "
        held[status] += any(f" {' '.join(words)} " in said for gold in query["answers"] if (words := tokens(gold)))
    parts = (f"{status} {held[status] / count:.3f} of {count}" for status, count in sorted(told.items()))
    return f"gold answer in the answer: {held.total() / max(1, len(queries)):.3f}; {', '.join(parts)}"


def _texts(units: list[Row]) -> dict[str, list[Document]]:
    """What is memorized for each group: a session of turns as one text, any other unit as it is."""
    said: dict[tuple[str, str], list[str]] = {}
    about: dict[tuple[str, str], Row] = {}
    for unit in units:
        key = (unit["group"], unit.get("session", unit["id"]))
        said.setdefault(key, []).append(_said(unit))
        about[key] = {"source": key[1], **{name: unit[name] for name in ("title", "date") if unit.get(name)}}
    found: dict[str, list[Document]] = {}
    for key, lines in said.items():
        found.setdefault(key[0], []).append(Document("\n".join(lines), metadata=about[key]))
    return found


def _said(unit: Row) -> str:
    """A turn with who said it, and what a shared picture shows; a paragraph as it is."""
    if "speaker" not in unit:
        return unit["text"]
    return " ".join(" ".join(filter(None, (f"{unit['speaker']}: {unit['text']}", unit.get("caption")))).split())


def _judged(scorer: Path, queries: list[Row], answers: dict[str, str]) -> Row:
    """The tables of the judge."""
    with tempfile.TemporaryDirectory() as folder:
        asked, run = Path(folder, "queries.jsonl"), Path(folder, "run.jsonl")
        asked.write_text("".join(json.dumps(query) + "\n" for query in queries), encoding="utf8")
        rows = [{"qid": qid, "answer": answer} for qid, answer in answers.items()]
        run.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
        command = [sys.executable, str(scorer), "answers", "--queries", str(asked), "--run", str(run)]
        sys.stdout.write(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        said = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(said)


def _mean_bleu(scorer: Path, queries: list[Row], answers: dict[str, str]) -> float:
    """BLEU-1 over the judge's own tokens, the best of the gold answers of each question."""
    tokens = _tokens_of(scorer)
    best = [max((_bleu(tokens(answers[q["qid"]]), tokens(gold)) for gold in q["answers"]), default=0) for q in queries]
    return math.fsum(best) / max(1, len(best))


def _tokens_of(scorer: Path) -> Tokens:
    spec = importlib.util.spec_from_file_location("score", scorer)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{scorer} cannot be read. Give the folder that holds score.py.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.answer_tokens


def _bleu(said: list[str], gold: list[str]) -> float:
    """The share of words that are right, less where there are fewer than there should be."""
    right = sum((Counter(said) & Counter(gold)).values())
    return right / len(said) * min(1.0, math.exp(1 - len(gold) / len(said))) if right else 0.0


def _rows(path: Path) -> list[Row]:
    return list(_read(path))


def _read(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


if __name__ == "__main__":
    raise SystemExit(main())
