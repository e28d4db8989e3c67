"""Reads an answer out of what a model wrote: tool arguments or text, with fences, thoughts, small faults or without."""

import re
from typing import Any, Final, TypeVar

import json_repair
from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

from agentic_memory_bank.state.errors import AnswerRejected

_Answer = TypeVar("_Answer", bound=BaseModel)

_THOUGHTS: Final = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_REST_OF_THOUGHTS: Final = re.compile(r"\A.*?</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL | re.IGNORECASE)
_UNFINISHED: Final = {
    "length": "It was cut off at the output limit.",
    "content_filter": "It was held back by a content filter.",
}
_FAULTS_NAMED = 5


def complete(message: AIMessage, *, needs_finish: bool) -> None:
    """See that a message is a whole answer.

    Args:
        message: What came back.
        needs_finish: Whether this kind of client always says why an answer ended.

    Raises:
        AnswerRejected: It was cut off, held back, refused, or broke off without an end.
    """
    reason = message.response_metadata.get("finish_reason") or message.response_metadata.get("stop_reason")
    if message.additional_kwargs.get("refusal"):
        raise AnswerRejected("The model refused to answer.")
    if why := _UNFINISHED.get(str(reason)):
        raise AnswerRejected(why)
    if needs_finish and reason is None:
        raise AnswerRejected("It broke off before its end.")


def read(message: AIMessage, answer: type[_Answer]) -> _Answer:
    """The answer in a message.

    Raises:
        AnswerRejected: There is none, or it has another shape; the text says where, in words for the model.
    """
    data = _data(message)
    if not isinstance(data, dict):
        raise AnswerRejected("There is no JSON object in it.")
    try:
        return answer.model_validate(data)
    except ValidationError as error:
        raise AnswerRejected(_faults(error)) from None


def has_data(message: AIMessage) -> bool:
    """Whether there is any JSON object in a message, of whatever shape."""
    return isinstance(_data(message), dict)


def _data(message: AIMessage) -> Any:
    if message.tool_calls:
        return message.tool_calls[0]["args"]
    if message.invalid_tool_calls:
        return _parsed(message.invalid_tool_calls[0]["args"] or "")
    return _parsed(message.text)


def _parsed(text: str) -> Any:
    """The JSON in a text; what a model thought aloud is no answer."""
    said = _THOUGHTS.sub("", text)
    said = _REST_OF_THOUGHTS.sub("", said).strip()
    fenced = _FENCED.findall(said)
    for candidate in (*fenced, said):
        start = candidate.find("{")
        if start >= 0:
            found = json_repair.loads(candidate[start:])
            if isinstance(found, list):  # something stood behind the object
                found = next((item for item in found if isinstance(item, dict)), None)
            if isinstance(found, dict) and found:
                return found
    return None


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)
    named = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in found[:_FAULTS_NAMED]]
    return f"It has another shape than asked for: {'; '.join(named)}."
