"""Asks servers of the public web and no others: addresses are checked and pinned, redirects, sizes, times limited."""

import ipaddress
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

from agentic_memory_bank.state.errors import ToolError

SECONDS: Final = 30.0
"""How long one request may take in all: names, connections, redirects and the last byte."""

MAX_BYTES: Final = 10 * 1024 * 1024
"""The longest answer, after it was unpacked."""

MAX_REDIRECTS: Final = 5

IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PDF: Final = "application/pdf"

Resolver = Callable[[str], Sequence[str]]
"""Takes a host's name, returns all its addresses as text; raises `OSError` when there are none."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_T = TypeVar("_T")

_USER_AGENT = "agentic-memory-bank"  # fixed: nothing of the machine or its user
_RESOLVING_SECONDS = 10.0
_CONNECTING_SECONDS = 5.0  # for each address, so that one that is down leaves time for the next
_FIRST_PAUSE = 0.5
_MOST_ADDRESSES = 8
_LONGEST_URL = 4_096
_PORTS = (None, 80, 443)  # 8080 and 8443 are where consoles and proxies listen, hardly ever what a search finds


class WebError(ToolError):
    """A request to the web failed.

    Args:
        message: What went wrong and what to do, for the agent.
        status: What the server answered with, if it did.
        may_pass: Whether the same request may succeed a little later.
    """

    def __init__(self, message: str, *, status: int | None = None, may_pass: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.may_pass = may_pass


class Answer(NamedTuple):
    """What a server sent: the address it came from in the end, its media type, character set, and unpacked bytes."""

    url: str
    type: str
    charset: str | None
    data: bytes


# --- which addresses ---------------------------------------------------------------------------------------------

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(*texts: str) -> tuple[_Network, ...]:
    return tuple(map(ipaddress.ip_network, texts))


_OWN = _networks(
    *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
    *("::1/128", "fc00::/7"),
)
_NEVER = _networks(  # and what Python knows not to be global: link-local, with most metadata servers, and the rest
    *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::/32", "fd20:ce::/32"),  # metadata servers of clouds
    *("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16", "3fff::/20"),  # protocols, tunnels, documentation
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")  # mapped, translated, site-local and unassigned ones are outside
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # the third quarter of an address that has an IPv4 address as its last


def is_public(address: str, *, allow_private: bool = False) -> bool:
    """Say whether an IP address may be connected to.

    Args:
        address: In its usual spelling; any other is not public.
        allow_private: Also loopback, RFC 1918, carrier (100.64.0.0/10) and unique local addresses; never link-local,
            metadata, multicast, reserved, or IPv6 addresses that stand for IPv4 ones.
    """
    found = _parsed(address)
    return found is not None and _may_be_reached(found, allow_private)


def _parsed(address: str) -> _Address | None:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    return None if getattr(found, "scope_id", None) else found


def _may_be_reached(address: _Address, allow_private: bool) -> bool:
    if any(address in network for network in _NEVER):
        return False
    if any(address in network for network in _OWN):
        return allow_private
    if address.version == 6 and (address not in _GLOBAL_UNICAST or int(address) >> 32 & 0xFFFF_FFFF in _ISATAP):
        return False
    return address.is_global and not address.is_multicast


def _behind(address: _Address) -> _Address:
    """Return the IPv4 address that a NAT64 gateway would connect to, or the address itself."""
    return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else address


def addresses_of(host: str) -> list[str]:
    """Return every address of a host, IPv4 and IPv6, as the system's resolver knows them.

    Raises:
        OSError: There is none, or no name server answers.
    """
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


# --- which URLs --------------------------------------------------------------------------------------------------

_ODD = re.compile(r"[\x00-\x1f\x7f\\]")
_AUTHORITY = re.compile(r"[a-z]+://([^/?#]*)", re.IGNORECASE)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")  # what a resolver may take for an IPv4 address
_LOCAL_NAME = re.compile(
    r"[^.]+|(?:.*\.)?(?:localhost|local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa|onion)"
)
_METADATA_NAME = re.compile(r"(?:.*\.)?(?:metadata(?:\.google\.internal|\.goog)?|instance-data(?:\..*)?)")


def _target(text: str, allow_private: bool) -> httpx2.URL:
    """Parse a URL and check all that can be checked without asking for the addresses of its host."""
    text = text.strip()
    if len(text) > _LONGEST_URL or _ODD.search(text):
        raise WebError("This URL is too long, or has characters that no URL has. Use one as it was found.")
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as fault:
        raise WebError(f"This is no URL ({fault}). Give one like https://example.org/page.") from None
    authority = _AUTHORITY.match(text)
    if url.scheme not in ("http", "https") or authority is None or not url.host:
        raise WebError("Only pages of the web can be opened. Give a URL that begins with https:// or http://.")
    if "@" in authority[1]:
        raise WebError("This URL holds a user name or password, which are not sent. Give it without them.")
    if url.port not in _PORTS and not allow_private:
        raise WebError(f"Port {url.port} is not one of public web pages (80 and 443). Use another page.")
    _check_host(url.raw_host.decode("ascii"), allow_private)
    return url


def _check_host(host: str, allow_private: bool) -> None:
    if _parsed(host) is not None:
        return
    if not _NAME.fullmatch(host) or len(host) > 253 or _NUMBER.fullmatch(host):
        raise WebError(f"{host!r} is not the name of a host as it is usually written. Give its usual name.")
    if _METADATA_NAME.fullmatch(host) or (_LOCAL_NAME.fullmatch(host) and not allow_private):
        raise _not_public(host)


def _not_public(host: str) -> WebError:
    return WebError(f"{host} is not on the public web, and nothing else is opened. Use a public page.")


# --- connections -------------------------------------------------------------------------------------------------


class _Clock:
    """The time that is left of a request."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self, at_most: float = SECONDS) -> float:
        """Return the seconds left, or fewer; raises when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout(f"it was not done after {self._seconds:g} s")
        return min(left, at_most)


class _Timed(httpcore2.NetworkStream):
    """A connection on which every read and write ends with the request's time: dripping bytes buy no more of it."""

    def __init__(self, stream: httpcore2.NetworkStream, clock: _Clock) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._clock.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._clock.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, self._clock.left()), self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Pinned(httpcore2.NetworkBackend):
    """Connects to addresses that were checked, whatever the name would mean if it were looked up again."""

    def __init__(self, backend: httpcore2.NetworkBackend, addresses: Sequence[str], clock: _Clock) -> None:
        self._backend = backend
        self._addresses = addresses
        self._clock = clock

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
                seconds = self._clock.left(_CONNECTING_SECONDS)
                return _Timed(self._backend.connect_tcp(address, port, seconds), self._clock)
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
        resolve: Looks names up.
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
        target = _target(url, allow_private=False)
        with _in_words(target):
            self._addresses(target, _Clock(_RESOLVING_SECONDS), allow_private=False)

    def get(self, url: str, *, images: bool = False, seconds: float | None = None) -> Answer:
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

    def _ask(self, url: str, request: _Request, seconds: float | None) -> Answer:
        clock = _Clock(self._seconds if seconds is None else min(seconds, self._seconds))
        for _ in range(request.redirects + 1):
            target = _target(url, self._allow_private)
            with _in_words(target):
                answer = self._send(target, request, clock)
            if isinstance(answer, Answer):
                return answer
            url = answer
        raise WebError("This URL redirects more often than is followed. Use another page.")

    def _send(self, url: httpx2.URL, request: _Request, clock: _Clock) -> Answer | str:
        """Ask one server; returns what it sent, or where it redirects to."""
        addresses = self._addresses(url, clock, self._allow_private)
        backend = _Pinned(self._backend, addresses, clock)
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
            return Answer(str(url), kind, charset, self._read(url, headers, response.iter_stream()))

    def _addresses(self, url: httpx2.URL, clock: _Clock, allow_private: bool) -> list[str]:
        """Look the host up, once; every address must be allowed, and those of a NAT64 gateway are not used."""
        host = url.raw_host.decode("ascii")
        texts = [host] if _parsed(host) is not None else self._resolved(host, clock)
        found = [_parsed(text) for text in texts]
        if not all(address and _may_be_reached(_behind(address), allow_private) for address in found):
            raise _not_public(host)
        usable = [str(address) for address in found if address not in _NAT64]
        if not usable:
            raise _not_public(host) if found else _unknown(host)
        return usable[:_MOST_ADDRESSES]

    def _resolved(self, host: str, clock: _Clock) -> Sequence[str]:
        try:
            return _within(clock, lambda: self._resolve(host))
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


def _within(clock: _Clock, look_up: Callable[[], Sequence[str]]) -> Sequence[str]:
    """Call in a thread that can be left behind: a resolver has no time limit."""
    answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def answer() -> None:
        try:
            answers.put(look_up())
        except Exception as fault:  # a resolver is anybody's; what it raises is raised below
            answers.put(fault)

    threading.Thread(target=answer, daemon=True).start()
    try:
        found = answers.get(timeout=clock.left(_RESOLVING_SECONDS))
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


def _as_json(answer: Answer) -> Any:
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


def persistently(ask: Callable[[float], _T], *, tries: int, seconds: float) -> _T:
    """Ask until there is an answer, pausing longer each time, as long as the fault may pass.

    Args:
        ask: Is given the seconds that are left.
        tries: How often it is asked at most.
        seconds: How long all tries and pauses may take.

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
