"""Says in words what a graph found, for whoever asked in words: a model that called a tool, another agent, a chat."""

from collections.abc import Mapping
from typing import Any

from agentic_memory_bank.state.memorizer import MemorizerOutput
from agentic_memory_bank.state.memory_bank import MemoryBankOutput
from agentic_memory_bank.state.research import ResearcherOutput


def answer_in_words(found: MemoryBankOutput) -> str:
    """The answer of a memory bank with its quotes, and what contradicts."""
    lines = [found.get("answer") or f"There is no answer ({found.get('status', 'stopped')})."]
    if sources := found.get("sources"):
        lines += ["", "Quotes:", *(f"- “{source['quote']}” ({source['source']})" for source in sources)]
    if conflicts := found.get("conflicts"):
        lines += ["", "Contradictions:", *(line for conflict in conflicts for line in _conflict(conflict))]
    return "\n".join(lines)


def research_in_words(found: ResearcherOutput) -> str:
    """The answer of a researcher with its quotes, or what it found on the way."""
    lines = [found.get("answer") or f"There is no answer ({found.get('status', 'stopped')})."]
    if sources := found.get("sources"):
        quoted = (f"- “{s['quote']}” ({', '.join(filter(None, (s['title'], s['source'])))})" for s in sources)
        lines += ["", "Quotes:", *quoted]
    elif findings := found.get("findings"):
        lines += ["", "Found on the way:", *(f"- {finding['text']}" for finding in findings)]
    return "\n".join(lines)


def pages_in_words(found: MemorizerOutput) -> str:
    """How many pages a memorizer kept, and what it left out."""
    skipped = [one["reason"] for one in found.get("skipped", [])]
    reasons = ", ".join(f"{skipped.count(reason)} {reason}" for reason in dict.fromkeys(skipped))
    return f"Pages kept: {len(found.get('pages', []))}." + (f" Left out: {reasons}." if reasons else "")


def _conflict(conflict: Mapping[str, Any]) -> list[str]:
    """The claims of a contradiction, and what came of it."""
    claims = [f"“{claim['quote']}” ({claim['source']})" for claim in conflict["claims"]]
    winner: int | None = conflict["winner"] if conflict["outcome"] == "holds" else None
    verdict = f"{claims[winner]} holds" if winner is not None else conflict["outcome"]
    said = ". ".join(filter(None, (verdict, conflict["statement"], conflict["explanation"])))
    return [f"- {' against '.join(claims)}: {said}"]
