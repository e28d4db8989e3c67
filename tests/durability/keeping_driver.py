"""Processes that are killed the moment they have their answer: each says something, tells what came, and dies.

Each line of the input is `ACT FOLDER`, and is done by a child of this process, which has loaded what all of them need.

Its embeddings never come to an end, as though their model was loading for ever.
"""

import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage

from agentic_memory_bank import FourTierMemory, Memories
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.responder import ResponderInput
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores, default_store

FACTS = [f"My {thing} is called {name}." for thing, name in (("dog", "Rex"), ("cat", "Minka"), ("boat", "Halcyon"))]


class Endless(HashEmbeddings):
    """Embeddings whose model is loading for ever."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        threading.Event().wait()
        raise AssertionError


class Mortal:
    """Dies where it was to answer."""

    name = "mortal"

    def respond(self, situation: ResponderInput) -> AIMessage:
        die()


class Streamed(GenericFakeChatModel):
    """A chat model that answers word by word."""

    @property
    def _llm_type(self) -> str:
        return "streamed"


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def told(outcome: object) -> None:
    sys.stdout.write(f"{json.dumps(outcome)}\n")
    sys.stdout.flush()


def by_a_child(act: str, place: Path) -> int:
    """Have a child do it; the exit code."""
    child = os.fork()
    if not child:
        try:
            {f.__name__: f for f in (talk, full, unanswered, first_word, later, agent)}[act](place)
            die()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def memories(folder: Path, **options: Any) -> Memories:
    return Memories(home=folder, embeddings=Endless(), **options)


def talk(folder: Path) -> None:
    """Several messages: what was said before makes each of them look for memories, which never comes to an end."""
    settings = {"recall_timeout": 2.0, "remember_every": 4}
    own = memories(folder, settings=settings)
    for fact in FACTS:
        output = own.talk(fact, user="ana", conversation_id="c")
    told(output["remembered"])  # pyright: ignore[reportPossiblyUnboundVariable]


def full(folder: Path) -> None:
    """The same, with a queue that takes nothing more."""
    own = memories(folder, settings={"recall_timeout": 2.0, "remember_queue": 1})
    told([own.talk(fact, user="ana", conversation_id="c")["remembered"]["outcome"] for fact in FACTS])


def unanswered(folder: Path) -> None:
    """Dies in the midst of answering."""
    from agentic_memory_bank.graph.conversation import build_conversation

    stores = RecordStores(default_store(folder), Encoder(Endless()))
    graph = build_conversation(stores=stores, responder=Mortal())
    graph.invoke({"messages": [HumanMessage(FACTS[0])], "conversation_id": "c"}, context=MemoryContext(user="ana"))


def first_word(folder: Path) -> None:
    """Dies at the first word of the answer that is shown."""
    model = Streamed(messages=iter([AIMessage("A fine name for a dog.")]))
    own = memories(folder, models=model)
    own.talk(FACTS[0], user="ana", conversation_id="c", heard=lambda words: die() if words else None)


def later(folder: Path) -> None:
    """Hands over, and dies."""
    own = memories(folder)
    told(own.remember_later(FACTS[0], user="ana", conversation_id="c", end=True)["receipt"]["outcome"])


def agent(folder: Path) -> None:
    """An agent with memory answers, and dies."""

    def fetch(report: str) -> str:
        """Fetch a report."""
        return f"The report {report} has 417 rows."

    calls = [AIMessage("", tool_calls=[{"name": "fetch", "args": {"report": name}, "id": f"c{name}"}]) for name in "ab"]
    model = _Tooled(messages=iter([*calls, AIMessage("Both reports are fetched.")]))
    stores = RecordStores(default_store(folder), Encoder(Endless()))
    memory = FourTierMemory(engine=ExtractiveConversationEngine(), stores=stores)
    made = create_agent(model, [fetch], middleware=[memory], context_schema=MemoryContext)  # pyright: ignore[reportUnknownVariableType]
    said = [HumanMessage("Fetch the reports a and b. My dog is called Rex.")]
    output = made.invoke({"messages": said, "conversation_id": "c"}, context=MemoryContext(user="ana"))  # pyright: ignore[reportUnknownMemberType]
    told(output["messages"][-1].text)


class _Tooled(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


if __name__ == "__main__":
    for order in sys.stdin:
        act, _, place = order.strip().partition(" ")
        sys.stdout.write(f"ended {by_a_child(act, Path(place))}\n")
        sys.stdout.flush()
