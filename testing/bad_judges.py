"""Models that judge as badly as they can, each in its own way: what a run makes of them is tried with these."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentic_memory_bank.prompts.fence import unescape
from agentic_memory_bank.testing.judge import ScriptedJudge
from agentic_memory_bank.testing.replies import ChatRequest, Reply

INVENTED: Final = "Doctor Zork paid 999 dollars for it in 1066."
"""What no text says."""
_DENIALS: Final = re.compile(r"\b(?:not|no|never|cannot)\b ?|n't\b|不|没有|没|禁止", re.IGNORECASE)
_ORDER: Final = re.compile(r"[^.\n]*\b(?:ignore|disregard)\b[^.\n]*", re.IGNORECASE)

CONTRADICTING: Final = (
    ("The Vega tower is 324 m tall.", "The Vega tower is 330 m tall."),
    ("The lift of the Orion is open.", "The lift of the Orion is not open."),
    ("Dogs are allowed in the park.", "Dogs are forbidden in the park."),
    ("The keys hang in the kitchen.", "The keys hang in the garden."),
    ("Anna Berg manages Karl Voss.", "Karl Voss manages Anna Berg."),
    ("The old table is made of oak.", "The old table is made of steel."),
    ("Three wells supply the village.", "Seven wells supply the village."),
    ("The museum opened in May 1961.", "The museum opened in May 1971."),
    ("The ferry leaves on Monday.", "The ferry leaves on Friday."),
    ("Lisbon is the home of Maria Costa.", "Madrid is the home of Maria Costa."),
    ("The server listens on port 8080.", "The server listens on port 9090."),
    ("The red team won the cup.", "The blue team won the cup."),
    ("Karl Voss never smokes.", "Karl Voss smokes."),
    ("The contract ends on 3 June 2025.", "The contract ends on 3 July 2025."),
    ("The bridge is 85 m long.", "The bridge is 58 m long."),
    ("The pool is always heated.", "The pool is never heated."),
    ("Paul Lind wrote the report.", "Nora Falk wrote the report."),
    ("青藏铁路全长1956公里。", "青藏铁路全长2156公里。"),
    ("公园里允许遛狗。", "公园里禁止遛狗。"),
    ("他喜欢吃辣的菜。", "他不喜欢吃辣的菜。"),
)
"""Twenty pairs of texts that cannot both be true."""

Judge = Callable[[ChatRequest], Reply]


def prose(_: ChatRequest) -> Reply:
    """Chats in place of answering."""
    return Reply("Certainly! That is a very good question. Let me think about it step by step.")


def looping(_: ChatRequest) -> Reply:
    """Says the same until it is cut off."""
    return Reply('{"topics": [' + '{"paragraphs": [{"first": 1, "last": 1}], ' * 40, finish_reason="length")


def merging(request: ChatRequest) -> Reply:
    """Takes everything for the same."""
    return _scripted(request, find_conflicts=all_the_same)


def idle(request: ChatRequest) -> Reply:
    """Is done at once, finds nothing, and has nothing to say."""
    nothing: dict[str, Any] = {"is_found": False, "answer": "", "quotes": []}
    return _scripted(
        request,
        plan=lambda _: {"is_done": True, "kind": "", "description": ""},
        classify=lambda _: {"topics": []},
        answer=lambda _: nothing,
        respond=lambda _: nothing,
        gather=lambda _: {"findings": [], "wrong": [], "is_enough": True},
    )


def inventing(request: ChatRequest) -> Reply:
    """Says what no text says, wherever it says something."""
    return _retold(request, lambda _: INVENTED)


def affirming(request: ChatRequest) -> Reply:
    """Says what the texts say, without what they deny."""
    return _retold(request, lambda text: _DENIALS.sub("", text))


def quoting_the(request: ChatRequest) -> Reply:
    """Quotes "the" for whatever it says."""
    quotes: list[dict[str, Any]] = [
        {"passage": n, "excerpt": n, "words": w} for n, w in enumerate(("the", "24", "."), 1)
    ]
    said: dict[str, Any] = {"is_found": True, "answer": "It is so.", "quotes": quotes}
    return _scripted(request, answer=lambda _: said, respond=lambda _: said)


def deciding(request: ChatRequest) -> Reply:
    """Takes the first claim of every contradiction for right, by no evidence."""
    held = {"outcome": "holds", "claim": 1, "statement": "", "explanation": "It is so.", "evidence": list[int]()}

    def first(prompt: str) -> dict[str, Any]:
        return {"verdicts": [{"dispute": int(n), **held} for n in re.findall(r'<dispute id="(\d+)">', prompt)]}

    return _scripted(request, validate=first)


def obeying(request: ChatRequest) -> Reply:
    """Does what a document tells it to."""

    def told(text: str) -> str:
        order = _ORDER.search(text)
        return order[0].strip() if order else text

    return _retold(request, told)


BAD_JUDGES: Final[Mapping[str, Judge]] = {
    judge.__name__: judge
    for judge in (prose, looping, merging, idle, inventing, affirming, quoting_the, deciding, obeying)
}
"""All of them, by name."""


def all_the_same(prompt: str) -> dict[str, Any]:
    """Every pair of a question says the same."""
    lines = "".join(re.findall(r"<pairs>\n(.*?)\n</pairs>", prompt, re.DOTALL)).splitlines()
    pairs = [(int(new), int(o)) for new, _, others in (x.partition(": ") for x in lines) for o in others.split(", ")]
    empty = {"kind": "", "reason": "Both say the same.", "new_claim": "", "other_claim": ""}
    return {"findings": [{"new": a, "other": b, "relation": "merge", **empty} for a, b in pairs]}


def _scripted(request: ChatRequest, **judgements: Callable[[str], Any]) -> Reply:
    """A scripted judge that also chats, as badly."""
    judge = ScriptedJudge(**judgements)
    try:
        judge.kind_of(request)
    except LookupError:
        return Reply(INVENTED)
    return judge(request)


def _retold(request: ChatRequest, tell: Callable[[str], str]) -> Reply:
    """The simplest sound answer, with all that it says told otherwise; what names or copies stays as it is."""
    said = _scripted(request, find_conflicts=all_the_same, extract_facts=_every_turn)
    if said.data is None:
        return said
    return Reply(data=_told(said.data, tell))


_SAID: Final = ("summary", "context", "answer", "abstract", "text", "statement", "lesson", "topic")


def _told(data: Any, tell: Callable[[str], str]) -> Any:
    if isinstance(data, list):
        return [_told(item, tell) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        key: tell(value) if key in _SAID and isinstance(value, str) and value else _told(value, tell)
        for key, value in data.items()
    }


def _every_turn(prompt: str) -> dict[str, Any]:
    """Every turn as a memory."""
    turns = re.findall(r'<text id="(\d+)">\n[^\n]*\n(.*?)\n</text>', prompt, re.DOTALL)
    return {
        "memories": [
            {"type": "semantic", "text": unescape(said), "turns": [int(number)], "quote": unescape(said)[:200]}
            for number, said in turns
        ]
    }
