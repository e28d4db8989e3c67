"""An engine that does what a test says, each judgement a function of the test or the simplest sound answer; a clock."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from agentic_memory_bank.engines.base import (
    Dispute,
    DisputeVerdict,
    Integration,
    Link,
    MergeGroup,
    Pairing,
    PassageQuote,
    PlannerInput,
    QuotedAnswer,
    Relation,
    RetrievedPassage,
    Step,
    TopicSpans,
    TopicSummary,
    TopicText,
)


class ScriptedEngine:
    """Judges as it is told, and counts how often it is asked.

    What is not scripted gets the simplest sound judgement: one topic per text, whose summary is the text; nothing
    contradicts, repeats or relates; one `answer` step, which quotes the first passage.

    Args:
        name: What runs are recorded under.
        judgements: Functions by the name of the method they stand in for, with the same arguments.

    Example:
        >>> engine = ScriptedEngine(plan=lambda situation: None)
        >>> engine.answer("?", []).text, engine.calls["answer"]
        ('', 1)
    """

    def __init__(self, name: str = "scripted", **judgements: Callable[..., Any]) -> None:
        unknown = sorted(judgement for judgement in judgements if not hasattr(type(self), judgement))
        if unknown:
            raise TypeError(f"An engine makes no judgement called {', '.join(unknown)}.")
        self._name = name
        self._judgements = judgements
        self.calls: dict[str, int] = {}

    @property
    def name(self) -> str:
        """What runs are recorded under."""
        return self._name

    def classify(self, texts: Sequence[str], task: str) -> list[list[TopicSpans]]:
        """One topic per text, unless scripted."""
        return self._judge("classify", texts, task, simple=[[TopicSpans(((0, len(t)),), t[:40], ())] for t in texts])

    def structure(self, topics: Sequence[TopicText]) -> list[TopicSummary]:
        """The text itself as summary, unless scripted."""
        simple = [TopicSummary(topic.text, topic.context or topic.text[:40], topic.keywords) for topic in topics]
        return self._judge("structure", topics, simple=simple)

    def find_conflicts(self, pairings: Sequence[Pairing]) -> list[Relation]:
        """None, unless scripted."""
        return self._judge("find_conflicts", pairings, simple=[])

    def find_related(self, pairings: Sequence[Pairing]) -> list[Link]:
        """None, unless scripted."""
        return self._judge("find_related", pairings, simple=[])

    def integrate(self, groups: Sequence[MergeGroup]) -> list[Integration]:
        """All summaries in a row, unless scripted."""
        simple = [
            Integration(
                summary=" ".join(m.summary for m in group.memories),
                context=group.memories[0].context,
                keywords=tuple(dict.fromkeys(k for m in group.memories for k in m.keywords)),
                description=f"put together: {', '.join(m.id for m in group.memories)}",
            )
            for group in groups
        ]
        return self._judge("integrate", groups, simple=simple)

    def plan(self, situation: PlannerInput) -> Step | None:
        """Answer once, unless scripted."""
        doc = situation.insight_doc
        done = any(task["kind"] == "answer" for task in doc.get("completed", []))
        simple = None if done else Step("answer", doc.get("goal", ""))
        return self._judge("plan", situation, simple=simple)

    def validate(self, disputes: Sequence[Dispute]) -> list[DisputeVerdict]:
        """Open, unless scripted."""
        return self._judge("validate", disputes, simple=[DisputeVerdict("inconclusive") for _ in disputes])

    def answer(self, question: str, passages: Sequence[RetrievedPassage]) -> QuotedAnswer:
        """The first passage as a quote, unless scripted."""
        text = passages[0].text if passages else ""
        quotes = (PassageQuote(0, (0, len(text))),) if passages else ()
        return self._judge("answer", question, passages, simple=QuotedAnswer(text, quotes, text[:80]))

    def _judge(self, judgement: str, *given: Any, simple: Any) -> Any:
        self.calls[judgement] = self.calls.get(judgement, 0) + 1
        scripted = self._judgements.get(judgement)
        return scripted(*given) if scripted else simple


class TickingClock:
    """Gives a moment, and at each further call one that is `step` later; two clocks alike tell the same times."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC), step: timedelta = timedelta(seconds=1)):
        self._next = start
        self._step = step

    def __call__(self) -> datetime:
        """Tell the time, and move on."""
        moment, self._next = self._next, self._next + self._step
        return moment
