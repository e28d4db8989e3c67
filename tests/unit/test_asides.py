"""What is said in passing not to be kept is heard, in whatever words; what is said of other things is not."""

import pytest

from agentic_memory_bank.engines.extractive.forgetting import not_kept_in, wish_in


@pytest.mark.parametrize(
    "said",
    [
        "The balance is 4,485. Was that right? Okay good. Now lose it.",
        "they made me say it aloud in the corridor, and no I don't want that remembered, I'm only complaining",
        "my sister is back in rehab but that's not for keeping",
        "my sister is back in rehab (don't write that down lol)",
        "my sister is back in rehab, that stays out of your notes ok",
        "My sister is back in rehab. You never saw that.",
        "my sister is back in rehab, scrub that once you've answered",
        "off the record, my boss is leaving in May",
        "Strictly off the record: the firm is being sold",
        "this isn't for your memory but my brother lost his job",
        "my bonus was 4,000, but please don't file that away",
        "don't make a note of this one, I weigh 92 kilos",
        "I weigh 92 kilos. Not something I want saved.",
        "for this conversation only: my weight is 92 kilos",
        "keep this out of my profile, my dad is ill",
        "我姐怀孕了，看完就忘了吧",
        "這話你看過就當沒看過",
        "我体重92公斤，这个就别往心里记了",
        "这条不要进记忆，我爸病了",
        "我爸病了，这个不要写进档案",
        "以下内容不用保存：工资一万八",
        "工资一万八，说完就当我没说",
        "工资一万八，千万别给我记上",
        "我其实不喜欢她送的礼物（别记下来）",
    ],
)
def test_an_aside_keeps_a_message_out(said: str) -> None:
    wish, kept_out = wish_in(said), not_kept_in(said)

    assert wish is not None
    assert wish.telling.kind == "this"
    assert kept_out is not None
    assert not kept_out.rest


def test_what_follows_an_aside_in_further_sentences_is_kept() -> None:
    kept_out = not_kept_in("My boss Zed is leaving, you never saw that. I moved to Oslo in May.")

    assert kept_out is not None
    assert kept_out.rest == "I moved to Oslo in May."


@pytest.mark.parametrize(
    "said",
    [
        "Don't write that down as a win yet, we still have to sign.",
        "I don't remember that one, was it in May?",
        "keep this out of the sun, the manual says",
        "Keep this out of the report, please: the figures of the third quarter.",
        "you never saw that, did you?",
        "My dad said don't write that down, and I did",
        "We never saw that film again",
        "别记错了，是周三",
        "先别存档,我还要改。论文题目定的是敦煌壁画",
        "看完就删,是我妈的习惯。她住苏州",
        "not for saving, for spending: I got a 2k bonus",
        "快递放门口就行，不用存柜子",
        "用完就删这个习惯我一直有",
        "我看过就忘了，记性不好",
        "你别往心里去，我就随口一说",
    ],
)
def test_what_only_sounds_like_an_aside_is_kept(said: str) -> None:
    assert wish_in(said) is None
    assert not_kept_in(said) is None
