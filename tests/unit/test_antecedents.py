"""A change that names nothing is about the thing that was named before with a value of its kind."""

import pytest

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.conversation import ExtractiveConversationEngine
from agentic_memory_bank.engines.extractive.remembering.antecedents import antecedent


def thing(said: str, *before: str) -> str | None:
    found = antecedent(said, before)
    return found and before[found[0]][slice(*found[1])]


@pytest.mark.parametrize(
    ("before", "said", "named"),
    [
        ("We booked the ferry for 12 June, it costs 240 euros.", "Actually we moved it to 19 June.", "the ferry"),
        ("I have a dentist appointment on Tuesday.", "They moved it to Thursday.", "a dentist appointment"),
        ("Lunch with Ana is on Tuesday.", "It's been moved to Thursday, by the way.", "Lunch with Ana"),
        ("Rent is 900 a month.", "It went up to 950.", "Rent"),
        ("The board meeting with Otso is on Wednesday.", "Scratch that, it's Thursday now.", "The board meeting"),
        ("The vet says he needs his second jab on the 25th.", "oh and they moved it to the 28th", "his second jab"),
        ("我们订了6月12号的船票。", "其实改到19号了。", "船票"),
        ("体检约在周三上午。", "又改到周四了", "体检"),
        ("我的房租是3500。", "现在涨到4000了。", "房租"),
    ],
)
def test_what_is_changed_without_its_name_was_named_before(before: str, said: str, named: str) -> None:
    assert thing(said, "My sister Mia lives in Bergen.", before) == named


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("The wedding is on Saturday.", "The party was moved to Friday."),
        ("I ordered the red sofa.", "We changed it to the blue one."),
        ("I live in York.", "I've moved to Leeds now."),
        ("Is the ferry on Monday?", "They moved it to Thursday."),
        ("The wedding is on Saturday.", "It was a long day."),
        ("体检约在周三上午。", "会议改到周四了"),
    ],
)
def test_what_names_its_thing_or_changes_no_value_of_that_kind_is_about_nothing_before(before: str, said: str) -> None:
    assert thing(said, before) is None


@pytest.mark.parametrize(
    ("before", "said", "named"),
    [
        ("We want to redo the bathroom this spring.", "roughly 7,500 euros for the whole thing", "the bathroom"),
        ("I'm planning the trip to Norway.", "Got the quote back, 4,200 euros all in.", "the trip"),
        ("The plumber came by about the new boiler.", "He wants 900 pounds for everything.", "the new boiler"),
        ("我们打算重新装修厨房。", "整个下来大概要7500欧元。", "重新装修厨房"),
        ("We want to redo the bathroom.", "Our kitchen was 7,500 euros for the whole thing.", None),
        ("We want to redo the bathroom.", "I slept through the whole thing.", None),
        ("我们打算重新装修厨房。", "婚礼一共花了三万元。", None),
    ],
)
def test_an_amount_for_the_whole_thing_is_of_what_was_named_before(before: str, said: str, named: str | None) -> None:
    assert thing(said, before) == named


@pytest.mark.parametrize(
    ("before", "said", "named"),
    [
        (
            "It needs new brake pads, 340 at Kwik Fit.",
            "Actually the guy round the corner does it for 210.",
            "new brake pads",
        ),
        ("The garage quoted 340 for the brakes.", "A mate of mine would do it for 200", "the brakes"),
        ("The lamp was 80 in the shop.", "ended up getting it for 45 euros", "The lamp"),
        ("修车店说换刹车片要340", "楼下那家210就能搞定", "换刹车片"),
        ("We pay 60 a month for the gym.", "I did it for 20 minutes", None),
        ("I ran 10 miles for the charity.", "I did it for 3 friends", None),
        ("The lamp is in the shop.", "ended up getting it for 45 euros", None),
    ],
)
def test_another_price_is_of_what_had_one_before(before: str, said: str, named: str | None) -> None:
    assert thing(said, before) == named


@pytest.mark.parametrize(
    ("before", "said", "named"),
    [
        ("My mum is in hospital since yesterday.", "shes 78 and takes warfarin", "My mum"),
        ("my colleague Ravi does the deploys", "he's away till the 15th", "my colleague Ravi"),
        ("Dee is my new trainer", "She starts at 9", "Dee"),
        ("Could you help me plan a birthday for Maya?", "She turns 10 in June.", "Maya"),
        ("They offered me the head of department job.", "It'd mean 4k more a year.", "the head of department job"),
        ("我姐怀孕了", "她下个月生", "我姐"),
        ("我儿子小宇今年上三年级", "他对花生过敏", "小宇"),
        ("started at the gym on monday, 3x a week", "and its only twice a week now", "the gym"),
        ("we got a puppy for the kids", "it's called Rex", "a puppy"),
    ],
)
def test_who_or_what_a_sentence_begins_with_was_named_before(before: str, said: str, named: str) -> None:
    found = antecedent(said, [before])

    assert found is not None
    assert before[slice(*found[1])].casefold() == named.casefold()


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("The ferry is on Monday.", "it's raining all day on Friday"),
        ("The ferry is on Monday.", "it's my birthday on Friday"),
        ("The ferry is on Monday.", "it was lovely"),
        ("I painted the lake.", "That's awesome, Caroline!"),
        ("He's my favourite.", "He is so cute"),
        ("My mum is 78.", "He is 80."),
        ("my brother comes on Friday", "we moved it to Saturday"),
    ],
)
def test_the_weather_the_wrong_sex_and_people_are_no_antecedents(before: str, said: str) -> None:
    assert antecedent(said, [before]) is None


def test_of_two_people_long_ago_nobody_is_guessed() -> None:
    said = ["my brother lives in York", "my husband cooks", "we bought a car", "the car is red", "the roof leaks"]

    assert antecedent("he is 40 now", said) is None
    assert antecedent("he is 40 now", said[:2]) == (1, (0, 10))


def test_a_change_is_kept_with_the_name_of_its_thing_which_is_quoted_from_where_it_was_said() -> None:
    said = ["We booked the ferry for 12 June.", "Good.", "Actually we moved it to 19 June."]
    turns = [Turn(str(n), "assistant" if n == 1 else "user", text, "Ana") for n, text in enumerate(said)]

    change = ExtractiveConversationEngine().extract(turns)[-1]

    assert change.text == "Ana: (the ferry) Actually we moved it to 19 June."
    assert [(quote.turn, quote.text) for quote in change.quotes] == [("0", "the ferry"), ("2", said[2])]


def test_what_a_turn_begins_with_as_a_sentence_of_its_own_is_what_it_is_about() -> None:
    earlier = "Her sister Henrietta has another wedding. The motor's gone back to the college."
    turn = "Henrietta. I could scream. "
    found = antecedent("It's not trousers any more, it's a dress", [earlier, turn])

    assert found == (1, (0, len("Henrietta")))


def test_an_exclamation_is_no_topic() -> None:
    assert antecedent("It's been lovely", ["We went to Rome.", "Drama. I could scream. "]) is None


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (["My brother Jack is staying with us.", "The landlord came round this morning."], "He's putting the rent up."),
        (
            ["My mum came over.", "I had lunch with Kate.", "Her brother Dan came along."],
            "She's moving to Oslo in May.",
        ),
        (["我妈周五过来。", "晓雯说要带她闺女一起来吃饭。"], "她对花生过敏，记得别买。"),
        (["我爸喜欢爬山"], "其他同事都选了爬山"),
        (["我弟在学吉他"], "吉他弦断了两根，花了80"),
        (["We're going to Lisbon in September."], "He'll still do the music."),
        (["The boiler was fixed on Monday."], "This summer I'm going to Crete on 5 July."),
    ],
)
def test_where_somebody_else_may_be_meant_nobody_is(before: list[str], said: str) -> None:
    assert antecedent(said, before) is None
