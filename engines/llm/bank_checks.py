"""Holds what a chat model made of memories to their texts: what these do not say is left out, or judged offline."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from agentic_memory_bank.engines.base import (
    Dispute,
    DisputeVerdict,
    EvidenceSpan,
    EvidenceText,
    Integration,
    Link,
    MemoryView,
    MergeGroup,
    Refresh,
    TopicSummary,
    TopicText,
)
from agentic_memory_bank.engines.extractive import differ
from agentic_memory_bank.engines.extractive.support import is_quotable, speaks_of, supported_part, unsupported
from agentic_memory_bank.prompts import classify
from agentic_memory_bank.prompts.common import listed
from agentic_memory_bank.state.errors import AnswerRejected
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.terms import tokenize

NAMED: Final = 5
"""How many words a note names."""


def names_paragraphs(count: int) -> Callable[[classify.Topics], None]:
    """Make a check that every topic names paragraphs that there are."""

    def check(said: classify.Topics) -> None:
        for number, topic in enumerate(said.topics, 1):
            if not any(r.first <= count and r.last >= max(1, r.first) for r in topic.paragraphs):
                raise AnswerRejected(f"Topic {number} names no paragraph; they have the numbers 1 to {count}.")

    return check


def held_summary(said: TopicSummary, topic: TopicText) -> TopicSummary | None:
    """A memory without what its topic does not say; what the classifier said stands in for what is then missing.

    Returns:
        None where nothing is left of the summary, or where it speaks of something else.
    """
    texts = [topic.text]
    summary = supported_part(said.summary, texts)
    if not summary or not speaks_of(summary, topic.text):
        return None
    context = next((kept for c in (said.context, topic.context) if (kept := supported_part(c, texts))), "")
    keywords = held_words(said.keywords, texts) or held_words(topic.keywords, texts)
    return TopicSummary(summary, context or summary, keywords)


def held_words(words: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    """The keywords without names and numbers of the model's own."""
    if not unsupported("\n".join(words), texts):
        return tuple(words)
    return tuple(word for word in words if not unsupported(word, texts))


def held_refresh(said: Refresh, memory: MemoryView, others: Sequence[MemoryView], made: str = "") -> Refresh:
    """A new context as far as the texts bear it; where they do not, the memory keeps its own.

    Args:
        said: The context and keywords.
        memory: Whose they are.
        others: Memories that it belongs to.
        made: What was made of these.
    """
    texts = [memory.text, memory.summary, made, *(text for other in others for text in (other.text, other.summary))]
    if is_quotable(said.context) and not unsupported("\n".join((said.context, *said.keywords)), texts):
        return Refresh(said.context, said.keywords or memory.keywords)  # the usual case: the texts are read once
    is_held = is_quotable(said.context) and not unsupported(said.context, texts)
    context = said.context if is_held else memory.context
    return Refresh(context, held_words(said.keywords, texts) or memory.keywords)


def held_link(said: Link, memories: Mapping[str, MemoryView]) -> Link:
    """An edge whose memories hear of each other nothing that the texts of both do not say."""
    ends = [memories[said.fresh], memories[said.existing]]
    held = {
        end.id: held_refresh(said.updates[end.id], end, [other])
        for end, other in (ends, ends[::-1])
        if end.id in said.updates
    }
    return replace(said, updates=held)


def held_integration(said: Integration, group: MergeGroup) -> Integration | str:
    """A merged memory that says what its members say; otherwise what it drops, or says on its own."""
    texts = [text for memory in group.memories for text in (_unrefuted(memory, group), memory.summary)]
    texts += group.statements
    if foreign := unsupported(said.summary, texts, [memory.created_at for memory in group.memories]):
        return f"The merged summary says {listed(foreign[:NAMED])}, which none of its memories does."
    kept = [said.summary, *(memory.created_at for memory in group.memories)]
    summaries = [_without_refuted(memory.summary, memory, group) for memory in group.memories]
    lost = [word for summary in (*summaries, *group.statements) for word in unsupported(summary, kept)]
    alike = [summary for summary in summaries if summary and is_cjk(summary) == is_cjk(said.summary)]
    lost += [summary for summary in alike if not speaks_of(summary, said.summary)]
    lost += summaries[:1] if any(summaries) and not alike else []
    if lost:
        return f"The merged summary drops {listed(lost[:NAMED])}."
    neighbours = {
        memory.id: held_refresh(said.neighbours[memory.id], memory, group.memories, said.summary)
        for memory in group.neighbours
        if memory.id in said.neighbours
    }
    context = said.context if not unsupported(said.context, texts) else group.memories[-1].context
    return Integration(said.summary, context, held_words(said.keywords, texts), said.description, neighbours)


def with_all_neighbours(made: Integration, group: MergeGroup) -> Integration:
    """Complete an integration: neighbours that the model left out get their keywords in a new order.

    Those that the new memory shares come first. Their context stays: a merge does not change what they are about.
    """
    news = set(tokenize(f"{made.summary} {made.context}"))
    left = {
        memory.id: Refresh(memory.context, tuple(sorted(memory.keywords, key=lambda w: news.isdisjoint(tokenize(w)))))
        for memory in group.neighbours
        if memory.id not in made.neighbours
    }
    return replace(made, neighbours={**left, **made.neighbours})


def _refuted(memory: MemoryView, group: MergeGroup) -> list[str]:
    return [memory.text[start:end].strip() for memory_id, (start, end) in group.refuted if memory_id == memory.id]


def _unrefuted(memory: MemoryView, group: MergeGroup) -> str:
    """The text of a memory without what a validation found wrong."""
    text = memory.text
    for wrong in _refuted(memory, group):
        text = text.replace(wrong, " ")
    return text


def _without_refuted(summary: str, memory: MemoryView, group: MergeGroup) -> str:
    """The sentences of a summary that say nothing of what was found wrong."""
    wrong = [words for words in _refuted(memory, group) if words]
    if not wrong:
        return summary
    return supported_part(summary, [_unrefuted(memory, group)]) if any(w in summary for w in wrong) else ""


def held_verdict(said: DisputeVerdict, dispute: Dispute, evidence: Sequence[EvidenceText]) -> DisputeVerdict | None:
    """A verdict that can stand, or None: it names its evidence, which bears it out, and says what it decides."""
    if said.outcome != "inconclusive" and not said.evidence:
        return None
    texts = [*dispute.quotes, *(shown.text for shown in evidence)]
    beside = [f"{shown.source} {shown.date or ''}" for shown in evidence]
    if unsupported(said.statement, texts, beside):
        return None
    is_decided = said.outcome in ("integrate", "neither")
    if is_decided and not any(quote in said.statement or speaks_of(said.statement, quote) for quote in dispute.quotes):
        return None
    is_third = said.outcome != "neither" or all(differ(said.statement, quote) for quote in dispute.quotes)
    return replace(said, explanation=supported_part(said.explanation, texts, beside)) if is_third else None


def may_unsettle(said: DisputeVerdict, settled: DisputeVerdict, dispute: Dispute) -> bool:
    """Whether a verdict may stand against that of rules: these decide nothing, or it agrees, or has its own evidence.

    That is a text on the subject that does more than state one of the claims: who states which, rules have counted.
    With what rules rest on among its evidence, a verdict cannot decide otherwise than they do.
    """
    if settled.outcome == "inconclusive" or (said.outcome, said.winner) == (settled.outcome, settled.winner):
        return True
    if said.outcome == "inconclusive":
        return False
    named = {(span.entry, span.span) for span in said.evidence}
    texts = [e for e in dispute.evidence if (e.entry, (e.start, e.start + len(e.text))) in named]
    if any(_overlap(text, span) for text in texts for span in settled.evidence):
        return False
    decided = said.statement if said.winner is None else dispute.quotes[said.winner]
    return any(
        sum(value in text.text for value in dispute.values) != 1 and speaks_of(decided, text.text) for text in texts
    )


def _overlap(text: EvidenceText, span: EvidenceSpan) -> bool:
    return text.entry == span.entry and span.span[0] < text.start + len(text.text) and text.start < span.span[1]
