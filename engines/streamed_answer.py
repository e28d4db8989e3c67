"""Joins an answer that a server streams into a whole one, before the SDK spends more on its pieces than they hold."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, cast

import httpx2

from agentic_memory_bank.tools.text.nesting import is_too_deep

STREAMED: Final[Mapping[str, Any]] = {"stream": True, "stream_options": {"include_usage": True}}
"""What a request says besides, for an answer that is listened to."""
NOTHING_CAME: Final = "No piece of an answer came."
TOO_DEEP: Final = "It is nested too deeply."
"""What stands for an answer that would use up the stack of whoever reads it."""
_JSON: Final = "application/json"
_WRONG: Final = 400

Tell = Callable[[int], object]
"""Told how many characters have come."""

_LISTENER: ContextVar[Tell | None] = ContextVar("listener", default=None)


@contextmanager
def listened(tell: Tell) -> Iterator[None]:
    """Have the answers to requests of this thread come piece by piece, and be told of it."""
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Tell | None:
    """Who is told, where somebody listens."""
    return _LISTENER.get()


def joined(response: httpx2.Response, tell: Tell) -> httpx2.Response:
    """The whole answer, as if no stream had been asked for; one that came whole stays as it is."""
    if response.status_code >= _WRONG or response.headers.get("content-type", "").startswith(_JSON):
        response.read()
        return response
    said = _Received()
    for data in _events(response.iter_bytes()):
        if data.startswith(b"[DONE]"):
            break
        if is_too_deep(data):
            return httpx2.Response(response.status_code, content=TOO_DEEP, request=response.request)
        try:
            event = json.loads(data)
        except ValueError:  # which says so to whoever reads it
            return httpx2.Response(response.status_code, content=data, request=response.request)
        if isinstance(event, dict):
            told = cast("dict[str, Any]", event)
            if told.get("error"):
                return _response(_status_of(told["error"]), told, response)
            said.take(told)
            tell(said.characters)
    return _response(*said.whole(), response)


def _events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What the events of a stream say; a line is put together once, however many pieces it comes in."""
    data: list[bytes] = []
    for line in _lines(pieces):
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line and data:
            yield b"\n".join(data)
            data = []
    if data:
        yield b"\n".join(data)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    begun: list[bytes] = []
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        for other in others:
            yield b"".join(begun).rstrip(b"\r")
            begun = [other]
    yield b"".join(begun).rstrip(b"\r")


def _response(status: int, body: Mapping[str, Any], streamed: httpx2.Response) -> httpx2.Response:
    content = json.dumps(body).encode()  # in ASCII: half a character, or no number, is for who reads it
    return httpx2.Response(status, headers={"content-type": _JSON}, content=content, request=streamed.request)


def _status_of(error: Any) -> int:
    code: Any = cast("dict[str, Any]", error).get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and _WRONG <= code < 600 else 500


class _Received:
    """What has come of an answer."""

    def __init__(self) -> None:
        self.characters = 0
        self._words: dict[str, list[str]] = {"content": [], "refusal": []}
        self._calls: list[dict[str, Any]] = []
        self._rest: dict[str, Any] = {"id": "", "object": "chat.completion", "created": 0, "model": ""}
        self._end: str | None = None
        self._is_begun = False

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one piece; what has no form that we know says nothing."""
        self._rest |= {name: event[name] for name in ("id", "model", "usage") if event.get(name)}
        for choice in _entries(event.get("choices")):
            if choice.get("index") or not isinstance(delta := choice.get("delta"), dict):
                continue
            self._is_begun = True
            self._end = choice.get("finish_reason") or self._end
            told = cast("dict[str, Any]", delta)
            for name, words in self._words.items():
                words.append(self._counted(told.get(name)))
            for call in _entries(told.get("tool_calls")):
                self._take_call(call)

    def whole(self) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer; a stream with nothing in it is one that the server does not do."""
        if not self._is_begun:
            return 501, {"error": {"message": NOTHING_CAME}}
        message: dict[str, Any] = {name: "".join(words) or None for name, words in self._words.items()}
        if self._calls:
            message["tool_calls"] = [_call(call) for call in self._calls]
        choice = {"index": 0, "finish_reason": self._end, "message": {"role": "assistant", **message}}
        return 200, {**self._rest, "choices": [choice]}

    def _take_call(self, told: Mapping[str, Any]) -> None:
        function: Any = told.get("function")
        said: Mapping[str, Any] = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
        number, called = told.get("index"), told.get("id")
        last = self._calls[-1] if self._calls else {}
        if not last or number != last["index"] or (called and called != last["id"]):
            self._calls.append({"index": number, "id": called or "", "name": "", "arguments": []})
        kept = self._calls[-1]
        kept["name"] = kept["name"] or said.get("name") or ""
        kept["arguments"].append(self._counted(said.get("arguments")))

    def _counted(self, words: Any) -> str:
        if not isinstance(words, str):
            return ""
        self.characters += len(words)
        return words


def _call(told: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": told["name"], "arguments": "".join(told["arguments"])}
    return {"id": told["id"], "type": "function", "function": function}


def _entries(listed: Any) -> list[dict[str, Any]]:
    return [one for one in cast("list[Any]", listed) if isinstance(one, dict)] if isinstance(listed, list) else []
