"""While a long run goes on the server answers others, and whoever cancels it has the thread back at once."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
LONG = {"question": "Wait until you are told.", "documents": ["The mirror is 8.2 metres wide."]}
SHORT = {"question": "How wide is the mirror?", "documents": ["The mirror is 8.2 metres wide."]}


@pytest.fixture
def server(serve: Any) -> Any:
    return serve(arguments=("--n-jobs-per-worker", "2"))


@pytest.fixture
def client(server: Any) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=server.url) as client:
        yield client
    (server.home.parent / "go").touch()  # the thread that nobody waits for any more may end


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < limit, "It was not done in time."
        time.sleep(0.1)


def test_others_are_answered_meanwhile_and_a_cancelled_thread_is_free(client: SyncLangGraphClient) -> None:
    thread = client.threads.create()["thread_id"]
    long = client.runs.create(thread, "slow", input=LONG)["run_id"]

    def is_answering() -> bool:
        return any(task["name"] == "execute" for task in client.threads.get_state(thread)["tasks"])

    until(is_answering)
    beside: Any = client.runs.wait(None, "memory_bank", input=SHORT)
    assert "8.2" in beside["answer"]
    assert client.runs.get(thread, long)["status"] == "running"

    client.runs.cancel(thread, long, wait=True)
    assert client.runs.get(thread, long)["status"] == "interrupted"
    again: Any = client.runs.wait(thread, "slow", input=SHORT)
    assert again["answer"] == "slow"
    assert client.threads.get(thread)["status"] == "idle"
