"""Answers a message of a conversation without a model: quotes what was said, with who said it and when."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from langchain_core.messages import AIMessage

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.engines.extractive.answering import quoting
from agentic_memory_bank.engines.extractive.answering.likeness import shown_text
from agentic_memory_bank.engines.extractive.answering.second_reading import Judge
from agentic_memory_bank.engines.extractive.answering.short_answers import short_answer
from agentic_memory_bank.engines.extractive.reading import phrases
from agentic_memory_bank.engines.extractive.reading.attributes import Claim, claims_of, same_attribute, same_value
from agentic_memory_bank.engines.extractive.reading.dates import day_of
from agentic_memory_bank.engines.extractive.reading.kinds import asked_for, may_hold
from agentic_memory_bank.engines.extractive.remembering.antecedents import antecedent
from agentic_memory_bank.engines.extractive.remembering.changes import replaced
from agentic_memory_bank.engines.extractive.remembering.life import asks_of_other_kin
from agentic_memory_bank.engines.extractive.remembering.overview import asks_for_everything
from agentic_memory_bank.engines.extractive.remembering.queries import is_greeting
from agentic_memory_bank.engines.extractive.remembering.statements import only_asks
from agentic_memory_bank.engines.research import Excerpt
from agentic_memory_bank.engines.responder import FOUND, QUOTED, QUOTES_ONLY, ResponderInput
from agentic_memory_bank.state.conversations import RecalledMemory
from agentic_memory_bank.tools.text.attribution import ASSISTANT, USER, unattributed
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.place import Place, Placed
from agentic_memory_bank.tools.text.sentences import QUESTION_END, sentences
from agentic_memory_bank.tools.text.terms import tokenize

QUOTES: Final = 2
"""How many sentences answer a question at most."""
LIKELY: Final = 0.25
"""Score from which a memory that was recalled answers (`benchmarks/everyday.py`)."""
AS_LIKELY: Final = 0.65
"""Share of the best memory's score from which another one is quoted beside it."""
WHOLE: Final = 200
"""Characters of a memory that is quoted as a whole: what it says stands in more than one of its sentences."""

_ASKS: Final = lazy_pattern(
    rf"{phrases.ENDS_ASKING}|[吗呢]\W*+$|{phrases.CHINESE_QUESTION_WORDS}|几[个岁号点]|(?:礼拜|星期|周)几(?!都)|哪|是否"
    r"|(?<![这那好过前后没十])几[次回口片粒趟](?:人|药)?\W*+$|(?<!没)啥(?![都也])"
    rf"|^\W*(?:please |and |so )?(?:(?:{phrases.QUESTION_WORDS})(?:['’]?s|['’]?re)?\b"
    r"|(?:do|does|did|is|are|was|were|am|can|could|will|would|should|have|has|had)"
    r" (?:i|you|we|they|he|she|it|there|this|that|any\w*|(?<!had )(?<!did )(?:the|my|our|your|his|her|their))\b)"
    r".*(?<![.!])$"
    r"|\b(?:tell me|remind me|do you (?:know|remember)|what do you know)\b",
    re.IGNORECASE,
)
_WELCOME: Final = lazy_pattern(
    r"\W*(?:hi|hello|hey|howdy|hiya|yo|greetings|good (?:morning|afternoon|evening|day)|你好|您好|大家好|嗨|哈[喽啰罗]"
    r"|早|上午好|中午好|下午好|晚上好)",
    re.IGNORECASE,
)
_WHOSE: Final = lazy_pattern(r"\bwhat(?:'s| is| are| was)\s+my\s+(.{1,60}?)\s*[?.!]*$", re.IGNORECASE)
_WHERE: Final = lazy_pattern(r"\bwhere\s+(?:do|am|did)\s+i\s+(.{1,40}?)(?:\s+now)?\s*[?.!]*$", re.IGNORECASE)
_WHICH: Final = lazy_pattern(r"\bwh(?:at|ich)\s+(\w+)\s+do\s+i\s+(\w+)\b", re.IGNORECASE)
_CHINESE_WHAT: Final = lazy_pattern(r"哪里|哪儿|哪个城市|什么地方|什么|多少|哪[个家]")
_SOMETHING: Final = "Xyz"
_SOMETHING_CHINESE: Final = "甲乙"

_WORDS: Final = {
    "known": ('You said {when}: "{words}"', "你{when}说过：“{words}”"),
    "answered": ('I said {when}: "{words}"', "我{when}说过：“{words}”"),
    "other": ('{who} said {when}: "{words}"', "{who}{when}说过：“{words}”"),
    "kept": ('It was noted {when}: "{words}"', "{when}记录：“{words}”"),
    "here": ("in this conversation", "在这次对话中"),
    "on": ("on {day}", "于{day}"),
    "earlier": ("earlier", "之前"),
    "unknown": (
        "I know nothing about that: neither this conversation nor an earlier one says it.",
        "这一点我不知道：无论这次还是以前的对话里都没有提到。",
    ),
    "nothing": ("You have told me nothing yet that I keep.", "你还没有告诉过我什么，我没有记着的内容。"),
    "noted": ("Noted.", "好的，知道了。"),
    "hello": ("Hello.", "你好。"),
    "agreed": ("All right.", "好的。"),
}
"""What is said, in English and in Chinese."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A text at hand: who said it, and when, as far as that is known."""

    text: str
    speaker: str
    """Empty where nobody is named."""
    day: str
    """ISO 8601; empty for what was said in this conversation."""
    place: str
    """`here` for this conversation, else `on` or `earlier`."""
    score: float


class ExtractiveResponder:
    """Selects sentences, and writes none but a few fixed ones: deterministic, offline, for English and Chinese.

    Args:
        judge: Reads the likeliest sentences beside a question. Default: words alone decide.
    """

    def __init__(self, judge: Judge | None = None) -> None:
        self._judge = judge

    @property
    def name(self) -> str:
        """The name runs are recorded under."""
        return "extractive"

    def respond(self, situation: ResponderInput) -> AIMessage:
        """Quote what answers a question, or say that nothing is known; acknowledge what is no question."""
        said, quoted = _answer(situation, self._judge)
        return AIMessage(said, response_metadata={QUOTES_ONLY: True, FOUND: bool(quoted), QUOTED: quoted})


def _answer(situation: ResponderInput, judge: Judge | None) -> tuple[str, list[str]]:
    """What is said, and what of it are quotes."""
    message, chinese = situation.message, is_cjk(situation.message)
    asked = _question(message)
    if not asked:
        kind = "noted"
        if is_greeting(message):
            kind = "hello" if _WELCOME.match(message) else "agreed"
        return _say(kind, chinese), []
    at_hand = [*_of_conversation(situation.earlier), *_of_memories(situation.memories)]
    if asks_for_everything(message):
        return _all_told(at_hand, chinese)
    is_of_others = asks_of_other_kin(asked, [said.text for said in at_hand])
    found = [] if is_of_others else _found(asked, at_hand, situation.memories, judge)
    quoted = "\n".join(_quoted(said, words, chinese) for said, words in found)
    return quoted or _say("unknown", chinese), [words for _, words in found]


def _all_told(at_hand: Sequence[_Said], chinese: bool) -> tuple[str, list[str]]:
    """All that the user has told, each thing once: what was said in this conversation, then what was remembered."""
    told = {
        shown_text(said.text).strip(): said
        for said in reversed(at_hand)
        if said.speaker.casefold() != ASSISTANT and not only_asks(said.text) and not is_greeting(said.text)
    }
    quotes = [(said, words) for words, said in reversed(told.items())]
    lines = "\n".join(_quoted(said, words, chinese) for said, words in quotes)
    return lines or _say("nothing", chinese), [words for _, words in quotes]


def _say(kind: str, chinese: bool, **values: str) -> str:
    return _WORDS[kind][chinese].format(**values)


def _question(message: str) -> str:
    """The sentences of a message that ask; empty where none does."""
    said = [message[start:end].strip() for start, end in sentences(message)]
    return " ".join(sentence for sentence in said if sentence and _ASKS.search(sentence) and not is_greeting(sentence))


# --- what is at hand -----------------------------------------------------------------------------------------------


def _of_conversation(turns: Sequence[Turn]) -> list[_Said]:
    """What was said in this conversation, questions aside, oldest first."""
    return [
        _Said(turn.text, turn.speaker or turn.role, "", "here", 1.0)
        for turn in turns
        if turn.role == USER and turn.text.strip()
    ]


def _of_memories(memories: Sequence[RecalledMemory]) -> list[_Said]:
    """What was recalled: in the words of who said it, where that is known."""
    best = max((memory["score"] for memory in memories), default=0.0) or 1.0
    found: list[_Said] = []
    for memory in memories:
        speaker, date, words = unattributed(memory["text"])
        day = _iso(date) or memory["created_at"][:10]
        found.append(_Said(words, speaker, day, "on" if day else "earlier", max(0.0, memory["score"]) / best))
    return found


def _iso(date: str) -> str:
    day = day_of(date) if date else None
    return day.isoformat() if day else ""


# --- what answers --------------------------------------------------------------------------------------------------


def _found(
    asked: str, at_hand: Sequence[_Said], memories: Sequence[RecalledMemory], judge: Judge | None
) -> list[tuple[_Said, str]]:
    """The sentences that answer a question: those that state what it asks for, else those that fit it by their words.

    Where none does, those of the memories that were recalled for it. Of an attribute that was stated more than once,
    the latest value holds.
    """
    units = [(said, words) for said in at_hand for words in _sentences(said.text)]
    stated = [unit for unit in units if _states(unit, asked)]
    chosen = stated or _together(_fitting(asked, units, judge), list(_likely(asked, memories)))
    current = [_latest(_changed(unit, units), units) for unit in chosen]
    return list({words: (said, words) for said, words in reversed(current)}.values())[::-1][:QUOTES]


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        words = text[start:end].strip()
        if words and not QUESTION_END.search(words):
            yield words


def _fitting(asked: str, units: Sequence[tuple[_Said, str]], judge: Judge | None) -> list[tuple[_Said, str]]:
    passages = [
        quoting.Passage(str(n), words, said.score, [Placed(0, len(words), Place(speaker=said.speaker, kind="turn"))])
        for n, (said, words) in enumerate(units)
    ]
    found = [int(quote.passage) for quote in quoting.quotes(asked, passages, limit=QUOTES, judge=judge)]
    if not found and is_cjk(asked):
        short = short_answer(asked, [Excerpt("", "", words, said.score) for said, words in units])
        found = [quote.excerpt for quote in short.quotes[:1]] if short else []
    return [units[number] for number in found]


def quoted_from(question: str, texts: Sequence[str], limit: int = QUOTES) -> list[tuple[int, tuple[int, int]]]:
    """The sentences that answer a question, each the index of a text and a span in it; the best text comes first."""
    passages = [quoting.Passage.of(str(n), text, 1 / (1 + n)) for n, text in enumerate(texts)]
    return [(int(q.passage), (q.start, q.end)) for q in quoting.quotes(question, passages, limit=limit)]


def _likely(asked: str, memories: Sequence[RecalledMemory]) -> Iterator[tuple[_Said, str]]:
    """What the likeliest memories say that hold the kind of thing that is asked for, the likeliest first."""
    kinds = asked_for(asked)
    least = max(LIKELY, AS_LIKELY * max((memory["score"] for memory in memories), default=0.0))
    for memory, said in zip(memories, _of_memories(memories), strict=True):
        words = shown_text(said.text).strip()
        if memory["score"] < least or said.speaker == ASSISTANT or not may_hold(kinds, words):
            continue
        told = [words] if len(words) <= WHOLE else [one for one in _sentences(words) if may_hold(kinds, one)] or [words]
        yield said, max(told, key=lambda one: len(set(tokenize(asked)) & set(tokenize(one))))


def _together(fitting: Sequence[tuple[_Said, str]], likely: Sequence[tuple[_Said, str]]) -> list[tuple[_Said, str]]:
    """The sentences that fit and the likeliest memories: a sentence of one of these is quoted with the rest of it."""
    if any(said.place == "here" for said, _ in fitting):
        return [*fitting, *likely]
    whole = [next((one for one in likely if words in one[1]), (said, words)) for said, words in fitting]
    return [*likely[:1], *(one for one in whole if one not in likely[:1]), *likely[1:]]


def _states(unit: tuple[_Said, str], asked: str) -> bool:
    said, words = unit
    return any(same_attribute(ours, asked_for) for ours in _claims(said, words) for asked_for in _asked_for(asked))


def _asked_for(asked: str) -> list[Claim]:
    """What a question asks for, as what it would be to state it."""
    probes: list[str] = []
    if found := _WHOSE.search(asked):
        probes.append(f"My {found[1]} is {_SOMETHING}.")
    if found := _WHERE.search(asked):
        probes += [f"I {found[1]} {where} {_SOMETHING}." for where in ("in", "at")]
    if found := _WHICH.search(asked):
        probes.append(f"I {found[2]} a {_SOMETHING} {found[1]}.")
        probes.append(f"My {found[1]} is a {_SOMETHING}.")
    if is_cjk(asked):
        probes.append(_CHINESE_WHAT.sub(_SOMETHING_CHINESE, asked.rstrip("？?呢吗 ")))
    return [claim for probe in probes for claim in claims_of(probe)]


def _claims(said: _Said, words: str) -> tuple[Claim, ...]:
    """What a sentence states; "I" is the user, whatever their name."""
    return claims_of(words) if said.speaker != ASSISTANT else ()


def _changed(unit: tuple[_Said, str], units: Sequence[tuple[_Said, str]]) -> tuple[_Said, str]:
    """The last sentence of this conversation that changes what one says, also where it calls the thing "it"."""
    said, words = unit
    here = [one for one in units if one[0].place == "here" and one[0].speaker.casefold() == said.speaker.casefold()]
    place = next((place for place, (_, text) in enumerate(here) if text == words), None)
    since = [unit, *here] if place is None else here[place:]  # all of this conversation is later than a memory
    for later in range(len(since) - 1, 0, -1):
        change = since[later][1]
        before = [text for _, text in since[:later]]
        found = antecedent(change, before)
        thing = before[found[0]][slice(*found[1])] if found else ""
        if replaced(f"{thing} {change}", words):
            return since[later]
    return unit


def _latest(unit: tuple[_Said, str], units: Sequence[tuple[_Said, str]]) -> tuple[_Said, str]:
    """The last thing that was said of the attribute that a sentence states; what was said in here is the latest."""
    said, words = unit
    claims = _claims(said, words)
    others = [
        (other.place == "here", other.day, place, (other, text))
        for place, (other, text) in enumerate(units)
        if other.speaker.casefold() == said.speaker.casefold()
        and any(
            same_attribute(a, b) and (text == words or not same_value(a, b))
            for a in _claims(other, text)
            for b in claims
        )
    ]
    return max(others, key=lambda one: one[:3])[3] if others else unit


def _quoted(said: _Said, words: str, chinese: bool) -> str:
    when = _say(said.place, chinese, day=said.day) if said.place == "on" else _say(said.place, chinese)
    kind = {"": "kept", USER: "known", ASSISTANT: "answered"}.get(said.speaker.casefold(), "other")
    return _say(kind, chinese, when=when, words=words, who=said.speaker)
