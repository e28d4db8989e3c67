"""Says where a conversation stands: what it is about, what somebody is after, what holds, was decided, and is open.

What a conversation is about is what comes up again in what the user tells, not what was asked last: a request for a
template in the midst of plans for a wedding leaves the wedding its topic.
"""

import re
from collections import defaultdict
from collections.abc import Container, Sequence
from typing import Final

from agentic_memory_bank.engines.conversation import DIGEST_TOPIC, Digest, Fact, Turn
from agentic_memory_bank.engines.extractive.reading.attributes import claims_of, same_attribute
from agentic_memory_bank.engines.extractive.reading.phrases import ENDS_ASKING
from agentic_memory_bank.engines.extractive.remembering.changes import replaced
from agentic_memory_bank.engines.extractive.remembering.extraction import select
from agentic_memory_bank.engines.extractive.remembering.open_points import still_to_do
from agentic_memory_bank.engines.extractive.remembering.queries import is_greeting, key_terms
from agentic_memory_bank.engines.extractive.remembering.statements import is_asking, is_statement
from agentic_memory_bank.engines.own_words import own_words
from agentic_memory_bank.tools.text.names import names_and_numbers
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.secrets import secrets_in
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.terms import tokenize
from agentic_memory_bank.tools.text.tokens import estimate_tokens

TOPIC_TERMS: Final = 6
KEPT: Final = 2.0
"""What a term counts that was the topic until now."""
ASKED: Final = 0.4
"""What one counts that stands only in what is asked for."""
NAMED: Final = 0.5
"""What one gains as a name, or behind an article or "my": it is a thing, and not what is done with it."""
MOST_FIGURES: Final = 12
"""Facts with figures, the latest, that are compared with each other."""

_DECISION: Final = lazy_pattern(
    r"\b(?:(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|chose|picked)|let'?s go with|(?:i|we)(?:'ll"
    r"| will) (?:take|go with)"
    r"|(?:it's|that's) (?:decided|settled)|the decision is)\b|决定|就选|选定|定了|确定(?:了|用|选)"
    r"|\A(?:那|行|好|可以|嗯|[，,\s]){1,4}(?:就|还是|用|选)[^，。？?]{1,14}(?:吧|了)?\W*\Z",
    re.IGNORECASE,
)
_GOAL: Final = lazy_pattern(
    r"\b(?:i|we)(?:'m|'re| am| are)? (?:now |currently |just )?(?:planning|organi[sz]ing|preparing|trying to|working on"
    r"|writing|building|saving (?:up )?for|training for|hoping to|want(?:ing)? to|would like to|getting married"
    r"|moving (?:to|house|in|out)|renovating|redoing|doing up|house[- ]hunting|looking for an?|applying (?:for|to)"
    r"|having a baby|hosting|throwing a|opening a|revising for|studying for)\b"
    r"|\b(?:i|we) (?:need|could use|could do with|want) (?:some |your |a bit of |a little )?help\b"
    r"|\bi'd like to\b|\b(?:my|our) (?:goal|aim|plan) is\b|\bhelp me (?:to )?(?:plan|organi[sz]e|prepare|write|build)\b"
    r"|我们?(?:正在|在|想要?|打算|准备|计划|要)(?:筹备|策划|规划|组织|安排|准备|办|写|做|学|考|装修|开|买|卖|租|搬|换|找|申请|去|减)|目标是"
    r"|帮我们?(?:策划|规划|安排|筹备|准备|组织)",
    re.IGNORECASE,
)
_ASKED: Final = lazy_pattern(rf"{ENDS_ASKING}|[吗呢]\W*+$")
_FRAMES: Final = lazy_pattern(
    r"\b(?:budget|deadline|due (?:on|by)|have to be)\b|预算|截止|期限|工期|之前(?:要|必须)", re.IGNORECASE
)
"""What everything else has to keep within, however long ago it was said."""
_FIGURE_ZH: Final = lazy_pattern(r"[一二两三四五六七八九十百千]{1,6}[百千万亿]")
_THING: Final = lazy_pattern(r"\b(?:my|our|the|an?|for|of) ([\w'-]+)(?: ([\w'-]+))?", re.IGNORECASE)


def standing(turns: Sequence[Turn], max_tokens: int) -> Digest:
    """Where a conversation stands after some turns, before which stands what was known of it.

    Args:
        turns: In the order in which they were said.
        max_tokens: What it may cost in a prompt.
    """
    topic = tuple(_topic(turns))
    goal, room = _fitting(_first(turns, _GOAL), max_tokens - estimate_tokens(" ".join(topic)), max_tokens // 3)
    open_, room = _fitting([one for one in _open(turns) if one not in goal], room, room // 3)
    decisions, room = _fitting(_latest(turns, _DECISION), room, room // 2)
    told = {*goal, *open_, *decisions}
    facts, _ = _fitting(_facts(turns, told, room), room, room)
    return Digest(topic, facts, decisions, open_, goal)


def _topic(turns: Sequence[Turn]) -> list[str]:
    """The terms that the user comes back to, the most often first, and of these the latest."""
    worth, spelt = defaultdict[str, float](float), dict[str, tuple[int, str]]()
    for place, turn in enumerate(turns):
        for term, counts in _terms(turn).items():
            name = " ".join(tokenize(term))
            if name:
                worth[name] += counts
                spelt[name] = (place, term)
    ranked = sorted(worth, key=lambda name: (-worth[name], -spelt[name][0]))
    return [spelt[name][1] for name in ranked[:TOPIC_TERMS]]


def _terms(turn: Turn) -> dict[str, float]:
    """The key terms of a turn, and what each counts."""
    if turn.id == DIGEST_TOPIC:
        return dict.fromkeys(turn.text.split("\n"), KEPT)
    if turn.role != "user":
        return {}
    found: dict[str, float] = {}
    for sentence in _said(turn):
        things = {word.casefold() for pair in _THING.findall(sentence) for word in pair}
        things.update(name.casefold() for name in names_and_numbers(sentence))
        counts = ASKED if is_asking(sentence) else 1.0
        for term in (one for one in key_terms(sentence) if not one[0].isdigit()):
            found[term] = max(found.get(term, 0.0), counts + NAMED * (term.casefold() in things))
    return found


def _facts(turns: Sequence[Turn], told: Container[str], room: int) -> list[str]:
    """What was stated of attributes, each with its last value, and what holds of figures, the latest first.

    Of what `told` does not hold, no more is looked for than fits into so many tokens: each is compared with all later
    ones.
    """
    kept: list[Fact] = []
    figures: list[Fact] = []
    for fact in reversed(select(turns)):
        ours = claims_of(fact.words, fact.speaker)
        if any(replaced(later.words, fact.words) for later in (*kept, *figures)):
            continue
        if ours and not any(same_attribute(a, b) for k in kept for a in ours for b in claims_of(k.words, k.speaker)):
            kept.append(fact)
            room -= 0 if fact.words in told else estimate_tokens(fact.words)
        elif not ours and _has_figure(fact) and (len(figures) < MOST_FIGURES or _FRAMES.search(fact.words)):
            figures.append(fact)
        if room < 0:
            break
    figures.sort(key=lambda fact: _FRAMES.search(fact.words) is None)
    return [fact.words for fact in (*kept, *figures) if fact.words not in told]


def _has_figure(fact: Fact) -> bool:
    is_figure = any(name[0].isdigit() for name in names_and_numbers(fact.words))
    return is_figure or _FIGURE_ZH.search(fact.words) is not None


def _latest(turns: Sequence[Turn], pattern: re.Pattern[str]) -> list[str]:
    """The sentences of the user that hold a pattern, the latest first."""
    return [*dict.fromkeys(reversed(_holding(turns, pattern)))]


def _first(turns: Sequence[Turn], pattern: re.Pattern[str]) -> list[str]:
    """The first sentence of the user that holds a pattern: what they came for."""
    return [said for said in _holding(turns, pattern) if is_statement(said) or is_asking(said)][:1]


def _holding(turns: Sequence[Turn], pattern: re.Pattern[str]) -> list[str]:
    said = (sentence for turn in turns if turn.role == "user" for sentence in _said(turn))
    return [sentence for sentence in said if pattern.search(sentence) and not _ASKED.search(sentence)]


def _open(turns: Sequence[Turn]) -> list[str]:
    """Questions of the last turn, and what the user says is still to be done."""
    last = [s for s in _said(turns[-1]) if _ASKED.search(s) and not is_greeting(s)] if turns else []
    return list(dict.fromkeys((*last, *still_to_do([s for t in turns if t.role == "user" for s in _said(t)]))))


def _said(turn: Turn) -> list[str]:
    text = own_words(turn.text)
    spoken = (text[start:end].strip() for start, end in sentences(text))
    return [sentence for sentence in spoken if sentence and not secrets_in(sentence)]


def _fitting(said: Sequence[str], room: int, share: int) -> tuple[tuple[str, ...], int]:
    """As many as fit into a share of the room, and the room that is left."""
    kept: list[str] = []
    for sentence in said:
        size = estimate_tokens(sentence)
        if size <= share:
            kept.append(sentence)
            share -= size
            room -= size
    return tuple(kept), room
