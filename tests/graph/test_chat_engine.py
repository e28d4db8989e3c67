"""What a chat model may say wrongly, and what becomes of it."""

import re
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agentic_memory_bank.engines.llm.locating import closest, locate
from agentic_memory_bank.graph.memory_bank import MemoryBank, build_memory_bank
from agentic_memory_bank.prompts.fence import escape
from agentic_memory_bank.testing import TickingClock
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = [pytest.mark.server, pytest.mark.enable_socket]
SETTINGS = {"model": "local:test", "gate_english": -1}
CONFIG: Any = {"configurable": {"thread_id": "t"}}
FILLER = " ".join(f"Paragraph {n} tells of the weather on the plateau." for n in range(80))
LONG = [f"{FILLER} The Vega tower is {height} m tall." for height in (324, 330)]


def bank(**options: Any) -> MemoryBank:
    return build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock(), checkpointer=InMemorySaver(), **options)


def ask(graph: MemoryBank, *documents: str, config: Any = CONFIG, **settings: Any) -> dict[str, Any]:
    given: Any = {"question": "How tall is the Vega tower?", "documents": list(documents)}
    return graph.invoke(given, config, context={**SETTINGS, **settings})  # type: ignore[arg-type]


def found(relation: str, new_claim: str = "", other_claim: str = "") -> Any:
    reason = "The Vega tower is 324 m or 330 m tall."
    one = {"new": 1, "other": 2, "relation": relation, "kind": "number", "reason": reason}
    return lambda prompt: {"findings": [{**one, "new_claim": new_claim, "other_claim": other_claim}]}


def test_a_quote_whose_figure_stands_nowhere_is_no_quote() -> None:
    assert locate("The tower is 999 m tall.", "The tower is 324 m tall.") is None
    assert locate("The tower is just 324 m tall.", "The tower is 324 m tall.") == (0, 24)


@pytest.mark.parametrize("text", ["if a < b & c > d: stop", "\uff1cb\uff1e is bold", "Keep &lt; as it is."])
def test_a_quote_is_found_whether_or_not_it_is_written_as_it_was_shown(text: str) -> None:
    assert locate(text, f"Note: {text} Yes.") == locate(escape(text), f"Note: {text} Yes.") == (6, 6 + len(text))


def test_the_sentence_closest_to_some_words_is_one_of_the_text() -> None:
    text = "Tea grows in Yunnan. The tower measures 330 metres. Rain falls."
    start, end = closest("height given as 330 metres", text)
    assert text[start:end] == "The tower measures 330 metres."


def test_long_memories_that_rules_see_contradict_are_not_merged(model: Any) -> None:
    model.plays(find_conflicts=found("merge"))
    graph = bank()

    ask(graph, *LONG)

    assert len(graph.get_state(CONFIG).values["query_graph"]["nodes"]) == 2


def test_a_long_memory_is_compared_by_the_words_of_its_text_that_are_nearest_to_the_other(model: Any) -> None:
    longer = [f"{FILLER} " * 4 + one for one in LONG]
    ask(bank(), *longer)

    parts = re.findall(r"^words: (.*)$", model.prompts("find_conflicts")[0], re.MULTILINE)
    assert sorted(part.rpartition("The Vega tower is ")[2] for part in parts) == ["324 m tall.", "330 m tall."]
    assert all(len(part) < len(longer[0]) / 3 for part in parts), "in parts, not whole"


def test_where_there_is_room_a_contradiction_that_no_summary_tells_is_shown(model: Any) -> None:
    said = [f"{FILLER} {filler} {height} m. {FILLER}" for filler, height in (("It is", 324), ("Its top is at", 330))]
    ask(bank(), *said)

    (prompt, *_) = model.prompts("find_conflicts")
    assert "It is 324 m." in prompt
    assert "Its top is at 330 m." in prompt


@pytest.mark.parametrize(("output", "words"), [(4_096, 400), (500, 214), (200, 120)])
def test_a_summary_may_be_as_long_as_its_topic_needs_and_the_answer_holds(model: Any, output: int, words: int) -> None:
    ask(bank(), LONG[0], structure_output=output)

    assert model.prompts("structure")[0].endswith(f"At most {words} words each.")


def test_claims_that_stand_nowhere_become_the_sentences_that_say_them(model: Any) -> None:
    model.plays(find_conflicts=found("conflict", "height given as 324 metres", "height given as 330 metres"))

    result = ask(bank(), *LONG)

    quotes = [claim["quote"] for claim in result["conflicts"][0]["claims"]]
    assert all(len(quote) < 60 and "m tall" in quote for quote in quotes)


def test_the_same_words_on_both_sides_are_no_contradiction(model: Any) -> None:
    model.plays(find_conflicts=found("conflict", "The sea is blue.", "The sea is blue."))

    result = ask(bank(), "The sea is blue. Ships sail.", "The sea is blue. Gulls cry.")

    assert result["conflicts"] == []


def test_the_same_step_with_the_same_result_is_a_stall(model: Any) -> None:
    steps: list[str] = []
    model.plays(plan=lambda prompt: {"is_done": False, "kind": "solve", "description": "Think."})
    graph = bank(execute=lambda step: steps.append(step.prompt) or "The tower is tall.")

    waiting = ask(graph)

    assert waiting["__interrupt__"][0].value["reason"] == "stall"
    assert len(steps) <= 3


def test_a_settled_contradiction_is_not_argued_again_with_a_further_source(model: Any) -> None:
    def validated(prompt: str) -> dict[str, Any]:
        claims = prompt.split("<dispute")[1]
        winner = 1 if claims.index("330") < claims.index("324") else 2
        one = {"dispute": 1, "outcome": "holds", "claim": winner, "statement": "", "explanation": "Measured."}
        return {"verdicts": [{**one, "evidence": [1]}]}

    model.plays(find_conflicts=found("conflict", "330 m tall", "324 m tall"), validate=validated)
    graph = bank()
    ask(graph, "The Vega tower is 324 m tall.", "The Vega tower is 330 m tall.")
    model.begin()
    shown: list[str] = []
    model.plays(find_conflicts=lambda prompt: shown.append(prompt) or {"findings": []})

    ask(graph, "Engineers: the Vega tower is 330 m tall, as measured.")

    assert shown
    assert all("<points>" not in prompt for prompt in shown)


def test_of_questions_asked_together_it_is_told_how_many_are_answered(model: Any) -> None:
    given: Any = {"question": "How tall is the Vega tower?", "documents": LONG * 2 + [FILLER]}
    told = bank().stream(given, CONFIG, context={**SETTINGS, "window": 4_000}, stream_mode="custom")  # type: ignore[arg-type]

    counted = [(event["answered"], event["left"]) for event in told if "answered" in event]

    assert counted
    whole = sum(counted[0])
    assert whole > 1
    assert counted[:whole] == [(n, whole - n) for n in range(1, whole + 1)]


def test_usage_and_budgets_of_many_tasks_at_once_are_kept_apart(model: Any) -> None:
    graph = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock())
    given: Any = [
        {"question": f"How tall is tower {n}?", "documents": [f"Tower {n} is {n} m tall."]} for n in range(24)
    ]

    results = graph.batch(given, {"max_concurrency": 8}, context=SETTINGS)  # type: ignore[arg-type]

    assert sum(result["usage"]["calls"] for result in results) == len(model.server.chats)
    assert {result["usage"]["calls"] for result in results} == {4}


def test_two_runs_of_the_same_input_without_a_thread_count_apart(model: Any) -> None:
    graph = build_memory_bank(embeddings=HashEmbeddings(), clock=TickingClock())
    given: Any = {"question": "How tall?", "documents": ["The Vega tower is 324 m tall."]}

    first = graph.invoke(given, context=SETTINGS)  # type: ignore[arg-type]
    second = graph.invoke(given, context={**SETTINGS, "model": "local:other"})  # type: ignore[arg-type]

    assert first["usage"]["calls"] == second["usage"]["calls"] == 4
    assert {row["model"] for row in second["usage"]["roles"].values()} == {"local:other"}


def validated(outcome: str, statement: str, evidence: list[int]) -> Any:
    one = {"dispute": 1, "outcome": outcome, "claim": 0, "statement": statement, "explanation": "Looked into."}
    return lambda prompt: {"verdicts": [{**one, "evidence": evidence}]}


@pytest.mark.parametrize("outcome", ["integrate", "neither"])
def test_what_a_validation_found_true_is_told_to_whoever_answers(model: Any, outcome: str) -> None:
    prompts: list[str] = []
    statement = {
        "integrate": "The Vega tower is 324 m tall by one account, and <as measured> 330 m tall.",
        "neither": "The Vega tower is 327 m tall, <as measured>.",
    }[outcome]

    def answer(prompt: str) -> dict[str, Any]:
        prompts.append(prompt)
        return {"is_found": False, "answer": "", "quotes": []}

    claims = ("The Vega tower is 324 m tall.", "The Vega tower is 330 m tall.")
    model.plays(
        find_conflicts=found("conflict", *claims), validate=validated(outcome, statement, [1, 2]), answer=answer
    )

    ask(bank(), *LONG, "Survey of the plateau, as measured: 327 m from its foot to its tip.")

    (prompt,) = prompts
    assert prompt.count("<established>") == 1
    assert statement.replace("<", "&lt;").replace(">", "&gt;") in prompt
    assert prompt.count("<refuted>") == (2 if outcome == "neither" else 0)


def test_an_answer_without_a_validation_is_told_of_none(model: Any) -> None:
    prompts: list[str] = []
    model.plays(answer=lambda prompt: prompts.append(prompt) or {"is_found": False, "answer": "", "quotes": []})

    ask(bank(), LONG[0])

    assert "<established>" not in prompts[0]


THREE = (
    "The Vega tower is 324 m tall.",
    "Engineers of the city: the Vega tower is 330 m tall, as they measured.",
    "A guide for hikers says that the Vega tower is 330 m tall and closed on Mondays.",
)
WITHDRAWN = "The height that the engineers and the guide give for the Vega tower counts an antenna that is gone."


def deciding(outcome: str, statement: str, held: str, *naming: str) -> Any:
    """A judge that ends every dispute so, by the evidence with these words in it."""

    def validate(prompt: str) -> dict[str, Any]:
        shown = re.findall(r'<evidence id="(\d+)">\n(.*?)\n</evidence>', prompt, re.DOTALL)
        named = [int(number) for number, text in shown if any(words in text for words in naming)]
        told = {"outcome": outcome, "statement": statement, "explanation": "", "evidence": named}
        verdicts: list[dict[str, Any]] = []
        for number, text in re.findall(r'<dispute id="(\d+)">\n(.*?)\n</dispute>', prompt, re.DOTALL):
            claims = re.findall(r"^claim (\d+): (.*)$", text, re.MULTILINE)
            claim = next((int(n) for n, words in claims if held and held in words), 0)
            verdicts.append({"dispute": int(number), "claim": claim, **told})
        return {"verdicts": verdicts}

    return validate


def verdicts_on(*documents: str, thread: str = "t") -> tuple[set[tuple[str, str]], list[str]]:
    """How the contradictions ended, each with the value that holds, and what was done without the model."""
    result = ask(bank(), *documents, config={"configurable": {"thread_id": thread}})
    winners = [(c, c["winner"]) for c in result["conflicts"]]
    return {(c["status"], "" if w is None else c["claims"][w]["value"]) for c, w in winners}, result["degraded"]


@pytest.mark.parametrize(
    "said",
    [
        deciding("inconclusive", "", "", "324", "330"),
        deciding("holds", "", "324"),
        deciding("holds", "", "324", "324"),
        deciding("holds", "", "324", "324", "330", "antenna"),
        deciding("integrate", "The Vega tower is 324 m tall or 330 m tall.", "", "324", "330"),
        deciding("neither", "The Vega tower is not 324 m tall and not 330 m tall.", "", "324"),
    ],
)
def test_what_rules_settle_by_counting_no_model_unsettles_without_evidence_of_its_own(model: Any, said: Any) -> None:
    documents = (*THREE, "An antenna stands beside the Vega tower, which is tall.")
    model.plays(validate=said)

    ended, degraded = verdicts_on(*documents)

    assert ended == {("settled", "330 m")}
    assert any("what rules" in told for told in degraded)


def test_what_rules_leave_open_no_model_settles_without_evidence(model: Any) -> None:
    model.plays(validate=deciding("holds", "", "324"))
    assert verdicts_on(*THREE[:2])[0] == {("disputed", "")}

    model.plays(validate=deciding("holds", "", "324", "324"))
    assert verdicts_on(*THREE[:2], thread="other")[0] == {("settled", "324 m")}


def test_a_model_that_names_evidence_which_rules_cannot_weigh_decides_against_them(model: Any) -> None:
    model.plays(validate=deciding("holds", "", "324", "antenna that is gone"))

    assert verdicts_on(*THREE, WITHDRAWN) == ({("settled", "324 m")}, [])
