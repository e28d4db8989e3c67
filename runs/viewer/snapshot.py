"""What the viewer shows, as plain data: the snapshot of a bank, of a user's memories, or of a memory of pages.

Places in texts are counted as a browser counts them, in UTF-16 units.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from agentic_memory_bank.state.insight_doc import CompletedTask
from agentic_memory_bank.state.interaction_tree import MergeEvent
from agentic_memory_bank.state.research import Finding, Round
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize

SHARE_OF_WORDS = 0.6
"""Share of a sentence's words that a quote must have to be shown as what the sentence rests on."""
LEAST_SHARE = 0.3
"""The same for the quote with most of them."""
_HEADING = " > "
"""What stands between the headings of an answer's sentence."""


class ShownText(TypedDict):
    """A raw text, whole: a document, a turn, a page."""

    source: str
    title: str
    kind: str
    at: str
    page: int | None
    text: str
    abstract: str


class ShownPlace(TypedDict):
    """A stretch of a text."""

    text: str
    """Id of the text."""
    start: int
    end: int


class ShownQuote(ShownPlace):
    """A stretch of a text with its words."""

    quote: str


class ShownSentence(TypedDict):
    """A sentence of an answer, and the quotes it rests on, by their position."""

    text: str
    quotes: list[int]


class ShownAnswer(TypedDict):
    """An answer with its quotes."""

    question: str
    status: str
    sentences: list[ShownSentence]
    quotes: list[ShownQuote]


class ShownMemory(TypedDict):
    """A memory of a bank."""

    id: str
    summary: str
    context: str
    keywords: list[str]
    sources: list[str]
    at: str
    places: list[ShownPlace]
    merged_from: list[str]
    into: str | None
    """The memory that holds its text now, where it was merged away."""
    history: list[dict[str, Any]]


class ShownClaim(ShownQuote):
    """One side of a contradiction."""

    value: str
    memory: str


class ShownContradiction(TypedDict):
    """Two claims that cannot both be true, and how it ended."""

    id: str
    conflict: str
    """Id of the conflict it is part of, and its position there: what a decision by hand names."""
    position: int
    status: str
    kind: str
    reason: str
    claims: list[ShownClaim]
    outcome: str
    winner: int | None
    statement: str
    explanation: str
    evidence: list[ShownQuote]
    announced: bool
    by_hand: bool


class ShownStep(TypedDict):
    """A step of a run: the stage, and what it changed."""

    stage: str
    at: str
    seconds: float
    texts: list[str]
    memories: list[str]
    gone: list[str]
    edges: list[list[str]]
    conflicts: dict[str, str]
    calls: int
    tokens: int


class BankSnapshot(TypedDict):
    """All of a thread."""

    kind: Literal["bank"]
    name: str
    answer: ShownAnswer
    texts: dict[str, ShownText]
    memories: list[ShownMemory]
    edges: list[list[str]]
    contradictions: list[ShownContradiction]
    merges: list[MergeEvent]
    tasks: list[CompletedTask]
    steps: list[ShownStep]
    usage: Mapping[str, Any]
    degraded: list[str]


class ShownRecord(TypedDict):
    """A memory of a user."""

    id: str
    type: str
    text: str
    subject: str | None
    attribute: str | None
    project: str
    sources: list[Any]
    trust: float
    importance: float
    at: str
    updated: str
    until: str | None
    """When another value took its place, or when it expires."""
    pinned: str | None
    used: int
    history: list[Any]
    replaces: list[str]
    replaced_by: str | None
    replaced_how: str | None
    evidence: list[str]
    contradicts: list[str]


class ShownRecall(TypedDict):
    """What a message recalls, and what was held back."""

    question: str
    outcome: str
    reason: str
    shown: list[dict[str, Any]]
    held_back: list[dict[str, Any]]


class UserSnapshot(TypedDict):
    """All memories of a user."""

    kind: Literal["user"]
    name: str
    mode: str
    records: list[ShownRecord]
    texts: dict[str, ShownText]
    recall: ShownRecall | None


class ResearchSnapshot(TypedDict):
    """How a request was researched."""

    answer: ShownAnswer
    rounds: list[Round]
    findings: list[Finding]
    unused: list[str]
    """Pages that were found and that neither the answer nor a finding rests on."""
    degraded: list[str]


class PagesSnapshot(TypedDict):
    """All pages of a memory, and the research that was asked for."""

    kind: Literal["pages"]
    name: str
    texts: dict[str, ShownText]
    research: ResearchSnapshot | None


Snapshot = BankSnapshot | UserSnapshot | PagesSnapshot


class BrowserPlaces:
    """Places of one text in UTF-16 units: a character outside the first plane is two of them in a browser."""

    def __init__(self, text: str) -> None:
        self._wide = [position for position, sign in enumerate(text) if sign > "\uffff"] if _has_wide(text) else []

    def __call__(self, position: int) -> int:
        """Count the units before a position."""
        return position + bisect_left(self._wide, position)


def _has_wide(text: str) -> bool:
    return bool(text) and max(text) > "\uffff"


def shown_answer(question: str, answer: str, status: str, quotes: Sequence[ShownQuote]) -> ShownAnswer:
    """Divide an answer into sentences, each with the quotes it rests on."""
    parts = [part for line in answer.split("\n") for part in _sentences(line)]
    words = [_words(one["quote"]) for one in quotes]
    shown: list[ShownSentence] = [{"text": part, "quotes": _resting(part, quotes, words)} for part in parts if part]
    return {"question": question, "status": status, "sentences": shown, "quotes": list(quotes)}


def _sentences(line: str) -> list[str]:
    """Divide a line of an answer; a heading that ends like a sentence (`Questions > How much? > ...`) ends none."""
    behind = line.rfind(_HEADING) + 1
    parts = [(start, end) for start, end in sentences(line) if end > behind]
    return [line[0 if n == 0 else start : end].strip() for n, (start, end) in enumerate(parts)]


def _resting(sentence: str, quotes: Sequence[ShownQuote], words: Sequence[frozenset[str]]) -> list[int]:
    """Find what a sentence rests on: quotes that it holds or is part of, else those with most of its words.

    What an answer reads out of a table shares fewer words with the row: then it rests on the row with most of them.
    The headings before a sentence (`Report > Height: ...`) are no words of it.
    """
    said = sentence.rpartition(_HEADING)[2]
    plain = " ".join(said.split())
    same = [n for n, one in enumerate(quotes) if _is_within(" ".join(one["quote"].split()), plain)]
    if same or not (own := _words(said)):
        return same
    shares = [len(own & held) / len(own) for held in words]
    least = min(SHARE_OF_WORDS, max(shares, default=0.0))
    return [n for n, share in enumerate(shares) if share >= max(least, LEAST_SHARE)]


def _is_within(quote: str, sentence: str) -> bool:
    return bool(quote) and (quote in sentence or sentence in quote)


def _words(text: str) -> frozenset[str]:
    return frozenset(tokenize(text))


class Shown(TypedDict):
    """What a page is made of: the snapshot, and how its reader may act on it."""

    snapshot: Snapshot
    made_at: str
    version: str
    live: NotRequired[bool]
    undo: NotRequired[str | None]
