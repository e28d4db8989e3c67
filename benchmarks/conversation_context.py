"""What is left of a dialogue of 1,000 turns in 650 tokens, and does it hold the evidence for a question?

    python benchmarks/conversation_context.py --eval DIR [--cache DIR] [--half dev]

DIR is the folder of evaluation data. Each dialogue of LoCoMo is one conversation of one user: the product's `remember`
graph is handed two turns at a time, and each session's end; then the dialogue is repeated until it has 1,000 turns.
Each question is the next message of that conversation: the product's `conversation` graph fits what a model is shown,
and what it shows is looked at. As in the product, a question is kept as a turn before the next one is asked, so that
the last turns that are shown are questions; with `--set auto_store=false` none is kept, and five of the dialogue's
are. No model is asked: whoever judges is the engine that works offline.

*Context*: the tokens of all that is shown, as the product estimates them, roles and borders included.

*Evidence*: the turns in which the answer stands, as the data say. A turn is held *by source* where a memory is shown
that names it as its source, with a whole sentence of it at least; the target is for this. A turn is held *in words*
where such a memory is shown with all the terms of the answer that the turn has; where it has none ("yesterday" for a
date), with at least half of the terms of the turn. A question counts by the share of its turns that are held; beside
that stand the shares of questions of which any turn, and all turns, are held. Questions whose answer is that it was
never said (adversarial) are shown apart.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from research_calls import machine  # a benchmark, too

from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.responder import ResponderInput
from agentic_memory_bank.graph.conversation import build_conversation
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.nodes.agent_messages import total
from agentic_memory_bank.nodes.messages import RECALLED, turns_of
from agentic_memory_bank.prompts.fence import parse
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.memories.stores import RecordStores
from agentic_memory_bank.tools.storage.sqlite_store import SqliteRecordStore
from agentic_memory_bank.tools.text.attribution import unattributed
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

Row = dict[str, Any]

TURNS = 1_000
TOGETHER = 2
"""Turns that are handed over at a time: what the user said, and the answer."""
MOST_TOKENS = 650
LEAST_HELD = 0.78
HALF = 0.5
"""Share of the terms of a turn that a memory must show to hold it."""
CONVERSATION = "dialogue"
PATIENCE = 30.0
"""Seconds that recalling may take: how fast it is is measured elsewhere."""


def main(argv: list[str] | None = None) -> int:
    """Measure and print. The exit status says whether all targets were reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True, help="folder of evaluation data")
    parser.add_argument("--cache", type=Path, help="folder to keep vectors in")
    parser.add_argument("--half", default="dev", help="which half's files to read (default: dev)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the questions")
    arguments = parser.parse_args(argv)
    there = sorted(path.suffixes[-2][1:] for path in arguments.eval.glob("locomo/turns.*.jsonl"))
    if arguments.half not in there:
        parser.error(f"There is no half {arguments.half!r} in {arguments.eval}/locomo; there is: {', '.join(there)}")
    if arguments.cache:
        arguments.cache.mkdir(parents=True, exist_ok=True)
    encoder = Encoder(cache=arguments.cache / "vectors.sqlite" if arguments.cache else None)
    sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}, vectors of {encoder.model}\n\n")
    turns = _rows(arguments.eval / f"locomo/turns.{arguments.half}.jsonl")
    queries = _rows(arguments.eval / f"locomo/queries.{arguments.half}.jsonl")
    settings = dict(given.split("=", 1) for given in arguments.set)
    with tempfile.TemporaryDirectory() as folder:
        dialogues = Dialogues(turns, encoder, Path(folder))
        sys.stdout.write(f"{dialogues.seconds:.0f} s for {dialogues.count:,} turns, with their vectors\n\n")
        encoder.vectors([query["query"] for query in queries])
        asked = [dialogues.ask(query, settings) for query in queries]
    return _report(asked)


@dataclass(frozen=True)
class Asked:
    """What was shown for a question."""

    type: str
    tokens: int
    memory: int
    """Tokens of the memory part."""
    sourced: float | None
    """The share of the evidence that is in there by source; None where the data name none."""
    held: float | None
    """The same, in words."""
    seconds: float


@dataclass
class _Listener:
    """Answers nothing, and keeps what a model would be shown."""

    name: str = "listener"
    heard: list[ResponderInput] = field(default_factory=list[ResponderInput])

    def respond(self, situation: ResponderInput) -> AIMessage:
        self.heard.append(situation)
        return AIMessage("-")


class _Forgetful:
    """A queue that takes nothing: a question is kept as a turn, and no memory is drawn from it."""

    def submit(self, key: str, job: object) -> bool:
        return False


class Dialogues:
    """All dialogues, remembered and grown, and the conversation that goes on with them."""

    def __init__(self, turns: Sequence[Row], encoder: Encoder, folder: Path) -> None:
        self._stores = RecordStores(SqliteRecordStore(folder / "memories.sqlite"), encoder)
        self._listener = _Listener()
        self._graph = build_conversation(
            stores=self._stores,
            responder=self._listener,
            background=_Forgetful(),
            engine=ExtractiveConversationEngine(),
        )
        self._terms = {turn["id"]: frozenset(tokenize(_said(turn))) for turn in turns}
        self._ids: dict[str, str] = {}
        self.count = 0
        began = time.perf_counter()
        groups: dict[str, list[Row]] = defaultdict(list)
        for turn in turns:
            groups[turn["group"]].append(turn)
        for user, members in groups.items():
            self._remember(user, members)
        self.seconds = time.perf_counter() - began

    def _remember(self, user: str, turns: Sequence[Row]) -> None:
        graph = build_remember(engine=ExtractiveConversationEngine(), stores=self._stores)
        for messages, is_last in self._handed(turns):
            said: Any = {"messages": messages, "conversation_id": CONVERSATION, "end": is_last}
            graph.invoke(said, context={"user": user})  # pyright: ignore[reportArgumentType]
        again = [turns[n % len(turns)] for n in range(TURNS - len(turns))]
        said = {"messages": self._messages(again, "again"), "conversation_id": CONVERSATION}
        graph.invoke(said, context={"user": user, "remember_every": TURNS})  # pyright: ignore[reportArgumentType]
        self.count += TURNS

    def _handed(self, turns: Sequence[Row]) -> Iterator[tuple[list[HumanMessage], bool]]:
        """The turns as they are handed over, and whether a session ends."""
        sessions: dict[str, list[Row]] = defaultdict(list)
        for turn in turns:
            sessions[turn["session"]].append(turn)
        for members in sessions.values():
            for start in range(0, len(members), TOGETHER):
                yield self._messages(members[start : start + TOGETHER], ""), start + TOGETHER >= len(members)

    def _messages(self, turns: Sequence[Row], pass_: str) -> list[HumanMessage]:
        messages = [
            HumanMessage(
                _said(turn),
                name=turn["speaker"],
                id=f"{turn['id']} {pass_} {number if pass_ else ''}",
                additional_kwargs={"date": turn["date"]},
            )
            for number, turn in enumerate(turns)
        ]
        self._ids.update((t.id, turn["id"]) for t, turn in zip(turns_of(messages), turns, strict=True))
        return messages

    def ask(self, query: Row, settings: Mapping[str, str]) -> Asked:
        """Ask a question as the next message of its conversation."""
        said: Any = {"messages": [HumanMessage(query["query"])], "conversation_id": CONVERSATION}
        began = time.perf_counter()
        self._graph.invoke(said, context={"user": query["group"], "recall_timeout": PATIENCE, **settings})  # pyright: ignore[reportArgumentType]
        seconds = time.perf_counter() - began
        situation = self._listener.heard.pop()
        blocks = [m.text for m in situation.messages if m.additional_kwargs.get(RECALLED) and "<memory" in m.text]
        shown = _shown([memory["text"] for memory in situation.memories], _lines("\n".join(blocks)))
        named = [{self._ids.get(turn, "") for turn in memory["turns"]} for memory in situation.memories]
        sources = set[str]().union(*named)
        answer = frozenset(tokenize(" ".join(map(str, query["answers"]))))
        held = [self._is_held(turn, answer, shown, named) for turn in query["gold"]]
        return Asked(
            query["type"],
            total(situation.messages),
            sum(map(estimate_tokens, blocks)),
            fmean(turn in sources for turn in query["gold"]) if held else None,
            fmean(held) if held else None,
            seconds,
        )

    def _is_held(
        self, turn: str, answer: frozenset[str], shown: Sequence[frozenset[str]], named: Sequence[set[str]]
    ) -> bool:
        terms = self._terms.get(turn, frozenset())
        words = frozenset[str]().union(*(w for w, sources in zip(shown, named, strict=True) if turn in sources))
        wanted = terms & answer
        return wanted <= words if wanted and words else len(terms & words) >= HALF * max(1, len(terms))


def _report(asked: Sequence[Asked]) -> int:
    types = sorted({one.type for one in asked})
    sys.stdout.write(f"{'':<21}{'by source':>24}{'in words':>24}\n{'questions':<14}{'count':>7}")
    sys.stdout.write(f"{'share':>8}{'any':>8}{'all':>8}" * 2 + "\n")
    for type in types:
        _row(type, [one for one in asked if one.type == type])
    own = [one for one in asked if one.type != "adversarial"]
    _halves(own)
    sourced, held = _row("ALL but adv.", own)
    most, memory = max(one.tokens for one in asked), max(one.memory for one in asked)
    mean, seconds = fmean(one.tokens for one in asked), sorted(one.seconds for one in asked)[len(asked) // 2]
    sys.stdout.write(f"\ncontext: {mean:.0f} tokens on average, {most} at most; memory part: ")
    sys.stdout.write(
        f"{fmean(one.memory for one in asked):.0f} on average, {memory} at most; {seconds:.3f} s (p50)\n\n"
    )
    verdicts = (
        (f"tokens of the context, at most: {most}, target {MOST_TOKENS}", most <= MOST_TOKENS),
        (
            f"share of the evidence in the memory part, by source: {sourced:.4f}, target {LEAST_HELD:.2f} "
            f"(in words: {held:.4f})",
            sourced >= LEAST_HELD,
        ),
    )
    sys.stdout.write("\n".join(f"{'pass' if met else 'FAIL'}  {line}" for line, met in verdicts) + "\n")
    return 0 if all(met for _, met in verdicts) else 1


def _halves(asked: Sequence[Asked]) -> None:
    """Every other question apart: what was fitted to one half would be worse on the other."""
    for name, start in (("odd", 0), ("even", 1)):
        _row(f"  {name}", asked[start::2])


def _row(name: str, asked: Sequence[Asked]) -> tuple[float, float]:
    """Print how much of the evidence is there; the share by source, and in words."""
    sourced = [one.sourced for one in asked if one.sourced is not None]
    held = [one.held for one in asked if one.held is not None]
    figures = [figure for shares in (sourced, held) for figure in _figures(shares)]
    sys.stdout.write(f"{name:<14}{len(held):>7}" + "".join(f"{figure:>8.4f}" for figure in figures) + "\n")
    return figures[0], figures[3]


def _figures(shares: Sequence[float]) -> tuple[float, float, float]:
    """The mean share, and how many questions have any, and all."""
    if not shares:
        return 0.0, 0.0, 0.0
    return fmean(shares), fmean(one > 0 for one in shares), fmean(one == 1 for one in shares)


def _lines(blocks: str) -> list[str]:
    """The memories of a block as they are shown, each one line."""
    lines = [line for text in parse(blocks, "memory") for line in text.splitlines()]
    return [line.removeprefix("- ") for line in lines if line.startswith("- ")]


def _shown(memories: Sequence[str], lines: list[str]) -> list[frozenset[str]]:
    """The terms that are shown of each memory; the shorter ones, of which no part may stand for another, first."""
    words = {
        place: _line_of(memories[place], lines)
        for place in sorted(range(len(memories)), key=lambda n: len(memories[n]))
    }
    return [frozenset(tokenize(words[place])) for place in range(len(memories))]


def _line_of(memory: str, lines: list[str]) -> str:
    """The words of the line that shows a memory, which is taken out: that with most of its terms in common.

    What is shown is not always word for word what is kept: marks are escaped, sentences joined by one space.
    """
    speaker, _, _ = unattributed(memory)
    said = frozenset(tokenize(memory))
    shown = {line: line.removeprefix(f"{speaker}: ") for line in lines}
    shares = {line: _share(frozenset(tokenize(words)), said) for line, words in shown.items()}
    line = max(shares, key=lambda one: (shares[one], len(one)), default="")
    if not shares.get(line):
        return ""
    lines.remove(line)
    return shown[line]


def _share(words: frozenset[str], said: frozenset[str]) -> float:
    """The share of the terms of a line that a memory holds."""
    return len(words & said) / len(words) if words else 0.0


def _said(turn: Row) -> str:
    """A turn, with what a picture shows that was shared in it."""
    return " ".join(" ".join(filter(None, (turn["text"], turn.get("caption")))).split())


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    raise SystemExit(main())
