"""Checks what `run` and `resume` are given in code, before anything is written."""

import base64
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_messages
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as convert
from langgraph.runtime import RunControl

from agentic_memory_bank.engines.base import Engine
from agentic_memory_bank.engines.factory import EngineFactory, check_engine
from agentic_memory_bank.nodes.memory_bank.attachments import with_attachments
from agentic_memory_bank.nodes.memory_bank.handing_out import read_result
from agentic_memory_bank.nodes.transcripts import NO_MESSAGES
from agentic_memory_bank.state.errors import InputError, InputTooLarge, ToolError, unfit
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents.attached_files import MOST, checked_attachments, read_file
from agentic_memory_bank.tools.documents.attachments import AttachmentStore
from agentic_memory_bank.tools.embeddings.encoder import check_embeddings
from agentic_memory_bank.tools.text.cleaning import clean

if TYPE_CHECKING:
    from agentic_memory_bank.engines.llm.models import GivenModels

_TOLD: Final = ("text", "output", "result", "answer", "source", "learned")
"""Keys of a mapping that says what a step brought."""
_OWN_TOOLS: Final = ("deep_retrieval", "deep_research", "search", "visit")
"""Names of tools that an agent may have from the bank itself."""
_DECIDED: Final = ("keep", "verdict", "recognized")
"""Keys beside them of what was decided or seen."""
_INTEGER_BITS: Final = 63
"""Largest whole number that a checkpoint can hold."""


def check_parts(
    engine: object, embeddings: object, execute: object, clock: object, home: object, on_event: object, control: object
) -> None:
    """Check the types of engine, embeddings, executor, home, callback, control and clock; only the clock is required.

    Raises:
        InputError: One of them is of another type.
    """
    check_engine(engine, Engine)
    check_embeddings(embeddings)
    for name, given, is_fit, wanted in (
        ("execute", execute, _carries_out(execute), "a function, a Runnable, a compiled graph, or 'outside'"),
        ("home", home, isinstance(home, str | os.PathLike), "the path of a folder"),
        ("on_event", on_event, callable(on_event), "a function that takes an event"),
        ("control", control, isinstance(control, RunControl), "LangGraph's `RunControl`"),
    ):
        if given is not None and not is_fit:
            raise unfit(name, given, wanted)
    if not callable(clock):
        raise unfit("clock", clock, "a function that returns the time")


def check_models(settings: Settings, engine: Engine | None, models: "GivenModels | None") -> None:
    """Check that the models of a run can be asked, without sending anything; an engine that is given needs none.

    Raises:
        SettingsError: A name is not known, a key is not set, or a budget of money lacks a price.
    """
    EngineFactory(cast(Engine, engine), engine, models).check(settings)


def checked_tools(
    given: object, settings: Settings, engine: Engine | None, models: "GivenModels | None", execute: object
) -> tuple[BaseTool, ...]:
    """Check the tools of a run's agent; a function becomes a tool by its name, hints and docstring.

    Raises:
        InputError: One is no tool, has the name of another, or there is no agent to call them.
    """
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise unfit("tools", given, "a list of LangChain tools or functions")
    tools = tuple(_tool(one) for one in cast("Sequence[object]", given))
    names = Counter([*_OWN_TOOLS, *(one.name for one in tools)])
    if twice := [name for name, times in names.items() if times > 1]:
        raise InputError(f"More than one tool is called {', '.join(twice)}. Give each a name of its own.")
    if tools and (execute or not EngineFactory(cast(Engine, engine), engine, models).has_agent(settings)):
        raise InputError(
            "`tools` are for the agent of a run, and this run has none. Name a chat model for its roles `react` and "
            "`plan`, with `models=` or MEMORY_BANK_MODEL, and give no `execute`."
        )
    return tools


def _tool(given: object) -> BaseTool:
    if isinstance(given, BaseTool):
        return given
    if not callable(given) or isinstance(given, type):
        raise unfit("tools", given, "LangChain tools or functions")
    try:
        return convert(cast("Any", given))
    except (ValueError, TypeError) as error:
        raise InputError(f"A function in `tools` cannot become a tool: {error} Pass a LangChain tool.") from error


def attached_files(given: object, settings: Settings) -> list[dict[str, str]]:
    """Read the attachments of a question into the form of ledger and graph; paths are read here and nowhere else.

    Args:
        given: Paths, and mappings with `name` and base64 `data`; a single one, or a sequence. None is none.

    Raises:
        InputError: One has no name or no data, or is of no type that can be read; or they are too many.
        InputTooLarge: One is over `Settings.max_attachment_bytes`.
        LoadError: A file is missing, unreadable, or no regular file.
    """
    is_one = isinstance(given, str | os.PathLike | Mapping)
    if given is not None and not is_one and not isinstance(given, Sequence):
        raise unfit("attachments", given, "a list of paths")
    items = cast("Sequence[object]", [given] if is_one else given or [])
    if len(items) > MOST:
        raise InputError(f"There are {len(items)} attachments, more than the {MOST} allowed. Hand over fewer.")
    read = [_attached(item, settings.max_attachment_bytes) for item in items]
    return [
        {"name": file.name, "data": base64.b64encode(file.data).decode()}
        for file in checked_attachments(read, settings)
    ]


def _attached(item: object, most: int) -> object:
    if not isinstance(item, str | os.PathLike):
        return item
    path = Path(item)
    return {"name": path.name, "data": base64.b64encode(read_file(path, most)).decode()}


def check_wishes(*, keep: object, export: object) -> None:
    """Check the types of `keep` and `export`.

    Raises:
        InputError: One of them is of another type.
    """
    if keep is not None and not isinstance(keep, bool):
        raise unfit("keep", keep, "True, False or None")
    if export is not None and not isinstance(export, str | os.PathLike):
        raise unfit("export", export, "the path of a file")


def checked_result(given: object, handed: Mapping[str, Any], settings: Settings) -> object:
    """Check what an executor outside did, and return it as plain data, read as the step will read it.

    Args:
        given: Text, a message, messages as a list or under `messages`, or a mapping with `text`, `answer`, `verdict` or
            `recognized`.
        handed: The step as it was handed out.

    Raises:
        InputError: It is none of these, or says nothing.
        InputTooLarge: It is over `Settings.max_input_characters`.
    """
    try:
        plain = _plain_result(given)
        done = read_result(plain, handed)
        entries = with_attachments(done, AttachmentStore(), settings.max_attachment_bytes)["entries"]
    except ToolError as error:
        raise InputError(f"The result cannot be used. {error} The step still waits.") from error
    said = sum(len(entry["text"]) for entry in entries) + sum(map(len, done["recognized"].values()))
    if said > settings.max_input_characters:
        raise InputTooLarge(
            f"The result has more than {settings.max_input_characters:,} characters. Hand in less, or raise "
            "MEMORY_BANK_MAX_INPUT_CHARACTERS and start again."
        )
    return plain


def _plain_result(given: object) -> object:
    """Turn a result into text, turns as mappings, or a mapping of texts, with turns as `messages`, and plain data.

    Raises:
        ToolError: It is none of these.
    """
    if not isinstance(given, Mapping) or "content" in given:
        return _plain_transcript(given)
    fields = cast("Mapping[str, object]", given)
    plain: dict[str, Any] = {name: _worded(fields[name]) for name in _TOLD if fields.get(name) is not None}
    try:
        plain |= {name: _plain(fields[name]) for name in _DECIDED if fields.get(name) is not None}
    except NO_MESSAGES as fault:
        raise ToolError(f"What stands under {', '.join(_DECIDED)} has to be plain data.") from fault
    return plain | ({"messages": _plain_transcript(fields["messages"])} if "messages" in fields else {})


def _plain_transcript(given: object) -> object:
    """Turn a transcript into text, or turns of user, agent and tools as mappings.

    Raises:
        ToolError: It is none of these.
    """
    if isinstance(given, str):
        return clean(given)
    turns = cast("Sequence[Any]", [given] if isinstance(given, BaseMessage | Mapping) else given)
    if not isinstance(turns, Sequence) or isinstance(turns, bytes):
        raise ToolError("Give text, a list of messages, or a mapping with `text`, `answer` or `messages`.")
    try:
        messages = convert_to_messages(turns)
        return [_plain_turn(m) for m in messages if isinstance(m, AIMessage | ToolMessage | HumanMessage)]
    except NO_MESSAGES as fault:
        raise ToolError("The transcript holds something that is no message: give role and content of each.") from fault


def _plain_turn(message: AIMessage | ToolMessage | HumanMessage) -> dict[str, Any]:
    turn = {"role": "ai", "content": _plain(message.content)}
    if isinstance(message, HumanMessage):
        return {**turn, "role": "user"}
    if isinstance(message, AIMessage):
        return {**turn, "tool_calls": _plain(message.tool_calls)}
    with suppress(*NO_MESSAGES):
        turn["artifact"] = _plain(message.artifact)  # what cannot be saved is left out: the text says it all
    named = {"name": clean(message.name)} if message.name else {}
    return {**turn, **named, "role": "tool", "tool_call_id": clean(message.tool_call_id), "status": message.status}


def _plain(value: object) -> Any:
    """Return plain data as a checkpoint can hold it.

    Raises:
        TypeError: It holds an object of another type.
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
        return str(value)
    if value is None or isinstance(value, int | float | bytes):
        return value
    raise TypeError(f"{type(value).__name__} is no plain data")


def _worded(value: object) -> str:
    return clean(value.text if isinstance(value, BaseMessage) else str(value))


def _carries_out(given: object) -> bool:
    return callable(given) or isinstance(given, Runnable) or given == "outside"
