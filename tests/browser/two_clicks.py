"""Follows every sentence of answers to its quotes and to their places, by clicks in Chromium: `make two-clicks`.

    python tests/browser/two_clicks.py [--eval DIR] [--sets 10]

Looked at are the answer of the demo and those of document sets of a folder of evaluation data, each question on a page
of its own, offline and with the defaults. A sentence is followed where a click on it shows quotes, and a click on each
of them the document with just these words marked, in view.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import sync_playwright

from agentic_memory_bank import run, view

DEMO = Path(__file__).parents[2] / "examples" / "meridian_array"
QUESTION = "When did the Meridian Array open, and what is the diameter of its mirror?"
MARKED = """() => {
  const found = document.querySelector("#reader mark"), at = found ? found.getBoundingClientRect() : null;
  return found && [found.textContent, at.top >= 0 && at.top < innerHeight && at.height > 0];
}"""


class Followed(NamedTuple):
    """How far the sentences of answers lead."""

    answers: int = 0
    sentences: int = 0
    quotes: int = 0
    lost: tuple[str, ...] = ()
    """What leads nowhere: sentences without a quote, and quotes whose place shows other words, or none."""

    def plus(self, other: "Followed") -> "Followed":
        """Both together."""
        return Followed(*(one + more for one, more in zip(self, other, strict=True)))  # type: ignore[arg-type]


def followed(page: Any, snapshot: Mapping[str, Any]) -> Followed:
    """Follow every sentence of the answer on a page of a bank."""
    answer = snapshot["answer"]
    quotes, lost = 0, []
    for number, sentence in enumerate(answer["sentences"]):
        page.locator(".sentences > li").nth(number).locator(".sentence").click()
        shown = page.locator(".sentences > li").nth(number).locator(".under .quote")
        if shown.count() != len(sentence["quotes"]) or not sentence["quotes"]:
            lost.append(f"no quote | {sentence['text']}")
        for place, quote in enumerate(answer["quotes"][n] for n in sentence["quotes"]):
            shown.nth(place).click()
            quotes += 1
            if page.evaluate(MARKED) != [_as_shown(quote["quote"]), True]:
                lost.append(f"no place | {quote['quote']}")
    return Followed(1 if answer["sentences"] else 0, len(answer["sentences"]), quotes, tuple(lost))


def _as_shown(quote: str) -> str:
    """A text as a browser holds it: signs that are not seen are shown by their number."""
    return "".join(f"U+{ord(sign):04X}" if _is_unseen(sign) else sign for sign in quote)


def _is_unseen(sign: str) -> bool:
    code = ord(sign)
    controls = code < 9 or 11 <= code < 32 or 127 <= code < 160
    return controls or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069


def demo(home: Path) -> Any:
    """The demo, as `make demo` asks it."""
    documents = [{"text": file.read_text("utf-8"), "source": file.name} for file in sorted(DEMO.iterdir())]
    run(QUESTION, documents=documents, thread="meridian", home=home)
    return view("meridian", home=home)


def asked(one: Mapping[str, Any], home: Path) -> Iterator[Any]:
    """The questions of a document set, one after the other on a thread, each with its page."""
    documents = [{"text": document["text"], "source": document["name"]} for document in one["documents"]]
    for number, question in enumerate(one["questions"]):
        run(question["ask"], documents=documents if number == 0 else (), thread=one["id"], home=home)
        yield view(one["id"], home=home)


def main() -> int:
    """Print a row for the demo and each set, and what leads nowhere."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--eval", type=Path, help="folder of evaluation data, with documents/ (default: the demo alone)"
    )
    parser.add_argument("--sets", type=int, default=10, help="how many sets (default: %(default)s)")
    arguments = parser.parse_args()
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or "chromium"
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to be run by root with one
        browser = playwright.chromium.launch(executable_path=program, args=sandbox)
        context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
        page, file = context.new_page(), Path(folder) / "page.html"
        where = f"{os.cpu_count()} cores, {platform.machine()}, Chromium {browser.version}"
        sys.stdout.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {where}\n\n")
        sys.stdout.write("set    answers  sentences  quotes  lead nowhere\n")
        total = Followed()
        for name, shown in _everything(arguments, Path(folder)):
            found = Followed()
            for one in shown:
                one.save(file)
                page.goto(file.as_uri())
                found = found.plus(followed(page, one.snapshot))
            _print(name, found)
            total = total.plus(found)
        _print("all", total)
        browser.close()
    return 1 if total.lost else 0


def _everything(arguments: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Iterator[Any]]]:
    yield "demo", iter([demo(folder)])
    if arguments.eval is None:
        return
    lines = (arguments.eval / "documents" / "sets.dev.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    step = max(1, len(rows) // max(1, arguments.sets))
    for one in rows[::step][: arguments.sets]:
        yield one["id"], asked(one, folder)


def _print(name: str, found: Followed) -> None:
    sys.stdout.write(
        f"{name:6s} {found.answers:7d}  {found.sentences:9d}  {found.quotes:6d}  {len(found.lost):12d}\n"
        + ("" if name == "all" else "".join(f"  {lost}\n" for lost in found.lost))
    )
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
