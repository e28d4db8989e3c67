"""Who said a memory, and when: put in front of its words, and split from them again.

Short: it stands alone below all that reads memories: the index, the stages and the engines.
"""

import re
from typing import Final

USER: Final = "user"
"""The subject of what users say of themselves, where nobody gave their name."""
ASSISTANT: Final = "assistant"
"""Who answers, where nobody gave a name."""

_HEADER: Final = re.compile(
    r"(?P<speaker>[^:：()\n]{1,60}?)(?: \((?P<date>[^()\n]{4,40})\))?: (?P<words>\S.*)", re.DOTALL
)
_NAME_MARK: Final = re.compile(r"[:：()\n]")
_NOTE: Final = re.compile(r" \[[^\[\]\n]{1,60} = [^\[\]\n]{1,40}\]")


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
