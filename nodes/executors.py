"""Makes an executor of whatever carries out a step: a function, a Runnable, an agent graph; and reads what it says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, TypedDict, cast

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from agentic_memory_bank.engines.base import DisputeVerdict
from agentic_memory_bank.nodes.transcripts import entries_in, spoken_json, turns_in
from agentic_memory_bank.nodes.verdicts import HandedContradiction, verdicts_in
from agentic_memory_bank.state.errors import SettingsError, ToolError
from agentic_memory_bank.state.insight_doc import Task
from agentic_memory_bank.tools.text.cleaning import clean


class HandedPicture(TypedDict):
    """A picture that an executor is handed."""

    id: str
    name: str
    type: str
    """Its media type, such as `image/png`."""
    data: str
    """Its bytes in base64."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an executor is handed: the planned step, the prompt with task and recalled memory, and tools to use."""

    task: Task
    question: str
    prompt: str
    tools: tuple[BaseTool, ...] = ()
    """`deep_retrieval`, which reads the raw text behind a memory."""
    contradictions: tuple[HandedContradiction, ...] = ()
    """What a step of the kind `cross_validate` is to settle."""
    pictures: tuple[HandedPicture, ...] = ()
    """What a step of the kind `recognize` is to look at."""

    def message(self) -> HumanMessage:
        """The prompt with the pictures, for a model that sees."""
        shown = ({"type": "image", "base64": p["data"], "mime_type": p["type"]} for p in self.pictures)
        return HumanMessage([{"type": "text", "text": self.prompt}, *shown])


Executor = Callable[[Assignment], Any]
"""Carries out a step. Returns what it found as text; or the messages of its work; or a mapping with `text` or
`messages`, and, if it has them, `answer`, `source`, `learned`, `keep` (names of the files of its tools that are worth
keeping), `verdict` (a `HandedVerdict`, which decides) and `recognized` (what each picture shows). An exception is a
failed step. One with an attribute `sees` that is true is given the pictures that no model of the run sees."""

Execution = Executor | Runnable[Any, Any] | Literal["outside"]
"""Who carries out the planned steps: a function from an `Assignment`, a Runnable or graph of any framework, or whoever
drives the run, who is handed the prompt in a pause and resumes with the transcript."""

LEARNED_CHARACTERS = 300


class Report(TypedDict):
    """What an executor did: its last words, the new raw text on the way there, and the answer if it has one."""

    text: str
    answer: str
    learned: str
    entries: list[dict[str, Any]]
    keep: list[str] | None
    """Names of the files that are kept of those that its tools brought; None: all of them."""
    verdicts: list[DisputeVerdict | None]
    """What it decided of each contradiction; empty where it decided nothing."""
    recognized: dict[str, str]
    """What each picture shows, by its id."""


def as_executor(execute: Execution | None) -> Executor | None:
    """The function that carries out steps, for anything that may be passed as `execute` but `outside`.

    Raises:
        SettingsError: It is nothing that can be called.
    """
    if execute is None or execute == "outside":
        return None
    if isinstance(execute, Runnable):
        return _calling(execute)
    if iscoroutinefunction(execute):
        raise SettingsError(
            "The function passed as `execute` is asynchronous, and would return a coroutine. Pass "
            "`lambda assignment: asyncio.run(your_function(assignment))`."
        )
    if callable(execute):
        return execute
    raise SettingsError("Pass a function, a Runnable, a compiled graph, or 'outside' as `execute`.")


def _calling(runnable: Runnable[Any, Any]) -> Executor:
    """A Runnable is given the prompt; one that takes messages, a message."""
    is_agent = "messages" in runnable.get_input_jsonschema().get("properties", {})

    def execute(assignment: Assignment) -> Any:
        prompt = assignment.prompt
        return runnable.invoke({"messages": [HumanMessage(prompt)]} if is_agent else prompt)

    return execute


def report(
    said: object,
    prompt: str,
    kind: str,
    *,
    contradictions: Sequence[HandedContradiction] = (),
    pictures: Sequence[HandedPicture] = (),
) -> Report:
    """Read what an executor returned: text, a message, messages (ours or OpenAI's), or a mapping with any of these.

    Of messages only the new turns count: neither the prompt that was handed out, with the memory in it, nor what tools
    read back from memory is remembered again.

    Args:
        kind: Kind of the step; the last words of an `answer` step are its answer.
        contradictions: What the step was to settle.
        pictures: What the step was to look at.

    Raises:
        ToolError: It is none of these, or says nothing; or a verdict, a description of pictures or a choice of files
            is none.
    """
    fields = cast("Mapping[str, Any]", said) if isinstance(said, Mapping) else {}
    if fields and "messages" not in fields:
        text, entries = _mapped(fields)
    else:
        entries, text = entries_in(turns_in(fields["messages"] if fields else said, prompt))
        told = spoken_json(text) if contradictions or pictures else None
        if told and ("verdict" in told or "recognized" in told):  # a framework that hands on nothing but words
            text, fields = _reworded(told, entries), {**told, **fields}
    found: Report = {
        "text": text or "\n".join(str(entry["text"]) for entry in entries if entry["kind"] == "tool_result"),
        "answer": _text(fields.get("answer")),
        "learned": _text(fields.get("learned")),
        "entries": entries,
        "keep": _names(fields.get("keep")),
        "verdicts": verdicts_in(fields.get("verdict"), contradictions),
        "recognized": _recognized(fields.get("recognized"), text, pictures),
    }
    if kind == "answer" and not found["answer"]:
        found["answer"] = found["text"]
    if not (found["text"].strip() or found["answer"].strip() or found["verdicts"] or found["recognized"]):
        raise ToolError("The executor returned nothing. A step that found nothing should say so in words.")
    found["learned"] = found["learned"] or (found["answer"] or found["text"])[:LEARNED_CHARACTERS]
    return found


def _mapped(said: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    text = next((_text(said[name]) for name in ("text", "output", "result") if said.get(name) is not None), "")
    source = _text(said.get("source")) or "executor"
    return text, [{"kind": "trajectory", "text": text, "source": source}] if text.strip() else []


def _reworded(told: Mapping[str, Any], entries: list[dict[str, Any]]) -> str:
    """What the last words say beside a verdict; it is remembered in their place, and nothing where it is nothing."""
    text = _text(told.get("text"))
    last = entries.pop()
    if text.strip():
        entries.append({**last, "text": text})
    return text


def _names(given: object) -> list[str] | None:
    if given is None:
        return None
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise ToolError("`keep` is a list of the names of the files that are worth keeping.")
    return [str(name) for name in cast("Sequence[object]", given)]


NOT_SEEN: Final = "not seen"
"""What an executor says of a picture that it cannot look at."""


def _recognized(given: object, text: str, pictures: Sequence[HandedPicture]) -> dict[str, str]:
    """What each picture shows, by its id; the words of a step with a single picture are what it shows."""
    if not pictures:
        if given is not None:
            raise ToolError("This step looks at no picture. Leave `recognized` out.")
        return {}
    if given is None and len(pictures) == 1 and text.strip():
        given = {pictures[0]["id"]: text}
    if not isinstance(given, Mapping):
        listed = ", ".join(f"{picture['id']} ({picture['name']})" for picture in pictures)
        raise ToolError(f"Say as `recognized` what each picture shows, by its id: {listed}.")
    told = {str(name): clean(str(said or "")).strip() for name, said in cast("Mapping[object, object]", given).items()}
    ids = {name: picture["id"] for picture in pictures for name in (picture["name"], picture["id"])}
    if unknown := [name for name in told if name not in ids]:
        raise ToolError(f"No picture of this step is called {', '.join(unknown)}. There are: {', '.join(ids)}.")
    return {ids[name]: "" if said.casefold().rstrip(".") == NOT_SEEN else said for name, said in told.items()}


def _text(value: object) -> str:
    if isinstance(value, BaseMessage):
        return clean(value.text)
    return "" if value is None else clean(str(value))
