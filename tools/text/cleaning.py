"""What is done first with any text: it is made storable, a question is checked, its language told."""

from typing import Final, Literal

from agentic_memory_bank.state.errors import InputError, InputTooLarge
from agentic_memory_bank.tools.text.patterns import lazy_pattern

MOST_ASKED: Final = 50_000
"""Longest question or request, in characters."""
# Han with its extensions and compatibility forms, kana, Hangul.
CJK = (
    "\u3005\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
CJK_RUN = lazy_pattern(f"[{CJK}]+")
_LATIN_WORD = lazy_pattern(f"[^\\W\\d_{CJK}]+")
_UNSTORABLE = lazy_pattern("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Make a text storable: what SQLite, msgpack and JSON would change or refuse becomes U+FFFD, byte order marks go.

    Everything else, invisible characters included, stays as it came.
    """
    return _UNSTORABLE.sub("\ufffd", text.lstrip("\ufeff"))


def checked_text(given: object, name: str) -> str:
    """What is asked, as it is stored.

    Args:
        given: The argument.
        name: The name of the argument, for the message.

    Raises:
        InputError: It is empty or not text.
        InputTooLarge: It is longer than `MOST_ASKED`, and would leave no room in a prompt for anything else.
    """
    if given is not None and not isinstance(given, str):
        raise InputError(f"The {name} is of type {type(given).__name__}. Hand over a non-empty string as `{name}`.")
    if given is None or not (cleaned := clean(given).strip()):
        raise InputError(f"The {name} is empty. Hand over a non-empty string as `{name}`.")
    check_asked(cleaned, name)
    return cleaned


def check_asked(given: object, name: str) -> None:
    """Check that what is asked is no document; what is no text is told of elsewhere.

    Raises:
        InputTooLarge: It is longer than `MOST_ASKED`.
    """
    if isinstance(given, str) and len(given) > MOST_ASKED:
        raise InputTooLarge(
            f"The {name} has {len(given):,} characters, more than {MOST_ASKED:,}. Hand long material over as "
            f"documents or texts, and ask in a few sentences."
        )


def is_cjk(text: str) -> bool:
    """Say whether a text is mainly Chinese (or Japanese, Korean): a character there weighs as much as a Latin word."""
    characters = sum(len(run) for run in CJK_RUN.findall(text))
    return characters > 0 and characters >= sum(1 for _ in _LATIN_WORD.finditer(text))


def language(text: str) -> Literal["zh", "en"]:
    """Name the language whose rules and thresholds suit a text: `zh` when it is mainly CJK, else `en`."""
    return "zh" if is_cjk(text) else "en"
