"""Vectors: what is encoded, remembered, refused, and never cut in silence."""

import hashlib
import itertools
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import warnings
from asyncio import CancelledError
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.tools.embeddings import minilm, models, sessions, weights, windows
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.embeddings.minilm import MiniLM
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings, local_embeddings


class Foreign(Embeddings):
    """Answers as it is told, and keeps what it was asked."""

    def __init__(self, answer: Callable[[list[str]], object] | None = None, model: str = "foreign-1") -> None:
        self.model = model
        self.asked: list[list[str]] = []
        self.answer = answer or HashEmbeddings(16).embed_documents

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        return self.answer(texts)  # type: ignore[return-value]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def answering(*vectors: list[float]) -> Foreign:
    return Foreign(lambda texts: list(vectors))


# --- the double ---


def test_a_hashed_text_gives_the_same_vector_in_every_process() -> None:
    vector = np.asarray(HashEmbeddings().embed_query("The bank remembers 记忆"), dtype=np.float32)

    program = (
        "import hashlib, numpy; from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings;"
        "v = HashEmbeddings().embed_query('The bank remembers \\u8bb0\\u5fc6');"
        "print(hashlib.sha256(numpy.asarray(v, dtype='float32').tobytes()).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert other.stdout.strip() == hashlib.sha256(vector.tobytes()).hexdigest()


def test_shared_words_and_shared_chinese_make_hashed_texts_similar() -> None:
    vectors = Encoder(HashEmbeddings()).vectors(["the red fox runs", "a red fox sleeps", "stock market news"])
    chinese = Encoder(HashEmbeddings()).vectors(["量子计算机很快", "量子计算机很贵", "今天天气好"])

    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert chinese[0] @ chinese[1] > chinese[0] @ chinese[2] + 0.2


@given(st.text(), st.integers(1, 64))
def test_any_text_has_a_hashed_vector_of_length_one(text: str, dimension: int) -> None:
    vector = HashEmbeddings(dimension).embed_query(text)

    assert len(vector) == dimension
    assert np.linalg.norm(vector) == pytest.approx(1)


# --- the encoder ---


def test_vectors_are_float32_of_length_one_in_the_order_of_the_texts() -> None:
    encoder = Encoder(Foreign(lambda texts: [[3.0 * len(text), 4.0 * len(text)] for text in texts]))

    vectors = encoder.vectors(["long text", "x", "mid"])

    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.array([[0.6, 0.8]] * 3))
    assert encoder.dimension == 2


def test_the_order_of_a_batch_does_not_change_whose_vector_is_whose() -> None:
    texts = [f"word{index} " * (index % 7 + 1) for index in range(40)]

    together = Encoder(HashEmbeddings(), batch=6).vectors(texts)

    assert together == pytest.approx(np.stack([Encoder(HashEmbeddings()).vector(text) for text in texts]))


def test_a_text_is_encoded_once() -> None:
    model = Foreign()
    encoder = Encoder(model)

    encoder.vectors(["a", "b", "a"])
    encoder.vectors(["b", "c"])

    assert sorted(text for batch in model.asked for text in batch) == ["a", "b", "c"]


def test_memory_is_bounded_and_keeps_what_was_used_last() -> None:
    model = Foreign()
    encoder = Encoder(model, memory=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        encoder.vector(text)

    assert [batch[0] for batch in model.asked] == ["a", "b", "c", "b"]


def test_more_texts_than_memory_holds_still_all_get_their_vectors() -> None:
    texts = [f"text {index}" for index in range(20)]

    vectors = Encoder(HashEmbeddings(), memory=3, batch=4).vectors(texts)

    assert vectors == pytest.approx(Encoder(HashEmbeddings()).vectors(texts))


def test_a_returned_vector_can_be_changed_without_changing_the_memory() -> None:
    encoder = Encoder(HashEmbeddings())
    before = encoder.vector("text").copy()

    encoder.vector("text")[:] = 7

    assert encoder.vector("text") == pytest.approx(before)


@pytest.mark.parametrize("blank", ["", "  \n\t"])
def test_a_blank_text_is_not_sent_and_has_a_zero_vector(blank: str) -> None:
    model = Foreign()

    vectors = Encoder(model).vectors([blank, "word"])

    assert not vectors[0].any()
    assert vectors[1].any()
    assert model.asked == [["word"]]
    assert Encoder(model).vectors([blank]).shape == (1, 16)


def test_no_texts_make_an_empty_matrix() -> None:
    assert Encoder(Foreign()).vectors([]).shape == (0, 0)


def test_keys_depend_on_model_and_text_alone() -> None:
    one, same, other = (Encoder(Foreign(model=name)) for name in ("m1", "m1", "m2"))

    assert one.key("text") == same.key("text")
    assert len({one.key("text"), one.key("text "), other.key("text"), Encoder(HashEmbeddings()).key("text")}) == 4
    assert len(one.key("lone surrogate \ud800")) == 64


def test_the_name_of_a_model_tells_class_model_and_size() -> None:
    assert Encoder(Foreign()).model == "Foreign:foreign-1"
    assert Encoder(HashEmbeddings(64)).model == "HashEmbeddings:signed-words-1/64"
    assert Encoder().model == "LocalEmbeddings:sentence-transformers/all-MiniLM-L6-v2"
    assert Encoder(Foreign(), window=9).model != Encoder(Foreign()).model


def test_a_lone_surrogate_reaches_no_model() -> None:
    model = Foreign()

    Encoder(model).vector("a\ud800b")

    assert model.asked == [["a\ufffdb"]]


# --- what a model may do wrong ---


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], "3 vectors for 2 texts"),
        ([[1.0, 2.0], [1.0]], "not rows of numbers"),
        ([1.0, 2.0], "not rows of numbers"),
        ([[], []], "not rows of numbers"),
        ([[1.0, 2.0], [None, "x"]], "not rows of numbers"),
        (None, "vectors for 2 texts"),
        ([[1.0, 2.0], [float("nan"), 1.0]], "not finite"),
        ([[1.0, 2.0], [float("inf"), 1.0]], "not finite"),
        ([[1.0, 2.0], [0.0, 0.0]], "a vector of zeros"),
        ([[1.0] * 4] * 2, "4 numbers where earlier ones had 2"),
    ],
)
def test_what_is_no_set_of_vectors_is_refused_by_name_and_not_kept(tmp_path: Path, answer: object, said: str) -> None:
    model = Foreign(lambda texts: [[1.0, 1.0]] * len(texts))
    encoder = Encoder(model, cache=tmp_path / "v.sqlite")
    encoder.vector("earlier")
    model.answer = lambda texts: answer

    with pytest.raises(EmbeddingError, match=f"Foreign:foreign-1 .*{said}"):
        encoder.vectors(["a", "b"])

    model.answer = lambda texts: [[0.0, 1.0]] * len(texts)
    assert encoder.vectors(["a", "b"]) == pytest.approx(np.array([[0.0, 1.0]] * 2))


def test_an_exception_of_a_model_is_typed_and_what_was_made_before_is_kept(tmp_path: Path) -> None:
    def fail_at_long(texts: list[str]) -> list[list[float]]:
        if any(len(text) > 3 for text in texts):
            raise TimeoutError("no answer after 5 s")
        return [[1.0, 0.0]] * len(texts)

    with pytest.raises(EmbeddingError, match=r"Foreign:foreign-1 failed \(TimeoutError: no answer after 5 s\)"):
        Encoder(Foreign(fail_at_long), cache=tmp_path / "v.sqlite", batch=2).vectors(["longer", "a", "b"])

    again = Foreign()
    Encoder(again, cache=tmp_path / "v.sqlite").vectors(["a", "b"])
    assert again.asked == []


def test_a_number_too_large_for_float32_is_normalised_and_not_lost() -> None:
    assert Encoder(answering([3e60, 4e60])).vector("x") == pytest.approx([0.6, 0.8])


# --- long texts ---


def test_a_long_text_is_embedded_in_parts_weighted_by_length() -> None:
    model = Foreign(lambda texts: [[1.0, 0.0] if text.startswith("a") else [0.0, 1.0] for text in texts])
    text = "a" * 29 + " " + "b" * 10

    vector = Encoder(model, window=30).vector(text)

    assert model.asked == [["a" * 29 + " ", "b" * 10]]
    assert vector == pytest.approx(np.array([3, 1]) / np.sqrt(10))


@given(st.text(alphabet="ab。. \n界", max_size=200), st.integers(1, 30))
@example("  ", 1)
def test_parts_fit_the_window_and_lose_only_white_space(text: str, window: int) -> None:
    parts = windows.characters(window, text)

    assert all(len(part) <= window for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_parts_end_where_sentences_end_if_possible() -> None:
    parts = windows.characters(40, "The first sentence is here. The second one follows it. The third.")

    assert [part.strip() for part in parts] == ["The first sentence is here.", "The second one follows it. The third."]


# --- the cache on disk ---


def test_the_cache_serves_another_process_and_is_private(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "v.sqlite"
    first = Encoder(HashEmbeddings(), cache=file)
    made = first.vectors(["a", "b"])
    modes = {stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    first.close()
    model = HashEmbeddings()
    model.embed_documents = lambda texts: pytest.fail("asked again")  # type: ignore[method-assign]
    second = Encoder(model, cache=file)

    assert second.vectors(["b", "a"]) == pytest.approx(made[::-1])
    assert second.dimension == 256
    assert modes == {0o600}


def test_another_model_does_not_get_the_vectors_of_the_first(tmp_path: Path) -> None:
    Encoder(Foreign(model="one"), cache=tmp_path / "v").vector("text")
    other = Foreign(model="two")

    Encoder(other, cache=tmp_path / "v").vector("text")

    assert other.asked == [["text"]]


@pytest.mark.parametrize("damage", ["garbage", "middle", "other schema"])
def test_a_damaged_cache_is_set_aside_and_rebuilt(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "v.sqlite"
    if damage == "garbage":
        file.write_bytes(b"this is no database" * 500)
    elif damage == "middle":
        encoder = Encoder(HashEmbeddings(), cache=file)
        encoder.vectors([f"text {index}" for index in range(300)])
        encoder.close()
        whole = file.read_bytes()
        file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    else:
        connection = sqlite3.connect(file)
        connection.execute("CREATE TABLE vectors (something INTEGER)")
        connection.close()

    for _ in range(2):
        encoder = Encoder(HashEmbeddings(), cache=file)
        assert encoder.vectors(["text 1", "text 2"]) == pytest.approx(
            Encoder(HashEmbeddings()).vectors(["text 1", "text 2"])
        )
        encoder.close()

    assert file.with_name("v.sqlite.damaged").exists()
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (2,)
    connection.close()


@pytest.mark.parametrize("rotten", [b"", b"123", b"\0" * 64, b"\xff" * 64, np.eye(1, 3, dtype="<f4").tobytes()])
def test_a_rotten_vector_is_made_again(tmp_path: Path, rotten: bytes) -> None:
    file = tmp_path / "v.sqlite"
    encoder = Encoder(HashEmbeddings(16), cache=file)
    made = encoder.vectors(["a", "b"])
    encoder.close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE vectors SET vector = ? WHERE key = ?", (rotten, encoder.key("a")))
    connection.close()

    assert Encoder(HashEmbeddings(16), cache=file).vectors(["b", "a"]) == pytest.approx(made[::-1])


def test_without_a_place_for_the_cache_the_encoder_goes_on_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")

    encoder = Encoder(HashEmbeddings(), cache=tmp_path / "file" / "v.sqlite", memory=0)

    assert encoder.vectors(["a", "b"]).shape == (2, 256)
    assert encoder.vectors(["b", "c"]).shape == (2, 256)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert Encoder(HashEmbeddings(), cache=tmp_path).vectors(["a"]).shape == (1, 256)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_no_place_for_the_cache(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)

    assert Encoder(HashEmbeddings(), cache=tmp_path / "closed" / "v.sqlite").vectors(["a"]).shape == (1, 256)


def test_vectors_that_an_earlier_version_made_in_pytorch_and_kept_are_read_as_they_are(tmp_path: Path) -> None:
    kept = HashEmbeddings(384).embed_query("I live in Lisbon.")
    key = hashlib.sha256(b"LocalEmbeddings:sentence-transformers/all-MiniLM-L6-v2\0I live in Lisbon.").hexdigest()
    with sqlite3.connect(tmp_path / "v.sqlite") as connection:
        connection.execute("CREATE TABLE vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID")
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (key, np.asarray(kept, dtype="<f4").tobytes()))
    connection.close()
    encoder = Encoder(LocalEmbeddings(backend="onnx"), cache=tmp_path / "v.sqlite")

    assert encoder.vector("I live in Lisbon.") == pytest.approx(kept)
    assert not encoder.is_loaded


def test_a_full_disk_does_not_stop_the_encoder(tmp_path: Path) -> None:
    encoder = Encoder(HashEmbeddings(4096), cache=tmp_path / "v.sqlite", memory=0)
    encoder.vector("first")
    assert encoder._disk is not None
    assert encoder._disk._connection is not None
    encoder._disk._connection.execute("PRAGMA max_page_count=20")

    vectors = encoder.vectors([f"text {index}" for index in range(50)])

    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_uses_the_cache_without_harming_the_parents(tmp_path: Path) -> None:
    encoder = Encoder(HashEmbeddings(), cache=tmp_path / "v.sqlite", memory=0)
    encoder.vector("parent")
    program = (
        "import os, sys; from pathlib import Path;"
        "from agentic_memory_bank.tools.embeddings.encoder import Encoder;"
        "from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings;"
        "e = Encoder(HashEmbeddings(), cache=Path(sys.argv[1]), memory=0); e.vector('one');"
        "before = e._disk._connection; child = os.fork(); e.vector('two' if child else 'three');"
        "assert (e._disk._connection is before) == bool(child);"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if child else 0)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "v.sqlite")], check=True)

    with sqlite3.connect(tmp_path / "v.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (4,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_threads_share_an_encoder(tmp_path: Path) -> None:
    encoder = Encoder(HashEmbeddings(), cache=tmp_path / "v.sqlite", memory=5, batch=3)
    texts = [f"text {index}" for index in range(30)]
    expected = Encoder(HashEmbeddings()).vectors(texts)
    wrong: list[int] = []

    def work(start: int) -> None:
        order = [(start + step) % len(texts) for step in range(len(texts))]
        if not np.allclose(encoder.vectors([texts[index] for index in order]), expected[order]):
            wrong.append(start)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


# --- the local model ---


def test_importing_embeddings_loads_no_model_library() -> None:
    program = (
        "import sys, agentic_memory_bank.tools.embeddings.encoder as e; e.Encoder().model;"
        "print({'torch', 'transformers', 'faiss', 'sentence_transformers'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == "set()"


def test_a_model_folder_that_is_not_there_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="no folder"):
        Encoder(local_embeddings(str(tmp_path / "missing"))).vector("x")


def test_weights_that_are_not_those_of_the_model_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(weights, "installed", lambda: tmp_path)

    with pytest.raises(EmbeddingError, match="sha256 differs"):
        LocalEmbeddings().embed_query("x")


def test_without_installed_files_and_network_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def offline(*_: object, **__: object) -> str:
        raise OSError("offline")

    monkeypatch.setattr(weights, "installed", lambda: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)

    with pytest.raises(EmbeddingError, match=r"agentic-memory-bank\[offline\]"):
        LocalEmbeddings().embed_query("x")


def test_a_given_folder_is_named_by_its_weights(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")

    digest = hashlib.sha256(b"weights").hexdigest()[:16]

    assert LocalEmbeddings(str(tmp_path)).model == f"{tmp_path.name}@{digest}"


@pytest.mark.model
def test_the_default_model_tells_meaning_reads_to_the_end_and_writes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    encoder = Encoder()
    head = "The quick brown fox jumps over the lazy dog near the river bank. " * 30
    long = head + "Quantum computers use qubits and superposition to compute. " * 40
    chinese = "量子计算机使用量子比特。" * 60

    cat, kitten, market, of_head, of_long, of_chinese = encoder.vectors(
        ["A cat sits on the mat.", "A kitten is sitting on a rug.", "The stock market fell.", head, long, chinese]
    )

    assert encoder.dimension == 384
    assert cat @ kitten > cat @ market + 0.3
    assert of_long @ of_head < 0.9
    assert (
        of_long @ encoder.vector("Quantum computers use qubits.")
        > of_head @ encoder.vector("Quantum computers use qubits.") + 0.2
    )
    assert np.linalg.norm(of_chinese) == pytest.approx(1, abs=1e-5)
    alone = Encoder().vector("A cat sits on the mat.")
    assert alone == pytest.approx(cat, abs=1e-5)
    assert capfd.readouterr() == ("", "")


@pytest.mark.model
def test_a_text_longer_than_the_window_is_read_in_parts_that_fit_it_and_lose_nothing() -> None:
    local = LocalEmbeddings()
    local.embed_query("x")
    loaded = local._loaded
    assert isinstance(loaded, MiniLM)

    for text in (
        "Quantum computers use qubits. " * 60,
        "量子计算机使用量子比特。" * 60,
        "x.y,z" * 300,
        "한국어는 아름답다" * 100,
    ):
        read = loaded.tokenizer.encode(text, add_special_tokens=False)
        parts = [text[start:end] for start, end in windows.by_pieces(text, read, loaded._window)]

        assert "".join(parts) == text
        assert all(len(loaded.tokenizer.encode(part)) <= 256 for part in parts)
        assert sum(len(piece.ids) for piece in loaded._pieces(text, read)) == len(read.ids)


@pytest.mark.model
def test_the_default_model_makes_the_vectors_that_sentence_transformers_makes_of_it() -> None:
    texts = [
        "Where do I live?",
        "我住在里斯本。",
        "",
        "🙂",
        "x" * 5_000,
        "One. " * 400,
        "naïve CAFÉ \ud800 ﬁne",
        "a\0b",
        "word " * 253,
    ]

    ours, theirs = LocalEmbeddings().encode(texts), LocalEmbeddings(backend="pytorch").encode(texts)

    assert (ours * theirs).sum(axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.model
def test_openvino_makes_vectors_and_judges_answers_as_onnx_runtime_does() -> None:
    texts = [
        "The lift carries eight people.",
        "A lift for eight.",
        "Rain is due.",
        "今天的会议改到周五。",
        "word " * 700,
    ]
    ours, theirs = LocalEmbeddings(), LocalEmbeddings(backend="openvino")

    made, found = ours.encode(texts), theirs.encode(texts)

    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found @ found.T, made @ made.T, atol=5e-3)
    asked = "How many people does the lift carry?"
    np.testing.assert_allclose(theirs.answers(asked, texts[:3]), ours.answers(asked, texts[:3]), atol=0.2)


@pytest.mark.model
@pytest.mark.parametrize("backend", ["onnx", "openvino"])
def test_many_texts_have_the_vectors_that_each_has_alone(backend: Any) -> None:
    model = LocalEmbeddings(backend=backend, threads=2)
    texts = [f"Lift {n} carries {n % 12} people up to floor {n % 31}." for n in range(300)]

    together = model.encode(texts)

    alone = np.concatenate([model.encode([text]) for text in texts[::30]])
    np.testing.assert_allclose(np.sum(together[::30] * alone, axis=1), 1, atol=2e-4)


@pytest.mark.model
def test_where_nobody_waits_any_more_no_further_batch_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    model, go_on, begun = MiniLM(weights.default_folder(), 2, "openvino"), threading.Event(), list[int]()
    real, numbers = model._session, itertools.count()

    def session(*given: Any) -> Any:
        begun.append(number := next(numbers))
        assert number == 0 or go_on.wait(60)
        return real(*given)

    def gone() -> None:
        raise CancelledError

    monkeypatch.setattr(model, "_session", session)
    monkeypatch.setattr(minilm, "check_waited_for", gone)
    texts = [f"Lift {n} carries {n % 12} people. " * 12 for n in range(200)]

    with pytest.raises(CancelledError):
        model.encode(texts)
    go_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("embedding"):
            thread.join()

    assert len(begun) <= 3


@pytest.mark.model
@pytest.mark.parametrize("backend", ["onnx", "openvino"])
def test_a_thread_that_outlives_the_program_encodes_all_the_same(backend: str) -> None:
    program = f"""
import threading
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings
def work():
    threading.main_thread().join()
    print(LocalEmbeddings(backend="{backend}", threads=2).encode(["It rains in Porto. " * 9] * 40).shape)
threading.Thread(target=work).start()
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout.split() == ["(40,", "384)"]


@pytest.mark.model
def test_openvino_that_is_not_installed_is_an_error_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "find_spec", lambda _: None)

    with pytest.raises(EmbeddingError, match=r"agentic-memory-bank\[openvino\]"):
        LocalEmbeddings(backend="openvino").encode(["one"])


@pytest.mark.model
def test_openvino_tells_nobody_that_it_is_imported(tmp_path: Path) -> None:
    program = """
import sys
from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings
LocalEmbeddings(backend="openvino").encode(["one"])
assert "openvino" in sys.modules
assert not [name for name in sys.modules if name.startswith("openvino_telemetry")]
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "HOME": str(tmp_path)})

    assert not [*tmp_path.iterdir()]


@pytest.mark.model
def test_the_default_model_loads_no_pytorch_and_makes_the_same_bits_in_two_processes_that_begin_at_once(
    tmp_path: Path,
) -> None:
    program = (
        "import hashlib, sys; from pathlib import Path;"
        "from agentic_memory_bank.tools.embeddings.encoder import Encoder;"
        "from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings;"
        "encoder = Encoder(LocalEmbeddings(threads=2), cache=Path(sys.argv[1]));"
        "made = encoder.vectors([f'text {n} ' * n for n in range(1, 60)]);"
        "heavy = {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules);"
        "print(hashlib.sha256(made.tobytes()).hexdigest(), heavy)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "v.sqlite")]

    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as one,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other,
    ):
        first, second = one.communicate()[0], other.communicate()[0]

    assert first == second
    assert first.strip().endswith("set()")
    with sqlite3.connect(tmp_path / "v.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (59,)
    connection.close()


@pytest.mark.model
def test_encoding_leaves_nothing_in_a_users_folders_and_sends_nothing_home(tmp_path: Path) -> None:
    program = (
        "from agentic_memory_bank.tools.embeddings.models import LocalEmbeddings;"
        "print(len(LocalEmbeddings().embed_query('x')))"
    )
    untold = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**untold, **home}
    )

    assert out.stdout.strip() == "384"
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.model
def test_the_model_runs_where_the_system_does_not_tell_which_cores_a_process_may_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")

    assert len(LocalEmbeddings().embed_query("x")) == 384


@pytest.mark.model
@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_a_graph_of_the_model_that_is_half_there_is_an_error_of_ours(
    part: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sessions._GRAPH.read_bytes()
    (tmp_path / "minilm.onnx").write_bytes(whole[: int(len(whole) * part)])
    monkeypatch.setattr(sessions, "_GRAPH", tmp_path / "minilm.onnx")

    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        LocalEmbeddings().embed_query("x")


@pytest.mark.model
def test_a_child_of_a_fork_encodes_with_a_model_of_its_own() -> None:
    local = LocalEmbeddings()
    before = local.embed_query("Where do I live?")
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads, which is the point
        child = os.fork()
    if child == 0:
        os.write(writing, b"same" if local.embed_query("Where do I live?") == before else b"differs")
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 10)
    os.close(reading)
    os.waitpid(child, 0)

    assert said == b"same"


@pytest.mark.model
@pytest.mark.parametrize("missing", [minilm.TOKENIZER, "model.safetensors"])
def test_a_file_of_the_model_that_is_damaged_is_an_error_that_names_the_folder(tmp_path: Path, missing: str) -> None:
    folder = weights.installed()
    assert folder is not None
    for file in (minilm.TOKENIZER, "model.safetensors"):
        (tmp_path / file).symlink_to(folder / file)
    (tmp_path / missing).unlink()
    (tmp_path / missing).write_bytes(b"{")

    with pytest.raises(EmbeddingError, match=str(tmp_path)):
        LocalEmbeddings(str(tmp_path)).embed_query("x")


def test_a_model_that_needs_pytorch_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(models, "find_spec", lambda package: None)

    with pytest.raises(EmbeddingError, match=r"agentic-memory-bank\[torch\]"):
        LocalEmbeddings(str(tmp_path)).embed_query("x")
