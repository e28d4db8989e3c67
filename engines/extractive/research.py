"""Judges pages without a model: selects from what is there, and writes nothing."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from agentic_memory_bank.engines.extractive.answering import quoting
from agentic_memory_bank.engines.extractive.answering.exact import exact, is_nested
from agentic_memory_bank.engines.extractive.answering.second_reading import Judge
from agentic_memory_bank.engines.extractive.answering.short_answers import ShortAnswer, short_answer
from agentic_memory_bank.engines.extractive.reading.marks import ASKS
from agentic_memory_bank.engines.extractive.reading.phrases import SMALL_TALK_CHINESE
from agentic_memory_bank.engines.extractive.remembering.queries import is_small_talk
from agentic_memory_bank.engines.extractive.summarising.summary import summarize
from agentic_memory_bank.engines.research import (
    Excerpt,
    Gathered,
    Inquiry,
    PageDraft,
    PageQuote,
    Reflection,
    ResearchResponse,
    SupportedFinding,
    paragraph,
)
from agentic_memory_bank.state.pages import PageSearch
from agentic_memory_bank.tools.search.names import names_in
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import opening, paragraphs, sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

ABSTRACT_SHARE: Final = 0.3
"""Share of a text that its abstract aims at."""
ABSTRACT_TOKENS: Final = 120
"""Longest abstract, in tokens; where single sentences are longer, it is cut."""
ABSTRACT_CHARACTERS: Final = 800
SURE: Final = 0.85
"""How sure a sentence has to be that the words it states are the answer, for it to be called so."""
LEADS: Final = 2
"""How many names that were found on the way are followed at a time."""
_QUOTED: Final = 3
"""Sentences that are gathered for a request at most."""
_BEFORE: Final = 300
"""Characters before a sentence in which a name stands that it goes on about."""
_READ: Final = 6
"""Sentences of which those are taken where nothing is sure: some of the likeliest only ask."""
_SPEAKER: Final = lazy_pattern(r"\A\s{0,4}[^\W\d_][\w.'’ -]{0,30}[:：]\s")
_HAILS: Final = lazy_pattern(
    r"(?:(?i:hey|hi|hello|dear|wow|yeah|yes|yep|thanks|thank you|congrats|bye|ok|okay|oh|sure)\b[,! ]{1,3})"
    r"{1,3}[A-Z][\w'’-]{0,20}[!.,:)(;~ ]{0,8}"
)
"""Somebody is called by name, and told nothing."""


class ExtractiveResearchEngine:
    """Selects sentences and never writes any: deterministic, offline, and the same for English and Chinese.

    Args:
        judge: Reads the likeliest sentences beside a request. Default: words alone decide.
    """

    def __init__(self, judge: Judge | None = None) -> None:
        self._judge = judge

    @property
    def name(self) -> str:
        """The name runs are recorded under."""
        return "extractive"

    def abstract(self, drafts: Sequence[PageDraft]) -> list[str | None]:
        """The sentences that say most of each text; what stands before it plays no part."""
        return [abstract_of(draft.text) for draft in drafts]

    def plan_searches(self, inquiry: Inquiry) -> list[PageSearch]:
        """Search each request by its own words, with its names and numbers as keywords."""
        return [PageSearch(request, tuple(sorted(names_and_numbers(request)))) for request in inquiry.open]

    def gather(self, inquiry: Inquiry, excerpts: Sequence[Excerpt]) -> Gathered:
        """Quote what fits the requests. It is enough when the quoted pages hold every name the request has."""
        found: dict[str, SupportedFinding] = {}
        for request in dict.fromkeys((*inquiry.open, inquiry.request)):
            for quote in _quotes(request, excerpts, self._judge):
                text = _words(quote, excerpts)
                found.setdefault(text, SupportedFinding(text, (excerpts[int(quote.passage)].page,)))
        pages = {page for finding in found.values() for page in finding.pages}
        held = {term for e in excerpts if e.page in pages for term in tokenize(f"{e.title}\n{e.text}")}
        return Gathered(tuple(found.values()), is_enough=bool(found) and _named(inquiry.request) <= held)

    def reflect(self, inquiry: Inquiry) -> Reflection:
        """Look for what the request names and no finding does, beside the names that were found on the way."""
        said = "\n".join(finding.text for finding in inquiry.findings)
        missing = _named(inquiry.request) - set(tokenize(said))
        leads = sorted(names_in(said) - names_in(inquiry.request), key=said.casefold().find)[:LEADS]
        requests = [f"{lead.title()}: {inquiry.request}" for lead in leads] if missing or not inquiry.findings else []
        return Reflection(not requests, tuple(requests))

    def respond(self, inquiry: Inquiry, excerpts: Sequence[Excerpt]) -> ResearchResponse:
        """The few words that answer the request, where the likeliest sentence states them; else whole sentences.

        It is sure where two readers chose the same sentence, and the words are of the kind that is asked for.
        """
        found = short_answer(inquiry.request, excerpts)
        likeliest = _quotes(inquiry.request, excerpts, self._judge)[:1]
        short = [q for q in found.quotes if found.is_choice or _tells(_said(q, excerpts))] if found else []
        sentences = [PageQuote(int(q.passage), (q.start, q.end)) for q in likeliest]
        agree = any(_meet(one, other) for one in short for other in sentences)
        words = _exactly(inquiry.request, found, excerpts) if found else ""
        if found and short and words and (found.is_choice or agree):
            is_sure = likeliest[:1] != [] and likeliest[0].sure >= SURE
            return ResearchResponse(words, tuple(short), is_sure and _state(inquiry.request, short, excerpts))
        apart = [*sentences, *(one for one in short if not any(_meet(one, other) for other in sentences))]
        said = [" ".join(_said(one, excerpts).split()) for one in apart]
        return ResearchResponse("\n".join(said), tuple(apart), is_sure=False)


def _exactly(request: str, found: ShortAnswer, excerpts: Sequence[Excerpt]) -> str:
    """The words that answer, where they can be told from the rest of their sentence."""
    return found.text if found.is_choice else exact(request, found.text, _said(found.quotes[0], excerpts))


def _said(quote: PageQuote, excerpts: Sequence[Excerpt]) -> str:
    return excerpts[quote.excerpt].text[slice(*quote.span)]


def _meet(one: PageQuote, other: PageQuote) -> bool:
    return one.excerpt == other.excerpt and one.span[0] < other.span[1] and other.span[0] < one.span[1]


def _state(request: str, quotes: Sequence[PageQuote], excerpts: Sequence[Excerpt]) -> bool:
    """Whether an answer is stated by what it rests on: two places of what is compared, one that names it all."""
    if len(quotes) > 1:
        return True
    start, end = quotes[0].span
    excerpt = excerpts[quotes[0].excerpt]
    said = set(tokenize(f"{excerpt.title}\n{excerpt.text[max(0, start - _BEFORE) : end]}"))
    return not is_nested(request) and _named(request) <= said


def _quotes(request: str, excerpts: Sequence[Excerpt], judge: Judge | None) -> list[quoting.Quote]:
    """What fits a request by its words, or at least names what it names: a step on the way answers nothing yet.

    What asks or greets tells nothing, however much it names.
    """
    passages = [quoting.Passage.of(str(n), e.text, e.score, e.title) for n, e in enumerate(excerpts)]
    sure, named = quoting.quotes(request, passages, judge=judge), _named(request)
    told = [one for one in sure if _tells(_words(one, excerpts))]
    if told:
        return told
    likely = quoting.likeliest(request, passages, limit=_READ, judge=judge)
    words = [(one, _words(one, excerpts)) for one in likely]
    return [one for one, said in words if _tells(said) and named.intersection(tokenize(said))][:_QUOTED]


def _tells(words: str) -> bool:
    """Whether a sentence says anything: it does not only ask, greet, or call somebody by name."""
    said = _SPEAKER.sub("", words)
    if ASKS.search(said) or is_small_talk(said):
        return False
    return not (_HAILS.fullmatch(said) or SMALL_TALK_CHINESE.fullmatch(said))


def _words(quote: quoting.Quote, excerpts: Sequence[Excerpt]) -> str:
    return excerpts[int(quote.passage)].text[quote.start : quote.end].strip()


def _named(request: str) -> set[str]:
    """The terms of a request by which a page is known to be about the same."""
    return {term for name in names_and_numbers(request) for term in tokenize(name)}


@lru_cache(maxsize=512)  # it is also the query for what a page may refer to, and stands in where a model fails
def abstract_of(text: str) -> str:
    """The abstract of a text in its own words: a short one as it is, of a dialogue whole turns, with who speaks."""
    if estimate_tokens(text) <= ABSTRACT_TOKENS:
        return _cut(paragraph(text))
    units = paragraphs(text) if opening(text) == "turn" else sentences(text)
    chosen = summarize(text, units, ratio=ABSTRACT_SHARE, max_tokens=ABSTRACT_TOKENS)
    said = paragraph("\n".join(text[start:end] for start, end in chosen))
    return _cut(said or " ".join(text.split()))


def _cut(said: str) -> str:
    """Cut at a word, in Chinese anywhere."""
    if len(said) <= ABSTRACT_CHARACTERS:
        return said
    head, space, _ = said[:ABSTRACT_CHARACTERS].rpartition(" ")
    return head if space and len(head) > ABSTRACT_CHARACTERS // 2 else said[:ABSTRACT_CHARACTERS]
