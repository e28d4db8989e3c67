"""The extractive engine: judges without a model and without a network, by selecting sentences; it writes none."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np

from agentic_memory_bank.engines.base import (
    ClaimSpan,
    Dispute,
    DisputeVerdict,
    EvidenceSpan,
    EvidenceText,
    Integration,
    Link,
    MemoryView,
    MergeGroup,
    Pairing,
    PassageQuote,
    PlannerInput,
    QuotedAnswer,
    Refresh,
    Relation,
    RetrievedPassage,
    SourcePart,
    Span,
    Step,
    TopicSpans,
    TopicSummary,
    TopicText,
)
from agentic_memory_bank.engines.extractive.answering import quoting
from agentic_memory_bank.engines.extractive.comparing import corroboration, documents
from agentic_memory_bank.engines.extractive.comparing.comparison import Comparison, compare_all, may_say_the_same, told
from agentic_memory_bank.engines.extractive.reading.statements import read
from agentic_memory_bank.engines.extractive.reading.values import values_of
from agentic_memory_bank.engines.extractive.summarising import segmentation, summary
from agentic_memory_bank.engines.extractive.summarising.keywords import Rarity
from agentic_memory_bank.engines.extractive.summarising.keywords import keywords as keywords_of
from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.tools.concurrency.long_work import with_progress
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.search.text_index import PART_TOKENS
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.place import Placed
from agentic_memory_bank.tools.text.places import sentences_of
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import passages

RELATED_COSINE = 0.5
"""Cosine from which two memories belong together; below it they need a keyword in common."""
KEYWORDS = 8
"""How many keywords a memory has."""
SUMMARY_SHARE = 0.35
"""Share of a longer topic that its summary aims at (the specification asks for 30 to 50 %)."""
MOST_NOTE = 2_000
"""Longest note, in characters."""
LEARNED = 2
"""How many sentences of an answer the Insight Doc shows."""
REPEATED_SENTENCE = 0.8
"""Share of terms from which a sentence says what another one said already."""


class ExtractiveEngine:
    """Selects sentences and never writes any: deterministic, offline, and the same for English and Chinese.

    It is the default when no model is configured: topics by segmentation over embeddings, summaries by central
    sentences, conflicts only where precision is high, answers as quoted spans.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """The name runs are recorded under."""
        return "extractive"

    def classify(self, texts: Sequence[str], task: str) -> list[list[TopicSpans]]:
        """Divide each text into topics of neighbouring, and clearly alike, passages. The task plays no part."""
        cut = [passages(text, PART_TOKENS) for text in texts]
        units = [[text[start:end] for start, end in spans] for text, spans in zip(texts, cut, strict=True)]
        vectors = iter(self._vectors([unit.strip() for document in units for unit in document]))
        return [
            self._topics(spans, document, np.array([next(vectors) for _ in document], dtype=np.float32))
            for spans, document in zip(cut, units, strict=True)
        ]

    def structure(self, topics: Sequence[TopicText]) -> list[TopicSummary]:
        """Summarise each topic by its central sentences; what is rare in the whole input weighs more."""
        rarity = Rarity(Counter(term for topic in topics for term in set(tokenize(topic.text))))
        return [_structured(topic.text, rarity) for topic in with_progress(topics, "summarised")]

    def find_conflicts(self, pairings: Sequence[Pairing]) -> list[Relation]:
        """Compare each pair of raw texts: a changed number, date, name or negation on one subject; or the same."""
        pairs = [(p.fresh, *other) for p in pairings for other in zip(p.candidates, p.cosines, strict=True)]
        return [relation for pair in with_progress(pairs, "compared") for relation in _relations(*pair)]

    def find_related(self, pairings: Sequence[Pairing]) -> list[Link]:
        """Link what is alike or shares a keyword; each end takes in the other's keywords that its text holds unseen."""
        keywords: dict[str, list[str]] = {}
        linked: list[tuple[MemoryView, MemoryView]] = []
        for pairing in with_progress(pairings, "compared"):
            for candidate, cosine in zip(pairing.candidates, pairing.cosines, strict=True):
                if cosine >= RELATED_COSINE or _shared(pairing.fresh, candidate):
                    linked.append((pairing.fresh, candidate))
                    _take_over(pairing.fresh, candidate, keywords)
                    _take_over(candidate, pairing.fresh, keywords)
        return [Link(fresh.id, other.id, _refreshes((fresh, other), keywords)) for fresh, other in linked]

    def integrate(self, groups: Sequence[MergeGroup]) -> list[Integration]:
        """Unite the members' sentences without repetition and without what was refuted."""
        return [_integrated(group) for group in with_progress(groups, "merged")]

    def plan(self, situation: PlannerInput) -> Step | None:
        """Answer once; then nothing is left to do."""
        doc = situation.insight_doc
        if any(task["kind"] == "answer" for task in doc.get("completed", [])):
            return None
        return Step("answer", doc["goal"])

    def validate(self, disputes: Sequence[Dispute]) -> list[DisputeVerdict]:
        """Decide by corroboration: how many independent sources say which, and what corrects what.

        Disputes over the same two values are one question: the one whose wording finds most evidence speaks for all.
        """
        verdicts = [_verdict(dispute) for dispute in disputes]
        speaking: dict[frozenset[str], int] = {}
        for number, dispute in enumerate(disputes):
            if dispute.announced is not None:
                continue
            best = speaking.setdefault(_question(dispute), number)
            if _weight(verdicts[number]) > _weight(verdicts[best]):
                speaking[_question(dispute)] = number
        return [
            _announced(d, d.announced)
            if d.announced is not None
            else _finding(d, disputes[speaking[_question(d)]], verdicts[speaking[_question(d)]])
            for d in disputes
        ]

    def answer(self, question: str, passages: Sequence[RetrievedPassage]) -> QuotedAnswer:
        """Answer with the sentences that fit the question best, word for word, each after its place."""
        rows = [_readable(str(number), passage) for number, passage in enumerate(passages)]
        rows = [
            replace(row, replaced=_replaced(passage, row, rows)) for row, passage in zip(rows, passages, strict=True)
        ]
        found = quoting.read(question, rows, encode=self._vectors, judge=self._encoder.answers)
        said = [quoting.shown(question, rows[int(quote.passage)].text, quote) for quote in found.quotes]
        quotes = tuple(PassageQuote(int(quote.passage), (quote.start, quote.end)) for quote in found.quotes)
        text = "\n".join([*said, *quoting.not_found(found.missing)])
        return QuotedAnswer(text, quotes, " ".join(said[:LEARNED]))

    def _topics(self, spans: Sequence[Span], units: Sequence[str], vectors: np.ndarray) -> list[TopicSpans]:
        groups = segmentation.topics(units, vectors) if units else []
        return [TopicSpans(tuple(spans[i] for i in group), "", ()) for group in groups]

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors; where there are none to be had, rows that are like nothing, so that words alone decide."""
        try:
            return self._encoder.vectors(texts)
        except EmbeddingError:
            return np.zeros((len(texts), self._encoder.dimension or 1), dtype=np.float32)


def _structured(text: str, rarity: Rarity) -> TopicSummary:
    spans = sentences(text)
    named = keywords_of(text, limit=KEYWORDS, rarity=rarity)
    chosen = summary.summarize(text, spans, rarity=rarity, ratio=SUMMARY_SHARE)
    context = summary.context(text, spans, named)
    return TopicSummary(_joined(text, chosen), context, tuple(named))


def _joined(text: str, spans: Iterable[Span]) -> str:
    return " ".join(piece for start, end in spans if (piece := text[start:end].strip()))


def _relations(fresh: MemoryView, existing: MemoryView, cosine: float) -> list[Relation]:
    """What two memories contradict each other in; without that, whether they say the same.

    Notes of a few sentences are about one thing and are compared as they are; in documents, a statement is about what
    its place says it is about.
    """
    if _are_notes(fresh, existing):
        return [
            one for found in compare_all(fresh.text, existing.text, cosine) for one in _relation(fresh, existing, found)
        ]
    if clashing := list(_contradictions(fresh, existing)):
        return clashing
    two_languages = is_cjk(fresh.text) != is_cjk(existing.text)  # shared names and values tell what both are about
    if not two_languages and not may_say_the_same(fresh.text, existing.text, cosine):
        return []
    found = compare_all(fresh.text, existing.text, cosine)[0]
    return _relation(fresh, existing, found) if two_languages or found.relation == "merge" else []


def _are_notes(fresh: MemoryView, existing: MemoryView) -> bool:
    """Whether two memories are of notes; one of them may have a title."""
    parts = (*fresh.parts, *existing.parts)
    if any(len(part.document) > MOST_NOTE for part in parts):
        return False
    given = [read(part.document, part.name) for part in parts]
    return all(one.is_note or one.is_titled_note for one in given) and sum(not one.is_note for one in given) < 2


def _contradictions(fresh: MemoryView, existing: MemoryView) -> Iterator[Relation]:
    """The contradictions of two documents whose sides stand in these memories, and were not refuted."""
    for ours, theirs in product(fresh.parts, existing.parts):
        if ours.document == theirs.document:
            continue
        for found in documents.contradictions((ours.name, ours.document), (theirs.name, theirs.document)):
            spans = [
                _within(p, m, (s.start, s.end))
                for p, m, s in zip((ours, theirs), (fresh, existing), (found.first, found.second), strict=True)
            ]
            if spans[0] and spans[1]:
                claims = ClaimSpan(found.values[0], spans[0]), ClaimSpan(found.values[1], spans[1])
                reason = told(found.values, (found.first.text, found.second.text))
                yield Relation(fresh.id, existing.id, "conflict", found.kind, reason, claims, found.holds)


def _within(part: SourcePart, memory: MemoryView, span: Span) -> Span | None:
    """Where a stretch of a document is in the text of a memory; None if it is not, or if it is blank there."""
    start, end = max(span[0], part.span[0]), min(span[1], part.span[1])
    if end - start < (span[1] - span[0]) // 2 or start >= end:
        return None
    start, end = start - part.span[0] + part.start, end - part.span[0] + part.start
    return (start, end) if memory.text[start:end].strip() else None


def _relation(fresh: MemoryView, existing: MemoryView, found: Comparison) -> list[Relation]:
    if found.relation == "none":
        return []
    if found.relation == "merge":
        return [Relation(fresh.id, existing.id, "merge", found.kind, found.reason)]
    claims = ClaimSpan(found.values[0], found.quote_a), ClaimSpan(found.values[1], found.quote_b)
    return [Relation(fresh.id, existing.id, "conflict", found.kind, found.reason, claims)]


def _shared(a: MemoryView, b: MemoryView) -> frozenset[str]:
    return _keyword_terms(a.keywords) & _keyword_terms(b.keywords)


@lru_cache(maxsize=4096)
def _keyword_terms(keywords: tuple[str, ...]) -> frozenset[str]:
    return frozenset(" ".join(tokenize(keyword)) for keyword in keywords)


def _take_over(memory: MemoryView, other: MemoryView, keywords: dict[str, list[str]]) -> None:
    """Take in keywords of a related memory that stand in this one's text while its summary does not show them."""
    own = keywords.get(memory.id, list(memory.keywords))
    shown = "\n".join([memory.summary, memory.context, *own]).casefold()
    text = memory.text.casefold()
    unseen = [k for k in other.keywords if k.casefold() in text and k.casefold() not in shown]
    if unseen:
        keywords[memory.id] = [*own[: KEYWORDS - 1], unseen[0]] if len(own) >= KEYWORDS else [*own, unseen[0]]


def _refreshes(ends: Sequence[MemoryView], keywords: Mapping[str, list[str]]) -> dict[str, Refresh]:
    return {m.id: Refresh(m.context, tuple(keywords[m.id])) for m in ends if m.id in keywords}


def _integrated(group: MergeGroup) -> Integration:
    """The newest member speaks first; the others add what it does not say."""
    members = sorted(group.memories, key=lambda m: (m.created_at, m.id), reverse=True)
    kept: list[str] = [statement for statement in group.statements if statement]
    for member in members:
        wrong = [span for memory_id, span in group.refuted if memory_id == member.id]
        refuted = [member.text[start:end].strip() for start, end in wrong]
        for sentence in _sentences_of(member.summary):
            if not _is_refuted(sentence, refuted) and not _says_again(sentence, kept):
                kept.append(sentence)
    keywords = list(dict.fromkeys(k for member in members for k in member.keywords))[:KEYWORDS]
    names = ", ".join(m.id for m in members)
    return Integration(
        summary=" ".join(kept) or members[0].summary,
        context=members[0].context,
        keywords=tuple(keywords),
        description=f"{names}: {'merged after validation' if group.cause == 'conflict' else 'said the same'}",
        neighbours=_inherited(group.neighbours, keywords),
    )


def _sentences_of(text: str) -> list[str]:
    return [piece for start, end in sentences(text) if (piece := text[start:end].strip())]


def _is_refuted(sentence: str, refuted: Sequence[str]) -> bool:
    return any(sentence in wrong or wrong in sentence for wrong in refuted if wrong)


def _says_again(sentence: str, kept: Sequence[str]) -> bool:
    """Ask whether a sentence was said; one without index terms (`a, a, a`) can be told by its letters alone."""
    if sentence in kept:
        return True
    terms = set(tokenize(sentence))
    return any(terms and len(terms & set(tokenize(k))) >= REPEATED_SENTENCE * len(terms) for k in kept)


def _inherited(neighbours: Sequence[MemoryView], keywords: Sequence[str]) -> dict[str, Refresh]:
    """Neighbours show the keywords they share with the merged memory first."""
    terms = _keyword_terms(tuple(keywords))
    updates: dict[str, Refresh] = {}
    for memory in neighbours:
        ordered = sorted(memory.keywords, key=lambda k: " ".join(tokenize(k)) not in terms)
        if tuple(ordered) != memory.keywords:
            updates[memory.id] = Refresh(memory.context, tuple(ordered))
    return updates


def _announced(dispute: Dispute, winner: int) -> DisputeVerdict:
    """The verdict where one claim is itself the correction or amendment of the other."""
    quote = dispute.quotes[winner]
    held = [(e, e.text.find(quote)) for e in dispute.evidence if quote in e.text][:1]
    shown = tuple(EvidenceSpan(e.entry, (e.start + at, e.start + at + len(quote))) for e, at in held)
    return DisputeVerdict(
        "holds", winner, "", corroboration.because_corrected(dispute.values[winner], is_cjk(quote)), shown
    )


def _verdict(dispute: Dispute) -> corroboration.Verdict:
    claims = [
        corroboration.DisputedClaim(q, v, dispute.kind) for q, v in zip(dispute.quotes, dispute.values, strict=True)
    ]
    shown = [
        corroboration.EvidenceEntry(str(number), evidence.source, evidence.text, evidence.date)
        for number, evidence in enumerate(dispute.evidence)
    ]
    return corroboration.corroborate(claims, shown)


def _question(dispute: Dispute) -> frozenset[str]:
    """What a dispute is about: its values, however they are written."""
    return frozenset(_plain(value) for value in dispute.values)


def _plain(value: str) -> str:
    found = values_of(value)
    if not found:
        return value.casefold().strip()
    first = found[0]
    return str(first.date if first.kind == "date" else (first.amount, first.unit))


def _weight(verdict: corroboration.Verdict) -> int:
    return sum(len({s.entry_id for s in own}) for own in verdict.support)


def _finding(dispute: Dispute, spoken: Dispute, verdict: corroboration.Verdict) -> DisputeVerdict:
    """A verdict in terms of a dispute: the same values may be claimed in another order."""
    winner = None
    if verdict.winner is not None:
        right = _plain(spoken.values[verdict.winner])
        winner = next(position for position, value in enumerate(dispute.values) if _plain(value) == right)
    decisive = [support for own in verdict.support for support in own]
    statement = ""
    if verdict.reconciled:
        told = spoken.evidence[int(verdict.reconciled.entry_id)]
        statement = told.text[verdict.reconciled.start : verdict.reconciled.end].strip()
        decisive = [verdict.reconciled]
    elif verdict.winner is not None:
        decisive = list(verdict.support[verdict.winner])
    spans = (_evidence_span(spoken.evidence[int(s.entry_id)], (s.start, s.end)) for s in decisive)
    return DisputeVerdict(verdict.outcome, winner, statement, verdict.reason, tuple(dict.fromkeys(spans)))


def _evidence_span(evidence: EvidenceText, span: Span) -> EvidenceSpan:
    return EvidenceSpan(evidence.entry, (evidence.start + span[0], evidence.start + span[1]))


def _readable(id: str, passage: RetrievedPassage) -> quoting.Passage:
    """A passage with the sentences of it that may be quoted, or for which another one may be."""
    instead = [span for span, _, _ in passage.replaced]
    allowed = (
        one
        for one in passage.placed or sentences_of(passage.text)
        if any(_meet(one, span) for span in instead) or not any(_meet(one, span) for span in passage.refuted)
    )
    return quoting.Passage(id, passage.text, passage.score, tuple(allowed))


def _replaced(
    passage: RetrievedPassage, row: quoting.Passage, rows: Sequence[quoting.Passage]
) -> dict[int, tuple[str, int]]:
    """The sentences of a passage that do not hold, each with the one that does: its passage, and where it begins."""
    found: dict[int, tuple[str, int]] = {}
    for wrong, number, span in passage.replaced:
        holds = next((one.start for one in rows[number].placed if _meet(one, span)), None)
        if holds is not None:
            found |= {one.start: (rows[number].id, holds) for one in row.placed if _meet(one, wrong)}
    return found


def _meet(one: Placed, span: Span) -> bool:
    return span[0] < one.end and one.start < span[1]
