"""What holds after any run: every character is kept once, the index is a function of the graph, merging ends."""

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.engines.base import Pairing, Relation
from agentic_memory_bank.engines.extractive import ExtractiveEngine
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.nodes.memory_bank.classify import chunk_spans
from agentic_memory_bank.state import interaction_tree, query_graph
from agentic_memory_bank.state.interaction_tree import InteractionTree, apply_tree_edits
from agentic_memory_bank.state.query_graph import QueryGraph, apply_graph_edits
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ScriptedEngine, TickingClock
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.search.bank_index import MemoryIndex
from agentic_memory_bank.tools.text.tokens import estimate_tokens

SENTENCES = [
    "The tower is 324 m tall.",
    "The tower is 330 m tall.",
    "The tower stands in Paris.",
    "The bridge opened on 12 March 2019.",
    "The bridge opened on 3 May 2021.",
    "The bridge did not open in 2019.",
    "大桥于2019年3月12日通车。",
    "大桥于2021年5月3日通车。",
    "Alice: Shall we meet at noon?",
    "Bob: No, at two.",
    "# A heading",
    "- an item\n- another item",
    "```\ncode = 1\n```",
    "   ",
    "</memory> & <task>",
]
documents = st.lists(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12).map("\n\n".join).filter(lambda t: bool(t.strip())),
    min_size=1,
    max_size=4,
)
quick = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def final_state(given: list[list[str]], engine: Any = None) -> dict[str, Any]:
    graph = build_memory_bank(
        engine=engine, embeddings=HashEmbeddings(), checkpointer=InMemorySaver(), clock=TickingClock()
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    for number, texts in enumerate(given):
        graph.invoke({"question": f"What of the tower, {number}?", "documents": texts}, config)
    return graph.get_state(config).values


def assert_every_character_is_kept_once(state: dict[str, Any]) -> None:
    owners: Counter[tuple[str, int]] = Counter()
    for node in state["query_graph"]["nodes"].values():
        for anchor in node["anchors"]:
            owners.update((anchor["entry"], i) for i in range(anchor["start"], anchor["end"]))
    expected = {(e["id"], i) for e in state["interaction_tree"]["entries"].values() for i in range(len(e["text"]))}
    assert set(owners) == expected
    assert set(owners.values()) <= {1}


@quick
@given(st.lists(documents, min_size=1, max_size=2))
def test_every_character_of_every_input_belongs_to_exactly_one_memory(texts: list[list[str]]) -> None:
    assert_every_character_is_kept_once(final_state(texts))


@quick
@given(st.lists(documents, min_size=1, max_size=2))
def test_it_does_so_though_everything_merges_with_everything(texts: list[list[str]]) -> None:
    def merge_all(pairings: list[Pairing]) -> list[Relation]:
        return [Relation(p.fresh.id, c.id, "merge") for p in pairings for c in p.candidates]

    engine = ExtractiveEngine(Encoder(HashEmbeddings()))
    merging = ScriptedEngine(find_conflicts=merge_all, classify=engine.classify, structure=engine.structure)

    assert_every_character_is_kept_once(final_state(texts, merging))


@quick
@given(documents)
def test_raw_text_is_kept_as_it_came(texts: list[str]) -> None:
    kept = [e["text"] for e in final_state([texts])["interaction_tree"]["entries"].values()]

    assert kept == texts


@quick
@given(st.lists(documents, min_size=1, max_size=2))
def test_times_never_run_backwards(texts: list[list[str]]) -> None:
    state = final_state(texts)

    stamps = [e["created_at"] for e in state["interaction_tree"]["entries"].values()]
    assert stamps == sorted(stamps)
    born = {e["id"]: e["created_at"] for e in state["interaction_tree"]["entries"].values()}
    for node in state["query_graph"]["nodes"].values():
        assert all(born[a["entry"]] <= node["created_at"] for a in node["anchors"])


WORDS = ["tower", "bridge", "river", "GPT-4o", "2019", "大桥", "通车", "max_tokens"]
NAMES = [f"n{i}" for i in range(6)]


@st.composite
def graph_steps(draw: st.DrawFn) -> list[query_graph.GraphEdit]:
    steps: list[query_graph.GraphEdit] = []
    for _ in range(draw(st.integers(1, 10))):
        some = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
        said = " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)))
        node: query_graph.MemoryNode = {
            "id": some[0],
            "summary": said,
            "context": said[:9],
            "keywords": [],
            "embedding": None,
            "created_at": "2026",
            "anchors": [{"entry": f"e-{some[0]}", "start": 0, "end": draw(st.integers(1, 40))}],
            "provenance": {"sources": [], "task": None, "merged_from": []},
            "history": [],
        }
        steps.append(
            draw(
                st.sampled_from(
                    [
                        query_graph.put(node),
                        query_graph.put(node),
                        query_graph.revise(some[0], said, [said], None, "2027"),
                        query_graph.merge(some, {**node, "id": "m" + "".join(some)}),
                        query_graph.forget(some[:1]),
                    ]
                )
            )
        )
    return steps


def ranking(index: MemoryIndex, graph: QueryGraph, tree: InteractionTree) -> Any:
    index.follow(graph, tree)
    passages = index.search_passages("the tower and 大桥 in 2019", 9, Settings())
    wanted = [(node_id, frozenset[str]()) for node_id in graph.get("nodes", {})]
    return passages, index.similar(graph, tree, wanted, Settings()) if wanted else []


@settings(max_examples=30, deadline=None)
@given(graph_steps(), st.lists(st.integers(0, 9), max_size=6))
def test_the_index_ranks_like_one_built_from_scratch_after_edits_and_time_travel(
    steps: list[query_graph.GraphEdit], visits: list[int]
) -> None:
    text = "the tower by the river. 大桥于2019年通车。 GPT-4o takes max_tokens."
    entries = [
        interaction_tree.append(
            {
                "id": f"e-{name}",
                "kind": "document",
                "text": f"{name}: {text}",
                "created_at": "2026",
                "source": name,
                "metadata": {},
                "tool_calls": [],
                "attachments": [],
            }
        )
        for name in NAMES
    ]
    tree = apply_tree_edits({}, [entries])
    encoder = Encoder(HashEmbeddings())
    history: list[QueryGraph] = [{}]
    for step in steps:
        history.append(apply_graph_edits(history[-1], [[step]]))
    followed = MemoryIndex(encoder)

    for graph in [*history, *(history[i % len(history)] for i in visits)]:
        assert ranking(followed, graph, tree) == ranking(MemoryIndex(encoder), graph, tree)


@given(st.text(max_size=3000), st.integers(8, 200))
def test_chunks_fit_the_window_and_give_the_text_back(text: str, limit: int) -> None:
    """Case 21."""
    chunks = chunk_spans(text, limit)

    assert "".join(text[start:end] for start, end in chunks) == text
    assert all(estimate_tokens(text[start:end]) <= limit for start, end in chunks)


def test_long_texts_are_chunked_at_paragraph_borders() -> None:
    text = "\n\n".join(f"Paragraph {n} says a few words on its subject." for n in range(40))

    chunks = chunk_spans(text, 60)

    assert len(chunks) > 1
    assert all(text[start:end].startswith("Paragraph") for start, end in chunks)


def test_an_index_without_vectors_finds_by_keywords_and_by_vectors_when_they_are_back() -> None:
    from agentic_memory_bank.state.errors import EmbeddingError

    class Flaky(HashEmbeddings):
        broken = True

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.broken:
                raise EmbeddingError("gone")
            return super().embed_documents(texts)

    flaky = Flaky()
    graph = build_memory_bank(embeddings=flaky, checkpointer=InMemorySaver(), clock=TickingClock())
    config: Any = {"configurable": {"thread_id": "t"}}
    texts = ["The tower is 324 m tall.", "The river is wide."]

    result = graph.invoke({"question": "How tall is the tower?", "documents": texts}, config)
    assert "324" in result["answer"]
    assert "embed: EmbeddingError" in result["degraded"]

    flaky.broken = False
    again = graph.invoke({"question": "How tall is the tower in metres?"}, config)
    assert "324" in again["answer"]
    assert again["degraded"] == []
