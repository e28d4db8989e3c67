"""How the model server of tests answers over HTTP: the scripts are asked, and every request is counted."""

import contextlib
import json
import logging
import os
import select
import socket
import socketserver
import struct
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple, cast

from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.testing.faults import ChatScript, EmbeddingScript, Fault, Outcome, http_error
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
    json_response,
)

HOST = "127.0.0.1"
PATIENCE = 5.0
"""Seconds that `close` waits for a script that is still at work."""

_LOG = logging.getLogger(__name__)
_KINDS: dict[str, type[Request]] = {
    "/v1/chat/completions": ChatRequest,
    "/v1/embeddings": EmbeddingRequest,
}
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


class ScriptedModel:
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


class ModelHttp(ThreadingHTTPServer):
    """Keeps its connections in sight, so that it can hang up on all of them."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, model: ScriptedModel, port: int) -> None:
        self.model = model
        self._open: dict[threading.Thread, socket.socket] = {}
        super().__init__((HOST, port), _Connection)

    def server_bind(self) -> None:
        """Bind the socket, and ask no name server."""
        # HTTPServer's own looks the name of the host up, which can take seconds where there is no network.
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own."""
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        self._open = {thread: connection for thread, connection in self._open.items() if thread.is_alive()}
        self._open[thread] = request
        thread.start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what went wrong, unless the client has gone."""
        if not isinstance(sys.exception(), OSError):  # an OSError is a client that has gone
            _LOG.exception("The model server failed.")

    def hang_up(self) -> None:
        """Close all connections, and wait for scripts that are still at work."""
        for connection in self._open.values():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        limit = time.monotonic() + PATIENCE
        for thread in self._open:
            thread.join(max(0.0, limit - time.monotonic()))


class _Connection(BaseHTTPRequestHandler):
    """Reads requests from one connection, and sends the answers."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = True

    @property
    def _model(self) -> ScriptedModel:
        return cast(ModelHttp, self.server).model

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
