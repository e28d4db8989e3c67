"""Personal numbers are left out of what is kept, and nothing else is; so is what somebody wants left out."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.remembering.extraction import safe_words, select
from agentic_memory_bank.nodes.remember.views import stored_turn
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.text.personal_numbers import masked, numbers_in
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.sensitive import speaks_of, without

NUMBERS = [
    ("the agent wants my BVN 22340918273 before Friday", "22340918273"),
    ("They asked for my SIN, 741 203 885, is that normal?", "741 203 885"),
    ("My IBAN is GB82 WEST 1234 5698 7654 32.", "1234 5698"),
    ("Send it to DE89 3704 0044 0532 0130 00, please.", "0044"),
    ("the portal wont let me in, my id is 271-884-0356", "0356"),
    ("They want KE 4412 7789 0031 6650 for the transfer.", "7789"),
    ("I paid with 4111 1111 1111 1111 in Rome.", "1111"),
    ("My passport number is X1234567 and I fly on Monday.", "X1234567"),
    ("My SSN is 536-22-8145.", "8145"),
    ("It's 536-22-8145 on the form.", "8145"),
    ("My national insurance number: QQ 12 34 56 C.", "34 56"),
    ("My NHS number's 943 476 5919 in case you need it.", "5919"),
    ("The Medicare one is 1EG4-TE5-MK73.", "MK73"),
    ("My MRN is 00482913 at St Mary's.", "00482913"),
    ("The insurance policy number is ABC-1234567.", "1234567"),
    ("My driver's licence is MORGA657054SM9IJ.", "657054"),
    ("they want my license number, K 4471 8830 2, at the gate", "8830"),
    ("sort code 20-45-77, account 61184027", "61184027"),
    ("sort code 20-45-77, account 61184027", "20-45-77"),
    ("My Steuer-ID is 86 095 742 719.", "742"),
    ("My tax id is 12-3456789.", "3456789"),
    ("the login is a@b.com / hunter2", "hunter2"),
    ("我的身份证是11010519491231002X。", "19491231"),
    ("身份证610113198807152219报了三遍", "0715"),
    ("他说是 440305 19930512 7738 这个", "19930512"),
    ("我的护照号是E12345678。", "E12345678"),
    ("卡号6222 0213 0900 4478 561，扣了两次钱", "4478"),
    ("打款账户是浙商银行 6223 0915 2204 8817 004，户名是阿强", "8817"),
    ("我的社保号是12345678。", "12345678"),
    ("医保卡号：A12345678", "12345678"),
    ("病历号00123456。", "00123456"),
    ("They gave me the citizen number, 918273645, today.", "918273645"),
    ("My UTR is 12345 67890.", "67890"),
    ("Got my NIE at last, X1234567L.", "X1234567L"),
    ("My tax reference is 123/AB45678.", "45678"),
    ("My HKID is A123456(3).", "123456"),
    ("港澳通行证C12345678", "12345678"),
    ("they want paying by phone, 5301 2277 4489 0166, expiry 09/27, there", "4489"),
    ("they want paying by phone, 5301 2277 4489 0166, expiry 09/27, there", "09/27"),
    ("刷的是5301 2277 4489 0166，有效期09/27", "0166"),
    ("she wants my SIN, it's 741 203 885, odd", "741 203 885"),
    ("the school needs Leo's passport for Rome, XK5520183, by Friday", "XK5520183"),
    ("they sent the transfer details 20-45-77 and 61184027 today", "61184027"),
    ("the gate is 5518B and please don't write it anywhere", "5518B"),
    ("家里wifi是 mutou0418ab 你别留着", "mutou0418ab"),
]

OTHERS = [
    "the voucher's expiry is 09/27 and the part is 5301 2277 4489",
    "on 07-31-16 we paid 40055518 rupees",
    "my flat is 12B and the bus is X95, don't write it down",
    "sk-learn and sk-test-suite are the packages",
    "My order number is 123456789012.",
    "Call me on +44 20 7946 0958 or (415) 555-2671.",
    "I fly BA 2490 on 14 May 2026 at 10:30.",
    "My passport expires on 12-03-2027.",
    "My account was opened on 2024-01-15.",
    "I have 15000 dollars in my account.",
    "My insurance costs 1,200 a year.",
    "I ordered part 4111 1111 1111 1112 yesterday.",
    "The book is ISBN 978-0-306-40615-7.",
    "The parcel is 1Z999AA10123456784.",
    "We run version 1.2.3.4.5 on 192.168.10.20.",
    "My employee number is 48213.",
    "My licence is good until 2031.",
    "Order 12345678K has shipped.",
    "The visa costs 120 euros and takes 3 weeks.",
    "我的手机号是13800001111。",
    "我卡里有50000块。",
    "订单号是202511220001234。",
    "航班CA1234，11月22日起飞。",
]


@pytest.mark.parametrize(
    "text",
    [
        "The banking one, it's Plum!Hoe73, don't laugh.",
        "Test key for later: sk-test-7hT4mQ9xLk.",
        "The wifi is fritzbox77 in case.",
        "I log in with Daisy2019x.",
        "my gym locker combo is 31-7-22",
        "取款密码我老记混，再念一遍，640918，就这一次",
        "Mei#tea88 —— 哎，这个是我邮箱密码，发错了",
    ],
)
def test_a_password_said_in_passing_is_a_secret(text: str) -> None:
    assert secrets_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "Unit#204 is my flat.",
        "My gamertag is Player#1234.",
        "Write to Ann_B9@mail.com.",
        "The Wi-Fi is slow in 2 rooms.",
    ],
)
def test_a_name_with_a_mark_is_no_password(text: str) -> None:
    assert not secrets_in(text)


@pytest.mark.parametrize(("text", "number"), NUMBERS)
def test_a_personal_number_is_left_out_wherever_something_is_kept(text: str, number: str) -> None:
    turn = Turn("t", "user", text)

    assert number not in masked(text)
    assert number not in safe_words(turn, None)
    assert secrets_in(text)
    assert not any(number in fact.text + fact.words for fact in select([turn]))


@pytest.mark.parametrize("text", OTHERS)
def test_orders_phones_days_amounts_flights_and_versions_are_no_personal_numbers(text: str) -> None:
    assert numbers_in(text) == []
    assert masked(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "My passport number is X1234567 and I fly to Oslo on Monday. I live in Bergen.",
            "My passport number is *** and I fly to Oslo on Monday. I live in Bergen.",
        ),
        ("入职要填身份证440305199305127738，对了公司的hr叫Vivian", "入职要填身份证***，对了公司的hr叫Vivian"),
    ],
)
def test_of_a_sentence_with_a_personal_number_only_the_number_is_left_out(text: str, left: str) -> None:
    assert safe_words(Turn("t", "user", text), None) == left


def test_an_answer_that_is_nothing_but_the_number_asked_for_is_left_out() -> None:
    asked = Turn("a", "assistant", "What is your passport number?")
    assert stored_turn(Turn("b", "user", "X1234567"), asked, datetime.now(UTC)) is None
    assert masked("about 15000 words", "What is your favourite book?") == "about 15000 words"


@pytest.mark.slow
@pytest.mark.parametrize(
    "atom",
    ["1", "1 ", "A1", "DE89 ", "GB82", "1234 ", "passport number ", "account 1", "account is ", "身份证", "卡号是"],
)
def test_personal_numbers_are_found_in_time_that_grows_with_the_text(atom: str) -> None:
    def seconds(length: int) -> float:
        text = (atom * (length // len(atom) + 1))[:length]
        return min(_cpu(lambda: numbers_in(text)) for _ in range(3))

    assert seconds(64_000) < 1.0
    assert seconds(64_000) < 0.02 + 3.0 * seconds(32_000)


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I was diagnosed with asthma.", "health"),
        ("We go to church on Sundays.", "religion"),
        ("I voted for the greens, politics is my thing.", "politics"),
        ("I came out to my parents.", "sexuality"),
        ("我妈膝盖要做手术。", "health"),
        ("我们家信佛教。", "religion"),
        ("我去年入党了。", "politics"),
        ("他跟父母出柜了。", "sexuality"),
    ],
)
def test_what_is_sensitive_is_left_out_where_somebody_wants_that(text: str, kind: str) -> None:
    rest = "I live in Lisbon." if text.isascii() else "我住在上海。"
    assert speaks_of(text, [kind])  # type: ignore[list-item]
    assert without(f"{text} {rest}", [kind]) == rest  # type: ignore[list-item]
    assert without(f"{text} {rest}", []) == f"{text} {rest}"


@pytest.mark.parametrize(
    "text", ["I live in Lisbon and work as a carpenter.", "My favourite meal is soup.", "我喜欢喝绿茶。"]
)
def test_what_is_not_sensitive_stays(text: str) -> None:
    assert without(text, ["health", "religion", "politics", "sexuality"]) == text


def test_what_somebody_wants_left_out_and_personal_numbers_stand_in_no_memory() -> None:
    said = "I have asthma. My passport number is X1234567 and I fly to Oslo on Monday. I live in Bergen."
    settings = {"remember_without": ["health"]}
    with Memories(InMemoryStore(), embeddings=HashEmbeddings(), settings=settings) as memories:
        memories.remember(said, user="ana", conversation_id="c", end=True)
        texts = [record["text"] for record in memories.list(user="ana", replaced=True).records]

    assert not any("asthma" in text or "X1234567" in text for text in texts)
    assert any("Oslo" in text for text in texts)
    assert any("Bergen" in text for text in texts)


@pytest.mark.parametrize(
    "text", ["My mooring number is 4471902.", "our club id: 88 12 33 41", "Her vetting no. 2023 1188"]
)
def test_a_number_that_nobody_else_has_is_one_whatever_it_is_called(text: str) -> None:
    assert numbers_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "My phone number is 07700 900123.",
        "order number 44718829",
        "the tracking number: 9981 2231 4412",
        "bus number 4471",
    ],
)
def test_what_one_is_rung_by_or_has_ordered_is_none(text: str) -> None:
    assert not numbers_in(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("My SIN is 938 204 617, I said it aloud", "938 204 617"),
        ("The seaman's number for the forms is CDN-SEA-448120-7", "CDN-SEA-448120-7"),
        ("他电话13987215540，我发给你是怕打错字，不用留", "13987215540"),
        ("her mobile is 0161 496 0733, no need to keep it", "0161 496 0733"),
    ],
)
def test_what_is_somebodys_own_or_given_only_for_now_is_masked(text: str, number: str) -> None:
    assert number not in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "Anna's number is 0161 496 0733",
        "He lives in sin 300 miles away",
        "他电话13987215540",
        "no need to keep the receipt, it was 14 pounds",
    ],
)
def test_a_phone_number_that_is_to_be_kept_stays(text: str) -> None:
    assert masked(text) == text
