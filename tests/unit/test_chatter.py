"""What only keeps a conversation going is no memory; what is said of one's life in the same breath is."""

import pytest

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.remembering.extraction import select


def drawn(text: str) -> list[str]:
    return [fact.words for fact in select([Turn(id="1", role="user", text=text, date="2026-03-04")])]


@pytest.mark.parametrize(
    "text",
    [
        "the third option is a lot shorter, use that one",
        "I don't follow that bit, could you put it differently",
        "cheers, I'll give it a go and let you know",
        "this one is way too formal but the title works",
        "I'd love a pun about cheese",
        "I could do with some ideas, something quick",
        "I need it in French, please keep it short",
        "my flatmate wants to know how magnets work",
        "I'm so sleepy right now, can't think straight",
        "what a week, I could scream",
        "hang on, the doorbell just went",
        "我没听明白，换个说法",
        "我想要三个标题，轻松一点的",
        "心里有点烦，陪我说说话",
        "第二个更好，就用这个",
    ],
)
def test_what_is_said_of_an_answer_or_a_mood_is_no_memory(text: str) -> None:
    assert drawn(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "that one is too long, my boss never reads past a page",
        "I'm always tired on Mondays because I work nights at the bakery",
        "I need insulin four times a day",
        "I like the blue one best, we painted our kitchen in it",
        "I'm anxious about lifts since I was stuck in one",
        "I don't understand Polish, my wife's parents only speak that",
        "我太累了，每天晚上都要照顾我妈",
        "我喜欢第二个，因为我女儿爱画画",
    ],
)
def test_what_is_said_of_ones_life_beside_it_is_kept(text: str) -> None:
    assert drawn(text)


@pytest.mark.parametrize("text", ["I live in Porto, thanks", "我住在苏州，谢谢"])
def test_thanks_take_nothing_from_what_was_told(text: str) -> None:
    assert drawn(text)
