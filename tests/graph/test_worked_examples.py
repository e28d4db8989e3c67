"""The worked examples of the specification, judged by a chat model that says what the specification says."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.graph.memory_bank import MemoryBank, build_memory_bank
from agentic_memory_bank.nodes.executors import Assignment
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]

SETTINGS = {"model": "local:test", "gate_english": -1}
ANTENNA = "The tower is 324 m tall without its antenna and 330 m with it."


def saved(**options: Any) -> tuple[MemoryBank, dict[str, Any]]:
    bank = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock(), checkpointer=InMemorySaver(), **options)
    return bank, {"configurable": {"thread_id": "t"}}


def ask(bank: MemoryBank, config: Any, question: str, *documents: Any, **settings: Any) -> dict[str, Any]:
    given = {"question": question, "documents": list(documents)}
    return bank.invoke(given, config, context={**SETTINGS, **settings})  # type: ignore[arg-type]


def memory_of(bank: MemoryBank, config: Any) -> dict[str, Any]:
    return bank.get_state(config).values["query_graph"]


def finding(pair: tuple[int, int], relation: str, kind: str = "", reason: str = "", *claims: str) -> dict[str, Any]:
    new, other = claims or ("", "")
    return {
        "new": pair[0], "other": pair[1], "relation": relation, "kind": kind, "reason": reason, "new_claim": new,
        "other_claim": other,
    }  # fmt: skip


def verdict(outcome: str, claim: int = 0, statement: str = "", why: str = "") -> dict[str, Any]:
    one = {
        "dispute": 1,
        "outcome": outcome,
        "claim": claim,
        "statement": statement,
        "explanation": why,
        "evidence": [1],
    }
    return {"verdicts": [one]}


def merged(summary: str, context: str = "", neighbours: Any = ()) -> dict[str, Any]:
    one = {"group": 1, "summary": summary, "context": context or summary, "keywords": ["k"], "description": "Made one."}
    return {"merged": [{**one, "neighbours": list(neighbours)}]}


def edge(pair: tuple[int, int]) -> dict[str, Any]:
    empty = {"new_context": "", "new_keywords": [], "other_context": "", "other_keywords": []}
    return {"new": pair[0], "other": pair[1], **empty}


def quotes(prompt: str, *words: str) -> list[dict[str, Any]]:
    """The words, each from every passage that is shown."""
    return [{"passage": n, "words": w} for n in range(1, prompt.count("<passage") + 1) for w in words]


def contradicting(shown: Any, *claims: str) -> Any:
    """A judge that finds the memories of two claims in conflict, once."""

    def judge(prompt: str) -> dict[str, Any]:
        seen = shown(prompt)
        found: list[dict[str, Any]] = []
        for new, other in seen.both(*claims):
            own = [next(c for c in claims if c in seen.memories[end]) for end in (new, other)]
            if own[0] != own[1]:
                reason = f"One says {own[0]}, the other {own[1]}."
                found.append(finding((new, other), "conflict", "number", reason, *own))
        return {"findings": found}

    return judge


def test_case_16_a_and_b_become_h_and_their_neighbours_c_and_d_are_refreshed(model: Any, shown: Any) -> None:
    def related(prompt: str) -> dict[str, Any]:
        seen = shown(prompt)
        return {"related": [edge(pair) for pair in seen.pairs if any("harbour" in seen.memories[i] for i in pair)]}

    def same(prompt: str) -> dict[str, Any]:
        return {
            "findings": [
                finding(pair, "merge", reason="Both tell of the harbour.") for pair in shown(prompt).both("harbour")
            ]
        }

    def one(prompt: str) -> dict[str, Any]:
        refreshed = [{"id": n, "context": "Beside H.", "keywords": ["beside"]} for n in (1, 2)]
        return merged("H: the harbour has two piers and a light.", neighbours=refreshed)

    model.plays(find_related=related, find_conflicts=same, integrate=one)
    bank, config = saved()
    ask(
        bank, config, "First?", "B: the harbour has two piers.", "C: the market is at the quay.", "D: boats bring fish."
    )
    before = memory_of(bank, config)
    model.server.reset()

    ask(bank, config, "Second?", "A: the harbour has a light.")

    after = memory_of(bank, config)
    (h,) = (node for node in after["nodes"].values() if node["summary"].startswith("H:"))
    others = [node for node in after["nodes"].values() if node is not h]
    assert [node["summary"][:2] for node in others] == ["C:", "D:"]
    assert sorted(after["related"][h["id"]]) == sorted(node["id"] for node in others)
    for node in others:
        assert h["id"] in after["related"][node["id"]]
        assert node["context"].startswith("Beside H")
        assert node["keywords"] == ["beside"]
        assert node["embedding"] != before["nodes"][node["id"]]["embedding"]
    assert h["provenance"]["merged_from"]
    later = model.kinds()[model.kinds().index("integrate") + 1 :]
    assert later[:1] == ["plan"], "H is not compared with the neighbours it inherited"
    assert len({anchor["entry"] for anchor in h["anchors"]}) == 2


def test_case_20_a_verdict_keeps_both_heights_with_their_qualifiers(model: Any, shown: Any) -> None:
    model.plays(
        find_conflicts=contradicting(shown, "324 m", "330 m"),
        validate=lambda prompt: verdict("integrate", statement=ANTENNA, why="The survey names both."),
        integrate=lambda prompt: merged(ANTENNA),
    )
    bank, config = saved()

    result = ask(bank, config, "How tall is the tower?", "The tower is 324 m tall.", "The tower is 330 m tall.")

    (node,) = memory_of(bank, config)["nodes"].values()
    assert node["summary"] == ANTENNA
    assert len({anchor["entry"] for anchor in node["anchors"]}) == 2
    assert [task["kind"] for task in result["insight_doc"]["completed"]] == ["cross_validate", "answer"]
    (conflict,) = result["conflicts"]
    assert (conflict["status"], conflict["outcome"], conflict["statement"]) == ("settled", "integrate", ANTENNA)
    assert sorted(claim["value"] for claim in conflict["claims"]) == ["324 m", "330 m"]
    (prompt,) = model.prompts("integrate")
    assert f"<established>{ANTENNA}</established>" in prompt
    assert "324 m tall" in prompt
    assert "330 m tall" in prompt


def test_case_8_a_short_text_on_ai_has_clusters_with_context_content_and_keywords(model: Any) -> None:
    text = "Transformers read all words of a text at once.\n\nDiffusion models paint by taking noise away."

    def topics(prompt: str) -> dict[str, Any]:
        return {
            "topics": [
                {"paragraphs": [{"first": n, "last": n}], "context": context, "keywords": [word]}
                for n, context, word in (
                    (1, "How transformers read.", "transformers"),
                    (2, "How pictures are made.", "noise"),
                )
            ]
        }

    model.plays(classify=topics)
    bank, config = saved()
    ask(bank, config, "What is told?", text)

    (asked,) = model.prompts("structure")
    assert "about: How transformers read.\nkeywords: transformers\nTransformers read all words" in asked
    assert "about: How pictures are made.\nkeywords: noise\nDiffusion models paint" in asked
    nodes = memory_of(bank, config)["nodes"].values()
    held = sorted((a["start"], a["end"]) for node in nodes for a in node["anchors"])
    assert [start for start, _ in held] == [0, *(end for _, end in held[:-1])]
    assert held[-1][1] == len(text)


def each_its_own(prompt: str) -> dict[str, Any]:
    """A judge for whom each paragraph is a topic."""
    numbers = range(1, prompt.count("<p id=") + 1)
    one = {"keywords": []}
    return {"topics": [{"paragraphs": [{"first": n, "last": n}], "context": f"C{n}.", **one} for n in numbers]}


def test_more_topics_than_one_call_can_compare_are_put_together(model: Any) -> None:
    model.plays(classify=each_its_own)
    bank, config = saved()
    text = "\n\n".join(f"Paragraph {n} tells of subject {n}." for n in range(60))

    ask(bank, config, "What is told?", text)

    nodes = memory_of(bank, config)["nodes"].values()
    assert 8 <= len(nodes) <= 16
    assert sum(a["end"] - a["start"] for node in nodes for a in node["anchors"]) == len(text)
    assert "about: C1. C2. C3. C4." in model.prompts("structure")[0]


def test_small_documents_that_share_a_call_keep_what_was_said_of_each(model: Any) -> None:
    model.plays(classify=each_its_own)
    bank, config = saved()

    ask(bank, config, "What is told?", *(f"Document {n} tells of subject {n}." for n in range(40)))

    assert model.kinds().count("classify") == 1
    assert len(memory_of(bank, config)["nodes"]) == 40
    shown = "".join(model.prompts("structure"))
    assert all(f"about: C{n + 1}.\nDocument {n} tells" in shown for n in range(40))


def test_case_10_deadlines_of_two_conferences_are_no_conflict(model: Any) -> None:
    bank, config = saved()

    result = ask(
        bank, config, "When is the deadline?", "The deadline of conference X is 15 August.",
        "The deadline of conference Y is 30 August.",
    )  # fmt: skip

    (asked,) = model.prompts("find_conflicts")
    assert "Another subject" in str(model.server.chats[model.kinds().index("find_conflicts")].messages[0]["content"])
    assert "conference X" in asked
    assert result["conflicts"] == []
    assert not memory_of(bank, config)["conflicts"]


def test_case_11_what_was_refuted_is_not_current_in_the_merged_text(model: Any, shown: Any) -> None:
    extended = "The deadline of the conference is 30 August, an extension of the earlier date."
    model.plays(
        find_conflicts=contradicting(shown, "15 August", "30 August"),
        validate=lambda prompt: verdict("holds", 2, why="The later one is an extension."),
        integrate=lambda prompt: merged(extended),
        answer=lambda prompt: {
            "is_found": True,
            "answer": "30 August",
            "quotes": quotes(prompt, "15 August", "30 August"),
        },
    )
    bank, config = saved()

    result = ask(
        bank, config, "When is the deadline?", "The deadline of the conference is 15 August.",
        "The deadline of the conference is 30 August.",
    )  # fmt: skip

    (prompt,) = model.prompts("integrate")
    assert "<refuted>15 August</refuted>" in prompt
    assert "cause: conflict" in prompt
    (node,) = memory_of(bank, config)["nodes"].values()
    assert node["summary"] == extended
    (asked,) = model.prompts("answer")
    assert "<refuted>15 August</refuted>" in asked
    assert [source["quote"] for source in result["sources"]] == ["30 August"]


def test_case_12_the_first_step_towards_a_deadline_is_a_concrete_one(model: Any) -> None:
    steps = iter(["Find the call for papers of the conference."])

    def plan(prompt: str) -> dict[str, Any]:
        description = next(steps, "")
        return {"is_done": not description, "kind": "search" if description else "", "description": description}

    def executor(assignment: Assignment) -> str:
        if assignment.task["kind"] == "search":
            assert assignment.task["description"] == "Find the call for papers of the conference."
        return "The call says 15 August."

    model.plays(plan=plan)
    bank, config = saved(execute=executor)

    result = ask(bank, config, "Find the submission deadline.")

    (task,) = result["insight_doc"]["completed"]
    assert (task["kind"], task["status"]) == ("search", "success")
    assert "search: find information outside of memory" in model.prompts("plan")[0]


def test_case_17_two_names_for_one_office_are_validated_next_and_no_special_edge_appears(
    model: Any, shown: Any
) -> None:
    model.plays(find_conflicts=contradicting(shown, "Ann Lee", "Bob Ray"))
    bank, config = saved()

    result = ask(bank, config, "Who leads Acme?", "The CEO of Acme is Ann Lee.", "The CEO of Acme is Bob Ray.")

    (conflict,) = result["conflicts"]
    assert "Ann Lee" in conflict["reason"]
    assert "Bob Ray" in conflict["reason"]
    assert conflict["status"] == "disputed"
    first = result["insight_doc"]["completed"][0]
    assert first["kind"] == "cross_validate"
    assert "Ann Lee" in first["description"]
    assert "Bob Ray" in first["description"]
    memory = memory_of(bank, config)
    assert len(memory["nodes"]) == 2
    assert not any(memory["related"].values())


@pytest.mark.parametrize(("faults", "statuses"), [(1, ["success"]), (2, ["failure", "success"])])
def test_case_24_a_step_that_fails_once_succeeds_and_one_that_fails_twice_is_marked_failed(
    model: Any, faults: int, statuses: list[str]
) -> None:
    left = [ToolError("This step fails on purpose.")] * faults

    def plan(prompt: str) -> dict[str, Any]:
        number = prompt.count("- answer, ")
        return {"is_done": "- answer, success" in prompt, "kind": "answer", "description": f"Answer, way {number + 1}."}

    def executor(assignment: Assignment) -> str:
        if left:
            raise left.pop()
        return "The tower is 324 m tall."

    model.plays(plan=plan)
    bank, config = saved(execute=executor)

    result = ask(bank, config, "How tall is the tower?", "The tower is 324 m tall.")

    assert [task["status"] for task in result["insight_doc"]["completed"]] == statuses
    assert result["answer"] == "The tower is 324 m tall."
    assert result["status"] == ("completed" if faults == 1 else "completed_with_failures")
    assert all("fails on purpose" not in str(node) for node in memory_of(bank, config)["nodes"].values())
