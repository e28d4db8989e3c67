"""What a model may say of a text: a limit may be told as one, and what is cut out of a denial may not."""

import pytest

from agentic_memory_bank.engines.extractive.support import undisputed, unsupported

DOSE = "Do not take more than 6 tablets in 24 hours."


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Six tablets in 24 hours at most.", DOSE),
        ("You may not take more than six tablets.", DOSE),
        ("At most 40 degrees.", "The oven must not exceed 40 degrees."),
        ("最高40度。", "炉温不得超过40度。"),
        ("Up to two bags are allowed.", "No more than two bags are allowed."),
    ],
)
def test_what_must_not_be_exceeded_is_told_as_a_limit(said: str, text: str) -> None:
    assert unsupported(said, [text]) == ()


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Take more than six tablets.", DOSE),
        ("The oven exceeds 40 degrees.", "The oven must not exceed 40 degrees."),
        ("炉温超过40度。", "炉温不得超过40度。"),
        ("Take paracetamol with 2 glasses of wine.", "Do not take paracetamol with 2 glasses of wine."),
    ],
)
def test_a_limit_and_a_denial_cannot_be_dropped(said: str, text: str) -> None:
    assert unsupported(said, [text]) == ("(not)",)


@pytest.mark.parametrize(
    ("asked", "quoted"),
    [("How far is the tower visible?", "The tower is not visible."), ("灯塔开放吗？", "灯塔不开放。")],
)
def test_a_question_takes_nothing_for_true_that_a_quote_denies(asked: str, quoted: str) -> None:
    assert undisputed(asked, [quoted]) == []
    assert undisputed(asked, ["The tower is white."]) == [asked]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("See https://vega.example/2024/lift/.", "All about it: vega.example/2024/lift"),
        ("See www.vega.example/2024.", "All about it: http://vega.example/2024?page=3"),
        ("See https://wiki.example/Vega_(tower)_1889.", "All about it: https://wiki.example/Vega_(tower)_1889"),
    ],
)
def test_an_address_is_told_where_the_text_has_it_written_otherwise(said: str, text: str) -> None:
    assert unsupported(said, [text]) == ()


@pytest.mark.parametrize("made_up", ["https://wiki.example/Vega_(tower)_1889", "https://lift", "www.vega.example/1066"])
def test_a_made_up_address_is_one_thing_and_not_the_numbers_in_it(made_up: str) -> None:
    assert unsupported(f"See {made_up}.", ["The lift is open: https://vega.example/1889"]) == (made_up,)
