"""A hope, a dream, a doubt, a refusal and other news of somebody take the place of nothing; a change does."""

from collections.abc import Iterator

import pytest
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank import Memories
from agentic_memory_bank.engines.extractive.remembering.supposing import is_hoped
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings


@pytest.fixture
def memories() -> Iterator[Memories]:
    with Memories(InMemoryStore(), embeddings=HashEmbeddings(64), settings={"recall_timeout": 60.0}) as made:
        yield made


def current(memories: Memories, *said: str) -> list[str]:
    for number, text in enumerate(said):
        memories.remember(text, user="ana", conversation_id=str(number), end=True)
    found = memories.list(user="ana", limit=50).records
    return [one["text"].rpartition("): ")[2] for one in found if one["type"] != "verbatim"]


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ("My interview is on 7 May at 2.", "I hope my interview gets moved to the 9th"),
        ("Anna's surgery is on 9 March", "wouldn't it be nice if Anna's surgery was moved to June"),
        ("The dentist is on 4 May at 9.", "I can't remember if my dentist is on the 4th"),
        ("I take 40mg of citalopram.", "my doctor wants me off citalopram, I said no"),
        ("我房租3000。", "昨晚梦到房租涨到5000了"),
        ("面试在5月7号", "希望面试改到9号"),
        ("我每晚吃400毫克碳酸锂。", "医生让我把碳酸锂停了，我没同意"),
        ("老张是房东，电话尾号8812，住三楼。", "老张说下个月不收现金了，改转账"),
        ("小林是我表妹，在银行上班。", "小林说下周的聚会不来了"),
    ],
)
def test_what_holds_stays(memories: Memories, holds: str, said: str) -> None:
    assert holds in current(memories, holds, said)


@pytest.mark.parametrize(
    ("holds", "said"),
    [
        ("My interview is on 7 May", "my interview got moved to the 9th"),
        ("Priya runs the Tuesday shift.", "Priya runs the Friday shift now"),
        ("我房租3000", "房租涨到5000了"),
        ("小林在银行上班", "小林换到税务局上班了"),
    ],
)
def test_what_has_changed_goes(memories: Memories, holds: str, said: str) -> None:
    assert holds not in current(memories, holds, said)


@pytest.mark.parametrize(
    "said", ["my interview got moved to the 9th", "医生让我停了二甲双胍", "they told me to come at 9"]
)
def test_news_is_no_hope(said: str) -> None:
    assert not is_hoped(said)
