"""Shows memories to chat models: by their text, or their summary and what of the text is nearest to what is judged."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from agentic_memory_bank.engines.base import MemoryView, MergeGroup, Relation
from agentic_memory_bank.engines.llm.packing import PairWindow, fields_tokens, within
from agentic_memory_bank.prompts import integrate
from agentic_memory_bank.prompts.common import listed
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

FULL_TEXT_TOKENS = 160
"""A memory whose raw text is not longer is judged by it, a longer one by its summary."""
SUMMARY_TOKENS = 220
"""What of a summary is shown where memories are compared."""
COMPARED_TOKENS = 1_000
"""What of the raw text of a long memory is shown besides where contradictions are looked for, if there is room: one
that is not shown is not found."""
RELATED_TOKENS = 160
"""The same where relations are."""
LEAST_PART = 40
HINT_CHARACTERS = 300
HINTS = 40
"""How many places of differing wording are pointed out in one call."""
FULL_TEXTS_SHARE = 0.6
"""Share of a window that the memories of one group may take, full texts included."""
NEIGHBOURS_SHARE = 0.25


_size = lru_cache(maxsize=4_096)(estimate_tokens)
"""Each memory is measured for every window that it stands in."""


def memory_fields(memory: MemoryView) -> dict[str, str]:
    """Render a memory: by its raw text where that is short, otherwise by its summary."""
    is_short = _size(memory.text) <= max(FULL_TEXT_TOKENS, _size(memory.summary))
    return {
        "context": memory.context,
        "keywords": listed(memory.keywords),
        "text" if is_short else "summary": memory.text if is_short else memory.summary,
        "from": f"{listed(memory.sources)}, recorded {memory.created_at}",
    }


def analysed_fields(memory: MemoryView, about: Collection[str] = (), spare: int = 0) -> dict[str, str]:
    """Render a memory that is compared with others: a long one by the words that are nearest to theirs.

    Args:
        memory: The memory.
        about: Terms of the others.
        spare: Tokens that its raw text may take beside the summary.
    """
    fields = memory_fields(memory)
    if "summary" in fields:
        fields["summary"] = nearest(memory.summary, about, SUMMARY_TOKENS)
        fields["words"] = nearest(memory.text, about, spare) if spare >= LEAST_PART else ""
    return fields


@dataclass(frozen=True, slots=True)
class _Read:
    """A text by its sentences: their words, terms and tokens; and of each term how telling it is."""

    said: tuple[str, ...]
    terms: tuple[frozenset[str], ...]
    sizes: tuple[int, ...]
    weights: Mapping[str, float]


@lru_cache(maxsize=1_024)
def _read(text: str) -> _Read:
    said = tuple(text[start:end].strip() for start, end in sentences(text))
    terms = tuple(frozenset(tokenize(one)) for one in said)
    count = Counter(term for one in terms for term in one)
    weights = {term: 1 / number for term, number in count.items()}
    return _Read(said, terms, tuple(estimate_tokens(one) + 1 for one in said), weights)


def nearest(text: str, about: Collection[str], room: int) -> str:
    """The sentences of a text that share most with some terms, in their order, within so many tokens; or all of it.

    A term counts the more, the fewer sentences it stands in.
    """
    if _size(text) <= room:
        return text
    read = _read(text)
    shared = [sum(read.weights[term] for term in one if term in about) for one in read.terms]
    chosen: list[int] = []
    for place in sorted(range(len(shared)), key=lambda n: -shared[n]):
        if read.sizes[place] <= room:
            chosen.append(place)
            room -= read.sizes[place]
    return " ... ".join(read.said[place] for place in sorted(chosen))


def shown_memories(window: PairWindow, capacity: int, most: int = COMPARED_TOKENS) -> dict[int, dict[str, str]]:
    """Render the memories of a window under their numbers; what is left of its room goes to the words of long ones.

    Args:
        window: The memories and their pairs.
        capacity: Tokens that the window has room for.
        most: How many of them the words of one memory may take.
    """
    fields = {memory_id: memory_fields(memory) for memory_id, memory in window.memories.items()}
    long = [memory_id for memory_id, told in fields.items() if "summary" in told]
    spare = min(most, max(0, capacity - window.tokens) // max(1, len(long)))
    partners: dict[str, list[str]] = {memory_id: [] for memory_id in long}
    for new, others in window.pairs.items():
        for one, other in ((a, b) for old in others for a, b in ((new, old), (old, new))):
            if one in partners:
                partners[one].append(other)
    for memory_id, others in partners.items():
        about = frozenset[str]().union(*(_read(window.memories[other].text).weights for other in others))
        fields[memory_id] = analysed_fields(window.memories[memory_id], about, spare)
    return {number: fields[memory_id] for memory_id, number in window.numbers.items()}


def differing_words(
    window: PairWindow, differing: Mapping[tuple[str, str], Relation]
) -> list[tuple[int, int, str, str]]:
    """List where rules see the raw texts of a pair differ, word for word."""
    points: list[tuple[int, int, str, str]] = []
    for new, others in window.pairs.items():
        for other in others:
            hint = differing.get((new, other))
            if hint and hint.claims and len(points) < HINTS:
                texts = [window.memories[i].text for i in (new, other)]
                words = [t[c.span[0] : c.span[1]][:HINT_CHARACTERS] for t, c in zip(texts, hint.claims, strict=True)]
                points.append((window.numbers[new], window.numbers[other], words[0].strip(), words[1].strip()))
    return points


def rendered_group(group: MergeGroup, capacity: int) -> str:
    """Render a group: with the full texts where they fit a share of the window, else with the summaries."""
    texts = sum(estimate_tokens(memory.text) for memory in group.memories)
    fits = texts <= capacity * FULL_TEXTS_SHARE
    told = within(
        [memory_fields(m) | ({"summary": m.summary, "text": m.text} if fits else {}) for m in group.memories],
        fields_tokens,
        int(capacity * FULL_TEXTS_SHARE),
    )
    neighbours = within([_outline(m) for m in group.neighbours], fields_tokens, int(capacity * NEIGHBOURS_SHARE))
    by_id = {m.id: m for m in group.memories}
    refuted = [by_id[i].text[s:e] for i, (s, e) in group.refuted if i in by_id]
    return integrate.render(told, neighbours, group.cause, refuted, group.statements)


def _outline(memory: MemoryView) -> dict[str, str]:
    return {"context": memory.context, "keywords": listed(memory.keywords)}
