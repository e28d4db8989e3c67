"""A program as README and docs show it, over everything that is public: `make types` checks it as a user's would be.

LangChain's own `create_agent` and LangGraph's `invoke` of what it returns are partly untyped: that alone is not told.
"""

# pyright: strict, reportUnknownMemberType=false, reportUnknownVariableType=false

from operator import itemgetter
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableConfig

from agentic_memory_bank import (
    FourTierMemory,
    Memories,
    MemoryBankMiddleware,
    Settings,
    arun,
    build_conversation,
    build_memory_bank,
    build_react_mem,
    build_recall,
    build_researcher,
    clear,
    conversation,
    memorizer,
    memory_bank,
    react_mem,
    recall,
    remember,
    researcher,
    resume,
    run,
)
from agentic_memory_bank.testing import ScriptedEngine
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.embeddings.models import default_embeddings


def answers() -> list[str]:
    """The memory bank, as a run and as a graph."""
    found = run("How wide is the mirror?", documents=["report.txt", Path("notes"), Document("Wide.")], thread="t")
    quotes = [(source["quote"], source["source"], source["start"]) for source in found["sources"]]
    if "pause" in found:
        found = resume(found["thread"], decision="finish")
    clear(found["thread"])
    run("How wide?", documents=[{"text": "8.2 m", "source": "leaflet"}], settings={"k": 8}, attachments=["chart.png"])
    chain = memory_bank | itemgetter("answer") | StrOutputParser()
    asked = memory_bank.invoke({"question": "How wide?", "documents": [Document("Wide.")]}, context=Settings(k=8))
    spoken = memory_bank.invoke({"messages": [("user", "How wide?")]}, context={"k": 8})
    bank = build_memory_bank(engine=ScriptedEngine(), embeddings=HashEmbeddings(), execute=lambda step: step.prompt)
    status = bank.invoke({"question": "What is known?", "documents": ["The sky is dark."]})["status"]
    for _ in memory_bank.stream({"question": "How wide?"}, stream_mode="updates"):
        pass
    claims = [conflict["claims"] for conflict in asked["conflicts"]]
    calls: int = asked["usage"]["calls"]
    return [
        str(quotes),
        found["answer"],
        asked["answer"],
        spoken["answer"],
        chain.invoke({"question": "x"}),
        status,
        str(claims * calls),
    ]


async def answers_later() -> str:
    """The same, asynchronously."""
    found = await arun("How wide is the mirror?", documents=["report.txt"])
    asked = await memory_bank.ainvoke({"question": "How wide?"}, {"configurable": {"thread_id": "t"}})
    return found["answer"] + asked["answer"]


def pages() -> list[str]:
    """Pages of a memory, and research over them."""
    made = memorizer.invoke({"texts": ["The Lund fund paid."], "memory": "letters"}, context={"user": "ana"})
    found = researcher.invoke({"request": "Who paid?", "memory": "letters"}, context={"user": "ana"})
    own = build_researcher(embeddings=default_embeddings(Settings(embeddings="huggingface:intfloat/e5-small")))
    again = own.invoke({"request": "Who paid?", "memory": "letters"}, context={"research_rounds": 2})
    quotes = [source["quote"] for source in found["sources"]]
    return [page["title"] for page in made["pages"]] + quotes + [found["answer"], again["status"]]


def memories() -> list[str]:
    """Memories across conversations, as an object."""
    with Memories(settings={"recall_limit": 3}) as memory:
        kept = memory.remember("I live in Berlin.", user="ana", conversation_id="monday", end=True)
        found = memory.recall("Where do I live now?", user="ana")
        memory.remember([("user", "I moved to Lisbon."), {"role": "assistant", "content": "Noted."}], user="ana")
        record = memory.store("Ana likes tea.", user="ana", project="p")
        said = memory.talk("Where do I live?", user="ana")
        told = [kept["receipt"]["outcome"], record["id"], said["messages"][-1].text]
    return [*told, found["block"], *(one["text"] for one in found["memories"])]


def conversations() -> list[str]:
    """The same as graphs."""
    remember.invoke({"messages": [("user", "hi")], "conversation_id": "c", "end": True}, context={"user": "ana"})
    found = recall.invoke({"messages": [HumanMessage("Where do I live?")]}, context={"user": "ana", "project": "p"})
    talk = conversation.invoke({"messages": [{"role": "user", "content": "hi"}]}, context={"user": "ana"})
    agent = react_mem.invoke({"messages": [("user", "hi")], "conversation_id": "c"}, context={"user": "ana"})
    own = build_conversation(models=FakeListChatModel(responses=["Hello."])).invoke(
        {"messages": [("user", "hi")]}, context={"user": "ana"}
    )
    other = build_react_mem(FakeListChatModel(responses=["Hello."]), []).invoke(
        {"messages": [("user", "hi")]}, context={"user": "ana"}
    )
    build_recall(embeddings=HashEmbeddings()).invoke({"messages": [("user", "hi")]}, context={"user": "ana"})
    spoken = [one["messages"][-1].text for one in (talk, agent, own, other)]
    return [found["block"], talk["remembered"]["outcome"], agent["stopped"], str(own["usage"]["calls"]), *spoken]


def agents() -> str:
    """Agents of LangChain's with memory."""
    settings = Settings(memory_tokens=2_000, embeddings="local:/models/minilm")
    both = [FourTierMemory(embeddings=default_embeddings(settings)), MemoryBankMiddleware(settings=settings)]
    agent = create_agent(FakeListChatModel(responses=["Noted."]), [], middleware=both)
    one = create_agent(FakeListChatModel(responses=["Noted."]), [], middleware=[FourTierMemory()])
    thread: RunnableConfig = {"configurable": {"thread_id": "monday"}}
    told = agent.invoke({"messages": [{"role": "user", "content": "Hi."}]}, thread, context={"user": "ana"})
    again = one.invoke({"messages": [HumanMessage("I prefer window seats.")]}, context={"user": "ana"})
    return str(told["messages"][-1].text) + str(again["messages"][-1].text)
