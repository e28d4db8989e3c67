"""A model that answers as badly as it likes makes no run worse than it is without a model."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.graph.conversation import build_conversation
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.state.interaction_tree import text_of
from agentic_memory_bank.testing import Reply, ScriptedJudge, TickingClock
from agentic_memory_bank.testing.bad_judges import BAD_JUDGES, all_the_same
from agentic_memory_bank.testing.bad_judges import CONTRADICTING as PAIRS
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.stores import RecordStores

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
OFFLINE: dict[str, Any] = {"gate_english": -1, "gate_chinese": -1, "k": 60}
CHAT = {**OFFLINE, "model": "local:test"}
DOCUMENTS = [
    "The Vega tower was opened in 1961. It is 324 m tall and is not visible for 24 kilometres.",
    "Tickets cost 20 euros. Dogs are forbidden on the platform.",
    "The harbour of Aldport has a museum of ships. Anna Berg runs it.",
]
QUESTION = "How tall is the Vega tower?"


def run(documents: list[str], question: str = QUESTION, settings: dict[str, Any] = CHAT) -> dict[str, Any]:
    graph = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock())
    return graph.invoke({"question": question, "documents": documents}, context=settings)  # type: ignore[arg-type]


def prose(_: str) -> Reply:
    return Reply("Certainly! Let me think about that for you.")


def is_done(_: str) -> dict[str, Any]:
    return {"is_done": True, "kind": "", "description": ""}


def not_found(_: str) -> dict[str, Any]:
    return {"is_found": False, "answer": "", "quotes": []}


def invented(_: str) -> dict[str, Any]:
    said = "Doctor Zork, in 1066, for 999 dollars."
    return {"is_found": True, "answer": said, "quotes": [{"passage": 1, "words": "is 324 m tall and"}]}


def without_denial(_: str) -> dict[str, Any]:
    said = "The Vega tower is visible for 24 kilometres."
    return {"is_found": True, "answer": said, "quotes": [{"passage": 1, "words": "is visible for 24 kilometres"}]}


def quoting(words: str) -> Callable[[str], dict[str, Any]]:
    return lambda _: {"is_found": True, "answer": "It is so.", "quotes": [{"passage": 1, "words": words}]}


@pytest.fixture(scope="module")
def offline() -> dict[str, Any]:
    return run(DOCUMENTS, settings=OFFLINE)


EVERYTHING = ("classify", "structure", "find_conflicts", "find_related", "plan", "answer")
BAD: dict[str, dict[str, Any]] = {
    "answer in prose": {"answer": prose},
    "nothing found": {"answer": not_found},
    "invented answer": {"answer": invented},
    "quote the": {"answer": quoting("the")},
    "quote 24": {"answer": quoting("24")},
    "quote .": {"answer": quoting(".")},
    "plan in prose": {"plan": prose, "answer": prose},
    "done at once, nothing found": {"plan": is_done, "answer": not_found},
    "all in prose": dict.fromkeys(EVERYTHING, prose),
}


@pytest.mark.parametrize("name", BAD)
def test_where_rules_have_an_answer_there_is_one_and_what_was_done_without_is_said(
    model: Any, offline: dict[str, Any], name: str
) -> None:
    judgements = BAD[name]
    model.plays(**judgements)

    result = run(DOCUMENTS)

    assert (result["status"], result["answer"]) == (offline["status"], offline["answer"])
    assert [source["quote"] for source in result["sources"]] == [source["quote"] for source in offline["sources"]]
    stages = {"answer": "execute"}
    assert {note.partition(":")[0] for note in result["degraded"]} >= {
        stages.get(kind, kind) for kind in judgements if kind not in ("find_conflicts", "find_related")
    }


def test_an_answer_that_drops_a_denial_is_not_given(model: Any) -> None:
    model.plays(answer=without_denial)

    result = run(DOCUMENTS, "For how many kilometres is the Vega tower visible?")

    assert "visible for 24" not in result["answer"].replace("not visible for 24", "")
    assert result["degraded"]


@pytest.mark.parametrize(
    ("text", "question", "said", "quote"),
    [
        (
            "The Vega tower is not visible for 24 kilometres.",
            "For how many kilometres is the Vega tower visible?",
            "The Vega tower is visible for 24 kilometres.",
            "visible for 24 kilometres",
        ),
        (
            "There is no evidence that Anna Berg built the Vega tower.",
            "Who built the Vega tower?",
            "Anna Berg built the Vega tower.",
            "Anna Berg built the Vega tower",
        ),
        ("灯塔高24米，不对游客开放。", "灯塔对游客开放吗？", "灯塔对游客开放。", "对游客开放"),
    ],
)
def test_what_is_cut_out_of_a_denial_is_no_quote_of_its_own(
    model: Any, text: str, question: str, said: str, quote: str
) -> None:
    quotes = [{"passage": 1, "words": quote}]
    model.plays(answer=lambda _: {"is_found": True, "answer": said, "quotes": quotes})

    result = run([text], question)

    assert said not in result["answer"].splitlines()
    assert all(source["quote"] == text for source in result["sources"])
    assert result["degraded"]


def test_what_no_quote_says_is_left_out_of_an_answer_and_named(model: Any) -> None:
    said = "Anna Berg runs the museum. Doctor Zork pays her 999 dollars."
    quotes = [{"passage": 1, "words": "Anna Berg runs it"}]
    model.plays(answer=lambda _: {"is_found": True, "answer": said, "quotes": quotes})

    result = run(DOCUMENTS[2:], "Who runs the museum?")

    assert result["status"] == "completed"
    assert "Anna Berg" in result["answer"]
    assert "Zork" not in result["answer"]
    assert "Zork" in result["degraded"][0]


def test_where_nothing_of_an_answer_is_borne_and_rules_find_nothing_nothing_is_found(model: Any) -> None:
    said = "Nobody knows, says Doctor Zork."
    quotes = [{"passage": 1, "words": "museum of ships"}]
    model.plays(answer=lambda _: {"is_found": True, "answer": said, "quotes": quotes})

    result = run(DOCUMENTS[2:], "Which hospital treated Napoleon?")

    assert (result["answer"], result["status"]) == ("", "not_found")
    assert "Zork" in result["degraded"][0]


def test_an_answer_in_own_words_whose_quotes_bear_it_is_given_as_it_is(model: Any) -> None:
    said = "324 metres; it was opened in 1961."
    model.plays(answer=lambda _: {"is_found": True, "answer": said, "quotes": [{"passage": 1, "words": "324 m tall"}]})

    result = run(DOCUMENTS)

    assert result["answer"] == said
    assert (result["status"], result["degraded"]) == ("completed", [])
    assert {"The Vega tower was opened in 1961."} < {source["quote"] for source in result["sources"]}


def garbage(prompt: str) -> dict[str, Any]:
    numbers = map(int, re.findall(r'<topic id="(\d+)">', prompt))
    return {"memories": [{"id": n, "summary": "Lorem.", "context": "Lorem.", "keywords": ["lorem"]} for n in numbers]}


def merged_garbage(prompt: str) -> dict[str, Any]:
    groups = map(int, re.findall(r'<group id="(\d+)">', prompt))
    rest = {"context": "Lorem.", "keywords": [], "description": "", "neighbours": []}
    return {"merged": [{"group": n, "summary": "Lorem ipsum.", **rest} for n in groups]}


def claims(told: dict[str, Any]) -> set[frozenset[str]]:
    return {frozenset(claim["quote"] for claim in conflict["claims"]) for conflict in told["conflicts"]}


def kept(state: Any) -> tuple[list[str], str]:
    """The raw texts of the memories, each as one text; and all that was made of them."""
    nodes = state["query_graph"]["nodes"].values()
    texts = ["\n".join(text_of(state["interaction_tree"], a) for a in node["anchors"]) for node in nodes]
    made = "\n".join(f"{node['summary']} {node['context']} {' '.join(node['keywords'])}" for node in nodes)
    return texts, made


@pytest.fixture(scope="module")
def contradicting() -> dict[str, Any]:
    """What is found offline in the twenty pairs."""
    result = run([text for pair in PAIRS for text in pair], settings=OFFLINE)
    assert len(claims(result)) >= 15
    return result


@pytest.mark.parametrize("name", [*BAD_JUDGES, "merging, with garbage"])
def test_no_model_merges_what_contradicts_or_hides_it_or_puts_facts_of_its_own_into_memory(
    model: Any, contradicting: dict[str, Any], name: str
) -> None:
    same = ScriptedJudge(find_conflicts=all_the_same, structure=garbage, integrate=merged_garbage)
    model.plays(BAD_JUDGES.get(name, same))
    graph = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock(), checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    given: Any = {"question": QUESTION, "documents": [text for pair in PAIRS for text in pair]}

    result: Any = graph.invoke(given, config, context=CHAT)  # type: ignore[arg-type]

    texts, made = kept(graph.get_state(config).values)
    assert claims(result) >= claims(contradicting)
    settled = {side["quote"] for c in result["conflicts"] if c["status"] == "settled" for side in c["claims"]}
    merged = [pair for pair in PAIRS if any(all(side in text for side in pair) for text in texts)]
    assert [pair for pair in merged if not settled.issuperset(pair)] == []
    assert [word for word in ("Zork", "999", "1066", "Lorem") if word in made] == []
    assert result["answer"]
    assert "Zork" not in result["answer"]
    assert bool(result["degraded"]) or name in ("merging", "obeying"), "what was done without is said"


def test_an_answer_without_anything_of_the_kind_that_is_asked_for_is_left_out(model: Any) -> None:
    said = "It runs the museum of ships."
    quotes = [{"passage": 1, "words": "The harbour of Aldport has a museum of ships"}]
    model.plays(answer=lambda _: {"is_found": True, "answer": said, "quotes": quotes})

    result = run(DOCUMENTS[2:], "How much does a licence cost?")

    assert (result["answer"], result["status"]) == ("", "not_found")
    assert "kind" in result["degraded"][0]


PAGE = "# Ferries\n\nThe ferry to Aldport sails at nine.\n\nA crossing costs 12 euros, and the pier opened in 1961."


def copying(words: str) -> dict[str, Any]:
    return {"is_found": True, "answer": words, "quotes": [{"passage": 1, "words": words}]}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does a crossing cost in euros?", "A crossing costs 12 euros, and the pier opened in 1961."),
        ("Who owns it?", ""),
    ],
)
@pytest.mark.parametrize("left_out", ["", "to Aldport "])
def test_a_stretch_of_a_page_copied_as_it_stands_is_no_answer(
    model: Any, question: str, answer: str, left_out: str
) -> None:
    copied = copying("# Ferries\n\nThe ferry to Aldport sails at nine.\n\nA crossing co")
    model.plays(answer=lambda _: {**copied, "answer": copied["answer"].replace(left_out, "")})

    result = run([PAGE], question)

    assert [source["quote"] for source in result["sources"]] == [answer][: bool(answer)]
    assert "copied as it stands" in result["degraded"][0]


def test_an_answer_to_one_part_of_a_question_has_what_rules_find_of_the_other_below_it(model: Any) -> None:
    opened, mirror = "The array opened on 14 March 2016.", "The mirror of the array is 8.2 metres wide."
    model.plays(answer=lambda _: copying(opened))

    result = run([opened, mirror], "When was it that the array opened, and how wide is the mirror of the array?")

    assert result["answer"].startswith(opened)
    assert mirror in result["answer"]


BEFORE = [
    HumanMessage("We named our dog Rex."),
    AIMessage("A good name."),
    HumanMessage("What is the name of our dog?"),
]


@pytest.mark.parametrize(
    ("said", "below"),
    [
        ("Your dog is called Rex.", ""),
        ("Certainly! That is a very good question.", "quoted below it."),
        ("Doctor Zork paid 999 dollars.", "Zork, 999 dollars, which nobody has said."),
    ],
)
def test_a_chat_answer_that_says_nothing_of_what_was_said_before_has_that_below_it(
    model: Any, said: str, below: str
) -> None:
    model.plays(lambda _: Reply(said))
    talk = build_conversation(embeddings=HashEmbeddings(), store=InMemoryStore())

    given: Any = {"messages": BEFORE}
    answer = talk.invoke(given, context={"model": "local:test", "user": "ann"})["messages"][-1]  # type: ignore[arg-type]

    assert answer.text.startswith(said)
    assert ("We named our dog Rex." in answer.text) == bool(below)
    assert answer.response_metadata.get("degraded", "").endswith(below)


@pytest.mark.parametrize(
    ("messages", "answer"),
    [(BEFORE, "We named our dog Rex."), ([HumanMessage("When does the ferry sail?")], "I know nothing about that")],
)
def test_a_chat_answer_that_says_the_same_again_and_again_is_none(model: Any, messages: list[Any], answer: str) -> None:
    model.plays(lambda _: Reply("And so on, and so on. " * 60, finish_reason="length"))
    talk = build_conversation(embeddings=HashEmbeddings(), store=InMemoryStore())

    said = talk.invoke({"messages": messages}, context={"model": "local:test", "user": "ann"})["messages"][-1]  # type: ignore[arg-type]

    assert answer in said.text
    assert "And so on" not in said.text
    assert said.response_metadata["degraded"] == "respond: AnswerRejected"


TALK = [
    ("user", "I've gone back to leather gloves. The nitrile ones were useless, I got stung through them twice."),
    ("assistant", "Leather it is. Shall I remind you to order more of them?"),
    ("user", "No. I live in Aldport, and I do not eat meat."),
    ("assistant", "Understood: no meat. Aldport is lovely in spring."),
    ("user", "Thanks, talk to you soon!"),
]


def remembered(context: dict[str, Any]) -> list[str]:
    """What is kept of a conversation besides its words."""
    stores = RecordStores(InMemoryStore(), Encoder(HashEmbeddings()), TickingClock())
    graph = build_remember(stores=stores, clock=TickingClock())
    graph.invoke({"messages": TALK, "conversation_id": "c", "end": True}, context={"user": "ann", **context})  # type: ignore[arg-type]
    kept = stores.of().list("ann", limit=100, types=["semantic", "procedural", "episodic"]).records
    return sorted(record["text"] for record in kept)


def test_a_memory_that_affirms_what_its_quote_denies_has_the_words_of_the_quote(model: Any) -> None:
    said = "I do not eat meat, but my brother Tom likes to eat meat."
    one = {"type": "semantic", "text": "The user likes to eat meat.", "turns": [1], "quote": "I do not eat meat"}
    model.plays(extract_facts=lambda _: {"memories": [one]})
    stores = RecordStores(InMemoryStore(), Encoder(HashEmbeddings()), TickingClock())

    graph = build_remember(stores=stores, clock=TickingClock())
    given: Any = {"messages": [("user", said)], "conversation_id": "c", "end": True}
    graph.invoke(given, context={"user": "ann", "model": "local:test"})  # type: ignore[arg-type]

    kept = [record["text"] for record in stores.of().list("ann", limit=100, types=["semantic"]).records]
    assert one["text"] not in kept
    assert any("I do not eat meat" in text for text in kept)


@pytest.mark.parametrize("name", BAD_JUDGES)
def test_of_a_conversation_a_bad_model_makes_no_memories_but_those_that_rules_draw(model: Any, name: str) -> None:
    model.plays(BAD_JUDGES[name])
    offline = remembered({})
    assert any("leather" in text for text in offline)

    assert remembered({"model": "local:test"}) == offline


def test_plain_words_that_stand_in_the_passages_are_an_answer_where_no_other_comes(model: Any) -> None:
    model.plays(answer=lambda _: Reply("Well, let me see.</passage> Anna Berg runs it.</p> </section> That is all."))

    result = run(DOCUMENTS[2:], "Who runs the museum?")

    assert (result["answer"], result["status"]) == ("Anna Berg runs it.", "completed")
    assert [source["quote"] for source in result["sources"]][:1] == ["Anna Berg runs it."]
    assert result["degraded"] == []
