"""What a memory bank asks its chat models: how many calls, how long the longest prompt, how long ingestion takes.

Nothing is judged: a server on the loopback interface answers as a diligent model would, with as many topics as there
are in the text, summaries of a third of their topic, and edges between whatever it is shown. The gate of analysis is
wide open, so that every memory is compared with k others: the worst case for calls.

The specification, taken literally, makes 3k + 2 calls for a window of text with k topics:
one of classification, one of structuring for each topic, two of analysis for each new memory (contradiction and merge
first, then relation), and one of planning. The target is 4 for a window, whatever k, and one of planning for a step.
"""

import argparse
import math
import os
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkpoint_cost import Writer, filled  # a benchmark, too
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.engines.llm import bank, bank_answers, bank_checks
from agentic_memory_bank.graph.memory_bank import MemoryBank, build_memory_bank
from agentic_memory_bank.nodes.memory_bank.classify import chunk_spans
from agentic_memory_bank.prompts.fence import unescape
from agentic_memory_bank.state import interaction_tree, query_graph
from agentic_memory_bank.state.model_table import ROLES
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ChatRequest, ModelServer, ScriptedJudge, TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.text.tokens import estimate_tokens

WINDOWS = (1, 4, 16)
TOPICS = (2, 7, 24, 500)
"""Topics of a window; the last is more than there are paragraphs, so that each is a topic of its own."""
SMALL = 8_000
DEFAULT = 32_000
SIZES = (0, 1_000, 10_000)
PARAGRAPH_CHARACTERS = 300
INGESTION = ("classify", "structure", "find_conflicts", "find_related")
LATENCY = 0.2
CONCURRENCY = 8
PARALLEL_WINDOWS = 64
PARALLEL_WINDOW = 1_000
"""Small, so that what is measured is waiting for the server, and not the indexing of what comes in."""
TRIES = 2

MOST_CALLS = 4.0
MOST_GROWTH = 1.05
MOST_TIMES_IDEAL = 1.25
MOST_CHECKING = 0.05
CHECKS = (
    *(
        "held_summary",
        "held_integration",
        "held_refresh",
        "held_verdict",
        "may_unsettle",
        "held_words",
        "borne",
        "may_answer",
    ),
    *("may_answer_all", "copies", "shown_memories"),
    *("supported_part", "unsupported", "speaks_of", "support_for", "locate", "closest", "topics_of"),
)
"""What holds an answer to its texts."""

PARAGRAPH = re.compile(r'<p id="(\d+)">(.*?)</p>', re.DOTALL)
TOPIC = re.compile(r'<topic id="(\d+)">\n(?:about: [^\n]*\n)?(?:keywords: [^\n]*\n)?(.*?)\n</topic>', re.DOTALL)
MOST_WORDS = re.compile(r"^At most (\d+) words each\.$", re.MULTILINE)
_PAIRS = re.compile(r"<pairs>\n(.*?)\n</pairs>", re.DOTALL)


# --- a diligent model --------------------------------------------------------------------------------------------


def classified(prompt: str) -> dict[str, Any]:
    """A topic for each first word of a paragraph."""
    found: dict[str, list[int]] = {}
    for number, text in PARAGRAPH.findall(prompt):
        found.setdefault(text.split()[0] if text.split() else "", []).append(int(number))
    return {
        "topics": [
            {
                "paragraphs": [{"first": n, "last": n} for n in numbers],
                "context": f"What is told of {word}, in the order in which it is told, and by whom.",
                "keywords": [word, "told", "order", "whom", "place", "time"],
            }
            for word, numbers in found.items()
        ]
    }


def structured(prompt: str) -> dict[str, Any]:
    """The first third of each topic."""
    memories: list[dict[str, Any]] = []
    most = int(MOST_WORDS.findall(prompt)[-1])
    for number, text in TOPIC.findall(prompt):
        words = unescape(text).split()
        said = " ".join(words[: min(most, max(1, len(words) // 3))])
        context = f"What is told of {words[0]}, in the order in which it is told, and by whom."
        memories.append({"id": int(number), "summary": said, "context": context, "keywords": words[:6]})
    return {"memories": memories}


def related(prompt: str) -> dict[str, Any]:
    """An edge for each new memory, to the first it is compared with, which is refreshed."""
    pairs = [line.partition(": ") for line in "".join(_PAIRS.findall(prompt)).splitlines()]
    return {
        "related": [
            {
                "new": int(new),
                "other": int(others.split(", ")[0]),
                "new_context": "",
                "new_keywords": [],
                "other_context": f"What is told beside number {new}, in the order in which it is told.",
                "other_keywords": ["told", "order", "beside"],
            }
            for new, _, others in pairs
        ]
    }


judge = ScriptedJudge(classify=classified, structure=structured, find_related=related)
"""Served by another process where time is measured."""


# --- what it is asked about --------------------------------------------------------------------------------------


def document(windows: int, topics: int, window: int, settings: Settings) -> str:
    """A text that fills so many windows, in each so many topics in turn; words are made up."""
    writer, chance = Writer(windows), random.Random(topics)
    limit = settings.role("classify").text_tokens(settings.window_ratio)
    paragraphs: list[str] = []
    for _ in range(windows):
        words = ["".join(chance.choices("bcdfghklmnprstvwz", k=9)) for _ in range(topics)]
        left, number = limit * 0.99, 0
        while True:
            text = f"{words[number % topics]} {writer.text(PARAGRAPH_CHARACTERS).lower()}"
            left -= estimate_tokens(text) + 1
            if left < 0:
                break
            paragraphs.append(text)
            number += 1
    return "\n\n".join(paragraphs)


def apart(windows: int, window: int, settings: Settings) -> str:
    """The same for texts that have no word in common with each other."""
    chance = random.Random(5)
    paragraphs: list[str] = []
    left = windows * settings.role("classify").text_tokens(settings.window_ratio) * 0.98
    while left > 0:
        letters = [chr(0x4E00 + chance.randrange(20_000)) for _ in range(120)]
        paragraphs.append("".join(letters))
        left -= estimate_tokens(paragraphs[-1]) + 1
    return "\n\n".join(paragraphs)


def small(window: int, **given: Any) -> Settings:
    """Settings with the same window for all roles, every pair through the gate."""
    windows = {f"{role}_window": window for role in ROLES}
    return Settings(**{"model": "local:bench", "gate_english": -1, "gate_chinese": -1, **windows, **given})


@dataclass(frozen=True)
class Asked:
    """What a server was asked in one run."""

    calls: Counter[str]
    longest: dict[str, int]
    """Estimated tokens of the longest prompt, by judgement."""
    seconds: float
    status: str

    @classmethod
    def of(cls, requests: Sequence[ChatRequest], seconds: float, status: str) -> "Asked":
        """Count requests by judgement."""
        kinds = [ScriptedJudge.kind_of(request) for request in requests]
        longest: dict[str, int] = {}
        for kind, request in zip(kinds, requests, strict=True):
            longest[kind] = max(longest.get(kind, 0), estimate_tokens(request.text))
        return cls(Counter(kinds), longest, seconds, status)


@contextmanager
def pointed_at(url: str) -> Iterator[None]:
    """Models named `local:` are those of a server on this machine, and no proxy is between."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        os.environ.pop(name)
    os.environ["MEMORY_BANK_LOCAL_BASE_URL"] = url
    yield
    os.environ.pop("MEMORY_BANK_LOCAL_BASE_URL")


def ask(text: str, settings: Settings, memory: int = 0, model: ScriptedJudge = judge) -> Asked:
    """Have a text remembered by a bank that holds so many memories, and count what is asked."""
    bank = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock(), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "bench"}, "recursion_limit": 10_000}
    if memory:
        fill(bank, config, memory)
    with ModelServer(model) as server, pointed_at(server.url):
        start = time.perf_counter()
        result = bank.invoke({"question": "What is told first?", "documents": [text]}, config, context=settings)
        return Asked.of(server.chats, time.perf_counter() - start, result["status"])


def fill(bank: MemoryBank, config: Any, size: int) -> None:
    """Put memories into a bank, as edits."""
    held = filled(size)
    edits = [query_graph.put(node) for node in held["query_graph"]["nodes"].values()]
    entries = [interaction_tree.append(entry) for entry in held["interaction_tree"]["entries"].values()]
    update = {"query_graph": edits, "interaction_tree": entries, "now": held["now"], "status": "completed"}
    bank.update_state(config, update, as_node="adapter_out")


# --- what is measured --------------------------------------------------------------------------------------------


def calls_per_window(windows: Sequence[int], topics: Sequence[int], window: int) -> bool:
    """Whether calls keep to the target, by number of windows and of topics."""
    settings, met = small(window), True
    for count in windows:
        for k in topics:
            text = document(count, k, window, settings)
            chunks = len(chunk_spans(text, settings.role("classify").text_tokens(settings.window_ratio)))
            asked = ask(text, settings)
            found = sum(asked.calls[kind] for kind in INGESTION) / chunks
            named = ", ".join(f"{kind} {asked.calls[kind]}" for kind in INGESTION)
            per_window = min(k, math.ceil(len(text.split("\n\n")) / chunks))
            met &= target(
                f"{chunks} windows of {window:,} tokens, {per_window} topics in each: {found:.2f} calls a window"
                f" ({named}; plan {asked.calls['plan']}), specification {3 * per_window + 2}",
                found <= MOST_CALLS and asked.calls["plan"] == 1 and asked.status == "completed",
            )
    return met


def nothing_to_analyse(window: int) -> bool:
    """Whether pairs below the gate cost nothing."""
    settings = small(window, gate_english=Settings().gate_english, gate_chinese=Settings().gate_chinese)
    asked = ask(apart(4, window, settings), settings, model=ScriptedJudge(classify=classified))
    found = asked.calls["find_conflicts"] + asked.calls["find_related"]
    return target(f"nothing passes the gate: {found} calls of analysis", found == 0 and asked.calls["structure"] > 0)


def longest_prompts(sizes: Sequence[int]) -> bool:
    """Whether prompts are as long with a large memory as with a small one; that of the answer has its own budget."""
    settings = small(SMALL)
    text = document(2, 12, SMALL, settings)
    by_size = {size: ask(text, settings, size).longest for size in sizes}
    for size, longest in by_size.items():
        named = ", ".join(f"{kind} {tokens:,}" for kind, tokens in sorted(longest.items()))
        say(f"      longest prompts with {size:,} memories before, in tokens: {named}")
    growth = {kind: by_size[sizes[-1]][kind] / by_size[sizes[1]][kind] for kind in (*INGESTION, "plan")}
    kind = max(growth, key=growth.__getitem__)
    first, last = (max(by_size[size].values()) for size in (sizes[1], sizes[-1]))
    met = target(
        f"longest prompt with {sizes[-1]:,} memories over that with {sizes[1]:,}: {last / first:.3f}; of any judgement"
        f" at most {growth[kind]:.3f}, {kind} (at most {MOST_GROWTH:g})",
        max(last / first, growth[kind]) <= MOST_GROWTH,
    )
    most = max(max(longest.values()) for longest in by_size.values())
    return target(f"no prompt over its window of {SMALL:,} tokens: {most:,}", most <= SMALL) and met


def ingestion_time(windows: int) -> bool:
    """Whether requests of a stage are made at the same time."""
    own = {"classify_window": PARALLEL_WINDOW, "structure_window": PARALLEL_WINDOW}
    settings = small(2 * PARALLEL_WINDOW, max_concurrency=CONCURRENCY, **own)
    text = document(windows, 3, PARALLEL_WINDOW, settings)
    place = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [place, os.environ.get("PYTHONPATH")]))
    bank = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock())
    tries: list[Asked] = []
    checks: Counter[str] = Counter()
    with ModelServer.spawn("model_calls:judge", latency=LATENCY) as server, pointed_at(server.url), timed(checks):
        bank.invoke({"question": "Is it warm?"}, context=settings)  # modules are imported, connections made
        for number in range(TRIES):
            server.reset()
            checks.clear()
            start = time.perf_counter()
            given = {"question": f"What is told first, time {number}?", "documents": [text]}
            result = bank.invoke(given, context=settings)
            tries.append(Asked.of(server.chats, time.perf_counter() - start, result["status"]))
            at_once = server.most_at_once
    asked = min(tries, key=lambda one: one.seconds)
    ideal = sum(math.ceil(calls / CONCURRENCY) for calls in asked.calls.values()) * LATENCY
    share = checks["checks"] / ideal
    say(f"      what rules judge beside the model: {checks['rules']:.2f} CPU seconds")
    met = target(
        f"checks of answers: {checks['checks']:.2f} CPU s, {share:.1%} of the ideal (at most {MOST_CHECKING:.0%})",
        share <= MOST_CHECKING,
    )
    return met & target(
        f"{windows} windows at {LATENCY * 1_000:.0f} ms, {at_once} requests at once: {asked.seconds:.2f} s for"
        f" {asked.calls.total()} calls, ideal {ideal:.1f} s, ratio {asked.seconds / ideal:.2f}"
        f" (at most {MOST_TIMES_IDEAL:g})",
        asked.seconds <= ideal * MOST_TIMES_IDEAL and at_once <= CONCURRENCY,
    )


@contextmanager
def timed(spent: Counter[str]) -> Iterator[None]:
    """Note the CPU seconds of each check of what a model said; one within another counts once."""
    inside = threading.local()

    def noted(check: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            if getattr(inside, "checks", False):
                return check(*given, **named)
            inside.checks, began = True, time.thread_time()
            try:
                return check(*given, **named)
            finally:
                inside.checks = False
                spent[kind] += time.thread_time() - began

        return run

    homes = (bank, bank_answers, bank_checks)
    places: list[tuple[Any, str]] = [(home, name) for home in homes for name in CHECKS if hasattr(home, name)]
    places += [(ExtractiveEngine, name) for name in ("find_conflicts", "answer", "plan")]  # asked beside the model
    before = [getattr(module, name) for module, name in places]
    for (module, name), check in zip(places, before, strict=True):
        setattr(module, name, noted(check, "rules" if module is ExtractiveEngine else "checks"))
    try:
        yield
    finally:
        for (module, name), check in zip(places, before, strict=True):
            setattr(module, name, check)


def target(name: str, met: bool) -> bool:
    """Print a target and whether it is met."""
    say(f"{'pass' if met else 'FAIL'}  {name}")
    return met


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Measure calls, prompts and time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few windows, a small memory: that it works")
    given = parser.parse_args()
    if given.quick:
        met = [calls_per_window((2,), (2, 500), SMALL), nothing_to_analyse(SMALL), longest_prompts((0, 100, 1_000))]
        return 0 if all([*met, ingestion_time(16)]) else 1
    met = [
        calls_per_window(WINDOWS, TOPICS, SMALL),
        calls_per_window(WINDOWS[:2], TOPICS, DEFAULT),
        nothing_to_analyse(SMALL),
        longest_prompts(SIZES),
        ingestion_time(PARALLEL_WINDOWS),
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
