"""Stage 3: which pages hold something on that, that was not seen before?"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.nodes.researcher.retrieved import retrieve
from agentic_memory_bank.nodes.researcher.views import past_round
from agentic_memory_bank.state.pages import PageSearch
from agentic_memory_bank.state.research import PageStretch, ResearcherState, ResearcherUpdate
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.pages.index import PageHit

WORDS_ALONE: Final = "search: EmbeddingError"
"""What is noted where the model of embeddings failed, and pages were searched by their words alone."""


def search(state: ResearcherState, runtime: Runtime[Settings], deps: PageDeps) -> ResearcherUpdate:
    """Make all searches of the round at once; each of them has its turn among what is read first.

    Raises:
        StorageError: The memory cannot be read.
    """
    settings = Settings.of(runtime)
    library = deps.library(state["memory"], runtime)
    planned = [
        PageSearch(s["request"], tuple(s["keywords"]), tuple(s["queries"]), tuple(s["pages"]))
        for s in state["searches"]
    ]
    known = {_key(one) for one in state["shown"]}
    enough = settings.research_pages
    hits = library.search(planned, enough + len({page for page, _, _ in known}), settings)
    brought = retrieve(deps.retrievers, planned, state.get("retrieved", {}), settings, deps.clock())
    found = list(_new([_unseen(ranked, known, enough) for ranked in (*hits, *brought.rows)], known))
    runtime.stream_writer({"stage": "search", "pages": list(dict.fromkeys(one["page"] for one in found))})
    amiss = [f"search: {kind}" for kind in brought.failures] + [WORDS_ALONE] * (not library.has_meaning)
    note: ResearcherUpdate = {"degraded": _once(state.get("degraded", []), amiss)} if amiss else {}
    if deps.retrievers:
        note["retrieved"] = brought.pages
    if found:
        return {"found": found, **note}
    return {**note, "found": [], "rounds": [*state["rounds"], past_round(state, state["findings"], is_enough=False)]}


def _once(notes: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*notes, *more)))


def _unseen(ranked: Sequence[PageHit], known: set[tuple[str, int, int]], most: int) -> list[PageHit]:
    """The pages asked for, and the first others with something that was not shown: those seen take nobody's place."""
    others = [hit for hit in ranked if not hit.by_id and any(_key(one) not in known for one in _stretches(hit))]
    return [*(hit for hit in ranked if hit.by_id), *others[:most]]


def _new(hits: Sequence[Sequence[PageHit]], known: set[tuple[str, int, int]]) -> Iterator[PageStretch]:
    """The stretches that were not shown, the best of each search first, then the second of each, and so on.

    Of a page that is read whole, now or before, nothing is read besides.
    """
    ranked = [hit for row in zip_longest(*hits) for hit in row if hit]
    whole = {page for page, _, end in known if end < 0} | {hit.page for hit in ranked if not hit.parts}
    seen = set(known)
    for one in (stretch for hit in ranked for stretch in _stretches(hit)):
        if _key(one) not in seen and (one["end"] < 0 or one["page"] not in whole):
            seen.add(_key(one))
            yield one


def _stretches(hit: PageHit) -> Iterator[PageStretch]:
    """The parts of a page that were found, or the whole of one that was asked for."""
    for start, end in hit.parts or ((0, -1),):
        yield {"page": hit.page, "start": start, "end": end, "score": round(hit.score, 6)}


def _key(one: PageStretch) -> tuple[str, int, int]:
    return one["page"], one["start"], one["end"]
