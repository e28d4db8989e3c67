"""Tells which memories held on a day: said by then and not replaced, or told later of that time."""

from collections.abc import Iterable
from datetime import date, datetime

from agentic_memory_bank.engines.extractive.conversation import day_of, holds_from, tells_of_time
from agentic_memory_bank.state.records import Record
from agentic_memory_bank.tools.text.attribution import unattributed
from agentic_memory_bank.tools.text.terms import tokenize


def said_on(record: Record) -> date:
    """The day on which a memory was said, or else stored."""
    said = day_of(unattributed(record["text"])[1])
    return said or datetime.fromisoformat(record["created_at"]).date()


def held_on(day: date, record: Record, heir: Record | None) -> bool:
    """Whether what a memory says was true on a day, as far as was told.

    What took its place was true from the day it names: "I moved to Lisbon last month". A memory of that time that was
    told later counts, too: "in 2019 I lived in Oslo".

    Args:
        heir: The memory that has taken its place; None for none.
    """
    if record["replaced_by"] is not None and heir is not None and _true_from(heir) <= day:
        return False
    return _true_from(record) <= day or (heir is None and tells_of_time(_words(record), day, said_on(record)))


def is_left_of(record: Record, whole: Record) -> bool:
    """Whether a memory is what was left of another one when a part of that was replaced."""
    if record["created_at"] <= whole["created_at"] or said_on(record) != said_on(whole):
        return False
    told, held = (frozenset(tokenize(_words(one))) for one in (record, whole))
    return told <= held and not {*turns_told(record)}.isdisjoint(turns_told(whole))


def turns_told(record: Record) -> Iterable[str]:
    """The turns in which a memory was told."""
    return (turn for source in record["sources"] for turn in source["turns"])


def _true_from(record: Record) -> date:
    return holds_from(_words(record), said_on(record))


def _words(record: Record) -> str:
    return unattributed(record["text"])[2]
