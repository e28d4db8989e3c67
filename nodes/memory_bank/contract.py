"""Checks what an engine returned before it touches memory."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from agentic_memory_bank.engines.base import (
    Dispute,
    DisputeVerdict,
    Integration,
    PassageQuote,
    QuotedAnswer,
    Refresh,
    RetrievedPassage,
    TopicSpans,
    TopicSummary,
)
from agentic_memory_bank.state.errors import AnswerRejected
from agentic_memory_bank.tools.text.cleaning import clean

_T = TypeVar("_T")
_OUTCOMES = ("holds", "integrate", "neither", "inconclusive")


def text(value: object) -> str:
    """A string, as it can be stored.

    Raises:
        AnswerRejected: It is none.
    """
    if not isinstance(value, str):
        raise AnswerRejected(f"The engine gave {type(value).__name__} where the contract asks for text.")
    return clean(value)


def as_many(answers: Sequence[_T], questions: Sequence[object]) -> Sequence[_T]:
    """One answer for each question.

    Raises:
        AnswerRejected: There are more or fewer.
    """
    if len(answers) != len(questions):
        raise AnswerRejected(f"The engine gave {len(answers)} answers to {len(questions)} questions.")
    return answers


def topics(found: Sequence[Sequence[TopicSpans] | None], texts: Sequence[str]) -> list[list[TopicSpans]]:
    """Topics of each text, spans whole numbers; what lies outside of a text is cut by the stage."""
    checked: list[list[TopicSpans]] = []
    for judged in as_many(found, texts):
        row = judged or ()
        for topic in row:
            if not all(isinstance(place, int) for span in topic.spans for place in span):
                raise AnswerRejected("The engine gave spans that are no whole numbers.")
        checked.append([replace(t, context=text(t.context), keywords=_texts(t.keywords)) for t in row])
    return checked


def structured(found: Sequence[TopicSummary | None], asked: Sequence[object]) -> list[TopicSummary | None]:
    """One memory for each topic, made of text."""
    return [
        said and TopicSummary(text(said.summary), text(said.context), _texts(said.keywords))
        for said in as_many(found, asked)
    ]


def integrations(found: Sequence[Integration | None], asked: Sequence[object]) -> list[Integration | None]:
    """One memory for each group, made of text."""
    return [
        said
        and Integration(
            text(said.summary),
            text(said.context),
            _texts(said.keywords),
            text(said.description),
            {i: Refresh(text(new.context), _texts(new.keywords)) for i, new in said.neighbours.items()},
        )
        for said in as_many(found, asked)
    ]


def findings(found: Sequence[DisputeVerdict | None], disputes: Sequence[Dispute]) -> list[DisputeVerdict]:
    """Check the verdicts: one that names no claim decides nothing, and evidence that was not shown is dropped."""
    return [_finding(finding, dispute) for finding, dispute in zip(as_many(found, disputes), disputes, strict=True)]


def _finding(found: DisputeVerdict | None, dispute: Dispute) -> DisputeVerdict:
    if found is None:
        return DisputeVerdict("inconclusive", explanation="No judgement could be had.")
    ends: dict[str, int] = {}
    for shown in dispute.evidence:
        ends[shown.entry] = max(ends.get(shown.entry, 0), shown.start + len(shown.text))
    evidence = tuple(e for e in found.evidence if e.entry in ends and _is_stretch(e.span, ends[e.entry]))
    checked = DisputeVerdict(found.outcome, found.winner, text(found.statement), text(found.explanation), evidence)
    names_a_claim = isinstance(found.winner, int) and 0 <= found.winner < len(dispute.quotes)
    if found.outcome not in _OUTCOMES or (found.outcome == "holds" and not names_a_claim):
        return replace(checked, outcome="inconclusive", winner=None)
    return checked


def answer(said: QuotedAnswer, passages: Sequence[RetrievedPassage]) -> QuotedAnswer:
    """An answer whose quotes stand in the passages; others are dropped."""
    kept = tuple(q for q in said.quotes if _stands(q, passages))
    return QuotedAnswer(text(said.text), kept, text(said.learned))


def _stands(quote: PassageQuote, passages: Sequence[RetrievedPassage]) -> bool:
    known = isinstance(quote.passage, int) and 0 <= quote.passage < len(passages)
    if not known or not _is_stretch(quote.span, len(passages[quote.passage].text)):
        return False
    return bool(passages[quote.passage].text[quote.span[0] : quote.span[1]].strip())


def _is_stretch(span: tuple[int, int], length: int) -> bool:
    return all(isinstance(place, int) for place in span) and 0 <= span[0] < span[1] <= length


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(text(value) for value in values)
