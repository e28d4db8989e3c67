"""A model server for tests: it speaks OpenAI's HTTP interface on the loopback interface and says what a script says."""

import argparse
import contextlib
import http.client
import importlib
import json
import os
import select
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import IO, Any, Self, cast

from agentic_memory_bank.state.errors import InputError, RunError
from agentic_memory_bank.testing.faults import EmbeddingScript, Script, as_script
from agentic_memory_bank.testing.model_http import HOST, PATIENCE, ModelHttp, ScriptedModel, Traffic
from agentic_memory_bank.testing.replies import ChatRequest, EmbeddingRequest, Payload, Request, hashed_vectors

_POLL = 0.02  # seconds; `close` takes as long
_SECONDS_TO_START = 60.0


class Observed(ABC):
    """A running test model server and the requests it received, in this process or another. A context manager.

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
        self._model = ScriptedModel(as_script(script), embed or hashed_vectors(dimension), latency, model)
        self._http = ModelHttp(self._model, port)
        self.url = f"http://{HOST}:{self._http.server_address[1]}/v1"
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
    """A model server in another process; `ModelServer.spawn` makes it."""

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
                process.wait(2 * PATIENCE)
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
