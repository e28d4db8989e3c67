"""A model server for tests: it speaks OpenAI's HTTP interface on the loopback interface and says what a script says."""

import argparse
import contextlib
import http.client
import importlib
import json
import logging
import os
import select
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any, ClassVar, NamedTuple, Self, cast

from agentic_memory_bank.state.errors import InputError, RunError
from agentic_memory_bank.testing.faults import (
    ChatScript,
    EmbeddingScript,
    Fault,
    Outcome,
    Script,
    as_script,
    http_error,
)
from agentic_memory_bank.testing.replies import (
    ChatRequest,
    EmbeddingRequest,
    Payload,
    Reply,
    Request,
    Response,
    Vectors,
    chat_response,
    embedding_response,
    hashed_vectors,
    json_response,
)

_LOG = logging.getLogger(__name__)
_HOST = "127.0.0.1"
_KINDS: dict[str, type[Request]] = {
    "/v1/chat/completions": ChatRequest,
    "/v1/embeddings": EmbeddingRequest,
}
_POLL = 0.02  # seconds; `close` takes as long
_PATIENCE = 5.0  # seconds that `close` waits for a script that is still at work
_SECONDS_TO_START = 60.0
_LINGER_NOT_AT_ALL = struct.pack("ii", 1, 0)


class Traffic(NamedTuple):
    """What a server has seen at one moment.

    Attributes:
        requests: Everything it was asked, in the order of arrival.
        in_flight: How many of them are not answered yet. One whose client has gone, or has all but the last bytes
            of its answer, is no longer counted.
        most_at_once: The most there were in flight at any time.
    """

    requests: tuple[Request, ...]
    in_flight: int
    most_at_once: int


class Observed(ABC):
    """What can be seen of a model server, in this process or in another; it closes at the end of a `with` block.

    Attributes:
        url: The base URL for clients, `/v1` included.
    """

    url: str

    @abstractmethod
    def traffic(self) -> Traffic:
        """Return what the server has seen, all of one moment."""

    @abstractmethod
    def reset(self) -> None:
        """Forget what was asked, and count from 0."""

    @abstractmethod
    def close(self) -> None:
        """Stop serving, and leave neither thread, socket nor process behind. A second call does nothing."""

    @property
    def requests(self) -> list[Request]:
        """Everything that was asked so far, in the order of arrival."""
        return list(self.traffic().requests)

    @property
    def chats(self) -> list[ChatRequest]:
        """What the chat model was asked so far."""
        return [request for request in self.requests if isinstance(request, ChatRequest)]

    @property
    def embeddings(self) -> list[EmbeddingRequest]:
        """What the embedding model was asked so far."""
        return [request for request in self.requests if isinstance(request, EmbeddingRequest)]

    @property
    def count(self) -> int:
        """How many requests came in, those that were answered by a fault included."""
        return len(self.traffic().requests)

    @property
    def in_flight(self) -> int:
        """How many requests are not answered yet."""
        return self.traffic().in_flight

    @property
    def most_at_once(self) -> int:
        """The most requests that were in flight at any time."""
        return self.traffic().most_at_once

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ModelServer(Observed):
    """Serves a scripted model from the moment it is made until it is closed.

    The script is called in the thread of the request, several at once when requests come at once. A script that
    raises is answered with status 500, which names the error; it is logged, too.

    Args:
        script: A function of the `ChatRequest`; or a reply; or several, given one after the other, the last for ever.
        embed: A function of the `EmbeddingRequest` that returns a vector per text; by default `hashed_vectors`.
        latency: Seconds before the first byte of an answer.
        dimension: The length of the vectors that the default `embed` makes.
        model: The name under which `/v1/models` lists it. Requests may name any.
        port: The port on 127.0.0.1; 0 takes a free one.

    Example:
        >>> with ModelServer(Reply("It is so."), latency=0.2) as server:
        ...     model = ChatOpenAI(model="m", base_url=server.url, api_key="k", max_retries=0)
        ...     model.invoke("Is it so?").content, server.chats[0].text
        ('It is so.', 'Is it so?')
    """

    def __init__(
        self,
        script: Script,
        *,
        embed: EmbeddingScript | None = None,
        latency: float = 0.0,
        dimension: int = 64,
        model: str = "scripted",
        port: int = 0,
    ) -> None:
        self._model = _Model(as_script(script), embed or hashed_vectors(dimension), latency, model)
        self._http = _Http(self._model, port)
        self.url = f"http://{_HOST}:{self._http.server_address[1]}/v1"
        self._acceptor = threading.Thread(target=self._http.serve_forever, args=(_POLL,), name=self.url, daemon=True)
        self._acceptor.start()

    @staticmethod
    def spawn(
        script: str,
        *,
        embed: str | None = None,
        latency: float = 0.0,
        dimension: int = 64,
        model: str = "scripted",
        port: int = 0,
    ) -> "SpawnedServer":
        """Start a server in a process of its own, which outlives its clients and ends with this process.

        Args:
            script: Where the script is, as `package.module:name`, importable from the working folder or PYTHONPATH.
            embed: Where the script of the embedding model is.
            latency: Seconds before each answer.
            dimension: As in the class.
            model: As in the class.
            port: As in the class.

        Raises:
            RunError: It did not start; what it wrote to stderr says why.
        """
        options = {"embed": embed, "latency": latency, "dimension": dimension, "model": model, "port": port}
        given = [f"--{name}={value}" for name, value in options.items() if value is not None]
        return SpawnedServer([script, *given])

    def traffic(self) -> Traffic:
        """Return what the server has seen, all of one moment."""
        return self._model.record.traffic()

    def reset(self) -> None:
        """Forget what was asked, and count from 0."""
        self._model.record.reset()

    def close(self) -> None:
        """Stop serving, and leave neither thread nor socket behind. A second call does nothing.

        Only a script that is still at work after 5 seconds is left alone.
        """
        self._http.shutdown()
        self._acceptor.join()
        self._http.server_close()
        self._http.hang_up()


class SpawnedServer(Observed):
    """A model server in another process; `ModelServer.spawn` makes it.

    Args:
        arguments: The command line of this module.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        command = [sys.executable, "-m", "agentic_memory_bank.testing.model_server", "--until-eof", *arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.url = self._announced()
        if not self.url:
            self.close()
            status = self._process.returncode
            raise RunError(f"The model server for {arguments[0]} did not start (status {status}); its stderr says why.")

    @property
    def pid(self) -> int:
        """The process it runs in."""
        return self._process.pid

    def traffic(self) -> Traffic:
        """Return what the server has seen, all of one moment."""
        seen = self._call("GET", "/_requests")
        requests = tuple(_from_json(entry) for entry in seen["requests"])
        return Traffic(requests, seen["in_flight"], seen["most_at_once"])

    def reset(self) -> None:
        """Forget what was asked, and count from 0."""
        self._call("POST", "/_reset")

    def close(self) -> None:
        """End the process. A second call does nothing."""
        with self._process as process:
            cast(IO[str], process.stdin).close()
            try:
                process.wait(2 * _PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()

    def _announced(self) -> str:
        stdout = cast(IO[str], self._process.stdout)
        ready, _, _ = select.select([stdout], [], [], _SECONDS_TO_START)
        return stdout.readline().strip() if ready else ""

    def _call(self, method: str, path: str) -> Payload:
        address = self.url.removeprefix("http://").removesuffix("/v1")
        with contextlib.closing(http.client.HTTPConnection(address, timeout=_SECONDS_TO_START)) as connection:
            connection.request(method, path, headers={"Content-Length": "0"})
            return json.loads(connection.getresponse().read())


# --- the model ---------------------------------------------------------------------------------------------------


class _Flight:
    """One request, from its arrival until its answer is sent."""

    def __init__(self, record: "_Record", request: Request) -> None:
        self._record = record
        self.request = request

    def land(self) -> None:
        """Count the request as answered; a second call does nothing."""
        self._record.leave(self)


class _Record:
    """Counts requests across threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def enter(self, kind: type[Request], body: Payload, headers: dict[str, str]) -> _Flight:
        with self._lock:
            self._numbers[kind] += 1
            flight = _Flight(self, kind(body, headers, self._numbers[kind]))
            self._requests.append(flight.request)
            self._flights.add(flight)
            self._most = max(self._most, len(self._flights))
            return flight

    def leave(self, flight: _Flight) -> None:
        with self._lock:
            self._flights.discard(flight)

    def traffic(self) -> Traffic:
        with self._lock:
            return Traffic(tuple(self._requests), len(self._flights), self._most)

    def reset(self) -> None:
        with self._lock:
            self._requests: list[Request] = []
            self._numbers: Counter[type[Request]] = Counter()
            self._flights: set[_Flight] = set()
            self._most = 0


class _Model:
    """Turns requests into responses by asking the scripts."""

    def __init__(self, script: ChatScript, embed: EmbeddingScript, latency: float, name: str) -> None:
        self._script = script
        self._embed = embed
        self._latency = latency
        self._name = name
        self.record = _Record()

    def answer(self, request: Request) -> Response:
        """Return what the script says is to be sent; that the script failed, if it did."""
        try:
            response = self._ask(request)
        except Exception as error:  # a script may raise anything, and its client waits for an answer
            _LOG.exception("The script of the model server failed.")
            response = _error(500, f"The script of the model server failed: {type(error).__name__}: {error}")
        return replace(response, wait=self._latency if response.wait is None else response.wait)

    def look_up(self, path: str) -> Response:
        """Answer a GET request: the models, or what was asked so far."""
        if path == "/v1/models":
            entry = {"id": self._name, "object": "model", "created": 0, "owned_by": "test"}
            return json_response({"object": "list", "data": [entry]})
        return json_response(_as_json(self.record.traffic())) if path == "/_requests" else _unknown(path)

    def _ask(self, request: Request) -> Response:
        if isinstance(request, EmbeddingRequest):
            return _embedded(request, self._embed(request))
        return _said(request, self._script(request))


# --- HTTP --------------------------------------------------------------------------------------------------------


class _Http(ThreadingHTTPServer):
    """Keeps its connections in sight, so that it can hang up on all of them."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, model: _Model, port: int) -> None:
        self.model = model
        self._open: dict[threading.Thread, socket.socket] = {}
        super().__init__((_HOST, port), _Connection)

    def server_bind(self) -> None:
        # HTTPServer's own looks the name of the host up, which can take seconds where there is no network.
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        self._open = {thread: connection for thread, connection in self._open.items() if thread.is_alive()}
        self._open[thread] = request
        thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # an OSError is a client that has gone
            _LOG.exception("The model server failed.")

    def hang_up(self) -> None:
        for connection in self._open.values():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        limit = time.monotonic() + _PATIENCE
        for thread in self._open:
            thread.join(max(0.0, limit - time.monotonic()))


class _Connection(BaseHTTPRequestHandler):
    """Reads requests from one connection, and sends the answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = True

    @property
    def _model(self) -> _Model:
        return cast(_Http, self.server).model

    @property
    def _route(self) -> str:
        return self.path.partition("?")[0]

    def do_GET(self) -> None:
        """Answer what can be looked up."""
        self._write(self._model.look_up(self._route))

    def do_POST(self) -> None:
        """Answer what a model can be asked."""
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self._route == "/_reset":
            self._model.record.reset()
            self._write(json_response({}))
        elif kind := _KINDS.get(self._route):
            self._answer(kind, content)
        else:
            self._write(_unknown(self._route))

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: what was asked is in the record."""

    def _answer(self, kind: type[Request], content: bytes) -> None:
        try:
            body = json.loads(content)
        except ValueError:
            return self._write(_error(400, "The body of the request is no JSON. Send an object with `messages`."))
        headers = {name.lower(): value for name, value in self.headers.items()}
        flight = self._model.record.enter(kind, body, headers)
        try:
            self._write(self._model.answer(flight.request), flight)
        finally:
            flight.land()

    def _write(self, response: Response, flight: _Flight | None = None) -> None:
        self._pause(response.wait or 0.0)
        pieces = response.pieces()
        for number, piece in enumerate(pieces, 1):
            # A client may send its next request as soon as it has the last byte; that makes no two at once.
            if flight and number == len(pieces):
                flight.land()
            self.wfile.write(piece)
            self._pause(response.pace)
        if response.ending != "complete":
            self._end(response, flight)

    def _end(self, response: Response, flight: _Flight | None) -> None:
        self.close_connection = True
        if flight:
            flight.land()
        if response.ending == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT_AT_ALL)
            os.close(self.connection.detach())  # `close` alone would wait for the files made of the socket

    def _pause(self, seconds: float) -> None:
        """Wait, unless the client goes or the server closes before.

        Raises:
            ConnectionAbortedError: There is nobody left to answer to.
        """
        limit = time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self.connection, select.POLLIN)
            if poll.poll(left * 1000):
                if not self.connection.recv(1, socket.MSG_PEEK):
                    raise ConnectionAbortedError("The client closed the connection before it was answered.")
                time.sleep(max(0.0, limit - time.monotonic()))


# --- what is answered --------------------------------------------------------------------------------------------


def _said(request: ChatRequest, outcome: Outcome) -> Response:
    if isinstance(outcome, Fault):
        return outcome.respond(request)
    if isinstance(outcome, Reply):
        return chat_response(request, outcome)
    raise InputError(f"A script returns a Reply or a Fault, not {outcome!r}.")


def _embedded(request: EmbeddingRequest, outcome: Vectors | Fault) -> Response:
    if isinstance(outcome, Fault):
        return outcome.respond_with_vectors(request)
    return embedding_response(request, outcome)


def _error(status: int, message: str) -> Response:
    return cast(Response, http_error(status, message).response)


def _unknown(path: str) -> Response:
    return _error(404, f"There is no {path} here; there are /v1/models, {', '.join(_KINDS)}.")


def _as_json(traffic: Traffic) -> Payload:
    requests = [
        {"chat": isinstance(seen, ChatRequest), "given": [seen.body, dict(seen.headers), seen.number]}
        for seen in traffic.requests
    ]
    return {"requests": requests, "in_flight": traffic.in_flight, "most_at_once": traffic.most_at_once}


def _from_json(entry: Payload) -> Request:
    kind = ChatRequest if entry["chat"] else EmbeddingRequest
    return kind(*entry["given"])


# --- the command line --------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the script named on the command line, and write the base URL to stdout once it is reachable.

    Args:
        arguments: The command line; by default that of the process.
    """
    options = vars(_parser().parse_args(arguments))
    wait = sys.stdin.read if options.pop("until_eof") else threading.Event().wait
    stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the URL is all that stdout carries, whatever the script prints
    embed = options.pop("embed")
    options |= {"script": _load(options["script"]), "embed": _load(embed) if embed else None}
    with ModelServer(**options) as server, contextlib.suppress(KeyboardInterrupt):
        with stdout:
            stdout.write(f"{server.url}\n")
        wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agentic_memory_bank.testing.model_server", description=__doc__)
    parser.add_argument("script", help="package.module:name of a script")
    parser.add_argument("--embed", help="package.module:name of a script that makes vectors")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before an answer")
    parser.add_argument("--dimension", type=int, default=64, help="length of a vector")
    parser.add_argument("--model", default="scripted", help="name in /v1/models")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--until-eof", action="store_true", help="stop when stdin ends")
    return parser


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f"{place!r} names no script. Write package.module:name.")
    return getattr(importlib.import_module(module), name)


if __name__ == "__main__":
    main()
