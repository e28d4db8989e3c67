"""Fences around what goes into a prompt: content is escaped so that it can neither open nor close a tag."""

import re
from typing import Final

TAGS = ("task", "memory", "tool_call", "tool_response", "answer", "think")
"""The tags that mean something to an executor."""

_SHOWN_TO_JUDGES: Final = (
    *("abstract", "asked", "dispute", "established", "evidence", "excerpt", "file", "finding", "group", "kinds"),
    *("neighbours", "page", "pairs", "passage", "points", "question", "refuted", "request", "state", "text"),
    *("titles", "topic"),
)
"""Further tags, in which judgements show what is judged."""
_BRACKETS: Final = "<>\uff1c\uff1e\ufe64\ufe65\u226e\u226f"
"""The brackets of tags, and whatever a Unicode normal form turns into them: full width, small, struck through. Texts
are normalised on their way to a model, by some tokenizers too, so that these are as good as the real ones."""
_OPENING: Final = "\u2039\u00ab\u2329\u27e8\u3008\u300a\u276e\u2770\u02c2\u1438\u29fc\ufe3f\ufe3d"
_CLOSING: Final = "\u203a\u00bb\u232a\u27e9\u3009\u300b\u276f\u2771\u02c3\u1433\u29fd\ufe40\ufe3e"
"""What only looks like a bracket: quotation marks, the marks of Chinese titles, mathematics, letters of Inuktitut. A
model may read a tag of ours between them; anywhere else they are what they seem, and prose stays as it is written."""

_GAP: Final = r"[\s\u200b-\u200f\u2060\ufeff]*"
_SLASH: Final = r"[/\\\uff0f\u2215\u2044]"
_NAMES: Final = "|".join((*TAGS, *_SHOWN_TO_JUDGES))
_LIKE_A_TAG: Final = re.compile(
    rf"[{_OPENING}]{_GAP}(?:{_SLASH}|(?:{_NAMES})(?![a-z]))[^{_CLOSING}\n]{{0,100}}[{_CLOSING}]?", re.IGNORECASE
)
_ESCAPED: Final = {
    "&": "&amp;",
    **{bracket: f"&#{ord(bracket)};" for bracket in _BRACKETS + _OPENING + _CLOSING},
    "<": "&lt;",
    ">": "&gt;",
}
_MEANT: Final = {escaped: character for character, escaped in _ESCAPED.items()}
_ALWAYS: Final = str.maketrans({character: _ESCAPED[character] for character in "&" + _BRACKETS})
_IN_TAGS: Final = str.maketrans({character: _ESCAPED[character] for character in _OPENING + _CLOSING})
_TAG: Final = re.compile(rf"</?(?:{_NAMES})(?: [^<>]{{0,100}})?>|</[a-z][a-z0-9]{{0,15}}>", re.IGNORECASE)
_REFERENCE: Final = re.compile("&(?:amp|lt|gt|#[0-9]+);")


def escape(content: str) -> str:
    """Make content harmless between tags. `unescape` gives back exactly what went in."""
    return _LIKE_A_TAG.sub(lambda found: found[0].translate(_IN_TAGS), content.translate(_ALWAYS))


def unescape(content: str) -> str:
    """The reverse of `escape`."""
    return _REFERENCE.sub(lambda found: _MEANT.get(found[0], found[0]), content)


def fence(tag: str, content: str, **attributes: str) -> str:
    """Put escaped content between tags; values of attributes are escaped and quoted."""
    named = "".join(f' {name}="{_quoted(value)}"' for name, value in attributes.items())
    return f"<{tag}{named}>\n{escape(content)}\n</{tag}>"


def without_tags(said: str) -> str:
    """A model's words without tags of ours, which it copied from what it was shown, and without ends of any others."""
    return _TAG.sub(" ", said)


def _quoted(value: str) -> str:
    return escape(value).replace('"', "&quot;").replace("'", "&#x27;")


def parse(text: str, tag: str) -> list[str]:
    """The contents of all fences of a tag, as they were before they were escaped."""
    found = re.findall(rf"<{re.escape(tag)}(?: [^>]*)?>\n(.*?)\n</{re.escape(tag)}>", text, re.DOTALL)
    return [unescape(content) for content in found]


def one_line(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())
