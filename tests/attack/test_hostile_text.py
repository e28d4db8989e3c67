"""A server goes on answering others while a client sends text made to be slow to read; every rule reads every text."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client

pytestmark = pytest.mark.enable_socket

TESTS = Path(__file__).parents[1]
WITHIN = 1.0
"""Seconds in which `/ok` is answered, whatever is being read."""
SIZE = 64_000
DOCUMENT = 16_000
"""Characters of a document: all of it is embedded, which takes as long for any text."""
USER = "mallory"
HEADERS = {"x-authz-user-id": USER}


def loaded(path: str) -> ModuleType:
    spec = util.spec_from_file_location(path.replace("/", "_").removesuffix(".py"), TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hostile: Any = loaded("hostile_text.py")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with loaded("server/conftest.py").serving(tmp_path_factory.mktemp("attacked"), MEMORY_BANK_AUTH="proxy") as server:
        yield server.url


class Watch:
    """A second client, which asks again and again whether the server is there."""

    def __init__(self, url: str) -> None:
        self.longest, self.asked, self._over = 0.0, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(url,))

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self, url: str) -> None:
        with httpx.Client(timeout=300) as client:
            while not self._over.wait(0.02):
                begun = time.monotonic()
                client.get(f"{url}/ok")
                self.longest, self.asked = max(self.longest, time.monotonic() - begun), self.asked + 1


def run(graph: str, given: Callable[[str], dict[str, Any]], **context: Any) -> Callable[[str, str], None]:
    """A run of a graph on the server. What is refused is answered with an error, which is an answer."""

    def send(url: str, text: str) -> None:
        with get_sync_client(url=url, headers=HEADERS, timeout=300) as client:
            client.runs.wait(None, graph, input=given(text), context=context or None, raise_error=False)

    return send


def post(path: str, body: Callable[[str], Mapping[str, Any]]) -> Callable[[str, str], None]:
    """A request of the routes of memories."""

    def send(url: str, text: str) -> None:
        httpx.post(f"{url}{path}", json={"user_id": USER, **body(text)}, headers=HEADERS, timeout=300)

    return send


def talk(text: str) -> list[dict[str, str]]:
    return [
        {"role": "assistant", "content": text},
        {"role": "user", "content": "1234"},
        {"role": "user", "content": text},
    ]


DOORS: dict[str, Callable[[str, str], None]] = {
    "remember": run("remember", lambda text: {"messages": talk(text), "end": True}, user=USER),
    "recall": run("recall", lambda text: {"messages": talk(text)}, user=USER),
    "conversation": run("conversation", lambda text: {"messages": talk(text)}, user=USER),
    "memory_bank": run(
        "memory_bank",
        lambda text: {
            "question": f"What of {text[:2_000]}?",
            "documents": [{"name": "a.txt", "text": f"A. {text[:DOCUMENT]}"}],
        },
    ),
    "POST /v1/memory": post("/v1/memory", lambda text: {"content": text[:16_000], "type": "semantic"}),
    "POST /v1/memory/search": post("/v1/memory/search", lambda text: {"query": text}),
    "POST /v1/memory/forget": post("/v1/memory/forget", lambda text: {"about": text}),
}


@pytest.mark.parametrize("door", DOORS)
def test_others_are_answered_within_a_second_while_hostile_text_is_sent_through(door: str, url: str) -> None:
    DOORS[door](url, "Hello there. I live in Lisbon.")  # what is loaded the first time is no text's fault
    late: dict[str, float] = {}
    for text in hostile.REPORTED:
        with Watch(url) as watch:
            DOORS[door](url, text.of(SIZE))
            time.sleep(0.1)
        assert watch.asked
        if watch.longest > WITHIN:
            late[repr(text)] = round(watch.longest, 2)

    assert late == {}


@pytest.mark.parametrize("rule", hostile.rules(), ids=lambda rule: rule.name)
def test_every_text_made_of_a_pattern_takes_it_linear_time(rule: Any) -> None:
    faults = {
        repr(text): fault
        for text in hostile.suspects(rule.read, hostile.texts_of(rule.pattern))
        if (fault := hostile.fault(rule.read, text))
    }

    assert faults == {}
