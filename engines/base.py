"""The Engine protocol: one method per judgement, and the plain values that go in and come out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from typing_extensions import TypeVar

from agentic_memory_bank.state.errors import EngineError
from agentic_memory_bank.state.insight_doc import InsightDoc, TaskKind
from agentic_memory_bank.state.query_graph import Conflict
from agentic_memory_bank.tools.text.places import Placed

Span = tuple[int, int]
"""Characters `start` up to, not including, `end`."""


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A stretch of a document that a memory stands for, with the whole document: a sentence is read in its place."""

    name: str
    document: str
    span: Span
    """Where the stretch is in the document."""
    start: int
    """Where it begins in `Memory.text`."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory as a judge sees it: its words and where they come from, never its vector."""

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
    """Which of the two claims the texts themselves put in the place of the other: a correction, an amendment."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """New context and keywords for a memory."""

    context: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Two memories belong together; `updates` refreshes what each of them is about."""

    fresh: str
    existing: str
    updates: Mapping[str, Refresh] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """Memories to be made one, their neighbours, and why; after a validation, what was found."""

    memories: tuple[MemoryView, ...]
    neighbours: tuple[MemoryView, ...]
    cause: Literal["merge", "conflict"]
    refuted: tuple[tuple[str, Span], ...] = ()
    """Stretches (memory id, span of its text) that the validation found wrong."""
    statements: tuple[str, ...] = ()
    """What the validation found to be true, where no memory says it."""


@dataclass(frozen=True, slots=True)
class Integration:
    """The one memory that stands for a group, and what its neighbours are about now."""

    summary: str
    context: str
    keywords: tuple[str, ...]
    description: str
    """What was put together and why; kept in the Interaction Tree."""
    neighbours: Mapping[str, Refresh] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannerInput:
    """What the planner looks at: the state of the task, the news, and the conflicts that stay open or disputed."""

    insight_doc: InsightDoc
    fresh: tuple[MemoryView, ...]
    conflicts: tuple[Conflict, ...]
    kinds: tuple[TaskKind, ...] = ("answer",)
    """The kinds of step that can be carried out here."""


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
    """Which claim the texts themselves put in the place of the other, if they do."""


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
    """Of those, the ones in whose place another stretch holds: that of the passage with this index."""
    established: tuple[str, ...] = ()
    """What a validation found true of what the passage says; it holds before the passage."""
    placed: tuple[Placed, ...] = ()
    """Its sentences, each with its place in the document; none: they are read from the text as it stands here."""


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
    """An image as a judge is shown it."""

    name: str
    """What the file was called."""
    data: bytes
    type: str
    """Its media type, such as `image/png`."""


@runtime_checkable
class Recognizer(Protocol):
    """An engine that can look at pictures. No engine has to."""

    @property
    def sees(self) -> bool:
        """Whether there is a model that looks at pictures."""
        ...

    def recognize(self, pictures: Sequence[Picture]) -> Sequence[str | EngineError]:
        """Put each picture into words, or say why it could not be done."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Who judges. Stages ask an engine and nothing else, so a graph runs alike with a chat model and without.

    Every method takes all the questions of a round at once and answers in the same order. Memories and texts are
    named by the ids and indices given; an answer that names anything else is dropped by the stage. Where a single
    question could not be judged and others could, its answer is None.

    Raises:
        EngineError: From any method, when no judgement can be had.
    """

    @property
    def name(self) -> str:
        """What runs are recorded under; a run is resumed only with an engine of the same name."""
        ...

    def classify(self, texts: Sequence[str], task: str) -> Sequence[list[TopicSpans] | None]:
        """Divide each text into topics. What no topic claims is kept by the stage in a rest topic."""
        ...

    def structure(self, topics: Sequence[TopicText]) -> Sequence[TopicSummary | None]:
        """Compress each topic into a memory that keeps key information and evidence."""
        ...

    def find_conflicts(self, pairings: Sequence[Pairing]) -> list[Relation]:
        """Find what contradicts (first) or says the same (second); pairs that do neither are not in the answer."""
        ...

    def find_related(self, pairings: Sequence[Pairing]) -> list[Link]:
        """Find what belongs together though it neither contradicts nor repeats."""
        ...

    def integrate(self, groups: Sequence[MergeGroup]) -> Sequence[Integration | None]:
        """Make one memory of each group, without what a validation refuted."""
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
"""The protocol of an engine: that of the memory bank, or of another graph."""
