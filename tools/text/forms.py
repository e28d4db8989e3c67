"""What a line of a document is, by its form: a heading, a rule, a row, a label, a list item; and the cells of a row."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.sentences import sentences
from agentic_memory_bank.tools.text.spans import Span

_CJK: Final = "\u3400-\u9fff"
_LINE: Final = lazy_pattern(r"[^\n]*+(?:\n|\Z)")
FENCE: Final = lazy_pattern(r"(?:`{3,}|~{3,8}(?!~))")
PROMPT: Final = lazy_pattern(r"(?:>>>|\.\.\.|\$|%) ")
DIRECTIVE: Final = lazy_pattern(
    r"\.\. (?:\|[^|\n]{1,60}\| ?)?(?:_[^:\n]{1,80}:|(?:code|code-block|sourcecode|parsed-literal|math|image|figure|"
    r"contents|toctree|include|literalinclude|raw|highlight|testcode|doctest)::)"
    r"|\|[\w-]{1,40}\|(?: \|[\w-]{1,40}\|){0,40}$"
)
"""A line of reStructuredText that is no text: what is included, where a name leads, names that stand for pictures."""
HASHES: Final = lazy_pattern(r"(#{1,6})[ \t]+(\S.*)")
CODE: Final = lazy_pattern(
    r"(?:(?:export )?(?:[a-z_][\w.-]{0,40}|[A-Z_]{2,40})(?:\[[^\[\]]{1,20}\])? ?[+|:]?= ?\S"
    r"|[a-z_][\w.]{0,40}\([^()]{0,80}\)[;,]?$|(?:def|class) \w{1,40}[:(]|import [\w.]{1,60}$|from [\w.]{1,60} import |"
    r"(?:sudo|pip|apt-get|docker|npm|npx|conda|brew) \w|(?:\$|>>>|%) |[}\])]{1,4}[;,]?$|[^\n]{1,200}[;{]$)"
)
"""A line of a program, of a shell, or of settings."""
PROGRAM: Final = lazy_pattern(
    r"(?:\.(?:py|sh|bash|zsh|toml|ya?ml|conf|cfg|ini|env|rb|pl|mk|cmake|properties)|(?:\A|/)(?:Makefile|Dockerfile))\Z",
    re.IGNORECASE,
)
"""The name of a file in which a hash opens a comment."""
RULE: Final = lazy_pattern(r"([-=~^*_+#.])\1{2,}$")
DIVIDER: Final = lazy_pattern(r"[|:\s-]{3,}$")
COUNTS_ROWS: Final = lazy_pattern(r"#|no\.?|nr\.?|pos\.?|item|item no\.?|序号?|编号|号|项次?", re.IGNORECASE)
"""The head of a column that numbers the rows."""
_PICTURE: Final = lazy_pattern(r"!\[[^\[\]\n]{0,200}\]\([^()\n]{0,500}\)|</?[a-zA-Z][^<>\n]{0,300}>")
_LINK: Final = lazy_pattern(r"\[([^\[\]\n]{0,200})\]\([^()\n]{0,500}\)")
BRACKETED: Final = lazy_pattern(r"【([^【】]{1,40})】")
BOLD: Final = lazy_pattern(r"\*\*([^*]{1,120})\*\*:?$")
HEADER: Final = lazy_pattern(
    r"(From|To|Cc|Bcc|Date|Sent|Subject|Re|发件人|收件人|抄送|日期|发送时间|时间|主题)\s?[:：]\s*+(.*)", re.IGNORECASE
)
SUBJECT: Final = frozenset(("subject", "re", "主题"))
SENDER: Final = frozenset(("from", "发件人"))
REPLIES: Final = lazy_pattern(r"\A(?:(?:re|fwd?|aw|回复|答复|转发)\s?[:：]\s*+)++", re.IGNORECASE)
ADDRESS: Final = lazy_pattern(r"<[^<>]*>|\"")
CELL: Final = lazy_pattern(r"[^\s|]+(?: {1,2}[^\s|]+)*")
_LEADER: Final = lazy_pattern(r"(?:[^\s.…][ \t]*|\.[ \t]+)(?P<dots>\.{4,}+|…{2,}+)(?=[ \t]*[^\s.…])")
"""The dots that lead from a label to its value."""
PIPED: Final = lazy_pattern(r"(?:\\.|[^|\\])++")
_STAMP: Final = r"(?:[\[(](?P<time>[0-9]{1,2}[:.][0-9]{2}(?:[:.][0-9]{2})?|[0-9][^\[\]()\n]{3,24})[\])][ \t]*)?"
LABEL: Final = lazy_pattern(
    rf"{_STAMP}\*{{0,2}}(?P<label>[A-Z][\w.'’&/()-]{{0,24}}(?:[ \t][\w.'’&/()-]{{1,24}}){{0,3}}"
    rf"|[{_CJK}A-Za-z0-9·（）()]{{1,14}})(?:\*{{0,2}}[ \t]?[:：]\*{{0,2}}|(?P<dash>\*\*[ \t]{{1,4}}[-–—]))"
    rf"(?=\s|$|[{_CJK}0-9\"“(（])"
)
ASIDES: Final = frozenset(
    ("note", "notes", "nb", "n.b.", "warning", "caution", "danger", "important", "tip", "hint", "example", "see also")
    + ("注", "注意", "备注", "提示", "警告", "说明", "重要", "示例", "例")
)
"""Labels that call for attention: nobody speaks them, and they say nothing of what follows."""
CHAT: Final = lazy_pattern(
    rf"(?P<label>[{_CJK}A-Za-z][\w·.-]{{0,20}}(?: [A-Z][\w.-]{{0,20}})?)[ \t]+"
    r"(?P<time>(?:[0-9]{4}[-/年][0-9]{1,2}[-/月][0-9]{1,2}日?[ \t]+)?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)$"
)
_HAN_DIGITS: Final = {char: str(number) for number, char in enumerate("〇一二三四五六七八九十")}
MARK: Final = lazy_pattern(
    r"(?P<bullet>[-*+•·◦▪‣–—★☆●○■□◆◇►▶✓✔])[ \t]+(?=\S)"
    r"|(?P<number>[0-9]{1,2}(?:\.[0-9]{1,2}){1,3}|[0-9]{1,3}(?=[.)])|§[ \t]?[0-9]{1,3})[.)]?[ \t]+(?=\S)"
    r"|[(（](?P<letter>[0-9]{1,3}|[a-z]{1,3}|[一二三四五六七八九十]{1,3})[)）][ \t]*(?=\S)"
    r"|(?P<roman>[a-z])\)[ \t]+(?=\S)"
    r"|(?P<label>[A-Z]{1,2}[0-9]{1,2}(?:\.[0-9]{1,2})?)(?:[.):][ \t]{1,8}|[ \t]{2,8}|\t)(?=[\"“(]?[A-Z])"
    r"|(?P<han>[0-9]{1,3}|[一二三四五六七八九十]{1,3})、[ \t]*(?=\S)"
    r"|第(?P<clause>[0-9]{1,3}|[一二三四五六七八九十]{1,3})[条章节款](?![中内的之第、和与及至所规])[ \t　:：]*(?=\S)"
)
NUMBERED: Final = lazy_pattern(
    r"(?i:(?:section|chapter|part|clause|article)[ \t]+)?(?P<number>[0-9]{1,2}(?:\.[0-9]{1,3}){0,3})[.:)]?[ \t]+(?=\S)"
)
SHOUTED: Final = lazy_pattern(r"(?:[A-Z]|[0-9]{1,2}|[IVX]{1,4})[.)][ \t]+[^a-z\W\d_]{2,}[^a-z\n]{0,60}$")
"""A lettered line in capitals, which is a heading also where its text follows at once ("B. ILLNESS AND ACCIDENT")."""
_OUTLINED: Final = lazy_pattern(r"^\* \S[^\n]*+\n++(?:(?!\*)[^\n]++\n++){0,3}+\*\* \S", re.MULTILINE)
_OUTLINE: Final = lazy_pattern(r"(\*{1,5}) (\S.*)$")
_NOTHING: Final = lazy_pattern(r"(?!)")
RELEASE: Final = lazy_pattern(r"(?:version |release |v)[0-9]+(?:\.[0-9]+){1,3}\b[^.!?。\n]{0,70}$", re.IGNORECASE)
"""A line that names a release, above what is new in it ("version 1.34 - Jane Doe, 2021-02-13")."""
RUN_IN: Final = lazy_pattern(
    rf"\*{{0,2}}(?P<title>[A-Z][^.:;!?*\n]{{1,40}}|[{_CJK}]{{2,10}}(?=[:： 　]))\*{{0,2}}"
    rf"[.:：]?\*{{0,2}}(?=\s|[{_CJK}]|$)"
)
SENTENCE_END: Final = tuple('.。!！;；,，、:：…"”')
_MOST_HEADING: Final = 70
_MOST_WORDS: Final = 9
_FIRST_TITLE: Final = 100, 16
"""Characters and words of the line a text opens with, alone, up to which it is its title."""
_OPENS_TITLE: Final = "\"'“‘«《〈（([【〔*_#§¿¡"
FIRST_WORD: Final = lazy_pattern(r"[A-Za-z0-9'’.,:;()/-]{1,40}|\S")
BLANK: Final = lazy_pattern(r"_{4}|\.{5}|…{3}|(?:\. ){4}")  # left to be filled in, or leads to a page number
_SAYS: Final = lazy_pattern(r"\b(?:is|are|was|were|has|have|may|must|shall|will|can)\b")
ASKS: Final = lazy_pattern(r"[?？][^\w?？]*+$")


def runs_in(title: str) -> bool:
    """Whether what opens a list item is a title of it, and says nothing yet ("Rent.", but not "B2 is waived.")."""
    return len(title.split()) <= 3 and not _SAYS.search(title)


def is_title(body: str, *, is_first: bool = False) -> bool:
    """Whether a line on its own reads as a heading: short, without the end of a sentence, not in lower case.

    The one that a text opens with may be longer.
    """
    longest, words = _FIRST_TITLE if is_first and "   " not in body else (_MOST_HEADING, _MOST_WORDS)
    if len(body) > longest or body.endswith(SENTENCE_END) or LABEL.match(body) and not body.isupper():
        return False
    if not body[0].isalnum() and body[0] not in _OPENS_TITLE:  # code, a path, a tag
        return False
    if has_digit(body) and ("   " in body or _LEADER.search(body)):  # a row
        return False
    if body.isupper():
        return True
    return not body[0].islower() and len(body.split()) <= words and (len(body) <= 30 or body.isascii())


def outline(text: str) -> re.Pattern[str]:
    """What the headings of an outline look like: stars, as many as its level, where some stand two deep."""
    return _OUTLINE if _OUTLINED.search(text) else _NOTHING


def underlines(rule: str, length: int) -> bool:
    """Whether a line is an underline of one that is so long; of marks that also part paragraphs, just as long."""
    if not RULE.match(rule) or 2 * len(rule) < length:
        return False
    return rule[0] in "=-~^" or abs(len(rule) - length) <= 2


def is_under(rule: str, above: str) -> bool:
    """Whether what may open a block of code is the underline of a heading, as long as that."""
    return bool(above) and set(rule) == {"~"} and len(rule) >= len(above)


def spans_of_sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences of a stretch of text, without the white space around them."""
    for low, high in sentences(text[start:end].replace("\n", " ")):
        piece = text[start + low : start + high]
        if piece.strip():
            yield start + low + len(piece) - len(piece.lstrip()), start + low + len(piece.rstrip())


def is_comment(body: str, before: str, after: str) -> bool:
    """Whether a line that a hash opens is the comment of a line of code beside it, and no heading."""
    return body[1:2].isspace() and any(CODE.match(near) for near in (before, after))


def number(mark: re.Match[str]) -> str:
    """The number that a match of `MARK` or `NUMBERED` holds, Chinese ones in digits ("b2"); empty for a bullet."""
    found = next((part for name, part in mark.groupdict().items() if part and name != "bullet"), "").lstrip("§ ")
    if found and found[0] in _HAN_DIGITS:
        ten, _, one = found.partition("十")
        several = 10 * int(_HAN_DIGITS.get(ten, "1")) + int(_HAN_DIGITS.get(one, "0"))
        return _HAN_DIGITS[found] if len(found) == 1 else str(several)
    return found.casefold()


def cells(text: str, line: Span, pattern: re.Pattern[str]) -> list[Span]:
    """The cells of a row: between the bars of a `PIPED` one, between white space in one of `CELL`."""
    if pattern is CELL:
        return [span for match in pattern.finditer(text, *line) for span in _led(text, *match.span())]
    found: list[Span] = []
    for match in pattern.finditer(text, *line):
        piece = match.group()
        low = match.start() + len(piece) - len(piece.lstrip())
        found.append((low, max(low, match.start() + len(piece.rstrip()))))
    return found


def _led(text: str, start: int, end: int) -> Iterator[Span]:
    """The parts of a cell between the dots that lead from one to the next; dots that lead nowhere are none."""
    for match in _LEADER.finditer(text, start, end):
        low, high = match.span("dots")
        yield start, start + len(text[start:low].rstrip())
        start = high + len(text[high:end]) - len(text[high:end].lstrip())
    if text[start:end].strip(". …"):
        yield start, end


def aligned(text: str, cells: list[Span]) -> bool:
    """Whether columns are set apart by white space: what precedes is a label, and no sentence."""
    return len(cells) <= 8 and not text[slice(*cells[0])].endswith(SENTENCE_END[1:]) and cells[0][1] - cells[0][0] <= 48


def has_digit(text: str) -> bool:
    """Whether a text holds a digit."""
    return any(char.isdigit() for char in text)


def lines(text: str) -> list[Span]:
    """The lines without their indent and the white space behind them; blank ones are empty spans."""
    found: list[Span] = []
    for match in _LINE.finditer(text):
        start, end = match.span()
        if start == len(text):
            break
        body = text[start:end]
        found.append(
            (start + len(body) - len(body.lstrip()), start + len(body.rstrip())) if body.strip() else (end, end)
        )
    return found


def unwrapped(text: str, lines: list[Span], width: int) -> Iterator[Span]:
    """Join the lines of a block that were wrapped; a line behind which the next word had room ends where it ends.

    So does one of two that each begin with a number: they are lines of an order or of a score.
    """
    width = max(end - start for start, end in lines) if len(lines) > 2 else max(width, lines[0][1] - lines[0][0])
    begun = lines[0][0]
    for (start, end), following in pairwise(lines):
        word = FIRST_WORD.match(text, *following)
        room = width - (end - start) - (len(word.group()) if word else 1)
        begins = not text[following[0]].islower() and text[end - 1] not in ",，、;；-"
        counts = text[start].isdigit() and text[following[0]].isdigit()
        if room > 1 and begins and (counts or 4 * (end - start) < 3 * width):
            yield begun, end
            begun = following[0]
    yield begun, lines[-1][1]


def heading(text: str) -> str:
    """A heading as it is read: without pictures and tags, links as their words; as it stands where nothing is left."""
    if not ("](" in text or "<" in text):
        return text
    return " ".join(_LINK.sub(r"\1", _PICTURE.sub("", text)).split()) or text
