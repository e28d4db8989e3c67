"""When memories are worth a search, and what is searched."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_memory_bank.engines.conversation import ConversationEngine, GateDecision, Hints, Turn
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.extractive.remembering.queries import LONGEST_GREETING, MOST_TERMS

ENGINE = ExtractiveConversationEngine()
TOOLS = ("calculator", "get_time", "weather", "web_search")


def why(text: str, hints: Hints | None = None, history: Sequence[Turn] = ()) -> str:
    return ENGINE.gate(Turn("now", "user", text), history, hints).why


def said(*texts: str) -> list[Turn]:
    return [Turn(str(place), "user", text) for place, text in enumerate(texts)]


def test_the_offline_engine_is_a_conversation_engine() -> None:
    assert isinstance(ENGINE, ConversationEngine)
    assert ENGINE.name == "extractive"


@pytest.mark.parametrize(
    "text",
    [
        *("Hi", "hello", "HEY!", "hi there", "Howdy", "good morning", "thanks", "Thank you so much!", "bye", "ok"),
        *("yes", "nope", "what's up", "what’s up?", "ok, thanks", "  hello  ", "later", "yo"),
        *("你好", "你好！", "早上好", "谢谢", "好的，谢谢", "再见", "嗯嗯", "在吗？"),
    ],
)
def test_a_greeting_is_not_searched(text: str) -> None:
    assert why(text) == "greeting"


@pytest.mark.parametrize(
    "text",
    [
        *("Hi, what's my budget?", "hello, where do I live", "ok book it", "thanks to my sister I found it"),
        *("👋", "hello 👋", "привет", "history", "yesterday", "heyday", "!!!", "你好，我的预算是多少？", "好吃的店"),
    ],
)
def test_what_says_more_than_a_greeting_is_searched(text: str) -> None:
    assert why(text) == "search"


def test_a_greeting_has_25_characters_at_most() -> None:
    assert why("hello".ljust(LONGEST_GREETING, "!")) == "greeting"
    assert why("hello".ljust(LONGEST_GREETING + 1, "!")) == "search"


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_nothing_is_not_searched(text: str) -> None:
    assert why(text) == "empty"


@pytest.mark.parametrize(
    "text",
    [
        *("What is the capital of France?", "what's the population of Japan", "Who wrote Hamlet?", "define entropy"),
        *("What is a myth?", "What is an email?", "How does photosynthesis work?", "Tell me the capital of France."),
        *("How many ounces are in a pound?", "Explain the theory of relativity", "What does NATO stand for?"),
        "全球第二大的湖是哪个？",
        *("法国的首都是哪里？", "什么是机器学习？", "谁发明了电话？", "请问水的沸点是多少？", "“苹果”的英文是什么？"),
    ],
)
def test_a_fact_of_the_world_is_not_searched(text: str) -> None:
    assert why(text) == "fact"


@pytest.mark.parametrize(
    "text",
    [
        *("What is the capital of my country?", "WHO WROTE MY BOOK?", "I wonder: who wrote the book I'm reading?"),
        *("What's the distance to my office?", "Who painted mine?", "what is the meaning of our logo"),
        *("我的国家的首都是哪里？", "我昨天问的什么是机器学习？"),
    ],
)
def test_a_personal_pronoun_outweighs_a_fact(text: str) -> None:
    assert why(text) == "search"
    assert why(text, Hints(is_fact=True)) == "search"


@pytest.mark.parametrize("text", ["Is a myth true?", "Who reads email?", "Did Ned amuse Lime?", "Examine mimes"])
def test_a_pronoun_inside_a_word_is_none(text: str) -> None:
    assert why(text, Hints(is_fact=True)) == "fact"


@pytest.mark.parametrize("text", ["is it MINE?", "(my) size", "what've I,", "where I’ve been", "me!", "about myself"])
def test_pronouns_are_found_whatever_their_case_and_marks(text: str) -> None:
    assert why(text, Hints(is_fact=True)) == "search"


@pytest.mark.parametrize(
    "text",
    [
        *("When did Caroline go to the support group?", "What did Tim say about the book?", "Where does Emma live?"),
        *("What was the capital we discussed last time?", "How old is she?", "What is the plan?", "小明喜欢吃什么？"),
    ],
)
def test_what_may_be_remembered_is_searched(text: str) -> None:
    assert why(text) == "search"


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("what is 12 * 7?", ("calculator",)),
        ("What time is it?", ("get_time",)),
        ("What's the weather in Paris?", ("weather",)),
        ("北京今天天气怎么样？", ("weather",)),
        ("现在几点了？", ("clock",)),
    ],
)
def test_what_a_tool_answers_is_not_searched_where_there_is_that_tool(text: str, tools: tuple[str, ...]) -> None:
    assert why(text, Hints(tools)) == "tool"
    assert why(text, Hints(("translator",))) == "search"
    assert why(text) == "search"


@pytest.mark.parametrize("text", ["What is 15% of my budget plus 3 * 4?", "What's the weather where I live?"])
def test_a_tool_that_needs_to_know_the_user_is_no_reason_not_to_search(text: str) -> None:
    assert why(text, Hints(TOOLS)) == "search"


def test_what_the_caller_knows_is_believed_in_the_order_fact_tool_greeting() -> None:
    assert why("anything at all", Hints(is_fact=True, needs_tool=True)) == "fact"
    assert why("anything of mine", Hints(is_fact=True, needs_tool=True)) == "tool"
    assert why("hello", Hints(needs_tool=True)) == "tool"
    assert why("hello", Hints(is_fact=False, needs_tool=False)) == "greeting"
    assert why("What is the capital of France?", Hints(is_fact=False)) == "search"


def test_only_search_opens_the_gate() -> None:
    assert GateDecision("search").is_open
    assert not any(GateDecision(why).is_open for why in ("empty", "greeting", "fact", "tool"))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_every_text_is_judged_and_rewritten(text: str) -> None:
    assert why(text, Hints(TOOLS)) in ("search", "empty", "greeting", "fact", "tool")
    assert ENGINE.rewrite(text, said(text, text[::-1])).text.endswith(" ".join(text.split()))


# --- rewriting -----------------------------------------------------------------------------------------------------

TRIP = said("I am planning a Hawaii vacation in May", "My budget is $10,000", "Which hotels are near the beach")


@pytest.mark.parametrize(
    "query", ["how much?", "what about the flights from there", "and that one, is it good enough?"]
)
def test_a_query_that_stands_on_nothing_gets_the_terms_of_earlier_messages_in_front(query: str) -> None:
    found = ENGINE.rewrite(query, TRIP)

    assert {"Hawaii", "$10,000", "hotels", "beach"} <= set(found.added)
    assert found.text == " ".join((*found.added, query))


@pytest.mark.parametrize(
    "query",
    [
        "What is the best restaurant in Lisbon for dinner?",
        "where did Emma and Ana spend the summer?",
        "What did Emma learn from her sister in Rome?",
    ],
)
def test_a_query_that_can_be_understood_stays_as_it_is(query: str) -> None:
    assert ENGINE.rewrite(query, TRIP).text == query


@pytest.mark.parametrize(("length", "is_whole"), [(20, False), (21, True)])
def test_a_query_of_20_characters_is_too_short(length: int, is_whole: bool) -> None:
    assert (not ENGINE.rewrite("best beach of Hawaii".ljust(length, "!"), said("Maui first")).added) is is_whole


def test_only_the_last_three_messages_of_the_user_are_looked_at() -> None:
    history = [*said("zebras"), *TRIP, Turn("a", "assistant", "giraffes"), Turn("s", "system", "lions")]
    found = ENGINE.rewrite("how much?", history)
    assert not {"zebras", "giraffes", "lions"} & set(found.added)
    assert "Hawaii" in found.added


def test_a_history_that_ends_with_the_query_does_not_double_it() -> None:
    history = said("zebras in Kenya", "I like lions", "and tigers", "what about elephants?")
    assert ENGINE.rewrite("what about elephants?", history).text.count("elephants") == 1
    assert "zebras" in ENGINE.rewrite("what about elephants?", history).added


def test_without_a_history_the_query_stands_alone() -> None:
    assert ENGINE.rewrite("how much?", []).text == "how much?"
    assert ENGINE.rewrite("how much?", said("", "  ")).text == "how much?"


def test_a_chinese_query_gets_the_chinese_terms() -> None:
    found = ENGINE.rewrite("多少钱？", said("我打算五月份去夏威夷度假"))
    assert "夏威夷度假" in found.text
    assert found.text.endswith("多少钱？")


def test_no_more_terms_than_fit_are_put_in_front() -> None:
    long = " ".join(f"word{chr(97 + i)}{chr(98 + i)}" for i in range(24))
    assert len(ENGINE.rewrite("how much?", said(long)).added) == MOST_TERMS
