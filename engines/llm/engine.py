"""The engine that asks chat models: one call per window of what is to be judged, never one per item."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from agentic_memory_bank.engines.base import (
    Answer,
    ClaimSpan,
    Dispute,
    Engine,
    Evidence,
    EvidenceSpan,
    Finding,
    Integration,
    Link,
    Memory,
    MergeGroup,
    Pairing,
    Passage,
    Picture,
    Quote,
    Refresh,
    Relation,
    Situation,
    Span,
    Step,
    Structured,
    TopicSpans,
    TopicText,
)
from agentic_memory_bank.engines.llm.asking import Asker, Question
from agentic_memory_bank.engines.llm.locating import closest, locate
from agentic_memory_bank.engines.llm.packing import (
    ITEM_TOKENS,
    PairWindow,
    fields_tokens,
    joined,
    pack,
    pair_windows,
    within,
)
from agentic_memory_bank.prompts import (
    answer,
    classify,
    find_conflicts,
    find_related,
    integrate,
    plan,
    recognize,
    structure,
    validate,
)
from agentic_memory_bank.prompts.judging import listed
from agentic_memory_bank.state.errors import AnswerRejected, EngineError, ModelRefused
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages

UNIT_TOKENS = 160
"""Upper size of what has a number of its own in the question of classification."""
MEMORY_TOKENS = 300
"""What a memory takes in a question of analysis: a summary of 120 words, its context, keywords and sources."""
FULL_TEXT_TOKENS = 160
"""A memory whose raw text is not longer is judged by it, a longer one by its summary."""
COMPARED = 500 * 500
"""Tokens of one raw text times those of the other, up to which rules compare them: each sentence meets each other."""
HINT_CHARACTERS = 300
HINTS = 40
"""How many places of differing wording are pointed out in one call."""
MISSING_NAMED = 8
DISPUTES = 8
"""How many disputes are decided in one call."""
FULL_TEXTS_SHARE = 0.6
"""Share of a window that the memories of one group may take, full texts included."""
NEIGHBOURS_SHARE = 0.25
KEYWORDS = 8
"""How many keywords a memory has."""
NEWS_SHARE = 0.5
"""Share of the planner's window for what is new in memory."""
TASKS_SHOWN = 30
CONFLICTS_SHOWN = 12


class ChatEngine:
    """Judges with chat models. A role without a model is judged by the offline engine.

    Args:
        asker: Sends the questions.
        offline: Judges for the roles that have no model, and points out differing wording for those that have.
    """

    def __init__(self, asker: Asker, offline: Engine) -> None:
        self._asker = asker
        self._offline = offline

    @property
    def name(self) -> str:
        """The models, by which runs are recorded."""
        return self._asker.models.name

    @property
    def failures(self) -> Sequence[EngineError]:
        """Why some questions of this stage have no answer."""
        return self._asker.failures

    def classify(self, texts: Sequence[str], task: str) -> list[list[TopicSpans] | None]:
        """Divide texts into topics; small texts share a window."""
        if not self._asks("classify"):
            return list(self._offline.classify(texts, task))
        windows = pack(texts, estimate_tokens, self._room("classify"), item=0)
        cut = self._cut(texts, windows, task)
        questions = [
            Question(
                "classify",
                classify.INSTRUCTIONS,
                classify.render(task, [[texts[i][s:e] for s, e in cut[i]] for i in window]),
                classify.Topics,
            )
            for window in windows
        ]
        found: list[list[TopicSpans] | None] = [None] * len(texts)
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            if said is not None:
                named = _few(_topics(said, [cut[i] for i in window]), self._most_topics())
                for position, topics in zip(window, named, strict=True):
                    found[position] = topics
        return found

    def structure(self, topics: Sequence[TopicText]) -> list[Structured | None]:
        """Summarise topics, as many in a call as fit."""
        if not self._asks("structure"):
            return list(self._offline.structure(topics))
        # Estimates are rounded up: so what stood in one window of classification is sure to stand in one here.
        windows = pack(topics, lambda topic: estimate_tokens(topic.text) - 1, self._room("structure"), item=0)
        questions = [
            Question(
                "structure",
                structure.INSTRUCTIONS,
                self._topics_shown([topics[i] for i in window]),
                structure.Memories,
                names_all("memories", len(window)),
            )
            for window in windows
        ]
        found: list[Structured | None] = [None] * len(topics)
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            for memory in said.memories if said else ():
                if 1 <= memory.id <= len(window) and memory.summary.strip():
                    keywords = _keywords(memory.keywords)
                    found[window[memory.id - 1]] = Structured(memory.summary.strip(), memory.context.strip(), keywords)
        return found

    def find_conflicts(self, pairings: Sequence[Pairing]) -> list[Relation]:
        """Judge all pairs, each memory shown once in a window; rules point out where the raw texts differ."""
        if not self._asks("analyze"):
            return self._offline.find_conflicts(pairings)
        compared = _quickly_compared(pairings)
        hints = self._offline.find_conflicts(compared)
        differing = {(r.fresh, r.existing): r for r in hints if r.relation == "conflict" and r.claims}
        windows = self._pair_windows(pairings, find_conflicts.INSTRUCTIONS)
        questions = [
            Question(
                "analyze",
                find_conflicts.INSTRUCTIONS,
                find_conflicts.render(_shown(w), w.numbered_pairs(), _points(w, differing)),
                find_conflicts.Findings,
            )
            for w in windows
        ]
        relations: list[Relation] = []
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            if said is None:
                relations += [Relation(a, b, "unjudged") for a, others in window.pairs.items() for b in others]
            for finding in said.findings if said else ():
                if relation := _relation(finding, window, differing):
                    relations.append(relation)
        return self._unopposed(relations, pairings, compared)

    def _unopposed(
        self, relations: Sequence[Relation], pairings: Sequence[Pairing], compared: Sequence[Pairing]
    ) -> list[Relation]:
        """Without the merges of long memories that rules see contradict: they were not compared before."""
        known = {(p.fresh.id, c.id) for p in compared for c in p.candidates}
        merging = {(r.fresh, r.existing) for r in relations if r.relation == "merge"} - known
        opposed = {
            (found.fresh, found.existing)
            for pairing in pairings
            for candidate, cosine in zip(pairing.candidates, pairing.cosines, strict=True)
            if (pairing.fresh.id, candidate.id) in merging
            for found in self._offline.find_conflicts([Pairing(pairing.fresh, (candidate,), (cosine,))])
            if found.relation == "conflict"
        }
        return [r for r in relations if r.relation != "merge" or (r.fresh, r.existing) not in opposed]

    def find_related(self, pairings: Sequence[Pairing]) -> list[Link]:
        """Draw edges between what belongs together."""
        if not self._asks("analyze"):
            return self._offline.find_related(pairings)
        windows = self._pair_windows(pairings, find_related.INSTRUCTIONS)
        questions = [
            Question(
                "analyze",
                find_related.INSTRUCTIONS,
                find_related.render(_shown(w), w.numbered_pairs()),
                find_related.Relations,
            )
            for w in windows
        ]
        links: list[Link] = []
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            for relation in said.related if said else ():
                if named := window.named(relation.new, relation.other):
                    links.append(_link(relation, named, window))
        return links

    def integrate(self, groups: Sequence[MergeGroup]) -> list[Integration | None]:
        """Make one memory of each group, several groups in a call where they fit."""
        if not self._asks("integrate"):
            return list(self._offline.integrate(groups))
        capacity = self._capacity("integrate", integrate.INSTRUCTIONS)
        rendered = [_group(group, capacity) for group in groups]
        windows = pack(rendered, estimate_tokens, capacity)
        questions = [
            Question(
                "integrate",
                integrate.INSTRUCTIONS,
                integrate.join([rendered[i] for i in window]),
                integrate.Integrations,
                names_all("merged", len(window), "group"),
            )
            for window in windows
        ]
        found: list[Integration | None] = [None] * len(groups)
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            for merged in said.merged if said else ():
                if 1 <= merged.group <= len(window) and merged.summary.strip():
                    position = window[merged.group - 1]
                    found[position] = _integration(merged, groups[position])
        return found

    def plan(self, situation: Situation) -> Step | None:
        """Name the next step."""
        if not self._asks("plan"):
            return self._offline.plan(situation)
        doc = situation.insight_doc
        capacity = int(self._capacity("plan", plan.INSTRUCTIONS + doc["goal"]) * NEWS_SHARE)
        news = within([_fields(m) for m in reversed(situation.fresh)], fields_tokens, capacity)
        done = [f"{t['kind']}, {t['status']}: {t['description']} {t['learned']}" for t in doc.get("completed", [])]
        conflicts = [
            f"{conflict['status']}: {contradiction['reason']} {contradiction.get('statement', '')} "
            f"{contradiction.get('explanation', '')}"
            for conflict in situation.conflicts[-CONFLICTS_SHOWN:]
            for contradiction in conflict["contradictions"][:1]
        ]
        prompt = plan.render(doc["goal"], situation.kinds, done[-TASKS_SHOWN:], news, conflicts)
        question = Question("plan", plan.INSTRUCTIONS, prompt, plan.Plan, _can_be_done(situation.kinds))
        (said,) = self._asker.ask([question])
        if said is None or said.is_done:
            return None
        named = said.kind.strip().casefold()
        return Step(next(kind for kind in situation.kinds if kind == named), said.description.strip())

    def validate(self, disputes: Sequence[Dispute]) -> list[Finding | None]:
        """Decide disputes by their evidence, several in a call where they share it."""
        if not self._asks("react"):
            return list(self._offline.validate(disputes))
        capacity = self._capacity("react", validate.INSTRUCTIONS)
        together: dict[tuple[Evidence, ...], list[int]] = {}
        for position, dispute in enumerate(disputes):
            together.setdefault(dispute.evidence, []).append(position)
        windows = [
            (positions[start : start + DISPUTES], within(evidence, lambda e: estimate_tokens(e.text), capacity))
            for evidence, positions in together.items()
            for start in range(0, len(positions), DISPUTES)
        ]
        questions = [
            Question(
                "react",
                validate.INSTRUCTIONS,
                validate.render(
                    [disputes[i].quotes for i in positions],
                    [(e.source, e.date or f"recorded {e.created_at}", e.text) for e in evidence],
                ),
                validate.Verdicts,
                names_all("verdicts", len(positions), "dispute", "outcome"),
            )
            for positions, evidence in windows
        ]
        found: list[Finding | None] = [None] * len(disputes)
        for (positions, evidence), said in zip(windows, self._asker.ask(questions), strict=True):
            for verdict in said.verdicts if said else ():
                if 1 <= verdict.dispute <= len(positions):
                    position = positions[verdict.dispute - 1]
                    found[position] = _finding(verdict, disputes[position], evidence)
        return found

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        """Answer from passages; what is quoted stands in them."""
        if not self._asks("react"):
            return self._offline.answer(question, passages)
        capacity = self._capacity("react", answer.INSTRUCTIONS + question)
        shown = within(passages, lambda passage: estimate_tokens(passage.text), capacity)
        refuted = [passage.text[start:end] for passage in shown for start, end in passage.refuted]
        established = list(dict.fromkeys(said for passage in shown for said in passage.established))
        prompt = answer.render(question, [passage.text for passage in shown], refuted, established)
        asked = Question("react", answer.INSTRUCTIONS, prompt, answer.Answer, _rests_on(shown))
        (said,) = self._asker.ask([asked])
        if said is None or not said.is_found:
            return Answer("", (), "Memory holds nothing that answers the question.")
        return Answer(said.answer.strip(), tuple(_quotes(said, shown)), _opening(said.answer))

    @property
    def sees(self) -> bool:
        """Whether a model has the role that looks at pictures."""
        return self._asks("react")

    def recognize(self, pictures: Sequence[Picture]) -> list[str | EngineError]:
        """Put pictures into words, one question each: one that fails is no matter of the others."""
        questions = [
            Question("react", recognize.INSTRUCTIONS, recognize.render(p.name), recognize.Recognized, images=(p,))
            for p in pictures
        ]
        before = len(self._asker.failures)
        try:
            said = self._asker.ask(questions)
        except ModelRefused:
            raise  # no matter of these pictures
        except EngineError as error:
            return [error] * len(pictures)
        failed = iter(self._asker.failures[before:])
        del self._asker.failures[before:]  # told picture by picture
        return [recognize.told(s) if s else next(failed) for s in said]

    def _asks(self, role: Role) -> bool:
        return role in self._asker.models.roles

    def _capacity(self, role: Role, instructions: str) -> int:
        """Tokens of a window that are left for what is judged."""
        return max(1, self._room(role) - estimate_tokens(instructions))

    def _room(self, role: Role) -> int:
        """Tokens of raw text in one window: as much as the stage puts into one chunk."""
        return self._asker.models.roles[role].row.text_tokens(self._asker.settings.window_ratio)

    def _left(self, role: Role, *shown: str) -> int:
        """Tokens of a window that are left beside the answer and what is shown."""
        row = self._asker.models.roles[role].row
        return row.window - row.output - sum(map(estimate_tokens, shown))

    def _cut(self, texts: Sequence[str], windows: Sequence[Sequence[int]], task: str) -> list[list[Span]]:
        """The paragraphs of each text; short ones are put together where their numbers would not fit the window."""
        cut = [passages(text, UNIT_TOKENS) for text in texts]
        for window in windows:
            left = self._left("classify", classify.INSTRUCTIONS, task, *(texts[i] for i in window))
            for i in window:
                share = len(cut[i]) / max(1, sum(len(cut[j]) for j in window))
                most = max(1, int(left * share) // ITEM_TOKENS)
                cut[i] = joined(cut[i], lambda span, text=texts[i]: estimate_tokens(text[span[0] : span[1]]), most)
        return cut

    def _topics_shown(self, topics: Sequence[TopicText]) -> str:
        """Topics with what the classifier said of them, where there is room for it."""
        shown = structure.render([(topic.text, topic.context, topic.keywords) for topic in topics])
        if self._left("structure", structure.INSTRUCTIONS, shown) >= 0:
            return shown
        return structure.render([(topic.text, "", ()) for topic in topics])

    def _most_topics(self) -> int:
        """Topics of one window whose memories fit one window of analysis, with all those they are compared with."""
        if not self._asks("analyze"):
            return classify.MOST_TOPICS
        capacity = self._capacity("analyze", find_conflicts.INSTRUCTIONS)
        return max(1, min(classify.MOST_TOPICS, capacity // (MEMORY_TOKENS * (1 + self._asker.settings.k))))

    def _pair_windows(self, pairings: Sequence[Pairing], instructions: str) -> list[PairWindow]:
        capacity = self._capacity("analyze", instructions)
        return pair_windows(pairings, lambda memory: fields_tokens(_fields(memory)), capacity)


def names_all(field: str, count: int, number: str = "id", content: str = "summary") -> Callable[[object], None]:
    """A check that an answer has an item that says something for each of so many, by their numbers."""

    def check(said: object) -> None:
        items = [item for item in getattr(said, field) if str(getattr(item, content)).strip()]
        missing = set(range(1, count + 1)) - {getattr(item, number) for item in items}
        if missing:
            named = listed([str(n) for n in sorted(missing)[:MISSING_NAMED]])
            raise AnswerRejected(f"{count} were asked for under {field}; missing or empty: {number} {named}.")

    return check


def _can_be_done(kinds: Sequence[str]) -> Callable[[plan.Plan], None]:
    """A check that a plan names a step somebody can carry out."""

    def check(said: plan.Plan) -> None:
        if not said.is_done and (said.kind.strip().casefold() not in kinds or not said.description.strip()):
            raise AnswerRejected(f"The step needs a description and one of the kinds {listed(kinds)}.")

    return check


def _rests_on(shown: Sequence[Passage]) -> Callable[[answer.Answer], None]:
    """A check that an answer rests on words that stand in the passages."""

    def check(said: answer.Answer) -> None:
        if said.is_found and not (said.answer.strip() and _quotes(said, shown)):
            raise AnswerRejected("An answer needs quotes, copied exactly from the passages by their numbers.")

    return check


def _topics(said: classify.Topics, cut: Sequence[Sequence[Span]]) -> list[list[TopicSpans]]:
    """The topics of each text of a window; a topic that reaches over several texts is one in each of them."""
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
                own.append(TopicSpans(chosen, topic.context.strip(), _keywords(topic.keywords)))
            before += len(spans)
    return found


def _few(found: Sequence[list[TopicSpans]], most: int) -> list[list[TopicSpans]]:
    """The topics of each text, with those that follow each other put together where a window has more than so many.

    What becomes of a window can then be judged in one call each, also of a text of many subjects.
    """
    total = sum(map(len, found))
    if total <= most:
        return list(found)
    return [_runs(own, max(1, most * len(own) // total)) if own else [] for own in found]


def _runs(topics: Sequence[TopicSpans], most: int) -> list[TopicSpans]:
    borders = [len(topics) * i // most for i in range(most + 1)]
    return [_together(topics[start:end]) for start, end in pairwise(borders)]


def _together(topics: Sequence[TopicSpans]) -> TopicSpans:
    return TopicSpans(
        tuple(span for topic in topics for span in topic.spans),
        " ".join(topic.context for topic in topics),
        _keywords([word for topic in topics for word in topic.keywords]),
    )


def _keywords(said: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in said if word.strip()))[:KEYWORDS]


def _fields(memory: Memory) -> dict[str, str]:
    """A memory as a judge is shown it: by its raw text where that is short, otherwise by its summary."""
    is_short = estimate_tokens(memory.text) <= max(FULL_TEXT_TOKENS, estimate_tokens(memory.summary))
    return {
        "context": memory.context,
        "keywords": listed(memory.keywords),
        "text" if is_short else "summary": memory.text if is_short else memory.summary,
        "from": f"{listed(memory.sources)}, recorded {memory.created_at}",
    }


def _shown(window: PairWindow) -> dict[int, dict[str, str]]:
    return {number: _fields(window.memories[memory_id]) for memory_id, number in window.numbers.items()}


def _quickly_compared(pairings: Sequence[Pairing]) -> list[Pairing]:
    """The pairs that rules compare in a few milliseconds each: while they do, no model is asked."""
    sizes = {m.id: estimate_tokens(m.text) for p in pairings for m in (p.fresh, *p.candidates)}
    found: list[Pairing] = []
    for pairing in pairings:
        most = COMPARED // max(1, sizes[pairing.fresh.id])
        kept = [
            (c, cosine) for c, cosine in zip(pairing.candidates, pairing.cosines, strict=True) if sizes[c.id] <= most
        ]
        if kept:
            found.append(Pairing(pairing.fresh, tuple(c for c, _ in kept), tuple(cosine for _, cosine in kept)))
    return found


def _points(window: PairWindow, differing: Mapping[tuple[str, str], Relation]) -> list[tuple[int, int, str, str]]:
    """Where rules see the raw texts of a pair differ, word for word."""
    points: list[tuple[int, int, str, str]] = []
    for new, others in window.pairs.items():
        for other in others:
            hint = differing.get((new, other))
            if hint and hint.claims and len(points) < HINTS:
                texts = [window.memories[i].text for i in (new, other)]
                words = [t[c.span[0] : c.span[1]][:HINT_CHARACTERS] for t, c in zip(texts, hint.claims, strict=True)]
                points.append((window.numbers[new], window.numbers[other], words[0].strip(), words[1].strip()))
    return points


def _relation(
    said: find_conflicts.Finding, window: PairWindow, differing: Mapping[tuple[str, str], Relation]
) -> Relation | None:
    """What was found of a pair; what names no pair, or no relation, is dropped."""
    named = window.named(said.new, said.other)
    relation = said.relation.strip().casefold()
    if named is None or relation not in ("conflict", "merge"):
        return None
    hint = differing.get(named)
    if relation == "merge":
        return None if hint else Relation(*named, "merge", reason=said.reason)  # rules see them differ: they stay apart
    is_swapped = window.numbers[named[0]] != said.new
    quoted = (said.other_claim, said.new_claim) if is_swapped else (said.new_claim, said.other_claim)
    claims = _claims([window.memories[i] for i in named], quoted, said.reason, hint)
    if _plain(claims[0].value) == _plain(claims[1].value):
        return None  # the same words contradict nothing
    return Relation(*named, "conflict", said.kind.strip() or "other", said.reason.strip(), claims)


def _claims(
    ends: Sequence[Memory], quoted: Sequence[str], reason: str, hint: Relation | None
) -> tuple[ClaimSpan, ClaimSpan]:
    """The claims in the words of the raw texts: as quoted, as rules see them, or the sentences that say it most."""
    spans = [locate(words, memory.text) for memory, words in zip(ends, quoted, strict=True)]
    if hint and hint.claims and None in spans:
        return hint.claims
    first, second = (
        span or closest(f"{words} {reason}", memory.text)
        for span, memory, words in zip(spans, ends, quoted, strict=True)
    )
    return ClaimSpan(_words(ends[0], first), first), ClaimSpan(_words(ends[1], second), second)


def _words(memory: Memory, span: Span) -> str:
    return memory.text[span[0] : span[1]].strip()


def _plain(words: str) -> str:
    return " ".join(words.casefold().split())


def _link(said: find_related.Relation, named: tuple[str, str], window: PairWindow) -> Link:
    updates = {window.numbers[i]: (i, window.memories[i]) for i in named}
    given = {
        said.new: (said.new_context, said.new_keywords),
        said.other: (said.other_context, said.other_keywords),
    }
    refreshed = {
        memory_id: Refresh(context.strip() or memory.context, _keywords(keywords) or memory.keywords)
        for number, (memory_id, memory) in updates.items()
        for context, keywords in [given[number]]
        if context.strip() or _keywords(keywords)
    }
    return Link(*named, refreshed)


def _group(group: MergeGroup, capacity: int) -> str:
    """A group as a judge is shown it: with the full texts where they fit a share of the window, else the summaries."""
    texts = sum(estimate_tokens(memory.text) for memory in group.memories)
    fits = texts <= capacity * FULL_TEXTS_SHARE
    told = within(
        [_fields(m) | ({"summary": m.summary, "text": m.text} if fits else {}) for m in group.memories],
        fields_tokens,
        int(capacity * FULL_TEXTS_SHARE),
    )
    neighbours = within([_outline(m) for m in group.neighbours], fields_tokens, int(capacity * NEIGHBOURS_SHARE))
    by_id = {m.id: m for m in group.memories}
    refuted = [by_id[i].text[s:e] for i, (s, e) in group.refuted if i in by_id]
    return integrate.render(told, neighbours, group.cause, refuted, group.statements)


def _outline(memory: Memory) -> dict[str, str]:
    return {"context": memory.context, "keywords": listed(memory.keywords)}


def _integration(said: integrate.Merged, group: MergeGroup) -> Integration:
    neighbours = {
        group.neighbours[new.id - 1].id: Refresh(new.context.strip(), _keywords(new.keywords))
        for new in said.neighbours
        if 1 <= new.id <= len(group.neighbours) and new.context.strip()
    }
    return Integration(
        said.summary.strip(), said.context.strip(), _keywords(said.keywords), said.description.strip(), neighbours
    )


def _finding(said: validate.Verdict, dispute: Dispute, evidence: Sequence[Evidence]) -> Finding:
    outcome = said.outcome.strip().casefold()
    holds = outcome == "holds" and 1 <= said.claim <= len(dispute.quotes)
    spans = [evidence[n - 1] for n in dict.fromkeys(said.evidence) if 1 <= n <= len(evidence)]
    known = outcome in ("integrate", "neither") and bool(said.statement.strip())
    return Finding(
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


def _quotes(said: answer.Answer, shown: Sequence[Passage]) -> list[Quote]:
    """The quotes that stand in their passages, and touch nothing that was refuted."""
    found: list[Quote] = []
    for quote in said.quotes:
        if 1 <= quote.passage <= len(shown):
            passage = shown[quote.passage - 1]
            span = locate(quote.words, passage.text)
            if span and not any(span[0] < end and start < span[1] for start, end in passage.refuted):
                found.append(Quote(quote.passage - 1, span))
    return list(dict.fromkeys(found))


def _opening(text: str) -> str:
    """One or two sentences, for the Insight Doc."""
    return "".join(text[start:end] for start, end in sentences(text)[:2]).strip()
