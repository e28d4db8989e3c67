"""Pages of a site on the loopback interface, read through real sockets by `visit` and the transport under it."""

import datetime
import gzip
import io
import json
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import docx
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from agentic_memory_bank.tools.text.tokens import estimate_tokens
from agentic_memory_bank.tools.web import client
from agentic_memory_bank.tools.web.client import DOCX, PublicWeb
from agentic_memory_bank.tools.web.public_addresses import WebError
from agentic_memory_bank.tools.web.visit import JINA, visit

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

ARTICLE = """<!doctype html><html><head><title>Chips of
 2023</title><meta property="article:published_time" content="2023-12-04T09:30:00Z"><style>p {}</style></head><body>
<nav>Menu</nav><script>alert("scripted")</script><main><h1>Condor</h1><p>Condor has <b>1,121</b> qubits. 量子。</p>
</main><footer>Imprint</footer></body></html>"""
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


class Site(ThreadingHTTPServer):
    """A site whose pages are functions, and which remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.scheme = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def put(self, path: str, body: bytes | str, kind: str = "text/html", status: int = 200, **headers: str) -> str:
        data = body.encode() if isinstance(body, str) else body

        def send(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(data)

        self.pages[path] = send
        return self.url + path


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers.items())))
        page = self.server.pages.get(self.path)
        try:
            page(self) if page else self.send_error(404)
        except OSError:  # the client has hung up, as it should
            return

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def web() -> PublicWeb:
    """May reach the loopback interface; `news.example` lives there, too."""
    return PublicWeb(allow_private=True, resolve=lambda host: ["127.0.0.1"])


@pytest.fixture
def tool(web: PublicWeb) -> BaseTool:
    return visit(web=web)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_FIRST_PAUSE", 0.01)


def message(tool: BaseTool, url: str, goal: str = "How many qubits does Condor have?") -> ToolMessage:
    found = tool.invoke({"type": "tool_call", "name": "visit", "id": "1", "args": {"url": url, "goal": goal}})
    assert isinstance(found, ToolMessage)
    return found


# --- what it reads -------------------------------------------------------------------------------------------------


def test_a_page_is_read_with_title_url_and_date_and_without_its_trimmings(site: Site, tool: BaseTool) -> None:
    found = message(tool, site.put("/chips", ARTICLE, "text/html; charset=utf-8"))

    assert found.status == "success"
    assert found.content == (
        f"Title: Chips of 2023\nURL: {site.url}/chips\nDate: 2023-12-04\n\nCondor\n\nCondor has 1,121 qubits. 量子。"
    )
    assert found.artifact == {"url": f"{site.url}/chips", "title": "Chips of 2023", "date": "2023-12-04"}


def test_the_name_is_what_the_server_is_asked_for_and_nothing_of_ours_is_sent(
    site: Site, tool: BaseTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JINA_API_KEY", "canary")
    port = site.server_address[1]
    site.put("/a?b=c", "plain", "text/plain", Set_Cookie="a=b")

    message(tool, f"http://news.example:{port}/a?b=c#part")
    message(tool, f"http://news.example:{port}/a?b=c")

    [(path, headers), (_, again)] = site.asked
    assert path == "/a?b=c"
    assert headers["Host"] == f"news.example:{port}"
    assert set(headers) == {"Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"} == set(again)


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("text/html; charset=gbk", "gbk"),
        ("text/html; charset=GB2312", "gb2312"),
        ("text/html;charset='utf-8'", "utf-8"),
        ("text/html", "utf-8"),
        ("text/html; charset=unicode_escape", "utf-8"),
        ("text/html; charset=nonsense", "utf-8"),
        ("text/plain; charset=big5", "big5"),
        ("text/plain; charset=utf-16", "utf-16"),
        ("text/plain", "gb18030"),
        ("text/markdown", "utf-8"),
    ],
)
def test_a_page_is_read_in_its_character_set(site: Site, tool: BaseTool, declared: str, encoding: str) -> None:
    text = "中文的文字在此。这是一个说明。" if encoding != "big5" else "這是繁體中文的文字"
    body = text if "plain" in declared or "markdown" in declared else f"<meta charset=utf-8><p>{text}</p>"

    assert text in message(tool, site.put("/", body.encode(encoding), declared)).content


def test_the_servers_word_on_the_character_set_goes_before_the_pages(site: Site, tool: BaseTool) -> None:
    body = "<meta charset=iso-8859-1><p>Größe</p>".encode()

    assert "Größe" in message(tool, site.put("/", body, "text/html; charset=utf-8")).content


def test_word_json_and_packed_pages_are_read(site: Site, tool: BaseTool) -> None:
    document, file = docx.Document(), io.BytesIO()
    document.add_paragraph("The chip has 433 qubits.")
    document.core_properties.title = "Osprey"
    document.save(file)
    deflated = zlib.compress(b"deflated text")

    word = message(tool, site.put("/a", file.getvalue(), DOCX))
    structured = message(tool, site.put("/b", '{"qubits": 433}', "application/json"))
    packed = message(tool, site.put("/c", gzip.compress(ARTICLE.encode()), Content_Encoding="gzip"))
    other = message(tool, site.put("/d", deflated, "text/plain", Content_Encoding="deflate"))

    assert "Title: Osprey" in word.content
    assert "433 qubits" in word.content
    assert (word.artifact["name"], word.artifact["data"]) == ("a.docx", file.getvalue())
    assert not {"name", "data"} & {*structured.artifact, *packed.artifact}
    assert '{"qubits": 433}' in structured.content
    assert "1,121 qubits" in packed.content
    assert "deflated text" in other.content


@pytest.mark.parametrize(
    ("head", "date"),
    [
        ("<meta content='2021-05-06' name='date'>", "2021-05-06"),
        ("<meta name=DC.date content=2019-03>", "2019-03"),
        ("<meta itemprop=datePublished content='May 6, 2021'>", "May 6, 2021"),
        ('<script type=\'application/ld+json\'>{"datePublished": "2020-01-02T03:04:05Z"}</script>', "2020-01-02"),
        ("<meta property='article:modified_time' content='2024-01-01'>", ""),
        ("<meta name=date content='yesterday'>", ""),
        ("<meta name=date content='" + "2" * 5000 + "'>" + "<meta " * 50_000, ""),
    ],
)
def test_a_date_is_what_the_page_says_of_its_publication(site: Site, tool: BaseTool, head: str, date: str) -> None:
    found = message(tool, site.put("/", f"<html><head>{head}</head><body><p>Text.</p></body></html>"))

    assert found.artifact["date"] == date
    assert ("Date:" in found.content) is bool(date)


def test_an_image_comes_as_an_attachment_of_the_type_its_bytes_say(site: Site, tool: BaseTool) -> None:
    found = message(tool, site.put("/pics/..%2f%2e%2e/the%20chart.jpeg?x=1", PNG, "image/jpeg"))

    assert found.artifact == {"name": "the_chart.png", "data": PNG, "type": "image/png"}
    assert "the_chart.png" in found.content
    assert "not PNG" in message(tool, site.put("/fake.png", "<html>", "image/png")).content


def test_of_a_page_over_the_limit_the_passages_that_fit_the_goal_are_shown(site: Site, web: PublicWeb) -> None:
    filler = [f"Paragraph {number} tells of the weather and of nothing else.\n" for number in range(4000)]
    filler[3000] = "Condor has 1,121 qubits.\n"
    url = site.put("/", "\n".join(filler), "text/plain")

    found = message(visit(web=web, max_tokens=2_000), url).content

    assert "Condor has 1,121 qubits." in found
    assert "Paragraph 0 " in found
    assert "[...]" in found
    assert 1_000 < estimate_tokens(found) <= 2_000
    assert estimate_tokens(message(visit(web=web), url).content) > 20_000


def test_the_limit_of_95_000_tokens_holds_for_ten_megabytes(site: Site, tool: BaseTool) -> None:
    url = site.put("/", ("words of a long text, and numbers 12345. " * 250_000)[: 10 * 1024 * 1024], "text/plain")
    started = time.process_time()

    assert 80_000 < estimate_tokens(message(tool, url).content) <= 95_000
    assert time.process_time() - started < 30


# --- what it refuses, and how it says so ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/missing", "answered 404"),
        ("/zip", "cannot be read"),
        ("/bomb", "more than 10 MB"),
        ("/large", "more than 10 MB"),
        ("/loop", "redirects more often"),
        ("/broken.pdf", "damaged"),
        ("/empty.html", "There is no text"),
        ("/empty.txt", "empty"),
        ("/binary.txt", "binary"),
        ("/away", "not on the public web"),
    ],
)
def test_what_cannot_be_read_is_a_sentence_for_the_agent(site: Site, tool: BaseTool, path: str, said: str) -> None:
    site.put("/zip", b"PK", "application/zip")
    site.put("/bomb", gzip.compress(bytes(50_000_000)), Content_Encoding="gzip")
    site.put("/large", bytes(11_000_000), "text/plain")
    site.put("/loop", b"", status=302, Location="/loop")
    site.put("/broken.pdf", b"%PDF-1.4 and no more", "application/pdf")
    site.put("/empty.html", "<script>only()</script>")
    site.put("/empty.txt", "", "text/plain")
    site.put("/binary.txt", bytes(range(32)) * 100, "text/plain")
    site.put("/away", b"", status=302, Location="http://169.254.169.254/latest/meta-data")

    found = message(tool, site.url + path)

    assert found.status == "error"
    assert said in found.content


def test_without_the_explicit_setting_the_site_is_not_even_asked(site: Site) -> None:
    url = site.put("/", ARTICLE)

    assert message(visit(), url).status == "error"
    assert "not on the public web" in message(visit(), url.rsplit(":", 1)[0]).content
    assert site.asked == []


def test_redirects_are_followed_to_the_page_they_lead_to(site: Site, tool: BaseTool) -> None:
    for hop in range(5):
        site.put(f"/{hop}", b"", status=301, Location=f"/{hop + 1}" if hop % 2 else f"{site.url}/{hop + 1}")
    site.put("/5", ARTICLE)

    assert message(tool, f"{site.url}/0").artifact["url"] == f"{site.url}/5"


def test_a_server_that_comes_back_is_asked_three_times_and_one_that_does_not_no_more(
    site: Site, web: PublicWeb
) -> None:
    url = site.put("/", "busy: secret of the server", status=503)

    found = message(visit(web=web), url)

    assert (found.status, len(site.asked)) == ("error", 3)
    assert "secret" not in found.content
    asked = len(site.asked)
    message(visit(web=web), site.put("/gone", "gone", status=410))
    assert len(site.asked) == asked + 1


@pytest.mark.parametrize("drips", ["head", "body"])
def test_a_server_that_drips_is_left_in_time(site: Site, drips: str) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"Content-Type: text/plain\r\n\r\n" if drips == "body" else b""))
        for _ in range(3_000):
            handler.wfile.write(b"x")
            time.sleep(0.02)

    site.pages["/"] = drip
    tool = visit(web=PublicWeb(allow_private=True, seconds=0.3), seconds=0.5)
    started = time.monotonic()

    found = message(tool, site.url + "/")

    assert "took too long" in found.content
    assert time.monotonic() - started < 30, "it drips for a minute"


def test_a_port_on_which_nobody_listens_is_said_to_be_out_of_reach(site: Site, tool: BaseTool) -> None:
    with Site() as closed:
        url = closed.url

    assert "cannot be reached" in message(tool, url).content


# --- certificates --------------------------------------------------------------------------------------------------


def _certificate(folder: Path, name: str) -> Path:
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    day = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1)
        .not_valid_before(day - datetime.timedelta(days=1))
        .not_valid_after(day + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    path = folder / f"{name}.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_the_certificate_has_to_be_that_of_the_name_and_not_of_the_address(site: Site, tmp_path: Path) -> None:
    pem = _certificate(tmp_path, "news.example")
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(pem)
    asked_for: list[str | None] = []
    served.sni_callback = lambda _, name, __: asked_for.append(name)
    site.socket = served.wrap_socket(site.socket, server_side=True)
    site.put("/", "secure", "text/plain")
    port = site.server_address[1]
    trusting = ssl.create_default_context(cafile=str(pem))
    web = PublicWeb(allow_private=True, resolve=lambda host: ["127.0.0.1"], tls=trusting)

    assert web.get(f"https://news.example:{port}/").data == b"secure"
    assert asked_for == ["news.example"]
    for url in (f"https://other.example:{port}/", f"https://127.0.0.1:{port}/"):
        with pytest.raises(WebError, match="certificate"):
            web.get(url)
    with pytest.raises(WebError, match="certificate"):
        PublicWeb(allow_private=True, resolve=lambda host: ["127.0.0.1"]).get(f"https://news.example:{port}/")


# --- Jina Reader ---------------------------------------------------------------------------------------------------


class Jina:
    """Stands in for Jina Reader on the site."""

    names: ClassVar[dict[str, list[str]]] = {"news.example": ["93.184.215.14"], "own.example": ["10.0.0.1"]}

    def __init__(self, site: Site) -> None:
        self.site = site
        self.web = PublicWeb(allow_private=True, resolve=self.resolve, seconds=2)
        self.tool = visit(reader="jina", web=self.web, jina=f"{site.url}/", tries=2)

    def resolve(self, host: str) -> list[str]:
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return self.names[host]

    def answer(self, page: str, status: int = 200, **data: object) -> None:
        body = json.dumps({"code": status, "data": data, "message": "secret of the service"})
        self.site.put(f"/{page}", body, "application/json; charset=utf-8", status)


def test_jina_reads_a_public_page_with_the_key_of_the_moment(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    jina = Jina(site)
    url = "https://news.example/a?b=c&d=e"
    jina.answer(
        url, title="News", url=url, content="Condor has **1,121** qubits.", publishedTime="2023-12-04T09:30:00Z"
    )

    without = message(jina.tool, url)
    monkeypatch.setenv("JINA_API_KEY", "canary")
    found = message(jina.tool, url)

    assert found.content == f"Title: News\nURL: {url}\nDate: 2023-12-04\n\nCondor has **1,121** qubits."
    assert without.content == found.content
    assert [headers.get("Authorization") for _, headers in site.asked] == [None, "Bearer canary"]
    assert "canary" not in repr(jina.tool) + str(found)


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:1/x", "http://localhost/x", "http://own.example/x", "http://10.0.0.1/x", "http://[::1]/x"),
        *(
            "https://user:word@news.example/x",
            "https://news.example/x?access_token=1",
            "https://news.example/x?a=1&Sig=2",
        ),
        *("https://news.example/x?X-Amz-Signature=3", "https://news.example/x#access_token=4", "http://router/x"),
        *("https://news.example/x?%74oken=5", "https://news.example:8443/x", "http://unknown.example/x", "http://[/x"),
        *("http://169.254.169.254/x", "file:///etc/passwd", "https://news.example./x"),
    ],
)
def test_what_is_private_or_holds_a_credential_is_never_told_to_jina(site: Site, url: str) -> None:
    jina = Jina(site)
    told: list[str] = []
    jina.web.get_json = lambda url, headers, seconds=None: told.append(url)  # type: ignore[method-assign]
    jina.web.get = _refuse  # type: ignore[method-assign]

    message(jina.tool, url)

    assert told == []
    assert site.asked == []


def _refuse(url: str, **_: object) -> None:
    raise WebError("asked directly")


def test_what_jina_must_not_be_told_is_fetched_directly(site: Site) -> None:
    found = message(Jina(site).tool, site.put("/private", ARTICLE))

    assert "1,121 qubits" in found.content
    assert [path for path, _ in site.asked] == ["/private"]


@pytest.mark.parametrize(
    ("status", "said", "asked"),
    [
        (401, "does not accept the key", 1),
        (429, "only so many requests", 2),
        (451, "could not read", 1),
        (503, "503", 2),
    ],
)
def test_what_jina_refuses_is_said_without_key_and_without_its_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch, status: int, said: str, asked: int
) -> None:
    monkeypatch.setenv("JINA_API_KEY", "canary")
    jina = Jina(site)
    jina.answer("https://news.example/", status)

    found = message(jina.tool, "https://news.example/")

    assert found.status == "error"
    assert said in found.content
    assert not {"canary", "secret"} & set(str(found).replace("'", " ").split())
    assert len(site.asked) == asked


@pytest.mark.parametrize("data", [{}, {"content": ""}, {"content": 5}])
def test_a_page_in_which_jina_finds_nothing_is_said_to_be_empty(site: Site, data: dict[str, object]) -> None:
    jina = Jina(site)
    jina.answer("https://news.example/", **data)

    assert "found no text" in message(jina.tool, "https://news.example/").content


def test_jina_is_asked_at_its_own_address_unless_told_otherwise() -> None:
    assert JINA == "https://r.jina.ai/"
