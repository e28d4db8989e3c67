"""What a notice of changes states counts against what it changes, in whatever words: values, names and denials."""

import pytest

from agentic_memory_bank.engines.extractive.comparing.documents import contradictions

SWIM = """# Lido Harrow Lane: what you should know

The pool is heated to 24 degrees. Lanes are hired out for 30 minutes at a time.

Season tickets are paid for at the kiosk by 20 April. The swimming course is taught by Edda Kranz.

Ball games are not permitted on the lawn. The sauna lies behind the showers.

| What | Starts |
|---|---|
| Aqua fitness | 9.30 am |
| Water polo | 6 pm |
"""
SWIM_CHINESE = """泳池须知

年卡每人限购2张，请在4月20日前到前台办理。

浅水区不得使用充气玩具。更衣室钥匙押金30元。

教练组长：冯海燕
"""


def found(text: str, notice: str, name: str) -> list[tuple[str, str, int | None]]:
    """Each contradiction, as what the notice says, what it changes and who holds."""
    pairs = contradictions(("rules.md", text), (name, notice))
    return [(" ".join(one.second.text.split()), " ".join(one.first.text.split()), one.holds) for one in pairs]


@pytest.mark.parametrize(
    ("text", "notice", "told", "changed"),
    [
        (SWIM, "You have until the end of May to buy season tickets at the kiosk.", "May", "20 April"),
        (SWIM, "A lane is yours for forty-five\n    minutes.", "forty-five minutes", "30 minutes"),
        (SWIM, "Aqua fitness is taken by the early birds, at 8.45.", "8.45", "9.30 am"),
        (SWIM, "Ball games can be played on the lawn after all.", "after all", "not permitted"),
        (SWIM, "Ms Kranz is ill. Ruben Maas gives the swimming course.", "Ruben Maas", "Edda Kranz"),
        (SWIM_CHINESE, "年卡每人可买三张。", "三张", "2张"),
        (SWIM_CHINESE, "钥匙押金按50元收取。", "50元", "30元"),
        (SWIM_CHINESE, "浅水区也可使用充气玩具。", "也可", "不得"),
        (SWIM_CHINESE, "教练组长一职由副队长唐一鸣担任。", "唐一鸣", "冯海燕"),
    ],
)
def test_what_a_notice_states_counts_without_words_that_announce_it(
    text: str, notice: str, told: str, changed: str
) -> None:
    head, name = ("# 变更通知\n\n", "变更通知.md") if "泳池" in text else ("# Changes at the lido\n\n", "changes.md")

    assert [(told in a, changed in b, holds) for a, b, holds in found(text, head + notice, name)] == [(True, True, 1)]


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        (SWIM, "The car park has 45 places. The path was repaired on 3 May."),
        (SWIM, "All of this holds from 1 May. Lanes are hired out for half an hour, as before."),
        (SWIM, "The season tickets are put off by 10 minutes. Water polo starts at 18:00."),
        (SWIM, "Edda Kranz taught Ruben Maas to swim."),
        (SWIM_CHINESE, "停车场有50个车位，押金不变。"),
        (SWIM_CHINESE, "本通知5月1日起执行，年卡仍限购两张。"),
    ],
)
def test_what_is_as_before_or_of_something_else_counts_for_nothing(text: str, notice: str) -> None:
    head, name = ("# 变更通知\n\n", "变更通知.md") if "泳池" in text else ("# Changes at the lido\n\n", "changes.md")

    assert found(text, head + notice, name) == []


def test_a_text_that_is_no_notice_needs_more() -> None:
    assert (
        found(SWIM, "# Diary\n\nA lane was ours for 45 minutes. Ball games can be seen on the lawn.", "diary.md") == []
    )


@pytest.mark.parametrize("setting", ["interval = 300  # what the harbour wants", "interval = 60"])
def test_a_default_is_not_what_somebody_set(setting: str) -> None:
    notes = "# Release notes\n\n- The default of the sampling interval is 120 seconds now."

    assert found(f"[sampling]\n{setting} seconds", notes, "notes.md") == []
