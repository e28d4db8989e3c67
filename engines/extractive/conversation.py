"""Judges conversations without a model: selects from what was said, and writes nothing.

What the stages of recall and remember ask of words alone, whichever engine a run has, is had here as well.
"""

from collections.abc import Sequence

from agentic_memory_bank.engines.conversation import (
    DIGEST_TOKENS,
    Digest,
    ExistingMemory,
    Fact,
    GateDecision,
    Hints,
    Insight,
    Resolution,
    RewrittenQuery,
    Turn,
)
from agentic_memory_bank.engines.extractive.answering.helping import SHARE_OF_BEST, MessageReading
from agentic_memory_bank.engines.extractive.answering.likeness import MOST_READ, Likeness, shown_text
from agentic_memory_bank.engines.extractive.answering.second_reading import Judge
from agentic_memory_bank.engines.extractive.answering.whose import are_of_others
from agentic_memory_bank.engines.extractive.reading.dates import (
    day_of,
    event_asked_before,
    holds_from,
    past_asked,
    tells_of_event,
    tells_of_time,
    written,
)
from agentic_memory_bank.engines.extractive.reading.kinds import asked_for
from agentic_memory_bank.engines.extractive.remembering.amendments import amended_later, retracts
from agentic_memory_bank.engines.extractive.remembering.changes import in_both
from agentic_memory_bank.engines.extractive.remembering.extraction import is_idle_talk, safe_words, select
from agentic_memory_bank.engines.extractive.remembering.insights import recurring
from agentic_memory_bank.engines.extractive.remembering.later import may_change
from agentic_memory_bank.engines.extractive.remembering.overview import asks_for_everything
from agentic_memory_bank.engines.extractive.remembering.queries import (
    attribute_asked_for,
    gate,
    is_small_talk,
    rewrite,
)
from agentic_memory_bank.engines.extractive.remembering.resolution import is_comparable, resolve, words_replaced
from agentic_memory_bank.engines.extractive.remembering.standing import standing
from agentic_memory_bank.engines.extractive.remembering.statements import only_asks
from agentic_memory_bank.engines.extractive.remembering.succession import Told, succeeded

__all__ = [
    "MOST_READ",
    "SHARE_OF_BEST",
    "ExtractiveConversationEngine",
    "Likeness",
    "Judge",
    "MessageReading",
    "Told",
    "amended_later",
    "in_both",
    "are_of_others",
    "asked_for",
    "asks_for_everything",
    "attribute_asked_for",
    "day_of",
    "is_comparable",
    "is_idle_talk",
    "is_small_talk",
    "may_change",
    "only_asks",
    "event_asked_before",
    "holds_from",
    "past_asked",
    "retracts",
    "tells_of_event",
    "tells_of_time",
    "safe_words",
    "shown_text",
    "succeeded",
    "words_replaced",
    "written",
]


class ExtractiveConversationEngine:
    """Selects sentences and never writes any: deterministic, offline, for English and Chinese."""

    @property
    def name(self) -> str:
        """The name runs are recorded under."""
        return "extractive"

    def gate(self, turn: Turn, history: Sequence[Turn], hints: Hints | None = None) -> GateDecision:
        """Search unless it is plain that no memory helps: a greeting, a fact of the world, what a tool knows."""
        return gate(turn, hints or Hints(), history)

    def rewrite(self, query: str, history: Sequence[Turn]) -> RewrittenQuery:
        """Put the key terms of the last three messages of the user in front of a query that needs them."""
        return rewrite(query, history)

    def extract(self, turns: Sequence[Turn]) -> list[Fact]:
        """The sentences that state something of the one who says them, with the turns they stand in."""
        return select(turns)

    def resolve(self, facts: Sequence[Fact], similar: Sequence[Sequence[ExistingMemory]]) -> list[Resolution]:
        """Compare attributes and values where both state them, and the words where they do not."""
        return [resolve(fact, alike) for fact, alike in zip(facts, similar, strict=True)]

    def summarise(self, turns: Sequence[Turn], max_tokens: int = DIGEST_TOKENS) -> Digest:
        """Its topic, goal, current facts, decisions and what is open, while there is room."""
        return standing(turns, max_tokens)

    def reflect(self, memories: Sequence[ExistingMemory]) -> list[Insight]:
        """The terms that recur, counted and dated."""
        return recurring(memories)
