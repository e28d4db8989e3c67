"""Renders memories for chat models, and turns their answers into judgements; what names nothing asked is dropped."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

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
    PassageQuote,
    QuotedAnswer,
    Refresh,
    Relation,
    RetrievedPassage,
    Span,
    TopicSpans,
)
from agentic_memory_bank.engines.extractive.support import (
    is_quotable,
    may_answer,
    may_answer_all,
    support_for,
    unsupported,
)
from agentic_memory_bank.engines.llm.locating import closest, copies, locate, reader_of_prose
from agentic_memory_bank.engines.llm.packing import PairWindow
from agentic_memory_bank.engines.own_words import is_order
from agentic_memory_bank.prompts import (
    answer,
    classify,
    find_conflicts,
    find_related,
    integrate,
    plan,
    validate,
)
from agentic_memory_bank.prompts.common import listed
from agentic_memory_bank.state.errors import AnswerRejected
from agentic_memory_bank.tools.text.sentences import sentences

KEYWORDS = 8
"""How many keywords a memory has."""
LONGEST_KEYWORD = 60
"""Characters."""


def is_possible_step(kinds: Sequence[str]) -> Callable[[plan.Plan], None]:
    """Make a check that a plan names a kind of step that can be carried out."""

    def check(said: plan.Plan) -> None:
        if not said.is_done and (said.kind.strip().casefold() not in kinds or not said.description.strip()):
            raise AnswerRejected(f"The step needs a description and one of the kinds {listed(kinds)}.")

    return check


def has_quotes(shown: Sequence[RetrievedPassage]) -> Callable[[answer.AnswerFromMemory], None]:
    """Make a check that an answer quotes the passages."""

    def check(said: answer.AnswerFromMemory) -> None:
        if said.is_found and not (said.answer.strip() and quotes_of(said, shown)):
            raise AnswerRejected("An answer needs quotes, copied exactly from the passages by their numbers.")

    return check


def topics_of(said: classify.Topics, cut: Sequence[Sequence[Span]]) -> list[list[TopicSpans]]:
    """Read the topics of each text of a window; a topic that spans several texts is one in each of them."""
    found: list[list[TopicSpans]] = [[] for _ in cut]
    for topic in said.topics:
        before = 0
        for own, spans in zip(found, cut, strict=True):
            numbers = {
                n - before
                for r in topic.paragraphs
                for n in range(max(r.first, before + 1), min(r.last, before + len(spans)) + 1)
            }
            chosen = tuple(spans[n - 1] for n in sorted(numbers) if 1 <= n <= len(spans))
            if chosen:
                own.append(TopicSpans(chosen, topic.context.strip(), keywords_of(topic.keywords)))
            before += len(spans)
    return found


def at_most(found: Sequence[list[TopicSpans]], most: int) -> list[list[TopicSpans]]:
    """Limit the topics of a window, by joining those that follow each other.

    What becomes of a window can then be judged in one call each, also of a text of many subjects.
    """
    total = sum(map(len, found))
    if total <= most:
        return list(found)
    return [_merged_runs(own, max(1, most * len(own) // total)) if own else [] for own in found]


def _merged_runs(topics: Sequence[TopicSpans], most: int) -> list[TopicSpans]:
    borders = [len(topics) * i // most for i in range(most + 1)]
    return [_merged(topics[start:end]) for start, end in pairwise(borders)]


def _merged(topics: Sequence[TopicSpans]) -> TopicSpans:
    return TopicSpans(
        tuple(span for topic in topics for span in topic.spans),
        " ".join(topic.context for topic in topics),
        keywords_of([word for topic in topics for word in topic.keywords]),
    )


def keywords_of(said: Sequence[str]) -> tuple[str, ...]:
    """Clean keywords: each once, no more than a memory has, and none that is a text."""
    return tuple(dict.fromkeys(word.strip() for word in said if 0 < len(word.strip()) <= LONGEST_KEYWORD))[:KEYWORDS]


def relation_of(
    said: find_conflicts.PairFinding, window: PairWindow, differing: Mapping[tuple[str, str], Relation]
) -> Relation | None:
    """Turn a finding into a relation; None for one that names no pair that was asked about, or no relation.

    Where rules see a contradiction, a model can tell more closely what it is, and cannot make it something else.
    """
    named = window.named(said.new, said.other)
    relation = said.relation.strip().casefold()
    if named is None or relation not in ("conflict", "merge"):
        return None
    hint = differing.get(named)
    if relation == "merge":
        return None if hint else Relation(*named, "merge", reason=said.reason)
    is_swapped = window.numbers[named[0]] != said.new
    quoted = (said.other_claim, said.new_claim) if is_swapped else (said.new_claim, said.other_claim)
    ends = [window.memories[i] for i in named]
    claims = _claims(ends, quoted, said.reason, hint)
    if _plain(claims[0].value) == _plain(claims[1].value):
        return None  # the same words contradict nothing
    announced = hint.announced if hint else None
    reason = _reason(said.reason.strip(), ends, claims)
    kind = said.kind.strip().casefold()
    known = kind if kind in find_conflicts.KINDS else hint.kind if hint else "other"
    return Relation(*named, "conflict", known, reason, claims, announced)


def _reason(said: str, ends: Sequence[MemoryView], claims: Sequence[ClaimSpan]) -> str:
    """Why memories contradict each other, in the model's words where their texts bear these."""
    if is_quotable(said) and not unsupported(said, [text for end in ends for text in (end.text, end.summary)]):
        return said
    return f"One says “{claims[0].value}”, the other “{claims[1].value}”."


def untold(seen: Sequence[Relation], told: Sequence[Relation]) -> list[Relation]:
    """The contradictions that rules see and no model told of; all of a pair in which they see several."""
    pairs = {(r.fresh, r.existing) for r in told if r.relation == "conflict"}
    sure = [r for r in seen if r.relation == "conflict"]
    count = Counter((r.fresh, r.existing) for r in sure)
    return [r for r in sure if (pair := (r.fresh, r.existing)) not in pairs or count[pair] > 1]


def _claims(
    ends: Sequence[MemoryView], quoted: Sequence[str], reason: str, hint: Relation | None
) -> tuple[ClaimSpan, ClaimSpan]:
    """The claims in the words of the raw texts: as quoted, as rules see them, or the sentences that say it most."""
    spans = [locate(words, memory.text) for memory, words in zip(ends, quoted, strict=True)]
    if hint and hint.claims and not all(map(_tells, ends, spans, hint.claims)):
        return hint.claims
    first, second = (
        span or closest(f"{words} {reason}", memory.text)
        for span, memory, words in zip(spans, ends, quoted, strict=True)
    )
    return ClaimSpan(_words(ends[0], first), first), ClaimSpan(_words(ends[1], second), second)


def _tells(end: MemoryView, span: Span | None, seen: ClaimSpan) -> bool:
    """Whether a quote tells what rules see."""
    return span is not None and _plain(seen.value) in _plain(_words(end, span))


def _words(memory: MemoryView, span: Span) -> str:
    return memory.text[span[0] : span[1]].strip()


def _plain(words: str) -> str:
    return " ".join(words.casefold().split())


def link_of(said: find_related.RelatedPair, named: tuple[str, str], window: PairWindow) -> Link:
    """Turn a related pair into a link; context and keywords left empty stay what they are."""
    updates = {window.numbers[i]: (i, window.memories[i]) for i in named}
    given = {
        said.new: (said.new_context, said.new_keywords),
        said.other: (said.other_context, said.other_keywords),
    }
    refreshed = {
        memory_id: Refresh(context.strip() or memory.context, keywords_of(keywords) or memory.keywords)
        for number, (memory_id, memory) in updates.items()
        for context, keywords in [given[number]]
        if context.strip() or keywords_of(keywords)
    }
    return Link(*named, refreshed)


def integration_of(said: integrate.Merged, group: MergeGroup) -> Integration:
    """Turn an answer into the one memory of a group; neighbours that were not shown are dropped."""
    neighbours = {
        group.neighbours[new.id - 1].id: Refresh(new.context.strip(), keywords_of(new.keywords))
        for new in said.neighbours
        if 1 <= new.id <= len(group.neighbours) and new.context.strip()
    }
    return Integration(
        said.summary.strip(), said.context.strip(), keywords_of(said.keywords), said.description.strip(), neighbours
    )


def verdict_of(said: validate.DisputeDecision, dispute: Dispute, evidence: Sequence[EvidenceText]) -> DisputeVerdict:
    """Turn a decision into a verdict; one without its claim or statement is inconclusive."""
    outcome = said.outcome.strip().casefold()
    holds = outcome == "holds" and 1 <= said.claim <= len(dispute.quotes)
    spans = [evidence[n - 1] for n in dict.fromkeys(said.evidence) if 1 <= n <= len(evidence)]
    known = outcome in ("integrate", "neither") and bool(said.statement.strip())
    return DisputeVerdict(
        outcome="holds"
        if holds
        else "integrate"
        if known and outcome == "integrate"
        else "neither"
        if known
        else "inconclusive",
        winner=said.claim - 1 if holds else None,
        statement=said.statement.strip() if known else "",
        explanation=said.explanation.strip(),
        evidence=tuple(EvidenceSpan(e.entry, (e.start, e.start + len(e.text))) for e in spans),
    )


def quotes_of(said: answer.AnswerFromMemory, shown: Sequence[RetrievedPassage]) -> list[PassageQuote]:
    """Locate the quotes; those that stand in no passage, touch what was refuted, or give orders, are dropped."""
    found: list[PassageQuote] = []
    for quote in said.quotes:
        if 1 <= quote.passage <= len(shown):
            passage = shown[quote.passage - 1]
            span = locate(quote.words, passage.text)
            if span and not is_order(passage.text[slice(*span)]) and not _is_refuted(span, passage):
                found.append(PassageQuote(quote.passage - 1, span))
    return list(dict.fromkeys(found))


def objection_to(
    said: answer.AnswerFromMemory, question: str, quotes: Sequence[PassageQuote], shown: Sequence[RetrievedPassage]
) -> str:
    """Why an answer with quotes is none; empty where it may be one."""
    if not may_answer(question, "\n".join([said.answer, *(words_of(quote, shown) for quote in quotes)])):
        return "The answer holds nothing of the kind that is asked for; it was left out."
    if copies(said.answer, [*(words_of(quote, shown) for quote in quotes), *(passage.text for passage in shown)]):
        return "The answer is a stretch of a text, copied as it stands; it was left out."
    return ""


def quoting_prose(shown: Sequence[RetrievedPassage]) -> Callable[[str], answer.AnswerFromMemory | None]:
    """Make a reader of plain words: the sentences of them that stand in the passages, with these as quotes."""

    def answered(words: str, found: list[tuple[str, int]]) -> answer.AnswerFromMemory:
        quotes = [answer.QuotedPassage(passage=number + 1, words=sentence) for sentence, number in found]
        return answer.AnswerFromMemory(is_found=True, answer=words, quotes=quotes)

    return reader_of_prose([passage.text for passage in shown], answered)


def _is_refuted(span: Span, passage: RetrievedPassage) -> bool:
    return any(span[0] < end and start < span[1] for start, end in passage.refuted)


def further_quotes(
    said: str, quotes: Sequence[PassageQuote], shown: Sequence[RetrievedPassage], known: Sequence[str]
) -> list[PassageQuote]:
    """Sentences of the passages that bear what an answer says and its quotes do not; nothing that was refuted."""
    texts = [_unrefuted(passage) for passage in shown]
    found = support_for(said, [*known, *(words_of(quote, shown) for quote in quotes)], texts)
    return [PassageQuote(number, span) for number, span in found]


def _unrefuted(passage: RetrievedPassage) -> str:
    """A passage whose refuted stretches are blank; the length stays."""
    text = passage.text
    for start, end in passage.refuted:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def with_other_quotes(question: str, said: str, quotes: Sequence[PassageQuote], instead: QuotedAnswer) -> QuotedAnswer:
    """A model's answer; where rules find it, or a part of it that is asked for, elsewhere, theirs as well, below it."""
    learned = first_sentences(said)
    meets = any(_meet(quote, other) for quote in quotes for other in instead.quotes)
    if not instead.quotes or (meets and may_answer_all(question, said)):
        return QuotedAnswer(said, tuple(quotes), learned)
    lines = [line for line in instead.text.splitlines() if _plain(line) not in _plain(said)]
    return QuotedAnswer("\n".join([said, *lines]), tuple(dict.fromkeys((*instead.quotes, *quotes))), learned)


def _meet(quote: PassageQuote, other: PassageQuote) -> bool:
    return quote.passage == other.passage and quote.span[0] < other.span[1] and other.span[0] < quote.span[1]


def words_of(quote: PassageQuote, shown: Sequence[RetrievedPassage]) -> str:
    """What a quote says."""
    return shown[quote.passage].text[quote.span[0] : quote.span[1]]


def first_sentences(text: str) -> str:
    """Shorten an answer to its first sentences, for the Insight Doc."""
    return "".join(text[start:end] for start, end in sentences(text)[:2]).strip()
