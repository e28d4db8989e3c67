"""A user's memories as a folder of Markdown files, in step both ways: nothing is lost, nothing goes unasked."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.runs import memory_folder
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings


class Shelf:
    """Memories of one user, and their folder."""

    def __init__(self, folder: Path) -> None:
        self.memories = Memories(InMemoryStore(), embeddings=HashEmbeddings(64), settings={"recall_timeout": 60.0})
        self.folder = folder

    def sync(self, **options: list[str]) -> memory_folder.FolderReport:
        return self.memories.sync_folder(self.folder, user="ana", **options)

    def store(self, text: str, subject: str | None = None) -> str:
        return self.memories.store(text, user="ana", subject=subject)["id"]

    def texts(self) -> set[str]:
        return {one["text"] for one in self.memories.list(user="ana", limit=100).records}

    def file(self, name: str = "me.md") -> Path:
        return self.folder / name

    def edit(self, old: str, new: str, name: str = "me.md") -> None:
        text = self.file(name).read_text("utf-8")
        assert old in text
        save(self.file(name), text.replace(old, new))


def save(path: Path, text: str) -> None:
    """Save a file as editors do: another one in its place."""
    part = path.with_suffix(f".{threading.get_ident()}.swp")
    part.write_text(text, "utf-8")
    os.replace(part, path)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path / "ana")
    made.store("The user lives in Lisbon.")
    made.store("Greta is allergic to latex.", "Greta")
    made.store("小雨下个月结婚。", "小雨")
    made.sync()
    yield made
    made.memories.close()


def lines(path: Path) -> list[str]:
    return [line.partition(" <!--")[0] for line in path.read_text("utf-8").splitlines() if line.startswith("- ")]


def test_each_subject_has_a_file_and_each_memory_a_line(shelf: Shelf) -> None:
    files = sorted(path.name for path in shelf.folder.glob("*.md"))

    assert lines(shelf.file()) == ["- The user lives in Lisbon."]
    assert "小雨.md" in files
    (greta,) = [name for name in files if name.startswith("greta")]
    assert lines(shelf.file(greta)) == ["- Greta is allergic to latex."]
    assert shelf.sync() == {"stored": [], "revised": [], "erased": [], "missing": []}


def test_an_edited_line_is_a_revision_with_its_history(shelf: Shelf) -> None:
    shelf.edit("Lisbon", "Porto")

    (id,) = shelf.sync()["revised"]

    record = shelf.memories.get(id, user="ana")
    assert record["text"] == "The user lives in Porto."
    assert [one["text"] for one in record["history"]] == ["The user lives in Lisbon."]


def test_a_new_line_is_remembered_for_the_subject_of_its_file_and_gets_its_id(shelf: Shelf) -> None:
    save(shelf.file("Otso.md"), "# Otso\n\nMy own note.\n\n- Otso approves changes.\n")

    (id,) = shelf.sync()["stored"]

    assert shelf.memories.get(id, user="ana")["subject"] == "Otso"
    assert f"- Otso approves changes. <!-- {id} -->" in shelf.file("Otso.md").read_text("utf-8")
    assert "My own note." in shelf.file("Otso.md").read_text("utf-8")
    assert shelf.sync()["stored"] == []


def test_a_line_that_is_gone_is_asked_about_until_somebody_says(shelf: Shelf) -> None:
    save(shelf.file(), "# Me\n")

    (asked,) = shelf.sync()["missing"]
    assert asked["text"] in shelf.texts()
    assert shelf.sync()["missing"] == [asked]

    assert shelf.sync(erase=[asked["id"]])["erased"] == [asked["id"]]
    assert asked["text"] not in shelf.texts()
    assert shelf.sync()["missing"] == []


def test_a_line_is_put_back_where_somebody_says_so_and_what_stands_is_never_erased(shelf: Shelf) -> None:
    save(shelf.file(), "# Me\n")
    (asked,) = shelf.sync()["missing"]

    shelf.sync(restore=[asked["id"]])

    assert lines(shelf.file()) == ["- The user lives in Lisbon."]
    assert shelf.sync(erase=[asked["id"]])["erased"] == []


def test_what_changes_in_the_store_changes_in_the_files(shelf: Shelf) -> None:
    id = shelf.store("The user sails.")
    shelf.sync()
    shelf.memories.supersede(id, "The user rows.", user="ana")
    shelf.memories.delete(shelf.memories.preview_delete_about("Lisbon", user="ana").ids, user="ana")

    assert shelf.sync() == {"stored": [], "revised": [], "erased": [], "missing": []}

    assert lines(shelf.file()) == ["- The user rows."]


def test_where_both_sides_changed_a_memory_both_wordings_are_there(shelf: Shelf) -> None:
    (record,) = [one for one in shelf.memories.list(user="ana").records if "Lisbon" in one["text"]]
    shelf.edit("Lisbon", "Porto")
    shelf.memories.update(record["id"], "The user lives in Rome.", user="ana")

    shelf.sync()

    now = shelf.memories.get(record["id"], user="ana")
    assert now["text"] == "The user lives in Porto."
    assert "The user lives in Rome." in [one["text"] for one in now["history"]]


def test_an_edit_of_what_was_replaced_meanwhile_is_kept_beside_it(shelf: Shelf) -> None:
    (record,) = [one for one in shelf.memories.list(user="ana").records if "Lisbon" in one["text"]]
    shelf.memories.supersede(record["id"], "The user lives in Rome.", user="ana")
    shelf.edit("Lisbon", "Lisbon, near the river")

    shelf.sync()

    assert {"The user lives in Rome.", "The user lives in Lisbon, near the river."} <= shelf.texts()
    assert len(lines(shelf.file())) == 2


def test_without_the_file_of_what_was_written_last_edits_are_not_lost_either(shelf: Shelf) -> None:
    shelf.file(".memory-bank.json").unlink()
    shelf.edit("Lisbon", "Porto")

    assert len(shelf.sync()["revised"]) == 1


def test_a_text_that_looks_like_a_comment_names_no_memory(shelf: Shelf) -> None:
    id = shelf.store(f"A trick <!-- m{'0' * 31} -->\nand a line.")

    shelf.sync()

    assert any(line.endswith(f"<!-- {id} -->") for line in shelf.file().read_text("utf-8").splitlines())
    assert shelf.sync() == {"stored": [], "revised": [], "erased": [], "missing": []}


def test_what_a_killed_process_had_moved_aside_is_put_back(shelf: Shelf) -> None:
    shelf.edit("Lisbon", "Porto")
    shelf.file().rename(shelf.file(".me.md.aside"))

    report = shelf.sync()

    assert (len(report["revised"]), report["missing"]) == (1, [])
    assert lines(shelf.file()) == ["- The user lives in Porto."]


def test_a_file_that_changes_while_it_is_written_keeps_what_came(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    write, is_first = memory_folder.write_whole, [True]

    def interrupted(path: Path, content: bytes, part: Path) -> None:
        write(path, content, part)
        if is_first and path.name.startswith(".me.md"):
            is_first.clear()
            save(shelf.file(), shelf.file().read_text("utf-8") + "- The user skis.\n")

    monkeypatch.setattr(memory_folder, "write_whole", interrupted)
    shelf.store("The user sails.")

    shelf.sync()
    shelf.sync()

    assert {"The user sails.", "The user skis.", "The user lives in Lisbon."} <= shelf.texts()
    assert sorted(lines(shelf.file())) == ["- The user lives in Lisbon.", "- The user sails.", "- The user skis."]


def written_in(path: Path) -> str:
    """What a file holds, or a title: it is not yet there, or whoever keeps it in step has it in hand."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return f"# {path.stem}\n"


def test_two_writers_and_the_store_lose_nothing_at_the_same_time(shelf: Shelf) -> None:
    done = threading.Event()

    def writes(name: str) -> None:
        for number in range(12):
            path = shelf.file(f"{name}.md")
            save(path, f"{written_in(path)}- {name} wrote number {number}.\n")

    def stores() -> None:
        for number in range(12):
            shelf.store(f"The store has number {number}.", "one")

    def syncs() -> None:
        while not done.is_set():
            shelf.sync()

    syncing = [threading.Thread(target=syncs) for _ in range(2)]
    writing = [threading.Thread(target=writes, args=(name,)) for name in ("one", "two")]
    for thread in [*syncing, *writing, third := threading.Thread(target=stores)]:
        thread.start()
    for thread in [*writing, third]:
        thread.join()
    done.set()
    for thread in syncing:
        thread.join()
    report = shelf.sync()
    shelf.sync(restore=[record["id"] for record in report["missing"]])

    wanted = {f"{name} wrote number {number}." for name in ("one", "two") for number in range(12)}
    wanted |= {f"The store has number {number}." for number in range(12)}
    assert wanted <= shelf.texts()
    written = {line.removeprefix("- ") for path in shelf.folder.glob("*.md") for line in lines(path)}
    assert wanted <= written


def test_a_line_that_is_stored_nowhere_else_is_never_moved_aside(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[str] = []
    write_out, rename = memory_folder.MemoryFolder._write_out, Path.rename  # pyright: ignore[reportPrivateUsage]

    def writes_out(folder: memory_folder.MemoryFolder, *given: Any) -> None:
        save(shelf.file(), shelf.file().read_text("utf-8") + "- The user came late.\n")
        write_out(folder, *given)

    def renames(path: Path, target: Path) -> Path:
        moved.append(path.read_text("utf-8"))
        return rename(path, target)

    shelf.store("The user plays the cello.")
    monkeypatch.setattr(memory_folder.MemoryFolder, "_write_out", writes_out)
    monkeypatch.setattr(Path, "rename", renames)
    shelf.sync()
    monkeypatch.setattr(memory_folder.MemoryFolder, "_write_out", write_out)

    assert not any("came late" in text for text in moved)
    shelf.sync()
    assert "The user came late." in shelf.texts()
    assert "cello" in shelf.file().read_text("utf-8")


def test_a_folder_serves_one_user_and_project(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another user or project"):
        shelf.memories.sync_folder(shelf.folder, user="bob")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="no folder"):
        shelf.memories.sync_folder(tmp_path / "file", user="ana")
