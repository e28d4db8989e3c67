"""The ConversationEngine protocol: the judgements behind recall and remember, and the values that go in and out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, runtime_checkable

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.state.records import Record, RecordType
from agentic_memory_bank.tools.memories.validation import NewMemory
from agentic_memory_bank.tools.text.attribution import unattributed

Role = Literal["user", "assistant", "system", "tool"]
Why = Literal["search", "empty", "greeting", "fact", "tool"]
"""Why memories are searched or not: `fact` asks for a fact of the world, `tool` for what a tool knows."""
ResolutionAction = Literal["create", "same", "revise", "supersede", "contradicts"]
"""What becomes of a fact: it is new; it is known; it rewords a known memory; its value replaces another one; it
contradicts one of another source."""

BY_WEIGHT: Final[tuple[ResolutionAction, ...]] = ("same", "revise", "supersede", "contradicts")
"""What counts, first to last, where several memories are met."""
DIGEST_TOKENS: Final = 100
"""Default length of the digest of a conversation, in tokens."""
TRUST: Final = {"user": 0.9, "assistant": 0.6}
"""Trust in what was said, from 0 to 1, by role of the speaker."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    id: str
    role: Role
    text: str
    speaker: str = ""
    """Name of the speaker, where known."""
    date: str = ""
    """When it was said, as a text with a full date."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What the caller knows of a message; None leaves the question to the engine."""

    tools: tuple[str, ...] = ()
    """Names of the tools that the answering model has."""
    is_fact: bool | None = None
    """Whether the message asks for a fact of the world."""
    needs_tool: bool | None = None
    """Whether a tool answers it."""


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether memories are worth a search."""

    why: Why

    @property
    def is_open(self) -> bool:
        """Ask whether to search."""
        return self.why == "search"


@dataclass(frozen=True, slots=True)
class RewrittenQuery:
    """A query that can be understood without the conversation."""

    text: str
    added: tuple[str, ...] = ()
    """Text of the query, with key terms of earlier messages in front where it needs them."""
    passages: tuple[str, ...] = ()
    """Passages that a memory with the answer might hold (HyDE); only models write any."""


@dataclass(frozen=True, slots=True)
class TurnQuote:
    """Exact words of a turn: `Turn.text[span[0]:span[1]]`."""

    turn: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Fact:
    """A memory extracted from turns, before it is resolved against known ones."""

    text: str
    """Text that can be understood alone, with speaker and date."""
    type: RecordType
    quotes: tuple[TurnQuote, ...]
    subject: str | None = None
    """Whom or what it is about."""
    attribute: str | None = None
    """Attribute of the subject that it states; a new value of it supersedes the old one."""
    value: str | None = None
    speaker: str = ""
    date: str = ""
    trust: float = TRUST["user"]
    importance: float = 0.5
    amends: TurnQuote | None = None
    """The clause of an earlier turn that it takes back, where it shares no word with that."""

    @property
    def words(self) -> str:
        """Return what was said, without speaker and date."""
        return " ".join(quote.text for quote in self.quotes)

    def draft(self, conversation: str) -> NewMemory:
        """Make the memory to store."""
        turns = list(dict.fromkeys(quote.turn for quote in self.quotes))
        quotes = [quote.text for quote in self.quotes]
        return {
            "text": self.text,
            "type": self.type,
            "subject": self.subject,
            "attribute": self.attribute,
            "source": {"conversation": conversation, "turns": turns, "quotes": quotes},
            "trust": self.trust,
            "importance": self.importance,
        }


@dataclass(frozen=True, slots=True)
class ExistingMemory:
    """A stored memory that a new fact is resolved against."""

    id: str
    words: str
    """Text of the memory, without speaker and date."""
    type: RecordType
    cosine: float
    """Cosine of both texts, without speaker and date, which would make unlike memories alike."""
    subject: str | None = None
    attribute: str | None = None
    speaker: str = ""
    """Speaker; empty where unknown."""
    date: str = ""
    trust: float = 0.0
    """How far its best source is trusted, from 0 to 1; 0 where that is not known."""

    @classmethod
    def of(cls, record: Record, cosine: float = 0.0) -> "ExistingMemory":
        """Read a record.

        Args:
            record: The stored record.
            cosine: Cosine of its text and that of the new fact, where known.
        """
        speaker, date, words = unattributed(record["text"])
        quoted = any(quote in words for source in record["sources"] for quote in source["quotes"])
        if not date and not quoted:
            speaker, words = "", record["text"]
        return cls(
            record["id"],
            words,
            record["type"],
            cosine,
            record["subject"],
            record["attribute"],
            speaker,
            date or record["updated_at"],
            record["trust"],
        )


@dataclass(frozen=True, slots=True)
class Resolution:
    """What becomes of a new fact."""

    verdict: ResolutionAction
    known: tuple[str, ...] = ()
    """Ids of the memories that it concerns, the surest first; none for `create`."""
    is_newer: bool = True
    """For `supersede`: whether the new fact is the current one; otherwise it is older and is stored as replaced."""
    values: tuple[str, str] = ("", "")
    """For `supersede` and `contradicts`: the new value and the stored one, as written."""
    reason: str = ""
    left: Mapping[str, str] = field(default_factory=dict[str, str])
    """For `supersede`: the part of each memory's text that still holds, by its id."""


@dataclass(frozen=True, slots=True)
class Insight:
    """A statement that several memories support together."""

    text: str
    evidence: tuple[str, ...]
    """Ids of all memories that it rests on."""
    subject: str = ""
    """What it is about; a later insight of the same subject replaces it."""


DIGEST_TOPIC: Final = "digest topic"
"""Id of a turn that stands for the topic of a conversation until now, a term a line."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Summary of where a conversation stands, shown in place of its history."""

    topic: tuple[str, ...] = ()
    """Key terms of its current topic."""
    facts: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    """Questions without an answer, and what is still to be done."""
    goal: tuple[str, ...] = ()
    """What somebody is after, in their words."""


@runtime_checkable
class ConversationEngine(Protocol):
    """Makes the judgements of `recall` and `remember`.

    Raises:
        EngineError: From any method, when nothing can be judged.
    """

    @property
    def name(self) -> str:
        """Name of the engine."""
        ...

    def gate(self, turn: Turn, history: Sequence[Turn], hints: Hints | None = ...) -> GateDecision:
        """Decide whether memories are searched for a message; `history` is the conversation before it."""
        ...

    def rewrite(self, query: str, history: Sequence[Turn]) -> RewrittenQuery:
        """Make a query that can be understood without the conversation."""
        ...

    def extract(self, turns: Sequence[Turn]) -> Sequence[Fact]:
        """Extract what is worth remembering from turns, in their order; often nothing."""
        ...

    def resolve(self, facts: Sequence[Fact], similar: Sequence[Sequence[ExistingMemory]]) -> Sequence[Resolution]:
        """Resolve new facts, each against the memories of the same user and type that are most like it."""
        ...

    def summarise(self, turns: Sequence[Turn], max_tokens: int = DIGEST_TOKENS) -> Digest:
        """Summarise where a conversation stands, within so many tokens."""
        ...

    def reflect(self, memories: Sequence[ExistingMemory]) -> Sequence[Insight]:
        """Derive insights from the memories of one user, each with those it rests on; often none."""
        ...
