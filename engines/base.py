"""The Engine protocol: one method per judgement, and the plain values that go in and come out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from typing_extensions import TypeVar

from agentic_memory_bank.state.errors import EngineError
from agentic_memory_bank.state.insight_doc import InsightDoc, TaskKind
from agentic_memory_bank.state.query_graph import Conflict
from agentic_memory_bank.tools.text.place import Placed

Span = tuple[int, int]
"""`(start, end)`: characters from `start` up to, not including, `end`."""


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A stretch of a document that a memory stands for, with the whole document, so that it is read in its place."""

    name: str
    document: str
    span: Span
    """Span of the stretch in the document."""
    start: int
    """Where it begins in `MemoryView.text`."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory as an engine is shown it: its words and where they come from, without its vector."""

    id: str
    summary: str
    context: str
    keywords: tuple[str, ...]
    text: str
    """The raw text, word for word, so that no judgement rests on a shortened form."""
    sources: tuple[str, ...]
    created_at: str
    parts: tuple[SourcePart, ...] = field(default=(), repr=False)
    """The stretches of documents that `text` is made of."""


@dataclass(frozen=True, slots=True)
class TopicSpans:
    """Stretches of one text that belong to one topic."""

    spans: tuple[Span, ...]
    context: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicText:
    """A topic's raw text, with what the classifier said of it as a hint."""

    text: str
    context: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """A topic as a memory: summary, one sentence of context, keywords."""

    summary: str
    context: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pairing:
    """A fresh memory and the ones to compare it with, each with the cosine of the two."""

    fresh: MemoryView
    candidates: tuple[MemoryView, ...]
    cosines: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClaimSpan:
    """What one memory says: the value, and the stretch of `MemoryView.text` that says it."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Relation:
    """A conflict or a merge between a fresh memory and an existing one."""

    fresh: str
    existing: str
    relation: Literal["conflict", "merge", "unjudged"]
    """`unjudged`: no judgement could be had of this pair; it is asked about again when it comes up again."""
    kind: str = ""
    reason: str = ""
    claims: tuple[ClaimSpan, ClaimSpan] | None = None
    """For a conflict: what the fresh memory says, then what the existing one says."""
    announced: int | None = None
    """Index of the claim that a text itself puts in the place of the other, as a correction does; None for neither."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """New context and keywords for a memory."""

    context: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A relation of two memories; `updates` has new context and keywords for them."""

    fresh: str
    existing: str
    updates: Mapping[str, Refresh] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """Memories to merge, their neighbours, and why; after a validation, its outcome."""

    memories: tuple[MemoryView, ...]
    neighbours: tuple[MemoryView, ...]
    cause: Literal["merge", "conflict"]
    refuted: tuple[tuple[str, Span], ...] = ()
    """Stretches (memory id, span of its text) that the validation found wrong."""
    statements: tuple[str, ...] = ()
    """What the validation found to be true, where no memory says it."""


@dataclass(frozen=True, slots=True)
class Integration:
    """The memory that a group is merged into, and new context and keywords for its neighbours."""

    summary: str
    context: str
    keywords: tuple[str, ...]
    description: str
    """Description of the merge, kept in the Interaction Tree."""
    neighbours: Mapping[str, Refresh] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannerInput:
    """What the planner is shown: the state of the task, new memories, and conflicts that are open or disputed."""

    insight_doc: InsightDoc
    fresh: tuple[MemoryView, ...]
    conflicts: tuple[Conflict, ...]
    kinds: tuple[TaskKind, ...] = ("answer",)
    """The kinds of step that can be carried out here."""
    merges: tuple[str, ...] = ()
    """What was put together of the new memories, in words."""


@dataclass(frozen=True, slots=True)
class Step:
    """The one next step."""

    kind: TaskKind
    description: str


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """Raw text that may speak for or against a claim."""

    entry: str
    source: str
    text: str
    created_at: str
    date: str | None = None
    start: int = 0
    """Where `text` begins in the entry."""


@dataclass(frozen=True, slots=True)
class Dispute:
    """Two claims that cannot both be true, word for word, and all raw text that may decide between them."""

    kind: str
    quotes: tuple[str, ...]
    values: tuple[str, ...]
    evidence: tuple[EvidenceText, ...]
    announced: int | None = None
    """Index of the claim that a text itself puts in the place of the other; None for neither."""


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """A stretch of an entry's whole text, not of the part that was shown."""

    entry: str
    span: Span


@dataclass(frozen=True, slots=True)
class DisputeVerdict:
    """The end of a dispute: which claim holds, or what is true instead, or that it stays open."""

    outcome: Literal["holds", "integrate", "neither", "inconclusive"]
    winner: int | None = None
    statement: str = ""
    explanation: str = ""
    evidence: tuple[EvidenceSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """Raw text to read for an answer, with the score of its retrieval."""

    text: str
    score: float
    refuted: tuple[Span, ...] = ()
    """Stretches that a validation found wrong: not to be quoted."""
    replaced: tuple[tuple[Span, int, Span], ...] = ()
    """Those of them that another stretch corrects, with the index of its passage."""
    established: tuple[str, ...] = ()
    """What a validation found to be true instead; it overrides the passage."""
    placed: tuple[Placed, ...] = ()
    """Its sentences, each with its place in the document; where empty, they are read from the text."""


@dataclass(frozen=True, slots=True)
class PassageQuote:
    """A stretch of a passage (by its index) that answers the question."""

    passage: int
    span: Span


@dataclass(frozen=True, slots=True)
class QuotedAnswer:
    """An answer and the quotes it rests on; no quotes when nothing was found."""

    text: str
    quotes: tuple[PassageQuote, ...]
    learned: str
    """One or two sentences for the Insight Doc."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as an engine is shown it."""

    name: str
    """Name of the file."""
    data: bytes
    type: str
    """Its media type, such as `image/png`."""


@runtime_checkable
class Recognizer(Protocol):
    """The part of an engine that looks at pictures; it is optional."""

    @property
    def sees(self) -> bool:
        """Ask whether there is a model that looks at pictures."""
        ...

    def recognize(self, pictures: Sequence[Picture]) -> Sequence[str | EngineError]:
        """Describe each picture, or say why that failed."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Makes the judgements of `memory_bank`. Stages ask nothing else, so the graph runs with chat models and without.

    Every method takes all questions of a round and answers in the same order. Answers name memories and texts by the
    ids and indices they were given; the stage drops an answer that names anything else. Where a single question could
    not be judged, its answer is None.

    Raises:
        EngineError: From any method, when nothing can be judged.

    Example:
        >>> class WithoutDates(ExtractiveEngine):
        ...     def find_conflicts(self, pairings):
        ...         return [found for found in super().find_conflicts(pairings) if found.kind != "date"]
        >>> bank = build_memory_bank(engine=WithoutDates(Encoder()))
    """

    @property
    def name(self) -> str:
        """Name of the engine in the ledger; a run is resumed only with an engine of the same name."""
        ...

    def classify(self, texts: Sequence[str], task: str) -> Sequence[list[TopicSpans] | None]:
        """Divide each text into topics; the stage puts what no topic claims into a rest topic."""
        ...

    def structure(self, topics: Sequence[TopicText]) -> Sequence[TopicSummary | None]:
        """Compress each topic into a memory that keeps key information and evidence."""
        ...

    def find_conflicts(self, pairings: Sequence[Pairing]) -> list[Relation]:
        """Find pairs that contradict each other and pairs that say the same; other pairs are not in the answer."""
        ...

    def find_related(self, pairings: Sequence[Pairing]) -> list[Link]:
        """Find pairs that are related though they neither contradict nor repeat each other."""
        ...

    def integrate(self, groups: Sequence[MergeGroup]) -> Sequence[Integration | None]:
        """Merge each group into one memory, without what a validation refuted."""
        ...

    def plan(self, situation: PlannerInput) -> Step | None:
        """Name the one next step, or None when nothing is left to do. Conflicts are put first by the stage."""
        ...

    def validate(self, disputes: Sequence[Dispute]) -> Sequence[DisputeVerdict | None]:
        """Decide each dispute by the evidence, or say that it stays open."""
        ...

    def answer(self, question: str, passages: Sequence[RetrievedPassage]) -> QuotedAnswer:
        """Answer from the passages, with quotes; without quotes when they do not hold the answer."""
        ...


EngineT = TypeVar("EngineT", default=Engine)
"""Protocol of an engine: that of the memory bank, or of another graph."""
