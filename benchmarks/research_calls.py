"""What memorizer and researcher ask their chat models: calls, longest prompts and time, next to a plain GAM loop.

Nothing is judged: a server on the loopback interface, in a process of its own, answers as a diligent model would that
follows a chain of facts and takes up only what stands before it. The same server answers both sides.

The other side is GAM's research as its paper code does it, in our own words: plan with the abstracts of all
pages, then search by keywords, by meaning and by page number one after another, integrate, check whether it is enough,
ask for what is missing, three rounds at most; the answer is one call more. Its memorizer makes one call for each page,
with the abstracts of all pages before it. Its integration, check and follow-up see no abstracts; they get none here.

Hard tasks lead on by common words, which no search follows by itself, so that each hop costs either side a round. In
the task `by names` the first page names the second, as in HotpotQA. All settings are the defaults. Pages that a task is
about have the full size; those that fill a memory up are shorter, so that 10,000 of them are indexed within seconds.
"""

import argparse
import html
import json
import os
import platform
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from checkpoint_cost import Writer  # a benchmark, too
from langchain_core.documents import Document
from openai import OpenAI

from agentic_memory_bank.graph.memorizer import build_memorizer
from agentic_memory_bank.graph.researcher import Researcher, build_researcher
from agentic_memory_bank.state.pages import Page
from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.testing import ChatRequest, ModelServer, Reply, ScriptedJudge, SpawnedServer, TickingClock
from agentic_memory_bank.tools.embeddings.encoder import Encoder
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.pages.store import page_id
from agentic_memory_bank.tools.pages.stores import PageStores
from agentic_memory_bank.tools.search.hybrid_index import HybridIndex
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

SIZES = (10, 1_000, 10_000)
LATENCY = 0.2
TRIES = 3
SEARCHED = 1_000
"""Pages of the memory in which calls and time are measured."""
PAGE_CHARACTERS = 7_800
"""About 2,000 tokens of made-up words: a page of the default size."""
SMALL_PAGE_CHARACTERS = 400
FILLING_CHARACTERS = 150
ABSTRACT_CHARACTERS = 400
"""About 65 words; the prompt of the memorizer asks for 40 to 120."""
ABOUT_A_PLACE = 6
"""Pages about the place of a task, those with its facts among them: more than one prompt of research may show."""
FAST, SLOW = "local:fast", "local:slow"
"""Names of the same model; under the second it takes its time."""
FULL_PAGES = 26
SMALL_PAGES = 64
TIMED_PAGES = 6

MOST_CALLS_A_PAGE = 1.0
MOST_CALLS_A_ROUND = 3
MOST_GROWTH = 1.05
MOST_TIME = 0.5

GAM_ROUNDS = 3
GAM_HITS = 5
"""How many pages a tool of GAM brings, and how many it reads whole at most."""

_EXCERPT = re.compile(r'<excerpt id="(\d+)">(.*?)</excerpt>', re.DOTALL)
_FINDING = re.compile(r'<finding id="\d+">(.*?)</finding>', re.DOTALL)
_QUESTION = re.compile(r"<question>(.*?)</question>", re.DOTALL)
_PAGE_LINE = re.compile(r"^Page (\w+): (.*)$", re.MULTILINE)


# --- the tasks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hop:
    """One fact of a chain."""

    request: str
    """What asks for it once the facts before it are known."""
    fact: str
    keyword: str
    title: str


@dataclass(frozen=True)
class Task:
    """A question and the facts it takes; a question without an end has requests, and no facts."""

    kind: str
    question: str
    hops: tuple[Hop, ...]
    place: str
    is_answered: bool = True


KINDS: Final = ("easy", "by names", "two rounds", "three rounds", "no answer")
TIMED: Final = KINDS[:4]
VARIANTS = TRIES + 2
"""How often each kind is there with other names, so that no answer is a kept one: first for calls, last for prompts."""


def easy(name: str, words: Sequence[str]) -> Task:
    """One fact, found by the words of the question."""
    question = f"In which year was the mill of {name} built?"
    return Task(
        "easy", question, (Hop(question, f"The mill of {name} was built in 1871.", f"{name} mill", "Mills"),), name
    )


def by_names(name: str, words: Sequence[str]) -> Task:
    """Two facts; the page of the first names what the second is about."""
    river = f"River {words[0].capitalize()}"
    question = f"In which hills does the river under the bridge of {name} rise?"
    first = f"The old bridge of {name} crosses the {river}."
    hops = (
        Hop(question, first, f"{name} bridge", f"Bridge of {name}"),
        Hop(f"Where does the {river} rise?", f"The {river} rises in the {words[1]} hills.", words[0], river),
    )
    return Task("by names", question, hops, name)


def two_rounds(name: str, words: Sequence[str]) -> Task:
    """Two facts; a common word of the first leads to the second."""
    question = f"What is paid for the fish that the seal of {name} shows?"
    hops = (
        Hop(question, f"The seal of {name} shows a fish, the {words[0]}.", f"{name} seal", f"{name} seal"),
        Hop(f"What does a basket of {words[0]} cost?", f"A basket of {words[0]} costs nine coins.", words[0], "Trade"),
    )
    return Task("two rounds", question, hops, name)


def three_rounds(name: str, words: Sequence[str]) -> Task:
    """Three facts, each led to by a common word of the one before."""
    question = f"When do they gather what is given for the fish on the flag of {name}?"
    fish, shell = words[:2]
    hops = (
        Hop(question, f"The flag of {name} shows a fish, the {fish}.", f"{name} flag", f"{name} flag"),
        Hop(f"What is given for a basket of {fish}?", f"A basket of {fish} is traded for {shell}.", fish, "Trade"),
        Hop(f"When is {shell} gathered?", f"All {shell} is gathered in the dark of winter.", shell, "Shore"),
    )
    return Task("three rounds", question, hops, name)


def no_answer(name: str, words: Sequence[str]) -> Task:
    """What no page says, whatever is asked."""
    question = f"Who painted the door of {name}?"
    asked = (question, f"Which painters worked in {name} with {words[0]}?", f"Who was paid in {name} for {words[1]}?")
    return Task("no answer", question, tuple(Hop(one, "", name, "") for one in asked), name, is_answered=False)


@cache
def tasks() -> dict[str, Task]:
    """All tasks by their question, the same in every process."""
    chance = random.Random(17)
    made: dict[str, Task] = {}
    for _ in range(VARIANTS):
        for make in (easy, by_names, two_rounds, three_rounds, no_answer):
            task = make(_word(chance).capitalize(), [_word(chance), _word(chance)])
            made[task.question] = task
    return made


def variants(kind: str) -> list[Task]:
    """The tasks of a kind."""
    return [task for task in tasks().values() if task.kind == kind]


def _word(chance: random.Random) -> str:
    """A word that no other text has."""
    return "".join(chance.choice(letters) for letters in ("bdgklmr", "aeiou") * 5)


# --- the pages ---------------------------------------------------------------------------------------------------


def page(title: str, text: str, abstract: str) -> Page:
    """A page as the memorizer would have left it."""
    return {
        "id": page_id(text, "", title),
        "title": title,
        "abstract": abstract,
        "text": text,
        "source": "",
        "metadata": {},
        "created_at": "2026-01-01T00:00:00.000000Z",
        "expires_at": None,
    }


def pages_of(task: Task) -> list[Page]:
    """The pages that hold its facts, and others that are about the same place and hold none."""
    writer = Writer(len(task.question))
    told = [(hop.title, hop.fact) for hop in task.hops if hop.fact]
    beside = range(ABOUT_A_PLACE - len(told))
    told += [(f"{task.place}, part {n}", f"Part {n} of what is told of {task.place}.") for n in beside]
    half = PAGE_CHARACTERS // 2
    return [
        page(title, f"{_told(writer, half)} {said} {_told(writer, half)}", _told(writer, ABSTRACT_CHARACTERS))
        for title, said in told
    ]


def memory(size: int) -> list[Page]:
    """The pages of all tasks, filled up with others; of the hardest task alone where there is no room for more."""
    chosen = list(tasks().values()) if size >= SEARCHED else variants("three rounds")[-1:]
    found = [one for task in chosen for one in pages_of(task)]
    return [*found, *others(size - len(found))]


def others(count: int) -> list[Page]:
    """Pages on nothing in particular."""
    writer = Writer(count)
    return [
        page(f"Page {n}", _told(writer, FILLING_CHARACTERS), _told(writer, ABSTRACT_CHARACTERS)) for n in range(count)
    ]


def _told(writer: Writer, characters: int) -> str:
    """Text of whole sentences."""
    return writer.text(characters).rpartition(".")[0] + "."


# --- a diligent model for the researcher and for the loop --------------------------------------------------------


def reached(task: Task, text: str) -> int:
    """How many facts of the chain are in a text, up to the first that is not."""
    known = [bool(hop.fact) and hop.fact in text for hop in task.hops]
    return known.index(False) if False in known else len(known)


def task_of(prompt: str) -> Task:
    """The task that a prompt is about."""
    asked = _QUESTION.search(prompt)
    return tasks()[html.unescape(asked[1]).strip() if asked else ""]


def gathered(prompt: str) -> dict[str, Any]:
    """The facts of the chain that excerpts hold, and what to search for the next one."""
    task, known = task_of(prompt), " ".join(_FINDING.findall(prompt))
    excerpts = [(int(number), html.unescape(text)) for number, text in _EXCERPT.findall(prompt)]
    upto = reached(task, " ".join([known, *(text for _, text in excerpts)]))
    new = [hop.fact for hop in task.hops[:upto] if hop.fact not in known]
    found = [{"text": fact, "excerpts": [n for n, text in excerpts if fact in text]} for fact in new]
    enough = task.is_answered and upto == len(task.hops)
    missing = [
        {"request": hop.request, "keywords": [hop.keyword], "queries": [hop.request]}
        for hop in task.hops[upto:][: 0 if enough else 1]
    ]
    return {"findings": found, "wrong": [], "is_enough": enough, "missing": missing}


def reflected(prompt: str) -> dict[str, Any]:
    """The request for the next fact; where there is none to be had, one that was not made before."""
    task, asked = task_of(prompt), html.unescape(prompt)
    if task.is_answered:
        wanted = [hop.request for hop in task.hops[reached(task, asked) :][:1]]
    else:
        wanted = [hop.request for hop in task.hops if f">{hop.request}<" not in asked][:1]
    return {"is_enough": task.is_answered and not wanted, "requests": wanted}


def planned(prompt: str) -> dict[str, Any]:
    """For each request its keyword and its own words."""
    hops = {hop.request: hop for hop in task_of(prompt).hops}
    requests = [html.unescape(text) for text in re.findall(r'<request id="\d+">(.*?)</request>', prompt)]
    searches = [
        {"request": n, "keywords": [hops[text].keyword] if text in hops else [], "queries": [text], "pages": []}
        for n, text in enumerate(requests, 1)
    ]
    return {"searches": searches}


def responded(prompt: str) -> dict[str, Any]:
    """The last fact, quoted."""
    task = task_of(prompt)
    last = task.hops[-1].fact
    quotes = [{"excerpt": int(n), "words": last} for n, text in _EXCERPT.findall(prompt) if last and last in text][:1]
    return {"is_found": bool(quotes), "answer": last if quotes else "", "quotes": quotes}


ours = ScriptedJudge(gather=gathered, reflect=reflected, plan_searches=planned, respond=responded)


def serve(request: ChatRequest) -> Reply:
    """Answer either side; served by another process."""
    stage = str(request.messages[0]["content"]).partition("\n")[0]
    is_gam = stage in _STAGES
    said = Reply(data=_STAGES[stage](json.loads(request.messages[1]["content"]))) if is_gam else ours(request)
    return replace(said, latency=LATENCY) if request.model == SLOW.partition(":")[2] else said


# --- GAM's loop --------------------------------------------------------------------------------------------------


GAM_MEMORIZE = "GAM memorize\nWrite the abstract of a page, given the abstracts of all pages before it."
GAM_PLAN = "GAM plan\nSay what is needed and which tools look for it with what, given the abstracts of all pages."
GAM_INTEGRATE = "GAM integrate\nBring what is known up to date with the pages that were found. Facts only, no answer."
GAM_CHECK = "GAM check\nSay whether what is known is enough for the request."
GAM_FOLLOW_UP = "GAM follow up\nWrite up to five requests for what is missing, the most important first."
GAM_ANSWER = "GAM answer\nAnswer the request from what is known."

Given = dict[str, Any]


def _gam_plan(given: Given) -> Given:
    """All tools for the request: its keyword, its words, and the pages whose abstract has the keyword."""
    hop = next(h for task in tasks().values() for h in task.hops if h.request == given["request"])
    named = [number for number, said in _PAGE_LINE.findall(given["memory"]) if hop.keyword in said]
    return {
        "info_needs": [given["request"]],
        "tools": ["keyword", "vector", "page_index"],
        "keyword_collection": [hop.keyword],
        "vector_queries": [given["request"]],
        "page_index": [int(number) for number in named[:GAM_HITS]],
    }


def _gam_integrate(given: Given) -> Given:
    task = tasks()[given["request"]]
    upto = reached(task, " ".join([given["known"], *given["pages"].values()]))
    facts = [hop.fact for hop in task.hops[:upto]]
    sources = [number for number, text in given["pages"].items() if any(fact in text for fact in facts)]
    return {"content": " ".join(facts), "sources": sources}


def _gam_check(given: Given) -> Given:
    task = tasks()[given["request"]]
    return {"enough": task.is_answered and reached(task, given["known"]) == len(task.hops)}


def _gam_follow_up(given: Given) -> Given:
    task = tasks()[given["request"]]
    if task.is_answered:
        return {"new_requests": [task.hops[reached(task, given["known"])].request]}
    return {"new_requests": [random.Random(given["last"]).choice(task.hops).request]}


def _gam_answer(given: Given) -> Given:
    return {"answer": given["known"]}


def _gam_memorize(given: Given) -> Given:
    return {"abstract": given["message"][:ABSTRACT_CHARACTERS]}


_STAGES: dict[str, Callable[[Given], Given]] = {
    told.partition("\n")[0]: stage
    for told, stage in (
        (GAM_MEMORIZE, _gam_memorize),
        (GAM_PLAN, _gam_plan),
        (GAM_INTEGRATE, _gam_integrate),
        (GAM_CHECK, _gam_check),
        (GAM_FOLLOW_UP, _gam_follow_up),
        (GAM_ANSWER, _gam_answer),
    )
}


@dataclass
class Gam:
    """GAM's two agents, one call after another, over the same pages; its searches are made with our index."""

    url: str
    pages: Sequence[Page] = ()
    model: str = FAST
    calls: int = 0
    encoder: Encoder = field(default_factory=lambda: Encoder(HashEmbeddings()))

    def __post_init__(self) -> None:
        self._client = OpenAI(base_url=self.url, api_key="none", max_retries=0)
        self._index = HybridIndex()
        vectors = self.encoder.vectors([page["text"] for page in self.pages]) if self.pages else ()
        for number, (held, vector) in enumerate(zip(self.pages, vectors, strict=True)):
            self._index.put(str(number), tokenize(held["text"]), vector)
        self.memory = abstracts_of([held["abstract"] for held in self.pages])

    def research(self, request: str) -> str:
        """What is found out about a request, in words."""
        known, asked = "", request
        for _ in range(GAM_ROUNDS):
            plan = self.ask(GAM_PLAN, request=asked, memory=self.memory)
            found = {number: self.pages[number]["text"] for number in self.search(plan)}
            known = self.ask(GAM_INTEGRATE, request=request, known=known, pages=found)["content"] or known
            if self.ask(GAM_CHECK, request=request, known=known)["enough"]:
                break
            asked = " ".join(self.ask(GAM_FOLLOW_UP, request=request, known=known, last=asked)["new_requests"])
        return known

    def answer(self, request: str) -> str:
        """The answer, which is a call of its own."""
        return self.ask(GAM_ANSWER, request=request, known=self.research(request))["answer"]

    def search(self, plan: Given) -> list[int]:
        """Pages by keywords in one string, by the sum of cosines over the queries, and by number; each once."""
        found = [hit.id for hit in self._index.search(tokenize(" ".join(plan["keyword_collection"])), None, GAM_HITS)]
        sums: Counter[str] = Counter()
        for query in plan["vector_queries"]:
            for hit in self._index.search([], self.encoder.vectors([query])[0], GAM_HITS, alpha=0.0):
                sums[hit.id] += hit.score
        found += [number for number, _ in sums.most_common(GAM_HITS)]
        found += [str(number) for number in plan["page_index"] if 0 <= number < len(self.pages)]
        return list(dict.fromkeys(map(int, found)))

    def memorize(self, texts: Sequence[str]) -> None:
        """An abstract for each text, with all those before it in the prompt."""
        said: list[str] = []
        for text in texts:
            said.append(self.ask(GAM_MEMORIZE, memory=abstracts_of(said), message=text)["abstract"])

    def ask(self, told: str, **given: Any) -> Given:
        """One call."""
        prompt = json.dumps(given, ensure_ascii=False)
        self.calls += 1
        said = self._client.chat.completions.create(
            model=self.model.partition(":")[2],
            messages=[{"role": "system", "content": told}, {"role": "user", "content": prompt}],
        )
        return json.loads(said.choices[0].message.content or "")


def abstracts_of(said: Sequence[str]) -> str:
    """The abstracts as GAM's prompts have them."""
    return "\n".join(f"Page {number}: {abstract}" for number, abstract in enumerate(said)) or "There is no memory yet."


def gam_prompt(pages: Sequence[Page], told: str, **given: str) -> int:
    """Estimated tokens of a prompt with the abstracts of all pages; computed, not sent."""
    memory = abstracts_of([held["abstract"] for held in pages])
    return estimate_tokens(told) + estimate_tokens(memory) + sum(map(estimate_tokens, given.values()))


# --- what is measured --------------------------------------------------------------------------------------------


@contextmanager
def serving() -> Iterator[SpawnedServer]:
    """The model in a process of its own; models named `local:` are this one, and no proxy is between."""
    place = str(Path(__file__).parent)
    kept = dict(os.environ)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        os.environ.pop(name)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [place, kept.get("PYTHONPATH")]))
    try:
        with ModelServer.spawn("research_calls:serve") as server:
            os.environ["MEMORY_BANK_LOCAL_BASE_URL"] = server.url
            yield server
    finally:
        os.environ.clear()
        os.environ.update(kept)


@dataclass(frozen=True)
class Asked:
    """What the server was asked."""

    calls: Counter[str]
    longest: Mapping[str, int]
    """Estimated tokens of the longest prompt, by judgement."""
    tokens: int
    """Of all prompts."""

    @classmethod
    def of(cls, requests: Sequence[ChatRequest]) -> "Asked":
        """Count requests by judgement."""
        calls: Counter[str] = Counter()
        longest: Counter[str] = Counter()
        total = 0
        for request in requests:
            kind, tokens = ScriptedJudge.kind_of(request), estimate_tokens(request.text)
            calls[kind] += 1
            longest[kind] = max(longest[kind], tokens)
            total += tokens
        return cls(calls, longest, total)

    def __str__(self) -> str:
        return ", ".join(f"{kind} {tokens:,}" for kind, tokens in sorted(self.longest.items()))


@cache
def settings_of(model: str) -> Settings:
    """The defaults, with this model; made once, as an application does."""
    return Settings(model=model)


def researcher_of(pages: Sequence[Page]) -> Researcher:
    """A researcher over a memory of its own called `bench`."""
    stores = PageStores(in_memory=True)
    stores.of("bench").put(list(pages))
    return build_researcher(embeddings=HashEmbeddings(), stores=stores, clock=TickingClock())


def research(graph: Researcher, task: Task, model: str = FAST) -> Any:
    """Ask for what a task asks."""
    return graph.invoke({"request": task.question, "memory": "bench"}, context=settings_of(model))


def memorizing(server: SpawnedServer, sizes: Sequence[int], pages: Mapping[int, Sequence[Page]]) -> bool:
    """Whether memorizing keeps to its calls and its prompts, whatever is in the memory."""
    texts, met = fresh(FULL_PAGES, PAGE_CHARACTERS), True
    longest: dict[int, int] = {}
    theirs: dict[int, int] = {}
    for size in sizes:
        asked = memorized(server, texts, pages[size])
        calls, longest[size] = asked.calls.total() / FULL_PAGES, max(asked.longest.values())
        theirs[size] = gam_prompt(pages[size], GAM_MEMORIZE, message=texts[-1].page_content)
        met &= target(
            f"memorize {FULL_PAGES} pages of full size into {size:,}: {calls:.2f} calls a page (at most"
            f" {MOST_CALLS_A_PAGE:g}; GAM 1), {asked.tokens // FULL_PAGES:,} tokens a page (GAM {theirs[size]:,})",
            calls <= MOST_CALLS_A_PAGE,
        )
    few = memorized(server, fresh(SMALL_PAGES, SMALL_PAGE_CHARACTERS), pages[sizes[0]]).calls.total()
    met &= target(f"memorize {SMALL_PAGES} small pages: {few} calls (GAM {SMALL_PAGES})", 2 * few <= SMALL_PAGES)
    return grows("memorize", longest, theirs) and met


def fresh(count: int, characters: int) -> list[Document]:
    """Texts that no memory has yet."""
    writer = Writer(-count)
    return [Document(writer.text(characters), metadata={"title": f"New {number}"}) for number in range(count)]


def memorized(server: SpawnedServer, texts: Sequence[Document], before: Sequence[Page]) -> Asked:
    """What is asked to memorize texts into a memory that holds these pages."""
    stores = PageStores(in_memory=True)
    stores.of("bench").put(list(before))
    server.reset()
    made = build_memorizer(stores=stores, clock=TickingClock()).invoke(
        {"texts": list(texts), "memory": "bench"}, context=settings_of(FAST)
    )
    asked = Asked.of(server.chats)
    is_whole = len(made["pages"]) == len(texts) and not made["degraded"]
    return asked if is_whole else replace(asked, calls=Counter(failed=sys.maxsize))


def calls(server: SpawnedServer, graph: Researcher, loop: Gam) -> bool:
    """Whether research keeps to its calls, for each kind of task."""
    met, counted = True, Counter[str]()
    for kind in KINDS:
        task = variants(kind)[0]
        server.reset()
        result = research(graph, task)
        asked, rounds = Asked.of(server.chats), len(result["rounds"])
        own = asked.calls.total() - asked.calls["respond"]
        loop.calls = 0
        known = loop.research(task.question)
        counted.update(ours=own, theirs=loop.calls)
        right = result["answer"] == task.hops[-1].fact and reached(task, known) == len(task.hops) * task.is_answered
        right &= result["status"] == ("answered" if task.is_answered else "not_found")
        met &= target(
            f"{kind}: {own} calls in {rounds} rounds and {asked.calls['respond']} for the answer"
            f" ({', '.join(f'{k} {n}' for k, n in asked.calls.items())}; {result['status']}); GAM {loop.calls} and 1",
            right and _keeps_to_calls(kind, own, rounds, asked) and not result["degraded"],
        )
    say(f"      all of them, without answers: {counted['ours']} calls, GAM {counted['theirs']}")
    return met


def _keeps_to_calls(kind: str, own: int, rounds: int, asked: Asked) -> bool:
    """Whether a task took the rounds it is there for, and what a round may take."""
    meant = {"easy": 1, "two rounds": 2, "three rounds": 3}.get(kind, rounds)
    most = 1 if kind == "easy" else MOST_CALLS_A_ROUND * rounds
    return rounds == meant and own <= most and asked.calls["respond"] <= 1


def prompts(server: SpawnedServer, graphs: Mapping[int, Researcher], pages: Mapping[int, Sequence[Page]]) -> bool:
    """Whether prompts of research are as long with a large memory as with a small one."""
    task = variants("three rounds")[-1]
    found: dict[int, Asked] = {}
    for size, graph in graphs.items():
        server.reset()
        result = research(graph, task)
        found[size] = Asked.of(server.chats)
        say(f"      {size:,} pages, {len(result['rounds'])} rounds, longest prompts in tokens: {found[size]}")
    theirs = {size: gam_prompt(pages[size], GAM_PLAN, request=task.question) for size in graphs}
    longest = {size: max(asked.longest.values()) for size, asked in found.items()}
    first, last = (found[size].longest for size in list(graphs)[1:][:1] + list(graphs)[-1:])
    growth = {kind: last[kind] / first[kind] for kind in last if kind in first}
    kind = max(growth, key=growth.__getitem__)
    met = target(
        f"research, a prompt with {list(graphs)[-1]:,} pages over that with {list(graphs)[1]:,}: at most"
        f" {growth[kind]:.3f}, {kind} (at most {MOST_GROWTH:g})",
        growth[kind] <= MOST_GROWTH,
    )
    return grows("research", longest, theirs) and met


def grows(what: str, longest: Mapping[int, int], theirs: Mapping[int, int]) -> bool:
    """Whether the longest prompt is the same at all sizes."""
    found = max(longest.values()) / min(longest.values())
    return target(
        f"{what}, longest prompt at {_named(longest)} pages: {_named(longest.values())} tokens, ratio {found:.3f}"
        f" (at most {MOST_GROWTH:g}); GAM {_named(theirs.values())}",
        found <= MOST_GROWTH,
    )


def _named(numbers: Iterable[int]) -> str:
    return " / ".join(f"{number:,}" for number in numbers)


@dataclass(frozen=True)
class Spent:
    """What a piece of work took, in seconds."""

    passed: float
    """By the clock on the wall."""
    computed: float
    """Of the processor, in this process alone: on a busy machine more than that is lost by waiting for it."""

    @classmethod
    def on(cls, work: Callable[[], object]) -> "Spent":
        """Do the work and take its time."""
        start, busy = time.perf_counter(), time.process_time()
        work()
        return cls(time.perf_counter() - start, time.process_time() - busy)

    @classmethod
    def median(cls, tries: Sequence["Spent"]) -> "Spent":
        """Of several tries, each figure by itself."""
        return cls(statistics.median(s.passed for s in tries), statistics.median(s.computed for s in tries))

    @classmethod
    def sum(cls, parts: Iterable["Spent"]) -> "Spent":
        """One after the other."""
        listed = list(parts)
        return cls(sum(part.passed for part in listed), sum(part.computed for part in listed))

    def __str__(self) -> str:
        return f"{self.passed:.2f} s ({self.computed:.2f} s of them computing)"


Sides = tuple[Spent, Spent]
"""Ours, and that of the loop."""


def timing(graph: Researcher, loop: Gam, tries: int) -> bool:
    """Whether research takes at most half of the time of the loop."""
    loop.model = SLOW
    answer_both(graph, loop, variants("two rounds")[0])  # a client of the slow model is made, a connection opened
    spent = {kind: [answer_both(graph, loop, task) for task in variants(kind)[1 : tries + 1]] for kind in TIMED}
    medians = {kind: _medians(found) for kind, found in spent.items()}
    for kind, sides in medians.items():
        say(f"      {kind}: {_compared(sides)}")
    texts = [Writer(n).text(PAGE_CHARACTERS) for n in range(TIMED_PAGES)]
    memorized_in = _medians([memorize_both(loop.url, texts) for _ in range(tries)])
    say(f"      memorize {TIMED_PAGES} pages: {_compared(memorized_in)}")
    say(f"      all questions but those by names: {_compared(_total(medians, without='by names'))}")
    own, theirs = _total(medians)
    return target(
        f"{len(TIMED)} questions at {LATENCY * 1_000:.0f} ms a call, {len(loop.pages):,} pages, medians of {tries}:"
        f" {_compared((own, theirs))} (at most {MOST_TIME:g})",
        own.passed <= MOST_TIME * theirs.passed,
    )


def _medians(tries: Sequence[Sides]) -> Sides:
    return Spent.median([own for own, _ in tries]), Spent.median([theirs for _, theirs in tries])


def _total(medians: Mapping[str, Sides], without: str = "") -> Sides:
    kept = [sides for kind, sides in medians.items() if kind != without]
    return Spent.sum(own for own, _ in kept), Spent.sum(theirs for _, theirs in kept)


def _compared(sides: Sides) -> str:
    own, theirs = sides
    return f"{own}, GAM {theirs}, ratio {own.passed / theirs.passed:.2f}"


def answer_both(graph: Researcher, loop: Gam, task: Task) -> Sides:
    """The way from a question to its answer."""
    return Spent.on(lambda: research(graph, task, SLOW)), Spent.on(lambda: loop.answer(task.question))


def memorize_both(url: str, texts: Sequence[str]) -> Sides:
    """Texts memorized in an empty memory."""
    stores = PageStores(in_memory=True)
    graph = build_memorizer(stores=stores, clock=TickingClock())
    loop = Gam(url, model=SLOW)
    given: Any = {"texts": list(texts), "memory": "bench"}
    return Spent.on(lambda: graph.invoke(given, context=settings_of(SLOW))), Spent.on(lambda: loop.memorize(texts))


def machine() -> str:
    """The machine that times are from, and how busy it is."""
    about = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*: (.*)$", about.read_text(), re.MULTILINE) if about.exists() else []
    named = models[0] if models else platform.processor() or platform.machine()
    return f"{named}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"


def target(name: str, met: bool) -> bool:
    """Print a target and whether it is met."""
    say(f"{'pass' if met else 'FAIL'}  {name}")
    return met


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Measure calls, prompts and time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller memory, one try: that it works")
    given = parser.parse_args()
    sizes = (10, SEARCHED, 2 * SEARCHED) if given.quick else SIZES
    say(f"      {machine()}")
    pages = {size: memory(size) for size in sizes}
    with serving() as server:
        met = memorizing(server, sizes, pages)
        graphs = {size: researcher_of(pages[size]) for size in sizes}
        met &= prompts(server, graphs, pages)
        graph, loop = graphs[SEARCHED], Gam(server.url, pages[SEARCHED])
        met &= calls(server, graph, loop)
        met &= timing(graph, loop, 1 if given.quick else TRIES)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
