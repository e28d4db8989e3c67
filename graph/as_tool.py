"""The graphs as LangChain tools: an agent asks a memory bank about texts, or researches a memory of pages."""

from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field, model_validator

from agentic_memory_bank.nodes.messages import answer_in_words, research_in_words
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.memory_bank import MemoryBankOutput
from agentic_memory_bank.state.research import ResearcherOutput
from agentic_memory_bank.state.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentic_memory_bank.graph.memory_bank import MemoryBank
    from agentic_memory_bank.graph.researcher import Researcher

NAME: Final = "memory_bank"
DESCRIPTION: Final = (
    "Answers a question from texts, however long, with exact quotes, and settles what they contradict each other on. "
    "Hand over each text word for word with its source; leave out what you have handed over before."
)

RESEARCH_NAME: Final = "research_memory"
RESEARCH_DESCRIPTION: Final = (
    "Answers a question from a memory of documents and conversations, in several rounds of searches where one does not "
    "suffice, with exact quotes. Ask one thing at a time, in a sentence that can be understood alone."
)


class Text(BaseModel):
    """One text to answer from."""

    text: str = Field(description="The text, whole and word for word.")
    source: str = Field(default="", description="Where it comes from, such as a file name or a URL.")

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, given: Any) -> Any:
        return {"text": given} if isinstance(given, str) else given


class Arguments(BaseModel):
    """Arguments of the tool `memory_bank`."""

    question: str = Field(description="What to find out, in one sentence.")
    documents: list[Text] = Field(default_factory=list[Text], description="The texts to answer it from.")


class ResearchArguments(BaseModel):
    """Arguments of the tool that researches a memory."""

    question: str = Field(description="What to find out, in one sentence.")


def as_tool(
    bank: "MemoryBank", *, name: str = NAME, description: str = DESCRIPTION, settings: Settings | None = None
) -> BaseTool:
    """Make a tool of a memory bank, for `create_agent` or any other agent that takes LangChain's tools.

    Unlike LangChain's own `as_tool`, which asks the model for every field of the input, this one asks for a question
    and, if there are any, texts, and returns the answer in words. The whole output is the message's `artifact`.

    Args:
        bank: The compiled graph. Built without a checkpointer, it knows what a call hands it; built with
            `checkpointer=True`, it also remembers earlier calls of the agent's thread.
        name: The name under which the agent calls the tool.
        description: Tells the model when to call it.
        settings: Settings of each call. Default: those of the environment.

    Returns:
        A tool for synchronous and asynchronous agents. Input that cannot be used is told to the model.

    Example:
        >>> agent = create_agent(model, [as_tool(build_memory_bank())])
    """

    def ask(question: str, documents: Sequence[Text] = ()) -> tuple[str, MemoryBankOutput]:
        with _told_to_the_model():
            return _worded(bank.invoke(_input(question, documents), context=settings or Settings.of(None)))

    async def ask_async(question: str, documents: Sequence[Text] = ()) -> tuple[str, MemoryBankOutput]:
        with _told_to_the_model():
            return _worded(await bank.ainvoke(_input(question, documents), context=settings or Settings.of(None)))

    return StructuredTool.from_function(
        ask,
        ask_async,
        name=name,
        description=description,
        args_schema=Arguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def as_research_tool(
    researcher: "Researcher",
    memory: str = "",
    *,
    name: str = RESEARCH_NAME,
    description: str = RESEARCH_DESCRIPTION,
    settings: Settings | None = None,
) -> BaseTool:
    """Make a tool of a researcher over one memory, for `create_agent` or any other agent that takes LangChain's tools.

    The model gives the question alone and cannot choose another memory. It reads the answer with its quotes, or what
    was found on the way. The whole output is the message's `artifact`.

    Args:
        researcher: The compiled graph, as `build_researcher` makes it.
        memory: Name of the memory, as it was given to the memorizer; empty where the graph searches retrievers alone.
        name: The name under which the agent calls the tool; let it say what the memory holds where an agent has
            several.
        description: Tells the model when to call it.
        settings: Settings of each call. Default: those of the environment.

    Returns:
        A tool for synchronous and asynchronous agents. Input that cannot be used is told to the model.

    Example:
        >>> agent = create_agent(model, [as_research_tool(researcher, "letters", name="letters")])
    """

    def research(question: str) -> tuple[str, ResearcherOutput]:
        with _told_to_the_model():
            asked: Any = {"request": question, "memory": memory}
            return _researched(researcher.invoke(asked, context=settings or Settings.of(None)))

    async def research_async(question: str) -> tuple[str, ResearcherOutput]:
        with _told_to_the_model():
            asked: Any = {"request": question, "memory": memory}
            return _researched(await researcher.ainvoke(asked, context=settings or Settings.of(None)))

    return StructuredTool.from_function(
        research,
        research_async,
        name=name,
        description=description,
        args_schema=ResearchArguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _researched(output: Any) -> tuple[str, ResearcherOutput]:
    """Word the outcome of research, and return it as it is besides."""
    found = cast("ResearcherOutput", output)
    return research_in_words(found), found


@contextmanager
def _told_to_the_model() -> "Iterator[None]":
    """Turn errors that the model can mend into messages for it; others reach the caller."""
    try:
        yield
    except InputError as error:
        raise ToolException(str(error)) from error


def _input(question: str, documents: Sequence[Text]) -> Any:
    texts = [{"text": d.text, **({"source": d.source} if d.source.strip() else {})} for d in documents]
    return {"question": question, "documents": texts}


def _worded(output: Any) -> tuple[str, MemoryBankOutput]:
    """Word the outcome, and return it as it is besides."""
    found = cast("MemoryBankOutput", output)
    return answer_in_words(found), found
