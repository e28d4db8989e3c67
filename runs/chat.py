"""Talks with memory: one message in, one answer out, its words handed on while they come."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessageChunk, BaseMessage

from agentic_memory_bank.state.conversations import ConversationOutput, MemoryContext

if TYPE_CHECKING:
    from agentic_memory_bank.graph.conversation import Conversation

Heard = Callable[[str], None]
"""Told some words of an answer, as they come."""
ANSWERING = "respond"
"""The stage whose words are the answer's."""


def answer_message(
    graph: "Conversation",
    messages: list[BaseMessage],
    conversation: str,
    context: MemoryContext,
    heard: Heard | None = None,
) -> ConversationOutput:
    """Answer the last message.

    Args:
        graph: The compiled graph `conversation`.
        messages: New messages, or the whole conversation; the last one is answered.
        conversation: Id of the conversation.
        context: Settings, and on whose behalf it is.
        heard: Told the words of a model while they come; of an answer that is tried twice, those of both.

    Raises:
        MemoryBankError: There is no answer.
    """
    said: Any = {"messages": messages, "conversation_id": conversation}
    if heard is None:
        return graph.invoke(said, context=context)
    output: Any = {}
    for mode, event in graph.stream(said, context=context, stream_mode=["messages", "values"]):
        if mode == "values":
            output = event
            continue
        chunk, metadata = cast("tuple[BaseMessage, dict[str, Any]]", event)
        if isinstance(chunk, AIMessageChunk) and metadata.get("langgraph_node") == ANSWERING:
            heard(chunk.text)
    return cast(ConversationOutput, output)
