"""The snapshot of a memory of pages: each page with its abstract, and a research with its rounds and findings."""

from contextlib import closing
from pathlib import Path

from agentic_memory_bank.runs.viewer.snapshot import (
    BrowserPlaces,
    PagesSnapshot,
    ResearchSnapshot,
    ShownQuote,
    ShownText,
    shown_answer,
)
from agentic_memory_bank.state.errors import UnknownMemoryError
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.research import ResearcherOutput
from agentic_memory_bank.tools.pages.stores import PageStores, checked_name


def pages_snapshot(
    memory: str, home: str | Path | None = None, found: ResearcherOutput | None = None, request: str = ""
) -> PagesSnapshot:
    """Take the snapshot of a memory of pages.

    Args:
        memory: Its name.
        home: Folder of all memories. Default: `MEMORY_BANK_HOME`, or the user's state folder.
        found: What a research in it came to.
        request: What was asked then.

    Raises:
        UnknownMemoryError: There is no such memory.
        StorageError: It cannot be read.
    """
    with closing(PageStores(Path(home) if home is not None else None)) as stores:
        store = stores.of(checked_name(memory))
        if not store.exists():
            raise UnknownMemoryError(f"There is no memory of pages {memory!r}. `memory-bank pages` lists them.")
        pages = [page for _, page in store.pages()]
    texts = {page["id"]: _text(page) for page in pages}
    research = None if found is None else _research(request, found, texts)
    return {"kind": "pages", "name": memory, "texts": texts, "research": research}


def _text(page: Page) -> ShownText:
    number = page["metadata"].get("page")
    return {
        "source": page["source"],
        "title": page["title"],
        "kind": "page",
        "at": str(page["metadata"].get("date") or page["created_at"]),
        "page": number if isinstance(number, int) else None,
        "text": page["text"],
        "abstract": page["abstract"],
    }


def _research(request: str, found: ResearcherOutput, texts: dict[str, ShownText]) -> ResearchSnapshot:
    quotes: list[ShownQuote] = []
    for source in found["sources"]:
        if (page := texts.get(source["page"])) is None:
            continue
        units = BrowserPlaces(page["text"])
        start, end = units(source["start"]), units(source["end"])
        quotes.append({"text": source["page"], "start": start, "end": end, "quote": source["quote"]})
    rests_on = {quote["text"] for quote in quotes} | {id for one in found["findings"] for id in one["pages"]}
    met = dict.fromkeys(id for one in found["rounds"] for id in one["pages"])
    return {
        "answer": shown_answer(request, found["answer"], found["status"], quotes),
        "rounds": found["rounds"],
        "findings": found["findings"],
        "unused": [id for id in met if id not in rests_on],
        "degraded": found["degraded"],
    }
