"""One of two processes of the same users: `said FOLDER` talks and ends, `asked FOLDER` says what is known later."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.store.base import BaseStore, Op, Result

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.responder import ResponderInput
from agentic_memory_bank.graph.conversation import build_conversation
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores, default_store

SAID = {
    "ana": [
        ["My car is a Tesla Model 3.", "I have a dog called Rex, a beagle."],
        ["My employee number is 4821-77B, and my salary is $83,250.50."],
        ["The project I lead is called Bluefin Harvest."],
        ["I live in Berlin."],
        ["I moved to Lisbon last month."],
    ],
    "bob": [["I keep a cat called Minka."]],
}
DIMENSION = 8192
"""So many slots that no word of these shares one with a word of the date that they are kept with: of 256, "26" took
away "car" on every 26th of a month."""
COLOUR = [{"role": "user", "content": "My favourite colour is teal."}, {"role": "assistant", "content": "A fine one!"}]


class Down(BaseStore):
    """A store that is out of reach."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise ConnectionError

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        raise ConnectionError


class Listener:
    """Answers with fixed words, and keeps what it was shown."""

    name = "listener"

    def __init__(self) -> None:
        self.shown: list[list[list[str]]] = []

    def respond(self, situation: ResponderInput) -> AIMessage:
        self.shown.append([[message.type, message.text] for message in situation.messages])
        return AIMessage("I see.")


def said(folder: Path) -> Any:
    """Talk in several conversations, and keep two credentials because somebody asks for it."""
    with Memories(home=folder, embeddings=HashEmbeddings(DIMENSION)) as memories:
        for user, conversations in SAID.items():
            for number, lines in enumerate(conversations):
                for line in lines:
                    memories.talk(line, user=user, conversation_id=f"{user}{number}")
                memories.flush()
                memories.remember([], user=user, conversation_id=f"{user}{number}", end=True)
        memories.remember(COLOUR, user="ana", conversation_id="completions")
        memories.store("The PIN of my card is 9317.", user="ana")
        memories.store("My password for the wifi is quokka-lane.", user="bob")
    return "said"


def asked(folder: Path) -> Any:
    """What another process finds, and what a model of its own would be shown."""
    listener = Listener()
    with Memories(home=folder, embeddings=HashEmbeddings(DIMENSION)) as memories:

        def block(text: str, user: str = "ana", **options: Any) -> str:
            return memories.recall(text, user=user, **options)["block"]

        found = {
            "car": block("What car is mine?"),
            "dog": memories.talk("What is my dog called?", user="ana", conversation_id="new")["messages"][-1].text,
            "number": block("What is my employee number?"),
            "salary": block("What is my salary?"),
            "own": [block("What is the PIN of my card?"), block("What is my wifi password?", "bob")],
            "foreign": [block("What is the PIN of my card?", "bob"), block("What is my wifi password?")],
            "off": block("What is my dog called?", enable_memory=False),
            "high": block("What is my dog called?", threshold=0.99),
            "colour": block([{"role": "user", "content": "What is my favourite colour?"}]),  # type: ignore[arg-type]
            "home": block("Where do I live now?"),
            "unrelated": block("Do bakeries near Osaka sell shares?"),
        }
        kept = memories.list(user="ana", limit=100, replaced=True).records
        found["homes"] = [[r["text"], bool(r["replaced_by"])] for r in kept if r["type"] != "verbatim"]
        prompted = build_conversation(
            stores=RecordStores(default_store(folder), Encoder(HashEmbeddings(DIMENSION))), responder=listener
        )
        question = [SystemMessage("You are Bluefin's clerk."), HumanMessage("What is my project called?")]
        prompted.invoke({"messages": question, "conversation_id": "p"}, context={"user": "ana"})  # type: ignore[typeddict-item]
    down = build_conversation(store=Down(), embeddings=HashEmbeddings(DIMENSION), responder=listener)
    last: Any = {"messages": [HumanMessage("What is my dog called?")], "conversation_id": "d"}
    output: Any = down.invoke(last, context={"user": "ana"})  # type: ignore[arg-type]
    return {**found, "shown": listener.shown, "down": [output["messages"][-1].text, output["recalled"]["outcome"]]}


if __name__ == "__main__":
    act, place = sys.argv[1:]
    sys.stdout.write(json.dumps({"said": said, "asked": asked}[act](Path(place))))
