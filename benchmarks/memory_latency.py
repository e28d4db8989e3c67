"""What memory adds to the first call of an agent's model: 5,000 facts and 1,000 episodes of one user.

Embedding is left out: the queries are embedded before, and the vectors are made of hashes, of the usual length. Then
the same over a store that sleeps before each answer: facts, episodes and the conversation together are to take little
more than one sleep.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore, Op, Result
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.graph.four_tier import FourTierMemory
from agentic_memory_bank.nodes.deps import Owner
from agentic_memory_bank.nodes.react_mem import episodes
from agentic_memory_bank.nodes.react_mem.deps import Scope
from agentic_memory_bank.nodes.react_mem.recall import query_of, recall_for_agent
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.concurrency.circuit_breaker import circuit_breaker_of
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

FACTS, EPISODES, QUERIES = 5_000, 1_000, 200
MOST, MOST_ASLEEP = 0.050, 0.150
"""Seconds: p95 of what is added, and of both tiers together over a store that sleeps."""
SLEEP = 0.1
_WORDS = [a + b + c + d for a in "bcdfghjk" for b in "aeiou" for c in "lmnprst" for d in ("a", "en", "or", "ik")]


class Sleeping(BaseStore):
    """A store that sleeps before each answer; several may ask at once."""

    def __init__(self) -> None:
        self.inner, self.seconds = InMemoryStore(), 0.0

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Sleep, and answer."""
        time.sleep(self.seconds)
        return self.inner.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same."""
        return self.batch(ops)


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def _filled(store: BaseStore, chance: random.Random) -> FourTierMemory:
    stores = RecordStores(store, Encoder(HashEmbeddings(384)))
    records = stores.of()
    facts: list[Any] = [{"text": f"The user {_sentence(chance, 9)}."} for _ in range(FACTS)]
    done: Any = {"id": "", "outcome": "It is done.", "lesson": "What worked.", "steps": ["a", "b"], "at": ""}
    tasks = [episodes.draft({**done, "goal": _sentence(chance, 9)}, "c", [], "") for _ in range(EPISODES)]
    for start in range(0, len(facts), 1_000):
        records.store_many("u", facts[start : start + 1_000])
    records.store_many("u", tasks)
    return FourTierMemory(stores=stores)


def _timed(memory: FourTierMemory, scope: Scope, query: str) -> float:
    messages: list[Any] = [HumanMessage(query)]
    text = query_of(memory.deps, messages)
    memory.deps.stores.encoder.vectors([text, episodes.goal(text)])
    begun = time.perf_counter()
    found = recall_for_agent(memory.deps, scope, messages, "i")
    taken = time.perf_counter() - begun
    circuit_breaker_of(memory.deps.stores).flush(
        10
    )  # that it was used is noted behind an invocation, not beside the next one
    if found["degraded"]:
        raise SystemExit(f"Memory was out of reach: {found['degraded']}")
    return taken


def measure() -> dict[str, float]:
    """The figures, in seconds."""
    chance, store = random.Random(3), Sleeping()
    memory = _filled(store, chance)
    scope = Scope(Owner("u", ""), "c", MemoryContext(user="u", recall_timeout=10, memory_quota=100_000))
    queries = [_sentence(chance, 9) for _ in range(QUERIES + 10)]
    for query in queries[QUERIES:]:
        _timed(memory, scope, query)
    taken = sorted(_timed(memory, scope, query) for query in queries[:QUERIES])
    memory.flush()
    store.seconds = SLEEP
    asleep = sorted(_timed(memory, scope, query) for query in queries[:10])
    return {
        "facts": FACTS,
        "episodes": EPISODES,
        "median": round(statistics.median(taken), 4),
        "p95": round(taken[int(0.95 * len(taken))], 4),
        "asleep_median": round(statistics.median(asleep), 4),
        "asleep_longest": round(asleep[-1], 4),
    }


def main() -> int:
    """Print the figures; 1 where memory takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", help="not used: the memories are made up")
    parser.parse_args()
    found = measure()
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0 if found["p95"] < MOST and found["asleep_median"] < MOST_ASLEEP else 1


if __name__ == "__main__":
    sys.exit(main())
