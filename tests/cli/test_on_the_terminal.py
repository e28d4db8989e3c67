"""What `ask` and `show` print for people: the best quote apart from the others, contradictions side by side."""

from typing import Any

import pytest
from rich.cells import cell_len

from agentic_memory_bank.cli import memory_tree, outcome


def citation(quote: str, entry: str = "e1", start: int = 0) -> dict[str, Any]:
    return {"quote": quote, "source": f"{entry}.txt", "entry": entry, "start": start, "end": start + len(quote)}


def contradiction(*claims: dict[str, Any]) -> dict[str, Any]:
    return {
        **{"id": "c", "status": "disputed", "kind": "number", "reason": "Two numbers.", "outcome": "inconclusive"},
        **{"claims": [{**claim, "value": claim["quote"]} for claim in claims], "winner": None, "statement": ""},
        **{"explanation": "", "evidence": []},
    }


def printed(sources: list[dict[str, Any]], conflicts: list[dict[str, Any]], *, kept: bool = True) -> str:
    output = {
        "answer": "92 metres.",
        "sources": sources,
        "conflicts": conflicts,
        "status": "completed",
        "thread": "dam",
    }
    return "\n".join(outcome.answered(output, kept=kept, elapsed=1.0))


def test_the_best_quote_stands_apart_from_the_others() -> None:
    said = printed([citation("The dam is 92 metres high."), citation("It has been 92 metres.", "e2")], [])

    best, also = said.index("Best quote"), said.index("Also")
    assert best < said.index("The dam is 92 metres high.") < also < said.index("It has been 92 metres.")
    assert "Also" not in printed([citation("The dam is 92 metres high.")], [])


def test_contradictions_that_the_answer_does_not_quote_have_a_line_each() -> None:
    quote = citation("The dam is 92 metres high.")
    touching = {**contradiction(quote, citation("The dam is 71 metres high.", "e2")), "in_answer": True}
    tea = contradiction(citation("Tea costs 3 crowns.", "e3"), citation("Tea costs 4 crowns.", "e4"))

    said = printed([quote], [touching, *[{**tea, "in_answer": False}] * 7])

    before, elsewhere = said.split("Contradictions elsewhere")
    assert "71 metres" in before
    assert "crowns" not in before
    assert elsewhere.count("“Tea costs 3 crowns.” – “Tea costs 4 crowns.”") == 5
    assert "and 2 more" in elsewhere


def test_two_sides_stand_in_columns_of_one_width_chinese_too() -> None:
    claims = [
        {"node": "n1", "value": "6.5米", "quote": "主镜口径为6.5米，讲解员让我们站在镜面的边缘。" * 3},
        {"node": "n2", "value": "8.2 metres", "quote": "The primary mirror has a diameter of 8.2 metres. " * 3},
    ]
    found = {
        **{"thread": "t", "goal": "Why?", "status": "completed", "archived": [], "completed": [], "current": None},
        **{"memories": [], "merges": [], "attachments": [], "usage": None, "pause": None, "waits_for_executor": False},
        "conflicts": [
            {
                "status": "settled",
                "contradictions": [
                    {"kind": "number", "reason": "R.", "claims": claims, "outcome": "holds", "winner": 1}
                ],
            }
        ],
    }

    rows = [line for line in memory_tree.memory_tree(found) if " │ " in line]

    assert len({cell_len(line.rpartition(" │ ")[0]) for line in rows}) == 1
    assert "6.5米 (n1)" in rows[0]
    assert "✓ 8.2 metres (n2)" in rows[0]


@pytest.mark.parametrize("columns", ["60", "100"])
def test_on_a_terminal_no_line_is_wider_than_it(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    task = {"kind": "answer", "status": "success", "description": "word " * 60, "learned": "观察 " * 90}
    found = {
        **{"thread": "t", "goal": "Why? " * 40, "status": "completed", "archived": [], "completed": [task]},
        **{
            "current": None,
            "memories": [],
            "merges": [],
            "attachments": [],
            "conflicts": [],
            "usage": None,
            "pause": None,
        },
        "waits_for_executor": False,
    }
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", columns)

    assert max(cell_len(line) for line in memory_tree.memory_tree(found) if "\x1b" not in line) <= int(columns)
