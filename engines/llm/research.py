"""The research engine that asks chat models: several pages in a call, and a prompt that does not grow with memory."""

from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from types import ModuleType
from typing import Final

from agentic_memory_bank.engines.extractive.support import (
    borne,
    may_answer,
    speaks_of,
    support_for,
    supported_part,
    undisputed,
    unsupported,
)
from agentic_memory_bank.engines.llm.bank_checks import NAMED
from agentic_memory_bank.engines.llm.base import ChatEngine, names_all, or_offline
from agentic_memory_bank.engines.llm.locating import copies, locate, reader_of_prose
from agentic_memory_bank.engines.llm.packing import pack, within
from agentic_memory_bank.engines.llm.structured_output import StructuredRequest
from agentic_memory_bank.engines.own_words import is_order
from agentic_memory_bank.engines.research import (
    Excerpt,
    Gathered,
    Inquiry,
    Outline,
    PageDraft,
    PageQuote,
    Reflection,
    ResearchEngine,
    ResearchResponse,
    SupportedFinding,
    paragraph,
)
from agentic_memory_bank.prompts import abstract, research_answer, research_gather, research_plan, research_reflect
from agentic_memory_bank.prompts.common import listed, with_own
from agentic_memory_bank.prompts.fence import unescape
from agentic_memory_bank.state.errors import AnswerRejected
from agentic_memory_bank.state.pages import PageSearch
from agentic_memory_bank.tools.text.tokens import estimate_tokens, passages

ABSTRACT_TOKENS: Final = 256
"""What an abstract takes of an answer, at most."""
CONTEXT_SHARE: Final = 0.25
"""Share of a window that earlier abstracts may take, however much is allowed."""
FINDINGS_SHARE: Final = 0.25
"""Share of a window that findings may take, however many rounds there were."""


class ChatResearchEngine(ChatEngine[ResearchEngine]):
    """Judges pages with chat models."""

    @or_offline("abstract")
    def abstract(self, drafts: Sequence[PageDraft]) -> list[str | None]:
        """Write abstracts, of as many pages in a call as fit the window and the answer."""
        instructions = with_own(abstract.INSTRUCTIONS, self._asker.settings.abstract_instructions)
        capacity = self._room("abstract", instructions)
        context = min(self._asker.settings.abstract_context_tokens, int(capacity * CONTEXT_SHARE))
        room = capacity - context
        shown = [(d.title, _opening(d.text, room)) for d in drafts]
        most = max(1, self._asker.models.roles["abstract"].row.output // ABSTRACT_TOKENS)
        windows = pack(shown, lambda page: max(_tokens(page), room // most), room, item=0)
        questions = [
            StructuredRequest(
                "abstract",
                instructions,
                abstract.render([shown[i] for i in window], _earlier([drafts[i] for i in window], context)),
                abstract.Abstracts,
                names_all("abstracts", len(window), content="abstract"),
            )
            for window in windows
        ]
        found: list[str | None] = [None] * len(drafts)
        for window, said in zip(windows, self._asker.ask(questions), strict=True):
            for one in said.abstracts if said else ():
                if 1 <= one.id <= len(window):
                    draft, told = drafts[window[one.id - 1]], paragraph(one.abstract)
                    found[window[one.id - 1]] = held = _held(told, draft)
                    if held != told:
                        self.note("An abstract said what its page does not; that was left out.")
        return found

    @or_offline("research")
    def plan_searches(self, inquiry: Inquiry) -> list[PageSearch]:
        """Plan the searches of a round in one call."""
        findings = self._known(inquiry)
        capacity = self._room(
            "research", self._told(research_plan), inquiry.request, *inquiry.open, *findings, *inquiry.titles
        )
        shown = within(inquiry.outlines, lambda o: estimate_tokens(f"{o.title} {o.abstract}"), capacity)
        prompt = research_plan.render(
            inquiry.request, inquiry.open, findings, [(o.title, o.abstract) for o in shown], inquiry.titles
        )
        said = self._ask("research", self._told(research_plan), prompt, research_plan.Searches)
        planned = {one.request: one for one in reversed(said.searches)}
        return [_search(request, planned.get(number), shown) for number, request in enumerate(inquiry.open, 1)]

    @or_offline("research")
    def gather(self, inquiry: Inquiry, excerpts: Sequence[Excerpt]) -> Gathered:
        """Collect facts from excerpts in one call."""
        findings = self._known(inquiry)
        shown = self._fitting(excerpts, self._told(research_gather), inquiry.request, *inquiry.open, *findings)
        prompt = research_gather.render(inquiry.request, inquiry.open, findings, [(_title(e), e.text) for e in shown])
        said = self._ask("research", self._told(research_gather), prompt, research_gather.GatheredFacts)
        found = [
            SupportedFinding(fact.text.strip(), _pages(fact.excerpts, shown))
            for fact in said.findings
            if not unsupported(fact.text, [e.text for e in _named(fact.excerpts, shown)], _beside(inquiry, shown))
        ]
        if len(found) < len(said.findings):
            self.note("A finding said what its excerpts do not; it was left out.")
            if not found:
                return self._offline.gather(inquiry, excerpts)
        before = len(inquiry.findings) - len(findings)
        dropped = tuple(before + number - 1 for number in said.wrong if 1 <= number <= len(findings))
        missing = tuple(
            PageSearch(m.request, tuple(m.keywords), tuple(m.queries), _pages(m.excerpts, shown)) for m in said.missing
        )
        return Gathered(tuple(found), dropped, said.is_enough, () if said.is_enough else missing)

    @or_offline("research")
    def reflect(self, inquiry: Inquiry) -> Reflection:
        """Judge the findings in one call."""
        prompt = research_reflect.render(
            inquiry.request,
            self._known(inquiry),
            list(dict.fromkeys((*inquiry.asked, *inquiry.open))),
        )
        said = self._ask("research", self._told(research_reflect), prompt, research_reflect.FindingsReview)
        return Reflection(said.is_enough, tuple(said.requests))

    @or_offline("research")
    def respond(self, inquiry: Inquiry, excerpts: Sequence[Excerpt]) -> ResearchResponse:
        """Answer in one call; what is quoted stands in the excerpts."""
        findings = self._known(inquiry)
        shown = self._fitting(excerpts, self._told(research_answer), inquiry.request, *findings)
        prompt = research_answer.render(inquiry.request, findings, [(_title(e), e.text) for e in shown])
        said = self._ask(
            "research",
            self._told(research_answer),
            prompt,
            research_answer.ResearchAnswer,
            _rests_on(shown),
            _from_prose(shown),
        )
        quotes = _quotes(said, shown) if said.is_found else []
        objection = _objection(said.answer, inquiry.request, quotes, shown) if quotes else ""
        if objection:
            self.note(objection)
            quotes = []
        known = undisputed(inquiry.request, [_words(quote, shown) for quote in quotes])
        quotes += _further(said.answer, quotes, shown, known) if quotes else []
        kept, own = borne(said.answer, [_words(quote, shown) for quote in quotes], known, _beside(inquiry, shown))
        if own:
            self.note(f"The answer says {listed(own[:NAMED])}, which no quote does; that was left out.")
        if kept and not own:
            return ResearchResponse(kept, tuple(quotes))
        instead = self._offline.respond(inquiry, excerpts)
        if kept and not instead.quotes:
            return ResearchResponse(kept, tuple(quotes), is_sure=False)
        if instead.quotes and not (own or objection):
            self.note("The model found nothing; what rules find is quoted.")
        return instead

    def _told(self, asked: ModuleType) -> str:
        """What a judgement is told, with the owner's own instructions for research."""
        return with_own(asked.INSTRUCTIONS, self._asker.settings.research_instructions)

    def _fitting(self, excerpts: Sequence[Excerpt], *shown: str) -> list[Excerpt]:
        """The first excerpts that fit into the window beside what else is shown."""
        return within(excerpts, lambda e: estimate_tokens(f"{_title(e)} {e.text}"), self._room("research", *shown))

    def _known(self, inquiry: Inquiry) -> list[str]:
        """The findings; of more than their share of the window the last ones, which say where research stands."""
        newest = [finding.text for finding in reversed(inquiry.findings)]
        return within(newest, estimate_tokens, int(self._room("research") * FINDINGS_SHARE))[::-1]


def _tokens(page: tuple[str, str]) -> int:
    return estimate_tokens(abstract.page(1, *page))


def _opening(text: str, most: int) -> str:
    """A text, or, where it fits no window, the part of it that does."""
    if estimate_tokens(text) <= most:
        return text
    spans = within(passages(text, max(1, most // 2)), lambda span: estimate_tokens(text[span[0] : span[1]]), most)
    return text[: spans[-1][1]]


def _earlier(drafts: Sequence[PageDraft], most: int) -> list[str]:
    """What the pages of a window may refer to, within so many tokens: the page before, then the best of each."""
    ranked = chain.from_iterable(zip_longest(*(draft.earlier for draft in drafts)))
    wanted = dict.fromkeys(said for said in (drafts[0].previous, *ranked) if said)
    kept: list[str] = []
    for said in wanted:
        most -= estimate_tokens(said)
        if most < 0:
            break
        kept.append(said)
    return kept


def _search(request: str, said: research_plan.RequestSearch | None, shown: Sequence[Outline]) -> PageSearch:
    """What is searched for a request; one the planner left out is searched as it stands."""
    if said is None:
        return PageSearch(request)
    pages = tuple(shown[number - 1].page for number in said.pages if 1 <= number <= len(shown))
    return PageSearch(request, tuple(said.keywords), tuple(said.queries), pages)


def _title(excerpt: Excerpt) -> str:
    """What is said of an excerpt besides its words."""
    return ", ".join(part for part in (excerpt.title or excerpt.source, excerpt.date) if part)


def _named(numbers: Sequence[int], shown: Sequence[Excerpt]) -> list[Excerpt]:
    return [shown[number - 1] for number in numbers if 1 <= number <= len(shown)]


def _quotes(said: research_answer.ResearchAnswer, shown: Sequence[Excerpt]) -> list[PageQuote]:
    """The quotes that stand in the excerpts."""
    found = (_in_named(quote, shown) or _in_another(quote.words, shown) for quote in said.quotes)
    return list(dict.fromkeys(quote for quote in found if quote and not is_order(_words(quote, shown))))


def _pages(numbers: Sequence[int], shown: Sequence[Excerpt]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(excerpt.page for excerpt in _named(numbers, shown)))


def _further(said: str, quotes: Sequence[PageQuote], shown: Sequence[Excerpt], known: Sequence[str]) -> list[PageQuote]:
    """Sentences of the excerpts that bear what an answer says and its quotes do not."""
    quoted = [*known, *(_words(quote, shown) for quote in quotes)]
    return [PageQuote(number, span) for number, span in support_for(said, quoted, [e.text for e in shown])]


def _words(quote: PageQuote, shown: Sequence[Excerpt]) -> str:
    return shown[quote.excerpt].text[slice(*quote.span)]


def _beside(inquiry: Inquiry, shown: Sequence[Excerpt]) -> list[str]:
    """What names may be taken from besides the words that are quoted: the request, titles with dates, and sources."""
    return [inquiry.request, *inquiry.open, *(f"{_title(excerpt)}\n{excerpt.source}" for excerpt in shown)]


def _held(told: str, draft: PageDraft) -> str | None:
    """An abstract without what its page does not say; None where nothing is left that speaks of the page."""
    kept = supported_part(told, [draft.text], [draft.title, draft.previous, *draft.earlier])
    return kept if kept and speaks_of(kept, f"{draft.title} {draft.text}") else None


def _objection(said: str, request: str, quotes: Sequence[PageQuote], shown: Sequence[Excerpt]) -> str:
    """Why an answer with quotes is none; empty where it may be one."""
    if not may_answer(request, "\n".join([said, *(_words(quote, shown) for quote in quotes)])):
        return "The answer holds nothing of the kind that is asked for; it was left out."
    if copies(said, [*(_words(quote, shown) for quote in quotes), *(excerpt.text for excerpt in shown)]):
        return "The answer is a stretch of a page, copied as it stands; it was left out."
    return ""


def _in_named(quote: research_answer.QuotedExcerpt, shown: Sequence[Excerpt]) -> PageQuote | None:
    """A quote in the excerpt it names, whose title stands above it and may have been copied with it."""
    if not 1 <= quote.excerpt <= len(shown):
        return None
    excerpt = shown[quote.excerpt - 1]
    below = unescape(quote.words).strip().removeprefix(f"[{_title(excerpt)}]")
    span = locate(quote.words, excerpt.text) or locate(below, excerpt.text)
    return PageQuote(quote.excerpt - 1, span) if span else None


def _in_another(words: str, shown: Sequence[Excerpt]) -> PageQuote | None:
    """A quote under a wrong number: where it stands to the letter, if that is in one excerpt alone."""
    spans = {number: locate(words, excerpt.text) for number, excerpt in enumerate(shown)}
    exact = [PageQuote(n, span) for n, span in spans.items() if span and shown[n].text[slice(*span)] == words.strip()]
    return exact[0] if len(exact) == 1 else None


def _from_prose(shown: Sequence[Excerpt]) -> Callable[[str], research_answer.ResearchAnswer | None]:
    """A reader of plain words: the sentences of them that stand in the excerpts, with these as quotes."""

    def answered(words: str, found: list[tuple[str, int]]) -> research_answer.ResearchAnswer:
        quotes = [research_answer.QuotedExcerpt(excerpt=number + 1, words=sentence) for sentence, number in found]
        return research_answer.ResearchAnswer(is_found=True, answer=words, quotes=quotes)

    return reader_of_prose([excerpt.text for excerpt in shown], answered)


def _rests_on(shown: Sequence[Excerpt]) -> Callable[[research_answer.ResearchAnswer], None]:
    """A check that an answer rests on words that stand in the excerpts."""

    def check(said: research_answer.ResearchAnswer) -> None:
        if said.is_found and not (said.answer.strip() and _quotes(said, shown)):
            raise AnswerRejected("An answer needs quotes, copied exactly from the excerpts by their numbers.")

    return check
