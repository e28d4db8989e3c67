"""The live page answers its one visitor alone, and what is done on it is done for everybody who reads the memory."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from agentic_memory_bank import Memories
from agentic_memory_bank.runs.viewer.actions import LookedAtUser
from agentic_memory_bank.runs.viewer.live import MOST_BYTES, LivePage
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]


class Visitor:
    """Who sends requests to a live page: by default as its own page does."""

    def __init__(self, live: LivePage) -> None:
        self.live = live
        self.cookie = ""

    def visit(self) -> http.client.HTTPResponse:
        """Use the one-time address."""
        place = urlsplit(self.live.address)
        response = self.send("GET", f"{place.path}?{place.query}")
        self.cookie = (response.headers["Set-Cookie"] or "").partition(";")[0]
        return response

    def do(self, what: str, given: object, **headers: str) -> tuple[int, Any]:
        """Ask for an action."""
        response = self.send("POST", f"/do/{what}", json.dumps(given), **headers)
        body = response.read()
        return response.status, json.loads(body) if response.headers["Content-Type"] == "application/json" else body

    def send(self, method: str, path: str, body: str | None = None, **headers: str) -> http.client.HTTPResponse:
        sent = {"Host": self.live.host, "Cookie": self.cookie}
        sent |= {"Origin": f"http://{self.live.host}", "Content-Type": "application/json"} if body is not None else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(*self.live.server_address[:2], timeout=20)
        connection.request(method, path, body, {name: value for name, value in sent.items() if value})
        return connection.getresponse()


@contextmanager
def served(looked: Any) -> Iterator[LivePage]:
    with LivePage(looked) as live:
        thread = threading.Thread(target=live.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield live
        finally:
            live.shutdown()
            thread.join()


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as found:
        yield found


@pytest.fixture
def visitor(memories: Memories) -> Iterator[Visitor]:
    """Somebody who was let in to look at the memories of ana."""
    with served(LookedAtUser(memories, "ana")) as live:
        found = Visitor(live)
        assert found.visit().status == 303
        yield found


# --- who is let in -------------------------------------------------------------------------------------------------


def test_the_address_is_good_once_and_the_cookie_from_then_on(visitor: Visitor, memories: Memories) -> None:
    token = visitor.live.address
    memories.store("I play chess.", user="ana")

    shown = visitor.send("GET", "/")
    other = Visitor(visitor.live)

    assert (shown.status, "I play chess." in shown.read().decode()) == (200, True)
    assert other.visit().status == 403
    assert other.send("GET", "/").status == 403
    assert "None" in token


def test_the_first_address_lets_in_and_a_wrong_one_does_not_use_it_up(memories: Memories) -> None:
    with served(LookedAtUser(memories, "ana")) as live:
        assert Visitor(live).send("GET", "/?token=wrong").status == 403
        assert Visitor(live).send("GET", "/?token=%C3%A9").status == 403
        first = Visitor(live)
        response = first.visit()

    held = response.headers["Set-Cookie"]
    assert response.status == 303
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in held.split(";")}


FOREIGN: dict[str, Callable[[Visitor], dict[str, str]]] = {
    "another origin": lambda _: {"Origin": "http://evil.example"},
    "no origin": lambda _: {"Origin": ""},
    "another name that leads here": lambda _: {"Host": "evil.example"},
    "no cookie": lambda _: {"Cookie": ""},
    "a wrong cookie": lambda visitor: {"Cookie": f"{visitor.live.cookie}=guessed"},
    "a form": lambda _: {"Content_Type": "application/x-www-form-urlencoded"},
    "plain text": lambda _: {"Content_Type": "text/plain"},
}


@pytest.mark.parametrize("how", FOREIGN)
def test_what_another_site_can_send_does_nothing(visitor: Visitor, memories: Memories, how: str) -> None:
    kept = memories.store("I play chess.", user="ana")

    status, _ = visitor.do("update", {"id": kept["id"], "text": "I hate chess."}, **FOREIGN[how](visitor))

    assert status == 403
    assert memories.get(kept["id"], user="ana")["text"] == "I play chess."


def test_the_page_is_framed_cached_and_shared_by_nobody(visitor: Visitor) -> None:
    headers = visitor.send("GET", "/").headers

    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert visitor.send("OPTIONS", "/do/update").status == 501


@pytest.mark.parametrize("path", ["/etc/passwd", "/../x", "/do/update", "/favicon.ico"])
def test_nothing_but_the_page_is_served(visitor: Visitor, path: str) -> None:
    assert visitor.send("GET", path).status == 404


# --- what is done --------------------------------------------------------------------------------------------------


def test_a_correction_on_the_page_is_one_for_everybody_and_kept_in_the_history(
    visitor: Visitor, memories: Memories, tmp_path: Path
) -> None:
    kept = memories.store("I play chess.", user="ana")

    assert visitor.do("update", {"id": kept["id"], "text": "I play go."})[0] == 200

    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as others:
        now = others.get(kept["id"], user="ana")
    assert now["text"] == "I play go."
    assert [was["text"] for was in now["history"]] == ["I play chess."]


def test_a_new_value_takes_the_place_of_the_old_one(visitor: Visitor, memories: Memories) -> None:
    kept = memories.store("I live in Berlin.", user="ana")

    status, new = visitor.do("supersede", {"id": kept["id"], "text": "I live in Lisbon."})

    assert status == 200
    assert memories.get(kept["id"], user="ana")["replaced_by"] == new


def test_only_what_was_previewed_is_forgotten(visitor: Visitor, memories: Memories) -> None:
    chess, cello = (memories.store(text, user="ana") for text in ("I play chess.", "My sister plays the cello."))

    assert visitor.do("forget", {"ids": [chess["id"]]})[0] == 400
    _, preview = visitor.do("preview", {"about": "chess"})
    assert preview["erased"] == ["I play chess."]
    assert visitor.do("forget", {"ids": [cello["id"]]})[0] == 400
    _, preview = visitor.do("preview", {"about": "chess"})
    assert visitor.do("forget", {"ids": preview["ids"]}) == (200, [chess["id"]])
    assert [one["id"] for one in memories.list(user="ana").records] == [cello["id"]]


def test_memory_is_switched_and_a_message_is_tried(visitor: Visitor, memories: Memories) -> None:
    memories.store("My sister Nora plays the cello.", user="ana")

    _, recalled = visitor.do("recall", {"question": "What does my sister Nora play?"})
    assert len(recalled["shown"]) == 1
    assert visitor.do("switch", {"mode": "off"}) == (200, "off")
    assert memories.mode(user="ana") == "off"


def test_a_memory_is_pinned_and_pinned_no_longer(visitor: Visitor, memories: Memories) -> None:
    kept = memories.store("I play chess.", user="ana")

    assert visitor.do("pin", {"id": kept["id"], "pinned": True}) == (200, True)
    assert memories.get(kept["id"], user="ana")["pinned_at"]
    assert visitor.do("pin", {"id": kept["id"], "pinned": False}) == (200, False)
    assert memories.get(kept["id"], user="ana")["pinned_at"] is None


# --- what is undone ------------------------------------------------------------------------------------------------


def test_what_was_done_is_undone_the_last_of_it_first(visitor: Visitor, memories: Memories, tmp_path: Path) -> None:
    one, other = (memories.store(text, user="ana") for text in ("I play chess.", "I live in Berlin."))
    before = memories.get(one["id"], user="ana")
    visitor.do("update", {"id": one["id"], "text": "I play go."})
    visitor.do("supersede", {"id": other["id"], "text": "I live in Lisbon."})
    visitor.do("pin", {"id": one["id"], "pinned": True})
    visitor.do("switch", {"mode": "recall"})
    visitor.do("switch", {"mode": "on"})
    _, preview = visitor.do("preview", {"id": one["id"]})
    visitor.do("forget", {"ids": preview["ids"]})

    undone = [visitor.do("undo", {}) for _ in range(6)]

    assert undone == [(200, what) for what in ("forget", "switch", "switch", "pin", "supersede", "update")]
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as others:
        now = others.get(one["id"], user="ana")
        assert {record["text"] for record in others.list(user="ana").records} == {"I play chess.", "I live in Berlin."}
        assert others.mode(user="ana") == "on"
    assert [was["text"] for was in now["history"]] == ["I play chess.", "I play go."]
    assert now["pinned_at"] is before["pinned_at"] is None
    assert len(memories.list(user="ana", replaced=True).records) == 4
    assert visitor.do("undo", {})[0] == 400


def test_the_page_offers_to_undo_what_was_done_on_it_alone(visitor: Visitor, memories: Memories) -> None:
    kept = memories.store("I play chess.", user="ana")
    memories.update(kept["id"], "I play go.", user="ana")
    assert '"undo":null' in visitor.send("GET", "/").read().decode()

    visitor.do("pin", {"id": kept["id"], "pinned": True})
    visitor.do("pin", {"id": kept["id"], "pinned": True})
    assert '"undo":"pin"' in visitor.send("GET", "/").read().decode()
    visitor.do("undo", {})
    assert '"undo":null' in visitor.send("GET", "/").read().decode()


def test_what_was_changed_elsewhere_since_is_not_undone(visitor: Visitor, memories: Memories) -> None:
    kept = memories.store("I play chess.", user="ana")
    home = memories.store("I live in Berlin.", user="ana")
    visitor.do("update", {"id": kept["id"], "text": "I play go."})
    _, new = visitor.do("supersede", {"id": home["id"], "text": "I live in Lisbon."})
    memories.supersede(new, "I live in Porto.", user="ana")
    memories.update(kept["id"], "I play tennis.", user="ana")

    assert [visitor.do("undo", {})[0] for _ in range(3)] == [400, 400, 400]
    assert {record["text"] for record in memories.list(user="ana").records} == {"I live in Porto.", "I play tennis."}


def test_several_changes_of_one_memory_are_undone_one_by_one(visitor: Visitor, memories: Memories) -> None:
    game = memories.store("I play chess.", user="ana")
    home = memories.store("I live in Berlin.", user="ana")["id"]
    for text in ("I play go.", "I play bridge."):
        visitor.do("update", {"id": game["id"], "text": text})
    visitor.do("update", {"id": home, "text": "I live in Bern."})
    for text in ("I live in Lisbon.", "I live in Porto."):
        _, home = visitor.do("supersede", {"id": home, "text": text})

    seen = []
    while visitor.do("undo", {})[0] == 200:
        seen.append({record["text"] for record in memories.list(user="ana").records})

    assert seen == [
        {"I play bridge.", "I live in Lisbon."},
        {"I play bridge.", "I live in Bern."},
        {"I play bridge.", "I live in Berlin."},
        {"I play go.", "I live in Berlin."},
        {"I play chess.", "I live in Berlin."},
    ]


def test_what_was_switched_or_erased_elsewhere_since_is_not_undone(visitor: Visitor, memories: Memories) -> None:
    kept = memories.store("I play chess.", user="ana")
    _, preview = visitor.do("preview", {"id": kept["id"]})
    visitor.do("forget", {"ids": preview["ids"]})
    visitor.do("switch", {"mode": "recall"})
    memories.delete_all(user="ana")
    memories.switch("off", user="ana")

    assert visitor.do("undo", {})[0] == 400
    assert memories.mode(user="ana") == "off"
    memories.switch("on", user="ana")
    assert visitor.do("undo", {})[0] == 400
    assert memories.list(user="ana").records == []


def test_where_the_new_value_was_known_before_both_hold_again(visitor: Visitor, memories: Memories) -> None:
    home = memories.store("I live in Berlin.", user="ana")
    memories.store("I live in Lisbon.", user="ana")
    visitor.do("supersede", {"id": home["id"], "text": "I live in Lisbon."})

    assert visitor.do("undo", {}) == (200, "supersede")
    assert {record["text"] for record in memories.list(user="ana").records} == {
        "I live in Berlin.",
        "I live in Lisbon.",
    }


@pytest.mark.parametrize(
    ("what", "given"),
    [
        ("pin", {"id": "m0", "pinned": True}),
        ("pin", {"id": "m0", "pinned": "yes"}),
        ("undo", {}),
        ("update", {"id": 3, "text": "x"}),
        ("update", {"id": "m0", "text": "x"}),
        ("update", []),
        ("switch", {"mode": "sideways"}),
        ("preview", {"about": " "}),
        ("recall", {}),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(visitor: Visitor, what: str, given: object) -> None:
    status, said = visitor.do(what, given)

    assert status == 400
    assert said["message"]


def test_another_users_memories_are_out_of_reach(visitor: Visitor, memories: Memories) -> None:
    theirs = memories.store("I play chess.", user="bob")

    assert visitor.do("update", {"id": theirs["id"], "text": "x", "user": "bob"})[0] == 400
    assert visitor.do("preview", {"id": theirs["id"]})[1]["ids"] == []
    assert memories.get(theirs["id"], user="bob")["text"] == "I play chess."


def test_a_request_without_end_is_not_read(visitor: Visitor) -> None:
    assert visitor.do("update", {"id": "m", "text": "x"}, Content_Length=str(MOST_BYTES + 1))[0] == 400
    assert visitor.do("nothing", {})[0] == 404
