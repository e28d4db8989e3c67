"""Settles a contradiction by hand: which of its claims holds, kept with the reason as one more step of the thread.

What was settled by hand is taken back in the same way.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.nodes.deps import Clock, timestamp, utc_now
from agentic_memory_bank.runs.export import check_is_kept
from agentic_memory_bank.runs.home import checked_thread, lease
from agentic_memory_bank.runs.homes import home_at, ledger_of, saver_of
from agentic_memory_bank.state import query_graph
from agentic_memory_bank.state.errors import InputError, RunError
from agentic_memory_bank.state.query_graph import Conflict, Contradiction
from agentic_memory_bank.tools.text.cleaning import checked_text

LAST_STAGE: Final = "adapter_out"
"""The stage behind which a decision by hand is kept: a finished run stays finished."""
BY_HAND: Final = "Settled by hand"
"""How the explanation of a decision by hand begins."""


def settle(
    thread: str,
    conflict: str,
    position: int,
    winner: int,
    *,
    why: str = "",
    home: str | Path | None = None,
    clock: Clock = utc_now,
) -> Conflict:
    """Settle a contradiction of a kept thread by hand; answers after that quote only the claim that holds.

    Contradictions of the same conflict between the same values are settled with it.

    Args:
        thread: The thread, whose run is finished.
        conflict: Id of the conflict.
        position: Which of its contradictions, from 0.
        winner: Which claim holds, from 0.
        why: The reason; it is kept in the explanation.
        home: Folder of all runs. Default: the database of `MEMORY_BANK_DATABASE_URL`, `MEMORY_BANK_HOME`, or the user's
            state folder.
        clock: Returns the current time.

    Returns:
        The conflict as it is now.

    Raises:
        InputError: There is no such contradiction or claim.
        UnknownThreadError: Nothing is known of the thread.
        RunError: Its run is not finished.
        ThreadBusyError: It is being run right now.
        StorageError: It cannot be read or written.
    """
    reason = checked_text(why, "reason") if why.strip() else ""
    with _finished(thread, home) as (bank, config):
        state = bank.get_state(config).values
        found = state.get("query_graph", {}).get("conflicts", {}).get(conflict)
        settled = _settled(found, conflict, position, winner, reason, timestamp(clock()))
        told = [_told(one, settled) for one in state.get("conflicts", [])]
        _write(bank, config, settled, told)
    return settled


def unsettle(
    thread: str, conflict: str, *, settled: Conflict | None = None, home: str | Path | None = None
) -> Conflict:
    """Take back the last decision by hand on a conflict, as one more step: it is again what it was before.

    Args:
        thread: The thread, whose run is finished.
        conflict: Id of the conflict.
        settled: The conflict as `settle` has returned it, so that nobody else's decision is taken back.
        home: As `settle`.

    Returns:
        The conflict as it is now.

    Raises:
        InputError: It is not settled by hand, or is no longer as it was settled, or more was read of it since.
        UnknownThreadError, RunError, ThreadBusyError, StorageError: As `settle`.
    """
    with _finished(thread, home) as (bank, config):
        state = bank.get_state(config).values
        now: Conflict | None = state.get("query_graph", {}).get("conflicts", {}).get(conflict)
        if now is None or not any(_is_by_hand(one) for one in now["contradictions"]):
            raise InputError(f"There is no conflict {conflict!r} on this thread that is settled by hand.")
        if settled is not None and settled != now:
            raise InputError("This conflict was settled or read again since. Settle it the other way.")
        earlier = _before(bank, config, now)
        found: Conflict | None = earlier.get("query_graph", {}).get("conflicts", {}).get(conflict)
        if found is None or _claims(found) != _claims(now):
            raise InputError("More was read of this conflict since it was settled by hand. Settle it the other way.")
        was = {str(_quotes(one["claims"])): one for one in earlier.get("conflicts", []) if one["id"] == conflict}
        told = [
            was.get(str(_quotes(one["claims"])), one) if one["id"] == conflict else one
            for one in state.get("conflicts", [])
        ]
        _write(bank, config, found, told)
    return found


@contextmanager
def _finished(thread: str, home: str | Path | None) -> Iterator[tuple[Any, Any]]:
    """The graph of a thread that is not being run, and the config of the thread."""
    place = home_at(home).prepare()
    with lease(place, checked_thread(thread)):
        if ledger_of(place).get(thread).is_unfinished:
            raise RunError(f"The run on the thread '{thread}' is not finished. Resume it first, or clear it.")
        check_is_kept(thread, place)
        with saver_of(place, thread) as saver:
            yield (
                build_memory_bank(checkpointer=saver),
                {"configurable": {"thread_id": thread, "checkpoint_ns": ""}},
            )


def _write(bank: Any, config: Any, conflict: Conflict, told: Sequence[Mapping[str, Any]]) -> None:
    """Keep a conflict as a step of the thread, with how the last answer tells it."""
    update = {"query_graph": [query_graph.settle(conflict)], "conflicts": told}
    bank.update_state(config, update, as_node=LAST_STAGE)


def _before(bank: Any, config: Any, now: Conflict) -> Mapping[str, Any]:
    """The last state before a conflict first became what it is now; what came between was taken back."""
    earlier: Mapping[str, Any] = {}
    was_it = False
    for found in bank.get_state_history(config):
        is_it = found.values.get("query_graph", {}).get("conflicts", {}).get(now["id"]) == now
        if was_it and not is_it:
            earlier = found.values
        was_it = is_it
    return earlier


def _claims(found: Conflict) -> list[Any]:
    return [one["claims"] for one in found["contradictions"]]


def _is_by_hand(one: Contradiction) -> bool:
    return one.get("explanation", "").startswith(BY_HAND)


def _settled(found: Conflict | None, id: str, position: int, winner: int, reason: str, now: str) -> Conflict:
    if found is None or not 0 <= position < len(found["contradictions"]):
        raise InputError(f"There is no contradiction {position} in a conflict {id!r} on this thread.")
    claims = found["contradictions"][position]["claims"]
    if not 0 <= winner < len(claims):
        raise InputError(f"The contradiction has {len(claims)} claims, counted from 0; {winner} is none of them.")
    values, holds = {claim["value"] for claim in claims}, claims[winner]["value"]
    contradictions = [
        _decided(one, holds if n != position else None, winner, reason)
        if n == position or {claim["value"] for claim in one["claims"]} == values
        else one
        for n, one in enumerate(found["contradictions"])
    ]
    is_open = any(one.get("outcome", "inconclusive") == "inconclusive" for one in contradictions)
    status = "disputed" if is_open else "settled"
    return {**found, "contradictions": contradictions, "status": status, "settled_at": now}


def _decided(found: Contradiction, holds: str | None, winner: int, reason: str) -> Contradiction:
    """A contradiction with the decision; of another one between the same values, the claim with that value holds."""
    claims = found["claims"]
    if holds is not None:
        winner = next(n for n, claim in enumerate(claims) if claim["value"] == holds)
    return {
        **found,
        "outcome": "holds",
        "winner": winner,
        "statement": "",
        "explanation": f"{BY_HAND}: {reason}" if reason else f"{BY_HAND}.",
        "evidence": [claims[winner]["anchor"]],
    }


def _told(one: Mapping[str, Any], settled: Conflict) -> Mapping[str, Any]:
    """A contradiction as the last answer told it, with its decision where it was settled by hand."""
    same = (found for found in settled["contradictions"] if _quotes(found["claims"]) == _quotes(one["claims"]))
    decided = next(same, None) if one["id"] == settled["id"] else None
    if decided is None or not _is_by_hand(decided):
        return one
    winner = decided.get("winner") or 0
    return {
        **one,
        "status": "settled",
        "outcome": "holds",
        "winner": winner,
        "statement": "",
        "explanation": decided.get("explanation", ""),
        "evidence": [{name: value for name, value in one["claims"][winner].items() if name not in ("value", "node")}],
    }


def _quotes(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    return [claim["quote"] for claim in claims]
