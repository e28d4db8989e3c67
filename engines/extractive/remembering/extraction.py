"""Selects from the turns of a conversation what is worth remembering: facts, ways of doing things, and what happened.

Precision comes first: whatever is not clearly stated by the one who says it is left where it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, islice, takewhile
from typing import Final

from agentic_memory_bank.engines.conversation import TRUST, Fact, Turn, TurnQuote
from agentic_memory_bank.engines.extractive.reading import phrases
from agentic_memory_bank.engines.extractive.reading.attributes import Claim, claims_of
from agentic_memory_bank.engines.extractive.remembering.amendments import amended, takes_back
from agentic_memory_bank.engines.extractive.remembering.answers import answers_of_life
from agentic_memory_bank.engines.extractive.remembering.antecedents import (
    LOOKED_BACK,
    antecedent,
    is_empty,
    is_of_known,
    understood,
)
from agentic_memory_bank.engines.extractive.remembering.around_questions import stated_beside
from agentic_memory_bank.engines.extractive.remembering.drafts import SaidSentence, fact_of, owner_of_turn
from agentic_memory_bank.engines.extractive.remembering.passed_on import passed_on
from agentic_memory_bank.engines.extractive.remembering.picks import picked
from agentic_memory_bank.engines.extractive.remembering.queries import attribute_asked, is_greeting, is_personal
from agentic_memory_bank.engines.extractive.remembering.statements import (
    is_aside,
    is_asking,
    is_statement,
    says_enough,
)
from agentic_memory_bank.engines.extractive.remembering.statements import only_tells_to_forget as tells_to_forget
from agentic_memory_bank.engines.own_words import ORDERS, is_order, own_words
from agentic_memory_bank.state.records import RecordType
from agentic_memory_bank.tools.text.attribution import USER
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.personal_numbers import HIDDEN, masked
from agentic_memory_bank.tools.text.secrets import asks_for_secret, mentions_secret, secrets_in
from agentic_memory_bank.tools.text.sentences import QUESTION_END, sentences
from agentic_memory_bank.tools.text.spans import Span

SHORT_ANSWER: Final = 4
"""Words of an answer that says nothing but what was asked for."""
LONGEST_CODE: Final = 12
"""Characters of the same in Chinese, which writes no spaces."""
LONGEST_QUOTE: Final = 600
"""Characters; a longer sentence is a text that somebody pasted."""
LONGEST_MEMORY: Final = 400
"""Characters of several sentences in one memory."""
MOST_FACTS: Final = 60
"""Facts that are drawn from a turn; who states more has pasted a list, which is kept word for word as it is."""


def select(turns: Sequence[Turn]) -> list[Fact]:
    """Draw memories from turns; each half of an exchange is judged on its own, whatever the other one says.

    Args:
        turns: In the order in which they were said.
    """
    found: list[Fact] = []
    for place, turn in enumerate(turns):
        before = turns[place - 1] if place else None
        after = turns[place + 1] if place + 1 < len(turns) else None
        if turn.role == "user":
            earlier = turns[max(0, place - LOOKED_BACK) : place]
            found += (understood(fact, earlier, turn) for fact in islice(_of_user(turn, before, earlier), MOST_FACTS))
        elif turn.role == "assistant":
            found += islice(_of_assistant(turn, before, after), MOST_FACTS)
    return [fact for fact in dict.fromkeys(found) if not secrets_in(f"{fact.text}\n{fact.words}")]


# --- reading a turn ------------------------------------------------------------------------------------------------


def safe_words(turn: Turn, before: Turn | None) -> str:
    """What a turn says in its own words, without the sentences that hold a credential, or answer a question for one.

    Of a sentence with a personal number only the number is left out.

    Args:
        turn: The turn, word for word.
        before: What was said just before, where that is known.
    """
    turn = replace(turn, text=masked(turn.text, before.text if before else ""))
    plain = own_words(turn.text)
    for start, end in (message.quote for message in passed_on(turn.text)):
        plain = plain[:start] + turn.text[start:end] + plain[end:]
    words, end = "", 0
    for sentence in _safe_sentences(turn, before, plain):
        start, gap = sentence.span[0], turn.text[end : sentence.span[0]]
        words += (gap if not gap.strip() else "\n") + turn.text[start : sentence.span[1]]
        end = sentence.span[1]
    return words.strip()


def is_idle_talk(text: str, *, refuses: bool) -> bool:
    """Whether a text greets, acknowledges, refuses, or orders a memory about, and says nothing else.

    Args:
        text: A turn, word for word.
        refuses: Whether it may be a refusal: an assistant's "I can't" is one, a user's is a fact.
    """
    said = [text[start:end].strip() for start, end in sentences(text)]
    return is_order(text) or all(
        is_greeting(one) or tells_to_forget(one, surely=True) or bool(refuses and phrases.REFUSAL.search(one))
        for one in filter(None, said)
    )


def _sentences(turn: Turn, before: Turn | None) -> list[SaidSentence]:
    """What a turn says in its own words, without sentences that hold or answer for a credential."""
    if turn.role == "user" and phrases.FICTION.search(turn.text):
        return []
    return _safe_sentences(turn, before, own_words(turn.text))


def _safe_sentences(turn: Turn, before: Turn | None, plain: str) -> list[SaidSentence]:
    hidden, speaks_of_one = secrets_in(turn.text), mentions_secret(plain)
    secret = before is not None and asks_for_secret(before.text)
    kept: list[SaidSentence] = []
    for sentence in _pieces_of(plain, hidden):
        if _overlaps(sentence.span, hidden) or (secret and _is_code(sentence.text)):
            secret = True
        elif not (secret and phrases.DANGLING.match(sentence.text)):
            kept.append(sentence)
            secret = speaks_of_one and mentions_secret(sentence.text)
    return kept


def _pieces_of(text: str, hidden: Sequence[Span]) -> Iterator[SaidSentence]:
    """The sentences of a text; those that hold a credential clause by clause."""
    for start, end in sentences(text):
        parted = (
            phrases.CLAUSE
            if _overlaps((start, end), hidden)
            else phrases.SENTENCE
            if HIDDEN in text[start:end]
            else None
        )
        clauses = parted.finditer(text, start, end) if parted else (None,)
        for clause in clauses:
            low, high = clause.span() if clause else (start, end)
            bare = text[low:high].strip()
            if bare:
                low += len(text[low:high]) - len(text[low:high].lstrip())
                yield SaidSentence(bare, (low, low + len(bare)))


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    return any(low < span[1] and span[0] < high for low, high in others)


def _is_code(text: str) -> bool:
    """Whether a sentence may be nothing but what a question for a credential asked for."""
    is_short = len(text) <= LONGEST_CODE if is_cjk(text) else len(text.split()) <= SHORT_ANSWER
    return is_short and not is_personal(text)


# --- what users say ------------------------------------------------------------------------------------------------


def _of_user(turn: Turn, before: Turn | None, earlier: Sequence[Turn]) -> Iterator[Fact]:
    told = [message.span for message in passed_on(turn.text)]
    yield from _passed_on(turn, told)
    said = [sentence for sentence in _sentences(turn, before) if not _overlaps(sentence.span, told)]
    if (pick := _pick(turn, said, before)) is not None:
        yield pick
        said = [sentence for sentence in said if all(quote.span[0] != sentence.span[0] for quote in pick.quotes[1:])]
    amending = [(sentence, found) for sentence in said if (found := _amends(turn, sentence, earlier, before))]
    for sentence, (frame, gone) in amending:
        yield replace(fact_of(turn, (sentence,), "semantic", frame), amends=gone)
    said = [sentence for sentence in said if all(sentence is not one for one, _ in amending)]
    ways = list(_ways(said))
    taken = {sentence.span for way in ways for sentence in way}
    for way in ways:
        yield fact_of(turn, way, "procedural")
    answered = _answer(turn, before, said)
    if answered is not None:
        yield answered
        return
    yield from _stated(turn, [sentence for sentence in said if sentence.span not in taken], earlier)


def _pick(turn: Turn, said: Sequence[SaidSentence], before: Turn | None) -> Fact | None:
    """What somebody picks of what the assistant has just listed, with what they go on to say of it."""
    if before is None or before.role != "assistant" or len(turn.text) > LONGEST_QUOTE or secrets_in(before.text):
        return None
    for place, sentence in enumerate(said):
        if span := picked(sentence.text, before.text):
            thing = TurnQuote(before.id, before.text[slice(*span)], span)
            more = takewhile(lambda one: is_statement(one.text), said[place + 1 :])
            chosen = _within(LONGEST_MEMORY, [sentence, *more])
            return fact_of(turn, tuple(chosen), "semantic", thing)
    return None


def _within(longest: int, said: Sequence[SaidSentence]) -> Sequence[SaidSentence]:
    """The first of some sentences, as many as are no longer together."""
    sizes = accumulate(len(one.text) for one in said)
    return said[: max(1, sum(size <= longest for size in sizes))]


def _amends(
    turn: Turn, said: SaidSentence, earlier: Sequence[Turn], before: Turn | None
) -> tuple[TurnQuote, TurnQuote] | None:
    """What a correction is about that does not name it, and the clause that it takes back."""
    if len(turn.text) > LONGEST_QUOTE:
        return None
    own = [one for one in earlier if one.role == "user" and (one.speaker or USER) == owner_of_turn(turn)]
    texts = [*(own_words(one.text) for one in own), own_words(turn.text)[: said.span[0]]]
    is_answer = before is not None and QUESTION_END.search(before.text.strip()) is not None
    found = amended(said.text, texts, is_answer=is_answer)
    is_told = is_statement(said.text) and is_empty(said.text) and not takes_back(said.text)
    if found is None or (is_told and antecedent(said.text, texts)):
        return None  # or it is understood by the thing that it calls "it"
    where = [*own, turn][found.place]
    frame, gone = (TurnQuote(where.id, where.text[a:b], (a, b)) for a, b in (found.frame, found.gone))
    is_safe = not any(_overlaps(quote.span, secrets_in(where.text)) for quote in (frame, gone))
    return (frame, gone) if is_safe and masked(where.text) == where.text else None


def _passed_on(turn: Turn, told: Sequence[Span]) -> Iterator[Fact]:
    """What others wrote to the user, each with the words that lead it in; it is trusted less than their own."""
    hidden = secrets_in(turn.text)
    for start, end in told:
        if not _overlaps((start, end), hidden):
            message = fact_of(turn, (SaidSentence(turn.text[start:end].strip(), (start, end)),), "semantic")
            yield replace(message, trust=TRUST["assistant"])


def _stated(turn: Turn, said: Sequence[SaidSentence], earlier: Sequence[Turn]) -> Iterator[Fact]:
    """What is stated in a turn: each attribute alone, so that a new value takes its place; all else together.

    Sentences that follow each other are one memory, since each is understood through those before it.
    """
    others: list[SaidSentence] = []
    for sentence in _statements(turn, said):
        if sentence.claims:
            yield from _together(turn, others, earlier)
            others = []
            yield from _by_claim(turn, sentence)
        else:
            others.append(sentence)
    yield from _together(turn, others, earlier)


def _statements(turn: Turn, said: Sequence[SaidSentence]) -> Iterator[SaidSentence]:
    """The sentences that state something, without "remember that"."""
    is_task = bool(said) and is_asking(said[0].text) and not phrases.ECHO.fullmatch(said[0].text)
    for sentence in said:
        asked = phrases.REMEMBER.match(sentence.text)
        bare = _without(sentence, asked.end()) if asked else sentence
        bare = _told_first(bare)
        if not bare.text or len(bare.text) > LONGEST_QUOTE or tells_to_forget(sentence.text, surely=False):
            continue
        is_stated = is_statement(bare.text) and not (is_task and (not is_personal(bare.text) or is_aside(bare.text)))
        claims = claims_of(bare.text, owner_of_turn(turn)) if is_stated else ()
        if is_stated or (asked and not is_asking(bare.text) and not is_order(sentence.text)):
            yield replace(bare, claims=claims)


def _told_first(sentence: SaidSentence) -> SaidSentence:
    """A sentence without what it asks or supposes, where it tells something before or behind that."""
    start, end = stated_beside(sentence.text) or (0, len(sentence.text))
    return SaidSentence(sentence.text[start:end], (sentence.span[0] + start, sentence.span[0] + end))


def _together(turn: Turn, said: Sequence[SaidSentence], earlier: Sequence[Turn]) -> Iterator[Fact]:
    """Statements of a turn as few memories, none longer than a reader takes in at once."""
    group: list[SaidSentence] = []
    for sentence in said:
        if sum(len(one.text) for one in (*group, sentence)) > LONGEST_MEMORY:
            yield from _one(turn, group, earlier)
            group = []
        group.append(sentence)
    yield from _one(turn, group, earlier)


def _one(turn: Turn, said: Sequence[SaidSentence], earlier: Sequence[Turn]) -> Iterator[Fact]:
    while said and said[-1].text.endswith((":", "：")):  # it leads to what somebody pasted
        said = said[:-1]
    words = " ".join(sentence.text for sentence in said)
    if not words:
        return
    fact = fact_of(turn, tuple(said), _type(words))
    if says_enough(words) or (says_enough(words, is_resolved=True) and is_of_known(fact, earlier, turn)):
        yield fact  # whom it is of was named before: "She works for a bank." says little of anybody, much of a sister


def _without(sentence: SaidSentence, start: int) -> SaidSentence:
    return SaidSentence(sentence.text[start:], (sentence.span[0] + start, sentence.span[1]))


def _by_claim(turn: Turn, said: SaidSentence) -> Iterator[Fact]:
    """One memory of each attribute that a sentence states, so that a new value of one leaves the others alone."""
    pieces = list(_pieces(said))
    if len(pieces) < 2:
        yield fact_of(turn, (said,), _type(said.text))
        return
    for piece in pieces:
        if piece.claims or says_enough(piece.text):
            yield fact_of(turn, (piece,), _type(piece.text))


def _pieces(sentence: SaidSentence) -> Iterator[SaidSentence]:
    """A sentence with claims, cut in front of each but the first, and where it goes on about its speaker."""
    ends = [claim.span[1] for claim in sentence.claims]
    again = [match.end() for match in phrases.GOES_ON.finditer(sentence.text)] if ends else []
    starts = sorted({*again, *(claim.span[0] for claim in sentence.claims)})
    cuts = [0, *(start for start in starts if start >= ends[0])] if ends else [0]
    for start, end in zip(cuts, [*cuts[1:], len(sentence.text)], strict=True):
        text = phrases.TRAILING.sub("", sentence.text[start:end])
        claims = tuple(claim for claim in sentence.claims if start <= claim.span[0] < end)
        yield SaidSentence(text, (sentence.span[0] + start, sentence.span[0] + start + len(text)), claims)


def _type(text: str) -> RecordType:
    if phrases.ALWAYS.search(text):
        return "procedural"
    return "episodic" if phrases.PAST.search(text) and not claims_of(text) else "semantic"


def _ways(said: Sequence[SaidSentence]) -> Iterator[tuple[SaidSentence, ...]]:
    """Ways of doing something: "first …, then …" in one sentence, or in sentences that follow each other."""
    place = 0
    while place < len(said):
        run = _run(said[place:])
        if run:
            yield run
        place += max(1, len(run))


def _run(said: Sequence[SaidSentence]) -> tuple[SaidSentence, ...]:
    first = said[0]
    if _is_idle_way(first.text) or not (phrases.HOW.search(first.text) or phrases.HOW_OPENS.search(first.text)):
        return ()
    length = 1
    while length < len(said) and _goes_on(said[length].text):
        length += 1
    return tuple(said[:length]) if length > 1 or phrases.HOW.search(first.text) else ()


def _goes_on(text: str) -> bool:
    return phrases.HOW_GOES_ON.match(text) is not None and not phrases.QUESTION.search(text)


def _is_idle_way(text: str) -> bool:
    idle = (phrases.QUESTION, ORDERS, phrases.WANTS, phrases.HEARSAY)
    return any(pattern.search(text) for pattern in idle) or len(text) > LONGEST_QUOTE


def _answer(turn: Turn, before: Turn | None, said: Sequence[SaidSentence]) -> Fact | None:
    """A few words in answer to a question about their speaker, together with the question."""
    if before is None or before.role == "system" or len(said) != 1 or is_greeting(said[0].text):
        return None
    only, asked = said[0], _sentences(before, None)
    if claims_of(only.text) or any(one.search(only.text) for one in (phrases.QUESTION, phrases.UNSURE, phrases.ASKS)):
        return None
    is_brief = len(only.text.split()) <= SHORT_ANSWER + 1 and len(only.text) <= 5 * LONGEST_CODE
    for question in reversed(asked):
        if (attribute := attribute_asked(question.text)) and is_brief:
            value = only.text.rstrip(".!。！ ")
            only = replace(only, claims=(Claim(owner_of_turn(turn), attribute, value, False, (0, len(value))),))
        if only.claims or (question is asked[-1] and answers_of_life(question.text, only.text)):
            return fact_of(turn, (only,), "semantic", TurnQuote(before.id, question.text, question.span))
    return None


# --- what assistants say -------------------------------------------------------------------------------------------


def _of_assistant(turn: Turn, before: Turn | None, after: Turn | None) -> Iterator[Fact]:
    """What was done, with what was asked; what is merely proposed or told is no memory of the user's."""
    asked = _request(before)
    said = _sentences(turn, before)
    for sentence in said:
        if _reports(sentence.text):
            yield fact_of(turn, (sentence,), "episodic", asked)
    if after is not None and after.role == "user" and _confirms(after.text):
        for way in islice(_ways(said), 1):
            yield fact_of(turn, way, "procedural", asked)


def _reports(text: str) -> bool:
    """Whether a sentence of an assistant tells that something was done."""
    others = (phrases.PROPOSES, phrases.QUESTION, phrases.REFUSAL)
    return phrases.OUTCOME.search(text) is not None and not any(pattern.search(text) for pattern in others)


def _confirms(text: str) -> bool:
    return phrases.WORKED.search(text) is not None and not phrases.QUESTION.search(text)


def _request(before: Turn | None) -> TurnQuote | None:
    """The sentence of the user that an outcome answers."""
    said = _sentences(before, None) if before is not None and before.role == "user" else []
    asked = [s for s in said if not is_greeting(s.text) and not is_order(s.text) and len(s.text) <= LONGEST_QUOTE]
    return TurnQuote(before.id, asked[-1].text, asked[-1].span) if before is not None and asked else None
