"""A question about how somebody wants to be answered is told from others, and so is a memory that says it."""

import pytest

from agentic_memory_bank.engines.extractive.answering.wishes import applies, asks_for_a_wish, is_a_wish


@pytest.mark.parametrize(
    "question",
    [
        "How should you format your replies to me?",
        "how should things be explained to me",
        "How should dosages be written for me?",
        "What tone do I like your answers in?",
        "How should you go about explaining a topic to me?",
        "How should losses be shown in my tables?",
        "I'm sending you a draft, what do I want back?",
        "你该用什么语气跟我说话？",
        "回我话的时候啥东西不能带？",
        "帮我起草意见的时候格式上有啥讲究？",
    ],
)
def test_a_question_about_answers_is_heard(question: str) -> None:
    assert asks_for_a_wish(question)


@pytest.mark.parametrize(
    "question",
    [
        "How should you feed a baby?",
        "What do I get back from the tax office?",
        "帮我爸买药的时候怎么挑？",
        "How is osmosis explained in my textbook?",
        "How should I word my letter?",
        "What did you write to me?",
    ],
)
def test_a_question_about_something_else_is_none(question: str) -> None:
    assert not asks_for_a_wish(question)


@pytest.mark.parametrize(
    "memory",
    [
        "Please explain stuff with pictures made of words.",
        "When you explain, use examples from football.",
        "回答我短一点。",
    ],
)
def test_a_wish_for_answers_is_known(memory: str) -> None:
    assert is_a_wish(memory)


@pytest.mark.parametrize(
    "memory",
    ["We always take pictures on the beach.", "numbers always scare me", "给我写信的前女友要结婚了", "我姐姐在成都。"],
)
def test_what_is_no_wish_for_answers_is_none(memory: str) -> None:
    assert not is_a_wish(memory)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("Always name the brand when I ask about running shoes.", "Which shoes are good for running?"),
        ("when I talk about my garden give me the Latin names too", "what can I plant in the garden in May?"),
        ("If I ask for recipes, no coriander please", "Have you got a recipe for soup?"),
        ("我问天气的时候要告诉我湿度", "明天天气怎么样？"),
        ("每次我聊到球赛，别剧透", "昨晚的球赛好看吗？"),
    ],
)
def test_a_wish_that_says_when_it_holds_applies_to_what_it_is_about(wish: str, message: str) -> None:
    assert applies(wish, message, cosine=0.2)
    assert not applies(wish, "How much is my rent?", cosine=0.1)


@pytest.mark.parametrize(
    "told",
    [
        "When I ask about the rent they say nothing.",
        "I asked about the rent when Bob was there, always a mistake.",
        "If I ask for a coffee in Rome they give me an espresso.",
        "The rent is 900, always on the first.",
        "我问房租的时候他没说话",
    ],
)
def test_what_is_told_of_asking_is_no_wish(told: str) -> None:
    assert not applies(told, "What is the rent? Coffee? 房租多少", cosine=0.9)


def test_a_wish_in_other_words_than_the_message_applies_where_they_are_alike_in_meaning() -> None:
    wish = "Please mention the price when I ask about footwear."
    assert applies(wish, "Which shoes should I buy?", cosine=0.5)
    assert not applies(wish, "Which shoes should I buy?", cosine=0.4)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("Keep e-mails under 120 words.", "Write an email to the landlord about the heating"),
        ("Sign my letters with 'Yours, Bea'", "Write a letter to the council about the bins"),
        ("for recipes give amounts in grams please", "How do I make banana bread?"),
        ("never use exclamation marks in anything you write for me", "Write a birthday card for Nan"),
        ("写邮件的时候落款用“小周”", "帮我写封邮件给房东"),
        ("翻译的时候保留原文的人名", "帮我翻译这段话：Hello Anna"),
        ("我问菜谱的时候按两个人的量给", "红烧肉怎么做？"),
        ("推荐餐厅的时候人均别超过150", "附近有什么好吃的川菜？"),
    ],
)
def test_a_wish_about_a_kind_of_text_applies_where_one_is_asked_for(wish: str, message: str) -> None:
    assert applies(wish, message, cosine=0.1)
    assert not applies(wish, "Why is the sky blue?", cosine=0.1)
    assert not applies(wish, "天为什么是蓝的", cosine=0.1)


@pytest.mark.parametrize(
    "told",
    ["I keep my e-mails under 120 words.", "My letters to the council are never answered.", "我写邮件的时候总是跑题"],
)
def test_what_somebody_does_themselves_is_no_wish(told: str) -> None:
    assert not applies(told, "Write an email and a letter to the council, 帮我写封邮件", cosine=0.1)
