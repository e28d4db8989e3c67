"""What is taken as an attachment, where its bytes go, and who can read them back."""

import base64
import io
import json
import os
import stat
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import docx
import pytest

from agentic_memory_bank.state.errors import (
    InputError,
    InputTooLarge,
    LoadError,
    StorageDamagedError,
    StorageError,
    StorageFullError,
)
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.documents import attached_files
from agentic_memory_bank.tools.documents.attached_files import (
    checked_attachments,
    file_of,
    files_in,
    label,
    portable,
    read_file,
)
from agentic_memory_bank.tools.documents.attachments import SHOWN_BYTES, AttachmentStore, AttachmentStores, content
from agentic_memory_bank.tools.search.deep_retrieval import deep_retrieval, deep_retrieve

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(60))
MOST = 1_000_000


def given(data: bytes = PNG, name: object = "chart.png") -> dict[str, Any]:
    return {"name": name, "data": base64.b64encode(data).decode()}


def word(text: str) -> bytes:
    document, out = docx.Document(), io.BytesIO()
    document.add_paragraph(text)
    document.save(out)
    return out.getvalue()


# --- at the door -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "kind", "media"),
    [
        ("a.png", PNG, "image", "image/png"),
        ("a.txt", b"\xff\xd8\xff\xe0" + b"j" * 20, "image", "image/jpeg"),
        ("a.gif", b"GIF89a" + b"g" * 20, "image", "image/gif"),
        ("a.webp", b"RIFF\x10\0\0\0WEBPVP8 ", "image", "image/webp"),
        ("a.pdf", b"%PDF-1.7\n...", "document", "application/pdf"),
        ("a", word("Hello."), "document", attached_files.DOCX),
        ("a.html", b"<p>Hello.</p>", "document", "text/html"),
        ("a", b"  <!DOCTYPE html><p>Hello.</p>", "document", "text/html"),
        ("a.md", b"# Hello", "document", "text/plain"),
        ("a.csv", "Jahr;Größe".encode("cp1252"), "document", "text/plain"),
        ("A.PY", b"def f(): ...", "code", "text/plain"),
        ("a.sql", b"SELECT 1", "code", "text/plain"),
    ],
)
def test_the_kind_of_a_file_is_told_by_its_bytes(name: str, data: bytes, kind: str, media: str) -> None:
    file = file_of(name, data, MOST)

    assert (file.kind, file.type) == (kind, media)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"name": "a.png", "data": "not base64!"}, "not base64"),
        ({"name": "a.txt", "data": "SGVsbG8!gd29ybGQ="}, "not base64"),
        ({"name": "a.png", "data": "data:image/png;base64,AAAA"}, "without a prefix"),
        ({"name": "a.png", "data": ""}, "no data"),
        ({"name": "a.png", "data": None}, "no data"),
        ({"name": "a.png", "data": PNG}, "no data"),
        ({"name": "a.txt", "data": "IAo="}, "is empty"),
        ({"data": "AAAA"}, "no name"),
        ({"name": "", "data": "AAAA"}, "no name"),
        ({"name": "../..", "data": "AAAA"}, "no name"),
        ({"name": 7, "data": "AAAA"}, "no name"),
        (given(b"MZ\0\0\0\1\2\3" * 20, "a.exe"), "binary"),
        (given(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 90, "a.doc"), "binary"),
        ("a.png", "is of type str"),
    ],
)
def test_what_is_no_attachment_is_refused_with_what_to_do(item: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        checked_attachments([given(), item], Settings())


def test_attachments_that_are_too_large_or_too_many_are_refused_before_they_are_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(max_attachment_bytes=100)

    assert checked_attachments([given(PNG + b"x" * (100 - len(PNG)))], settings)
    with pytest.raises(InputTooLarge, match="MAX_ATTACHMENT_BYTES"):
        checked_attachments([given(PNG + b"x" * (101 - len(PNG)))], settings)
    monkeypatch.setattr(attached_files.base64, "b64decode", None)
    with pytest.raises(InputTooLarge):
        checked_attachments([given(b"x" * 10_000)], settings)
    with pytest.raises(InputError, match="more than the 32"):
        checked_attachments([given()] * 33, settings)


@pytest.mark.parametrize("wrong", [{"name": "a.png"}, "a.png", 7, b"x"])
def test_attachments_that_are_no_list_are_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="no list"):
        checked_attachments(wrong, Settings())


def test_the_same_bytes_are_one_attachment_and_line_ends_in_base64_are_nothing() -> None:
    wrapped = {"name": "again.png", "data": base64.encodebytes(PNG).decode()}

    (file,) = checked_attachments([given(), wrapped], Settings())

    assert (file.name, file.data) == ("chart.png", PNG)


# --- names are labels --------------------------------------------------------------------------------------------

OUTSIDE = (
    "etc/passwd",
    "proc/self/environ",
    "C:\\Windows\\win.ini",
    "~/.ssh/id_rsa",
    "loop/loop/x",
    "dev/zero",
    "a.png",
)
BEFORE = ("", "/", "../", "../../../", "..\\..\\", "\\\\?\\", "\\\\host\\share\\", "./", "%2e%2e/", "..%2f", "....//")
BEFORE += ("file:///", "\0/", "..\0/", "\u202e/", "．．/", "∕", "‥/", "//", "/proc/self/root/", "{store}/../")
AFTER = ("", "\0.png", " ", "...", "::$DATA")
SINGLE = ("CON", "nul.txt", "COM1", "a" * 300, "-rf", "\ud800.png", "a\nb", "\x1b[2J", "$(id)", "`id`", "名.png", "|x")
FORMS = [f"{a}{b}{c}" for a, b, c in product(BEFORE, OUTSIDE, AFTER)][::3] + list(SINGLE)


class Opened:
    """Sees every path that any code opens, renames or removes while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self.paths: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        names = arguments[:2] if event in ("os.rename", "os.link", "os.symlink") else arguments[:1]
        if self.is_on and event in ("open", "os.rename", "os.remove", "os.link", "os.symlink"):
            self.paths += [os.path.realpath(os.fsdecode(name)) for name in names if not isinstance(name, int)]


OPENED = Opened()
sys.addaudithook(OPENED)  # Python has no way to take one off again


@pytest.fixture
def opened() -> Iterator[list[str]]:
    OPENED.paths = []
    yield OPENED.paths
    OPENED.is_on = False


def test_two_hundred_path_forms_in_names_open_nothing_outside_the_store(tmp_path: Path, opened: list[str]) -> None:
    assert len(FORMS) >= 200
    folder = tmp_path / "store"
    store = AttachmentStore(folder)
    store.stage(b"warm")
    OPENED.is_on = True
    for number, form in enumerate(FORMS):
        name = form.replace("{store}", str(folder))
        if label(name):
            (file,) = checked_attachments([given(f"Text {number}.".encode(), name)], Settings())
            store.keep(store.stage(file.data))
            content(store, file.attachment())
        for path in (name, f"held/{name}", name[:64].ljust(64, "a")):
            content(store, {"id": name, "name": name, "kind": "image", "path": path})
    OPENED.is_on = False

    assert [path for path in opened if not Path(path).is_relative_to(folder)] == []
    assert len(opened) > len(FORMS)


def test_a_name_becomes_a_label_without_directories_or_characters_that_cannot_be_seen() -> None:
    labels = [label(form) for form in FORMS]

    assert not set("".join(labels)) & set("/\\\0\n\x1b\u202e")
    assert not {".", "..", "..."} & set(labels)
    assert max(map(len, labels)) == 255
    assert "win.ini" in labels


# --- the store ---------------------------------------------------------------------------------------------------


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> AttachmentStore:
    return AttachmentStore(tmp_path / "store" if request.param == "folder" else None)


def test_what_is_held_is_kept_or_released(store: AttachmentStore) -> None:
    kept, released = store.stage(PNG), store.stage(b"other")
    assert sorted(store.held()) == sorted([kept, released])
    assert store.kept() == []

    store.keep(kept)
    store.keep(kept)
    store.release()
    store.release()

    assert (store.held(), store.kept()) == ([], [kept])
    assert store.read(kept) == PNG
    with pytest.raises(StorageError, match="Hand it over again"):
        store.read(released)
    with pytest.raises(StorageError, match="Hand it over again"):
        store.keep(released)


def test_what_is_kept_and_handed_over_again_is_kept_once(store: AttachmentStore) -> None:
    for _ in range(2):
        store.keep(store.stage(PNG))
    store.stage(PNG)
    store.release()

    assert len(store.kept()) == 1
    assert store.read(store.kept()[0]) == PNG


def test_what_no_entry_names_is_dropped(store: AttachmentStore) -> None:
    first, second = store.stage(b"first"), store.stage(b"second")
    store.keep(first)
    store.keep(second)

    store.delete_unnamed({second})

    assert store.kept() == [second]


def test_text_is_read_from_documents_and_code(store: AttachmentStore) -> None:
    found = [store.text(name, store.stage(data)) for name, data in (("a.docx", word("Hello.")), ("a.py", b"x = 1\n"))]

    assert found == ["Hello.", "x = 1\n"]
    with pytest.raises(LoadError, match=r"broken\.pdf"):
        store.text("broken.pdf", store.stage(b"%PDF-1.7\nbroken"))


def test_files_on_disk_are_for_their_owner_alone_and_named_by_their_content(tmp_path: Path) -> None:
    store = AttachmentStores(tmp_path / "attachments").of("../thread")
    kept, held = store.stage(PNG), store.stage(b"other")
    store.keep(kept)

    files = {path.name: path for path in (tmp_path / "attachments").rglob("*")}

    assert {name for name, path in files.items() if path.is_file()} == {kept, held}
    assert {stat.S_IMODE(p.stat().st_mode) for p in files.values() if p.is_file()} == {0o600}
    assert {stat.S_IMODE(p.stat().st_mode) for p in files.values() if p.is_dir()} == {0o700}


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "", ".", "A" * 64, "a" * 63, "a" * 64 + "\n"])
def test_a_path_that_is_no_sha256_leads_nowhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    store = AttachmentStore(tmp_path / "store")
    store.stage(PNG)

    with pytest.raises(StorageError, match="not there"):
        store.read(name)
    with pytest.raises(StorageError):
        store.keep(name)


def test_a_link_or_pipe_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    store = AttachmentStore(tmp_path)
    sha256 = store.stage(PNG)
    file = tmp_path / "held" / sha256
    file.rename(tmp_path / "elsewhere")

    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError):
        store.read(sha256)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(StorageError):
        store.read(sha256)


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    store = AttachmentStore(tmp_path)
    sha256 = store.stage(PNG)
    (tmp_path / "held" / sha256).write_bytes(PNG[:-1] + b"!")

    with pytest.raises(StorageDamagedError, match="damaged"):
        store.read(sha256)


def test_a_full_disk_is_a_typed_error_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    store = AttachmentStore(tmp_path)
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(StorageFullError, match="Free some space"):
            store.stage(PNG)

    assert store.held() == []
    store.release()
    assert list((tmp_path / "held").iterdir()) == []
    assert store.read(store.stage(PNG)) == PNG


def test_what_is_released_is_overwritten(tmp_path: Path) -> None:
    store = AttachmentStore(tmp_path)
    other = tmp_path / "same file"
    os.link(tmp_path / "held" / store.stage(PNG), other)

    store.release()

    assert other.read_bytes() == bytes(len(PNG))


def test_threads_do_not_see_each_others_files(tmp_path: Path) -> None:
    for pool in (AttachmentStores(tmp_path), AttachmentStores()):
        sha256 = pool.of("one").stage(PNG)
        pool.of("two").release()

        assert pool.of("one").held() == [sha256]
        with pytest.raises(StorageError):
            pool.of("two").read(sha256)


def test_in_memory_idle_threads_make_room_and_those_that_hold_something_do_not() -> None:
    pool = AttachmentStores(size=2)
    held = pool.of("holds").stage(PNG)
    kept = pool.of("idle").stage(PNG)
    pool.of("idle").keep(kept)

    for name in "abc":
        pool.of(name)

    assert pool.of("holds").read(held) == PNG
    assert pool.of("idle").kept() == []


# --- files of the user -------------------------------------------------------------------------------------------


def test_only_regular_files_within_the_limit_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    assert read_file(tmp_path / "a.png", 1_000) == PNG
    for wrong in (tmp_path, tmp_path / "pipe", "/dev/zero", tmp_path / "loop", tmp_path / "missing", "a\0b"):
        with pytest.raises(LoadError):
            read_file(wrong, 1_000)
    with pytest.raises(InputTooLarge):
        read_file(tmp_path / "a.png", 10)


# --- files of tools ----------------------------------------------------------------------------------------------


def test_an_artifact_with_bytes_travels_as_json_and_comes_back_as_a_file() -> None:
    artifact = {"name": "../chart.png", "data": PNG, "type": "image/png", "source": "https://a.example"}

    travelled = json.loads(json.dumps(portable([artifact])))

    assert [(f.name, f.kind, f.data) for f in files_in(travelled, MOST)] == [("chart.png", "image", PNG)]
    assert files_in(artifact, MOST) == files_in(travelled, MOST)
    assert portable("anything") == "anything"


@pytest.mark.parametrize("artifact", [None, "text", {}, {"name": "a"}, {"name": "a", "data": 3}, [[]], {"data": PNG}])
def test_an_artifact_that_is_no_file_is_none(artifact: object) -> None:
    assert files_in(artifact, MOST) == []


def test_a_file_of_a_tool_that_cannot_be_taken_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    assert files_in([{"name": "a.exe", "data": b"MZ\0\0" * 9}, {"name": "b.png", "data": PNG}], 30) == []
    assert "left out" in caplog.text


# --- deep retrieval ----------------------------------------------------------------------------------------------


def remembered(store: AttachmentStore, *files: tuple[str, bytes], recognized: bool = False) -> tuple[Any, Any]:
    """A memory with an entry for each file."""
    entries: dict[str, Any] = {}
    for number, (name, data) in enumerate(files, 1):
        file = file_of(name, data, MOST)
        store.keep(store.stage(data))
        entries[f"e{number}"] = {
            "id": f"e{number}",
            "kind": "document",
            "text": f"Entry {number}.",
            "created_at": f"2026-01-0{number}",
            "source": name,
            "metadata": {"recognized": recognized},
            "tool_calls": [],
            "attachments": [file.attachment()],
        }
    anchors = [{"entry": name, "start": 0, "end": 8} for name in entries]
    return {"nodes": {"n1": {"id": "n1", "anchors": anchors}}}, {"entries": entries}


def test_deep_retrieval_shows_pictures_in_base64_documents_as_text_and_code_as_it_stands(
    store: AttachmentStore,
) -> None:
    graph, tree = remembered(store, ("a.png", PNG), ("b.docx", word("Hello.")), ("c.py", b"x = 1\n"))

    found = deep_retrieve(graph, tree, "n1", read=lambda attachment: content(store, attachment))

    (picture,), (document,), (code,) = (entry["attachments"] for entry in found)
    assert (base64.b64decode(picture["content"]), picture["type"]) == (PNG, "image/png")
    assert document["content"] == "Hello."
    assert code["content"] == "x = 1\n"
    assert [a["kind"] for a in (picture, document, code)] == ["image", "document", "code"]


def test_deep_retrieval_narrows_to_one_attachment_and_says_which_there_are(store: AttachmentStore) -> None:
    graph, tree = remembered(store, ("a.png", PNG), ("c.py", b"x = 1\n"))
    tool = deep_retrieval(graph, tree, lambda attachment: content(store, attachment))
    code = tree["entries"]["e2"]["attachments"][0]["id"]
    tree["entries"]["e2"]["attachments"].append(file_of("more.py", b"y = 2", MOST).attachment())

    found = json.loads(tool.invoke({"node_id": "n1", "attachment_id": code}))
    said = tool.invoke({"node_id": "n1", "attachment_id": "../../etc/passwd"})

    assert [(e["id"], [a["id"] for a in e["attachments"]]) for e in found] == [("e2", [code])]
    assert said.startswith("The memory 'n1' has no attachment '../../etc/passwd'. Its attachments: a")


def test_a_picture_that_is_too_large_or_a_file_that_is_gone_is_said_in_words(store: AttachmentStore) -> None:
    large = PNG + b"x" * SHOWN_BYTES
    graph, tree = remembered(store, ("a.png", large), ("b.png", PNG))
    store.delete_unnamed({file_of("a.png", large, MOST).sha256})

    found = deep_retrieve(graph, tree, "n1", read=lambda attachment: content(store, attachment))

    (first,), (second,) = (entry["attachments"] for entry in found)
    assert "at most 48,000" in first["note"]
    assert "content" not in first
    assert "not there any more" in second["note"]


def test_the_text_of_what_was_recognised_is_not_parsed_again(store: AttachmentStore) -> None:
    graph, tree = remembered(store, ("b.docx", word("Hello.")), recognized=True)

    (entry,) = deep_retrieve(graph, tree, "n1", read=lambda attachment: {"content": "parsed again"})

    assert entry["attachments"][0]["content"] == "Entry 1."
