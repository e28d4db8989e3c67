"""A message that tells to forget something is divided into the wish and the news told beside it."""

import pytest

from agentic_memory_bank.engines.extractive.forgetting import subjects_described, wish_in


@pytest.mark.parametrize(
    ("said", "wish", "news"),
    [
        (
            "Forget what I said about the trip, and by the way my new number plate is RX12 KLM",
            "Forget what I said about the trip",
            "by the way my new number plate is RX12 KLM",
        ),
        (
            "Forget what I said about the trip and by the way I switched to Android",
            "Forget what I said about the trip",
            "by the way I switched to Android",
        ),
        (
            "trash everything related to the boat. My plate is RX12 KLM now",
            "trash everything related to the boat",
            "My plate is RX12 KLM now",
        ),
        (
            "I got a new plate. It's RX12 KLM. Please forget what I said about my landlord.",
            "Please forget what I said about my landlord",
            "I got a new plate. It's RX12 KLM.",
        ),
        (
            "you know that whole inheritance thing? let's never talk about it again. I live in Bonn.",
            "you know that whole inheritance thing? let's never talk about it again",
            "I live in Bonn.",
        ),
        ("Forget my old address, I live in Turku now", "Forget my old address", "I live in Turku now"),
        (
            "You can drop what I said about the gym, I swim at the lake now",
            "You can drop what I said about the gym",
            "I swim at the lake now",
        ),
        ("Forget the old plan, we fly on Friday", "Forget the old plan", "we fly on Friday"),
        ("Forget about the loan, I regret it now", "Forget about the loan", ""),
        ("Forget what I said about Leo, we're divorced now", "Forget what I said about Leo", ""),
        ("忘掉我的旧地址，我现在住在无锡", "忘掉我的旧地址", "我现在住在无锡"),
        ("把我妹妹离婚的事删了吧，她不想让人知道。我下周搬去杭州。", "把我妹妹离婚的事删了吧", "我下周搬去杭州。"),
        ("忘掉我妹妹的事，对了我的新车牌是京A12345", "忘掉我妹妹的事", "对了我的新车牌是京A12345"),
    ],
)
def test_news_beside_a_wish_is_told_from_it(said: str, wish: str, news: str) -> None:
    found = wish_in(said)

    assert found is not None
    assert (found.words, found.news) == (wish, news)


@pytest.mark.parametrize(
    "said",
    [
        "Forget what I said about the trip and the hotel in Rome, it was silly",
        "Forget what I told you about Max and that he owes me money",
        "the choir part can go, I only lasted a month",
        "that stuff I told you about Lara's job interview, it wasn't mine to share, lose it would you",
        "Forget about my budget. What's the capital of France?",
        "Please forget my sister's address. She'd be furious if she knew. Thanks!",
        "About Marcus, erase that he pays me cash.",
        "ok can we pretend Andre never happened. like delete delete",
        "刚才说的刘师傅的事忘了吧，因为已经还清了",
        "之前说的那个牙医 忘了吧 不去了",
    ],
)
def test_what_belongs_to_a_wish_is_no_news(said: str) -> None:
    found = wish_in(said)

    assert found is not None
    assert found.news == ""


@pytest.mark.parametrize("said", ["We moved the wedding to June.", "我下周搬去杭州。", "By the way, I live in Bonn."])
def test_a_message_without_a_wish_has_none(said: str) -> None:
    assert wish_in(said) is None


def test_what_is_told_beside_a_wish_describes_nothing() -> None:
    assert subjects_described("Forget the trip. My plate is RX12 KLM.") == subjects_described("the trip")


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("Paulo and I have stopped. Could you drop everything about him?", "paulo"),
        ("About Fidelma and the wetsuit, wipe anything with her in it.", "fidelma"),
        ("Can we pretend Andre never happened?", "andr"),
        ("What Adaeze said about Calgary, I don't want that lying about. Remove it.", "calgar"),
        ("Baba doesn't want his heart surgery written down anywhere. Please remove the bypass.", "bypas"),
        ("Mum 的 BP 跟吃药的事帮我 delete 掉吧", "bp"),
        ("我媳妇有甲亢这个事儿你别往心里搁了", "甲亢"),
    ],
)
def test_what_a_wish_is_about_is_found_where_another_clause_names_it(said: str, about: str) -> None:
    words = {word for subject in subjects_described(said) for group in subject.groups for word in group}

    assert any(about in word for word in words)


@pytest.mark.parametrize(
    "said",
    [
        "Let's pretend it never happened.",
        "He acts like the war never happened.",
        "The story that never happened",
        "drop him off at five",
        "怎么 delete 一个文件",
        "你别往心里去，我就随口一说",
    ],
)
def test_what_only_sounds_like_it_is_no_wish(said: str) -> None:
    assert wish_in(said) is None


@pytest.mark.parametrize(
    "said",
    [
        "I don't want my penicillin allergy deleted.",
        "Make sure Dad's birthday isn't forgotten.",
        "I'd prefer my brother Tom not to be forgotten.",
        "我可不想你把青霉素过敏这事忘了",
        "你忘了我对花生过敏了。",
        "你忘了我女儿叫朵朵了呀。",
        "Forgot my mum's birthday, I feel awful.",
        "Deleted my Tinder last night.",
        "Remove our logo from the homepage.",
        "我想把纹身去掉",
        "把我的闹钟删了",
    ],
)
def test_who_wants_it_kept_or_complains_or_tells_what_was_done_wants_nothing_forgotten(said: str) -> None:
    assert wish_in(said) is None


@pytest.mark.parametrize(
    "said",
    [
        "I want my gallbladder removed.",
        "Customer data must be deleted after 30 days.",
        "Forget the diet, it's my birthday!",
        "Forget my ex, I've met somebody new.",
    ],
)
def test_what_may_be_about_the_world_is_asked_about_and_never_done_at_once(said: str) -> None:
    wish = wish_in(said)

    assert wish is not None
    assert not wish.telling.is_sure
