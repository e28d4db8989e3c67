"""What a text says in its writer's own words, and whether it gives orders to a model, as a prompt injection does."""

import re
from typing import Final

from agentic_memory_bank.prompts.fence import TAGS
from agentic_memory_bank.tools.text.patterns import lazy_pattern

FOREIGN: Final = lazy_pattern(
    rf"<(?P<tag>{'|'.join((*TAGS, 'thinking', 'memories', 'recalled', 'excerpt', 'system'))})\b[^>]{{0,300}}>.*?(?:</"
    rf"(?P=tag)\s*>|\Z)"
    r"|(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z)|^[ \t]*>[^\n]*$|`[^`\n]*`"
    r"|\"[^\"\n]{12,}\"|“[^”]{6,1000}”|「[^」]{9,1000}」|『[^』]{9,1000}』",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
"""What somebody else has said: tags of ours, code, quoted lines, longer quotations."""
END_OF_THOUGHT: Final = lazy_pattern(r"\A.*</think(?:ing)?\s*>", re.IGNORECASE | re.DOTALL)
"""What stands before a tag that was never opened: some models leave the first one out."""
PASTED: Final = lazy_pattern(
    r"\b(?:translate|summari[sz]e|rewrite|rephrase|paraphrase|proofread|correct|edit|improve|analy[sz]e|review"
    r"|classify|format|"
    r"convert|explain|shorten|continue|fix|parse|extract)\b[^\n.!?]{0,80}[:：]"
    r"|\b(?:here is|here's|this is|below is|the following) (?:an?|the|my|some)? ?(?:\w+ ){0,3}"
    r"(?:text|article|email|e-mail|letter|essay|story|poem|log|code|transcript|document|message|paragraph|passage"
    r"|review)[^\n.!?]{0,40}[:：]"
    r"|(?:翻译|总结|改写|润色|校对|分析|概括|解释)[^\n。！？]{0,30}[:：]",
    re.IGNORECASE,
)
"""What announces a text that is to be worked on; what follows is material."""
ORDERS: Final = lazy_pattern(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules?|guidelines?|memor(?:y|ies)"
    r"|above|previous)\b"
    r"|^\W*(?:system|assistant|developer|human)\s*[:：]|<\|?(?:im_start|system|endoftext)|\bsystem prompt\b"
    r"|\bjailbreak\b"
    r"|忽略.{0,12}(?:指令|指示|规则|提示|要求)|^\W*系统\s*[:：]",
    re.IGNORECASE,
)
"""What tells a model to set its instructions aside, or plays its system."""


def own_words(text: str) -> str:
    """Blank what the writer of a text has not said: thoughts, quotes, code, recalled memories. The length stays.

    Example:
        >>> own_words("I live in Lisbon. `SELECT 1`").strip()
        'I live in Lisbon.'
    """
    text = END_OF_THOUGHT.sub(_blank, text) if "</think" in text.casefold() else text
    text = FOREIGN.sub(_blank, text)
    pasted = PASTED.search(text)
    return text if pasted is None else text[: pasted.start()] + "\n" * (len(text) - pasted.start())


def is_order(text: str) -> bool:
    """Say whether a text tells a model to set its instructions aside, or plays its system."""
    return ORDERS.search(text) is not None


def _blank(match: re.Match[str]) -> str:
    return "\n" * len(match[0])
