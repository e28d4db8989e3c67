"""A scripted model that knows our questions: behind a `ModelServer` it keeps a memory bank going without judgement."""

import re
from collections.abc import Callable
from typing import Any

from agentic_memory_bank.prompts import (
    abstract,
    answer,
    classify,
    extract_facts,
    find_conflicts,
    find_related,
    integrate,
    plan,
    recognize,
    reflect_memories,
    research_answer,
    research_gather,
    research_plan,
    research_reflect,
    resolve_facts,
    rewrite_query,
    structure,
    summarise_dialogue,
    validate,
)
from agentic_memory_bank.prompts.fence import unescape
from agentic_memory_bank.testing.replies import ChatRequest, Reply

Judgement = Callable[[str], Any]
"""Answers the prompt of one kind of question with a value that is sent as JSON, or with a `Reply`."""

_QUESTIONS = {
    "classify": classify.INSTRUCTIONS,
    "structure": structure.INSTRUCTIONS,
    "find_conflicts": find_conflicts.INSTRUCTIONS,
    "find_related": find_related.INSTRUCTIONS,
    "integrate": integrate.INSTRUCTIONS,
    "plan": plan.INSTRUCTIONS,
    "validate": validate.INSTRUCTIONS,
    "answer": answer.INSTRUCTIONS,
    "recognize": recognize.INSTRUCTIONS,
    "abstract": abstract.INSTRUCTIONS,
    "plan_searches": research_plan.INSTRUCTIONS,
    "gather": research_gather.INSTRUCTIONS,
    "reflect": research_reflect.INSTRUCTIONS,
    "respond": research_answer.INSTRUCTIONS,
    "rewrite": rewrite_query.INSTRUCTIONS,
    "rewrite_with_passage": rewrite_query.WITH_PASSAGE,
    "extract_facts": extract_facts.INSTRUCTIONS,
    "resolve_facts": resolve_facts.INSTRUCTIONS,
    "summarise": summarise_dialogue.INSTRUCTIONS,
    "reflect_memories": reflect_memories.INSTRUCTIONS,
}
_WORDS = 120


class ScriptedJudge:
    """Answers each question of the chat engine as a test says, or in the simplest way that is sound.

    Not scripted: every text is one topic, whose summary is how it begins; nothing contradicts, repeats or relates; one
    step, which answers with how the first passage begins. Of pages, each excerpt is a finding, and that is enough. Of a
    conversation nothing is worth remembering, and what is drawn nevertheless concerns no memory that is there.

    Args:
        judgements: Functions by the name of the judgement, from the prompt to the answer.

    Example:
        >>> judge = ScriptedJudge(plan=lambda prompt: {"is_done": True, "kind": "", "description": ""})
        >>> judge.kind_of(ChatRequest({"messages": [{"role": "system", "content": plan.INSTRUCTIONS}]}))
        'plan'
    """

    def __init__(self, **judgements: Judgement) -> None:
        unknown = sorted(set(judgements) - set(_QUESTIONS))
        if unknown:
            raise TypeError(f"There is no judgement called {', '.join(unknown)}.")
        self._judgements = judgements

    def __call__(self, request: ChatRequest) -> Reply:
        """Answer a request."""
        kind = self.kind_of(request)
        judge = self._judgements.get(kind) or getattr(self, f"_{kind}")
        said = judge(str(request.messages[1]["content"]))
        return said if isinstance(said, Reply) else Reply(data=said)

    @staticmethod
    def kind_of(request: ChatRequest) -> str:
        """Which judgement a request asks for.

        Raises:
            LookupError: It is none of ours.
        """
        told = str(request.messages[0]["content"])
        for kind, instructions in _QUESTIONS.items():
            if told.startswith(instructions):
                return kind
        raise LookupError("This is no question of the chat engine.")

    @staticmethod
    def _classify(prompt: str) -> dict[str, Any]:
        texts = [re.findall(r'<p id="(\d+)">(.*?)</p>', text, re.DOTALL) for text in _contents(prompt, "text")]
        return {
            "topics": [
                {
                    "paragraphs": [{"first": int(text[0][0]), "last": int(text[-1][0])}],
                    "context": unescape(text[0][1])[:_WORDS],
                    "keywords": [],
                }
                for text in texts
                if text
            ]
        }

    @staticmethod
    def _structure(prompt: str) -> dict[str, Any]:
        found = re.findall(
            r'<topic id="(\d+)">\n(?:about: [^\n]*\n)?(?:keywords: [^\n]*\n)?(.*?)\n</topic>', prompt, re.DOTALL
        )
        said = [(int(number), unescape(text).strip()[:_WORDS]) for number, text in found]
        return {"memories": [{"id": n, "summary": text, "context": text, "keywords": []} for n, text in said]}

    @staticmethod
    def _find_conflicts(_: str) -> dict[str, Any]:
        return {"findings": []}

    @staticmethod
    def _find_related(_: str) -> dict[str, Any]:
        return {"related": []}

    @staticmethod
    def _integrate(prompt: str) -> dict[str, Any]:
        groups = re.findall(r'<group id="(\d+)">\n(.*?)\n</group>', prompt, re.DOTALL)
        told = [(int(number), _fields(text)) for number, text in groups]
        return {
            "merged": [
                {
                    "group": number,
                    "summary": " ".join(dict.fromkeys(said)),
                    "context": said[0],
                    "keywords": [],
                    "description": "Put together.",
                    "neighbours": [],
                }
                for number, said in told
            ]
        }

    @staticmethod
    def _plan(prompt: str) -> dict[str, Any]:
        if re.search(r"^- answer, success", prompt, re.MULTILINE):
            return {"is_done": True, "kind": "", "description": ""}
        return {"is_done": False, "kind": "answer", "description": "Answer the question from memory."}

    @staticmethod
    def _validate(prompt: str) -> dict[str, Any]:
        disputes = map(int, re.findall(r'<dispute id="(\d+)">', prompt))
        open_ = {"outcome": "inconclusive", "claim": 0, "statement": "", "explanation": "Nobody knows.", "evidence": []}
        return {"verdicts": [{"dispute": number, **open_} for number in disputes]}

    @staticmethod
    def _recognize(_: str) -> dict[str, Any]:
        return {"written": "", "shown": "A picture.", "figures": []}

    @staticmethod
    def _abstract(prompt: str) -> dict[str, Any]:
        pages = re.findall(r'<page id="(\d+)">\n(?:title: [^\n]*\n)?(.*?)\n</page>', prompt, re.DOTALL)
        said = [(int(number), unescape(text).strip()[:_WORDS]) for number, text in pages]
        return {"abstracts": [{"id": number, "abstract": text} for number, text in said]}

    @staticmethod
    def _plan_searches(prompt: str) -> dict[str, Any]:
        requests = _contents(prompt, "request")
        empty: dict[str, Any] = {"keywords": [], "queries": [], "pages": []}
        return {"searches": [{"request": number, **empty} for number, _ in enumerate(requests, 1)]}

    @staticmethod
    def _gather(prompt: str) -> dict[str, Any]:
        said = [unescape(text).strip()[:_WORDS] for text in _contents(prompt, "excerpt")]
        findings = [{"text": text, "excerpts": [number]} for number, text in enumerate(said, 1)]
        return {"findings": findings, "wrong": [], "is_enough": bool(findings)}

    @staticmethod
    def _reflect(_: str) -> dict[str, Any]:
        return {"is_enough": True, "requests": []}

    @staticmethod
    def _respond(prompt: str) -> dict[str, Any]:
        excerpts = _contents(prompt, "excerpt")
        words = unescape(excerpts[0]).strip()[-_WORDS:].strip() if excerpts else ""
        quotes = [{"excerpt": 1, "words": words}] if words else []
        return {"is_found": bool(words), "answer": words, "quotes": quotes}

    @staticmethod
    def _rewrite(prompt: str) -> dict[str, Any]:
        return {"query": unescape(_contents(prompt, "request")[-1]).strip()}

    @staticmethod
    def _rewrite_with_passage(prompt: str) -> dict[str, Any]:
        return {**ScriptedJudge._rewrite(prompt), "passage": ""}

    @staticmethod
    def _extract_facts(_: str) -> dict[str, Any]:
        return {"memories": []}

    @staticmethod
    def _resolve_facts(_: str) -> dict[str, Any]:
        return {"verdicts": []}

    @staticmethod
    def _reflect_memories(_: str) -> dict[str, Any]:
        return {"insights": []}

    @staticmethod
    def _summarise(_: str) -> dict[str, Any]:
        return {"topic": "", "facts": [], "decisions": [], "open": []}

    @staticmethod
    def _answer(prompt: str) -> dict[str, Any]:
        passages = _contents(prompt, "passage")
        words = unescape(passages[0]).strip()[:_WORDS].strip() if passages else ""
        quotes = [{"passage": 1, "words": words}] if words else []
        return {"is_found": bool(words), "answer": words, "quotes": quotes}


def _contents(prompt: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}(?: [^>]*)?>(.*?)</{tag}>", prompt, re.DOTALL)


def _fields(group: str) -> list[str]:
    """What the memories of a group say, neighbours aside."""
    own = group.split("<neighbours>")[0]
    found = re.findall(r"^(?:summary|text): (.*)$", own, re.MULTILINE)
    return [unescape(text) for text in found] or ["nothing"]
