"""Memories for the tests in a browser: a bank over texts that disagree, a user over years, hostile and huge ones.

Loaded by path from the tests beside it (`tests` is no package).
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agentic_memory_bank import Memories, run, view
from agentic_memory_bank.runs.page_runs import PageRunOptions, memorize
from agentic_memory_bank.runs.viewer.page import page
from agentic_memory_bank.runs.viewer.shown import View
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings

QUESTION = "How high is the Orlo dam?"
REPORT = "# The dam 🏔\n\n## Height\n\nThe Orlo dam 🏞 is 92 metres high. It was finished in the autumn of 1931.\n"
TEXTS = {
    "report.md": REPORT + "\n## Water\n\n" + "The lake behind it holds water for the whole valley. " * 60,
    "leaflet.txt": "Welcome to the valley. The Orlo dam is 92 metres high and may be walked upon.\n",
    "blog.txt": "We went to the valley in May. The Orlo dam is 71 metres high, and we were tired.\n",
}
MARKUP = "</script><script>window.__ran = 1</script><img src=x onerror='window.__ran = 2'><svg onload=alert(3)>"
LINKS = "javascript:window.__ran=4 [click](javascript:alert(5)) data:text/html,<script>alert(6)</script> http://example.com/x.png"
BIDI = "price \u202e000,1\u202c \u2066abc\u2069 and \u0000 a zero"
LONG = "x" * 1_000_000
RTL = "أعيش في لشبونة منذ الربيع، وأعمل في المستشفى."


def bank(home: Path) -> View:
    """A thread over three texts, one of which is wrong."""
    documents = [{"text": text, "source": name} for name, text in TEXTS.items()]
    run(QUESTION, documents=documents, thread="dam", home=home, embeddings=HashEmbeddings())
    return view("dam", home=home)


class Years:
    """A clock that goes on by a month each time it is set forward."""

    def __init__(self) -> None:
        self.now = datetime(2024, 3, 1, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def later(self, days: int) -> None:
        self.now += timedelta(days=days)


def user(home: Path, question: str | None = None) -> View:
    """A user who has moved, changed jobs, and said things that contradict each other."""
    clock = Years()
    with Memories(home=home, embeddings=HashEmbeddings(), clock=clock) as memories:
        for text in ("I live in Berlin.", "I work as a nurse.", "I moved to Lisbon.", "I work as a teacher now."):
            memories.remember(text, user="ana", conversation_id=f"chat {clock.now:%B}", end=True)
            clock.later(160)
        memories.store("My sister Nora plays the cello.", user="ana", subject="Nora", attribute="instrument")
        memories.store(RTL, user="ana", subject="ana")
    return view(user="ana", question=question, home=home, embeddings=HashEmbeddings())


def research(home: Path) -> View:
    """A memory of pages with a research in it."""
    texts = [{"text": text, "source": name} for name, text in TEXTS.items()]
    memorize(texts, "valley", home=home, given=PageRunOptions(embeddings=HashEmbeddings()))
    return view(memory="valley", question=QUESTION, home=home, embeddings=HashEmbeddings())


def hostile() -> dict[str, Any]:
    """Snapshots in which every text is written to do harm."""
    bad = [MARKUP, LINKS, BIDI, RTL, LONG, MARKUP + LINKS + BIDI]
    places = [
        {"text": f"e{n}", "start": 0, "end": min(len(text), 200), "quote": text[:200]} for n, text in enumerate(bad)
    ]
    texts = {
        f"e{n}": {
            "source": text[:300],
            "title": MARKUP,
            "kind": "document",
            "at": "",
            "page": n,
            "text": text,
            "abstract": text[:500],
        }
        for n, text in enumerate(bad)
    }
    memories = [
        {
            **{
                "id": f"n{n}",
                "summary": text,
                "context": text[:400],
                "keywords": [MARKUP, LINKS],
                "sources": [text[:200]],
                "at": LINKS,
            },
            **{
                "places": [places[n]],
                "merged_from": [MARKUP],
                "into": None,
                "history": [{"at": "", "context": MARKUP}],
            },
        }
        for n, text in enumerate(bad)
    ]
    claims = [{**place, "value": MARKUP, "memory": f"n{n}"} for n, place in enumerate(places[:2])]
    contradiction = {
        **{
            "id": "c.0",
            "conflict": "c",
            "position": 0,
            "status": MARKUP,
            "kind": LINKS,
            "reason": MARKUP,
            "claims": claims,
        },
        **{
            "outcome": "holds",
            "winner": 0,
            "statement": LINKS,
            "explanation": BIDI,
            "evidence": places,
            "announced": False,
            "by_hand": False,
        },
    }
    step = {
        **{
            "stage": MARKUP,
            "at": "",
            "seconds": 1.0,
            "texts": list(texts),
            "memories": [one["id"] for one in memories],
        },
        **{"gone": [], "edges": [["n0", "n1"]], "conflicts": {"c": MARKUP}, "calls": 1, "tokens": 2},
    }
    answer = {
        "question": MARKUP,
        "status": LINKS,
        "quotes": places,
        "sentences": [{"text": one, "quotes": [n]} for n, one in enumerate(bad)],
    }
    bank = {
        **{
            "kind": "bank",
            "name": MARKUP,
            "answer": answer,
            "texts": texts,
            "memories": memories,
            "edges": [["n0", "n1"]],
        },
        **{"contradictions": [contradiction], "merges": [], "steps": [step], "usage": {}, "degraded": [MARKUP]},
        "tasks": [{"id": "t", "kind": MARKUP, "description": LINKS, "status": MARKUP, "learned": BIDI}],
    }
    records = [
        record(n, text, subject=MARKUP, attribute=LINKS, project=BIDI, contradicts=["m0"]) for n, text in enumerate(bad)
    ]
    recall = {"question": MARKUP, "outcome": "used", "reason": LINKS, "held_back": [{"id": MARKUP, "cosine": 0.1}]}
    recall["shown"] = [{"id": "m0", "cosine": 0.5, "score": 0.5, "shared": [MARKUP]}]
    person = {
        "kind": "user",
        "name": MARKUP,
        "mode": "on",
        "records": records,
        "texts": {"c/t": texts["e0"]},
        "recall": recall,
    }
    one_round = {
        "requests": [MARKUP],
        "searches": [{"request": MARKUP, "keywords": [LINKS], "queries": [BIDI], "pages": []}],
    }
    one_round |= {"pages": ["e0"], "findings": 1, "known": [MARKUP], "enough": True}
    found = {
        "answer": answer,
        "rounds": [one_round],
        "findings": [{"text": MARKUP, "pages": ["e0"]}],
        "unused": ["e1"],
        "degraded": [],
    }
    return {"bank": bank, "user": person, "pages": {"kind": "pages", "name": MARKUP, "texts": texts, "research": found}}


def record(number: int, text: str, **about: Any) -> dict[str, Any]:
    """A memory of a user as it is shown."""
    source = {"conversation": "c", "turns": ["t"], "quotes": [text[:300]]}
    return {
        **{
            "id": f"m{number}",
            "type": "semantic",
            "text": text,
            "subject": None,
            "attribute": None,
            "project": "",
            "sources": [source],
        },
        **{
            "trust": 0.9,
            "importance": 0.5,
            "at": "2025-01-01T00:00:00.000000Z",
            "updated": "2025-01-01T00:00:00.000000Z",
            "until": None,
        },
        **{
            "used": 0,
            "history": [{"text": text[:300], "at": ""}],
            "replaces": [],
            "replaced_by": None,
            "replaced_how": None,
        },
        **{"evidence": [], "contradicts": [], **about},
    }


def many(count: int) -> str:
    """The page of a user of whom so many things are known."""
    names = ("Marta", "Ivo", "Lena", "Tomas", "Nora", "Pavel", "Sven")
    records = [
        record(
            n,
            f"{names[n % 7]} keeps item {n} on shelf {n % 97} of the northern depot.",
            subject=names[n % 7],
            attribute=f"item {n % 300}",
        )
        for n in range(count)
    ]
    snapshot: Any = {"kind": "user", "name": "depot", "mode": "on", "records": records, "texts": {}, "recall": None}
    return page(snapshot)


def empty() -> list[str]:
    """Pages of memories that hold nothing."""
    answer = {"question": "", "status": "running", "quotes": [], "sentences": []}
    bank: Any = {"kind": "bank", "name": "new", "answer": answer, "usage": {}, "texts": {}}
    bank |= {name: [] for name in ("memories", "edges", "contradictions", "merges", "tasks", "steps", "degraded")}
    person: Any = {"kind": "user", "name": "new", "mode": "on", "records": [], "texts": {}, "recall": None}
    pages: Any = {"kind": "pages", "name": "new", "texts": {}, "research": None}
    return [page(bank), page(person), page(pages)]
