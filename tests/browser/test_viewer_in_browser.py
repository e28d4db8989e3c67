"""The page of the viewer as people use it, in headless Chromium: `make browser-test`. Pictures are in build/browser."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentic_memory_bank import Memories
from agentic_memory_bank.runs.viewer.actions import LookedAtBank, LookedAtUser
from agentic_memory_bank.runs.viewer.live import LivePage
from agentic_memory_bank.runs.viewer.page import page as page_of
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

pytestmark = pytest.mark.enable_socket


def _neighbour(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


memories, two_clicks = _neighbour("memories"), _neighbour("two_clicks")
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages of a bank, a user and a research."""
    home = tmp_path_factory.mktemp("looked at")
    question = "Which instrument does my sister Nora play?"
    made = {"bank": memories.bank(home), "user": memories.user(home, question), "pages": memories.research(home)}
    return {name: one.html() for name, one in made.items()}


# --- each click ----------------------------------------------------------------------------------------------------


def test_from_a_sentence_to_its_quote_to_its_place_it_is_two_clicks(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["bank"])
    seen.shot("1-answer")

    seen.page.locator(".sentence").first.click()
    quote = seen.page.locator(".under .quote").first
    words = quote.locator("bdi").first.inner_text().strip("“”")
    quote.click()

    mark = seen.page.locator("#reader mark")
    assert mark.inner_text() == words
    assert mark.is_visible()
    assert _is_in_view(mark)
    assert "Height" in seen.page.locator("#reader .crumbs").inner_text()
    seen.shot("2-place")


def test_every_sentence_of_the_demo_leads_to_its_place_in_two_clicks(opened: Any, tmp_path: Path) -> None:
    demo = two_clicks.demo(tmp_path)

    found = two_clicks.followed(opened(demo.html()).page, demo.snapshot)

    assert found.sentences >= 2
    assert found.quotes >= found.sentences
    assert found.lost == ()


def _is_in_view(found: Any) -> bool:
    return found.evaluate(
        "(one) => { const at = one.getBoundingClientRect(); return at.top >= 0 && at.bottom <= innerHeight; }"
    )


def test_in_the_frame_of_a_notebook_the_page_works_as_it_does_alone(opened: Any, tmp_path: Path) -> None:
    seen = opened("<!doctype html><title>A notebook</title>" + memories.bank(tmp_path)._repr_html_())
    frame = seen.page.frame_locator("iframe")

    frame.locator(".sentence").first.click()
    frame.locator(".under .quote").first.click()
    assert "92 metres" in frame.locator("#reader mark").inner_text()
    frame.locator("#language").click()
    assert frame.locator("html").get_attribute("lang") == "zh"


def test_a_contradiction_shows_both_sides_and_each_leads_to_its_place(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["bank"], color_scheme="dark")
    seen.page.locator("#tab-contradictions").click()
    card = seen.page.locator(".card").first

    assert card.locator(".side").count() == 2
    assert card.locator(".side.holds .value").inner_text() == "92 metres"
    assert "Passages: 2, sources: 2" in card.inner_text()
    assert "What would change it" in card.inner_text()
    seen.shot("3-contradictions-dark")
    for n in range(2):
        card.locator(".side").nth(n).get_by_role("button").click()
        assert ("92 metres" in (said := seen.page.locator("#reader mark").inner_text())) or "71 metres" in said


def test_a_memory_is_found_opened_and_followed_to_its_text(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["bank"])
    seen.page.locator("#tab-memories").click()
    seen.page.get_by_label("State").select_option("all")
    count = seen.page.locator(".row").count()
    seen.page.get_by_label("Search").fill("welcome")

    assert 0 < seen.page.locator(".row").count() < count
    seen.page.locator(".row").first.click()
    seen.page.locator("#reader .raw", has_text="leaflet.txt").get_by_role("button").first.click()
    assert "Welcome to the valley" in seen.page.locator("#reader mark").inner_text()
    seen.page.get_by_label("Search").fill("no such word anywhere")
    assert "Nothing fits" in seen.page.locator("#panel").inner_text()


def test_a_merged_memory_says_how_it_was_made(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["bank"])
    seen.page.locator("#tab-memories").click()
    told: list[str] = []
    for row in seen.page.locator(".row").all():
        row.click()
        told.append(seen.page.locator("#reader").inner_text())

    merged = [text for text in told if "Merged from" in text]
    assert merged
    assert all("How they were merged" in text and ", confidence " in text for text in merged)


def test_the_run_is_scrubbed_from_its_first_step_to_its_last(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["bank"])
    seen.page.locator("#tab-run").click()
    spots = seen.page.locator(".map .spot")
    assert seen.page.locator(".map .spot.away").count() > 0
    assert seen.page.locator(".map line.merge").count() > 0
    assert seen.page.locator(".map line.quarrel").count() > 0
    seen.shot("4-run")

    seen.page.get_by_label("State after step").fill("0")
    assert spots.count() == 0
    seen.page.get_by_role("button", name="structure").click()
    assert spots.count() > 0
    assert seen.page.locator(".map .spot.away").count() == 0
    seen.page.locator(".map .spot").first.focus()
    seen.page.keyboard.press("Enter")
    assert "Summary" in seen.page.locator("#reader").inner_text()


def test_of_a_user_the_value_that_was_replaced_leads_to_the_one_that_holds(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["user"])
    assert seen.page.locator(".row", has_text="Berlin").count() == 0
    seen.page.get_by_label("State").select_option("was")
    seen.page.locator(".row", has_text="Berlin").click()
    reader = seen.page.locator("#reader")

    assert "superseded" in reader.inner_text().lower()
    assert reader.locator("mark").first.inner_text() == "I live in Berlin."
    seen.shot("5-user")
    reader.get_by_role("button", name="Lisbon").click()
    assert "Current" in reader.inner_text()


def test_what_was_true_on_a_day_is_marked(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["user"])
    seen.page.locator("#tab-subjects").click()
    seen.page.get_by_label("What was true on").fill("2024-04-01")
    seen.page.keyboard.press("Tab")

    holds = seen.page.locator(".lane.true")
    assert holds.count() == 1
    assert "Berlin" in holds.inner_text()
    seen.shot("6-true-when")


def test_what_a_message_recalls_is_shown_with_its_score(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["user"])
    seen.page.locator("#tab-recall").click()

    assert "cello" in seen.page.locator("#panel .quote").first.inner_text()
    assert "cosine" in seen.page.locator("#panel .quote").first.inner_text()


def test_a_research_shows_its_rounds_its_findings_and_its_quotes_in_place(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["pages"])
    seen.page.locator(".sentence").first.click()
    seen.page.locator(".under .quote").first.click()

    assert "metres high" in seen.page.locator("#reader mark").inner_text()
    assert "Round 1" in seen.page.locator("#panel").inner_text()
    assert "Findings" in seen.page.locator("#panel").inner_text()
    seen.shot("7-research")
    seen.page.locator("#tab-pages").click()
    seen.page.locator(".row").first.click()
    assert "Abstract" in seen.page.locator("#reader").inner_text()


# --- everyone ------------------------------------------------------------------------------------------------------


def test_everything_is_reached_with_the_keyboard(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["bank"])
    press = seen.page.keyboard.press
    seen.page.locator("#tab-answer").focus()
    press("ArrowRight")
    press("ArrowRight")
    assert seen.page.evaluate("document.activeElement.id") == "tab-memories"
    press("/")
    assert seen.page.evaluate("document.activeElement.type") == "search"
    seen.page.locator("[role=listbox]").focus()
    press("ArrowDown")
    press("Enter")

    assert "Summary" in seen.page.locator("#reader").inner_text()
    assert seen.page.evaluate("document.activeElement.id") == "reader"
    press("Escape")
    assert "Choose something" in seen.page.locator("#reader").inner_text()


def test_the_page_speaks_chinese_and_goes_back(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["bank"], locale="zh-CN")
    assert seen.page.locator("#tab-contradictions").inner_text().startswith("矛盾")
    assert seen.page.evaluate("document.documentElement.lang") == "zh"
    seen.page.locator("#tab-contradictions").click()
    seen.shot("8-chinese")
    seen.page.locator("#language").click()

    assert seen.page.locator("#tab-contradictions").inner_text().startswith("Contradictions")
    assert seen.page.locator(".card").first.is_visible()


def test_on_a_phone_what_is_read_covers_the_list_and_closes(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["user"], viewport={"width": 390, "height": 760}, has_touch=True)
    seen.shot("9-phone-list")
    seen.page.locator(".row").first.tap()
    assert seen.page.locator("#reader").is_visible()
    seen.shot("9-phone-reader")
    seen.page.get_by_role("button", name="Close").tap()

    assert not seen.page.locator("#reader").is_visible()
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_theme_is_the_systems_until_it_is_turned(opened: Any, pages: dict[str, str]) -> None:
    seen = opened(pages["bank"], color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = seen.page.evaluate(ground)
    seen.page.locator("#theme").click()

    assert seen.page.evaluate(ground) != dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["bank", "user", "pages"])
def test_axe_has_nothing_serious_to_say(opened: Any, axe: Any, pages: dict[str, str], kind: str, scheme: str) -> None:
    assert serious(axe, opened(pages[kind], color_scheme=scheme)) == []


def serious(axe: Any, seen: Any) -> list[str]:
    """What axe finds serious on any tab, with its first memory, quote or sentence open."""
    found: list[str] = []
    for tab in seen.page.locator("[role=tab]").all():
        tab.click()
        if (first := seen.page.locator("#panel :is(.row, .quote, .sentence, .lane):visible").first).count():
            first.click()
        violations = axe.run(seen.page).response["violations"]
        found += [f"{one['id']}: {one['nodes'][0]['html']}" for one in violations if one["impact"] in SERIOUS]
    return found


# --- whatever it holds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bank", "user", "pages"])
def test_hostile_content_runs_nothing_and_asks_for_nothing(opened: Any, kind: str) -> None:
    """That nothing was requested, violated or said by a dialog is held by `opened` for every test."""
    seen = opened(page_of(memories.hostile()[kind]))
    for tab in seen.page.locator("[role=tab]").all():
        tab.click()
        for toggle in seen.page.locator("#panel .sentence, #panel summary").all():
            toggle.click()
        for one in seen.page.locator("#panel .row, #panel .quote, #panel .lane").all()[:12]:
            one.click()
            for inner in seen.page.locator("#reader .raw button, #reader .document button").all()[:2]:
                if inner.is_visible():
                    inner.click()

    assert seen.page.evaluate("window.__ran") is None
    assert seen.page.locator("img, iframe, object, embed, form[action], a[href]:not([href='#panel'])").count() == 0
    assert seen.page.evaluate("document.querySelectorAll('script').length") == 0
    seen.shot(f"hostile-{kind}")


def test_signs_that_turn_text_around_are_shown_and_do_nothing(opened: Any) -> None:
    seen = opened(page_of(memories.hostile()["user"]))
    seen.page.get_by_label("State").select_option("")
    seen.page.get_by_label("Search").fill("and a zero")
    seen.page.locator(".row").first.click()

    assert "U+202E" in seen.page.locator("#reader").inner_text()
    assert not seen.page.evaluate("/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.innerText)")


def test_an_empty_memory_says_so(opened: Any) -> None:
    for html in memories.empty():
        seen = opened(html)
        for tab in seen.page.locator("[role=tab]").all():
            tab.click()
            assert seen.page.locator("#panel").inner_text().strip()


def test_of_ten_thousand_memories_only_what_is_seen_is_drawn(opened: Any) -> None:
    html = memories.many(10_000)
    seen = opened(html)

    assert len(html) < 15_000_000
    assert seen.page.locator(".row").count() < 40
    seen.page.get_by_label("Search").fill("item 9999 ")
    assert seen.page.locator(".row").count() == 1
    seen.page.get_by_label("Search").fill("")
    seen.page.locator("[role=listbox]").focus()
    seen.page.keyboard.press("End")
    assert "item 9999" in seen.page.locator(".row[aria-selected=true]").inner_text()
    seen.shot("10-ten-thousand")
    seen.page.locator("#tab-subjects").click()
    assert seen.page.locator(".lane").count() <= 350


# --- the live page -------------------------------------------------------------------------------------------------


@contextmanager
def served(looked: Any) -> Iterator[str]:
    """Serve a live page while a test is on; the address for its visit."""
    with LivePage(looked) as live:
        thread = threading.Thread(target=live.serve_forever, args=(0.02,))
        thread.start()
        yield live.address
        live.shutdown()
        thread.join()


def test_axe_has_nothing_serious_to_say_of_the_live_pages(visited: Any, axe: Any, tmp_path: Path) -> None:
    memories.bank(tmp_path)
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as kept:
        chess = kept.store("I play chess.", user="ana")
        looked = LookedAtUser(kept, "ana")
        looked.actions["pin"]({"id": chess["id"], "pinned": True})
        with served(looked) as of_ana, served(LookedAtBank("dam", tmp_path)) as of_dam:
            assert [serious(axe, visited(address)) for address in (of_ana, of_dam)] == [[], []]


def test_on_the_live_page_a_memory_is_corrected_and_forgotten_after_a_preview(visited: Any, tmp_path: Path) -> None:
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as kept:
        chess = kept.store("I play chess.", user="ana")
        kept.store("My sister plays the cello.", user="ana")
        with served(LookedAtUser(kept, "ana")) as address:
            seen = visited(address)
            assert "token" not in seen.page.url
            seen.page.locator(".row", has_text="chess").click()
            seen.page.get_by_text("Change the wording").click()
            seen.page.get_by_label("Change the wording").fill("I play go.")
            seen.shot("11-live")
            seen.page.get_by_role("button", name="Save").last.click()
            seen.page.locator(".row", has_text="I play go.").wait_for()
            assert kept.get(chess["id"], user="ana")["history"][0]["text"] == "I play chess."

            seen.page.get_by_label("Forget what concerns").fill("cello")
            seen.page.get_by_role("button", name="Preview").click()
            seen.page.get_by_text("This would erase 1").wait_for()
            assert len(kept.list(user="ana").records) == 2
            seen.shot("12-live-forget")
            seen.page.get_by_role("button", name="Erase", exact=True).click()
            seen.page.get_by_text("1 of 1").wait_for()
            assert [one["text"] for one in kept.list(user="ana").records] == ["I play go."]

            seen.page.get_by_role("button", name="Undo: erased").click()
            seen.page.locator(".row", has_text="cello").wait_for()
            assert len(kept.list(user="ana").records) == 2
            seen.page.get_by_role("button", name="Undo: wording changed").click()
            seen.page.locator(".row", has_text="I play chess.").wait_for()
            assert seen.page.locator("#undo").count() == 0

            seen.page.locator("#tab-recall").click()
            seen.page.get_by_label("A message").fill("Which game do I play?")
            seen.page.get_by_role("button", name="Ask").click()
            seen.page.get_by_text("What this message recalls").wait_for()


def test_on_the_live_page_a_memory_is_pinned_and_memory_switched_off_and_both_are_undone(
    visited: Any, tmp_path: Path
) -> None:
    with Memories(home=tmp_path, embeddings=HashEmbeddings()) as kept:
        chess = kept.store("I play chess.", user="ana")
        kept.store("My sister plays the cello.", user="ana")
        with served(LookedAtUser(kept, "ana")) as address:
            seen = visited(address)
            seen.page.locator(".row", has_text="chess").click()
            seen.page.get_by_role("button", name="Pin", exact=True).click()
            seen.page.locator(".row .badge", has_text="pinned").wait_for()
            assert kept.get(chess["id"], user="ana")["pinned_at"]
            seen.page.get_by_label("State").select_option("pinned")
            assert seen.page.locator(".row").count() == 1

            seen.page.get_by_label("Memory", exact=True).select_option("off")
            seen.page.get_by_role("button", name="Undo: memory switched").wait_for()
            assert kept.mode(user="ana") == "off"
            seen.shot("14-live-undo")

            seen.page.get_by_role("button", name="Undo: memory switched").click()
            seen.page.get_by_role("button", name="Undo: pinned").click()
            seen.page.locator("#undo").wait_for(state="detached")
            assert kept.mode(user="ana") == "on"
            assert kept.get(chess["id"], user="ana")["pinned_at"] is None


def test_on_the_live_page_a_contradiction_is_settled_by_hand(visited: Any, tmp_path: Path) -> None:
    memories.bank(tmp_path)
    with served(LookedAtBank("dam", tmp_path)) as address:
        seen = visited(address)
        seen.page.locator("#tab-contradictions").click()
        seen.page.get_by_label("Why").first.fill("I measured it.")
        seen.page.get_by_role("button", name="Side 1 holds").first.click()
        seen.page.get_by_text("Settled by hand: I measured it.").first.wait_for()

        assert "Only another decision by hand" in seen.page.locator(".card").first.inner_text()
        assert {one.inner_text() for one in seen.page.locator(".side.holds .value").all()} == {"71 metres"}
        assert seen.page.locator("#tab-contradictions").get_attribute("aria-selected") == "true"
        seen.shot("13-live-settled")
        seen.page.locator("#tab-run").click()
        assert "by hand" in seen.page.locator("tbody tr").last.inner_text()

        seen.page.get_by_role("button", name="Undo: settled by hand").click()
        seen.page.locator("#undo").wait_for(state="detached")
        seen.page.locator("#tab-contradictions").click()
        assert "by hand" not in seen.page.locator(".card").first.inner_text()
