"""Memories are shown for a message they help with, and for no other."""

import pytest

from agentic_memory_bank.engines.extractive.remembering.relevance import Likeness, fit, helps, shared_characters


def like(
    cosine: float = 0.0, coverage: float = 0.0, rarest: float = 0.0, characters: float = 0.0, **kind: bool
) -> Likeness:
    known = {"is_turn": False, "by_assistant": False, "asks": False, **kind}
    return Likeness(cosine, coverage, rarest, characters, **known)


@pytest.mark.parametrize(
    "message",
    ["What's the boiling point of nitrogen?", "Write a haiku about the moon.", "李白是哪个朝代的？", "讲个笑话吧"],
)
def test_a_message_about_the_world_needs_no_memory(message: str) -> None:
    far = [like(cosine=0.2), like(cosine=0.1)] if message.isascii() else [like(cosine=0.6), like(cosine=0.5)]

    assert not helps(message, far)


@pytest.mark.parametrize(
    ("message", "best"),
    [
        ("Which florist did we choose for my wedding?", like(cosine=0.45, coverage=0.4, rarest=0.9)),
        ("我媳妇对什么过敏？", like(cosine=0.5, coverage=0.2, rarest=0.8, characters=0.4)),
    ],
)
def test_a_message_about_the_users_own_world_does(message: str, best: Likeness) -> None:
    assert helps(message, [best])


def test_without_memories_none_help() -> None:
    assert not helps("Where do I live?", [])


def test_what_was_extracted_comes_before_the_turn_and_the_turn_before_its_echo() -> None:
    fact, turn, echo = (
        like(cosine=0.5),
        like(cosine=0.5, is_turn=True),
        like(cosine=0.5, is_turn=True, by_assistant=True),
    )

    chances = fit("Where do I live?", [fact, turn, echo])

    assert chances == sorted(chances, reverse=True)
    assert len(set(chances)) == len(chances)


def test_function_characters_are_nobodys_subject() -> None:
    assert shared_characters("什么时候去做？", "我们什么时候都行") == 0.0
    assert shared_characters("钢琴课在哪天？", "钢琴在周六") == pytest.approx(2 / 3)
