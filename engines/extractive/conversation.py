"""Judges conversations without a model: selects from what was said, and writes nothing.

What the stages of recall and remember ask of words alone, whichever engine a run has, is had here as well.
"""

import re
from collections.abc import Sequence
from typing import Final

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
from agentic_memory_bank.engines.extractive.answering.helping import (
    MOST_READ,
    SHARE_OF_BEST,
    Likeness,
    MessageReading,
    asks_the_assistant,
    shown_text,
)
from agentic_memory_bank.engines.extractive.reading.attributes import claims_of, same_attribute
from agentic_memory_bank.engines.extractive.reading.dates import day_of, past_asked, written
from agentic_memory_bank.engines.extractive.reading.phrases import ENDS_ASKING
from agentic_memory_bank.engines.extractive.remembering.changes import announces_change, in_both
from agentic_memory_bank.engines.extractive.remembering.extraction import is_idle_talk, safe_words, select
from agentic_memory_bank.engines.extractive.remembering.insights import recurring
from agentic_memory_bank.engines.extractive.remembering.queries import (
    attribute_asked_for,
    gate,
    is_greeting,
    is_small_talk,
    key_terms,
    rewrite,
)
from agentic_memory_bank.engines.extractive.remembering.resolution import is_comparable, resolve
from agentic_memory_bank.engines.extractive.remembering.succession import Told, succeeded
from agentic_memory_bank.engines.own_words import own_words
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.tokens import estimate_tokens

__all__ = [
    "MOST_READ",
    "SHARE_OF_BEST",
    "ExtractiveConversationEngine",
    "Likeness",
    "MessageReading",
    "Told",
    "announces_change",
    "in_both",
    "asks_the_assistant",
    "attribute_asked_for",
    "day_of",
    "is_comparable",
    "is_idle_talk",
    "is_small_talk",
    "past_asked",
    "safe_words",
    "shown_text",
    "succeeded",
    "written",
]

RECENT: Final = 6
"""Turns that tell what a conversation is about now."""
TOPIC_TERMS: Final = 6

_DECISION: Final = re.compile(
    r"\b(?:(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|chose|picked)|let'?s go with|(?:i|we)(?:'ll"
    r"| will) (?:take|go with)"
    r"|(?:it's|that's) (?:decided|settled)|the decision is)\b|决定|就选|选定|定了|确定(?:了|用|选)",
    re.IGNORECASE,
)
_TO_DO: Final = re.compile(
    r"\b(?:(?:i|we) (?:still )?(?:need|have) to|to-?do|still (?:open|missing|to be)|next step|follow up on)\b|还需要"
    r"|还要|待办|下一步|还没",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(rf"{ENDS_ASKING}|[吗呢]\W*+$")


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
        """Key terms, current facts, decisions and what is open, the latest first while there is room."""
        topic = tuple(_topic(turns))
        room = max_tokens - estimate_tokens(" ".join(topic))
        open_, room = _fitting(_open(turns), room, room // 3)
        decisions, room = _fitting(_latest(turns, _DECISION), room, room // 2)
        facts, _ = _fitting(_facts(turns), room, room)
        return Digest(topic, facts, decisions, open_)

    def reflect(self, memories: Sequence[ExistingMemory]) -> list[Insight]:
        """The terms that recur, counted and dated."""
        return recurring(memories)


def _topic(turns: Sequence[Turn]) -> list[str]:
    """The key terms of the latest messages of the user, those of the last one first."""
    said = [own_words(turn.text) for turn in turns[-RECENT:] if turn.role == "user"]
    terms = [term for text in reversed(said) for term in key_terms(text) if not secrets_in(text)]
    return list({term.casefold(): term for term in reversed(terms)}.values())[::-1][:TOPIC_TERMS]


def _facts(turns: Sequence[Turn]) -> list[str]:
    """What was stated of attributes, each with its last value, the latest first."""
    kept: list[Fact] = []
    for fact in reversed(select(turns)):
        ours = claims_of(fact.words, fact.speaker)
        if ours and not any(same_attribute(a, b) for k in kept for a in ours for b in claims_of(k.words, k.speaker)):
            kept.append(fact)
    return [fact.words for fact in kept]


def _latest(turns: Sequence[Turn], pattern: re.Pattern[str]) -> list[str]:
    """The sentences of the user that hold a pattern, the latest first."""
    said = [sentence for turn in turns if turn.role == "user" for sentence in _said(turn)]
    return list(dict.fromkeys(s for s in reversed(said) if pattern.search(s) and not _ASKED.search(s)))


def _open(turns: Sequence[Turn]) -> list[str]:
    """Questions of the last turn, and what the user says is still to be done."""
    last = [s for s in _said(turns[-1]) if _ASKED.search(s) and not is_greeting(s)] if turns else []
    return list(dict.fromkeys((*last, *_latest(turns, _TO_DO))))


def _said(turn: Turn) -> list[str]:
    text = own_words(turn.text)
    spoken = (text[start:end].strip() for start, end in sentences(text))
    return [sentence for sentence in spoken if sentence and not secrets_in(sentence)]


def _fitting(said: Sequence[str], room: int, share: int) -> tuple[tuple[str, ...], int]:
    """As many as fit into a share of the room, and the room that is left."""
    kept: list[str] = []
    for sentence in said:
        size = estimate_tokens(sentence)
        if size <= share:
            kept.append(sentence)
            share -= size
            room -= size
    return tuple(kept), room
