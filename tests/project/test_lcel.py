"""The compiled graph is a Runnable among others, in an application whose own modules have our folders' names."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.model, pytest.mark.slow]

APPLICATION = """
import asyncio
import json
from operator import itemgetter

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

import graph
import state
import tools
from agentic_memory_bank import arun, memory_bank, run

QUESTION = "How wide is the mirror of the Meridian Array?"
TEXT = "The mirror of the Meridian Array is 8.2 metres wide."


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(TEXT, metadata={"source": "shelf"}), Document("Fish soup is served on Fridays.")]


asked = {"question": RunnableLambda(lambda question: question), "documents": Shelf()}
chain = asked | memory_bank | itemgetter("answer") | StrOutputParser()


async def together():
    streamed = [part async for part in chain.astream(QUESTION)]
    fifty = await asyncio.gather(*(chain.ainvoke(QUESTION) for _ in range(50)))
    return {"ainvoke": await chain.ainvoke(QUESTION), "astream": "".join(streamed), "fifty": fifty}


found = asyncio.run(together())
found["own"] = [graph.NAME, state.NAME, tools.NAME]
found["invoke"] = chain.invoke(QUESTION)
found["batch"] = chain.batch([QUESTION] * 3)
found["run"] = run(QUESTION, documents=[TEXT])["answer"]
found["arun"] = asyncio.run(arun(QUESTION, documents=[TEXT]))["answer"]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an application with modules of its own called `graph`, `state` and `tools` printed."""
    folder = tmp_path_factory.mktemp("application")
    for name in ("graph", "state", "tools"):
        (folder / f"{name}.py").write_text(f'NAME = "the application\'s {name}"\n')
    (folder / "application.py").write_text(APPLICATION)
    environment = {**os.environ, "MEMORY_BANK_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "application.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_the_applications_own_modules_are_found(found: dict[str, Any]) -> None:
    assert found["own"] == [f"the application's {name}" for name in ("graph", "state", "tools")]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "astream", "run", "arun"])
def test_each_way_to_call_it_answers(found: dict[str, Any], way: str) -> None:
    assert "8.2 metres" in found[way]


def test_a_batch_answers_each(found: dict[str, Any]) -> None:
    assert found["batch"] == [found["invoke"]] * 3


def test_fifty_at_once_all_get_the_same_answer(found: dict[str, Any]) -> None:
    assert found["fifty"] == [found["invoke"]] * 50


def test_the_files_of_a_finished_run_are_gone(found: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    home = next(Path(tmp_path_factory.getbasetemp()).glob("application*/home"))

    assert list((home / "threads").iterdir()) == []
