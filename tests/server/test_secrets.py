"""Keys and passwords reach the server and nothing else: no file, no log, no stream, no error, no repr."""

import base64
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentic_memory_bank import Settings, resume, run
from agentic_memory_bank.engines.llm import models, retry
from agentic_memory_bank.engines.llm.models import ChatModels
from agentic_memory_bank.state.errors import MemoryBankError, SettingsError
from agentic_memory_bank.testing import (
    ChatRequest,
    Fault,
    ModelServer,
    Reply,
    closed_port,
    cut,
    failing,
    hang,
    http_error,
    raw_body,
    refusing,
    reset,
)
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

CANARY = "zebra7canary"
KEY = f"sk-{CANARY}-key"
PASSWORD = f"{CANARY}-password"
LOGIN = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
TRACES = tuple(
    trace.encode()
    for trace in (
        CANARY,
        LOGIN,
        base64.b64encode(PASSWORD.encode()).decode()[:12],
        base64.b64encode(KEY.encode()).decode(),
    )
)
"""What may stand nowhere: the canary, and its forms in HTTP's basic authentication."""
ADDRESS = "MEMORY_BANK_LOCAL_BASE_URL"


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = sys.modules[name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


scenario = _neighbour("scenario")


def echo(request: ChatRequest) -> str:
    """What a careless server writes into its errors."""
    return f"Incorrect API key provided: {request.headers.get('authorization')} {KEY} {PASSWORD}."


FAULTS: dict[str, Callable[[ChatRequest], Reply | Fault]] = {
    "none": scenario.judge,
    "400": lambda request: http_error(400, echo(request)),
    "401": lambda request: http_error(401, echo(request)),
    "quota": lambda request: http_error(429, echo(request), code="insufficient_quota"),
    "429": lambda request: http_error(429, echo(request), headers={"retry-after": "0"}),
    "500": lambda request: http_error(500, echo(request)),
    "page": lambda request: raw_body(f"<html>{echo(request)}</html>".encode(), "text/html"),
    "no JSON": lambda request: raw_body(f'{{"choices": "{echo(request)}'.encode()),
    "error in 200": lambda request: raw_body(f'{{"error": {{"message": "{echo(request)}"}}}}'.encode()),
    "reset": lambda _: reset(),
    "cut": failing(scenario.judge, cut(), on="every"),
    "timeout": lambda _: hang(2),
    "refusal": lambda request: Reply(refusal=echo(request)),
    "content filter": lambda request: Reply(echo(request), finish_reason="content_filter"),
    "length": lambda request: Reply(f'{{"description": "{echo(request)}', finish_reason="length"),
    "wrong schema": lambda request: Reply(data={echo(request): echo(request)}),
    "prose": lambda request: Reply(echo(request)),
    "refused forms": refusing(scenario.judge, "json_schema", "function_calling", "json_mode"),
}


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(models, "_KNOWN_MODES", {})
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    for name in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY", "MEMORY_BANK_LOCAL_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PASSWORD}@127.0.0.1:{closed_port()}")
    monkeypatch.setenv("ALL_PROXY", f"http://me:{PASSWORD}@127.0.0.1:{closed_port()}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    caplog.set_level(logging.DEBUG)


@pytest.fixture
def watched(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[[], None]]:
    """A check that no secret is to be seen; made again when the test is over."""

    def check() -> None:
        files = [file for folder in (home, tmp_path) if folder.exists() for file in folder.rglob("*") if file.is_file()]
        for file in files:
            assert_clean(file.read_bytes(), str(file))
        assert_clean(caplog.text.encode(), "the log")

    yield check
    check()
    assert_clean("".join(capfd.readouterr()).encode(), "the streams")
    records = caplog.get_records("call")
    assert_clean("\n".join(map(logging.Formatter().format, records)).encode(), "the log")
    assert {"httpcore2.connection", "openai._base_client"} <= {record.name for record in records}, "they log all"


def assert_clean(content: bytes, where: str) -> None:
    found = [trace for trace in TRACES if trace in content]
    assert not found, f"{where}: {content[max(0, content.find(found[0]) - 200) :][:400]!r}"


def asked(script: Callable[[ChatRequest], Reply | Fault], tmp_path: Path, where: str, **options: Any) -> Any:
    """A durable run with a scripted model; the address is what `where` makes of that of the server."""
    with ModelServer(script) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv(ADDRESS, where.format(place=server.url.removeprefix("http://")))
        settings = scenario.settings(**{f"{role}_timeout": 0.3 for role in scenario.ROLES})
        output = run(
            scenario.QUESTION,
            documents=list(scenario.DOCUMENTS),
            thread="t",
            keep=True,
            export=tmp_path / "export.json",
            settings=settings,
            embeddings=HashEmbeddings(),
            **options,
        )
        if "pause" in output:  # the model refused
            assert_clean(repr(output).encode(), "the pause")
            output = resume("t", decision="finish", embeddings=HashEmbeddings(), **options)
        return output, server.chats


SECRET_ADDRESS = f"http://me:{PASSWORD}@{{place}}?token={PASSWORD}#{CANARY}"


@pytest.mark.parametrize("name", FAULTS)
def test_no_secret_is_left_behind_by_a_run_or_by_a_fault(
    name: str, tmp_path: Path, watched: Callable[[], None]
) -> None:
    def script(request: ChatRequest) -> Reply | Fault:
        watched()  # while the files of the run are open, its log among them
        return FAULTS[name](request)

    output, chats = asked(script, tmp_path, SECRET_ADDRESS)

    assert_clean(repr(output).encode(), "the output")
    assert (tmp_path / "export.json").exists()
    assert {request.headers["authorization"] for request in chats} == {f"Basic {LOGIN}"}
    if name in ("none", "refused forms"):
        assert (output["status"], output["degraded"]) == ("completed", [])


@pytest.mark.parametrize("name", ["none", "401", "500"])
def test_a_key_reaches_the_server_and_nothing_else(name: str, tmp_path: Path, watched: Callable[[], None]) -> None:
    output, chats = asked(FAULTS[name], tmp_path, "http://{place}")

    assert_clean(repr(output).encode(), "the output")
    assert {request.headers["authorization"] for request in chats} == {f"Bearer {KEY}"}
    watched()


def test_user_and_query_of_an_address_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append((self.path, self.headers["authorization"]))
            self.send_error(500)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        monkeypatch.setenv(ADDRESS, f"http://me:{PASSWORD}@127.0.0.1:{server.server_port}/a/v1/?token={PASSWORD}&x=%2F")
        listening = threading.Thread(target=server.handle_request)
        listening.start()
        client = ChatModels.of(Settings(model="local:test")).roles["plan"].client
        with pytest.raises(Exception, match="500") as caught:
            client.invoke("Who?")
        listening.join()

    assert seen == [(f"/a/v1/chat/completions?token={PASSWORD}&x=%2F", f"Basic {LOGIN}")]
    assert_clean("".join(traceback.format_exception(caught.value)).encode(), "the error")


@pytest.mark.parametrize("proxy", ["refuses", "is not there"])
def test_the_password_of_a_proxy_is_shown_nowhere(
    proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: Callable[[], None]
) -> None:
    monkeypatch.delenv("NO_PROXY")
    with ModelServer(scenario.judge) as refusing_proxy:
        port = refusing_proxy.url.split(":")[2].split("/")[0] if proxy == "refuses" else closed_port()
        monkeypatch.setenv("HTTP_PROXY", f"http://me:{PASSWORD}@127.0.0.1:{port}")
        output, chats = asked(scenario.judge, tmp_path, f"http://{proxy.split()[0]}.example/v1")
    assert not chats
    assert output["status"] == "completed"  # without a model, and `degraded` says so
    assert output["degraded"]
    assert_clean(repr(output).encode(), "the output")


@pytest.mark.parametrize(
    "environment",
    [
        {ADDRESS: f"ftp://me:{PASSWORD}@h/v1"},
        {ADDRESS: f"http://me:{PASSWORD}@h:port/v1"},
        {ADDRESS: "http://a.example/v1", "HTTP_PROXY": f"nonsense://me:{PASSWORD}@h:1"},
        {ADDRESS: "http://b.example/v1", "HTTP_PROXY": f"http://me:{PASSWORD}@h:port"},
        {"MEMORY_BANK_LOCAL_API_KEY": f"{KEY}\n{KEY}"},
    ],
    ids=["scheme", "port", "scheme of a proxy", "port of a proxy", "key of two lines"],
)
def test_no_error_at_the_door_shows_what_it_stumbled_over(
    environment: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError) as caught:
        run("Who?", thread="t", settings={"model": "local:test"}, embeddings=HashEmbeddings())
    with pytest.raises(MemoryBankError):
        resume("t", embeddings=HashEmbeddings())

    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + str(caught.value) + caplog.text
    assert_clean(shown.encode(), "the error")
    assert list(environment)[-1] in str(caught.value)
    for file in home.rglob("*"):
        assert not file.is_file() or not any(trace in file.read_bytes() for trace in TRACES)


def test_nothing_that_can_be_shown_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, f"http://me:{PASSWORD}@127.0.0.1:9/v1?token={PASSWORD}")
    settings = Settings(model="local:test", plan_model="openai:test", react_model="deepseek:test")

    chats = ChatModels.of(settings)
    clients: list[Any] = [model.client for model in chats.roles.values()]
    shown = [settings, settings.model_dump_json(), chats, chats.name, scenario.bank(), *clients]
    shown += [part for c in clients for part in (c.root_client, c.http_client, vars(c.http_client), c.asdict())]
    shown += [client.bind(stop=["x"]) for client in clients]

    for thing in shown:
        assert_clean(f"{thing!r} {thing!s}".encode(), type(thing).__name__)


def test_settings_take_no_secret(home: Path, tmp_path: Path, watched: Callable[[], None]) -> None:
    words = ("key", "secret", "password", "token_", "address", "url", "header", "proxy")
    named = [name for name in Settings.model_fields if any(word in name for word in words)]
    assert named == ["allow_private_addresses"]  # yes or no

    given: Any = {"openai_api_key": KEY, "api_key": KEY, "local_api_key": KEY, "local_base_url": PASSWORD}
    with pytest.raises(SettingsError, match="no setting openai_api_key") as refused:
        Settings(**given)
    assert_clean("".join(traceback.format_exception(refused.value)).encode(), "the error of the settings")
    with ModelServer(scenario.judge) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv(ADDRESS, server.url)
        try:
            run(scenario.QUESTION, settings=scenario.settings(**given), keep=True, embeddings=HashEmbeddings())
        except MemoryBankError as error:
            assert_clean("".join(traceback.format_exception(error)).encode(), "the error")
            run(scenario.QUESTION, settings=scenario.settings(), keep=True, embeddings=HashEmbeddings())
    watched()
