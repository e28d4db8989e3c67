"""What a scripted model is asked and what it says, with the JSON of the OpenAI interface that both travel in."""

import base64
import hashlib
import json
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Literal, cast

OutputMode = Literal["json_schema", "function_calling", "json_mode", "prompt"]
FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]
Payload = dict[str, Any]
Vectors = Sequence[Sequence[float]]

_CHARACTERS_PER_TOKEN = 4
_PIECE = re.compile(r"\S+\s*|\s+")
_WORD = re.compile(r"[a-z0-9]+|[^\W_]")
_DONE = b"data: [DONE]\n\n"


# --- requests ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChatRequest:
    """What a client asked a chat model.

    Attributes:
        body: The JSON object as it came in.
        headers: The HTTP headers, names in lower case, `authorization` among them.
        number: Which chat request of its server this is, from 1.
    """

    body: Payload
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    number: int = 1

    @property
    def model(self) -> str:
        """The name of the model that is asked."""
        return self.body.get("model", "")

    @property
    def messages(self) -> list[Payload]:
        """The messages as they came in, parts that are no text included."""
        return self.body.get("messages") or []

    @property
    def text(self) -> str:
        """The text of all messages, one below the other."""
        return "\n".join(part["text"] for part in self._parts("text"))

    @property
    def images(self) -> list[str]:
        """The URLs of the pictures in the messages, data URLs as a rule."""
        sources = [part["image_url"] for part in self._parts("image_url")]
        return [source if isinstance(source, str) else source["url"] for source in sources]

    @property
    def tools(self) -> list[Payload]:
        """The tools that are offered."""
        return self.body.get("tools") or []

    @property
    def tool_choice(self) -> Any:
        """Which tool has to be called: a word, an object that names one, or `None`."""
        return self.body.get("tool_choice")

    @property
    def response_format(self) -> Payload | None:
        """The form of answer that is asked for, if one is."""
        return self.body.get("response_format")

    @property
    def stream(self) -> bool:
        """Whether the answer is to come in pieces."""
        return bool(self.body.get("stream"))

    @property
    def temperature(self) -> float | None:
        """The temperature, if one is given."""
        return self.body.get("temperature")

    @property
    def top_p(self) -> float | None:
        """The share of the probability that is sampled from, if given."""
        return self.body.get("top_p")

    @property
    def max_tokens(self) -> int | None:
        """The limit of the answer in tokens, under its old or its new name."""
        return self.body.get("max_completion_tokens") or self.body.get("max_tokens")

    @property
    def mode(self) -> OutputMode:
        """How the form of the answer is asked for; `prompt` when nothing but the words can say it."""
        match (self.response_format or {}).get("type"):
            case "json_schema":
                return "json_schema"
            case "json_object":
                return "json_mode"
            case _:
                return "function_calling" if self.tools else "prompt"

    @property
    def schema_name(self) -> str:
        """The name of the schema, or of the tool that has to be called; empty when there is neither."""
        if self.mode == "json_schema":
            return (self.response_format or {})["json_schema"].get("name", "")
        if isinstance(self.tool_choice, dict):
            return cast(Payload, self.tool_choice).get("function", {}).get("name", "")
        return self._names[0] if self.tool_choice == "required" and len(self._names) == 1 else ""

    @property
    def _names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.tools if "function" in tool]

    def _parts(self, kind: str) -> Iterator[Payload]:
        for message in self.messages:
            content = message.get("content") or []
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            yield from (part for part in parts if part.get("type") == kind)

    def tool_to_call(self) -> str:
        """Return the name of the tool that an answer calls: the forced one, or the first."""
        return self.schema_name or next(iter(self._names), "")


@dataclass(frozen=True)
class EmbeddingRequest:
    """What a client asked an embedding model; `body`, `headers` and `number` as in `ChatRequest`."""

    body: Payload
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    number: int = 1

    @property
    def model(self) -> str:
        """The name of the model that is asked."""
        return self.body.get("model", "")

    @property
    def texts(self) -> list[str]:
        """The texts to embed; a text that came as token numbers is those numbers, with spaces between."""
        given = self.body.get("input", [])
        alone = isinstance(given, str) or (bool(given) and isinstance(given[0], int))
        return [text if isinstance(text, str) else " ".join(map(str, text)) for text in ([given] if alone else given)]

    @property
    def text(self) -> str:
        """All texts, one below the other."""
        return "\n".join(self.texts)

    @property
    def dimensions(self) -> int | None:
        """The length of vector that is asked for, if one is."""
        return self.body.get("dimensions")


Request = ChatRequest | EmbeddingRequest


# --- replies -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool.

    Attributes:
        name: The tool.
        arguments: What it is called with; a string is sent as it is, however broken, anything else as JSON.
        id: What the result will refer to; made up when it is empty.
    """

    name: str
    arguments: Any = field(default_factory=dict[str, Any])
    id: str = ""


@dataclass(frozen=True)
class Reply:
    """What the model says.

    Attributes:
        content: Its words.
        data: A value to answer as JSON in the form the request asks for: as the arguments of a tool when the request
            is of the mode `function_calling`, else as `content`. Pydantic models are values, too.
        tool_calls: The tools it calls.
        finish_reason: Why it ended; by default `tool_calls` or `stop`, whichever fits.
        refusal: Its words when it will not answer.
        usage: The `usage` object; by default estimated at four characters a token; an empty one is not sent.
        latency: Seconds before the first byte; by default those of the server.
        reasoning_content: Its thoughts, in the field that some servers add.
    """

    content: str | None = None
    data: Any = None
    tool_calls: Sequence[ToolCall] = ()
    finish_reason: FinishReason | None = None
    refusal: str | None = None
    usage: Mapping[str, Any] | None = None
    latency: float | None = None
    reasoning_content: str | None = None

    def settled(self, request: ChatRequest) -> "Reply":
        """Return the same reply with `data` in the form that the request asks for."""
        if self.data is None:
            return self
        if request.mode == "function_calling":
            calls = (*self.tool_calls, ToolCall(request.tool_to_call(), self.data))
            return replace(self, data=None, tool_calls=calls)
        return replace(self, data=None, content=as_json(self.data))


def as_json(value: Any) -> str:
    """Return a value as JSON text; a pydantic model as what it holds."""
    return json.dumps(value, ensure_ascii=False, default=lambda model: model.model_dump(mode="json"))


def hashed_vectors(dimension: int = 64) -> Callable[[EmbeddingRequest], list[list[float]]]:
    """Make an embedding model without a model: equal texts get equal unit vectors, texts that share words near ones.

    Args:
        dimension: The length of a vector where the request asks for none.
    """

    def embed(request: EmbeddingRequest) -> list[list[float]]:
        return [_hashed(text, request.dimensions or dimension) for text in request.texts]

    return embed


def _hashed(text: str, dimension: int) -> list[float]:
    vector = [0.0] * dimension
    for word in _WORD.findall(text.lower()):
        number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
        vector[(number >> 1) % dimension] += 1.0 if number & 1 else -1.0
    length = math.hypot(*vector)
    return [value / length for value in vector] if length else [1.0, *vector[1:]]


# --- on the wire -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Response:
    """An HTTP response, and how it is sent.

    Attributes:
        status: The HTTP status.
        body: The body, in the parts it is sent in.
        content_type: What the body says it is.
        headers: Further HTTP headers.
        chunked: Whether the body is a stream, of which the client does not know the length.
        wait: Seconds before the first byte; `None` for those of the server.
        pace: Seconds after each single byte; 0 sends each part at once.
        ending: `complete`; `cut` after half of the body; `dropped` or `reset` before the first byte, the connection
            being closed or reset.
    """

    status: int = 200
    body: tuple[bytes, ...] = ()
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    chunked: bool = False
    wait: float | None = None
    pace: float = 0.0
    ending: Literal["complete", "cut", "dropped", "reset"] = "complete"

    def pieces(self) -> list[bytes]:
        """Return the bytes to send, in the pieces to send them in."""
        if self.ending in ("dropped", "reset"):
            return []
        pieces = self._chunks() if self.chunked else self._whole()
        return [bytes([byte]) for byte in b"".join(pieces)] if self.pace else pieces

    def _whole(self) -> list[bytes]:
        body = b"".join(self.body)
        sent = body[: len(body) // 2] if self.ending == "cut" else body
        return [self._head(f"Content-Length: {len(body)}") + sent]

    def _chunks(self) -> list[bytes]:
        chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in self.body]
        chunks = chunks[: len(chunks) // 2] if self.ending == "cut" else [*chunks[:-1], chunks[-1] + b"0\r\n\r\n"]
        return [self._head("Transfer-Encoding: chunked"), *chunks]

    def _head(self, framing: str) -> bytes:
        phrase = HTTPStatus(self.status).phrase if self.status in set(HTTPStatus) else ""
        lines = [f"HTTP/1.1 {self.status} {phrase}", f"Content-Type: {self.content_type}", framing]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chat_response(request: ChatRequest, reply: Reply, edit: Callable[[Payload], Payload] = dict) -> Response:
    """Make the response that carries a reply, each of its JSON objects passed through `edit`."""
    reply = reply.settled(request)
    if not request.stream:
        return replace(json_response(edit(_completion(request, reply))), wait=reply.latency)
    events = [f"data: {json.dumps(edit(chunk))}\n\n".encode() for chunk in _stream(request, reply)]
    return Response(200, (*events, _DONE), "text/event-stream", chunked=True, wait=reply.latency)


def embedding_response(request: EmbeddingRequest, vectors: Vectors) -> Response:
    """Make the response that carries vectors, as numbers or packed as base64, whichever is asked for."""
    packed = request.body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else list(vector)}
        for index, vector in enumerate(vectors)
    ]
    tokens = _tokens(request.text)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_response({"object": "list", "data": data, "model": request.model, "usage": usage})


def json_response(payload: Any, status: int = 200) -> Response:
    """Make a response of one JSON value."""
    return Response(status, (json.dumps(payload).encode(),))


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _completion(request: ChatRequest, reply: Reply) -> Payload:
    message: Payload = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    calls = _calls(request, reply)
    message |= {"tool_calls": calls} if calls else {}
    message |= {"reasoning_content": reply.reasoning_content} if reply.reasoning_content else {}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(reply)}
    usage = _usage(request, reply)
    return _envelope(request, "chat.completion", [choice]) | ({"usage": usage} if usage else {})


def _stream(request: ChatRequest, reply: Reply) -> Iterator[Payload]:
    for delta in ({"role": "assistant", "content": ""}, *_deltas(request, reply)):
        yield _chunk(request, delta)
    yield _chunk(request, {}, _reason(reply))
    usage = _usage(request, reply)
    if usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield _envelope(request, "chat.completion.chunk", []) | {"usage": usage}


def _deltas(request: ChatRequest, reply: Reply) -> Iterator[Payload]:
    for name in ("reasoning_content", "refusal", "content"):
        yield from ({name: piece} for piece in _PIECE.findall(getattr(reply, name) or ""))
    for index, call in enumerate(_calls(request, reply)):
        function = call["function"]
        yield {"tool_calls": [{**call, "index": index, "function": {"name": function["name"], "arguments": ""}}]}
        for piece in _PIECE.findall(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _chunk(request: ChatRequest, delta: Payload, reason: str | None = None) -> Payload:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    return _envelope(request, "chat.completion.chunk", [choice])


def _envelope(request: ChatRequest, kind: str, choices: list[Payload]) -> Payload:
    name = f"chatcmpl-{request.number}"
    return {"id": name, "object": kind, "created": 0, "model": request.model, "choices": choices}


def _calls(request: ChatRequest, reply: Reply) -> list[Payload]:
    return [
        {
            "id": call.id or f"call_{request.number}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": _arguments(call)},
        }
        for index, call in enumerate(reply.tool_calls)
    ]


def _arguments(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else as_json(call.arguments)


def _reason(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")


def _usage(request: ChatRequest, reply: Reply) -> Mapping[str, Any]:
    if reply.usage is not None:
        return reply.usage
    said = [reply.content, reply.refusal, reply.reasoning_content, *map(_arguments, reply.tool_calls)]
    asked, answered = _tokens(request.text), _tokens("".join(filter(None, said)))
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _tokens(text: str) -> int:
    return math.ceil(len(text) / _CHARACTERS_PER_TOKEN)
