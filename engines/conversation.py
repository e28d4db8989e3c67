"""The ConversationEngine protocol: the judgements behind recall and remember, and the values that go in and out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, runtime_checkable

from agentic_memory_bank.engines.base import Span
from agentic_memory_bank.state.records import Record, RecordType
from agentic_memory_bank.tools.memories.validation import NewMemory

Role = Literal["user", "assistant", "system", "tool"]
Why = Literal["search", "empty", "greeting", "fact", "tool"]
"""Why memories are searched, or not: `fact` is one of the world, `tool` is what a tool knows."""
ResolutionAction = Literal["create", "same", "revise", "supersede", "contradicts"]
"""Keep it as new; it is known; it says a known memory better; its value took the place of another one; two sources
say what cannot both be true."""

DIGEST_TOKENS: Final = 100
"""What the digest of a conversation takes, unless said otherwise."""
USER: Final = "user"
"""The subject of what users say of themselves, where nobody gave their name."""
TRUST: Final = {"user": 0.9, "assistant": 0.6}
"""How far what was said is trusted, from 0 to 1, by who said it."""

_HEADER: Final = re.compile(
    r"(?P<speaker>[^:：()\n]{1,60}?)(?: \((?P<date>[^()\n]{4,40})\))?: (?P<words>\S.*)", re.DOTALL
)
_NAME_MARK: Final = re.compile(r"[:：()\n]")
_NOTE: Final = re.compile(r" \[[^\[\]\n]{1,60} = [^\[\]\n]{1,40}\]")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side of a conversation said at a time."""

    id: str
    role: Role
    text: str
    speaker: str = ""
    """Its name, where that is known."""
    date: str = ""
    """When it was said, in any words that hold a full date."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What the caller knows of a message; None leaves it to the engine."""

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
        """Whether to search."""
        return self.why == "search"


@dataclass(frozen=True, slots=True)
class RewrittenQuery:
    """What is searched for a message."""

    text: str
    added: tuple[str, ...] = ()
    """The key terms of earlier messages in front of it."""
    passages: tuple[str, ...] = ()
    """What a memory with the answer might say; only models write any."""


@dataclass(frozen=True, slots=True)
class TurnQuote:
    """Exact words of a turn: `Turn.text[span[0]:span[1]]`."""

    turn: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Fact:
    """A memory as it was drawn from turns, before it is weighed against those that are there."""

    text: str
    """Understood alone: with who said it and when."""
    type: RecordType
    quotes: tuple[TurnQuote, ...]
    subject: str | None = None
    """Whom it is about."""
    attribute: str | None = None
    """What of the subject it states; a new value of the same takes the place of the old one."""
    value: str | None = None
    speaker: str = ""
    date: str = ""
    trust: float = TRUST["user"]
    importance: float = 0.5

    @property
    def words(self) -> str:
        """What was said, without who and when."""
        return " ".join(quote.text for quote in self.quotes)

    def draft(self, conversation: str) -> NewMemory:
        """The memory as it is stored."""
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
    """A memory that is there, as a new one is weighed against it."""

    id: str
    words: str
    """What it says, without who and when."""
    type: RecordType
    cosine: float
    """Of what both say: of the vectors of their words, without who and when, which make unlike memories alike."""
    subject: str | None = None
    attribute: str | None = None
    speaker: str = ""
    """Who said it; empty where that is not known."""
    date: str = ""
    trust: float = 0.0
    """How far its best source is trusted, from 0 to 1; 0 where that is not known."""

    @classmethod
    def of(cls, record: Record, cosine: float = 0.0) -> "ExistingMemory":
        """Read a record.

        Args:
            record: As the store gives it.
            cosine: Of its words and those of the new memory, where that is known.
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
    """What becomes of a new memory."""

    verdict: ResolutionAction
    known: tuple[str, ...] = ()
    """The ids of the memories that it concerns, the surest first; for `create` none."""
    is_newer: bool = True
    """For `supersede`: whether the new memory holds now. Otherwise it was said earlier, and comes already replaced."""
    values: tuple[str, str] = ("", "")
    """For `supersede` and `contradicts`: the new value and the one that is there, as written."""
    reason: str = ""
    left: Mapping[str, str] = field(default_factory=dict[str, str])
    """For `supersede`: what of the words of a memory still holds, by its id; nothing of those it does not name."""


@dataclass(frozen=True, slots=True)
class Insight:
    """What several memories show together."""

    text: str
    evidence: tuple[str, ...]
    """The ids of all memories that it rests on."""
    subject: str = ""
    """What it is about; a later insight of the same takes its place."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Where a conversation stands, in place of its history."""

    topic: tuple[str, ...] = ()
    """Key terms of what it is about now."""
    facts: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    """Questions without an answer, and what is still to be done."""


@runtime_checkable
class ConversationEngine(Protocol):
    """Who judges conversations. Stages ask an engine and nothing else.

    Raises:
        EngineError: From any method, when no judgement can be had.
    """

    @property
    def name(self) -> str:
        """What runs are recorded under."""
        ...

    def gate(self, turn: Turn, history: Sequence[Turn], hints: Hints | None = ...) -> GateDecision:
        """Say whether memories are worth a search for a message, whose conversation so far is `history`."""
        ...

    def rewrite(self, query: str, history: Sequence[Turn]) -> RewrittenQuery:
        """Make a query that can be understood without the conversation."""
        ...

    def extract(self, turns: Sequence[Turn]) -> Sequence[Fact]:
        """Draw from turns, in their order, what is worth remembering; mostly nothing."""
        ...

    def resolve(self, facts: Sequence[Fact], similar: Sequence[Sequence[ExistingMemory]]) -> Sequence[Resolution]:
        """Say what becomes of new memories, each beside those of the same user and type that are most like it."""
        ...

    def summarise(self, turns: Sequence[Turn], max_tokens: int = DIGEST_TOKENS) -> Digest:
        """Say where a conversation stands, within so many tokens."""
        ...

    def reflect(self, memories: Sequence[ExistingMemory]) -> Sequence[Insight]:
        """Draw insights from the memories of one user, each with those it rests on; mostly none."""
        ...


def attributed(speaker: str, date: str, words: str) -> str:
    """A memory in its speaker's own words, so that it can be understood alone."""
    named = " ".join(_NAME_MARK.sub(" ", speaker).split())[:60] or USER
    return f"{named} ({date}): {words}" if date else f"{named}: {words}"


def unattributed(text: str) -> tuple[str, str, str]:
    """The reverse of `attributed`: speaker, date and words; the first two are empty where nobody is named."""
    found = _HEADER.fullmatch(text)
    if found is None:
        return "", "", _NOTE.sub("", text)
    return found["speaker"], found["date"] or "", _NOTE.sub("", found["words"])
