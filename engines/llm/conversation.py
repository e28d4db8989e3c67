"""The conversation engine that asks chat models; what they say is checked against the turns before it is believed."""

from collections.abc import Sequence
from typing import Final, cast

from agentic_memory_bank.engines.conversation import (
    BY_WEIGHT,
    DIGEST_TOKENS,
    TRUST,
    ConversationEngine,
    Digest,
    ExistingMemory,
    Fact,
    GateDecision,
    Hints,
    Insight,
    Resolution,
    ResolutionAction,
    RewrittenQuery,
    Turn,
)
from agentic_memory_bank.engines.extractive import differ
from agentic_memory_bank.engines.extractive.support import speaks_of, supported_part, unsupported
from agentic_memory_bank.engines.llm.base import ChatEngine
from agentic_memory_bank.engines.llm.facts import fact_of, overlap, without_repeats
from agentic_memory_bank.engines.llm.packing import ITEM_TOKENS, pack, within
from agentic_memory_bank.engines.llm.retry import final
from agentic_memory_bank.engines.llm.structured_output import Asker, StructuredRequest
from agentic_memory_bank.engines.own_words import is_order, own_words
from agentic_memory_bank.prompts import (
    extract_facts,
    reflect_memories,
    resolve_facts,
    rewrite_query,
    summarise_dialogue,
    task_lesson,
)
from agentic_memory_bank.state.errors import AnswerRejected
from agentic_memory_bank.state.model_table import Role
from agentic_memory_bank.tools.search.gate import passes
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.tokens import estimate_tokens

REWRITE: Final = cast(Role, "rewrite")
EXTRACT: Final = cast(Role, "extract")
SUMMARISE: Final = cast(Role, "summarise")
TOKENS_A_WORD: Final = 1.4
MEMORY_TOKENS: Final = 40
"""What a memory costs in a prompt besides its words: tags, speaker, date."""
LEAST_EVIDENCE: Final = 3
"""On how many memories an insight has to rest."""
_HIDDEN: Final = "[left out]"


class ChatConversationEngine(ChatEngine[ConversationEngine]):
    """Judges conversations, and the tasks of agents, with chat models; the gate is judged offline.

    Args:
        asker: Sends questions to models and checks their answers.
        offline: Judges for the roles that have no model.
        with_passage: Whether a query comes with a sentence that a memory with the answer might say (HyDE).
    """

    def __init__(self, asker: Asker, offline: ConversationEngine, *, with_passage: bool = False) -> None:
        super().__init__(asker, offline)
        self._with_passage = with_passage

    def gate(self, turn: Turn, history: Sequence[Turn], hints: Hints | None = None) -> GateDecision:
        """Judged offline: it costs no call."""
        return self._offline.gate(turn, history, hints)

    def rewrite(self, query: str, history: Sequence[Turn]) -> RewrittenQuery:
        """Rewrite in one call."""
        if not self._asks(REWRITE):
            return self._offline.rewrite(query, history)
        instructions = rewrite_query.WITH_PASSAGE if self._with_passage else rewrite_query.INSTRUCTIONS
        shown = [(turn.speaker or turn.role, _shown(turn.text)) for turn in history if turn.role in TRUST]
        prompt = rewrite_query.render(query, shown)
        seconds = self._asker.models.roles[REWRITE].row.timeout
        said = self._ask(REWRITE, instructions, prompt, rewrite_query.Rewritten, seconds=seconds)
        if unsupported(said.query, [query, *(words for _, words in shown)], [name for name, _ in shown]):
            raise final(AnswerRejected("The query asks for what nobody has named."))
        passages = (said.passage.strip(),) if self._with_passage and said.passage.strip() else ()
        return RewrittenQuery(said.query.strip() or self._offline.rewrite(query, history).text, passages=passages)

    def extract(self, turns: Sequence[Turn]) -> list[Fact]:
        """Extract in one call from as many of the last turns as fit; what no turn says is left out.

        An answer that cannot be used is one that rules give in its place; where no model can be reached, turns wait.
        What a model copies, or tells wrongly, counts for nothing: one that makes a memory of every turn chose none.
        """
        if not self._asks(EXTRACT):
            return list(self._offline.extract(turns))
        spoken = [turn for turn in turns if turn.role in TRUST and own_words(turn.text).strip()]
        room = self._room(EXTRACT, extract_facts.INSTRUCTIONS)
        shown = within(spoken[::-1], lambda turn: estimate_tokens(turn.text), room)[::-1]
        if not shown:
            return []
        prompt = extract_facts.render([(turn.speaker or turn.role, turn.date, _shown(turn.text)) for turn in shown])
        try:
            said = self._ask(EXTRACT, extract_facts.INSTRUCTIONS, prompt, extract_facts.ExtractedMemories)
        except AnswerRejected as error:
            return list(self.stand_in("extract", error)(turns))
        found = [fact for one in said.memories if (fact := fact_of(one, shown)) is not None]
        told = {one.text.strip() for one in said.memories}
        sound = [fact for fact in found if fact.text in told and not _is_copied(fact)]
        if sound and len(sound) == len(said.memories):
            return without_repeats(sound)
        instead = list(self._offline.extract(turns))
        if instead and not found:
            self.note("The model drew nothing from turns that state something.")
        missed = [fact for fact in instead if not any(_tells(one, fact) for one in sound)]
        return without_repeats([*sound, *missed])

    def resolve(self, facts: Sequence[Fact], similar: Sequence[Sequence[ExistingMemory]]) -> list[Resolution]:
        """Resolve offline where that is sure or nothing is alike, and the others in one call for each window.

        What is trusted less, or said by another, replaces nothing. A window without an answer is resolved offline.

        Raises:
            EngineError: None of them has an answer.
        """
        resolutions = list(self._offline.resolve(facts, similar))
        if not self._asks(EXTRACT):
            return resolutions
        alike = [
            [known for known in some if self._may_concern(fact, known)]
            for fact, some in zip(facts, similar, strict=True)
        ]
        unsure = [place for place, one in enumerate(resolutions) if one.verdict == "create" and alike[place]]
        room = self._room(EXTRACT, resolve_facts.INSTRUCTIONS)
        windows = pack(unsure, lambda place: _size(facts[place], alike[place]), room)
        batches = [[unsure[position] for position in window] for window in windows]
        questions = [_resolution_request([(facts[place], alike[place]) for place in batch]) for batch in batches]
        for batch, said in zip(batches, self._asker.ask(questions), strict=True):
            for number, place in enumerate(batch, 1):
                told = [one for one in said.verdicts if one.new == number] if said else []
                resolutions[place] = _chosen(told, facts[place], alike[place]) or resolutions[place]
        return resolutions

    def _may_concern(self, fact: Fact, known: ExistingMemory) -> bool:
        """Whether a pair is alike enough to be worth a question."""
        settings = self._asker.settings
        shares = fact.attribute is not None and (fact.subject, fact.attribute) == (known.subject, known.attribute)
        return known.type == fact.type and (
            shares
            or passes(
                fact.words, known.words, known.cosine, english=settings.gate_english, chinese=settings.gate_chinese
            )
        )

    def summarise(self, turns: Sequence[Turn], max_tokens: int = DIGEST_TOKENS) -> Digest:
        """Summarise the last turns that fit in one call; what does not fit into the tokens is left out."""
        if not self._asks(SUMMARISE):
            return self._offline.summarise(turns, max_tokens)
        spoken = [(turn.speaker or turn.role, _shown(turn.text)) for turn in turns if turn.role in TRUST]
        shown = within(spoken[::-1], lambda turn: estimate_tokens(turn[1]), self._room(SUMMARISE))[::-1]
        prompt = summarise_dialogue.render(shown, int(max_tokens / TOKENS_A_WORD))
        said = self._ask(SUMMARISE, summarise_dialogue.INSTRUCTIONS, prompt, summarise_dialogue.State)
        room = _Room(max_tokens, [words for _, words in shown], [name for name, _ in shown])
        return Digest(room.fit([said.topic]), room.fit(said.facts), room.fit(said.decisions), room.fit(said.open))

    def reflect(self, memories: Sequence[ExistingMemory]) -> list[Insight]:
        """Reflect in one call on as many of the latest memories as fit; what they do not show is left out."""
        if not self._asks(SUMMARISE):
            return list(self._offline.reflect(memories))
        told = [known for known in memories if not secrets_in(known.words) and not is_order(known.words)]
        room = self._room(SUMMARISE, reflect_memories.INSTRUCTIONS)
        latest = sorted(told, key=lambda known: known.date, reverse=True)
        shown = within(latest, lambda known: estimate_tokens(known.words) + MEMORY_TOKENS, room)
        if len(shown) < LEAST_EVIDENCE:
            return []
        prompt = reflect_memories.render([(known.words, known.speaker, known.date) for known in shown])
        said = self._ask(SUMMARISE, reflect_memories.INSTRUCTIONS, prompt, reflect_memories.Insights)
        found = (_insight(one, shown) for one in said.insights)
        return [insight for insight in found if insight is not None]

    def lesson(self, goal: str, steps: Sequence[str], outcome: str) -> str:
        """Say what a task teaches, in one call of the role `summarise`; empty where that has no model.

        Raises:
            EngineError: No answer can be had.
        """
        if not self._asks(SUMMARISE):
            return ""
        prompt = task_lesson.render(goal, steps, outcome)
        said = self._ask(SUMMARISE, task_lesson.INSTRUCTIONS, prompt, task_lesson.Lesson).lesson
        return supported_part(said, [goal, *steps, outcome])


def _is_copied(fact: Fact) -> bool:
    """Whether a fact is what was said, word for word: of that, rules draw what they see in it."""
    text, words = (" ".join(one.split()) for one in (fact.text, fact.words))
    return text.startswith(words) or text in words


def _tells(fact: Fact, other: Fact) -> bool:
    """Whether a fact is of the same words as another, and says most of what that does."""
    return _share_words(fact, other) and speaks_of(other.words, f"{fact.text}\n{fact.words}")


def _share_words(a: Fact, b: Fact) -> bool:
    return any(overlap(one, other) for one in a.quotes for other in b.quotes)


class _Room:
    """The tokens that a digest has left, and the turns it is one of."""

    def __init__(self, tokens: int, turns: Sequence[str], speakers: Sequence[str]) -> None:
        self._left, self._turns, self._speakers = tokens, turns, speakers

    def fit(self, said: Sequence[str]) -> tuple[str, ...]:
        """What fits, in its order, without what holds a credential, or what no turn says."""
        kept: list[str] = []
        for text in said:
            size = estimate_tokens(text)
            if not text.strip() or secrets_in(text) or unsupported(text, self._turns, self._speakers):
                continue
            if size <= self._left:
                kept.append(text.strip())
                self._left -= size
        return tuple(kept)


def _shown(text: str) -> str:
    """What a model is shown of a turn: its own words, without credentials."""
    words = own_words(text)
    for start, end in reversed(secrets_in(words)):
        words = f"{words[:start]}{_HIDDEN}{words[end:]}"
    return words.strip()


def _insight(said: reflect_memories.ReflectedInsight, shown: Sequence[ExistingMemory]) -> Insight | None:
    """An insight on enough memories that hold every name and number in it; None for one that was made up."""
    numbers = [number for number in dict.fromkeys(said.evidence) if 1 <= number <= len(shown)]
    evidence = [shown[number - 1] for number in numbers]
    text = said.text.strip()
    if not text or len(evidence) < LEAST_EVIDENCE or secrets_in(text) or is_order(text):
        return None
    if unsupported(text, [one.words for one in evidence], [f"{one.speaker} {one.date}" for one in evidence]):
        return None
    return Insight(text, tuple(one.id for one in evidence), said.subject.strip())


def _resolution_request(
    pairs: Sequence[tuple[Fact, Sequence[ExistingMemory]]],
) -> StructuredRequest[resolve_facts.FactDecisions]:
    shown = [
        (fact.text, fact.speaker, fact.date, [(known.words, known.speaker, known.date) for known in alike])
        for fact, alike in pairs
    ]
    return StructuredRequest(
        EXTRACT, resolve_facts.INSTRUCTIONS, resolve_facts.render(shown), resolve_facts.FactDecisions
    )


def _size(fact: Fact, alike: Sequence[ExistingMemory]) -> int:
    """Tokens of a new memory with those that it is compared with."""
    return sum(estimate_tokens(f"{one.words} {one.speaker} {one.date}") + ITEM_TOKENS for one in (fact, *alike))


def _chosen(
    told: Sequence[resolve_facts.FactDecision], fact: Fact, alike: Sequence[ExistingMemory]
) -> Resolution | None:
    """The verdict that weighs most, of those on memories that there are; None for none."""
    for verdict in BY_WEIGHT:
        named = [one for one in told if one.verdict == verdict and 1 <= one.id <= len(alike)]
        if named and _is_sound(verdict, fact, alike[named[0].id - 1], named[0]):
            return _resolution(verdict, fact, alike[named[0].id - 1], named[0])
    return None


def _is_sound(verdict: ResolutionAction, fact: Fact, known: ExistingMemory, told: resolve_facts.FactDecision) -> bool:
    """Whether rules bear a verdict: what differs is not the same, and values stand in what they are values of."""
    if verdict in ("same", "revise"):
        return not differ(fact.words, known.words)
    return not (unsupported(told.new_value, [fact.text, fact.words]) or unsupported(told.known_value, [known.words]))


def _resolution(
    verdict: ResolutionAction, fact: Fact, known: ExistingMemory, told: resolve_facts.FactDecision
) -> Resolution:
    is_other = bool(fact.speaker and known.speaker) and fact.speaker.casefold() != known.speaker.casefold()
    is_weaker = fact.trust < known.trust  # a memory in a model's words does not say who said it
    kept: ResolutionAction = (
        "contradicts" if (is_other or is_weaker) and verdict in ("revise", "supersede") else verdict
    )
    return Resolution(kept, (known.id,), values=(told.new_value, told.known_value), reason=told.reason)
