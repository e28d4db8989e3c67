"""Reads the verdict on contradictions that an executor hands in: it decides, so it has to say what it decides."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, cast

from agentic_memory_bank.engines.base import DisputeVerdict
from agentic_memory_bank.state.errors import ToolError
from agentic_memory_bank.state.query_graph import Contradiction
from agentic_memory_bank.tools.text.cleaning import clean

BY_EXECUTOR: Final = "Decided by the executor"
"""How the explanation of a verdict that was handed in begins."""
_OUTCOMES: Final = ("holds", "integrate", "neither", "inconclusive")


class HandedClaim(TypedDict):
    """One side of a contradiction as an executor is handed it: which memory says what, word for word."""

    memory: str
    value: str
    quote: str


class HandedContradiction(TypedDict):
    """A contradiction that an executor is to settle."""

    kind: str
    reason: str
    claims: list[HandedClaim]


class HandedVerdict(TypedDict, total=False):
    """What an executor decided: it holds whatever the texts say otherwise."""

    outcome: Literal["holds", "integrate", "neither", "inconclusive"]
    """Default: `holds`."""
    winner: int | str
    """The claim that holds: its number, from 0, or the id of the memory that says it."""
    statement: str
    """What is true, where no claim alone says it: needed for `integrate` and `neither`."""
    explanation: str


def handed_contradictions(contradictions: Sequence[Contradiction]) -> list[HandedContradiction]:
    """The contradictions of a conflict as an executor is handed them."""
    return [
        {
            "kind": found["kind"],
            "reason": found["reason"],
            "claims": [{"memory": c["node"], "value": c["value"], "quote": c["quote"]} for c in found["claims"]],
        }
        for found in contradictions
    ]


def verdicts_in(given: object, asked: Sequence[HandedContradiction]) -> list[DisputeVerdict | None]:
    """The verdict on each contradiction; None where it says nothing of one, which is then judged by the evidence.

    Args:
        given: A `HandedVerdict` on all of them, or a list with one, or None, for each. None is none.
        asked: The contradictions of the step.

    Raises:
        ToolError: It is none of these, or leaves open what it decides.
    """
    if given is None:
        return []
    if not asked:
        raise ToolError("This step settles no contradiction. Leave `verdict` out.")
    if isinstance(given, Mapping):
        return _on_all(cast("Mapping[str, Any]", given), asked)
    if (
        not isinstance(given, Sequence)
        or isinstance(given, str | bytes)
        or len(cast("Sequence[Any]", given)) > len(asked)
    ):
        raise ToolError(f"A `verdict` is a mapping, or a list of one for each of the {len(asked)} contradictions.")
    each = [*cast("Sequence[object]", given), *[None] * len(asked)]
    return [None if one is None else _on(one, found) for one, found in zip(each, asked, strict=False)]


def _on_all(given: Mapping[str, Any], asked: Sequence[HandedContradiction]) -> list[DisputeVerdict | None]:
    """One verdict on several contradictions: it names the memory that is right, or they are over the same values."""
    if len(asked) == 1:
        return [_on(given, asked[0])]
    if (outcome := _outcome(given)) != "holds":
        if outcome != "inconclusive" and len({frozenset(_values(found)) for found in asked}) > 1:
            raise ToolError(f"There are {len(asked)} contradictions over different values: give a list of verdicts.")
        return [_on(given, found) for found in asked]
    winner = given.get("winner")
    right = {claim["value"] for found in asked for claim in found["claims"] if claim["memory"] == winner}
    if not right:
        raise ToolError(
            f"There are {len(asked)} contradictions: name as `winner` the id of the memory that is right, or give a "
            "list of verdicts."
        )
    return [_by_memory(given, found, right) for found in asked]


def _outcome(given: Mapping[str, Any]) -> object:
    """What was decided; a null is as good as nothing, since forms and models fill in what they were not told."""
    return "holds" if given.get("outcome") is None else given["outcome"]


def _by_memory(given: Mapping[str, Any], found: HandedContradiction, right: set[str]) -> DisputeVerdict | None:
    """The claim of the memory that is right holds, or else the one that says the same as it does."""
    if any(claim["memory"] == given.get("winner") for claim in found["claims"]):
        return _on(given, found)
    held = [number for number, value in enumerate(_values(found)) if value in right]
    return _on({**given, "winner": held[0]}, found) if len(held) == 1 else None


def _values(found: HandedContradiction) -> list[str]:
    return [claim["value"] for claim in found["claims"]]


def _on(given: object, found: HandedContradiction) -> DisputeVerdict:
    if not isinstance(given, Mapping):
        raise ToolError("A verdict is a mapping with `outcome`, `winner`, `statement` and `explanation`.")
    fields = cast("Mapping[str, Any]", given)
    outcome, statement = _outcome(fields), clean(str(fields.get("statement") or "")).strip()
    if outcome not in _OUTCOMES:
        raise ToolError(f"The `outcome` of a verdict is one of {', '.join(_OUTCOMES)}, not {outcome!r}.")
    if outcome in ("integrate", "neither") and not statement:
        raise ToolError(f"A verdict with the outcome {outcome!r} says as `statement` what is true.")
    why = clean(str(fields.get("explanation") or "")).strip()
    return DisputeVerdict(
        outcome,
        _number(fields.get("winner"), found["claims"]) if outcome == "holds" else None,
        statement if outcome != "inconclusive" else "",
        f"{BY_EXECUTOR}: {why}" if why else f"{BY_EXECUTOR}.",
    )


def _number(winner: object, claims: Sequence[HandedClaim]) -> int:
    """The claim that holds."""
    if isinstance(winner, int) and not isinstance(winner, bool) and 0 <= winner < len(claims):
        return winner
    held = [number for number, claim in enumerate(claims) if claim["memory"] == winner]
    if len(held) == 1:
        return held[0]
    known = ", ".join(f"{number} ({claim['memory']}: {claim['quote']})" for number, claim in enumerate(claims))
    raise ToolError(f"The `winner` of a verdict is the number of a claim or the id of its memory: {known}.")
