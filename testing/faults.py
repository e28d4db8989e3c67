"""How a model server misbehaves: faults to answer with, and scripts that keep a model's habits."""

import json
import re
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args, overload

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.testing.replies import (
    ChatRequest,
    EmbeddingRequest,
    OutputMode,
    Payload,
    Reply,
    Response,
    ToolCall,
    Vectors,
    as_json,
    chat_response,
    embedding_response,
    hashed_vectors,
    json_response,
)

_PAGE = b"<!doctype html><html><head><title>Gateway</title></head><body><h1>Please wait</h1></body></html>"
_DECOY = '<think>{"decoy": true}</think>'
_KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_MODES: tuple[OutputMode, ...] = get_args(OutputMode)


@dataclass(frozen=True)
class Fault:
    """One way to answer wrongly; a script returns it in place of a reply. The functions of this module make them.

    Attributes:
        name: What it is called.
        response: All that is answered, for a fault that has no use for a reply.
        rewrite: What it does to the reply that it spoils.
        edit: What it does to each JSON object that is sent.
        alter: What it does to the HTTP response.
        reply: The reply that it spoils.
        vectors: The vectors that it spoils; by default hashed ones.
    """

    name: str
    response: Response | None = field(default=None, repr=False)
    rewrite: Callable[[Reply], Reply] | None = field(default=None, repr=False)
    edit: Callable[[Payload], Payload] | None = field(default=None, repr=False)
    alter: Callable[[Response], Response] | None = field(default=None, repr=False)
    reply: Reply = field(default=Reply("It is so."), repr=False)
    vectors: Vectors | None = field(default=None, repr=False)

    def respond(self, request: ChatRequest) -> Response:
        """Answer a chat request wrongly."""
        if self.response:
            return self.response
        reply = self.reply.settled(request)
        reply = self.rewrite(reply) if self.rewrite else reply
        return self._altered(chat_response(request, reply, self.edit or dict))

    def respond_with_vectors(self, request: EmbeddingRequest) -> Response:
        """Answer an embedding request wrongly.

        Raises:
            InputError: The fault is one of chat replies.
        """
        if self.rewrite or self.edit:
            raise InputError(f"{self.name} spoils chat replies. Embeddings can fail by the faults of HTTP.")
        if self.response:
            return self.response
        return self._altered(embedding_response(request, self.vectors or hashed_vectors()(request)))

    def _altered(self, response: Response) -> Response:
        return self.alter(response) if self.alter else response


Outcome = Reply | Fault
ChatScript = Callable[[ChatRequest], Outcome]
EmbeddingScript = Callable[[EmbeddingRequest], Vectors | Fault]
Script = ChatScript | Sequence[Outcome] | Outcome
When = Literal["first", "every"]


# --- faults of HTTP ----------------------------------------------------------------------------------------------


def http_error(
    status: int,
    message: str = "The scripted model fails on purpose.",
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """Answer with an HTTP status and OpenAI's error object.

    Args:
        status: The HTTP status, 400 and up.
        message: What the error says.
        code: The machine-readable reason, such as `insufficient_quota`.
        param: The field of the request that is wrong.
        headers: Further HTTP headers, such as `retry-after`.
    """
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    response = json_response({"error": {"message": message, "type": kind, "param": param, "code": code}}, status)
    return Fault(f"http_error({status})", replace(response, headers=headers or {}))


def html(status: int = 200) -> Fault:
    """Answer with a web page, as a proxy or a captive portal does."""
    return replace(raw_body(_PAGE, "text/html; charset=utf-8", status), name=f"html({status})")


def raw_body(body: bytes, content_type: str = "application/json", status: int = 200) -> Fault:
    """Answer with these bytes."""
    return Fault("raw_body()", Response(status, (body,), content_type))


def reset() -> Fault:
    """Reset the connection (RST) once the request is read."""
    return Fault("reset()", Response(ending="reset"))


def hang(seconds: float = 60.0) -> Fault:
    """Send no byte for that many seconds, then close the connection."""
    return Fault(f"hang({seconds})", Response(wait=seconds, ending="dropped"))


def drip(seconds_per_byte: float = 0.01) -> Fault:
    """Send the reply byte by byte, so slowly that no single read times out."""
    return Fault(f"drip({seconds_per_byte})", alter=lambda response: replace(response, pace=seconds_per_byte))


def cut() -> Fault:
    """Send half of the body, or of the stream, and close the connection."""
    return Fault("cut()", alter=lambda response: replace(response, ending="cut"))


def closed_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens: connections to it are refused."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# --- faults of chat replies --------------------------------------------------------------------------------------


def no_finish_reason() -> Fault:
    """Leave the finish reason out, as a server does that was stopped in the middle of an answer."""
    return Fault("no_finish_reason()", edit=_without_finish_reason)


def no_choices(*, null: bool = False) -> Fault:
    """Answer with an empty list of choices, or with `null` in its place."""
    choices = None if null else []
    return Fault(f"no_choices(null={null})", edit=lambda payload: payload | {"choices": choices})


def null_content() -> Fault:
    """Answer with neither words nor a tool call."""
    return Fault("null_content()", rewrite=lambda reply: replace(reply, content=None, tool_calls=()))


def empty() -> Fault:
    """Answer with an empty text and no tool call."""
    return Fault("empty()", rewrite=lambda reply: replace(reply, content="", tool_calls=()))


def bad_json(text: str = '{"broken": [1, 2}, and: no') -> Fault:
    """Answer with text that is no JSON, as the arguments of the tools called or else as the words."""
    return Fault("bad_json()", rewrite=lambda reply: _with_json(reply, text))


def _without_finish_reason(payload: Payload) -> Payload:
    return payload | {"choices": [choice | {"finish_reason": None} for choice in payload["choices"]]}


def _with_json(reply: Reply, text: str) -> Reply:
    if reply.tool_calls:
        return replace(reply, tool_calls=[ToolCall(call.name, text, call.id) for call in reply.tool_calls])
    return replace(reply, content=text)


# --- scripts -----------------------------------------------------------------------------------------------------


def as_script(script: Script) -> ChatScript:
    """Return a script as a function; of several replies it gives one after the other, and then the last for ever.

    Raises:
        InputError: There is no reply in the list.
    """
    if callable(script):
        return script
    replies = [script] if isinstance(script, Reply | Fault) else list(script)
    if not replies:
        raise InputError("A script needs at least one reply.")
    following, lock = iter(replies[:-1]), threading.Lock()

    def answer(_: ChatRequest) -> Outcome:
        with lock:
            return next(following, replies[-1])

    return answer


@overload
def failing(script: Script, fault: Fault, on: When | Callable[[ChatRequest], bool] = "first") -> ChatScript: ...


@overload
def failing(
    script: EmbeddingScript, fault: Fault, on: When | Callable[[EmbeddingRequest], bool] = "first"
) -> EmbeddingScript: ...


def failing(script: Any, fault: Fault, on: Any = "first") -> Any:
    """Put a fault in the place of some replies of a script; a fault that spoils a reply spoils the one of the script.

    Args:
        script: The script of a chat or of an embedding model.
        fault: What happens instead.
        on: The first request this script gets, every one, or those a function picks.

    Raises:
        InputError: `on` is none of these.
    """
    inner, fails = as_script(script), _choose(on)

    def answer(request: Any) -> Any:
        if not fails(request):
            return inner(request)
        return fault if fault.response else _spoiling(fault, inner(request))

    return answer


def _spoiling(fault: Fault, outcome: Any) -> Fault:
    if isinstance(outcome, Fault):
        return outcome
    return replace(fault, reply=outcome) if isinstance(outcome, Reply) else replace(fault, vectors=outcome)


def _choose(on: When | Callable[[Any], bool]) -> Callable[[Any], bool]:
    if callable(on):
        return on
    if on not in ("first", "every"):
        raise InputError(f"A fault cannot happen on {on!r}. Say 'first', 'every', or give a function of the request.")
    first, lock = iter([True]), threading.Lock()

    def fails(_: Any) -> bool:
        with lock:
            return on == "every" or next(first, False)

    return fails


def refusing(script: Script, *modes: OutputMode) -> ChatScript:
    """Make a model whose server answers some forms of request with status 400, as one that does not know them.

    Raises:
        InputError: A mode has a name that no request has.
    """
    unknown = sorted(set(modes) - set(_MODES))
    if unknown:
        raise InputError(f"No request is of the mode {', '.join(unknown)}. There are {', '.join(_MODES)}.")
    inner = as_script(script)
    return lambda request: _refusal(request) if request.mode in modes else inner(request)


def _refusal(request: ChatRequest) -> Fault:
    if request.mode == "function_calling":
        return http_error(400, "'tool_choice' is not supported by this model.", param="tool_choice")
    if request.mode == "prompt":
        return http_error(400, "'messages' alone are not supported by this model.", param="messages")
    form = (request.response_format or {})["type"]
    message = f"'response_format' of type '{form}' is not supported by this model."
    return http_error(400, message, param="response_format")


def ignoring_tools(script: Script) -> ChatScript:
    """Make a model that takes no notice of tools: data is answered as plain text."""
    return _rewriting(script, lambda reply, _: replace(reply, data=None, content=_words(reply)))


def fenced(script: Script) -> ChatScript:
    """Make a model that puts the JSON it answers in a Markdown code block; arguments of tools stay as they are."""
    return _rewriting(script, lambda reply, request: _fence(reply.settled(request)))


def thinking(script: Script) -> ChatScript:
    """Make a model that thinks aloud, with JSON among its thoughts, before it says something."""
    return _rewriting(script, lambda reply, request: _think(reply.settled(request)))


def _rewriting(script: Script, rewrite: Callable[[Reply, ChatRequest], Reply]) -> ChatScript:
    inner = as_script(script)

    def answer(request: ChatRequest) -> Outcome:
        outcome = inner(request)
        if isinstance(outcome, Fault):
            return replace(outcome, reply=rewrite(outcome.reply, request))
        return rewrite(outcome, request)

    return answer


def _words(reply: Reply) -> str | None:
    return reply.content if reply.data is None else as_json(reply.data)


def _fence(reply: Reply) -> Reply:
    return replace(reply, content=f"```json\n{reply.content}\n```") if _is_json(reply.content) else reply


def _is_json(text: str | None) -> bool:
    try:
        return text is not None and bool(re.match(r"\s*[\[{]", text)) and json.loads(text) is not None
    except ValueError:
        return False


def _think(reply: Reply) -> Reply:
    return reply if reply.content is None else replace(reply, content=f"{_DECOY}{reply.content}")
