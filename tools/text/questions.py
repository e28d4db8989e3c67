"""Checks a question or request at the door, before anything that takes long to load."""

from typing import Final

from agentic_memory_bank.state.errors import InputError, InputTooLarge
from agentic_memory_bank.tools.text import clean

MOST_ASKED: Final = 50_000
"""Longest question or request, in characters."""


def checked_text(given: object, name: str) -> str:
    """What is asked, as it is stored.

    Args:
        given: What was handed over.
        name: Under which name.

    Raises:
        InputError: It is empty or not text.
        InputTooLarge: It is longer than `MOST_ASKED`, and would leave no room in a prompt for anything else.
    """
    if not isinstance(given, str) or not (cleaned := clean(given).strip()):
        raise InputError(f"The {name} is empty. Hand over a non-empty string as `{name}`.")
    if len(cleaned) > MOST_ASKED:
        raise InputTooLarge(
            f"The {name} has {len(cleaned):,} characters, more than {MOST_ASKED:,}. Hand long material over as "
            f"documents or texts, and ask in a few sentences."
        )
    return cleaned
