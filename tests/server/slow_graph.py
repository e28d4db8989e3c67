"""A memory bank without a model, whose engine takes its time to answer."""

import time

from agentic_memory_bank.engines.base import PassageQuote, QuotedAnswer, RetrievedPassage
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings


def _answer(question: str, passages: list[RetrievedPassage]) -> QuotedAnswer:
    time.sleep(1.5)
    return QuotedAnswer("slow", (PassageQuote(0, (0, len(passages[0].text))),), "")


graph = build_memory_bank(engine=ScriptedEngine(answer=_answer), embeddings=HashEmbeddings())
graph.name = "slow"
