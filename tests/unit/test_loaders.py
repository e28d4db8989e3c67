"""Documents in: every type of file, every encoding, and everything that must be refused without harm."""

import json
import os
import socket
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import docx
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agentic_memory_bank.state.errors import InputError, InputTooLarge, LoadError
from agentic_memory_bank.tools.documents.files import decode
from agentic_memory_bank.tools.documents.loaders import SkippedFile, StoredDocument, as_documents, load, load_all
from agentic_memory_bank.tools.documents.parsing import Parser

CHINESE = "量子计算机在一九八〇年的构想，是由费曼提出来的。我们在这里说明。"
FRENCH = "Le café de la gare a fermé à minuit; l'été dernier, déjà, il était très animé."


def pdf(contents: list[bytes], *, packed: bool = False) -> bytes:
    """Write a PDF with one page per content stream."""
    font = b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    kids = b" ".join(b"%d 0 R" % (3 + 2 * index) for index in range(len(contents)))
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(contents))]
    for index, content in enumerate(contents):
        stream = zlib.compress(content, 9) if packed else content
        page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources%s>>" % (4 + 2 * index, font)
        filtered = b"/Filter/FlateDecode" if packed else b""
        objects += [page, b"<</Length %d%s>>stream\n%s\nendstream" % (len(stream), filtered, stream)]
    written, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, b"".join(offsets))
    trailer = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(written))
    return written + table + trailer


def shown(text: str) -> bytes:
    return b"BT /F1 12 Tf 72 720 Td (%s) Tj ET" % text.encode("ascii")


def word(path: Path) -> Path:
    document = docx.Document()
    document.add_heading("Findings", 1)
    document.add_paragraph("The chip has 433 qubits.")
    table = document.add_table(2, 2)
    for row, values in enumerate((("year", "qubits"), ("2022", "433"))):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    document.add_paragraph("最后一段。")
    document.save(str(path))
    return path


def rewritten(source: Path, target: Path, old: str, new: str) -> Path:
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            body = before.read(name)
            after.writestr(name, body.replace(old.encode(), new.encode(), 1) if name == "word/document.xml" else body)
    return target


# --- text ---


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Plain English.\r\nTwo lines.", "ascii"),
        (CHINESE, "utf-8"),
        (CHINESE, "utf-8-sig"),
        (CHINESE, "utf-16"),
        (FRENCH, "utf-16"),
        (CHINESE, "utf-32"),
        (CHINESE, "gbk"),
        (CHINESE * 50, "gb18030"),
        ("English with one 词语 inside, and a longer tail of plain words.", "gbk"),
        (FRENCH, "latin-1"),
        ("Quoted – “so” – at 5 € a piece", "cp1252"),
    ],
)
def test_text_is_read_in_its_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))

    [document] = load(tmp_path / "a.txt")

    assert document.page_content == text
    assert document.metadata == {"source": str(tmp_path / "a.txt")}


@pytest.mark.parametrize(
    "data",
    [
        (CHINESE.encode("utf-8") + CHINESE.encode("gbk")),
        (CHINESE.encode("gbk") + FRENCH.encode("utf-8") + CHINESE.encode("utf-8")),
        (FRENCH.encode("utf-8") + FRENCH.encode("latin-1")),
        ("un café noir, ".encode() + "un café noir".encode("latin-1")),
        "Привет, это текст на русском языке.".encode("cp1251"),
        "これは日本語の文章です。とても長いです。".encode("shift_jis"),
        "這是一段繁體中文的文字，請問你看得懂嗎？".encode("big5"),
        b"\xff\xfe" + b"a\x00" * 9 + b"\x00",
        b"\xef\xbb\xbf" + CHINESE.encode("gbk"),
    ],
)
def test_a_mixed_or_unknown_encoding_is_an_error_that_says_what_to_do(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "notes.txt").write_bytes(data)

    with pytest.raises(LoadError, match=r"notes\.txt .*Save it as UTF-8"):
        load(tmp_path / "notes.txt")


@given(st.text(min_size=1))
def test_whatever_is_written_as_utf8_is_read_unless_it_is_mostly_controls(text: str) -> None:
    data = text.encode("utf-8", "replace")

    try:
        read = decode(data, "file")
    except LoadError:
        assert any(ord(character) < 32 or ord(character) == 127 for character in text)
    else:
        assert read == data.decode("utf-8-sig")


def test_a_nul_and_a_surrogate_do_not_get_through(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"# Title\n" + b"words " * 50 + b"\x00 end")

    [document] = load(tmp_path / "a.md")

    assert document.page_content.endswith("\ufffd end")


@pytest.mark.parametrize("name", ["a.bin", "a.png", "noname", "a.doc", "a.zip"])
def test_a_binary_file_is_refused(tmp_path: Path, name: str) -> None:
    head = {"a.png": b"\x89PNG\r\n\x1a\n", "a.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.zip": b"PK\x03\x04"}
    (tmp_path / name).write_bytes(head.get(name, b"") + bytes(range(256)) * 8)

    with pytest.raises(LoadError, match=r"binary|Office"):
        load(tmp_path / name)


def test_one_long_line_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"word " * 2_000_000)

    [document] = load(tmp_path / "a.txt")

    assert len(document.page_content) == 10_000_000


# --- paths ---


def test_missing_empty_blank_and_unreadable_paths_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "blank.txt").write_text(" \n\t\n")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")

    for name, said in [
        ("missing.txt", "no file or folder"),
        ("empty.txt", "empty"),
        ("blank.txt", "white space"),
        ("loop", "leads back to itself"),
        ("dangling", "not there"),
        ("nul\0.txt", "cannot be opened"),
        ("x" * 5000, "cannot be opened"),
    ]:
        with pytest.raises(LoadError, match=said):
            load(tmp_path / name)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "secret.txt").write_text("text")
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(LoadError, match="may not be read by this user"):
        load(tmp_path / "secret.txt")


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "large.txt").open("wb") as stream:
        stream.truncate(300 * 1024 * 1024)

    with pytest.raises(InputTooLarge, match=r"314,572,800 bytes.*max_bytes"):
        load(tmp_path / "large.txt")
    with pytest.raises(InputTooLarge):
        load(word(tmp_path / "a.docx"), max_bytes=100)


def test_pipes_devices_and_sockets_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.pdf")
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        for path in ("pipe.pdf", "sock", "/dev/null", "/dev/zero"):
            with pytest.raises(LoadError, match="pipe, socket or device"):
                load(path)


def test_a_folder_is_read_in_order_and_what_is_left_out_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    for name in ("b.txt", "a.md", "sub/c.txt", "sub/deep/d.txt", ".hidden", ".git/config"):
        (tmp_path / name).write_text(f"text of {name}")
    (tmp_path / "e.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    (tmp_path / "f.txt").touch()
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    skipped: list[SkippedFile] = []

    documents = load_all([tmp_path], skipped=skipped)

    names = [str(Path(document.metadata["source"]).relative_to(tmp_path)) for document in documents]
    assert names == ["a.md", "b.txt", "sub/c.txt", "sub/deep/d.txt"]
    left_out = {str(Path(path).relative_to(tmp_path)): reason for path, reason in skipped}
    assert sorted(left_out) == [".git", ".hidden", "broken", "e.png", "f.txt", "pipe", "sub/up"]
    assert left_out[".hidden"] == "hidden"
    assert "binary" in left_out["e.png"]


def test_a_folder_without_a_usable_file_says_why(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="It is empty"):
        load(tmp_path)
    (tmp_path / "a.txt").touch()
    with pytest.raises(LoadError, match=r"holds no file that can be read.\n .*a\.txt.*0 bytes"):
        load(tmp_path)


def test_a_file_with_an_unknown_encoding_in_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("fine")
    (tmp_path / "b.txt").write_bytes(FRENCH.encode("utf-8") + FRENCH.encode("latin-1"))

    with pytest.raises(LoadError, match=r"b\.txt"):
        load(tmp_path)


# --- PDF, Word, HTML ---


def test_pdf_word_and_html_are_read_with_what_a_citation_needs(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf([shown("Hello first page"), b"", shown("Third page")]))
    word(tmp_path / "b.docx")
    page = (
        "<html><head><meta charset='gbk'><title>标题 one</title><style>p{}</style></head><body><nav>Menu</nav>"
        "<script>alert(1)</script><h1>Head<br>line</h1><p>A <b>bold</b>\n word, and <a href='x'>a link</a>.<p>中文。"
        "<ul><li>one<li>two</ul>tail<table><tr><td>a</td><td>b</td></tr></table><pre>def f():\n    return 1\n</pre>"
        "<!-- no --><form><input value=1><button>Send</button></form><footer>Imprint</footer></body></html>"
    )
    (tmp_path / "c.html").write_bytes(page.encode("gbk"))

    first, third, from_word, from_html = load(tmp_path)

    assert (first.page_content, first.metadata) == (
        "Hello first page",
        {"source": str(tmp_path / "a.pdf"), "page": 1, "pages": 3},
    )
    assert (third.page_content, third.metadata["page"]) == ("Third page", 3)
    assert from_word.page_content == ("Findings\n\nThe chip has 433 qubits.\n\nyear | qubits\n2022 | 433\n\n最后一段。")
    assert from_html.page_content == (
        "Head\nline\n\nA bold word, and a link.\n\n中文。\n\none\ntwo\ntail\n\na | b\n\ndef f():\n    return 1"
    )
    assert from_html.metadata == {"source": str(tmp_path / "c.html"), "title": "标题 one"}


@pytest.mark.slow
def test_hostile_files_cost_a_load_error_and_not_the_process(tmp_path: Path) -> None:
    good = word(tmp_path / "good.docx")
    cases = {
        "bomb.docx": lambda path: rewritten(good, path, "<w:body>", "<w:body>" + " " * 220_000_000),
        "xxe.docx": lambda path: rewritten(
            good, path, "?>", '?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        ),
        "cut.docx": lambda path: path.write_bytes(good.read_bytes()[:2000]),
        "zip.docx": lambda path: zipfile.ZipFile(path, "w").close(),
        "no.docx": lambda path: path.write_bytes(b"plain text"),
        "bomb.pdf": lambda path: path.write_bytes(pdf([b" " * 100_000_000], packed=True)),
        "cut.pdf": lambda path: path.write_bytes(pdf([shown("x")])[:100]),
        "no.pdf": lambda path: path.write_bytes(b"plain text"),
        "pictures.pdf": lambda path: path.write_bytes(pdf([b"", b""])),
        "blank.html": lambda path: path.write_text("<html><script>x</script></html>"),
    }
    for name, write in cases.items():
        write(tmp_path / name)
        with pytest.raises(LoadError, match=name):
            load(tmp_path / name)


@pytest.mark.slow
def test_a_page_nested_a_hundred_thousand_deep_keeps_its_text(tmp_path: Path) -> None:
    (tmp_path / "deep.html").write_text("<html>" + "<div>" * 100_000 + "bottom" + "</div>" * 100_000 + "<p>after</p>")

    [document] = load(tmp_path / "deep.html")

    assert document.page_content == "bottom\n\nafter"


def test_a_password_is_said_to_be_the_trouble(tmp_path: Path) -> None:
    from pypdf import PdfReader, PdfWriter

    (tmp_path / "a.pdf").write_bytes(pdf([shown("secret")]))
    writer = PdfWriter(clone_from=PdfReader(tmp_path / "a.pdf"))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")

    with pytest.raises(LoadError, match="protected by a password"):
        load(tmp_path / "locked.pdf")


@pytest.mark.slow
def test_a_parser_that_takes_too_long_is_killed_and_the_next_file_gets_another(tmp_path: Path) -> None:
    (tmp_path / "slow.html").write_text("<b>" * 3_000_000)
    (tmp_path / "fine.html").write_text("<p>fine</p>")

    with Parser(wall_seconds=0.5) as parser:
        with pytest.raises(LoadError, match=r"slow.*not done after 0\.5 s"):
            parser.parse(tmp_path / "slow.html", "html", "slow")
        parser._wall_seconds = 35
        assert parser.parse(tmp_path / "fine.html", "html", "fine")[0].text == "fine"
    with Parser(cpu_seconds=0) as parser, pytest.raises(LoadError, match="processor time"):
        parser.parse(tmp_path / "slow.html", "html", "slow")


def test_the_child_sees_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    with Parser() as parser:
        child = parser._start()
        parser._child = child
        environment = Path(f"/proc/{child.pid}/environ")
        if not environment.exists():
            pytest.skip("needs /proc")
        assert b"canary" not in environment.read_bytes()


def test_importing_loaders_is_light() -> None:
    program = (
        "import sys, agentic_memory_bank.tools.documents.loaders;"
        "print({'torch', 'transformers', 'faiss', 'langchain_community', 'pypdf', 'bs4', 'docx'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == "set()"


# --- lines of JSON ---


def lines(path: Path, *objects: object) -> Path:
    path.write_text("\n".join(json.dumps(found, ensure_ascii=False) for found in objects) + "\n", encoding="utf-8")
    return path


def test_a_dialogue_becomes_one_document_per_session_with_the_place_of_each_turn(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "chat.jsonl",
        {"speaker": "Ann", "text": "Hi\u2028there", "session": 1, "date": "2024-05-01"},
        {"speaker": "Bob\nX", "text": "Two\nlines", "session": 1, "date": "2024-05-01"},
        {"role": "assistant", "content": None, "session": 1},
        {"role": "user", "content": [{"type": "text", "text": "Later"}], "session": 2, "time": "10:00"},
    )

    first, second = load(path)

    assert first.page_content == "Ann: Hi\u2028there\nBob X: Two\nlines"
    assert first.metadata == {
        "source": str(path),
        "line": 1,
        "session": "1",
        "date": "2024-05-01",
        "turn_lines": [1, 2],
        "turn_starts": [0, len("Ann: Hi there\n")],
    }
    assert second.page_content == "user: Later"
    assert (second.metadata["session"], second.metadata["date"], second.metadata["turn_lines"]) == ("2", "10:00", [4])


def test_plain_texts_become_a_document_each_and_keep_their_fields(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.ndjson", {"text": "One", "id": 7, "source": "wiki"}, {"text": "Two", "tags": ["x"]})

    documents = load(path)

    assert [document.page_content for document in documents] == ["One", "Two"]
    assert documents[0].metadata == {"source": str(path), "line": 1, "id": 7, "origin": "wiki"}
    assert documents[1].metadata == {"source": str(path), "line": 2}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{broken", "Line 2 of .* is not JSON"),
        ("[" * 100_000, "Line 2 of .* is not JSON"),
        ("1" * 10_000, "Line 2 of .* is not JSON"),
        ("[1]", "Line 2 of .* is no object"),
        ('{"speaker": "Ann"}', "Line 2 of .* has no text"),
        ('{"text": 5}', "Line 2 of .* has no text"),
    ],
)
def test_a_bad_line_of_json_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n' + line)

    with pytest.raises(LoadError, match=said):
        load(tmp_path / "a.jsonl")


def test_lines_of_json_without_any_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="No line"):
        load(lines(tmp_path / "a.jsonl", {"speaker": "Ann", "text": " "}))


# --- objects ---


def test_strings_dicts_documents_and_messages_become_documents(tmp_path: Path) -> None:
    path = tmp_path / "never.txt"
    path.write_text("the content of a file")
    given_document = Document(
        "from a retriever", metadata={"source": "wiki", "page": 2, "when": tmp_path, 5: ("a", {"b"})}
    )

    documents = as_documents(
        [
            str(path),
            {"text": "a\ud800b", "source": "s.txt", "metadata": {"page": 3}},
            {"page_content": "serialised", "metadata": {}, "type": "Document", "id": None},
            [given_document, {"role": "user", "content": "question"}],
            HumanMessage("hello", name="Ann"),
            AIMessage([{"type": "text", "text": "parts"}], id="m1"),
            AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "c1"}]),
            ToolMessage("result", tool_call_id="c1"),
        ]
    )

    assert [document.page_content for document in documents] == [
        str(path),
        "a\ufffdb",
        "serialised",
        "from a retriever",
        "user: question",
        "Ann: hello",
        "ai: parts",
        "tool: result",
    ]
    assert documents[0].metadata == {"source": "document 1"}
    assert documents[1].metadata == {"source": "s.txt", "page": 3}
    assert documents[3].metadata == {"source": "wiki", "page": 2, "when": str(tmp_path), "5": ["a", "{'b'}"]}
    assert documents[3].metadata is not given_document.metadata
    assert documents[6].metadata == {"role": "ai", "message_id": "m1", "source": "document 7"}
    assert as_documents("one text")[0].page_content == "one text"
    assert as_documents([]) == []


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (["fine", 5], r"documents\[1\] is of type int"),
        ([["fine", b"bytes"]], r"documents\[0\]\[1\] is of type bytes"),
        (None, "documents is of type NoneType"),
        (Path("x"), "documents is of type .*Path"),
        (["fine", " \n"], r"documents\[1\] has no text"),
        ("", "documents has no text"),
        ([{"title": "x"}], r"documents\[0\] is a dict without"),
        ([{"text": 5}], r"documents\[0\] is a dict without"),
        ([{"text": "x", "metadata": [1]}], r"metadata. of documents\[0\] is of type list"),
        ([Document("")], r"documents\[0\] has no text"),
        ([HumanMessage("")], r"documents\[0\] has no text"),
    ],
)
def test_what_is_no_document_is_named_by_type_and_place(items: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        as_documents(items)


@pytest.mark.parametrize("metadata", [{"size": 10**5_000}, {"outer": {10**5_000: 1}}])
def test_metadata_that_has_no_text_is_refused_by_its_key(metadata: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"metadata '{next(iter(metadata))}' cannot be kept"):
        as_documents(Document("x", metadata=metadata))


def test_numbers_of_other_libraries_become_pythons_own() -> None:
    [document] = as_documents(Document("x", metadata={"n": numpy.float64(0.5), "many": [numpy.int8(3)], "flag": True}))

    assert document.metadata == {"n": 0.5, "many": [3], "flag": True, "source": "document 1"}
    assert [type(value) for value in (document.metadata["n"], document.metadata["many"][0])] == [float, int]


def test_a_list_that_contains_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(InputError, match="too many lists"):
        as_documents(endless)


def test_what_was_cleaned_is_taken_as_it_is_until_it_leaves_the_process() -> None:
    stored = StoredDocument.of(as_documents("one\0text")[0])
    uncleaned = StoredDocument(text="a\0b", metadata={"source": "s"})

    assert as_documents([stored])[0].page_content == "one\ufffdtext"
    assert as_documents([uncleaned])[0].page_content == "a\0b"
    kind, saved = JsonPlusSerializer().dumps_typed([uncleaned])
    assert as_documents(JsonPlusSerializer().loads_typed((kind, saved)))[0].page_content == "a\ufffdb"
    assert as_documents(json.loads(json.dumps([uncleaned])))[0].page_content == "a\ufffdb"
