"""Stages 1 and 3, the doors: which conversation goes on, whether something is asked, and the conversation's end."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.deps import context_of, owner_of
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.react_mem import ReactMemState, ReactMemUpdate

LONGEST_ID = 1_000


def open_conversation(state: ReactMemState, runtime: Runtime[MemoryContext]) -> ReactMemUpdate:
    """Take in what is handed over.

    Raises:
        NoUserError: Nobody is named whose memories are meant.
        InputError: There is nothing to answer and nothing to end, or the conversation's id is no text.
    """
    messages, ends = state.get("messages", []), bool(state.get("end"))
    if context_of(runtime).enable_memory:
        owner_of(runtime)
    asks = bool(messages) and not (ends and isinstance(messages[-1], AIMessage))
    if not (asks or ends):
        raise InputError("There are no messages. Hand over the conversation as `messages`, the last message last.")
    info = runtime.execution_info
    given: object = state.get("conversation_id") or (info.thread_id if info else None) or f"c{uuid4().hex}"
    return {"conversation_id": checked_conversation(given), "asks": asks, "closes": ends, "stopped": ""}


def checked_conversation(given: object) -> str:
    """A conversation's id.

    Raises:
        InputError: It is no text, an empty or a very long one.
    """
    if not isinstance(given, str) or not given.strip() or len(given) > LONGEST_ID:
        raise InputError(
            f"A conversation is named by a text of at most {LONGEST_ID:,} characters, not by {given!r:.40}."
        )
    return given


def close_conversation(
    state: ReactMemState, runtime: Runtime[MemoryContext], end: Callable[[str, Runtime[Any]], None]
) -> ReactMemUpdate:
    """End the conversation, in the background."""
    if context_of(runtime).enable_memory:
        end(state["conversation_id"], runtime)
    return {}
