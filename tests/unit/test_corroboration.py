"""How a contradiction is settled by what all entries say."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_memory_bank.engines.extractive.comparing.corroboration import (
    DisputedClaim,
    EvidenceEntry,
    Verdict,
    corroborate,
)

DEADLINES = [
    DisputedClaim("The submission deadline of ICML is 15 August 2025.", "15 August 2025", "date"),
    DisputedClaim("ICML papers are due on 30 August 2025.", "30 August 2025", "date"),
]
HEIGHTS = [
    DisputedClaim("The Meridian tower is 324 m tall.", "324 m", "number"),
    DisputedClaim("The Meridian tower is 330 metres tall.", "330 metres", "number"),
]
CHIEFS = [
    DisputedClaim("The CEO of Acme is John Smith.", "John Smith", "name"),
    DisputedClaim("The CEO of Acme is Jane Doe.", "Jane Doe", "name"),
]
CHINESE = [
    DisputedClaim("ICML的投稿截止日期是8月15日。", "8月15日", "date"),
    DisputedClaim("ICML的投稿截止日期是8月30日。", "8月30日", "date"),
]
LOW = ("a", "The Meridian tower is 324 m tall.")
HIGH = ("b", "The Meridian tower is 330 metres tall.")


def settled(claims: list[DisputedClaim], *rows: tuple[str, ...]) -> Verdict:
    return corroborate(claims, [EvidenceEntry(f"e{index}", *row) for index, row in enumerate(rows)])


def entries(verdict: Verdict) -> list[list[str]]:
    return [[support.entry_id for support in supports] for supports in verdict.support]


def test_the_value_with_more_independent_sources_holds() -> None:
    verdict = settled(HEIGHTS, LOW, HIGH, ("c", "Guides say the height of Meridian tower is 330 m."))
    assert (verdict.outcome, verdict.winner) == ("holds", 1)
    assert entries(verdict) == [["e0"], ["e1", "e2"]]
    assert "330 metres" in verdict.reason


def test_one_against_one_stays_open() -> None:
    verdict = settled(HEIGHTS, LOW, HIGH)
    assert (verdict.outcome, verdict.winner) == ("inconclusive", None)


def test_a_side_whose_own_words_are_not_read_as_its_value_does_not_lose() -> None:
    cases = [
        DisputedClaim(
            "Every apprentice must hold a full driving licence.", "must hold a full driving licence", "negation"
        ),
        DisputedClaim("A driving licence is not required.", "A driving licence is not required", "negation"),
    ]
    asked = "**Do I have to drive?** A driving licence is not required."
    verdict = settled(cases, ("a", cases[0].text), ("b", asked.replace("A driving", "No driving").replace("not ", "")))
    assert verdict.outcome == "inconclusive"


def test_what_a_source_says_beside_one_side_backs_no_other() -> None:
    lower = ("a", f"{LOW[1]} From afar the Meridian tower seems 330 m high.")
    verdict = settled(HEIGHTS, lower, HIGH)
    assert (verdict.outcome, entries(verdict)) == ("inconclusive", [["e0"], ["e1"]])


def test_what_may_be_delayed_corrects_nothing() -> None:
    starts = [
        DisputedClaim("The start of the Nordbad pump can be delayed by up to 13 hours.", "13 hours", "number"),
        DisputedClaim("The start of the Nordbad pump is put off by up to 15 hours.", "15 hours", "number"),
    ]
    assert settled(starts, ("a", starts[0].text), ("b", starts[1].text)).outcome == "inconclusive"


def test_a_number_that_counts_nothing_is_no_count() -> None:
    courts = [
        DisputedClaim("The Holmwood Tennis Club has six courts.", "six", "number"),
        DisputedClaim("Holmwood Tennis Club has eight courts.", "eight", "number"),
    ]
    rows = [("a", courts[0].text), ("b", f"{courts[1].text} The bar of the Holmwood Tennis Club is open from six.")]
    verdict = settled(courts, *rows)
    assert verdict.outcome == "inconclusive"
    counted = settled(courts, *rows, ("c", "Its courts, of the Holmwood Tennis Club in all guides, are six."))
    assert [entries(verdict)[0], entries(counted)[0]] == [["e0"], ["e0", "e2"]]


def test_a_source_counts_once() -> None:
    assert (
        settled(HEIGHTS, LOW, HIGH, ("b", "Guides say the height of Meridian tower is 330 m.")).outcome
        == "inconclusive"
    )


def test_a_copied_text_counts_once() -> None:
    assert settled(HEIGHTS, LOW, HIGH, ("c", "The Meridian tower is 330 m tall.")).outcome == "inconclusive"


def test_what_is_said_of_another_subject_does_not_count() -> None:
    assert (
        settled(HEIGHTS, LOW, HIGH, ("c", "Guides say the height of Orion tower is 330 m.")).outcome == "inconclusive"
    )


def test_an_extension_wins_a_tie() -> None:
    verdict = settled(
        DEADLINES, ("a", DEADLINES[0].text), ("b", "The ICML deadline has been extended to 30 August 2025.")
    )
    assert (verdict.outcome, verdict.winner) == ("holds", 1)


def test_an_extension_that_names_the_old_date_backs_the_new_one() -> None:
    moved = "The ICML deadline was extended from 15 August 2025 to 30 August 2025."
    verdict = settled(DEADLINES, ("a", DEADLINES[0].text), ("b", moved))
    assert (verdict.outcome, verdict.winner) == ("holds", 1)


def test_a_value_instead_of_another_is_a_correction_without_its_word() -> None:
    taken_back = "The Meridian tower is 330 metres tall, not 324 m, as a plate at its foot says."
    assert settled(HEIGHTS, LOW, ("b", taken_back)).winner == 1
    assert settled(HEIGHTS, LOW, ("b", "The Meridian tower is 330 metres instead of 324 m tall.")).winner == 1
    assert settled(CHIEFS, ("a", CHIEFS[0].text), ("b", "The CEO of Acme is Jane Doe, not John Smith.")).winner == 1
    chinese = settled(CHINESE, ("a", CHINESE[0].text), ("b", "ICML的投稿截止日期是8月30日，而不是8月15日。"))
    assert chinese.winner == 1


def test_what_has_been_paid_by_then_was_due_before() -> None:
    fee = [
        DisputedClaim("报名费每人20元，含午餐。", "20元", "number"),
        DisputedClaim("报名费为每人10元，已按20元缴费的居民退回差额。", "10元", "number"),
    ]
    verdict = settled(fee, ("通知", fee[0].text), ("更正", fee[1].text))
    assert (verdict.outcome, verdict.winner) == ("holds", 1)


def test_two_values_of_one_sentence_of_which_none_is_taken_back_decide_nothing_for_either() -> None:
    both = "The Meridian tower is 324 m or 330 metres tall."
    assert settled(HEIGHTS, LOW, HIGH, ("c", both)).outcome == "inconclusive"


def test_of_two_corrections_the_newer_holds_only_if_both_are_dated() -> None:
    first, second = "The ICML deadline is updated: 15 August 2025.", "The ICML deadline was updated to 30 August 2025."
    assert settled(DEADLINES, ("a", first, "2025-05-01"), ("b", second, "2025-06-01")).winner == 1
    assert settled(DEADLINES, ("a", first, "2025-07-01"), ("b", second, "2025-06-01")).winner == 0
    assert settled(DEADLINES, ("a", first), ("b", second)).outcome == "inconclusive"


def test_being_newer_alone_does_not_decide() -> None:
    assert settled(HEIGHTS, (*LOW, "2020-01-01"), (*HIGH, "2024-01-01")).outcome == "inconclusive"


def test_a_statement_with_conditions_reconciles_both() -> None:
    text = "Opened late. The Meridian tower measures 324 m without and 330 m with the antenna."
    verdict = settled(HEIGHTS, LOW, HIGH, ("c", text))
    assert verdict.outcome == "integrate"
    assert verdict.reconciled is not None
    assert text[verdict.reconciled.start : verdict.reconciled.end].startswith("The Meridian tower")


def test_names_are_counted_by_source_too() -> None:
    verdict = settled(
        CHIEFS, ("a", CHIEFS[0].text), ("b", CHIEFS[1].text), ("c", "Jane Doe, CEO of Acme, spoke on Monday.")
    )
    assert (verdict.outcome, verdict.winner) == ("holds", 1)
    assert "Jane Doe" in verdict.reason


def test_a_denial_is_backed_by_denials() -> None:
    claims = [
        DisputedClaim("The Meridian API is stable.", "stable", "negation"),
        DisputedClaim("The Meridian API is not stable.", "not stable", "negation"),
    ]
    rows = [("a", claims[0].text), ("b", claims[1].text), ("c", "The team no longer calls the Meridian API stable.")]
    assert settled(claims, *rows).winner == 1


def test_chinese_corrections_and_counts_decide_with_a_chinese_reason() -> None:
    corrected = settled(CHINESE, ("a", CHINESE[0].text), ("b", "更正：ICML的投稿截止日期延期至8月30日。"))
    assert corrected.winner == 1
    assert corrected.reason == "有明确的更正或延期说明指向“8月30日”。"
    counted = settled(
        CHINESE, ("a", CHINESE[0].text), ("b", CHINESE[1].text), ("c", "组委会表示，ICML投稿于8月30日截止。")
    )
    assert counted.winner == 1


def test_chinese_conditions_reconcile() -> None:
    claims = [
        DisputedClaim("Meridian塔高324米。", "324米", "number"),
        DisputedClaim("Meridian塔高330米。", "330米", "number"),
    ]
    text = "Meridian塔不含天线高324米，含天线高330米。"
    assert settled(claims, ("a", claims[0].text), ("b", claims[1].text), ("c", text)).outcome == "integrate"


def test_evidence_in_the_other_language_counts() -> None:
    claims = [
        DisputedClaim("The Meridian telescope saw first light on 12 March 2019.", "12 March 2019", "date"),
        DisputedClaim("Meridian 望远镜于2021年5月3日首次观测。", "2021年5月3日", "date"),
    ]
    third = "观测站公告：Meridian 望远镜首次观测的日期是2019年3月12日。"
    verdict = settled(claims, ("a", claims[0].text), ("b", claims[1].text), ("c", third))
    assert (verdict.outcome, verdict.winner) == ("holds", 0)


def test_no_evidence_decides_nothing() -> None:
    assert settled(HEIGHTS) == Verdict("inconclusive", None, ((), ()), settled(HEIGHTS).reason)
    assert corroborate([], []).outcome == "inconclusive"


@settings(max_examples=60, deadline=None)
@given(st.permutations([LOW, HIGH, ("c", "Guides say the height of Meridian tower is 330 m."), ("d", "Unrelated.")]))
def test_the_order_of_the_entries_does_not_matter(rows: list[tuple[str, str]]) -> None:
    assert settled(HEIGHTS, *rows).winner == 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.text(max_size=60)), max_size=4),
    st.text(max_size=40),
    st.text(max_size=10),
)
def test_no_text_breaks_it(rows: list[tuple[str, str]], text: str, value: str) -> None:
    for kind in ("number", "date", "name", "negation"):
        assert len(settled([DisputedClaim(text, value, kind), HEIGHTS[0]], *rows).support) == 2
