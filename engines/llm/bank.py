"""The engine that asks chat models: one call per window of what is to be judged, never one per item."""

from collections.abc import Sequence

from agentic_memory_bank.engines.base import (
    Dispute,
    DisputeVerdict,
    Engine,
    EvidenceText,
    Integration,
    Link,
    MergeGroup,
    Pairing,
    Picture,
    PlannerInput,
    QuotedAnswer,
    Relation,
    RetrievedPassage,
    Span,
    Step,
    TopicSpans,
    TopicSummary,
    TopicText,
)
from agentic_memory_bank.engines.llm.bank_answers import (
    at_most,
    differing_words,
    first_sentences,
    has_quotes,
    integration_of,
    is_possible_step,
    keywords_of,
    link_of,
    memory_fields,
    quotes_of,
    relation_of,
    rendered_group,
    short_pairings,
    shown_memories,
    topics_of,
    verdict_of,
)
from agentic_memory_bank.engines.llm.base import ChatEngine, names_all
from agentic_memory_bank.engines.llm.packing import (
    ITEM_TOKENS,
    PairWindow,
    fields_tokens,
    joined,
    pack,
    pair_windows,
    within,
)
from agentic_memory_bank.engines.llm.structured_output import StructuredRequest
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
from agentic_memory_bank.state.errors import EngineError, ModelRefused
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages

UNIT_TOKENS = 160
"""Upper size of what has a number of its own in the question of classification."""
MEMORY_TOKENS = 300
"""What a memory takes in a question of analysis: a summary of 120 words, its context, keywords and sources."""
DISPUTES = 8
"""How many disputes are decided in one call."""
NEWS_SHARE = 0.5
"""Share of the planner's window for what is new in memory."""
TASKS_SHOWN = 30
CONFLICTS_SHOWN = 12


class ChatBankEngine(ChatEngine[Engine]):
    """Judges memories with chat models; the offline engine also points out where raw texts differ."""

    def classify(self, texts: Sequence[str], task: str) -> list[list[TopicSpans] | None]:
        """Divide texts into topics; small texts share a window."""
        if not self._asks("classify"):
            return list(self._offline.classify(texts, task))
        windows = pack(texts, estimate_tokens, self._room("classify"), item=0)
        cut = self._cut(texts, windows, task)
        questions = [
            StructuredRequest(
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
                named = at_most(topics_of(said, [cut[i] for i in window]), self._most_topics())
                for position, topics in zip(window, named, strict=True):
                    found[position] = topics
        return found

    def structure(self, topics: Sequence[TopicText]) -> list[TopicSummary | None]:
        """Summarise topics, as many in a call as fit."""
        if not self._asks("structure"):
            return list(self._offline.structure(topics))
        # Estimates are rounded up: so what stood in one window of classification is sure to stand in one here.
        windows = pack(topics, lambda topic: estimate_tokens(topic.text) - 1, self._room("structure"), item=0)
        questions = [
            StructuredRequest(
                "structure",
                structure.INSTRUCTIONS,
                self._topics_shown([topics[i] for i in window]),
                structure.StructuredMemories,
                names_all("memories", len(window)),
            )
            for window in windows
        ]
        found: list[TopicSummary | None] = [None] * len(topics)
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            for memory in said.memories if said else ():
                if 1 <= memory.id <= len(window) and memory.summary.strip():
                    keywords = keywords_of(memory.keywords)
                    found[window[memory.id - 1]] = TopicSummary(
                        memory.summary.strip(), memory.context.strip(), keywords
                    )
        return found

    def find_conflicts(self, pairings: Sequence[Pairing]) -> list[Relation]:
        """Judge all pairs, each memory shown once in a window; rules point out where the raw texts differ."""
        if not self._asks("analyze"):
            return self._offline.find_conflicts(pairings)
        compared = short_pairings(pairings)
        hints = self._offline.find_conflicts(compared)
        differing = {(r.fresh, r.existing): r for r in hints if r.relation == "conflict" and r.claims}
        windows = self._pair_windows(pairings, find_conflicts.INSTRUCTIONS)
        questions = [
            StructuredRequest(
                "analyze",
                find_conflicts.INSTRUCTIONS,
                find_conflicts.render(shown_memories(w), w.numbered_pairs(), differing_words(w, differing)),
                find_conflicts.PairFindings,
            )
            for w in windows
        ]
        relations: list[Relation] = []
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            if said is None:
                relations += [Relation(a, b, "unjudged") for a, others in window.pairs.items() for b in others]
            for finding in said.findings if said else ():
                if relation := relation_of(finding, window, differing):
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
            StructuredRequest(
                "analyze",
                find_related.INSTRUCTIONS,
                find_related.render(shown_memories(w), w.numbered_pairs()),
                find_related.RelatedPairs,
            )
            for w in windows
        ]
        links: list[Link] = []
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            for relation in said.related if said else ():
                if named := window.named(relation.new, relation.other):
                    links.append(link_of(relation, named, window))
        return links

    def integrate(self, groups: Sequence[MergeGroup]) -> list[Integration | None]:
        """Make one memory of each group, several groups in a call where they fit."""
        if not self._asks("integrate"):
            return list(self._offline.integrate(groups))
        capacity = self._room("integrate", integrate.INSTRUCTIONS)
        rendered = [rendered_group(group, capacity) for group in groups]
        windows = pack(rendered, estimate_tokens, capacity)
        questions = [
            StructuredRequest(
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
                    found[position] = integration_of(merged, groups[position])
        return found

    def plan(self, situation: PlannerInput) -> Step | None:
        """Name the next step."""
        if not self._asks("plan"):
            return self._offline.plan(situation)
        doc = situation.insight_doc
        capacity = int(self._room("plan", plan.INSTRUCTIONS + doc["goal"]) * NEWS_SHARE)
        news = within([memory_fields(m) for m in reversed(situation.fresh)], fields_tokens, capacity)
        done = [f"{t['kind']}, {t['status']}: {t['description']} {t['learned']}" for t in doc.get("completed", [])]
        conflicts = [
            f"{conflict['status']}: {contradiction['reason']} {contradiction.get('statement', '')} "
            f"{contradiction.get('explanation', '')}"
            for conflict in situation.conflicts[-CONFLICTS_SHOWN:]
            for contradiction in conflict["contradictions"][:1]
        ]
        prompt = plan.render(doc["goal"], situation.kinds, done[-TASKS_SHOWN:], news, conflicts)
        said = self._ask("plan", plan.INSTRUCTIONS, prompt, plan.Plan, is_possible_step(situation.kinds))
        if said.is_done:
            return None
        named = said.kind.strip().casefold()
        return Step(next(kind for kind in situation.kinds if kind == named), said.description.strip())

    def validate(self, disputes: Sequence[Dispute]) -> list[DisputeVerdict | None]:
        """Decide disputes by their evidence, several in a call where they share it."""
        if not self._asks("react"):
            return list(self._offline.validate(disputes))
        capacity = self._room("react", validate.INSTRUCTIONS)
        together: dict[tuple[EvidenceText, ...], list[int]] = {}
        for position, dispute in enumerate(disputes):
            together.setdefault(dispute.evidence, []).append(position)
        windows = [
            (positions[start : start + DISPUTES], within(evidence, lambda e: estimate_tokens(e.text), capacity))
            for evidence, positions in together.items()
            for start in range(0, len(positions), DISPUTES)
        ]
        questions = [
            StructuredRequest(
                "react",
                validate.INSTRUCTIONS,
                validate.render(
                    [disputes[i].quotes for i in positions],
                    [(e.source, e.date or f"recorded {e.created_at}", e.text) for e in evidence],
                ),
                validate.DisputeDecisions,
                names_all("verdicts", len(positions), "dispute", "outcome"),
            )
            for positions, evidence in windows
        ]
        found: list[DisputeVerdict | None] = [None] * len(disputes)
        for (positions, evidence), said in zip(windows, self._asker.ask(questions), strict=True):
            for verdict in said.verdicts if said else ():
                if 1 <= verdict.dispute <= len(positions):
                    position = positions[verdict.dispute - 1]
                    found[position] = verdict_of(verdict, disputes[position], evidence)
        return found

    def answer(self, question: str, passages: Sequence[RetrievedPassage]) -> QuotedAnswer:
        """Answer from passages; what is quoted stands in them."""
        if not self._asks("react"):
            return self._offline.answer(question, passages)
        capacity = self._room("react", answer.INSTRUCTIONS + question)
        shown = within(passages, lambda passage: estimate_tokens(passage.text), capacity)
        refuted = [passage.text[start:end] for passage in shown for start, end in passage.refuted]
        established = list(dict.fromkeys(said for passage in shown for said in passage.established))
        prompt = answer.render(question, [passage.text for passage in shown], refuted, established)
        said = self._ask("react", answer.INSTRUCTIONS, prompt, answer.AnswerFromMemory, has_quotes(shown))
        if not said.is_found:
            return QuotedAnswer("", (), "Memory holds nothing that answers the question.")
        return QuotedAnswer(said.answer.strip(), tuple(quotes_of(said, shown)), first_sentences(said.answer))

    @property
    def sees(self) -> bool:
        """Whether a model has the role that looks at pictures."""
        return self._asks("react")

    def recognize(self, pictures: Sequence[Picture]) -> list[str | EngineError]:
        """Put pictures into words, one question each: one that fails is no matter of the others."""
        questions = [
            StructuredRequest(
                "react", recognize.INSTRUCTIONS, recognize.render(p.name), recognize.Recognized, images=(p,)
            )
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
        capacity = self._room("analyze", find_conflicts.INSTRUCTIONS)
        return max(1, min(classify.MOST_TOPICS, capacity // (MEMORY_TOKENS * (1 + self._asker.settings.k))))

    def _pair_windows(self, pairings: Sequence[Pairing], instructions: str) -> list[PairWindow]:
        capacity = self._room("analyze", instructions)
        return pair_windows(pairings, lambda memory: fields_tokens(memory_fields(memory)), capacity)
