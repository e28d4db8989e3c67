"""Runs the command line as `memory-bank` does, with parts that load no model and judge at the speed a test asks for."""

import os
import re
import sys
import time
from typing import Any

from agentic_memory_bank.cli import main, options
from agentic_memory_bank.engines.base import TopicSummary


def parts(settings: object) -> dict[str, Any]:
    from agentic_memory_bank.testing import ScriptedEngine
    from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

    judgements = {
        "quick": {},
        "sleeping": {"structure": sleep},
        "busy": {"structure": work},
        "brief": {"structure": nap},
    }
    engine = ScriptedEngine(**judgements[os.environ["TEST_ENGINE_OF_MEMORY_BANK"]])
    return {"engine": engine, "embeddings": HashEmbeddings()}


def sleep(topics: Any) -> Any:
    time.sleep(600)


def nap(topics: Any) -> Any:
    time.sleep(0.5)
    return [TopicSummary(topic.text, topic.text[:40], ()) for topic in topics]


def work(topics: Any) -> Any:
    while True:
        re.sub("a", "b", "a" * 1000)


if __name__ == "__main__":
    sys.argv[0] = "memory-bank"
    options.parts_from = parts
    main()
