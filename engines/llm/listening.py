"""Listens to a chat model while it answers: tells how much has come, and hangs up when there is no more time."""

import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any, Final, cast

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    message_chunk_to_message,
)
from langchain_core.runnables import Runnable, RunnableConfig

from agentic_memory_bank.engines.llm.faults import ModelFault
from agentic_memory_bank.engines.streamed_answer import NOTHING_CAME
from agentic_memory_bank.tools.concurrency.waiting import check_waited_for

TOLD_SECONDS: Final = 0.5
"""How often it is told how much has come."""


class NothingStreamed(Exception):
    """A server took a request for a stream, and sent none."""


def now_and_then(tell: Callable[[int], object]) -> Callable[[int], object]:
    """Tell how much has come, but not of every piece."""
    told = time.monotonic()

    def told_now_and_then(characters: int) -> None:
        nonlocal told
        if (now := time.monotonic()) - told >= TOLD_SECONDS:
            told = now
            tell(characters)

    return told_now_and_then


def heard(
    model: Runnable[LanguageModelInput, AIMessage],
    messages: Sequence[BaseMessage],
    config: RunnableConfig,
    tell: Callable[[int], object],
    until: float = float("inf"),
) -> AIMessage:
    """The answer of a model, listened to while it comes; the connection is closed whatever ends it.

    Args:
        model: The model, asked in some form.
        messages: What it is asked.
        config: As for any call of it.
        tell: Told of the characters that have come.
        until: When there is no more time for it, by the monotonic clock.

    Raises:
        TimeoutError: There is no more time.
        CancelledError: Nobody waits for it any more.
        NothingStreamed: The server sends no stream.
        Exception: As the client does.
    """
    pieces: list[AIMessageChunk] = []
    characters = 0
    with closing(cast("Generator[Any]", model.stream(list(messages), config))) as stream:
        for piece in stream:
            pieces.append(piece)
            characters += len(piece.text) + sum(len(call["args"] or "") for call in _chunks(piece))
            check_waited_for()
            if time.monotonic() >= until:
                raise TimeoutError
            tell(characters)
    if not pieces:
        raise NothingStreamed
    return _whole(pieces)


def sends_no_stream(error: Exception) -> bool:
    """Whether a server took a request for a stream and sent something else, which is lost."""
    said = str(error)
    return isinstance(error, NothingStreamed) or "No generation" in said or NOTHING_CAME in said


def refuses_streams(error: Exception, fault: ModelFault) -> bool:
    """Whether a server may answer the same request if no stream is asked for."""
    status = getattr(error, "status_code", None)
    words = str(error).casefold().replace("upstream", "")
    return status in (400, 405, 415, 422, 500, 501) and "stream" in words and not fault.refuses


def _chunks(piece: AIMessage) -> Sequence[Any]:
    return piece.tool_call_chunks if isinstance(piece, AIMessageChunk) else ()


def _whole(pieces: Sequence[AIMessageChunk]) -> AIMessage:
    """The message of which pieces came; what is no sound JSON among the arguments of a call stays as it was written."""
    if not isinstance(pieces[0], AIMessageChunk):
        return cast(AIMessage, pieces[-1])  # of a model that does not stream
    joined = pieces[0] + list(pieces[1:]) if len(pieces) > 1 else pieces[0]
    message = cast(AIMessage, message_chunk_to_message(joined))
    sound: list[ToolCall] = []
    broken: list[InvalidToolCall] = []
    for call in _chunks(joined):
        try:
            arguments = json.loads(call["args"] or "{}")
        except ValueError:
            arguments = None
        if isinstance(arguments, dict):
            sound.append(ToolCall(name=call["name"] or "", args=arguments, id=call["id"], type="tool_call"))
        else:
            broken.append(
                InvalidToolCall(
                    name=call["name"], args=call["args"], id=call["id"], error=None, type="invalid_tool_call"
                )
            )
    return message.model_copy(update={"tool_calls": sound, "invalid_tool_calls": broken})
