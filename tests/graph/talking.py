"""An agent of `create_agent` with memory and a scripted model, and readers of the prompts that the model was sent."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.graph.middleware import MemoryBankMiddleware
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.text.tokens import estimate_tokens

CONFIG: Any = {"configurable": {"thread_id": "t"}}
SYSTEM = "You help in an archive."
Script = Callable[[Sequence[BaseMessage]], AIMessage]


class Log:
    """Every prompt a model was sent, and what it took. No field of the model: those are written out at each call."""

    def __init__(self) -> None:
        self.heard: list[list[BaseMessage]] = []
        self.costs: list[int] = []


class Scripted(BaseChatModel):
    """Answers by a function of the prompt, and notes every prompt."""

    script: Any
    log: Any
    tools: Any = ()

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "Scripted":
        return Scripted(script=self.script, log=self.log, tools=tools)

    def _generate(self, messages: list[BaseMessage], *given: Any, **options: Any) -> ChatResult:
        self.log.heard.append(list(messages))
        self.log.costs.append(cost(messages, self.tools))
        return ChatResult(generations=[ChatGeneration(message=self.script(messages))])


def cost(messages: Sequence[BaseMessage], tools: Any) -> int:
    """What a prompt takes: every word of messages, calls and tools."""
    words = [json.dumps(convert_to_openai_tool(t)) for t in tools]
    for message in messages:
        words += [str(message.content), *(json.dumps(dict(c)) for c in getattr(message, "tool_calls", ()))]
    return sum(map(estimate_tokens, words))


def asked(messages: Sequence[BaseMessage]) -> str:
    return next(m.text for m in reversed(messages) if isinstance(m, HumanMessage))


def memory(messages: Sequence[BaseMessage]) -> str:
    """The recalled memory of a prompt."""
    found = [m.text for m in messages if isinstance(m, HumanMessage) and "\n<memory>\n" in m.text]
    assert len(found) <= 1
    return found[0] if found else ""


def orphans(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Results without the call right before them, and calls without all of their results right behind them."""
    found: list[BaseMessage] = []
    waiting: set[str | None] = set()
    caller: BaseMessage | None = None
    for message in [*messages, HumanMessage("end")]:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                found.append(message)
            waiting.discard(message.tool_call_id)
            continue
        if waiting and caller:
            found.append(caller)
        waiting = {c["id"] for c in message.tool_calls} if isinstance(message, AIMessage) else set()
        caller = message
    return found


def middleware(**options: Any) -> MemoryBankMiddleware:
    return MemoryBankMiddleware(**{"embeddings": HashEmbeddings(), "clock": TickingClock(), **options})


def calls(*made: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": n, "args": a, "id": uuid4().hex} for n, a in made])


NAMES = [
    "Abel",
    "Berta",
    "Carlo",
    "Dora",
    "Emil",
    "Frieda",
    "Gustav",
    "Hanna",
    "Igor",
    "Jutta",
    "Karl",
    "Lotte",
    "Moritz",
    "Nora",
    "Otto",
    "Paula",
]
THINGS = ["letters", "maps", "diaries", "ledgers", "sketches", "recipes", "poems", "contracts"]
PLACES = ["harbour", "mill", "orchard", "bakery", "chapel", "quarry", "ferry", "school", "theatre"]


PAIRS = [(place, name) for place in PLACES for name in NAMES]


@tool
def catalogue(name: str) -> str:
    """Say what the archive has of a person."""
    place = PLACES[len(name) * 7 % len(PLACES)]
    return f"Of {name} the archive has {THINGS[len(name) % len(THINGS)]} about the {place}, given by {name}'s heirs."


def clerk(messages: Sequence[BaseMessage]) -> AIMessage:
    """Looks two people up at each question that names one, and answers after."""
    if isinstance(messages[-1], ToolMessage):
        return AIMessage(f"This is what we have: {messages[-1].text}")
    name = asked(messages).rstrip("?.").split()[-1]
    if name in NAMES:
        other = NAMES[NAMES.index(name) - 1]
        return calls(("catalogue", {"name": name}), ("catalogue", {"name": other}))
    return AIMessage("I see.")


class Talk:
    """An agent with memory, and every prompt of its model."""

    def __init__(
        self, script: Script = clerk, tools: Sequence[BaseTool] = (catalogue,), saver: Any = None, **options: Any
    ) -> None:
        self.log = Log()
        self.agent: Any = create_agent(
            Scripted(script=script, log=self.log),
            list(tools),
            system_prompt=SYSTEM,
            middleware=[middleware(**options)],
            checkpointer=InMemorySaver() if saver is None else saver or None,
        )

    def say(self, text: str, config: Any = CONFIG) -> list[AnyMessage]:
        return self.agent.invoke({"messages": [HumanMessage(text)]}, config)["messages"]

    def state(self, config: Any = CONFIG) -> dict[str, Any]:
        return self.agent.get_state(config).values

    def entries(self, config: Any = CONFIG) -> list[dict[str, Any]]:
        return list(self.state(config)["interaction_tree"]["entries"].values())

    def remembered(self) -> set[str]:
        """Ids of the entries that memories stand for."""
        return {a["entry"] for node in self.state()["query_graph"]["nodes"].values() for a in node["anchors"]}


KEY = "Please remember: the key of the vault hangs behind the portrait of Ottilie Brandt."
WHERE = "Where does the key of the vault hang?"


def line(number: int) -> str:
    if number == 3:
        return KEY
    name, thing, place = (words[number * 7 % len(words)] for words in (NAMES, THINGS, PLACES))
    if number % 3:
        return f"On page {number} I read of {thing} from the {place} that {name} had kept for {number} years."
    return f"I look for {thing} from the {place}, page {number}. What do we have of {name}?"


def words(count: int, kind: str = "word") -> str:
    return " ".join(f"{kind}{number}" for number in range(count))


def reading(messages: Sequence[BaseMessage]) -> AIMessage:
    """Reads what the question names by id, page after page, and says that it has."""
    wanted = re.search(r"Read ([en][0-9a-f]{12})", asked(messages))
    if wanted is None:
        return AIMessage("I see.")
    last = messages[-1]
    further = re.search(r"Go on with start (\d+)\.\]$", last.text) if isinstance(last, ToolMessage) else None
    if isinstance(last, ToolMessage) and further is None:
        return AIMessage("I have read it.")
    start = int(further[1]) if further else 0
    return calls(("deep_retrieval", {"node_id": wanted[1], "start": start}))


def read(talk: Talk) -> list[str]:
    """The pages that the tool gave, each as the model saw it first, without the line that says where to go on."""
    last = [heard[-1] for heard in talk.log.heard if isinstance(heard[-1], ToolMessage)]
    pages = [m.text for m in last if m.name == "deep_retrieval"]
    return [re.sub(r"\n\n\[Characters \d+ to [^\n]*\]$", "", page) for page in pages]
