"""Lists of terms with what is said of each below it, further in: options of a manual page, entries of a glossary.

-d, --lastday DAY
    Set the day on which the password was last changed.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from agentic_memory_bank.tools.text.forms import MARK, SENTENCE_END
from agentic_memory_bank.tools.text.spans import Span

_OPTION: Final = re.compile(r"--?[A-Za-z0-9?]")
_FURTHER_IN: Final = 3
"""By how many characters at least what is said of a term stands further in."""
_LONGEST: Final = 70
_MOST_WORDS: Final = 6
_LEAST_TERMS: Final = 3
"""Terms that begin in one column, from which on they are a list; one that is an option needs no others."""


def defined_terms(text: str, lines: Sequence[Span]) -> Mapping[int, int]:
    """The lines that are terms of such a list, each with the column in which it begins.

    Args:
        text: The document.
        lines: Its lines, as spans without the white space around them.
    """
    columns = [start - (text.rfind("\n", 0, start) + 1) for start, _ in lines]
    found: dict[int, int] = {}
    for at in range(len(lines) - 1):
        opens = at - 1 in found or _stands_off(lines, columns, at)
        if opens and _has_below(lines, columns, at) and _is_term(text[slice(*lines[at])]):
            found[at] = columns[at]
    count = Counter(found.values())
    return {
        at: column for at, column in found.items() if count[column] >= _LEAST_TERMS or _OPTION.match(text, lines[at][0])
    }


def _stands_off(lines: Sequence[Span], columns: Sequence[int], at: int) -> bool:
    """Whether a line goes on from nothing: it is the first one, or stands below a blank one or one further in."""
    return at == 0 or lines[at - 1][0] == lines[at - 1][1] or columns[at - 1] > columns[at]


def _has_below(lines: Sequence[Span], columns: Sequence[int], at: int) -> bool:
    (start, end), (below, below_end) = lines[at], lines[at + 1]
    return start < end and below < below_end and columns[at + 1] - columns[at] >= _FURTHER_IN


def _is_term(body: str) -> bool:
    if len(body) > _LONGEST or "   " in body or "|" in body[:1] or body.endswith(SENTENCE_END):
        return False
    return bool(_OPTION.match(body)) or len(body.split()) <= _MOST_WORDS and not MARK.match(body) and body[0].isalnum()
