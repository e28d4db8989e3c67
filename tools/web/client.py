"""Asks servers of the public web and no others: addresses are checked and pinned, redirects, sizes, times limited."""

import json
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

import httpcore2
import httpx2

from agentic_memory_bank.tools.documents.attached_files import DOCX
from agentic_memory_bank.tools.web.deadline import Deadline, TimedStream
from agentic_memory_bank.tools.web.public_addresses import (
    NAT64,
    WebError,
    addresses_of,
    behind,
    checked_url,
    may_be_reached,
    not_public,
    parsed,
)

SECONDS: Final = 30.0
"""How long one request may take in all: names, connections, redirects and the last byte."""

MAX_BYTES: Final = 10 * 1024 * 1024
"""The longest answer, after it was unpacked."""

MAX_REDIRECTS: Final = 5

IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF: Final = "application/pdf"

Resolver = Callable[[str], Sequence[str]]
"""Takes a host's name, returns all its addresses as text; raises `OSError` when there are none."""

_T = TypeVar("_T")

_USER_AGENT = "agentic-memory-bank"  # fixed: nothing of the machine or its user
_RESOLVING_SECONDS = 10.0
_CONNECTING_SECONDS = 5.0  # for each address, so that one that is down leaves time for the next
_FIRST_PAUSE = 0.5
_MOST_ADDRESSES = 8


class WebResponse(NamedTuple):
    """What a server sent: the address it came from in the end, its media type, character set, and unpacked bytes."""

    url: str
    type: str
    charset: str | None
    data: bytes


# --- connections -------------------------------------------------------------------------------------------------


class _Pinned(httpcore2.NetworkBackend):
    """Connects to addresses that were checked, whatever the name would mean if it were looked up again."""

    def __init__(self, backend: httpcore2.NetworkBackend, addresses: Sequence[str], deadline: Deadline) -> None:
        self._backend = backend
        self._addresses = addresses
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        fault: Exception = httpcore2.ConnectError("it has no address")
        for address in self._addresses:
            try:
                seconds = self._deadline.left(_CONNECTING_SECONDS)
                return TimedStream(self._backend.connect_tcp(address, port, seconds), self._deadline)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as refused:
                fault = refused
        raise fault


@cache
def _system_tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


# --- requests ----------------------------------------------------------------------------------------------------

_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 425, 429, 500, 502, 503, 504)
_ENCODINGS = frozenset(("gzip", "deflate", "identity", ""))
_ABSOLUTE = re.compile(r"\s*[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_HEADER = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_TEXT_TYPE = re.compile(r"text/[\w.+-]+|application/(?:[\w.+-]+\+)?(?:json|xml)|application/(?:x-)?(?:ndjson|yaml)")


@dataclass(frozen=True)
class _Request:
    method: str
    headers: Mapping[str, str]
    body: bytes | None
    types: tuple[str, ...]  # besides text
    redirects: int


class PublicWeb:
    """Sends requests to public servers over http and https; safe across threads, and holds no connection open.

    For each request, and again for each redirect, the host's name is looked up once, every address has to be public,
    and the connection is made to one of these very addresses, while certificate and `Host` stay those of the name.
    Nothing is taken from the environment: no proxy, no certificates, no `.netrc`. No cookies are kept, and no
    credentials in a URL are sent.

    A gateway that translates IPv4 under a prefix of its own (other than 64:ff9b::/96) cannot be told from a public
    address; where there is one, its own rules have to keep private addresses apart.

    Args:
        allow_private: For tests and own networks: also loopback and private addresses, local names, and every port.
            Metadata servers of clouds and link-local addresses stay closed.
        backend: Makes the connections, to addresses only.
        tls: What certificates are checked with; by default the system's.
        seconds: How long a request may take, redirects included.
        max_bytes: How long an answer may be, unpacked.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        resolve: Resolver = addresses_of,
        backend: httpcore2.NetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._backend = backend or httpcore2.SyncBackend()
        self._tls = tls
        self._seconds = seconds
        self._max_bytes = max_bytes

    def check(self, url: str) -> None:
        """Make sure that a URL, redirects aside, leads to the public web, whatever `allow_private` says.

        Raises:
            WebError: It does not, or its host is not known.
        """
        target = checked_url(url, allow_private=False)
        with _in_words(target):
            self._addresses(target, Deadline.after(_RESOLVING_SECONDS), allow_private=False)

    def get(self, url: str, *, images: bool = False, seconds: float | None = None) -> WebResponse:
        """Fetch a page: text of any kind, HTML, JSON, XML, PDF, DOCX, and images (PNG, JPEG, GIF, WebP) if asked for.

        Args:
            url: Where it is; up to `MAX_REDIRECTS` redirects are followed.
            images: Whether images are wanted, too.
            seconds: Less time than this object allows.

        Raises:
            WebError: The URL, or one it redirects to, is not of the public web; the server cannot be reached, refuses,
                takes too long, or sends too much or something else.
        """
        types = (PDF, DOCX, *(IMAGES if images else ()))
        accept = ", ".join(("text/html", "application/xhtml+xml", "text/*;q=0.9", *types, "*/*;q=0.1"))
        return self._ask(url, _Request("GET", {"Accept": accept}, None, types, MAX_REDIRECTS), seconds)

    def get_json(self, url: str, headers: Mapping[str, str], *, seconds: float | None = None) -> Any:
        """Fetch JSON with headers that may hold a key, so that redirects are errors. Raises as `get`."""
        request = _Request("GET", {"Accept": "application/json", **headers}, None, (), 0)
        return _as_json(self._ask(url, request, seconds))

    def post_json(self, url: str, body: object, headers: Mapping[str, str], *, seconds: float | None = None) -> Any:
        """Send JSON and return the JSON that is answered; redirects are errors. Raises as `get`."""
        sent = {"Accept": "application/json", "Content-Type": "application/json", **headers}
        request = _Request("POST", sent, json.dumps(body).encode("ascii"), (), 0)
        return _as_json(self._ask(url, request, seconds))

    def _ask(self, url: str, request: _Request, seconds: float | None) -> WebResponse:
        deadline = Deadline.after(self._seconds if seconds is None else min(seconds, self._seconds))
        for _ in range(request.redirects + 1):
            target = checked_url(url, self._allow_private)
            with _in_words(target):
                answer = self._send(target, request, deadline)
            if isinstance(answer, WebResponse):
                return answer
            url = answer
        raise WebError("This URL redirects more often than is followed. Use another page.")

    def _send(self, url: httpx2.URL, request: _Request, deadline: Deadline) -> WebResponse | str:
        """Ask one server; returns what it sent, or where it redirects to."""
        addresses = self._addresses(url, deadline, self._allow_private)
        backend = _Pinned(self._backend, addresses, deadline)
        tls = (self._tls or _system_tls()) if url.scheme == "https" else None
        with (
            httpcore2.ConnectionPool(ssl_context=tls, network_backend=backend, max_connections=1) as pool,
            pool.stream(
                request.method, _core_url(url), headers=_headers(url, request), content=request.body
            ) as response,
        ):
            headers = httpx2.Headers(response.headers)
            if response.status in _REDIRECTS and "location" in headers:
                return _where_to(url, headers["location"])
            _check_status(url, response.status)
            kind, charset = _type_of(url, headers, request.types)
            return WebResponse(str(url), kind, charset, self._read(url, headers, response.iter_stream()))

    def _addresses(self, url: httpx2.URL, deadline: Deadline, allow_private: bool) -> list[str]:
        """Look the host up, once; every address must be allowed, and those of a NAT64 gateway are not used."""
        host = url.raw_host.decode("ascii")
        texts = [host] if parsed(host) is not None else self._resolved(host, deadline)
        found = [parsed(text) for text in texts]
        if not all(address and may_be_reached(behind(address), allow_private) for address in found):
            raise not_public(host)
        usable = [str(address) for address in found if address not in NAT64]
        if not usable:
            raise not_public(host) if found else _unknown(host)
        return usable[:_MOST_ADDRESSES]

    def _resolved(self, host: str, deadline: Deadline) -> Sequence[str]:
        try:
            return _within(deadline, lambda: self._resolve(host))
        except (OSError, UnicodeError) as fault:
            raise _unknown(host, may_pass=getattr(fault, "errno", None) == socket.EAI_AGAIN) from fault

    def _read(self, url: httpx2.URL, headers: httpx2.Headers, packed: Iterator[bytes]) -> bytes:
        """Unpack an answer piece by piece, and stop as soon as it is too long, packed or unpacked."""
        data = bytearray()
        for piece in httpx2.Response(200, headers=headers, content=self._counted(url, packed)).iter_bytes():
            data += piece
            if len(data) > self._max_bytes:
                raise self._too_long(url)
        return bytes(data)

    def _counted(self, url: httpx2.URL, packed: Iterator[bytes]) -> Iterator[bytes]:
        size = 0
        for piece in packed:
            size += len(piece)
            if size > self._max_bytes + 65_536:  # what cannot be packed grows a little
                raise self._too_long(url)
            yield piece

    def _too_long(self, url: httpx2.URL) -> WebError:
        limit = f"{self._max_bytes / (1 << 20):g} MB"
        return WebError(f"{url.host} sent more than {limit}, which is not read. Use a page that is shorter.")


def _within(deadline: Deadline, look_up: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Call in a thread that can be left behind: a resolver has no time limit."""
    answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def answer() -> None:
        try:
            answers.put(look_up())
        except Exception as fault:  # a resolver is anybody's; what it raises is raised below
            answers.put(fault)

    threading.Thread(target=answer, daemon=True).start()
    try:
        found = answers.get(timeout=deadline.left(_RESOLVING_SECONDS))
    except queue.Empty:
        raise httpcore2.ConnectTimeout("no name server answered") from None
    if isinstance(found, Exception):
        raise found
    return found


def _core_url(url: httpx2.URL) -> httpcore2.URL:
    return httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


def _headers(url: httpx2.URL, request: _Request) -> list[tuple[bytes, bytes]]:
    fixed = {"User-Agent": _USER_AGENT, "Accept-Encoding": "gzip, deflate", "Connection": "close"}
    texts = {"Host": url.netloc.decode("ascii"), **fixed, **request.headers}
    if not all(_HEADER.fullmatch(value) for value in texts.values()):
        raise WebError("What is sent along, such as a key, has characters that cannot be sent. Set the key again.")
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in texts.items()]


def _where_to(url: httpx2.URL, location: str) -> str:
    """Return the URL of a redirect; an absolute one as it was sent, since joining would mend what is to be refused."""
    return location if _ABSOLUTE.match(location) else str(url.join(location))


def _check_status(url: httpx2.URL, status: int) -> None:
    if 200 <= status < 300:
        return
    reason = httpx2.codes.get_reason_phrase(status)
    said = f"{url.host} answered {status}{f' ({reason})' if reason else ''} instead of the page."
    may_pass = status in _PASSING
    advice = "Try again later, or use another page." if may_pass else "Check the URL, or use another page."
    raise WebError(f"{said} {advice}", status=status, may_pass=may_pass)


def _type_of(url: httpx2.URL, headers: httpx2.Headers, types: tuple[str, ...]) -> tuple[str, str | None]:
    declared, *parameters = headers.get("content-type", "").split(";")
    kind = declared.strip().lower()
    if not (_TEXT_TYPE.fullmatch(kind) or kind in types):
        named = f"of type {kind[:80]!r}" if kind else "without a type"
        raise WebError(f"{url.host} sent something {named}, which cannot be read. Use a page of text, PDF or DOCX.")
    if not _ENCODINGS.issuperset(part.strip().lower() for part in headers.get("content-encoding", "").split(",")):
        raise WebError(f"{url.host} packed its answer in a way nobody asked for. Use another page.")
    charsets = [text.split("=", 1)[1] for text in parameters if text.strip().lower().startswith("charset=")]
    return kind, charsets[0].strip().strip("\"'").lower() if charsets else None


def _as_json(answer: WebResponse) -> Any:
    try:
        return json.loads(answer.data)
    except (ValueError, RecursionError):
        raise WebError(f"{httpx2.URL(answer.url).host} sent something that is not JSON. Try again later.") from None


@contextmanager
def _in_words(url: httpx2.URL) -> Generator[None]:
    """Turn what can go wrong on the way into a message that an agent can act on, without what the server said."""
    try:
        yield
    except (httpcore2.TimeoutException, httpx2.TimeoutException) as fault:
        late = f"{url.host} took too long: {fault}. Try again later, or use another page."
        raise WebError(late, may_pass=True) from fault
    except httpcore2.NetworkError as fault:
        if isinstance(fault.__cause__ or fault.__context__, ssl.SSLCertVerificationError):
            raise WebError(f"{url.host} cannot prove who it is (its certificate). Use another page.") from fault
        down = f"{url.host} cannot be reached. Try again later, or use another page."
        raise WebError(down, may_pass=True) from fault
    except (httpcore2.ProtocolError, httpx2.DecodingError, httpx2.InvalidURL) as fault:
        raise WebError(f"{url.host} sent an answer that is not valid HTTP. Use another page.") from fault


def _unknown(host: str, *, may_pass: bool = False) -> WebError:
    return WebError(f"There is no address for {host}. Check the spelling of the URL.", may_pass=may_pass)


def retrying(ask: Callable[[float], _T], *, tries: int, seconds: float) -> _T:
    """Ask until there is an answer, pausing longer each time, as long as the fault may pass.

    Args:
        ask: Is given the seconds that are left.

    Raises:
        WebError: The last try failed, or one that need not be repeated.
    """
    end = time.monotonic() + seconds
    for done in range(1, tries + 1):
        try:
            return ask(max(0.0, end - time.monotonic()))
        except WebError as fault:
            pause = _FIRST_PAUSE * 2 ** (done - 1)
            if done == tries or not fault.may_pass or time.monotonic() + pause >= end:
                raise
            time.sleep(pause)
    raise ValueError("`tries` must be at least 1.")
