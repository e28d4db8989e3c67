"""Stage 4: puts the pages of this round into the memory, all of them in one transaction."""

from datetime import timedelta
from typing import cast

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from agentic_memory_bank.nodes.messages import pages_in_words
from agentic_memory_bank.nodes.page_deps import PageDeps
from agentic_memory_bank.state import memorizer
from agentic_memory_bank.state.memorizer import (
    MemorizerOutput,
    MemorizerState,
    MemorizerUpdate,
    PendingPage,
    SkippedText,
    Work,
)
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.pages.rows import time_to_live
from agentic_memory_bank.tools.pages.store import PageStore


def store(state: MemorizerState, runtime: Runtime[Settings], deps: PageDeps) -> MemorizerUpdate:
    """Keep the pages. Done again after a crash it keeps nothing twice: a page has the same id in every process.

    Raises:
        StorageFullError: The disk is full. What was judged is saved: free some space and resume.
        StorageError: The memory cannot be written, or is damaged.
    """
    place = deps.store(state["memory"], runtime)
    batch = state["work"]["waiting"][: len(state["drafts"])]
    pages: list[Page] = [{**w["page"], "abstract": said} for w, said in zip(batch, state["abstracts"], strict=True)]
    _set_ttl(place, Settings.of(runtime))
    ours = _kept(place, pages, state["now"])
    edit = memorizer.keep(
        [{"id": page["id"], "title": page["title"]} for page in pages if page["id"] in ours],
        [_skipped(w, "duplicate") for w in batch if w["page"]["id"] not in ours],
    )
    if state.get("allowance", {}).get("ending") == "stop":
        left = [_skipped(w, "stopped") for w in state["work"]["waiting"][len(batch) :]]
        edit = memorizer.keep(edit.get("kept", []), [*edit.get("skipped", []), *left])
    work = memorizer.apply_work_edits(state["work"], [[edit]])
    runtime.stream_writer({"stage": "store", "pages": len(work.get("kept", [])), "left": len(work.get("waiting", []))})
    outcome = _outcome(work)
    if outcome and state.get("in_messages"):
        outcome["messages"] = [AIMessage(pages_in_words(cast("MemorizerOutput", outcome)))]
    return {"work": [edit], "drafts": [], "abstracts": [], **outcome}


def _kept(place: PageStore, pages: list[Page], now: str) -> set[str]:
    """The pages that are there through this run, also if it was killed after it had put them there."""
    stored = place.put(pages)
    earlier = {page["id"] for page in place.get(stored.duplicates) if page["created_at"] == now}
    return {*stored.added, *earlier}


def _skipped(waiting: PendingPage, reason: str) -> SkippedText:
    return {"text": waiting["text"], "reason": reason, "id": waiting["page"]["id"]}  # type: ignore[typeddict-item]


def _outcome(work: Work) -> MemorizerUpdate:
    """What is given back, once nothing is left."""
    if work.get("waiting"):
        return {}
    skipped = work.get("skipped", [])
    is_stopped = any(one["reason"] == "stopped" for one in skipped)
    return {"pages": work.get("kept", []), "skipped": skipped, "status": "stopped" if is_stopped else "completed"}


def _set_ttl(place: PageStore, settings: Settings) -> None:
    """Say how long new pages stay, where the settings do."""
    sums = (settings.page_ttl_days, settings.page_ttl_hours, settings.page_ttl_minutes)
    if settings.page_ttl_seconds is None and not any(sums):
        return
    ttl = time_to_live(*sums, seconds=settings.page_ttl_seconds)
    known = place.stats()["ttl_seconds"]
    if ttl != (None if known is None else timedelta(seconds=known)):
        place.set_ttl(ttl)
