"""What other programs export is taken in with its dates, once, without a model; what cannot be read is told."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agentic_memory_bank import Memories
from agentic_memory_bank.cli import options
from agentic_memory_bank.cli.app import app
from agentic_memory_bank.runs.foreign_memories import KINDS
from agentic_memory_bank.state.errors import ExportError, InputError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

MOMENT = datetime(2024, 3, 5, 10, 0, tzinfo=UTC)
ISO = "2024-03-05T10:00:00Z"
FACT = "Prefers window seats on trains."


def chatgpt(texts: list[Any], **of_the_chat: Any) -> str:
    mapping: dict[str, Any] = {"root": {"message": None, "parent": None}}
    last = "root"
    for number, text in enumerate(texts):
        role = "assistant" if number % 2 else "user"
        message = {
            "author": {"role": role},
            "create_time": MOMENT.timestamp() + number,
            "content": {"content_type": "text", "parts": [text]},
        }
        mapping[f"n{number}"] = {"message": message, "parent": last}
        last = f"n{number}"
    return json.dumps([{"id": "trip", "title": "Trip", "mapping": mapping, "current_node": last, **of_the_chat}])


def claude(texts: list[Any]) -> str:
    messages = [
        {"sender": "assistant" if n % 2 else "human", "text": text, "created_at": ISO} for n, text in enumerate(texts)
    ]
    return json.dumps([{"uuid": "u1", "name": "Trip", "chat_messages": messages}])


FILES = {
    "chatgpt": chatgpt([FACT, "I have noted that you like the window."]),
    "claude": claude([FACT, "I have noted that you like the window."]),
    "mem0": json.dumps({"results": [{"id": "1", "memory": FACT, "created_at": ISO, "metadata": {"a": 1}}]}),
    "langmem": json.dumps(
        [
            {
                "namespace": ["ana"],
                "key": "k",
                "value": {"kind": "Memory", "content": {"content": FACT}},
                "created_at": ISO,
            }
        ]
    ),
    "letta": json.dumps({"agents": [{"name": "a"}], "passages": [{"text": FACT, "created_at": ISO}]}),
    "zep": json.dumps({"facts": [{"fact": FACT, "created_at": ISO}, {"fact": "Lives in Oslo.", "invalid_at": ISO}]}),
    "gam": json.dumps([{"header": "Trains", "content": FACT, "meta": {"timestamp": ISO}}]),
    "markdown": f"# Ana\n\n- 2024-03-05: {FACT}\n",
    "jsonl": json.dumps({"text": FACT, "date": "2024-03-05"}) + "\n",
}


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(embeddings=HashEmbeddings()) as opened:
        yield opened


def kept(memories: Memories) -> list[Any]:
    return list(memories.list(user="ana", project=None, limit=100, replaced=True).records)


def test_there_is_a_file_of_every_program() -> None:
    assert FILES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", sorted(FILES))
def test_a_memory_is_taken_in_with_its_date_and_found(memories: Memories, kind: str) -> None:
    memories.import_from(kind, FILES[kind], user="ana")

    found = next(record for record in kept(memories) if FACT in record["text"])
    assert found["created_at"].startswith("2024-03-05")
    hit = memories.search("Which seats on trains: window?", user="ana", limit=1)[0]
    assert FACT in hit.record["text"]


@pytest.mark.parametrize("kind", sorted(FILES))
def test_what_is_imported_twice_is_there_once(memories: Memories, kind: str) -> None:
    memories.import_from(kind, FILES[kind], user="ana")
    before = kept(memories)

    again = memories.import_from(kind, FILES[kind], user="ana")

    assert again["stored"] == []
    assert again["known"] == len(before) > 0
    assert kept(memories) == before


@pytest.mark.parametrize("kind", sorted(FILES))
def test_what_was_forgotten_does_not_come_back(memories: Memories, kind: str) -> None:
    memories.import_from(kind, FILES[kind], user="ana")
    memories.delete([record["id"] for record in kept(memories)], user="ana")

    assert memories.import_from(kind, FILES[kind], user="ana")["stored"] == []
    assert kept(memories) == []


def test_old_memories_are_not_pruned_as_long_unused(memories: Memories) -> None:
    memories.import_from("chatgpt", FILES["chatgpt"], user="ana")

    assert memories.maintain()["pruned"] == 0
    assert len(kept(memories)) == 2


def test_an_import_takes_the_place_of_nothing_that_is_here() -> None:
    with Memories(embeddings=HashEmbeddings(), settings={"memory_quota": 3}) as memories:
        own = memories.store("I live in Lisbon.", user="ana")
        three = json.dumps([f"The gauge read {n}." for n in range(3)])

        with pytest.raises(InputError, match="MEMORY_QUOTA"):
            memories.import_from("mem0", three, user="ana")

        assert [record["id"] for record in kept(memories)] == [own["id"]]


def test_the_abstracts_of_gam_are_memories(memories: Memories) -> None:
    report = memories.import_from("gam", json.dumps({"abstracts": [FACT, "Lives in Oslo.", 7]}), user="ana")

    assert {record["text"] for record in kept(memories)} == {FACT, "Lives in Oslo."}
    assert [one["why"] for one in report["left_out"]] == ["it is no memory"]


def test_turns_keep_who_said_them_and_in_which_conversation(memories: Memories) -> None:
    memories.import_from("chatgpt", FILES["chatgpt"], user="ana", project="travel")

    theirs, own = sorted(kept(memories), key=lambda record: record["text"])
    assert theirs["text"] == "assistant (5 March 2024): I have noted that you like the window."
    assert own["text"] == f"user (5 March 2024): {FACT}"
    assert own["sources"][0]["conversation"] == "trip"
    assert own["project"] == "travel"
    told = memories.transcript("trip", user="ana", project="travel")
    assert [message.type for message in told] == ["human", "ai"]


def test_what_no_longer_holds_and_what_is_no_memory_is_told(memories: Memories) -> None:
    report = memories.import_from("zep", FILES["zep"], user="ana")

    assert [one["why"] for one in report["left_out"]] == ["it no longer holds"]


def test_credentials_are_left_out_of_what_is_imported(memories: Memories) -> None:
    secret = "My password is hunter2-Kolibri."
    memories.import_from("mem0", json.dumps([secret, FACT]), user="ana")
    memories.import_from("claude", claude([secret]), user="ana")

    assert not any("Kolibri" in json.dumps(record) for record in kept(memories))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("chatgpt", "[" * 200_000),
        ("chatgpt", '{"conversations": 3}'),
        ("claude", '[{"chat_messages"'),
        ("mem0", '{"results": {"a": 1}}'),
        ("langmem", "3"),
        ("letta", "nothing"),
        ("nobody", "[]"),
    ],
)
def test_a_file_of_another_form_is_refused_and_nothing_taken_in(memories: Memories, kind: str, text: str) -> None:
    with pytest.raises(ExportError):
        memories.import_from(kind, text, user="ana")

    assert kept(memories) == []


HOSTILE: list[Any] = [
    None,
    3,
    [],
    {},
    {"memory": 7},
    {"memory": ""},
    {"memory": "x" * 2_000_000},
    {"memory": "In the year 0.", "created_at": "0000-00-00T00:00:00Z"},
    {"memory": "At an endless time.", "created_at": 1e999},
    {"memory": "At a list.", "created_at": [1]},
    {"memory": "Tomorrow and more.", "created_at": "9999-12-31"},
    {"memory": "<script>alert(1)</script> says hello", "created_at": ISO, "id": {"a": 1}},
    {"memory": "A \x00 byte and \ud800 half a character."},
    {"memory": FACT, "created_at": ISO},
]


def test_hostile_items_are_told_or_kept_as_plain_text_and_the_rest_is_taken_in(memories: Memories) -> None:
    report = memories.import_from("mem0", json.dumps({"results": HOSTILE}), user="ana")

    texts = [record["text"] for record in kept(memories)]
    assert FACT in texts
    assert "<script>alert(1)</script> says hello" in texts
    assert len(texts) == len(report["stored"]) == 7
    now = datetime.now(UTC).isoformat()
    assert all("2024" <= record["created_at"] <= now for record in kept(memories))
    assert report["left_out_count"] == 10


@pytest.mark.parametrize("kind", ["mem0", "markdown"])
def test_a_memory_of_megabytes_is_left_out_before_anything_reads_it(memories: Memories, kind: str) -> None:
    begun = time.thread_time()
    report = memories.import_from(kind, json.dumps([{"memory": "x" * 3_000_000}]), user="ana")

    assert "Store it in parts" in report["left_out"][0]["why"]
    assert time.thread_time() - begun < 1


@pytest.mark.parametrize("given", [None, 5, b"[]", Path("file.json"), ["a"]])
def test_what_is_no_text_is_refused_in_words(memories: Memories, given: Any) -> None:
    with pytest.raises(ExportError, match="as text"):
        memories.import_from("mem0", given, user="ana")


def test_a_file_that_windows_wrote_is_read(memories: Memories) -> None:
    report = memories.import_from("mem0", "\ufeff" + json.dumps([{"memory": FACT}]), user="ana")

    assert len(report["stored"]) == 1


def test_a_conversation_that_runs_in_a_circle_ends(memories: Memories) -> None:
    chat = json.loads(chatgpt([FACT, "Noted, the window it is."]))
    chat[0]["mapping"]["n0"]["parent"] = "n1"
    chat += [{"mapping": {"a": 3, "b": {"message": {"author": 1, "content": 2}, "parent": ["a"]}}}, 7]

    report = memories.import_from("chatgpt", json.dumps(chat), user="ana")

    assert len(report["stored"]) == 2
    assert report["left_out_count"] == 1


def test_thousands_are_taken_in_without_waiting_for_vectors_and_told_in_few_words(memories: Memories) -> None:
    many = "\n".join(json.dumps({"text": f"On day {n} the gauge read {n * 7}.", "date": ISO}) for n in range(2_000))

    report = memories.import_from("jsonl", f"{many}\n" + "no json\n" * 1_500, user="ana")

    assert len(report["stored"]) == 2_000
    assert (len(report["left_out"]), report["left_out_count"]) == (1_000, 1_500)
    assert not report["is_embedded"]
    assert (
        memories.search("What did the gauge read on day 1234?", user="ana", limit=1)[0].record["text"].find("1234") > 0
    )


# --- the commands ------------------------------------------------------------------------------------------------


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(options, "parts_from", lambda settings: {"embeddings": HashEmbeddings()})
    return lambda *given: CliRunner().invoke(app, [*given, "--user", "ana"])


def test_the_commands_take_in_and_hand_out(command: Any, tmp_path: Path) -> None:
    (tmp_path / "mem0.json").write_text(FILES["mem0"])

    done = command("import-memories", str(tmp_path / "mem0.json"), "--from", "mem0")
    command("export-memories", str(tmp_path / "out.json"), "--to", "mem0")
    command("export-memories", str(tmp_path / "out.md"), "--to", "markdown")
    unknown = command("import-memories", str(tmp_path / "mem0.json"), "--from", "elsewhere")

    assert "Imported 1 memory" in done.output
    (handed,) = json.loads((tmp_path / "out.json").read_text())["results"]
    assert (handed["memory"], handed["created_at"][:10]) == (FACT, "2024-03-05")
    assert (tmp_path / "out.md").read_text() == f"- 2024-03-05: {FACT}\n"
    assert unknown.exit_code == 2


def test_what_was_handed_out_as_markdown_is_taken_in_elsewhere(memories: Memories) -> None:
    from agentic_memory_bank.runs.memory_files import as_markdown, as_mem0

    memories.import_from("mem0", FILES["mem0"], user="ana")
    documents = memories.documents(user="ana")

    for kind, text in (("markdown", as_markdown(documents)), ("mem0", as_mem0(documents))):
        assert len(memories.import_from(kind, text, user=kind)["stored"]) == 1
        (record,) = memories.list(user=kind).records
        assert (record["text"], record["created_at"][:10]) == (FACT, "2024-03-05")
