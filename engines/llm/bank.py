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
from agentic_memory_bank.engines.extractive.support import borne, undisputed
from agentic_memory_bank.engines.llm.bank_answers import (
    at_most,
    further_quotes,
    has_quotes,
    integration_of,
    is_possible_step,
    keywords_of,
    link_of,
    objection_to,
    quotes_of,
    quoting_prose,
    relation_of,
    topics_of,
    untold,
    verdict_of,
    with_other_quotes,
    words_of,
)
from agentic_memory_bank.engines.llm.bank_checks import (
    NAMED,
    held_integration,
    held_link,
    held_summary,
    held_verdict,
    may_unsettle,
    names_paragraphs,
    with_all_neighbours,
)
from agentic_memory_bank.engines.llm.bank_shown import (
    RELATED_TOKENS,
    analysed_fields,
    differing_words,
    memory_fields,
    rendered_group,
    shown_memories,
)
from agentic_memory_bank.engines.llm.base import ChatEngine, names_all, or_offline
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
from agentic_memory_bank.prompts.common import listed
from agentic_memory_bank.state.errors import EngineError, ModelRefused
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages

UNIT_TOKENS = 160
"""Upper size of what has a number of its own in the question of classification."""
MEMORY_TOKENS = 300
"""What a memory takes in a question of analysis: what is shown of its summary, its context, keywords and sources."""
DISPUTES = 8
"""How many disputes are decided in one call."""
SUMMARIES_SHARE = 0.6
"""Share of an answer that summaries take."""
TOKENS_A_WORD = 1.4
NEWS_SHARE = 0.5
"""Share of the planner's window for what is new in memory."""
BRINGING = frozenset(("search", "solve", "answer"))
"""Kinds of steps whose outcome may be an answer; after one that succeeded a model may say that nothing is left."""
TASKS_SHOWN = 30
CONFLICTS_SHOWN = 12
MERGES_SHOWN = 12


class ChatBankEngine(ChatEngine[Engine]):
    """Judges memories with chat models, and is never worse than the offline engine.

    That judges what a model gave no usable answer to; the contradictions it is sure of stand; and what a model says
    that its texts do not is left out.
    """

    @or_offline("classify")
    def classify(self, texts: Sequence[str], task: str) -> list[list[TopicSpans] | None]:
        """Divide texts into topics; small texts share a window."""
        windows = pack(texts, estimate_tokens, self._room("classify"), item=0)
        cut = self._cut(texts, windows, task)
        questions = [
            StructuredRequest(
                "classify",
                classify.INSTRUCTIONS,
                classify.render(task, [[texts[i][s:e] for s, e in cut[i]] for i in window]),
                classify.Topics,
                names_paragraphs(sum(len(cut[i]) for i in window)),
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

    @or_offline("structure")
    def structure(self, topics: Sequence[TopicText]) -> list[TopicSummary | None]:
        """Summarise topics, as many in a call as fit."""
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
                    place = window[memory.id - 1]
                    told = TopicSummary(memory.summary.strip(), memory.context.strip(), keywords_of(memory.keywords))
                    found[place] = held_summary(told, topics[place])
                    if found[place] != told and (memory.context.strip() or found[place] is None):
                        self.note("A memory said what its text does not; that was left out.")
        return found

    @or_offline("analyze")
    def find_conflicts(self, pairings: Sequence[Pairing]) -> list[Relation]:
        """Judge all pairs, each memory shown once in a window; what rules are sure of stands, whatever a model says."""
        seen = self._offline.find_conflicts(pairings)
        differing = {(r.fresh, r.existing): r for r in seen if r.relation == "conflict"}
        same = {(r.fresh, r.existing): r for r in seen if r.relation == "merge"}
        windows, capacity = self._pair_windows(pairings, find_conflicts.INSTRUCTIONS)
        questions = [
            StructuredRequest(
                "analyze",
                find_conflicts.INSTRUCTIONS,
                find_conflicts.render(shown_memories(w, capacity), w.numbered_pairs(), differing_words(w, differing)),
                find_conflicts.PairFindings,
            )
            for w in windows
        ]
        relations: list[Relation] = []
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            if said is None:
                left = [(a, b) for a, others in window.pairs.items() for b in others if (a, b) not in differing]
                relations += [same.get(pair) or Relation(*pair, "unjudged") for pair in left]
            for finding in said.findings if said else ():
                if relation := relation_of(finding, window, differing):
                    relations.append(relation)
        return [*untold(seen, relations), *relations]

    @or_offline("analyze")
    def find_related(self, pairings: Sequence[Pairing]) -> list[Link]:
        """Draw edges between what belongs together."""
        windows, capacity = self._pair_windows(pairings, find_related.INSTRUCTIONS)
        questions = [
            StructuredRequest(
                "analyze",
                find_related.INSTRUCTIONS,
                find_related.render(shown_memories(w, capacity, RELATED_TOKENS), w.numbered_pairs()),
                find_related.RelatedPairs,
            )
            for w in windows
        ]
        links: list[Link] = []
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            for relation in said.related if said else ():
                if named := window.named(relation.new, relation.other):
                    links.append(held_link(link_of(relation, named, window), window.memories))
        return links

    @or_offline("integrate")
    def integrate(self, groups: Sequence[MergeGroup]) -> list[Integration | None]:
        """Make one memory of each group, several groups in a call where they fit."""
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
                    made = held_integration(integration_of(merged, groups[position]), groups[position])
                    found[position] = None if isinstance(made, str) else with_all_neighbours(made, groups[position])
                    if isinstance(made, str):
                        self.note(made)
        return found

    @or_offline("plan")
    def plan(self, situation: PlannerInput) -> Step | None:
        """Name the next step."""
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
        prompt = plan.render(
            doc["goal"], situation.kinds, done[-TASKS_SHOWN:], news, conflicts, situation.merges[-MERGES_SHOWN:]
        )
        said = self._ask("plan", plan.INSTRUCTIONS, prompt, plan.Plan, is_possible_step(situation.kinds))
        if said.is_done:
            brought = any(t["kind"] in BRINGING and t["status"] == "success" for t in doc.get("completed", []))
            owed = None if brought else self._offline.plan(situation)
            if owed is not None:
                self.note("The plan says that nothing is left to do, and nothing was answered.")
            return owed
        named = said.kind.strip().casefold()
        return Step(next(kind for kind in situation.kinds if kind == named), said.description.strip())

    @or_offline("react")
    def validate(self, disputes: Sequence[Dispute]) -> list[DisputeVerdict | None]:
        """Decide disputes by their evidence, several in a call where they share it; what rules settle, they settle.

        A model decides that otherwise where it names evidence of its own.
        """
        capacity = self._room("react", validate.INSTRUCTIONS)
        together: dict[tuple[EvidenceText, ...], list[int]] = {}
        for position, dispute in enumerate(disputes):
            if dispute.announced is not None:
                continue  # the texts themselves say which holds: that is settled offline
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
                    told = verdict_of(verdict, disputes[position], evidence)
                    found[position] = held_verdict(told, disputes[position], evidence)
                    if found[position] is None:
                        self.note("A verdict says what its evidence does not; what rules decide is taken.")
        return [self._beside_rules(*row) for row in zip(found, self._offline.validate(disputes), disputes, strict=True)]

    def _beside_rules(
        self, told: DisputeVerdict | None, ruled: DisputeVerdict | None, dispute: Dispute
    ) -> DisputeVerdict | None:
        """The verdict of a model where it may stand, else that of rules."""
        if told is None or ruled is None or may_unsettle(told, ruled, dispute):
            return told or ruled
        self.note("The model decided otherwise, or left open, what rules settle by the texts; theirs stands.")
        return ruled

    @or_offline("react")
    def answer(self, question: str, passages: Sequence[RetrievedPassage]) -> QuotedAnswer:
        """Answer from passages; what is quoted stands in them."""
        capacity = self._room("react", answer.INSTRUCTIONS + question)
        shown = within(passages, lambda passage: estimate_tokens(passage.text), capacity)
        refuted = [passage.text[start:end] for passage in shown for start, end in passage.refuted]
        established = list(dict.fromkeys(said for passage in shown for said in passage.established))
        prompt = answer.render(question, [passage.text for passage in shown], refuted, established)
        said = self._ask(
            "react", answer.INSTRUCTIONS, prompt, answer.AnswerFromMemory, has_quotes(shown), quoting_prose(shown)
        )
        quotes = quotes_of(said, shown) if said.is_found else []
        objection = objection_to(said, question, quotes, shown) if quotes else ""
        if objection:
            self.note(objection)
            quotes = []
        known = [*undisputed(question, [words_of(quote, shown) for quote in quotes]), *established]
        quotes += further_quotes(said.answer, quotes, shown, known) if quotes else []
        kept, own = borne(said.answer, [words_of(quote, shown) for quote in quotes], known, [question])
        if own:
            self.note(f"The answer says {listed(own[:NAMED])}, which no quote does; that was left out.")
        instead = self._offline.answer(question, passages)
        if kept and not (own and instead.quotes):
            return with_other_quotes(question, kept, quotes, instead)
        if instead.quotes and not (own or objection):
            self.note("The model found nothing; what rules find is quoted.")
        return instead

    @property
    def sees(self) -> bool:
        """Whether a chat model is set for the role that describes pictures."""
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
        output = self._asker.models.roles["structure"].row.output
        words = int(output * SUMMARIES_SHARE / (TOKENS_A_WORD * len(topics)))
        most = min(max(words, structure.LEAST_WORDS), structure.MOST_WORDS)
        shown = structure.render([(topic.text, topic.context, topic.keywords) for topic in topics], most)
        if self._left("structure", structure.INSTRUCTIONS, shown) >= 0:
            return shown
        return structure.render([(topic.text, "", ()) for topic in topics], most)

    def _most_topics(self) -> int:
        """Topics of one window whose memories fit one window of analysis, with all those they are compared with."""
        if not self._asks("analyze"):
            return classify.MOST_TOPICS
        capacity = self._room("analyze", find_conflicts.INSTRUCTIONS)
        return max(1, min(classify.MOST_TOPICS, capacity // (MEMORY_TOKENS * (1 + self._asker.settings.k))))

    def _pair_windows(self, pairings: Sequence[Pairing], instructions: str) -> tuple[list[PairWindow], int]:
        """The windows in which pairs are judged, and what each of them holds."""
        capacity = self._room("analyze", instructions)
        return pair_windows(pairings, lambda memory: fields_tokens(analysed_fields(memory)), capacity), capacity
