"""Nothing but the public web: forms of URLs that lead elsewhere, and every way in which a server can be a nuisance."""

import gzip
import socket
import sys
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import httpcore2
import pytest

from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.tools.web.client import PublicWeb, retrying
from agentic_memory_bank.tools.web.public_addresses import WebError, may_be_reached, parsed

PUBLIC, PUBLIC6 = "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"

HOSTS = {
    "good.example": [PUBLIC],
    "six.example": [PUBLIC6],
    "both.example": [PUBLIC, PUBLIC6],
    "loop.example": ["127.0.0.1"],
    "ten.example": ["10.0.0.1"],
    "mixed.example": [PUBLIC, "10.0.0.1"],
    "mixed6.example": [PUBLIC, "::1"],
    "mixed4.example": [PUBLIC6, "192.168.1.1"],
    "link6.example": [PUBLIC, "fe80::1"],
    "scoped.example": ["fe80::1%eth0"],
    "scopedglobal.example": [f"{PUBLIC6}%eth0"],
    "meta.example": ["169.254.169.254"],
    "meta6.example": ["fd00:ec2::254"],
    "translated.example": [PUBLIC, "64:ff9b::a00:1"],
    "onlytranslated.example": [f"64:ff9b::{PUBLIC}"],
    "none.example": [],
    "odd.example": ["not an address"],
    "127.0.0.1.nip.example": ["127.0.0.1"],
    "xn--strae-oqa.example": ["10.0.0.1"],
}
"""What the tests' name server knows. It is obliging: whatever a C library takes for an address it resolves, too."""

ADDRESSES = [
    *("127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1"),
    *("100.64.0.1", "100.127.255.254", "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16"),
    *("192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1"),
    *("239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("[::1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]", "[fd00:ec2::254]", "[fd20:ce::254]"),
    *("[fc00::1]", "[fd12:3456:789a::1]", "[ff02::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[4000::1]"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[::ffff:0:10.0.0.1]"),
    *("[64:ff9b::10.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::10.0.0.1]", "[2002:7f00:1::]", "[2002:a00:1::1]"),
    *("[2001:0:7f00:1::]", "[2001::f5ff:fffe]", "[2606:2800::5efe:10.0.0.1]", "[2606:2800::200:5efe:127.0.0.1]"),
    *("[0:0:0:0:0:0:0:1]", "[0000::1]", "[::1%251]"),
]
SPELLINGS = [
    *("2130706433", "017700000001", "0x7f000001", "0x7F.1", "127.1", "127.0.1", "0177.0.0.1", "00.0.0.0", "0"),
    *("0x7f.0.0.0x1", "0x", "10.0.0.01", "1.2.3.4.5", "169.254.43518", "0251.254.169.254", "0xa9fea9fe"),
    *("127。0。0。1", "１２７.0.0.1", "①②⑦.0.0.1", "127.0.0.1.", "%31%32%37.0.0.1", "127%2e0%2e0%2e1"),
]
NAMES = [
    *(
        "localhost",
        "LOCALHOST",
        "localhost.",
        "LocalHost.LocalDomain",
        "a.localhost",
        "ⓛocalhost",
        "ｌｏｃａｌｈｏｓｔ",
    ),
    *("localhost%00.good.example", "router", "printer.local", "db.internal", "metadata.google.internal", "intranet"),
    *("metadata", "metadata.goog", "instance-data.ec2.internal", "good.example.", "good..example", "-x.example"),
    *("loop.example", "ten.example", "mixed.example", "mixed6.example", "mixed4.example", "link6.example"),
    *(
        "scoped.example",
        "scopedglobal.example",
        "meta.example",
        "meta6.example",
        "translated.example",
        "straße.example",
    ),
    *("onlytranslated.example", "none.example", "odd.example", "127.0.0.1.nip.example", "unknown.example"),
]
WHOLE = [
    *("http://user@good.example/", "http://user:word@good.example/", "http://@good.example/", "http://:@good.example/"),
    *("http://good.example@127.0.0.1/", "http://127.0.0.1\\@good.example/", "http://good.example\\.ten.example/"),
    *("http:\\\\127.0.0.1/", "http:/127.0.0.1/", "http:127.0.0.1", "//127.0.0.1/", "127.0.0.1", "good.example"),
    *("http:///127.0.0.1/", "http://", "http://#@127.0.0.1/", "http://?@127.0.0.1/", "http://[::1/", "http://[]/"),
    *("file:///etc/passwd", "ftp://good.example/", "gopher://127.0.0.1:70/", "unix:///run/docker.sock", "data:,x"),
    *("javascript:alert(1)", "ws://good.example/", "jar:http://good.example/", "ldap://127.0.0.1/", "dict://x:1/"),
    *("http://good.example:22/", "http://good.example:8080/", "http://good.example:0/", "http://good.example:99999/"),
    *("http://good.example:-1/", "https://good.example:6379/", "http://good.example:80:22/", "http://good.example:x/"),
    *(
        "http://good.example\r\nX: y/",
        "http://good.example/\r\nX: y",
        "http://good\t.example/",
        "http://good .example/",
    ),
    *("http://10.0.0.1;good.example/", "http://good.example,ten.example/", "http://good.example/\x00", ""),
    "http://good.example/" + "a" * 5_000,
]
FORBIDDEN = [f"http://{host}/" for host in (*ADDRESSES, *SPELLINGS, *NAMES)] + WHOLE


class Recorder:
    """Sees every connection any code makes while it is on, and prevents it."""

    def __init__(self) -> None:
        self.is_on = False
        self.seen: list[object] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event in ("socket.connect", "socket.sendto"):
            self.seen.append(arguments[-1])
            raise ConnectionRefusedError("a connection in a test that must make none")


RECORDER = Recorder()
sys.addaudithook(RECORDER)  # Python has no way to take one off again


@pytest.fixture
def connections() -> Iterator[list[object]]:
    """Every address to which a real connection was tried during the test."""
    RECORDER.seen, RECORDER.is_on = [], True
    yield RECORDER.seen
    RECORDER.is_on = False


class Names:
    """A name server that counts, and may answer differently the second time."""

    def __init__(self, later: dict[str, list[str]] | None = None) -> None:
        self.asked: list[str] = []
        self._later = later or {}

    def __call__(self, host: str) -> Sequence[str]:
        seen = host in self.asked
        self.asked.append(host)
        if seen and host in self._later:
            return self._later[host]
        if host in HOSTS:
            return HOSTS[host]
        with suppress(OSError):
            return [socket.inet_ntoa(socket.inet_aton(host))]
        if "localhost" in host or "." not in host:
            return ["127.0.0.1"]
        if host.endswith((".hop.example", "good.example.")):
            return [PUBLIC]
        raise socket.gaierror(socket.EAI_NONAME, "unknown")


class Script(httpcore2.NetworkBackend):
    """Stands in for the public internet: to public addresses it pretends, to any other it really connects."""

    def __init__(self, *pages: bytes) -> None:
        self.pages = list(pages)
        self.reached: list[tuple[str, int]] = []
        self.sent = b""
        self.server_names: list[str | None] = []

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        if host not in (PUBLIC, PUBLIC6):
            return httpcore2.SyncBackend().connect_tcp(host, port, timeout)
        self.reached.append((host, port))
        return _Stream(self, self.pages.pop(0))


class _Stream(httpcore2.NetworkStream):
    def __init__(self, script: Script, page: bytes) -> None:
        self._script, self._page = script, page

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        piece, self._page = self._page[:max_bytes], self._page[max_bytes:]
        return piece

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._script.sent += buffer

    def close(self) -> None:
        pass

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        self._script.server_names.append(server_hostname)
        return self

    def get_extra_info(self, info: str) -> Any:
        return None


def page(body: bytes = b"hello", kind: str = "text/plain", **headers: str) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{''.join(lines)}\r\n".encode() + body


def redirect(url: str, status: int = 302) -> bytes:
    return f"HTTP/1.1 {status} Moved\r\nLocation: {url}\r\nContent-Length: 0\r\n\r\n".encode()


def refused_by(web: PublicWeb, url: str) -> str:
    with pytest.raises(ToolError) as refusal:
        web.get(url)
    return str(refusal.value)


# --- where it never goes -------------------------------------------------------------------------------------------


def test_there_are_enough_forms() -> None:
    assert len(set(FORBIDDEN)) >= 150
    assert len(set(REDIRECTED)) >= 140


@pytest.mark.enable_socket
@pytest.mark.parametrize("url", FORBIDDEN)
def test_no_connection_is_made_where_a_url_leads_outside_of_the_public_web(url: str, connections: list[object]) -> None:
    script = Script()

    message = refused_by(PublicWeb(resolve=Names(), backend=script), url)

    assert connections == []
    assert script.reached == []
    assert message.endswith((".", "page.", "name."))


@pytest.mark.parametrize(
    "host",
    [
        *SPELLINGS,
        "localhost",
        "a.localhost",
        "router",
        "printer.local",
        "db.internal",
        "home.arpa",
        "x.onion",
        "intranet",
    ],
)
def test_a_local_name_or_an_odd_spelling_is_not_even_looked_up(host: str) -> None:
    names = Names()

    refused_by(PublicWeb(resolve=names, backend=Script()), f"http://{host}/")

    assert names.asked == []


REDIRECTED = [  # a relative one, or one that HTTP itself has no room for, leads nowhere else
    url
    for url in FORBIDDEN
    if url.startswith("//") or (":" in url.split("/")[0] and not {"\r", "\t", "\x00"} & set(url))
]


@pytest.mark.enable_socket
@pytest.mark.parametrize("hops", [1, 5])
@pytest.mark.parametrize("url", REDIRECTED)
def test_no_connection_is_made_where_a_redirect_leads_outside_of_the_public_web(
    url: str, hops: int, connections: list[object]
) -> None:
    script = Script(*(redirect(f"http://{hop}.hop.example/") for hop in range(1, hops)), redirect(url))

    refused_by(PublicWeb(resolve=Names(), backend=script), "http://good.example/")

    assert connections == []
    assert script.reached == [(PUBLIC, 80)] * hops
    assert script.pages == []


@pytest.mark.enable_socket
@pytest.mark.parametrize("url", ["http://good.example/", "https://good.example/", "http://both.example/a?b=c"])
@pytest.mark.parametrize("second", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254"])
def test_a_name_that_means_something_else_the_second_time_is_asked_for_once(
    url: str, second: str, connections: list[object]
) -> None:
    names = Names({"good.example": [second], "both.example": [second]})
    script = Script(page())

    assert PublicWeb(resolve=names, backend=script).get(url).data == b"hello"

    assert len(names.asked) == 1
    assert script.reached == [(PUBLIC, 443 if url.startswith("https") else 80)]
    assert connections == []


@pytest.mark.enable_socket
@pytest.mark.parametrize("second", ["127.0.0.1", "169.254.169.254", "::1"])
def test_a_name_that_changes_between_a_page_and_its_redirect_is_checked_again(
    second: str, connections: list[object]
) -> None:
    script = Script(redirect("/again"))

    refused_by(PublicWeb(resolve=Names({"good.example": [second]}), backend=script), "http://good.example/")

    assert connections == []
    assert len(script.reached) == 1


@pytest.mark.enable_socket
def test_proxies_and_credentials_of_the_environment_are_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, connections: list[object]
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://user:canary@127.0.0.1:3128")
    monkeypatch.setenv("NETRC", "/nowhere")
    script = Script(page(), page())
    web = PublicWeb(resolve=Names(), backend=script)

    web.get("http://good.example/")
    web.get("https://good.example/")

    assert connections == []
    assert b"canary" not in script.sent
    assert script.reached == [(PUBLIC, 80), (PUBLIC, 443)]


def test_with_private_addresses_allowed_metadata_servers_stay_closed() -> None:
    opened = ["127.0.0.1", "10.1.2.3", "172.20.0.1", "192.168.1.1", "100.64.0.1", "::1", "fd12::1", PUBLIC, PUBLIC6]
    closed = [
        *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"),
        *("fd20:ce::254", "fe80::a9fe:a9fe", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255"),
        *(
            f"{PUBLIC6}%eth0",
            "fd12::1%1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::",
            "fe80::1%1",
            "127.1",
            "x",
        ),
    ]

    def is_public(address: str, *, allow_private: bool = False) -> bool:
        found = parsed(address)
        return found is not None and may_be_reached(found, allow_private)

    assert [address for address in opened if not is_public(address, allow_private=True)] == []
    assert [address for address in closed if is_public(address, allow_private=True)] == []
    assert [address for address in (*opened, *closed) if is_public(address)] == [PUBLIC, PUBLIC6]


@pytest.mark.parametrize("host", ["metadata.google.internal", "meta.example", "meta6.example", "169.254.169.254"])
def test_a_metadata_server_is_refused_by_name_and_address_even_on_an_own_network(host: str) -> None:
    web = PublicWeb(allow_private=True, resolve=Names(), backend=Script())

    assert "not on the public web" in refused_by(web, f"http://{host}/latest")


def test_checking_a_url_for_a_third_party_is_strict_whatever_is_allowed_here() -> None:
    web = PublicWeb(allow_private=True, resolve=Names())

    web.check("https://good.example/page")
    for url in ("http://127.0.0.1/", "http://ten.example/", "http://a:b@good.example/", "http://good.example:8080/"):
        with pytest.raises(WebError):
            web.check(url)


# --- what it asks --------------------------------------------------------------------------------------------------


def test_a_public_page_is_asked_for_by_name_at_the_checked_address() -> None:
    script = Script(page(b"text", "Text/HTML; Charset=GBK"))

    answer = PublicWeb(resolve=Names(), backend=script).get(" https://good.example/a?b=c#part ")

    assert answer == ("https://good.example/a?b=c#part", "text/html", "gbk", b"text")
    assert script.reached == [(PUBLIC, 443)]
    assert script.server_names == ["good.example"]
    assert script.sent.startswith(b"GET /a?b=c HTTP/1.1\r\nHost: good.example\r\nUser-Agent: agentic-memory-bank\r\n")
    assert not {b"Cookie", b"Authorization"} & set(script.sent.split())


def test_an_address_that_is_down_leaves_the_others_of_the_name() -> None:
    class FirstDown(Script):
        def connect_tcp(self, host: str, *rest: Any, **named: Any) -> httpcore2.NetworkStream:
            if host == PUBLIC:
                raise httpcore2.ConnectError("down")
            return super().connect_tcp(host, *rest, **named)

    script = FirstDown(page())

    assert PublicWeb(resolve=Names(), backend=script).get("http://both.example/").data == b"hello"
    assert script.reached == [(PUBLIC6, 80)]
    assert "cannot be reached" in refused_by(PublicWeb(resolve=Names(), backend=script), "http://good.example/")


def test_the_address_a_translating_gateway_adds_is_not_used_and_does_no_harm() -> None:
    for addresses in ([PUBLIC, f"64:ff9b::{PUBLIC}"], [f"64:ff9b::{PUBLIC}", PUBLIC]):
        script = Script(page())

        PublicWeb(resolve=lambda host, found=addresses: found, backend=script).get("http://good.example/")

        assert script.reached == [(PUBLIC, 80)]


def test_an_ipv6_address_is_asked_for_in_brackets() -> None:
    script = Script(page())

    PublicWeb(resolve=Names(), backend=script).get(f"http://[{PUBLIC6}]/")

    assert script.reached == [(PUBLIC6, 80)]
    assert f"Host: [{PUBLIC6}]\r\n".encode() in script.sent


def test_five_redirects_are_followed_with_no_cookie_and_the_sixth_is_not() -> None:
    steps = [
        redirect(f"/{hop}", status).replace(b"\r\nContent", b"\r\nSet-Cookie: a=b\r\nContent")
        for hop, status in enumerate((301, 302, 303, 307, 308))
    ]
    script = Script(*steps, page())

    answer = PublicWeb(resolve=Names(), backend=script).get("http://good.example/")

    assert answer.url == "http://good.example/4"
    assert b"Cookie" not in script.sent
    again = Script(*steps, redirect("/5"), page())
    assert "redirects more often" in refused_by(PublicWeb(resolve=Names(), backend=again), "http://good.example/")
    assert len(again.reached) == 6


def test_a_request_with_a_key_follows_no_redirect() -> None:
    script = Script(redirect("http://good.example/elsewhere"), redirect("http://good.example/elsewhere"))
    web = PublicWeb(resolve=Names(), backend=script)

    with pytest.raises(WebError, match="redirects"):
        web.get_json("http://good.example/", {"Authorization": "Bearer canary"})
    with pytest.raises(WebError, match="redirects"):
        web.post_json("http://good.example/", {"q": 1}, {"X-API-KEY": "canary"})
    assert len(script.reached) == 2


@pytest.mark.parametrize("key", ["two\r\nX-Other: lines", "schlüssel", "钥匙", " padded", ""])
def test_a_key_that_is_no_header_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(WebError, match="Set the key again") as refusal:
        PublicWeb(resolve=Names(), backend=Script()).get_json("http://good.example/", {"X-API-KEY": key})

    assert not key.strip() or key not in str(refusal.value)


# --- what it takes -------------------------------------------------------------------------------------------------

BOMB = gzip.compress(bytes(50_000_000), 1)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (page(BOMB, Content_Encoding="gzip"), "more than 10 MB"),
        (page(gzip.compress(BOMB), Content_Encoding="gzip, gzip"), "more than 10 MB"),
        (page(zlib.compress(bytes(20_000_000)), Content_Encoding="deflate"), "more than 10 MB"),
        (page(bytes(10 * 1024 * 1024 + 1)), "more than 10 MB"),
        (page(gzip.compress(b"", 0) * 600_000, Content_Encoding="gzip"), "more than 10 MB"),
        (page(b"x", Content_Encoding="br"), "packed its answer"),
        (page(b"x", Content_Encoding=", ".join(["gzip"] * 50)), "not valid HTTP"),
        (page(b"no gzip", Content_Encoding="gzip"), "not valid HTTP"),
        (page(b"x", "application/octet-stream"), "cannot be read"),
        (page(b"x", "image/png"), "cannot be read"),
        (page(b"x", "video/mp4"), "cannot be read"),
        (page(b"x", "image/svg+xml"), "cannot be read"),
        (page(b"x", "application/zip"), "cannot be read"),
        (page(b"x", "text/html/x"), "cannot be read"),
        (b"HTTP/1.1 200 OK\r\n\r\nx", "without a type"),
        (b"HTTP/1.1 404 Not Found\r\n\r\nsecret of the server", "answered 404 \\(Not Found\\)"),
        (b"HTTP/1.1 429 Slow\r\n\r\nsecret", "Try again later"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n", "not the name of a host"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", "304"),
        (b"SSH-2.0-OpenSSH\r\n", "not valid HTTP"),
        (b"", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000, "not valid HTTP"),
        (page(b"cut", Content_Length="100"), "not valid HTTP"),
    ],
)
def test_what_a_page_may_not_be_is_refused_in_our_words(answer: bytes, said: str) -> None:
    web = PublicWeb(resolve=Names(), backend=Script(answer))

    with pytest.raises(WebError, match=said) as refusal:
        web.get("http://good.example/")

    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "kind",
    [
        *("text/html", "text/plain", "text/markdown", "text/csv", "application/xhtml+xml", "application/json"),
        *("application/ld+json", "application/rss+xml", "application/xml", "application/pdf"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ],
)
def test_text_and_documents_are_taken(kind: str) -> None:
    assert PublicWeb(resolve=Names(), backend=Script(page(b"x", kind))).get("http://good.example/").type == kind


def test_images_are_taken_when_asked_for() -> None:
    web = PublicWeb(resolve=Names(), backend=Script(page(b"x", "image/png"), page(b"x", "image/svg+xml")))

    assert web.get("http://good.example/", images=True).type == "image/png"
    with pytest.raises(WebError):
        web.get("http://good.example/", images=True)


def test_packed_text_of_just_the_limit_is_taken() -> None:
    text = bytes(range(256)) * (10 * 4 * 1024)
    web = PublicWeb(resolve=Names(), backend=Script(page(gzip.compress(text), Content_Encoding="gzip")))

    assert web.get("http://good.example/").data == text


def test_json_that_is_none_is_said_to_be_none() -> None:
    for body in (b"<html>", b"[" * 100_000, b"\xff"):
        with pytest.raises(WebError, match="not JSON"):
            PublicWeb(resolve=Names(), backend=Script(page(body, "application/json"))).post_json(
                "https://good.example/", {}, {}
            )


# --- how long it waits ---------------------------------------------------------------------------------------------


class Dripping(Script):
    """A server that sends a byte at a time, for ever, as real time goes by."""

    def connect_tcp(self, host: str, *rest: Any, **named: Any) -> httpcore2.NetworkStream:
        return _Drip(self, self.pages.pop(0))


class _Drip(_Stream):
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        assert timeout is not None
        time.sleep(min(timeout, 0.003))
        if timeout <= 0.003:
            raise httpcore2.ReadTimeout("timed out")
        return super().read(1) or b"x"


@pytest.mark.parametrize("answer", [page(), b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_dripping_bytes_buy_no_time(answer: bytes) -> None:
    web = PublicWeb(resolve=Names(), backend=Dripping(answer), seconds=0.3)
    started = time.monotonic()

    assert "took too long" in refused_by(web, "http://good.example/")
    assert time.monotonic() - started < 30, "it drips for ever"


def test_all_redirects_share_one_time() -> None:
    slow = [redirect("/") for _ in range(6)]
    web = PublicWeb(resolve=Names(), backend=Dripping(*slow), seconds=0.8)
    started = time.monotonic()

    assert "took too long" in refused_by(web, "http://good.example/")
    assert time.monotonic() - started < 30


def test_a_name_server_that_hangs_is_left_behind() -> None:
    hung = threading.Event()

    def hang(host: str) -> list[str]:
        hung.wait(60)
        return [PUBLIC]

    started = time.monotonic()
    assert "took too long" in refused_by(PublicWeb(resolve=hang, backend=Script(), seconds=0.1), "http://good.example/")
    assert time.monotonic() - started < 30, "it hangs for a minute"
    hung.set()


@pytest.mark.parametrize(("code", "may_pass"), [(socket.EAI_NONAME, False), (socket.EAI_AGAIN, True)])
def test_an_unknown_name_is_final_and_a_silent_name_server_is_not(code: int, may_pass: bool) -> None:
    def resolve(host: str) -> list[str]:
        raise socket.gaierror(code, "no")

    with pytest.raises(WebError, match="no address for good.example") as refusal:
        PublicWeb(resolve=resolve).get("http://good.example/")

    assert refusal.value.may_pass is may_pass


# --- asking again --------------------------------------------------------------------------------------------------


def test_what_may_pass_is_tried_again_and_what_may_not_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    faults = [WebError("a", may_pass=True), WebError("b", may_pass=True)]

    def ask(left: float) -> str:
        assert 0 < left <= 60
        if faults:
            raise faults.pop(0)
        return "answer"

    assert retrying(ask, tries=3, seconds=60) == "answer"
    assert pauses == [0.5, 1.0]

    faults = [WebError("final"), WebError("never asked")]
    with pytest.raises(WebError, match="final"):
        retrying(ask, tries=3, seconds=60)
    faults = [WebError(str(number), may_pass=True) for number in range(4)]
    with pytest.raises(WebError, match="2"):
        retrying(ask, tries=3, seconds=60)
    faults = [WebError("no time left", may_pass=True), WebError("never asked")]
    with pytest.raises(WebError, match="no time left"):
        retrying(ask, tries=3, seconds=0.4)
