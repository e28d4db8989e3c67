"""Which of two documents says that it, or the other, holds where they differ: "supersedes", "prevails", 以…为准."""

import re
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading.statements import Document
from agentic_memory_bank.engines.extractive.reading.terms import terms_of
from agentic_memory_bank.tools.text.cleaning import is_cjk

_PREVAILS: Final = re.compile(
    r"\b(?:the|this) (?P<latin>[\w' -]{2,40}?) (?:shall |will |always )?"
    r"(?:prevails?|takes? precedence|is binding|governs)\b"
    r"|(?:不一致|歧义|出入|差异|冲突|不符)[^。]{0,12}以(?P<han>[^，。]{1,14}?)为准",
    re.IGNORECASE,
)
_REPLACES: Final = re.compile(
    r"\b(?:replaces|supersedes|takes the place of) (?:the |our |all )?(?P<latin>[^.;\n]{2,60})"
    r"|(?:取代|代替|替代)(?P<han>[^，。]{2,20})|(?P<ended>[^，。]{2,20})同时(?:废止|作废|失效)",
    re.IGNORECASE,
)
_HEAD: Final = 10
"""Statements of a document among which it says which one it takes the place of."""
_EARLIER: Final = re.compile(
    r"\b(?:earlier|previous|former|prior|older) (?:version|edition|issue|list|notice|sheet)s?\b|旧版|原版", re.I
)
_LANGUAGES: Final = {"chinese": True, "中文": True, "汉语": True, "english": False, "英文": False}
_KIND: Final = frozenset(
    ("version", "text", "notic", "document", "edit", "issu", "sheet", "list", "@version", "@notice")
)


def precedence(first: Document, second: Document) -> Literal[0, 1] | None:
    """Which of two documents holds by the words of one of them, where they differ; None where neither says so."""
    ours, theirs = _says(first, second), _says(second, first)
    theirs = None if theirs is None else 1 - theirs
    found = {one for one in (ours, theirs) if one is not None}
    return (0 if 0 in found else 1) if len(found) == 1 else None


def _says(document: Document, other: Document) -> int | None:
    """0 where a document says that it holds itself, 1 where it says so of the other one."""
    for statement in document.statements:
        text = " ".join(statement.text.split())
        if found := _PREVAILS.search(text):
            named = _named(found["latin"] or found["han"], document, other)
            if named is not None:
                return named
    for statement in document.statements[:_HEAD]:
        found = _REPLACES.search(" ".join(statement.text.split()))
        if found and statement.mode not in ("asked", "possible", "planned"):
            replaced = found["latin"] or found["han"] or found["ended"]
            if _EARLIER.search(replaced) or _named(replaced, document, other) == 1:
                return 0
    return None


def _named(words: str, document: Document, other: Document) -> int | None:
    """Which of two documents some words are the name of: by their language, or the words of their titles."""
    said = words.casefold()
    for name, chinese in _LANGUAGES.items():
        if name in said:
            are = [_is_chinese(one) == chinese for one in (document, other)]
            return are.index(True) if sum(are) == 1 else None
    terms = terms_of(said)
    called = [terms & terms_of(f"{one.name.rsplit('.', 1)[0]} {_head(one)}") for one in (document, other)]
    specific = [some - _KIND for some in called]
    if bool(specific[0]) != bool(specific[1]):
        return 0 if specific[0] else 1
    return None


def _head(document: Document) -> str:
    return " ".join((document.title, *(statement.text for statement in document.statements[:1])))


def _is_chinese(document: Document) -> bool:
    return is_cjk(" ".join(statement.text for statement in document.statements[:_HEAD]))
