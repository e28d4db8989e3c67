"""No rule takes longer than in proportion to its text, whatever is sent: all patterns and all functions that read."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from importlib import util
from itertools import count, islice
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from agentic_memory_bank.engines.conversation import ExistingMemory, Fact, Hints, Turn, TurnQuote
from agentic_memory_bank.engines.extractive import research, responder, support
from agentic_memory_bank.engines.extractive.answering import (
    characters,
    choices,
    contents,
    exact,
    helping,
    particulars,
    quoting,
    second_reading,
    short_answers,
    whose,
)
from agentic_memory_bank.engines.extractive.answering import relevance as likeness
from agentic_memory_bank.engines.extractive.answering import wishes as wishes_about_answers
from agentic_memory_bank.engines.extractive.answering.likeness import Likeness
from agentic_memory_bank.engines.extractive.comparing import comparison
from agentic_memory_bank.engines.extractive.reading import attributes, dates, kinds, number_words, sentence, values
from agentic_memory_bank.engines.extractive.remembering import (
    amendments,
    amendments_chinese,
    answers,
    antecedents,
    changes,
    clauses,
    continuing,
    deletion,
    drafts,
    edits,
    ended,
    extraction,
    insights,
    life,
    open_points,
    passed_on,
    picks,
    pieces,
    queries,
    resolution,
    standing,
    statements,
    subjects,
    succession,
    telling_chinese,
    told_apart,
    wish_head,
    wishes,
)
from agentic_memory_bank.engines.extractive.remembering.telling import LONGEST
from agentic_memory_bank.engines.extractive.summarising import summary
from agentic_memory_bank.engines.research import Excerpt
from agentic_memory_bank.graph.memory_bank import build_memory_bank
from agentic_memory_bank.graph.recall import build_recall
from agentic_memory_bank.graph.remember import build_remember
from agentic_memory_bank.nodes import messages as nodes_messages
from agentic_memory_bank.nodes.react_mem import steps
from agentic_memory_bank.nodes.recall import message as recall_message
from agentic_memory_bank.nodes.recall import ranking
from agentic_memory_bank.state.conversations import MemoryContext
from agentic_memory_bank.state.errors import MemoryBankError
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.memories.validation import MAX_TEXT
from agentic_memory_bank.tools.text import definitions, forms, sensitive, traditional
from agentic_memory_bank.tools.text.attribution import attributed
from agentic_memory_bank.tools.text.cleaning import MOST_ASKED, check_asked, checked_text
from agentic_memory_bank.tools.text.nesting import is_too_deep
from agentic_memory_bank.tools.text.place import Place, Placed
from agentic_memory_bank.tools.text.sentences import sentences as sentences_in
from agentic_memory_bank.tools.text.spans import cut, trimmed
from agentic_memory_bank.tools.text.tokens import each_passage, passages

_SPEC = util.spec_from_file_location("hostile_text", Path(__file__).parents[1] / "hostile_text.py")
assert _SPEC
assert _SPEC.loader
hostile: Any = util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(hostile)

pytestmark = pytest.mark.slow

RULES = hostile.rules()


def faults(read: Callable[[str], object], texts: list[Any]) -> list[str]:
    """The first text that takes too long, with its times; others would only take longer to tell the same."""
    found = ((text, hostile.fault(read, text)) for text in hostile.suspects(read, texts))
    told = (f"{text.start!r} + {text.unit!r} * n + {text.tail!r}: {fault}" for text, fault in found if fault)
    return list(islice(told, 1))


@pytest.mark.parametrize("module", sorted({rule.name.rpartition(".")[0] for rule in RULES}))
def test_every_pattern_of_a_module_takes_linear_time(module: str) -> None:
    read = [rule for rule in RULES if rule.name.rpartition(".")[0] == module]

    assert {
        rule.name: found
        for rule in read
        if (found := faults(rule.read, hostile.a_few(hostile.texts_of(rule.pattern), 12)))
    } == {}


def test_no_pattern_is_written_where_no_test_finds_it() -> None:
    assert hostile.inline_patterns() == []


# --- functions -----------------------------------------------------------------------------------------------------

TEXT_NAMES = {"text", "words", "description", "subject", "query", "question", "name", "said", "word", "content"}
"""What the package calls a parameter that is a text of somebody else's."""
LAYERS = ("engines.", "nodes.", "prompts.", "tools.")


def turn(text: str, role: Any = "user") -> Turn:
    return Turn("t1", role, nodes_messages.truncated(text))


def fact(text: str) -> Fact:
    text = text[:MAX_TEXT]
    return Fact(
        text, "semantic", (TurnQuote("t1", text, (0, len(text))),), speaker="user", date="2024-05-01", trust=0.9
    )


def known(text: str, place: int = 0) -> ExistingMemory:
    return ExistingMemory(f"m{place}", text[:MAX_TEXT], "semantic", 0.7, None, None, speaker="user", date="2024-05-01")


def record(text: str) -> Any:
    return {"text": text[:MAX_TEXT], "subject": None, "attribute": None, "sources": [], "history": []}


def passage(text: str) -> Excerpt:
    return Excerpt("", "", text, 1.0)


def quoted(text: str) -> quoting.Passage:
    return quoting.Passage.of("p", text, 1.0)


def unwrapped(text: str) -> list[Any]:
    lines = [line for line in forms.lines(text) if line[0] < line[1]]
    return list(forms.unwrapped(text, lines, 80)) if lines else []


def reading(text: str) -> helping.MessageReading:
    return helping.MessageReading(
        text[:2_000],
        [Likeness(text, "", 0.4, 0.3, 0.9, 1.0, is_marked=False, is_turn=False, by_assistant=False)],
    )


def told(text: str, day: str) -> succession.Told:
    return succession.Told(text, "user", (day,), frozenset((day,)), is_turn=False)


OTHERS: dict[str, Callable[[str], object]] = {
    "engines.extractive.remembering.amendments.amended": lambda text: amendments.amended(
        f"scratch that, Friday {text[:90]}", [f"The ferry is on Monday. {text}"]
    ),
    "engines.extractive.remembering.amendments_chinese.amended_in_chinese": lambda text: (
        amendments_chinese.amended_in_chinese(text[:120], is_answer=False)
    ),
    "engines.extractive.remembering.picks.picked": lambda text: picks.picked(f"the second one. {text}", text),
    "engines.extractive.remembering.drafts.fact_of": lambda text: drafts.fact_of(
        turn(text), (drafts.SaidSentence(text, (0, len(text))),), "semantic"
    ),
    "engines.extractive.remembering.drafts.owner_of_turn": lambda text: drafts.owner_of_turn(turn(text)),
    "engines.extractive.remembering.antecedents.antecedent": lambda text: antecedents.antecedent(
        f"We moved it to Friday. {text[:300]}", [f"The ferry is on Monday. {text}"]
    ),
    "engines.extractive.remembering.antecedents.understood": lambda text: antecedents.understood(
        fact(f"it costs 40 {text}"), [turn(text)], turn(text)
    ),
    "engines.extractive.remembering.antecedents.is_of_known": lambda text: antecedents.is_of_known(
        fact(f"Arlo can't have {text}"), [turn(text)], turn(text)
    ),
    "engines.extractive.remembering.answers.answers_of_life": lambda text: [
        answers.answers_of_life("Any allergies?", text),
        answers.answers_of_life(f"{text}?", "nuts"),
    ],
    "engines.extractive.remembering.continuing.may_go_on": lambda text: [
        continuing.may_go_on("I found a mole", text),
        continuing.may_go_on(text, "on 30 mg now"),
    ],
    "engines.extractive.remembering.pieces.text_pieces": lambda text: list(pieces.text_pieces(text, 0, len(text))),
    "engines.extractive.remembering.deletion.parts_like": lambda text: deletion.parts_like(text[::2], text[1::2][:90]),
    "engines.extractive.remembering.open_points.still_to_do": lambda text: open_points.still_to_do(
        [f"still to do: {text}", "done with it", f"booked {text}"]
    ),
    "engines.extractive.support.may_answer": lambda text: support.may_answer(text[::2], text[1::2]),
    "engines.extractive.support.tells": lambda text: support.tells(text[::3], text[1::3], text[2::3]),
    "tools.text.attribution.attributed": lambda text: attributed(text, "", text),
    "engines.extractive.answering.wishes.applies": lambda text: wishes_about_answers.applies(text, text, 0.2),
    "engines.extractive.answering.choices.choose": lambda text: choices.choose(
        f"Is {text} older than Ana or Bob?", [passage(text), passage("Ana was born in 1950.")]
    ),
    "engines.extractive.answering.choices.subject": lambda text: choices.subject(passage(text)),
    "engines.extractive.answering.short_answers.short_answer": lambda text: short_answers.short_answer(
        text[::2], [passage(text[1::2])]
    ),
    "engines.extractive.answering.exact.exact": lambda text: exact.exact("它什么时候停运，when?", text),
    "tools.text.forms.spans_of_sentences": lambda text: list(forms.spans_of_sentences(text, 0, len(text))),
    "engines.extractive.comparing.comparison.compare": lambda text: comparison.compare(
        text[: len(text) // 2], f"{text[: len(text) // 2]} not", 0.9
    ),
    "engines.extractive.comparing.comparison.may_say_the_same": lambda text: comparison.may_say_the_same(
        text, f"{text} ", 0.5
    ),
    "engines.extractive.comparing.comparison.compare_all": lambda text: comparison.compare_all(
        text[: len(text) // 2], f"{text[: len(text) // 2]} not", 0.9
    ),
    "engines.extractive.comparing.comparison.differ": lambda text: comparison.differ(
        text[: len(text) // 8], f"{text[: len(text) // 8]} not"
    ),
    "engines.extractive.support.unsupported": lambda text: support.unsupported(text[::2], [text[1::2]]),
    "engines.extractive.support.supported_part": lambda text: support.supported_part(text[:2_000], [text]),
    "engines.extractive.support.support_for": lambda text: support.support_for(text[:2_000], ["Tea."], [text[:2_000]]),
    "engines.extractive.support.borne": lambda text: support.borne(text[:2_000], [text], ["Tea?"]),
    "engines.extractive.support.undisputed": lambda text: support.undisputed(text[::2], [text[1::2]]),
    "engines.extractive.support.speaks_of": lambda text: support.speaks_of(text[::2], text[1::2]),
    "engines.extractive.support.is_quotable": lambda text: support.is_quotable(text),
    "engines.extractive.remembering.deletion.parts_meant": lambda text: deletion.parts_meant(
        record(text), subjects.subjects_of("my tea")
    ),
    "engines.extractive.remembering.deletion.stretches_meant": lambda text: deletion.stretches_meant(
        text, 0, "", subjects.subjects_of("my tea")
    ),
    "engines.extractive.remembering.deletion.with_whom": lambda text: deletion.with_whom(
        text, [one.span for one in deletion.text_pieces(text, 0, len(text))][::2]
    ),
    "engines.extractive.remembering.subjects.meaning_of": lambda text: subjects.meaning_of(text),
    "engines.extractive.remembering.subjects.have_in_common": lambda text: subjects.have_in_common(
        f"茶{text[:LONGEST]}", text
    ),
    "engines.extractive.remembering.subjects.held_of": lambda text: subjects.held_of(text, text),
    "engines.extractive.remembering.subjects.shared_words": lambda text: subjects.shared_words(
        f"茶{text[:LONGEST]}", [text]
    ),
    "engines.extractive.remembering.wish_head.of_words": lambda text: wish_head.of_words(
        wish_head.weights_of("en"), text
    ),
    "engines.extractive.remembering.wish_head.sounds_like_a_wish": lambda text: wish_head.sounds_like_a_wish(
        text[:LONGEST], lambda _: None
    ),
    "engines.extractive.remembering.wishes.wish_in": lambda text: wishes.wish_in(f"Forget my tea. {text}"[:LONGEST]),
    "engines.extractive.remembering.wishes.plain_wish_in": lambda text: wishes.plain_wish_in(
        f"Forget my tea. {text}"[:LONGEST]
    ),
    "engines.extractive.remembering.wishes.without": lambda text: wishes.without(text, subjects.subjects_of("my tea")),
    "engines.extractive.remembering.wishes.places_of": lambda text: wishes.places_of(
        text, subjects.subjects_of("my tea"), ""
    ),
    "engines.extractive.remembering.wishes.words_at": lambda text: wishes.words_at(text, [0]),
    "engines.extractive.remembering.deletion.echoes_in": lambda text: deletion.echoes_in(text, ["tea"]),
    "engines.extractive.remembering.ended.ended_in": ended.ended_in,
    "engines.extractive.remembering.ended.narrowed": lambda text: ended.narrowed(
        "gave up tea", text, [*clauses.clause_spans(text)]
    ),
    "engines.extractive.remembering.extraction.is_idle_talk": lambda text: extraction.is_idle_talk(text, refuses=True),
    "tools.text.sensitive.speaks_of": lambda text: sensitive.speaks_of(text, ["health"]),
    "tools.text.sensitive.without": lambda text: sensitive.without(text, ["health"]),
    "engines.extractive.remembering.queries.gate": lambda text: queries.gate(
        turn(text), Hints(tools=("search",)), [turn(text)]
    ),
    "engines.extractive.remembering.queries.rewrite": lambda text: queries.rewrite(text[:15], [turn(text)]),
    "engines.extractive.remembering.statements.only_tells_to_forget": lambda text: statements.only_tells_to_forget(
        text, surely=False
    ),
    "engines.extractive.remembering.telling_chinese.asked_in_chinese": lambda text: telling_chinese.asked_in_chinese(
        text[:LONGEST], text[:LONGEST]
    ),
    "engines.extractive.reading.dates.moments": lambda text: list(dates.moments(text, date(2024, 5, 1))),
    "engines.extractive.reading.number_words.numbered": lambda text: number_words.numbered(text, 1),
    "engines.extractive.reading.number_words.spelled_amount": lambda text: number_words.spelled_amount(text.split()),
    "engines.extractive.reading.number_words.han_year": lambda text: number_words.han_year(text[:8]),
    "engines.extractive.reading.number_words.small_number": lambda text: number_words.small_number(text[:8]),
    "engines.extractive.support.may_answer_all": lambda text: support.may_answer_all(f"{text}, and what is it?", text),
    "engines.extractive.answering.whose.are_of_others": lambda text: whose.are_of_others(
        "Where does Kim live?", [text]
    ),
    "engines.extractive.answering.quoting.likeliest": lambda text: quoting.likeliest(text[:200], [quoted(text)]),
    "engines.extractive.answering.quoting.labelled": lambda text: quoting.labelled(
        text, Placed(0, len(text), Place(columns=(text,)), ((0, len(text)),))
    ),
    "engines.extractive.reading.kinds.may_hold": lambda text: kinds.may_hold(get_args(kinds.Kind), text),
    "engines.extractive.responder.quoted_from": lambda text: responder.quoted_from(text[:200], [text]),
    "engines.extractive.answering.quoting.read": lambda text: quoting.read(text[:200], [quoted(text)]),
    "engines.extractive.answering.quoting.shown": lambda text: quoting.shown(
        text[:200], text, quoting.Quote("p", Placed(0, len(text), Place()), 0.5)
    ),
    "engines.extractive.answering.relevance.is_same_word": lambda text: likeness.is_same_word(text, f"{text}s"),
    "engines.extractive.answering.quoting.quotes": lambda text: quoting.quotes(text, [quoted(text)]),
    "engines.extractive.remembering.insights.recurring": lambda text: insights.recurring(
        [known(text, n) for n in range(4)]
    ),
    "engines.extractive.remembering.extraction.safe_words": lambda text: extraction.safe_words(
        turn(text), turn(text, "assistant")
    ),
    "engines.extractive.remembering.extraction.select": lambda text: extraction.select(
        [turn(text, "assistant"), turn(text)]
    ),
    "engines.extractive.summarising.summary.context": lambda text: summary.context(text, sentences_in(text), ["tea"]),
    "engines.extractive.summarising.summary.summarize": lambda text: summary.summarize(text, sentences_in(text)),
    "engines.extractive.remembering.resolution.resolve": lambda text: resolution.resolve(
        fact(text), [known(f"{text} not")]
    ),
    "nodes.recall.ranking.excerpt": lambda text: ranking.excerpt(text, {"tea"}, 40),
    "nodes.react_mem.steps.gist": lambda text: steps.gist(text, 100),
    "nodes.messages.turns_of": lambda text: nodes_messages.turns_of([HumanMessage(text)]),
    "tools.text.cleaning.checked_text": lambda text: checked_text(text[:MOST_ASKED], "question"),
    "tools.text.forms.cells": lambda text: forms.cells(text, (0, len(text)), forms.CELL),
    "tools.text.forms.outline": forms.outline,
    "tools.text.definitions.defined_terms": lambda text: definitions.defined_terms(text, forms.lines(text)),
    "tools.text.forms.unwrapped": unwrapped,
    "tools.text.forms.aligned": lambda text: forms.aligned(text, [(0, len(text))]),
    "engines.extractive.reading.dates.event_asked_before": lambda text: dates.event_asked_before(text),
    "engines.extractive.reading.dates.tells_of_event": lambda text: dates.tells_of_event(text, "the move"),
    "engines.extractive.reading.dates.holds_from": lambda text: dates.holds_from(text, date(2024, 5, 1)),
    "engines.extractive.reading.dates.tells_of_time": lambda text: dates.tells_of_time(
        text, date(2019, 1, 1), date(2024, 5, 1)
    ),
    "engines.extractive.remembering.edits.asks_to_edit": lambda text: edits.asks_to_edit(text),
    "engines.extractive.remembering.told_apart.are_told_apart": lambda text: told_apart.are_told_apart(text, text),
    "engines.extractive.remembering.told_apart.renumbered": lambda text: told_apart.renumbered("to ward 9", text),
    "engines.extractive.remembering.told_apart.has_other_number": lambda text: told_apart.has_other_number(text, text),
    "engines.extractive.reading.dates.past_asked": lambda text: dates.past_asked(text, date(2024, 5, 1)),
    "engines.extractive.remembering.changes.replaced": lambda text: changes.replaced(text[::2], text[1::2]),
    "engines.extractive.remembering.changes.in_both": lambda text: changes.in_both(text, text[1:]),
    "engines.extractive.remembering.standing.standing": lambda text: standing.standing([turn(text)], 100),
    "engines.extractive.answering.particulars.lacks_the_particular": lambda text: particulars.lacks_the_particular(
        "How old is Bo, when is his birthday and what is his phone number?", [text]
    ),
    "tools.text.traditional.as_written": lambda text: traditional.as_written(text[-9:], text, text),
    "engines.extractive.remembering.statements.only_asks": lambda text: statements.only_asks(text),
    "engines.extractive.remembering.passed_on.passed_on": lambda text: list(passed_on.passed_on(text)),
    "engines.extractive.remembering.changes.without": lambda text: changes.without(text, [(0, 4), (9, 20)]),
    "engines.extractive.answering.characters.rare_characters": lambda text: characters.rare_characters(
        text[::2], [text[1::2]]
    ),
    "engines.extractive.answering.characters.shared_characters": lambda text: characters.shared_characters(text, text),
    "engines.extractive.answering.contents.asks_for_contents": lambda text: contents.asks_for_contents(
        f"What was the mood at {text[:2_000]}?"
    ),
    "engines.extractive.answering.second_reading.read_again": lambda text: second_reading.read_again(
        lambda _, texts: [0.0] * len(texts), text, [text], np.zeros(1), 1
    ),
    "engines.extractive.answering.helping.MessageReading": lambda text: reading(text).helps,
    "engines.extractive.remembering.life.asks_of_other_kin": lambda text: life.asks_of_other_kin(text, [text]),
    "engines.extractive.remembering.life.shared_subjects": lambda text: life.shared_subjects(text, [text]),
    "engines.extractive.remembering.succession.succeeded": lambda text: succession.succeeded(
        text[:2_000], [told(text[:2_000], "1"), told(f"{text[:2_000]} now", "2")], [0.5, 0.5], 0.3
    ),
    "engines.extractive.remembering.succession.pairs": lambda text: [
        *succession.pairs(text[:2_000], [told(text[:2_000], "1"), told(f"{text[:2_000]} now", "2")], [0.5, 0.5])
    ],
    "tools.text.cleaning.check_asked": lambda text: check_asked(text[:MOST_ASKED], "query"),
    "tools.text.nesting.is_too_deep": is_too_deep,
    "tools.text.spans.trimmed": lambda text: trimmed(text, (0, len(text))),
    "tools.text.spans.cut": lambda text: list(cut(text, (0, len(text)), 1_000)),
    "tools.text.tokens.passages": lambda text: passages(text, 100),
    "tools.text.tokens.each_passage": lambda text: list(each_passage(text, 100)),
}
"""What takes a text beside other things, with other things; turns and memories are as long as they can be."""


def readers() -> dict[str, Callable[[str], object]]:
    """Every public function whose one argument without a default is a text, and those of `OTHERS`."""
    found = dict(OTHERS)
    for module in hostile.modules():
        short = module.__name__.removeprefix("agentic_memory_bank.")
        for name, function in vars(module).items():
            if short.startswith(LAYERS) and _reads_a_text(function, module.__name__) and not name.startswith("_"):
                found[f"{short}.{name}"] = function
    return found


def _reads_a_text(function: Any, module: str) -> bool:
    if getattr(function, "__module__", "") != module or not (inspect.isfunction(function) or _is_cached(function)):
        return False
    first, *others = [*inspect.signature(function).parameters.values(), None]
    needed = [one for one in others if one is not None and one.default is inspect.Parameter.empty]
    return first is not None and first.name in TEXT_NAMES and first.annotation in (str, "str") and not needed


def _is_cached(function: Any) -> bool:
    return hasattr(function, "cache_clear")


def fresh(function: Any) -> Callable[[str], object]:
    """The function, which has not read this text before."""

    def read(text: str) -> object:
        for cached in (function, attributes.claims_of, sentence.sentences_of, values._values_of, research.abstract_of):
            if _is_cached(cached):
                cached.cache_clear()
        with suppress(MemoryBankError, ValueError):  # some take hexadecimal digits, or an address
            return function(text)

    return read


READERS = readers()


@pytest.mark.parametrize("texts", [10, pytest.param(len(hostile.KNOWN), marks=pytest.mark.attack)])
@pytest.mark.parametrize("name", sorted(READERS))
def test_every_function_that_reads_a_text_takes_linear_time(name: str, texts: int) -> None:
    reported = [text for text in hostile.REPORTED if not text.tail]

    assert faults(fresh(READERS[name]), [*reported, *hostile.a_few(hostile.KNOWN, texts)]) == []


def test_no_function_that_reads_a_text_is_left_out() -> None:
    """Public functions of the rules with a text or a turn among their arguments are all read above."""
    left_out = []
    for module in hostile.modules():
        short = module.__name__.removeprefix("agentic_memory_bank.")
        for name, function in vars(module).items():
            is_own = inspect.isfunction(function) and function.__module__ == module.__name__
            if short.startswith(("engines.extractive.", "tools.text")) and is_own and not name.startswith("_"):
                takes = {one.name for one in inspect.signature(function).parameters.values()}
                if takes & (TEXT_NAMES | {"turn", "turns", "a", "passages"}) and f"{short}.{name}" not in READERS:
                    left_out.append(f"{short}.{name}")

    assert left_out == []


# --- graphs --------------------------------------------------------------------------------------------------------

MOST: float = 4.0
"""CPU seconds that a graph may take for a message of 64,000 characters, all its work included. What has stopped servers
took minutes; a slow machine takes thrice as long as a fast one."""


def messages(text: str) -> list[BaseMessage]:
    return [AIMessage(text), HumanMessage("1234"), HumanMessage(text)]


def slow(read: Callable[[str], object], size: int = 64_000) -> dict[str, float]:
    """What takes longer than it may, of all that has stopped a server before."""
    read("warm up")
    texts = [text for text in hostile.REPORTED if not text.tail]
    taken = {repr(text.unit): hostile.process_seconds(read, text.of(size), at_most=MOST) for text in texts}
    return {unit: seconds for unit, seconds in taken.items() if seconds > MOST}


def test_remembering_takes_no_longer_for_hostile_text() -> None:
    graph = build_remember(store=InMemoryStore(), embeddings=HashEmbeddings())
    names = count()

    def remember(text: str) -> object:
        name = f"c{next(names)}"
        given: Any = {"messages": messages(text), "conversation_id": name, "end": True}
        return graph.invoke(given, context=MemoryContext(user=name))

    assert slow(remember) == {}


def test_recalling_takes_no_longer_for_hostile_text() -> None:
    store, context = InMemoryStore(), MemoryContext(user="ann")
    build_remember(store=store, embeddings=HashEmbeddings()).invoke(
        {"messages": [HumanMessage("I live in Lisbon and my budget is 500 euros.")], "end": True}, context=context
    )
    graph = build_recall(store=store, embeddings=HashEmbeddings())

    assert slow(lambda text: graph.invoke({"messages": messages(text)}, context=context)) == {}


def test_a_memory_bank_takes_no_longer_for_hostile_text() -> None:
    bank = build_memory_bank(embeddings=HashEmbeddings())

    def remember(text: str) -> object:
        given: Any = {"question": f"What of {text[:2_000]}?", "documents": [{"name": "a.txt", "text": f"A. {text}"}]}
        return bank.invoke(given)

    assert slow(remember, 24_000) == {}


class Counted(HashEmbeddings):
    """Counts the characters that a model would read."""

    characters = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.characters += sum(map(len, texts))
        return super().embed_documents(texts)


def test_what_a_memory_bank_embeds_of_a_hostile_text_grows_no_faster_than_the_text() -> None:
    """Memories of function words alone are merged again and again, and each time one of them is embedded anew."""

    def embedded(text: str) -> int:
        counted = Counted()
        build_memory_bank(embeddings=counted).invoke({"question": "What of it?", "documents": [f"A. {text}"]})
        return counted.characters

    texts = [text for text in hostile.REPORTED if not text.tail]
    grown = {repr(text.unit): (embedded(text.of(8_000)), embedded(text.of(32_000))) for text in texts}

    assert {unit: counts for unit, counts in grown.items() if counts[1] > max(4 * counts[0], 32_000)} == {}


# --- the door ------------------------------------------------------------------------------------------------------


def test_a_turn_is_cut_at_a_word_before_any_rule_reads_it() -> None:
    (cut,) = nodes_messages.turns_of([HumanMessage(f"{'word ' * 2_397}my key is ABCDEFGHIJ")])

    assert cut.text.endswith("word my key is")
    assert len(cut.text) <= nodes_messages.LONGEST_TURN


def test_of_a_long_message_memories_are_recalled_for_its_beginning_and_its_end() -> None:
    asked = recall_message.asked_in([HumanMessage(f"Hello. {'pasted ' * 10_000}Where do I live?")]).turn

    assert asked is not None
    assert asked.text.startswith("Hello. pasted")
    assert asked.text.endswith("Where do I live?")
    assert len(asked.text) <= nodes_messages.LONGEST_TURN + 1
