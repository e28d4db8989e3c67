"""Deep research: a question that needs several lookups, answered from the memory an agent works on."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from agentic_memory_bank.state.errors import ToolError

NAME: Final = "deep_research"
DESCRIPTION: Final = (
    "Look a question up in memory in several rounds: search, put together what was found, and go on with what is still "
    "missing. Use it when the answer has to be put together from several memories, or when what was recalled does not "
    "hold it. Returns the answer, what it rests on word for word, and the ids of memories and entries, which "
    "deep_retrieval reads."
)


class _ResearchArguments(BaseModel):
    question: str = Field(description="What to find out, in one sentence that can be understood alone.")


def deep_research(look_up: Callable[[str], Mapping[str, Any]]) -> BaseTool:
    """Make the tool `deep_research`; an error is told to the agent as a sentence, not raised.

    Args:
        look_up: Answers a question from memory with plain data: `answer`, `status`, `sources` and `findings`. What it
            raises besides a `ToolError` is the run's to hear, a budget that is used up for instance.
    """

    def research(question: str) -> str:
        if not question.strip():
            return "The question is empty. Say in one sentence what to find out."
        try:
            return json.dumps(look_up(question), ensure_ascii=False)
        except ToolError as error:
            return str(error)

    return StructuredTool.from_function(
        func=research, name=NAME, description=DESCRIPTION, args_schema=_ResearchArguments
    )
