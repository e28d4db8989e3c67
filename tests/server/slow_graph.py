"""A memory bank without a model, whose engine takes its time to answer, or all of it until it is told to go on."""

import os
import time
from pathlib import Path

from agentic_memory_bank.engines.base import PassageQuote, QuotedAnswer, RetrievedPassage
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

LONGEST = 120.0


def _answer(question: str, passages: list[RetrievedPassage]) -> QuotedAnswer:
    told, ends = Path(os.environ["MEMORY_BANK_HOME"]).parent / "go", time.monotonic() + LONGEST
    if question.startswith("Wait"):
        while not told.exists() and time.monotonic() < ends:
            time.sleep(0.05)
    else:
        time.sleep(1.5)
    return QuotedAnswer("slow", (PassageQuote(0, (0, len(passages[0].text))),), "")


graph = build_memory_bank(engine=ScriptedEngine(answer=_answer), embeddings=HashEmbeddings())
graph.name = "slow"
