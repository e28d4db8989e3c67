"""Models that answer as badly as they can, over documents and conversations: is anything worse than without a model?

    python benchmarks/bad_models.py --eval DIR [--judge NAME ...] [--sets ID ...] [--dialogues ID ...] [--failed]

Each model of `agentic_memory_bank.testing.bad_judges` serves all roles, on loopback, over twenty pairs of texts that
contradict each other, the demo, sets of documents and conversations; DIR is the folder of evaluation data, whose own
`documents.py` and `everyday.py` are the judges of the latter two. The first row is without a model; where one after it
merges what contradicts, hides a contradiction that rules are sure of, invents something that is not marked as its own,
says nothing of what was done without it, or falls below the first in anything the judges count, the exit code is 1.
"""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import documents  # benchmarks, too
import everyday
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank import build_memory_bank, run
from agentic_memory_bank.state.interaction_tree import text_of
from agentic_memory_bank.testing import ModelServer
from agentic_memory_bank.testing.bad_judges import BAD_JUDGES, CONTRADICTING, INVENTED

OFFLINE = "offline"
SETS = ("en-01", "en-08", "en-13", "zh-01")
"""One of each kind, and one in Chinese."""
DIALOGUES = 10
HARD = ("merged", "invented", "unsaid")
"""What there may be none of."""
SURE = "sure ones told"
FIGURES = {
    "contradictions found": "contradictions",
    "answered": "answered",
    "first quote right": "first quote",
    "refused": "refused",
    "settled as the texts decide": "settled",
    "answer": "chat answer",
    "facts drawn": "facts drawn",
    "recall": "recall",
}
"""The rows of the judges that are shown, and what they are called here."""
DEMO = "When did the Meridian Array open, and what is the diameter of its mirror?"
SOUND = frozenset(("merging", "obeying"))
"""Models of which little is left out over these texts: most of what they say stands in them."""
_FOREIGN = ("Zork", "999", "1066")

Row = dict[str, float]


def main(argv: Sequence[str] | None = None) -> int:
    """Try each model, and print a row for each: what there may be none of, and what the judges say."""
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
    rows: dict[str, Row] = {}
    for name in arguments.judge:
        began = time.perf_counter()
        with _served(name):
            row = rows[name] = _pairs(name) | _demo(name)
            for judge, ids in ((documents.main, sets), (everyday.main, told)):
                figures, foreign = _judged(judge, arguments, ids)
                row |= figures
                row["invented"] += foreign
        row["seconds"] = round(time.perf_counter() - began)
        sys.stderr.write(f"{name}: {row}\n")
    _print(rows)
    return int(any(row[name] for model, row in rows.items() for name in HARD if model != OFFLINE) or _is_worse(rows))


def _first(path: Path) -> list[str]:
    """The ids of the first dialogues."""
    with path.open(encoding="utf8") as lines:
        return [str(json.loads(line)["id"]) for line, _ in zip(lines, range(DIALOGUES), strict=False)]


# --- what there may be none of ---------------------------------------------------------------------------------------


def _pairs(name: str) -> Row:
    """The twenty pairs: what was merged, hidden, invented, or done without the model and not told."""
    graph = build_memory_bank(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    given: Any = {"question": CONTRADICTING[0][0], "documents": [text for pair in CONTRADICTING for text in pair]}
    ended: Any = graph.invoke(given, config, context={"k": 40})  # type: ignore[arg-type]
    state = graph.get_state(config).values
    nodes = state["query_graph"]["nodes"].values()
    texts = ["\n".join(text_of(state["interaction_tree"], a) for a in node["anchors"]) for node in nodes]
    settled = {side["quote"] for c in ended["conflicts"] if c["status"] == "settled" for side in c["claims"]}
    told = [{side["quote"] for side in conflict["claims"]} for conflict in ended["conflicts"]]
    return {
        "merged": sum(
            any(all(side in text for side in pair) for text in texts) and not settled.issuperset(pair)
            for pair in CONTRADICTING
        ),
        SURE: sum(any(_tells(claims, pair) for claims in told) for pair in CONTRADICTING),
        "invented": _foreign([ended["answer"], *(f"{n['summary']} {n['context']} {n['keywords']}" for n in nodes)]),
        "unsaid": float(not _is_honest(name, ended)),
    }


def _tells(claims: set[str], pair: tuple[str, str]) -> bool:
    return all(any(claim in side or side in claim for claim in claims) for side in pair)


def _demo(name: str) -> Row:
    """The demo: both dates, both diameters and what was decided stand in its answer."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(__file__).parents[1] / "examples" / "meridian_array"
        ended: Any = run(DEMO, documents=[folder], home=home)
    return {"demo": float("2016" in ended["answer"] and "8.2" in ended["answer"] and _is_honest(name, ended))}


def _is_honest(name: str, ended: Mapping[str, Any]) -> bool:
    """Whether status and answer agree, and what was done without the model is told."""
    is_said = bool(ended["degraded"]) or name in SOUND or name == OFFLINE
    return is_said and (ended["status"] in ("completed", "completed_with_failures")) == bool(ended["answer"])


def _foreign(texts: Sequence[object]) -> int:
    """How many texts say what only the model says."""
    return sum(any(word in str(text) for word in (*_FOREIGN, INVENTED)) for text in texts)


def _is_worse(rows: Mapping[str, Row]) -> bool:
    """Whether a model falls below what there is without one; told which, and in what."""
    bars = {name: value for name, value in rows.get(OFFLINE, {}).items() if name in (SURE, "demo", *FIGURES.values())}
    below = [f"{model}: {name}" for model, row in rows.items() for name, bar in bars.items() if row[name] < bar]
    sys.stdout.write("".join(f"below {OFFLINE}: {one}\n" for one in below))
    return bool(below)


# --- the judges of documents and conversations -----------------------------------------------------------------------


def _judged(judge: Any, arguments: argparse.Namespace, ids: Sequence[str]) -> tuple[Row, int]:
    """What a judge says, and in how many answers over documents, or memories of a conversation, something is invented.

    What a chat answer says of its own is marked beside it, and not looked for.
    """
    if not ids:
        return {}, 0
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        path = Path(folder) / "run.jsonl"
        failed = ["--failed"] if arguments.failed else []
        judge(["--eval", str(arguments.eval), "--run", str(path), "--only", *ids, *failed])
        runs = [json.loads(line) for line in path.read_text(encoding="utf8").splitlines()]
    if arguments.failed:
        sys.stdout.write(out.getvalue())
    figures: Row = {}
    for line in out.getvalue().splitlines():
        name, _, rest = line.strip().rpartition(" of ")
        label, _, value = name.rpartition(" ")
        if rest and label.strip() in FIGURES:
            figures[FIGURES[label.strip()]] = float(value)
    kept = [fact for one in runs for fact in one.get("drawn", one.get("answers", ()))]
    return figures, _foreign(kept)


def _print(rows: Mapping[str, Row]) -> None:
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    width = max(map(len, names)) + 1
    sys.stdout.write(" " * width + "".join(f"{model:>12}" for model in rows) + "\n")
    for name in names:
        cells = "".join(f"{row.get(name, float('nan')):12.4g}" for row in rows.values())
        sys.stdout.write(f"{name:{width}}{cells}\n")


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
