"""Reads messages as turns of user and assistant, inserts recalled memories, and says in words what a graph found."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    convert_to_messages,
)

from agentic_memory_bank.engines.conversation import Turn
from agentic_memory_bank.nodes.memory_bank.views import digest
from agentic_memory_bank.state.errors import InputError
from agentic_memory_bank.state.memorizer import MemorizerOutput
from agentic_memory_bank.state.memory_bank import MemoryBankOutput
from agentic_memory_bank.state.research import ResearcherOutput
from agentic_memory_bank.tools.text.cleaning import clean

RECALLED: Final = "agentic_memory_bank_recalled"
"""Key in `additional_kwargs` of a message with recalled memories, which is neither remembered nor shown."""
TOLD: Final = "agentic_memory_bank_told"
"""Key beside it in a request to forget and in its answer, which an agent's model is not shown: they name it."""
REPEATS: Final = "agentic_memory_bank_repeats"
"""Key in `additional_kwargs` of an answer that only repeats what was recalled, which is not remembered."""

LONGEST_TURN: Final = 12_000
"""Characters that are read of a turn; longer ones were pasted."""
_LONGEST_WORD: Final = 200
"""Characters of a word that is left out where a turn is cut within it: half a password would look like none."""

_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OF_APPLICATION: Final = ("system", "developer")
TEXT_PARTS: Final = frozenset(("text", "input_text", "output_text"))
"""Types of the parts of a message that are its words."""


def is_of_user(message: BaseMessage) -> bool:
    """Whether the user said it, and no recalled memory stands in its place."""
    return isinstance(message, HumanMessage) and not message.additional_kwargs.get(RECALLED)


def checked_messages(given: object) -> list[BaseMessage]:
    """The messages of a conversation: LangChain's, or the mappings and pairs that LangChain takes for them.

    Raises:
        InputError: They are none, or there are none.
    """
    if isinstance(given, str | BaseMessage | Mapping):
        given = [given]
    if not isinstance(given, Sequence) or not given:
        raise InputError("There are no messages. Hand over the conversation as `messages`, the last message last.")
    try:
        return convert_to_messages(cast("Any", given))
    except (ValueError, TypeError, NotImplementedError, KeyError) as error:
        raise InputError(
            f"The messages cannot be read ({type(error).__name__}). Each is a message of LangChain's, or a mapping of "
            "role and content."
        ) from None


def turns_of(messages: Iterable[AnyMessage | BaseMessage]) -> list[Turn]:
    """What user and assistant said, oldest first; a turn has the same id whenever it is handed over.

    A turn is cut to `LONGEST_TURN` characters here, before any rule reads it.

    Args:
        messages: As `checked_messages` gives them. Those of tools and of the application are no turns.
    """
    turns: list[Turn] = []
    met: Counter[str] = Counter()
    for message in messages:
        role = _role(message)
        text = text_of(message)
        if role and text:
            same = digest(role, text)
            met[same] += 1
            id = "t" + digest(message.id or f"{same} {met[same]}")[:12]
            turns.append(Turn(id, role, truncated(text), clean(message.name or ""), _date(message)))
    return turns


def repeated_in(messages: Iterable[AnyMessage | BaseMessage]) -> set[str]:
    """List the ids of turns that only repeat what was recalled."""
    messages = list(messages)
    words = {truncated(text_of(message)) for message in messages if message.additional_kwargs.get(REPEATS)}
    return {turn.id for turn in turns_of(messages) if turn.role == "assistant" and turn.text in words}


def request_in(given: object) -> str:
    """What is asked of a graph in messages: what the user said last, all of it.

    Raises:
        InputError: They are no messages, or the user said nothing.
    """
    asked: list[str] = []
    for message in reversed(checked_messages(given)):
        if _role(message) == "user":
            asked.insert(0, text_of(message))
        elif asked:
            break
    text = "\n\n".join(filter(None, asked))
    if not text:
        raise InputError("There is no message of the user with words. Hand it over in `messages`.")
    return text


def truncated(text: str) -> str:
    """As much of what was said as is read, up to the end of a word."""
    if len(text) <= LONGEST_TURN:
        return text
    last = max(text.rfind(space, LONGEST_TURN - _LONGEST_WORD, LONGEST_TURN) for space in (" ", "\n"))
    return text[: last if last > 0 else LONGEST_TURN]


def text_of(message: BaseMessage) -> str:
    """What a message says, of all its parts that are text, without thoughts."""
    content: Any = message.content
    parts = [content] if isinstance(content, str) else content
    texts = [part if isinstance(part, str) else _text(part) for part in parts]
    return _THOUGHT.sub(" ", clean("\n".join(text for text in texts if text))).strip()


def as_message(block: str) -> HumanMessage:
    """Make the message that shows recalled memories to a model; it is never remembered itself."""
    return HumanMessage(block, additional_kwargs={RECALLED: True})


def injected(messages: Sequence[AnyMessage | BaseMessage], block: str) -> list[AnyMessage]:
    """Insert recalled memories behind the last message of the application; those of an earlier recall are taken out.

    Args:
        messages: As `checked_messages` gives them.
        block: As `recall` gives it; where it is empty, or there are no messages, nothing is put in.
    """
    kept: list[AnyMessage] = [m for m in messages if not m.additional_kwargs.get(RECALLED)]  # pyright: ignore[reportAssignmentType]
    if not kept or not block.strip():
        return kept
    place = max((place for place, message in enumerate(kept, start=1) if _is_of_application(message)), default=0)
    return [*kept[:place], as_message(block), *kept[place:]]


def _text(part: Mapping[str, Any]) -> str:
    text = part.get("text")
    return text if part.get("type") in TEXT_PARTS and isinstance(text, str) else ""


def _role(message: BaseMessage) -> Any:
    if message.additional_kwargs.get(RECALLED):
        return None
    if isinstance(message, HumanMessage):
        return "user"
    return "assistant" if isinstance(message, AIMessage) else None


def _date(message: BaseMessage) -> str:
    """When it was said, where the application says so."""
    date = message.additional_kwargs.get("date") or message.response_metadata.get("date")
    return date if isinstance(date, str) else ""


def _is_of_application(message: BaseMessage) -> bool:
    """Whether the application says it; LangChain keeps the role developer as a kind of system message."""
    return isinstance(message, SystemMessage) or (isinstance(message, ChatMessage) and message.role in _OF_APPLICATION)


def answer_in_words(found: MemoryBankOutput) -> str:
    """The answer of a memory bank with its quotes, and what contradicts them."""
    lines = [found.get("answer") or f"There is no answer ({found.get('status', 'stopped')})."]
    if sources := found.get("sources"):
        lines += ["", "Quotes:", *(f"- “{source['quote']}” ({source['source']})" for source in sources)]
    conflicts = found.get("conflicts", [])
    if touching := [conflict for conflict in conflicts if conflict["in_answer"]]:
        lines += ["", "Contradictions:", *(line for conflict in touching for line in _conflict(conflict))]
    if elsewhere := len(conflicts) - len(touching):
        lines += ["", f"The texts also contradict each other where the question does not ask ({elsewhere})."]
    return "\n".join(lines)


def research_in_words(found: ResearcherOutput) -> str:
    """The answer of a researcher with its quotes, or what it found on the way."""
    lines = [found.get("answer") or f"There is no answer ({found.get('status', 'stopped')})."]
    if sources := found.get("sources"):
        quoted = (f"- “{s['quote']}” ({', '.join(filter(None, (s['title'], s['source'])))})" for s in sources)
        lines += ["", "Quotes:", *quoted]
    elif findings := found.get("findings"):
        lines += ["", "Found on the way:", *(f"- {finding['text']}" for finding in findings)]
    return "\n".join(lines)


def pages_in_words(found: MemorizerOutput) -> str:
    """How many pages a memorizer kept, and what it left out."""
    skipped = [one["reason"] for one in found.get("skipped", [])]
    reasons = ", ".join(f"{skipped.count(reason)} {reason}" for reason in dict.fromkeys(skipped))
    return f"Pages kept: {len(found.get('pages', []))}." + (f" Left out: {reasons}." if reasons else "")


def _conflict(conflict: Mapping[str, Any]) -> list[str]:
    """The claims of a contradiction, and what came of it."""
    claims = [f"“{claim['quote']}” ({claim['source']})" for claim in conflict["claims"]]
    winner: int | None = conflict["winner"] if conflict["outcome"] == "holds" else None
    verdict = f"{claims[winner]} holds" if winner is not None else conflict["outcome"]
    said = ". ".join(filter(None, (verdict, conflict["statement"], conflict["explanation"])))
    return [f"- {' against '.join(claims)}: {said}"]
