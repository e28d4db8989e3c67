"""A memory bank whose engine takes its time to answer, and that merges and disputes as a test says, without a model."""

import time

from agentic_memory_bank.engines.base import Answer, Pairing, Passage, Relation
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings import HashEmbeddings


def _answer(question: str, passages: list[Passage]) -> Answer:
    time.sleep(1.5)
    return Answer("slow", (), "")


graph = build_memory_bank(engine=ScriptedEngine(answer=_answer), embeddings=HashEmbeddings())
