"""Writes three pages of the viewer: the demo's documents, a user with 1,000 memories, and a research.

Run it with `make view-demo`, or: python tests/browser/view_demo.py FOLDER
"""

import sys
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from agentic_memory_bank import Memories, run, view
from agentic_memory_bank.runs.page_runs import memorize

DOCUMENTS = Path(__file__).parents[2] / "examples" / "meridian_array"
QUESTION = "When did the Meridian Array open, and what is the diameter of its mirror?"
PEOPLE = ("Marta", "Ivo", "Lena", "Tomas", "Nora", "Pavel", "Sven", "Edith", "Hugo", "Mina")
PLACES = ("the northern depot", "the old mill", "the harbour office", "the town library", "the botanical garden")
THINGS = ("keys", "boat", "archive", "greenhouse", "accounts", "van", "website", "telescope", "kitchen", "choir")


class Calendar:
    """A clock that goes on by a day with each thing that is said."""

    def __init__(self) -> None:
        self._days = 0

    def __call__(self) -> datetime:
        """Say what day it is."""
        return datetime(2022, 6, 6, 9, tzinfo=UTC) + timedelta(days=self._days)

    def next_day(self) -> None:
        """Go on by a day."""
        self._days += 1


def fill_user(home: Path, user: str) -> None:
    """A thousand memories: what a few people said of themselves, and who looked after what from when on."""
    calendar = Calendar()
    with Memories(home=home, clock=calendar) as memories:
        for said in ("I live in Berlin.", "I work as a nurse.", "I moved to Lisbon.", "I work as a teacher now."):
            memories.remember(said, user=user, conversation_id=f"{calendar():%d %B %Y}", end=True)
            for _ in range(90):
                calendar.next_day()
        things = [f"the {thing} of {place}" for thing, place in product(THINGS, PLACES)]
        known: dict[str, str] = {}
        for number in range(1_000 - 4):
            calendar.next_day()
            thing, who = things[number % len(things)], PEOPLE[(number + number // len(things) * 3) % len(PEOPLE)]
            text = f"{who} looks after {thing} since {calendar():%d %B %Y}."
            if thing in known:
                kept = memories.supersede(known[thing], text, user=user)
            else:
                kept = memories.store(text, user=user, subject=thing, attribute="looked after by")
            known[thing] = kept["id"]


def main(folder: Path) -> None:
    """Write the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        texts = [
            {"text": file.read_text(encoding="utf-8"), "source": file.name} for file in sorted(DOCUMENTS.iterdir())
        ]
        run(QUESTION, documents=texts, thread="meridian", home=home)
        fill_user(home, "ana")
        texts = [
            {"text": file.read_text(encoding="utf-8"), "source": file.name} for file in sorted(DOCUMENTS.iterdir())
        ]
        memorize(texts, "meridian", home=home)
        pages = {
            "bank": view("meridian", home=home),
            "user": view(user="ana", question="Who looks after the telescope of the town library?", home=home),
            "research": view(memory="meridian", question="When did the Meridian Array open?", home=home),
        }
    for name, page in pages.items():
        print(page.save(folder / f"{name}.html"))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
