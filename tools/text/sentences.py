"""Divides a text into paragraphs and sentences, by the forms of English and Chinese writing, in linear time.

Functions that return spans return them in order, contiguous, and covering each character exactly once.
"""

import re
from collections.abc import Iterable, Iterator

from agentic_memory_bank.tools.text.cleaning import CJK, CJK_RUN
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.spans import Span, cut
from agentic_memory_bank.tools.text.terms import words_of

MAX_SENTENCE = 1_000
"""Longest sentence, in characters; a longer one is cut."""

MAX_CODE = 4_000
"""Longest fenced code block that is kept in one paragraph, in characters."""

QUESTION_END = lazy_pattern(r"[?？][\"'”’)\]）」』\s]*\Z")
"""The end of a sentence that asks, quotation marks and brackets behind its mark included."""

_LINE = lazy_pattern(r"[^\n\r\x0c\x85\u2028\u2029]*+(?:\r\n|[\n\r\x0c\x85\u2028\u2029]|\Z)")
_INDENT = lazy_pattern(r"\s*+")
_ROLE = "(?i:user|assistant|system|human|ai|tool|bot|agent)"
_KINDS = (
    ("fence", lazy_pattern(r"`{3}|~{3}")),
    ("heading", lazy_pattern(r"#{1,6}[ \t]+\S")),
    (
        "item",
        lazy_pattern(
            r"(?:[-*+•·◦▪‣–—★☆●○■□◆◇►▶✓✔]|\d{1,3}[.)]|[(（]\d{1,3}[)）]|[a-zA-Z]\))[ \t]+\S"
            r"|(?:\d{1,3}|[一二三四五六七八九十]{1,3})、"
        ),
    ),
    ("row", lazy_pattern(r"\|")),
    (
        "turn",
        lazy_pattern(
            rf"(?:[\[(][^\[\]()\n]{{1,40}}[\])][ \t]*)?\*{{0,2}}"
            rf"(?:(?:[A-Z][\w.'’-]{{0,24}}(?:[ \t][\w.'’&()-]{{1,24}}){{0,3}}|{_ROLE})\*{{0,2}}[:：]\*{{0,2}}(?:\s|$)"
            rf"|[{CJK}·]{{1,10}}(?:[:：]))"
        ),
    ),
)
_OWN_PARAGRAPH = frozenset(("heading", "item", "turn", "fence"))


def paragraphs(text: str) -> list[Span]:
    """Divide a text at blank lines, headings, list items and dialogue turns.

    A heading belongs to what follows it. A fenced code block stays whole up to `MAX_CODE` characters. White space
    between two paragraphs belongs to the first.
    """
    return _spans(text, (start for start, opens_paragraph in _block_starts(text) if opens_paragraph))


def sentences(text: str) -> list[Span]:
    """Divide a text into sentences, English or Chinese; headings, list items, turns and table rows stand alone.

    White space after a sentence belongs to it. A sentence longer than `MAX_SENTENCE` characters is cut, at white space
    if there is any.
    """
    blocks = _spans(text, (start for start, _ in _block_starts(text)))
    return [
        piece
        for start, end in blocks
        for sentence in _block_sentences(text, start, end)
        for piece in cut(text, sentence, MAX_SENTENCE)
    ]


def _spans(text: str, starts: Iterable[int]) -> list[Span]:
    """Turn the offsets at which something new starts (the first is always 0) into spans."""
    if not text:
        return []
    borders = [0, *(start for start in starts if start > 0), len(text)]
    return list(zip(borders, borders[1:], strict=False))


def _block_starts(text: str) -> Iterator[tuple[int, bool]]:
    """Yield where a block of lines starts, and whether it also starts a paragraph; the text's own start is left out.

    A block starts behind the indent of its first line.
    """
    before, fence_start = "blank", -1
    started = False
    for line in _LINE.finditer(text):
        start, end = _content(text, line)
        if line.start() == line.end():
            break
        kind = "blank" if start == end else _kind(text, start, end)
        in_code = fence_start >= 0 and line.end() - fence_start <= MAX_CODE
        if kind != "blank":
            opens = _opens(kind, before, in_code)
            if started and opens is not None:
                yield start, opens
            started = True
        if kind == "fence":
            fence_start = start if fence_start < 0 else -1
        before = "code" if in_code else _after(kind, before)


def _content(text: str, line: re.Match[str]) -> Span:
    """Where the indent of a line ends, and where the line does; both the same on a blank line."""
    indent = _INDENT.match(text, line.start(), line.end())
    return (indent.end() if indent else line.start()), line.end()


def opening(text: str) -> str:
    """Name what a text opens with: `fence`, `heading`, `item`, `row`, `turn` (of a dialogue) or plain `text`."""
    line = _LINE.match(text)
    return _kind(text, *_content(text, line)) if line else "text"


def _kind(text: str, start: int, end: int) -> str:
    return next((kind for kind, pattern in _KINDS if pattern.match(text, start, end)), "text")


def _after(kind: str, before: str) -> str:
    """What the next line stands after: blank lines do not part a heading from what follows."""
    return "heading" if kind == "blank" and before == "heading" else kind


def _opens(kind: str, before: str, in_code: bool) -> bool | None:
    """Whether a line opens a paragraph (True), only a block (False), or goes on with the one before (None)."""
    if in_code or before == "heading":
        return False
    if before in ("blank", "code") or kind in _OWN_PARAGRAPH:
        return True
    return False if "row" in (kind, before) else None


_END = lazy_pattern(
    r"(?<![.!?…。！？｡])(?P<mark>[.!?…。！？｡]++)(?P<close>[\"'”’»)\]）」』】》]*+(?:\[\d{1,3}\])*+)(?P<gap>\s*+)"
)
_NEXT_WORD = lazy_pattern(r"[A-Za-z]+")
_ACRONYM = lazy_pattern(r"(?:[A-Za-z]\.)*[A-Za-z]")
_MEASURED = lazy_pattern(r"\d[ \u00a0]?[glmhstVW]\Z")
"""A number in a unit of one letter, which is no initial ("600 g.")."""
_NEVER_LAST = words_of(
    "mr mrs ms mx dr prof rev hon gen col lt sgt capt cmdr adm gov sen rep pres st mt ft vs viz approx ca cf e.g i.e "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
_BEFORE_NUMBERS = words_of("no nos fig figs vol vols p pp ch sec eq eqs art tab ref refs ver v")
_SOMETIMES_LAST = words_of("etc al inc ltd co corp llc jr sr dept est univ assn bros ave blvd rd hr min max ed eds")
_STARTERS = words_of(
    "The A An It He She They We I You This That These Those There Here His Her Its Their Our My In On At By For "
    "From To With As After Before When While If Since Although Though But And However So Yet Then Who What Why "
    "How Where Once Not No All Some Many Most Both"
)


def _block_sentences(text: str, start: int, end: int) -> Iterator[Span]:
    block = start
    for mark in _END.finditer(text, start, end):
        if mark.end() < end and _ends_sentence(text, mark, block):
            yield start, mark.end()
            start = mark.end()
    yield start, end


def _ends_sentence(text: str, mark: re.Match[str], block: int) -> bool:
    following, last = text[mark.end()], mark["mark"][-1]
    if last in "。！？｡":
        return following not in "，、；：,;:"
    if not mark["gap"]:
        return last in "!?" and CJK_RUN.match(following) is not None
    if mark["close"] and following.islower():
        return False
    return last in "!?" or _full_stop_ends(text, mark, block)


def _full_stop_ends(text: str, mark: re.Match[str], block: int) -> bool:
    """Tell the full stop of a sentence from that of an abbreviation, an initial or a list number."""
    word = _word_before(text, mark.start(), block)
    following, folded = text[mark.end()], word.casefold()
    if word.isdigit() and mark.start() - len(word) == block:
        return False
    if folded in _NEVER_LAST:
        return False
    if folded in _BEFORE_NUMBERS:
        return not following.isdigit() and not following.islower()
    if _MEASURED.search(text, max(block, mark.start() - 4), mark.start()):
        return not following.islower()
    if folded in _SOMETIMES_LAST or _ACRONYM.fullmatch(word):
        next_word = _NEXT_WORD.match(text, mark.end())
        return next_word is not None and next_word[0] in _STARTERS
    return not following.islower() or len(word) > 3


def _word_before(text: str, position: int, block: int) -> str:
    words = text[max(block, position - 24) : position].rsplit(None, 1)
    return words[-1].lstrip("(\"'[“‘") if words else ""
