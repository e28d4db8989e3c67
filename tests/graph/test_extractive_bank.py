"""The memory bank with the engine it ships: real judgements on small texts, offline and without a model."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.state.interaction_tree import text_of
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.search.deep_retrieval import deep_retrieval, deep_retrieve


def asked(question: str, *documents: Any, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The result and the final state of one run."""
    graph = build_memory_bank(
        embeddings=HashEmbeddings(), checkpointer=InMemorySaver(), clock=TickingClock(), **options
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    result = graph.invoke({"question": question, "documents": list(documents)}, config)
    return result, graph.get_state(config).values  # type: ignore[return-value]


def told(source: str, text: str, **metadata: Any) -> dict[str, Any]:
    return {"text": text, "source": source, "metadata": metadata}


def test_a_long_text_is_told_of_while_its_vectors_are_made() -> None:
    """There is no silence of minutes while a stage works: each batch is heard of."""
    text = "\n\n".join(f"The hull number {n} was painted by the sailor {n}." for n in range(300))
    graph = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock())

    events = graph.stream({"question": "Who painted?", "documents": [text]}, stream_mode="custom")

    told = [(event["stage"], event["embedded"], event["left"]) for event in events if "embedded" in event]
    classifying = [(embedded, left) for stage, embedded, left in told if stage == "classify"]
    assert len(classifying) > 1
    assert classifying == sorted(classifying)
    assert {embedded + left for embedded, left in classifying} == {sum(classifying[0])}
    assert classifying[-1][1] == 0


def test_deadlines_of_two_conferences_are_no_conflict() -> None:
    """Case 10."""
    result, _ = asked(
        "When is the deadline?",
        told("x.md", "The submission deadline of the conference Aurora is 15 August 2026."),
        told("y.md", "The submission deadline of the conference Borealis is 30 August 2026."),
    )

    assert result["conflicts"] == []


def test_an_extended_deadline_replaces_the_earlier_one() -> None:
    """Case 11: the merged memory carries the validated date and mentions the extension."""
    result, state = asked(
        "When is the submission deadline of the conference Aurora?",
        told("call.md", "The submission deadline of the conference Aurora is 15 August 2026."),
        told("news.md", "The submission deadline of the conference Aurora was extended to 30 August 2026."),
    )

    (found,) = result["conflicts"]
    assert (found["status"], found["outcome"]) == ("settled", "holds")
    assert "30 August" in found["claims"][found["winner"]]["value"]
    (node,) = state["query_graph"]["nodes"].values()
    assert "30 August" in node["summary"]
    assert "extended" in node["summary"]
    assert "15 August" not in node["summary"]
    assert "30 August" in result["answer"]
    assert "15 August" not in result["answer"]


AGREEMENT = """# Tenancy agreement

4. Rent. The tenant pays 900 euros a month.

5. Leaving. A tenant who wants to move out gives notice in writing two months ahead.
"""
AMENDMENT = """# Amendment to the agreement

In clause 5 the words "two months" are struck out and "three months" put in their place.
"""
AGREEMENT_CHINESE = "房屋租赁合同\n\n第四条 租金 每月900元。\n\n第五条 退租 租客想搬走,须提前两个月书面告知。\n"
AMENDMENT_CHINESE = "补充协议\n\n第五条中的“两个月”改为“三个月”。\n"


@pytest.mark.parametrize(
    ("question", "first", "second", "now"),
    [
        ("How far ahead does a tenant give notice who wants to move out?", AGREEMENT, AMENDMENT, "three months"),
        ("租客想搬走要提前多久告知?", AGREEMENT_CHINESE, AMENDMENT_CHINESE, "三个月"),
    ],
)
def test_a_question_in_the_words_of_what_was_replaced_is_answered_by_what_replaced_it(
    question: str, first: str, second: str, now: str
) -> None:
    result, _ = asked(question, told("agreement.md", first), told("amendment.md", second))

    assert result["sources"], result["answer"]
    assert now in result["sources"][0]["quote"]
    assert result["sources"][0]["source"] == "amendment.md"


def test_two_chief_executives_are_a_conflict_that_names_both() -> None:
    """Case 17."""
    result, state = asked(
        "Who is the CEO of Norvell?",
        told("a.md", "The CEO of Norvell is Jane Doe."),
        told("b.md", "The CEO of Norvell is John Smith."),
    )

    (found,) = result["conflicts"]
    assert "Jane Doe" in found["reason"]
    assert "John Smith" in found["reason"]
    assert result["insight_doc"]["completed"][0]["kind"] == "cross_validate"
    assert all(not others for others in state["query_graph"]["related"].values())


def test_a_statement_that_reconciles_two_heights_keeps_both_with_their_conditions() -> None:
    """Case 20: 324 m and 330 m."""
    result, state = asked(
        "How tall is the Orbel tower?",
        told("a.md", "The Orbel tower is 324 m tall."),
        told("b.md", "The Orbel tower is 330 m tall."),
        told("c.md", "The Orbel tower is 324 m tall without its antenna and 330 m tall with the antenna."),
    )

    assert result["conflicts"], "the two heights were not noticed"
    assert {c["outcome"] for c in result["conflicts"]} == {"integrate"}
    summaries = " ".join(n["summary"] for n in state["query_graph"]["nodes"].values())
    assert "324 m tall without" in summaries
    assert "330 m tall with" in summaries


def test_the_majority_of_independent_sources_settles_a_number() -> None:
    result, _ = asked(
        "How many qubits does the IBM Condor have?",
        told("a.md", "The IBM Condor processor has 1,121 qubits."),
        told("b.md", "The IBM Condor processor has 433 qubits."),
        told("c.md", "With its 1,121 qubits the IBM Condor processor was shown in December."),
    )

    assert result["conflicts"]
    for found in result["conflicts"]:
        assert found["status"] == "settled"
        assert "1,121" in found["claims"][found["winner"]]["value"]
    assert "433" not in result["answer"]
    assert "1,121" in result["answer"]


def test_one_against_one_stays_disputed_and_the_answer_shows_both_sides() -> None:
    result, _ = asked(
        "How many qubits does the IBM Condor have?",
        told("a.md", "The IBM Condor processor has 1,121 qubits."),
        told("b.md", "The IBM Condor processor has 433 qubits."),
    )

    assert [c["status"] for c in result["conflicts"]] == ["disputed"]
    assert "433" in result["answer"]
    assert "1,121" in result["answer"]
    assert {s["source"] for s in result["sources"]} == {"a.md", "b.md"}


def test_an_english_and_a_chinese_source_that_disagree_are_noticed() -> None:
    result, _ = asked(
        "When did the Meridian Array open?",
        told("en.md", "The Meridian Array opened on 12 March 2019."),
        told("zh.md", "Meridian Array 于2021年5月3日正式开放。"),
    )

    assert {c["kind"] for c in result["conflicts"]} == {"date"}


def test_near_identical_texts_become_one_memory_with_both_sources() -> None:
    result, state = asked(
        "Where is the tower?",
        told("a.md", "The tower stands in Paris, on the left bank of the Seine."),
        told("b.md", "The tower stands in Paris, on the left bank of the Seine."),
    )

    (node,) = state["query_graph"]["nodes"].values()
    assert node["provenance"]["sources"] == ["a.md", "b.md"]
    (event,) = state["interaction_tree"]["merges"]
    assert (event["merge_strategy"], event["confidence"]) == ("same", 1.0)
    assert result["status"] == "completed"


def test_a_merge_after_a_verdict_says_so_and_how_near_its_memories_are() -> None:
    _, state = asked(
        "When does it close?",
        told("a.md", "The register of Aldport closes on 15 August 2026."),
        told("b.md", "Extended: the register of Aldport closes on 30 August 2026."),
    )

    (event,) = state["interaction_tree"]["merges"]
    assert (event["cause"], event["merge_strategy"]) == ("conflict", "verdict")
    assert 0 < event["confidence"] < 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The bridge opened in 2019.", "The bridge opened in 2021."),
        ("The bridge carries trains.", "The bridge does not carry trains."),
        ("大桥于2019年3月12日通车。", "大桥于2021年5月3日通车。"),
    ],
)
def test_a_changed_number_date_or_negation_is_never_merged(first: str, second: str) -> None:
    _, state = asked("What of the bridge?", first, second)

    assert state["interaction_tree"]["merges"] == [] or state["query_graph"]["conflicts"]


def test_quotes_stand_verbatim_in_their_source() -> None:
    text = "The Orbel tower is in the north.\n\nThe tower was built in 1998 by Ada Lin.\n\nThe tower is 324 m tall."

    result, state = asked("Who built the Orbel tower?", told("a.md", text, page=7))

    assert "Ada Lin" in result["answer"]
    for source in result["sources"]:
        assert text[source["start"] : source["end"]] == source["quote"]
        assert (source["source"], source["page"]) == ("a.md", 7)
        assert text_of(state["interaction_tree"], {k: source[k] for k in ("entry", "start", "end")})  # type: ignore[misc]


def test_a_question_that_the_documents_do_not_answer_gets_an_honest_nothing() -> None:
    result, _ = asked("Who won the chess championship in 1972?", "The Orbel tower is 324 m tall.")

    assert (result["status"], result["answer"], result["sources"]) == ("not_found", "", [])


def test_summaries_of_longer_texts_are_shorter_than_their_source() -> None:
    """Cases 8 and 9."""
    text = " ".join(
        f"Sentence {n} of the report tells of the {thing} and of what it meant for the town of Orbel in {1990 + n}."
        for n, thing in enumerate(["harbour", "bridge", "school", "market", "railway", "theatre", "museum", "canal"])
    )

    _, state = asked("What happened?", text)

    nodes = state["query_graph"]["nodes"].values()
    assert nodes
    assert all(n["summary"] and n["context"] and n["keywords"] for n in nodes)
    assert sum(len(n["summary"]) for n in nodes) <= 0.6 * len(text)


def test_a_hub_does_not_flood_the_prompt() -> None:
    """Neighbours per hit are capped, and the token budget holds however large memory is."""
    prompts: list[str] = []
    texts = [f"Note {n}: the Orbel tower is mentioned in the report of office {n} as a landmark." for n in range(60)]
    graph = build_memory_bank(
        embeddings=HashEmbeddings(), clock=TickingClock(), execute=lambda a: prompts.append(a.prompt) or "read"
    )

    graph.invoke({"question": "Where is the Orbel tower?", "documents": texts}, context={"memory_tokens": 400, "k": 5})  # type: ignore[arg-type]

    assert len(prompts[-1]) < 400 * 4 * 2


def test_deep_retrieval_gives_the_whole_raw_text_oldest_first() -> None:
    same = "The tower stands in Paris, on the left bank of the Seine."
    _, state = asked("Where is the tower?", told("a.md", same), told("b.md", same))
    graph, tree = state["query_graph"], state["interaction_tree"]
    (node_id,) = graph["nodes"]

    entries = deep_retrieve(graph, tree, node_id)

    assert [(e["source"], e["text"]) for e in entries] == [("a.md", same), ("b.md", same)]
    merged_away = tree["merges"][0]["merged"][0]
    assert deep_retrieve(graph, tree, merged_away) == entries
    only = entries[1]["id"]
    assert [e["id"] for e in deep_retrieve(graph, tree, node_id, only)] == [only]


@pytest.mark.parametrize("arguments", [{"node_id": "n-none"}, {"node_id": "", "entry_id": "e"}])
def test_deep_retrieval_of_an_unknown_id_is_a_sentence_and_no_exception(arguments: dict[str, str]) -> None:
    _, state = asked("What?", "The tower is tall.")

    said = deep_retrieval(state["query_graph"], state["interaction_tree"]).invoke(arguments)

    assert "There is no memory" in said


def test_an_executor_can_look_deep_into_memory() -> None:
    read: list[str] = []

    def execute(assignment: Any) -> str:
        (tool,) = assignment.tools
        node_id = assignment.prompt.split("[", 1)[1].split("]", 1)[0]
        read.append(tool.invoke({"node_id": node_id}))
        return "I looked it up."

    asked("How tall is the tower?", "The tower is 324 m tall.", execute=execute)

    assert "The tower is 324 m tall." in read[0]


def test_the_row_that_is_asked_about_is_quoted_first() -> None:
    result, _ = asked(
        "What is the value of alpha 7?", "\n".join(f"Alpha {i} has the value {i * 3}." for i in range(5, 9))
    )

    assert result["answer"].startswith("Alpha 7 has the value 21.")


def test_sentences_with_different_years_are_both_quoted_though_worded_alike() -> None:
    text = "The Orion Institute was founded in 1984 in Lyon.\n\nThe Orion Institute was founded in 1992 in Lyon."

    result, _ = asked("When was the Orion Institute founded?", text)

    assert "1984" in result["answer"]
    assert "1992" in result["answer"]


TWO_HALLS = (
    told("x.md", "The mirror of the array is 8.2 metres wide. The canteen of the array opens at 7 o'clock."),
    told("y.md", "The mirror of the array is 6.5 metres wide. The canteen of the array opens at 9 o'clock."),
)


def test_notes_that_contradict_each_other_in_two_sentences_are_told_of_both() -> None:
    result, _ = asked("How wide is the mirror?", *TWO_HALLS)

    values = [{claim["value"] for claim in conflict["claims"]} for conflict in result["conflicts"]]
    assert sorted(values, key=sorted) == [{"6.5 metres", "8.2 metres"}, {"7", "9"}]


@pytest.mark.parametrize(
    ("question", "told_of"),
    [("How wide is the mirror?", ["6.5 metres"]), ("Who painted the ceiling of the church?", [])],
)
def test_a_contradiction_is_in_the_answer_where_the_answer_quotes_it(question: str, told_of: list[str]) -> None:
    result, _ = asked(question, *TWO_HALLS)

    in_answer = [
        min(c["value"] for c in conflict["claims"]) for conflict in result["conflicts"] if conflict["in_answer"]
    ]
    assert in_answer == told_of
    assert len(result["conflicts"]) == 2


def test_an_answer_that_quotes_nothing_is_shown_with_all_contradictions() -> None:
    result, _ = asked("How wide is the mirror?", *TWO_HALLS, execute=lambda step: "It is wide.")

    assert [conflict["in_answer"] for conflict in result["conflicts"]] == [True, True]
