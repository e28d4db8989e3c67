"""Who said a memory, and when: put in front of its words, split from them again, and asked for."""

import re
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern

USER: Final = "user"
"""The subject of what users say of themselves, where nobody gave their name."""
ASSISTANT: Final = "assistant"
"""Who answers, where nobody gave a name."""

_HEADER: Final = lazy_pattern(
    r"(?P<speaker>[^:：()\n]{1,60}?)(?: \((?P<date>[^()\n]{4,40})\))?: (?P<words>\S.*)", re.DOTALL
)
_OF_ASSISTANT: Final = lazy_pattern(
    r"(?<!\bcan )(?<!\bcould )(?<!\bwill )(?<!\bwould )\byou(?:'d|'ve| had| have)? (?:\w{1,12} )?"
    r"(?:said|sa[yi]|t[eo]ld?|suggest\w*|recommend\w*|mention\w*|advise\w*|gave|give|wrote|propose\w*|name[ds]?|list\w*)\b"
    r"|你(?!能|可以|会)[^，。？?]{0,6}(?:说|推荐|建议|提|给|写|列)",
    re.IGNORECASE,
)
_NAME_MARK: Final = lazy_pattern(r"[:：()\n]")
_NOTE: Final = lazy_pattern(r" \[[^\[\]\n]{1,60} = [^\[\]\n]{1,40}\]")


def attributed(speaker: str, date: str, words: str) -> str:
    """Put speaker and date in front of a text, so that it can be understood alone."""
    named = " ".join(_NAME_MARK.sub(" ", speaker).split())[:60] or USER
    return f"{named} ({date}): {words}" if date else f"{named}: {words}"


def unattributed(text: str) -> tuple[str, str, str]:
    """Split what `attributed` made into speaker, date and words; the first two are empty where there are none."""
    found = _HEADER.fullmatch(text)
    if found is None:
        return "", "", _NOTE.sub("", text)
    return found["speaker"], found["date"] or "", _NOTE.sub("", found["words"])


def asks_the_assistant(query: str) -> bool:
    """Whether a message is about what the assistant said: its words are no memories to show otherwise."""
    return _OF_ASSISTANT.search(query) is not None
