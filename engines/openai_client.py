"""Makes the clients of servers that speak OpenAI's protocol: no retries of their own, and a timeout that holds.

It takes a second to import, so that those import it late who may not need it.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpcore2
import httpx2
from langchain_openai import ChatOpenAI
from openai import DefaultHttpxClient
from pydantic import SecretStr

from agentic_memory_bank.engines.providers import Provider, missing_key, provider_of
from agentic_memory_bank.engines.streamed_answer import TOO_DEEP, joined, listener
from agentic_memory_bank.state.errors import SettingsError
from agentic_memory_bank.state.model_table import RoleSettings
from agentic_memory_bank.tools.text.nesting import is_too_deep
from agentic_memory_bank.tools.web.deadline import Deadline, TimedStream

LOOK_SECONDS: Final = 2.0
"""How long a server may take to say what it can do."""
_FOUND: Final = 200
_BACKEND: Final = "_network_backend"
"""Where a pool keeps what opens its connections. Were it elsewhere, each read alone would be timed, as httpx does."""


@lru_cache(maxsize=64)
def openai_client(row: RoleSettings, key: str, address: str) -> ChatOpenAI:
    """The client of a row of the table; one for each row, key and address in a process.

    Raises:
        SettingsError: The address, or a proxy that the environment names, cannot be used.
    """
    provider, name = provider_of(row.model or "")
    limit = (
        {"extra_body": {"max_tokens": row.output}}
        if provider.name != "openai"
        else {"max_completion_tokens": row.output}
    )
    place = _Address.of(address, provider, row.slots)
    made = _made(
        place,
        model=name,
        api_key=SecretStr(key),
        base_url=place.shown,
        temperature=row.temperature,
        top_p=row.top_p,
        timeout=row.timeout,
        max_retries=0,
        use_responses_api=False,
        stream_usage=True,
        openai_proxy="",
        **limit,
    )
    if made is None:
        raise SettingsError(
            "No connection can be made with the proxies that the environment names. Check HTTP_PROXY, HTTPS_PROXY, "
            f"ALL_PROXY and NO_PROXY, and {provider.address}."
        )
    return made


def chat_model(row: RoleSettings) -> ChatOpenAI:
    """Make the client of a role: no retries of its own, each answer within the timeout, the key and address of now.

    Raises:
        SettingsError: The role names no model, an unknown one, or one whose key is not set; or key, address or proxy
            cannot be used.
    """
    if row.model is None:
        raise SettingsError(f"The role {row.role} names no model. Set MEMORY_BANK_MODEL=openai:NAME.")
    provider, _ = provider_of(row.model)
    if variable := missing_key(row.model):
        raise SettingsError(f"The model '{row.model}' needs a key. Set the variable {variable}.")
    key = (os.environ.get(provider.key) or "none").strip()
    if not (key.isascii() and key.isprintable()):  # clients that trip over it write it into their logs
        raise SettingsError(f"The variable {provider.key} holds characters that no key has. Set it again.")
    return openai_client(row, key, (os.environ.get(provider.address) or provider.default_address).strip())


def look_up(name: str, paths: Sequence[str]) -> list[Any]:
    """What the server of a model says under some paths, as JSON; None for what it does not say.

    Args:
        name: The model, `provider:NAME`.
        paths: Below the base URL; one that begins with `/` below the host.
    """
    provider, _ = provider_of(name)
    key = (os.environ.get(provider.key) or "none").strip()
    place = _Address.of((os.environ.get(provider.address) or provider.default_address).strip(), provider)
    base = httpx2.URL(place.shown.rstrip("/") + "/")
    return [_got(_http_client(place), base.join(path), key) for path in paths]


def _got(client: httpx2.Client, url: httpx2.URL, key: str) -> Any:
    try:
        answer = client.get(url, headers={"authorization": f"Bearer {key}"}, timeout=LOOK_SECONDS)
        return answer.json() if answer.status_code == _FOUND else None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError):
        return None


def _made(place: "_Address", **options: Any) -> ChatOpenAI | None:
    """The client, or None: what is raised over a proxy shows its address, passwords included, and is dropped."""
    try:
        return ChatOpenAI(http_client=_http_client(place), **options)
    except (ValueError, ImportError, httpx2.InvalidURL):
        return None


@lru_cache(maxsize=16)
def _http_client(place: "_Address") -> "_PunctualClient":
    """The connections to one address, which all roles share."""
    return _PunctualClient(place)


@dataclass(frozen=True, slots=True)
class _Address:
    """A base URL, without what may be secret in it: clients show URLs in their logs, errors and reprs."""

    shown: str
    login: tuple[str, str] | None = field(repr=False)
    """User and password; sent as HTTP's basic authentication, in place of the key."""
    query: str = field(repr=False)
    """Sent with every request."""
    at_once: int = 0
    """How many requests are sent at the same time; 0 for any number."""

    @classmethod
    def of(cls, address: str, provider: Provider, at_once: int = 0) -> Self:
        """Take an address apart.

        Raises:
            SettingsError: It is none.
        """
        url = _parsed(address)
        if url is None:
            raise SettingsError(f"The variable {provider.address} holds no http or https address. Set it again.")
        shown = url.copy_with(username=None, password=None, query=None, fragment=None)
        login = (url.username, url.password) if url.userinfo else None
        return cls(str(shown), login, url.query.decode("ascii"), at_once)


def _parsed(address: str) -> httpx2.URL | None:
    try:
        urlsplit(address)  # which sees an unclosed bracket that httpx takes for a name
        url = httpx2.URL(address)
    except (httpx2.InvalidURL, ValueError):
        return None
    return url if url.scheme in ("http", "https") and url.host else None


class _PunctualClient(DefaultHttpxClient):
    """A client whose timeout holds for an answer as a whole: httpx counts anew with every byte that drips in."""

    def __init__(self, address: _Address) -> None:
        self._address = address
        self._deadline = _ThreadDeadline()
        self._slots = SimpleQueue[None]() if address.at_once else None  # which a finalizer may put into at any moment
        for _ in range(address.at_once):
            self._free()
        super().__init__(auth=address.login)
        for transport in self._transports():
            weakref.finalize(self, transport.close)

    def close(self) -> None:
        """Close the connections. All roles share this client: who closes that of one leaves the others theirs."""
        for transport in self._transports():
            transport.close()

    def _transports(self) -> list[httpx2.BaseTransport]:
        return [self._transport, *filter(None, self._mounts.values())]

    def _free(self) -> None:
        if self._slots is not None:
            self._slots.put(None)

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; redirects count into its time.

        A server at home serves a few requests at once, and the others wait there: they wait here, where that is no time
        of theirs, and where nothing is sent that is not wanted any more.
        """
        seconds = request.extensions.get("timeout", {}).get("read")
        if self._slots is None:
            return self._sent(request, seconds, options)
        try:
            self._slots.get(timeout=seconds)
        except Empty:
            raise httpx2.PoolTimeout("The server is busy with other requests.", request=request) from None
        release = weakref.finalize(request, self._free)  # at the latest when nobody reads the answer any more
        try:
            response = self._sent(request, seconds, options)
        except BaseException:
            release()
            raise
        if options.get("stream") and isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Watched(response.stream, release)
        else:
            release()
        return response

    def _sent(self, request: httpx2.Request, seconds: float | None, options: dict[str, Any]) -> httpx2.Response:
        self._deadline.at = time.monotonic() + (float("inf") if seconds is None else seconds)
        tell = listener()
        if options.get("stream"):
            return super().send(request, **options)
        if tell is None:
            return _shallow(super().send(request, **options))
        streamed: dict[str, Any] = {**options, "stream": True}
        with closing(super().send(request, **streamed)) as response:
            return _shallow(joined(response, tell))

    def _init_transport(self, *_: Any, **options: Any) -> httpx2.BaseTransport:
        return _Transport(self._address, self._deadline, **{k: v for k, v in options.items() if k != "transport"})

    def _init_proxy_transport(self, proxy: httpx2.Proxy, *_: Any, **options: Any) -> httpx2.BaseTransport:
        return _Transport(self._address, self._deadline, proxy=proxy, **options)


def _shallow(response: httpx2.Response) -> httpx2.Response:
    """An answer that can be read, or one that says why it cannot."""
    if is_too_deep(response.content):
        return httpx2.Response(response.status_code, content=TOO_DEEP, request=response.request)
    return response


class _Watched(httpx2.SyncByteStream):
    """An answer that says when it was read, or given up."""

    def __init__(self, inner: httpx2.SyncByteStream, ended: Callable[[], object]) -> None:
        self._inner, self._ended = inner, ended

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._inner)

    def close(self) -> None:
        """Close it."""
        try:
            self._inner.close()
        finally:
            self._ended()


class _Transport(httpx2.HTTPTransport):
    """Adds the query of the address below what is logged, and watches the time."""

    def __init__(self, address: _Address, deadline: Deadline, **options: Any) -> None:
        super().__init__(**options)
        self._address = address
        setattr(self._pool, _BACKEND, _Backend(deadline))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        if self._address.query:
            url = request.url.copy_merge_params(httpx2.QueryParams(self._address.query))
            extensions, stream = request.extensions, request.stream
            request = httpx2.Request(request.method, url, headers=request.headers, stream=stream, extensions=extensions)
        return super().handle_request(request)


class _ThreadDeadline(Deadline, threading.local):
    """The deadline of the request that this thread makes."""


class _Backend(httpcore2.NetworkBackend):
    """Opens connections that end with the time of the request."""

    def __init__(self, deadline: Deadline) -> None:
        self._inner = httpcore2.SyncBackend()
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Open a connection."""
        left = self._deadline.left(timeout)
        return TimedStream(self._inner.connect_tcp(host, port, left, local_address, socket_options), self._deadline)
