"""Where each sentence of a document stands: under which headings, in which row and list, by whom, in code or not.

Reads Markdown, plain text (letters, contracts, minutes, transcripts), reStructuredText and changelogs, English and
Chinese, line by line. Spans are offsets into the text as it is; nothing is rewritten.
"""

import re
from collections import Counter
from dataclasses import replace

from agentic_memory_bank.tools.text import forms
from agentic_memory_bank.tools.text.definitions import defined_terms
from agentic_memory_bank.tools.text.place import Kind, Place, Placed
from agentic_memory_bank.tools.text.spans import Span

_SHORT_LINE = 18
"""Characters of a line from which on it may be one that was wrapped."""
_CHAPTER = 2
"""Headings of this level and above are written as such; a first one is the title only until the next of its level."""
_TERM = 100
"""Level of a term that begins a line; those further in are below it, and all below the headings."""


def placed(text: str, name: str = "") -> list[Placed]:
    """Give every sentence, row, heading and list item of a whole document, called `name`, its place, in order."""
    reader = _PlaceReader(text, name)
    for line in reader.lines:
        reader.take(line)
    reader.flush()
    return reader.found


def sentences_of(text: str, name: str = "") -> tuple[Placed, ...]:
    """What of a text may be quoted, in place; what stands in brackets behind a sentence belongs to it."""
    found: list[Placed] = []
    for one in placed(text, name):
        said = text[one.start : one.end]
        if found and said.startswith(("(", "（")) and found[-1].place == one.place and not one.cells:
            found[-1] = replace(found[-1], end=one.end)
        elif any(map(str.isalnum, said)) and not forms.BLANK.search(said):
            found.append(one)
    return tuple(found)


class _PlaceReader:
    """Takes the lines of a document one after the other, and remembers where it is."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.lines = forms.lines(text)
        self.found: list[Placed] = []
        self._at = -1
        self._place = Place(name=name)
        self._stack: list[tuple[int, str, str]] = []
        self._block: list[Span] = []
        self._kind: Kind = "text"
        self._item = self._item_title = self._group = self._lead_in = self._asked = ""
        self._item_body = -1
        self._is_field = False
        self._columns: tuple[str, ...] = ()
        self._in_code, self._literal = False, -1
        self._head, self._head_at = True, 0
        self._title_level = 1
        self._underlines: dict[tuple[bool, str], int] = {}
        self._is_program = forms.PROGRAM.search(name) is not None
        self._terms = {} if self._is_program else defined_terms(text, self.lines)
        self._outline = forms.outline(text)
        self._is_single = sum(start < end for start, end in self.lines) < 2
        lengths = sorted(end - start for start, end in self.lines if "|" not in text[start : start + 1] and start < end)
        self._width = lengths[len(lengths) * 9 // 10] if lengths else 0
        self._labels = Counter(
            m["label"] for line in self.lines if (m := forms.LABEL.match(text, *line)) and not m["dash"]
        )

    def take(self, line: Span) -> None:
        """Take the next line."""
        self._at += 1
        body = self.text[slice(*line)]
        if forms.FENCE.match(body) and (self._in_code or not forms.is_under(body, self._body(self._at - 1))):
            self._fence(line)
        elif self._in_code or self._is_literal(line, body):
            self._block.append(line)
        elif forms.DIRECTIVE.match(body):
            self.flush()
            self._emit(*line, "code")
            self._literal = self._indent(line)
        elif not body:
            self.flush()
            self._columns, self._group = (), ""
            self._end_of_item(line)
        elif not any(
            take(line, body) for take in (self._defined, self._heading, self._row, self._labelled, self._listed)
        ):
            self._plain(line, body)
        if body.endswith("::") and not body.startswith("..") and not self._in_code and self._literal < 0:
            self._literal = self._indent(line)

    def _is_literal(self, line: Span, body: str) -> bool:
        """Whether a line stands under one that ends with two colons, further in, and is code therefore."""
        if self._literal < 0 or not body:
            return False
        if self._indent(line) > self._literal:
            if self._kind != "code":
                self.flush()
            self._kind = "code"
            return True
        self.flush()
        self._literal = -1
        return False

    def flush(self) -> None:
        """End the block of lines that is open."""
        if not self._block:
            return
        lines, start, end = self._block, self._block[0][0], self._block[-1][1]
        self._block, kind = [], self._kind
        self._kind = "text"
        if kind == "code":
            self._emit(start, end, "code")
            return
        last = ""
        hangs = len(lines) > 1 and self._indent(lines[1]) > self._indent(lines[0])
        for low, high in (
            span
            for part in forms.unwrapped(self.text, lines, self._width)
            for span in forms.spans_of_sentences(self.text, *part)
        ):
            if self._is_field and low >= lines[0][1] and not hangs:  # a field ends with its line
                self._item_title = ""
            self._emit(low, high, "heading" if kind == "item" and high <= self._item_body + 1 else kind)
            last = self.text[low:high]
        if kind == "turn" or kind == "text" and self._place.speaker:
            self._asked = last if forms.ASKS.search(last[-8:]) else ""
        if kind != "item":
            self._lead_in = ""
        if last.endswith((":", "：")):
            self._lead_in = last

    def _emit(self, start: int, end: int, kind: Kind, cells: tuple[Span, ...] = (), row: str = "") -> None:
        headings = [title for _, title, _ in self._stack]
        numbers = [number for _, _, number in self._stack if number]
        if kind == "item" or self._item:
            headings += [self._item_title] if self._item_title and start >= self._item_body else []
            numbers += [self._item] if self._item else []
        lead_in = self._lead_in if kind in ("item", "row", "code") else self._asked if self._place.speaker else ""
        place = replace(
            self._place,
            headings=tuple(title for title in headings if title != self._place.title),
            numbers=tuple(numbers),
            lead_in=lead_in,
            row=row,
            columns=self._columns if cells else (),
            kind=kind,
        )
        self.found.append(Placed(start, end, place, cells))

    def _fence(self, line: Span) -> None:
        self.flush()
        self._in_code = not self._in_code
        self._kind = "code" if self._in_code else "text"

    def _end_of_item(self, line: Span) -> None:
        """A blank line ends a list item, unless what follows is indented."""
        following = self.lines[self._at + 1] if self._at + 1 < len(self.lines) else line
        if self._item and not self._indent(following):
            self._item = self._item_title = ""

    # --- headings --------------------------------------------------------------------------------------------------

    def _heading(self, line: Span, body: str) -> bool:
        if found := forms.HASHES.match(body) or self._outline.match(body):
            if self._is_program or self._indent(line) > 3:
                return False
            if forms.is_comment(body, self._body(self._at - 1), self._body(self._at + 1)):
                return False
            self._end_of_speech()
            return self._opened(line, found[2].rstrip("# "), len(found[1]))
        if found := forms.BRACKETED.match(body):
            self._opened((line[0], line[0] + found.end()), found[1], 5)
            if found.end() < len(body):
                self._plain((line[0] + found.end(), line[1]), body[found.end() :])
            return True
        if found := forms.BOLD.match(body):
            return self._opened(line, found[1].strip(), 6)
        if forms.RULE.match(body):
            self.flush()
            return True
        if not self._block and self._is_underlined(line):
            self._end_of_speech()
            return self._opened(line, body, self._level_of_underline())
        is_release = forms.RELEASE.match(body) is not None
        opens = self._stands_alone() or self._opens_letter(line) or forms.SHOUTED.match(body)
        if not self._block and opens and (is_release or forms.is_title(body, is_first=not self.found)):
            return self._opened(line, body, 3 if is_release or body.isupper() or not self._place.title else 4)
        return False

    def _defined(self, line: Span, body: str) -> bool:
        """Whether a line is a term, of which the lines further in say something, up to one that stands as far out."""
        level = _TERM + self._indent(line)
        if self._at in self._terms or self._stack and self._stack[-1][0] >= level:
            self.flush()
            self._stack = [above for above in self._stack if above[0] < level]
            self._item = self._item_title = self._lead_in = ""
            self._end_of_speech()
        if self._at not in self._terms:
            return False
        self._emit(*line, "heading")
        self._stack.append((level, body, ""))
        self._asked, self._head = "", False
        return True

    def _end_of_speech(self) -> None:
        """Whoever was heard last speaks no more where a section begins; nor is every label that comes twice a name."""
        self._place = replace(self._place, speaker="", time="")

    def _level_of_underline(self) -> int:
        """Levels are those of the order in which the kinds of underline come, below a title without one."""
        mark = self._body(self._at + 1)[0]
        key = (self._body(self._at - 1)[:3] == 3 * mark, mark)
        above = max(self._underlines.values(), default=int(bool(self._place.title)))
        return self._underlines.setdefault(key, 1 + above)

    def _is_underlined(self, line: Span) -> bool:
        """Whether a rule under a single line makes it a heading; where a mail begins under it, it parts two mails."""
        rule = self._body(self._at + 1)
        if not forms.underlines(rule, line[1] - line[0]):
            return False
        return len(forms.cells(self.text, line, forms.CELL)) <= 2 - bool(self.found) and not self._opens_mail(
            self._at + 2
        )

    def _opens_mail(self, at: int) -> bool:
        """Whether a line, or the one after a blank one, is the first field of a mail."""
        at += not self._body(at)
        first, second = (forms.HEADER.match(self._body(n)) for n in (at, at + 1))
        return first is not None and second is not None and first[1].casefold() in forms.SENDER

    def _body(self, at: int) -> str:
        return self.text[slice(*self.lines[at])] if 0 <= at < len(self.lines) else ""

    def _indent(self, line: Span) -> int:
        return line[0] - (self.text.rfind("\n", 0, line[0]) + 1)

    def _stands_alone(self) -> bool:
        return not (self._is_single or self._body(self._at - 1) or self._body(self._at + 1))

    def _opens_letter(self, line: Span) -> bool:
        """Whether the first line of a text is short and what follows is no continuation of it."""
        if self.found or self._is_single or not self._head or "   " in self.text[slice(*line)]:
            return False
        return 2 * (line[1] - line[0]) < self._width + 40

    def _opened(self, line: Span, title: str, level: int) -> bool:
        self.flush()
        title = forms.heading(title)
        mark = forms.NUMBERED.match(title) or forms.MARK.match(title)
        number = forms.number(mark) if mark and not title.startswith(tuple("-*+•·◦▪‣–—")) else ""
        title = title[mark.end() :] if mark and title[mark.end() :][:1].isalnum() and number else title
        self._item = self._item_title = self._lead_in = self._asked = ""
        self._stack = [above for above in self._stack if above[0] < level]
        if not self._place.title and not self.found or level <= self._title_level and not self._stack:
            self._place = replace(self._place, title=title)
            self._title_level = level if level <= _CHAPTER else 1
        self._emit(*line, "heading")
        self._stack.append((level, title.strip("* "), number))
        self._head = False
        return True

    # --- tables ----------------------------------------------------------------------------------------------------

    def _row(self, line: Span, body: str) -> bool:
        piped = body.startswith("|")
        cells = forms.cells(self.text, line, forms.PIPED if piped else forms.CELL)
        if not piped and not (len(cells) > 1 and forms.aligned(self.text, cells)):
            return False
        self.flush()
        if forms.DIVIDER.match(body):
            return True
        texts = tuple(self.text[slice(*cell)].strip("* ") for cell in cells)
        if self._is_head(line, texts, piped):
            self._columns = ("", *texts) if not piped and self._width_below() == len(texts) + 1 else texts
            self._emit(*line, "heading")
            return True
        label = self._label(texts)
        if not piped:
            label = self._grouped(line, label)
        self._emit(*line, "row", tuple(cells), label)
        return True

    def _label(self, texts: tuple[str, ...]) -> str:
        """What names a row: its first cell, or the second one where the first only counts the rows."""
        counts = len(texts) > 2 and bool(self._columns) and forms.COUNTS_ROWS.fullmatch(self._columns[0]) is not None
        return texts[1 if counts and texts[0].strip(".").isdigit() else 0] if texts else ""

    def _width_below(self) -> int:
        """How many cells the next line has that is no rule."""
        at = self._at + 1 + (forms.RULE.match(self._body(self._at + 1)) is not None)
        return len(forms.cells(self.text, self.lines[at], forms.CELL)) if at < len(self.lines) else 0

    def _is_head(self, line: Span, texts: tuple[str, ...], piped: bool) -> bool:
        below = self._body(self._at + 1)
        if piped:
            return "-" in below and forms.DIVIDER.match(below) is not None
        if self._columns or len(texts) < 2:
            return False
        if self._width_below() == len(texts) + 1:  # the labels of the rows have no head of their own
            return self._indent(line) > 5
        return len(texts) > 2 and (forms.RULE.match(below) is not None or not any(map(forms.has_digit, texts)))

    def _grouped(self, line: Span, label: str) -> str:
        """A label further to the left stands for the rows under it too ("TICKETS  Adults  £7.50 / Children  £3.00")."""
        if self._indent(line) < 6:
            self._group = label
            return label
        return f"{self._group} {label}".strip()

    # --- turns, fields, lists --------------------------------------------------------------------------------------

    def _labelled(self, line: Span, body: str) -> bool:
        if self._at and not self._block and self._opens_mail(self._at):
            self._place, self._stack = Place(name=self.name), []
            self._head, self._head_at, self._item, self._item_title, self._lead_in = True, self._at, "", "", ""
        if self._head and self._at < self._head_at + 12 and (field := forms.HEADER.match(body)):
            return self._header(line, field)
        chat = forms.CHAT.match(body) if not self._block else None
        found = chat or forms.LABEL.match(body)
        if found is None or found["label"].casefold() in forms.ASIDES or self._runs_on(found["label"]):
            return False
        self.flush()
        if chat or self._labels[found["label"]] > 1 or found["time"] or self._speaks(found["label"]):
            self._place = replace(self._place, speaker=found["label"], time=found["time"] or "")
            self._item = ""
            self._open((line[0] + found.end(), line[1]), "turn")
            return True
        value = line[0] + found.end()
        if self._place.speaker or value >= line[1]:
            return False
        self._item, self._item_title, self._item_body, self._is_field = "", found["label"], line[0], True
        self._open(line, "item")
        return True

    def _header(self, line: Span, field: re.Match[str]) -> bool:
        self.flush()
        name, value = field[1].casefold(), field[2].strip()
        if name in forms.SUBJECT and not self._place.title:
            self._place = replace(self._place, title=forms.REPLIES.sub("", value))
        elif name in forms.SENDER:
            self._place = replace(self._place, sender=forms.ADDRESS.sub("", value).strip())
        self._emit(*line, "header")
        return True

    def _speaks(self, label: str) -> bool:
        """Whether a label that comes once is a speaker's too: others speak before, and it is written as they are."""
        said = self._place.speaker
        return bool(said) and (said.isupper() == label.isupper()) and len(label.split()) <= len(said.split())

    def _runs_on(self, label: str) -> bool:
        """Whether a line that looks labelled goes on with the one before: its colon stands within a sentence."""
        if not self._block or self._labels[label] > 1 or self._kind == "turn":
            return False
        start, end = self._block[-1]
        is_long = end - start > max(self._width // 2, _SHORT_LINE)
        in_item = self._kind == "item" and not self._is_field
        return in_item or is_long and not self.text[start:end].endswith(forms.SENTENCE_END[:9])

    def _listed(self, line: Span, body: str) -> bool:
        mark = forms.MARK.match(body)
        if mark is None or (self._block and not mark["bullet"] and self._kind != "item" and self._is_wrapped()):
            return False
        self.flush()
        self._item, self._is_field = forms.number(mark), False
        run_in = forms.RUN_IN.match(body, mark.end())
        is_title = run_in is not None and forms.runs_in(run_in["title"])
        if run_in and run_in.end() == len(body) and body.endswith("."):  # "- Nobody was hurt."
            is_title = False
        self._item_title = run_in["title"].strip() if run_in and is_title else ""
        self._item_body = line[0] + (run_in.end("title") if run_in and is_title else 0)
        self._open((line[0] + mark.end(), line[1]), "item")
        return True

    def _is_wrapped(self) -> bool:
        """Whether a number opens a line in the midst of a paragraph: "in clause / 5. (…)" begins no list."""
        return not self.text[slice(*self._block[-1])].endswith(forms.SENTENCE_END)

    def _open(self, line: Span, kind: Kind) -> None:
        self._kind = kind
        self._head = False
        if self.text[slice(*line)].strip():
            low = line[0] + len(self.text[slice(*line)]) - len(self.text[slice(*line)].lstrip())
            self._block.append((low, line[1]))

    def _plain(self, line: Span, body: str) -> None:
        if forms.PROMPT.match(body):
            self.flush()
            self._emit(*line, "code")
            return
        if not self._block and self._item:
            self._kind = "item"
        self._head = self._head and not self._place.title
        self._block.append(line)
