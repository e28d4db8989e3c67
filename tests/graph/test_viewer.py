"""The viewer's snapshot holds what its reader follows, and its file is one that nothing in a memory can act in."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from agentic_memory_bank import Memories, run, view
from agentic_memory_bank.runs.page_runs import PageRunOptions, memorize
from agentic_memory_bank.runs.viewer.page import SCRIPTS, page
from agentic_memory_bank.runs.viewer.snapshot import BrowserPlaces, shown_answer
from agentic_memory_bank.state.errors import InputError, UnknownMemoryError, UnknownThreadError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

REPORT = "# The dam 🏔\n\n## Height\n\nThe Orlo dam 🏞 is 92 metres high. It was finished in autumn.\n"
LEAFLET = "Welcome to the valley. The Orlo dam is 92 metres high and may be walked upon.\n"
BLOG = "We went to the valley. The Orlo dam is 71 metres high, and we were tired.\n"
HOSTILE = (
    "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> ]]> \u202e javascript:alert(3) \u2028 &lt;"
)
QUESTION = "How high is the Orlo dam?"


def document(name: str, text: str) -> dict[str, Any]:
    return {"text": text, "source": name}


@pytest.fixture
def bank(tmp_path: Path) -> Any:
    """The snapshot of a thread over three texts, one of which is wrong."""
    texts = [document("report.md", REPORT), document("leaflet.txt", LEAFLET), document("blog.txt", BLOG)]
    run(QUESTION, documents=texts, thread="dam", home=tmp_path, embeddings=HashEmbeddings())
    return view("dam", home=tmp_path).snapshot


def in_browser(text: str, start: int, end: int) -> str:
    """What a browser finds between two places: it counts in UTF-16 units."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


# --- what is shown -------------------------------------------------------------------------------------------------


def test_each_sentence_of_an_answer_leads_to_a_quote_and_the_quote_to_its_place(bank: Any) -> None:
    answer = bank["answer"]

    assert answer["question"] == QUESTION
    assert answer["sentences"]
    for sentence in answer["sentences"]:
        assert sentence["quotes"]
        for quote in (answer["quotes"][n] for n in sentence["quotes"]):
            assert in_browser(bank["texts"][quote["text"]]["text"], quote["start"], quote["end"]) == quote["quote"]


def test_places_behind_a_wide_character_are_those_of_a_browser() -> None:
    text = "🏔 a 🏞 b"

    assert in_browser(text, BrowserPlaces(text)(4), BrowserPlaces(text)(7)) == "🏞 b"
    assert BrowserPlaces("plain")(3) == 3


def test_a_contradiction_has_both_sides_in_their_texts_with_evidence_and_verdict(bank: Any) -> None:
    assert bank["contradictions"]
    for found in bank["contradictions"]:
        assert {claim["value"] for claim in found["claims"]} == {"92 metres", "71 metres"}
        assert found["claims"][found["winner"]]["value"] == "92 metres"
        assert (found["status"], found["outcome"]) == ("settled", "holds")
        assert {bank["texts"][one["text"]]["source"] for one in found["evidence"]} == {"report.md", "leaflet.txt"}
        for claim in found["claims"]:
            assert in_browser(bank["texts"][claim["text"]]["text"], claim["start"], claim["end"]) == claim["quote"]


def test_a_memory_that_was_merged_away_is_shown_and_says_where_its_text_is_now(bank: Any) -> None:
    away = [one for one in bank["memories"] if one["into"]]
    live = {one["id"] for one in bank["memories"] if not one["into"]}

    assert away
    assert {one["into"] for one in away} <= live
    assert {claim["memory"] for claim in bank["contradictions"][0]["claims"]} <= {one["id"] for one in bank["memories"]}


def test_the_steps_of_a_run_add_up_to_what_there_is(bank: Any) -> None:
    alive: set[str] = set()
    for step in bank["steps"]:
        alive = (alive | set(step["memories"])) - set(step["gone"])

    assert alive == {one["id"] for one in bank["memories"] if not one["into"]}
    assert [step["stage"] for step in bank["steps"]][:2] == ["adapter_in", "classify"]
    assert {id for step in bank["steps"] for id in step["texts"]} >= {
        id for id, text in bank["texts"].items() if text["kind"] == "document"
    }
    assert bank["steps"][-1]["stage"] == "adapter_out"


def test_a_sentence_that_is_no_quote_rests_on_the_quotes_with_most_of_its_words() -> None:
    quotes: Any = [
        {"text": "a", "start": 0, "end": 1, "quote": "The dam at Orlo was finished in the autumn of 1931."},
        {"text": "a", "start": 2, "end": 3, "quote": "Fish are caught below it."},
    ]

    shown = shown_answer("When?", "Orlo's dam was finished in autumn 1931. Nobody knows who paid.", "completed", quotes)

    assert [sentence["quotes"] for sentence in shown["sentences"]] == [[0], []]


def test_what_is_read_out_of_a_table_rests_on_its_row_and_each_line_on_its_own() -> None:
    rows = ("| Lift | 12 kg | 40 kg |", "| Price | 90 crowns | 210 crowns |")
    quotes: Any = [{"text": "a", "start": 0, "end": 1, "quote": row} for row in rows]
    answer = (
        "Catalogue > Cranes > Lift: small: 12 kg; large: 40 kg\nCatalogue > Cranes > Price of the large one: 210 crowns"
    )

    assert [one["quotes"] for one in shown_answer("?", answer, "completed", quotes)["sentences"]] == [[0], [1]]


def test_a_question_that_heads_an_answer_is_no_sentence_of_its_own() -> None:
    quotes: Any = [
        {"text": "a", "start": 0, "end": 1, "quote": "Yes, in three parts."},
        {"text": "a", "start": 2, "end": 3, "quote": "The first part is free of charge."},
    ]
    answer = "Questions > Can I pay in parts? > Answer: Yes, in three parts. The first part is free of charge."

    assert shown_answer("?", answer, "completed", quotes)["sentences"] == [
        {"text": "Questions > Can I pay in parts? > Answer: Yes, in three parts.", "quotes": [0]},
        {"text": "The first part is free of charge.", "quotes": [1]},
    ]


def test_of_a_user_are_shown_what_is_true_what_was_and_the_turns_it_was_said_in(tmp_path: Path) -> None:
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as memories:
        memories.remember("I live in Berlin.", user="ana", conversation_id="monday", end=True)
        memories.remember("I moved to Lisbon.", user="ana", conversation_id="tuesday", end=True)

    shown: Any = view(user="ana", home=tmp_path, embeddings=HashEmbeddings()).snapshot

    now, was = (next(one for one in shown["records"] if city in one["text"]) for city in ("Lisbon", "Berlin"))
    assert (was["replaced_by"], now["until"]) == (now["id"], None)
    assert was["until"] >= was["at"]
    (source,) = now["sources"]
    assert "Lisbon" in shown["texts"][f"tuesday/{source['turns'][0]}"]["text"]
    assert shown["recall"] is None


def test_more_memories_than_one_list_holds_are_all_shown(tmp_path: Path) -> None:
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as memories:
        for number in range(130):
            memories.store(f"Shelf {number} holds {number} boxes.", user="ana", project=f"p{number % 3}")

    shown: Any = view(user="ana", home=tmp_path, embeddings=HashEmbeddings()).snapshot

    assert len({one["id"] for one in shown["records"]}) == 130


def test_what_a_message_recalls_is_shown_with_its_score(tmp_path: Path) -> None:
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as memories:
        memories.remember("My sister Nora plays the cello.", user="ana", end=True)

    question = "Which instrument does my sister Nora play?"
    shown: Any = view(user="ana", question=question, home=tmp_path, embeddings=HashEmbeddings()).snapshot

    assert shown["recall"]["outcome"] == "used"
    assert {one["id"] for one in shown["recall"]["shown"]} <= {one["id"] for one in shown["records"]}


def test_of_a_memory_of_pages_are_shown_the_pages_and_the_rounds_of_a_research(tmp_path: Path) -> None:
    texts = [document("report.md", REPORT), document("recipe.txt", "Boil the potatoes for twenty minutes.\n")]
    memorize(texts, "valley", home=tmp_path, given=PageRunOptions(embeddings=HashEmbeddings()))

    plain: Any = view(memory="valley", home=tmp_path).snapshot
    asked: Any = view(memory="valley", question=QUESTION, home=tmp_path, embeddings=HashEmbeddings()).snapshot

    assert plain["research"] is None
    assert {one["source"] for one in plain["texts"].values()} == {"report.md", "recipe.txt"}
    found = asked["research"]
    assert found["rounds"]
    (quote, *_) = found["answer"]["quotes"]
    assert in_browser(asked["texts"][quote["text"]]["text"], quote["start"], quote["end"]) == quote["quote"]
    assert quote["text"] not in found["unused"]


@pytest.mark.parametrize("named", [{}, {"thread": "a", "user": "b"}, {"thread": "a", "question": "Why?"}])
def test_just_one_thing_is_looked_at(named: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError):
        view(**named, home=tmp_path)


def test_what_is_not_there_is_no_empty_page(tmp_path: Path) -> None:
    with pytest.raises(UnknownThreadError):
        view("nobody", home=tmp_path)
    with pytest.raises(UnknownMemoryError):
        view(memory="nothing", home=tmp_path)


# --- the file ------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """The elements of a page as a browser reads them, with their attributes, and what stands in scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.held: list[tuple[str, str]] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open in ("script", "style"):
            self.held.append((self._open, data))

    def handle_endtag(self, tag: str) -> None:
        self._open = ""


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """A page whose memory, names and question are written to break out of it."""
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as memories:
        memories.store(f"My note: {HOSTILE}", user=HOSTILE, subject=HOSTILE[:80])
    return view(user=HOSTILE, home=tmp_path, embeddings=HashEmbeddings()).html()


def test_nothing_of_a_memory_is_markup(hostile: str) -> None:
    elements = Elements(hostile)

    assert [tag for tag, _ in elements.found] == [
        *("html", "head", "meta", "meta", "meta", "meta", "meta"),
        *("title", "style", "body", "noscript", "script", "script"),
    ]
    assert not any(name.startswith("on") or name in ("src", "href") for _, held in elements.found for name in held)


def test_what_is_shown_comes_back_word_for_word_from_the_file(hostile: str) -> None:
    data = re.findall(r'<script type="application/json" id="shown">(.*?)</script>', hostile)

    (record,) = json.loads(data[0])["snapshot"]["records"]
    assert record["text"].endswith(HOSTILE)
    assert not set("<>&\u2028\u2029") & set(data[0])


def test_the_policy_lets_run_only_the_script_and_style_of_the_file(hostile: str) -> None:
    elements = Elements(hostile)
    (policy,) = (held["content"] for _, held in elements.found if held.get("http-equiv") == "Content-Security-Policy")
    said = dict(part.strip().split(" ", 1) for part in str(policy).split(";"))

    (style,) = (text for kind, text in elements.held if kind == "style")
    script = next(text for kind, text in elements.held if kind == "script" and text.startswith('"use strict"'))
    assert said["script-src"] == f"'{hashed(script)}'"
    assert said["style-src"] == f"'{hashed(style)}'"
    assert (said["default-src"], said["connect-src"], said["base-uri"], said["form-action"]) == ("'none'",) * 4
    assert said["require-trusted-types-for"] == "'script'"


def hashed(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_script_makes_text_and_no_markup_and_reaches_nothing_outside() -> None:
    folder = Path(__file__).parents[2] / "runs" / "viewer"
    scripts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.js")}

    assert set(scripts) == set(SCRIPTS)
    unsafe = re.compile(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|https?:(?!//www\.w3)"
    )
    assert {name: unsafe.findall(text) for name, text in scripts.items() if unsafe.search(text)} == {}
    assert not any("</" in text or "<!--" in text for text in scripts.values())


def test_both_languages_of_the_page_say_the_same_things() -> None:
    words = (Path(__file__).parents[2] / "runs" / "viewer" / "words.js").read_text(encoding="utf-8")
    english, chinese = (
        dict(re.findall(r'(\w+): "((?:[^"\\]|\\.)*)"', part)) for part in words.partition("\n  zh: {")[::2]
    )

    assert set(english) == set(chinese)
    assert {name for name in english if english[name].count("%s") != chinese[name].count("%s")} == set()


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing(bank: Any, tmp_path: Path) -> None:
    seen = view("dam", home=tmp_path)
    shown = seen._repr_html_()

    ((tag, held),) = Elements(shown).found
    assert (tag, held["sandbox"]) == ("iframe", "allow-scripts")
    assert str(held["srcdoc"]).startswith("<!doctype html>")
    assert repr(seen) == "<View of the bank 'dam'>", "a notebook keeps it beside the page"


def test_a_page_is_written_for_its_owner_alone(bank: Any, tmp_path: Path) -> None:
    place = view("dam", home=tmp_path).save(tmp_path / "dam.html")

    assert place.stat().st_mode & 0o777 == 0o600
    assert page(bank).split("<style>")[0] == place.read_text(encoding="utf-8").split("<style>")[0]


# --- many ----------------------------------------------------------------------------------------------------------


def test_ten_thousand_memories_are_less_than_fifteen_megabytes() -> None:
    text = "user (3 March 2026): The meeting with Marta about the northern depot is on the first Tuesday of each month."
    quote = {"conversation": "c" * 17, "turns": ["t" * 13], "quotes": [text]}
    record = {
        **{name: None for name in ("until", "replaced_by", "replaced_how")},
        **{name: [] for name in ("history", "replaces", "evidence", "contradicts")},
        **{"type": "semantic", "text": text, "subject": "user", "attribute": "meeting", "project": "", "used": 3},
        **{
            "trust": 0.9,
            "importance": 0.5,
            "at": "2026-03-03T10:00:00.000000Z",
            "updated": "2026-03-03T10:00:00.000000Z",
        },
    }
    records = [{**record, "id": f"m{number:031}", "sources": [quote]} for number in range(10_000)]
    snapshot: Any = {"kind": "user", "name": "ana", "mode": "on", "records": records, "texts": {}, "recall": None}

    assert len(page(snapshot).encode()) < 15_000_000
