"""What a document states: each sentence, row and list item with its values, what it is about, and how it is meant."""

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, Literal

from agentic_memory_bank.engines.extractive.reading.concepts import of_chinese, of_word
from agentic_memory_bank.engines.extractive.reading.figures import Figure, figures_of
from agentic_memory_bank.engines.extractive.reading.label_units import with_unit
from agentic_memory_bank.engines.extractive.reading.named import names_and_long_numbers
from agentic_memory_bank.engines.extractive.reading.sentence import Sentence, sentences_of
from agentic_memory_bank.engines.extractive.reading.terms import terms_of, without_values
from agentic_memory_bank.tools.text.cleaning import is_cjk
from agentic_memory_bank.tools.text.forms import ASKS
from agentic_memory_bank.tools.text.patterns import lazy_pattern
from agentic_memory_bank.tools.text.place import Place, Placed
from agentic_memory_bank.tools.text.places import placed

Mode = Literal["asserted", "asked", "possible", "planned", "past", "quoted", "template", "none"]

DOCUMENTS_KEPT: Final = 128
"""How many documents are kept as they were read, with what is drawn from each."""
_POSSIBLE: Final = lazy_pattern(
    r"\b(?:if|unless(?! `| --?[a-z]| you (?:set|pass|give|choose|change)\b)|would|maybe|perhaps|"
    r"probably|suppose|supposing|whether|"
    r"(?<![^,;.] )(?<!\w )had (?:it|they|we|the)|"
    r"in case|rumou?r\w*|reportedly|estimate[ds]?|expect\w*)\b"
    r"|如果|假如|要是|倘若|万一|可能|也许|或许|估计|大概|预计|的话",
    re.IGNORECASE,
)
_PLANNED: Final = lazy_pattern(
    r"\b(?:(?<!floor )(?<!no )plan(?:s|ned|ning)?|want(?:s|ed)?\b[^.;]{0,40}? to|"
    r"intend\w*|aim\w*|hope\w*|goal|target|propos\w+|considering)\b"
    r"|计划|打算|希望|目标|争取|拟于|考虑|(?<!可)申请(?![人表书材者])",
    re.IGNORECASE,
)
_PAST: Final = lazy_pattern(
    r"\b(?:used to|formerly|previously|in those days|back then|at that time|last (?:year|month|time)|years? ago|"
    r"originally|(?<!at )(?<!only )once(?! (?:a|an|every|per|you|it|the|they|we)\b)|"
    r"in (?:my|our|their) time|the (?:old|former|previous|then)(?= [a-z]+ (?:of|was)\b))\b"
    r"|以前|过去|曾经|当时|去年|上次|往年|原先",
    re.IGNORECASE,
)
_TEMPLATE: Final = lazy_pattern(
    r"_{3,}|\{\{|<[a-z_ ]{2,30}>|\[(?:name|date|amount|address)[^\]]{0,20}\]", re.IGNORECASE
)
_EXAMPLE: Final = lazy_pattern(r"\b(?:for example|for instance|e\.g\.|such as)|例如|比如|示例|举例", re.IGNORECASE)
_FIELD: Final = lazy_pattern(r"[\W_]*[^\W\d_]{2,24}[ *]{0,3}[:：][ *]{0,3}[^\w\s]{0,2}\d")
_NONE_OF: Final = lazy_pattern(r"[Nn]o [a-z]{3,20}[.!]?")
_QUOTE: Final = lazy_pattern(r"[“\"「『][^”\"」』]{8,600}[”\"」』]?")
_OPINION: Final = lazy_pattern(
    r"\b(?:I|thinks?|thought|believes?|feels?|reckons?|guess(?:es)?|wrote|asked|joked)\b|我(?!馆|公司|校|市|院|局|所|会|社|店|国|省|县|区)|觉得|认为|说他|说她|听说",
)
_NOTE: Final = 20
"""Most sentences of a note that is more than one paragraph."""
_LABEL: Final = lazy_pattern(
    r"(?<![A-Za-z])(?:v(?:er(?:sion)?)?\.?\s?)?[A-Za-z]{0,4}[-_.]?\d(?:[^\W\u3400-\u9fff]|\.)*|[A-Z]{1,3}\d\w*"
    r"|\b(?:option|plan|variant|version|lot|team|group|class|unit|block|building|type|model|site|branch) [A-Z]\b",
    re.IGNORECASE,
)
_HAN_LABEL: Final = lazy_pattern(
    r"(?i:\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?|spring|summer|autumn|winter)\b)"
    r"|[春夏秋冬]季|[上下]半年|(?<![一二三四五六七八九十])[一二三四五六七八九十]{1,4}(?=[号期届楼层班栋幢室组队]|年级|单元|学期)|[甲乙丙丁]方?(?=队|组|班|公司)"
    r"|(?<=方案)[一二三四五六七八九十]{1,3}|[甲乙丙丁](?=方案|案)|(?<![\u4e00-\u9fff])[春夏秋冬](?![\u4e00-\u9fff])"
)
_COUNTED_NAME: Final = lazy_pattern(
    r"(?:doc(?:ument)?s?|files?|te?xt|notes?|sources?|inputs?|uploads?|scans?|untitled|文档|文件|文本|笔记)"
    r"[-_ ]?\(?\d{1,3}\)?",
    re.IGNORECASE,
)
"""A name that only counts ("note1", "doc_2"): unlike "report-2021" it does not say what its document is about."""


@dataclass(frozen=True)
class Statement:
    """A sentence, row or item of a document.

    Attributes:
        start: Offset of its first character in the document.
        end: Offset past its last character.
        text: Its words, wrapped lines joined; as long as the stretch of the document it stands in.
        place: Where it stands.
        mode: How it is meant; only what is asserted can contradict.
        terms: The words it says, as index terms and topics, numbers left out.
        about: The words of its headings, row and columns.
        number: Which statement of the document it is.
        paragraph: Which paragraph of the document it stands in.
    """

    start: int
    end: int
    text: str
    place: Place
    mode: Mode
    terms: frozenset[str]
    about: frozenset[str]
    number: int
    paragraph: int
    cells: tuple[tuple[int, int], ...] = ()

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The numbers, dates and times, with offsets in `text`; those of a row in the units of its labels."""
        found = _unwrapped(self.text) if "  " in self.text and not self.cells else figures_of(self.text)
        return tuple(with_unit(figure, self._labels_of(figure)) for figure in found) if self.cells else found

    def _labels_of(self, figure: Figure) -> tuple[str, ...]:
        at = self.start + figure.start
        column = next((n for n, (low, high) in enumerate(self.cells) if low <= at < high), 0)
        labels = self.place.columns
        return (labels[column], self.place.row) if 0 < column < len(labels) else (self.place.row,) if column else ()

    @cached_property
    def concepts(self) -> frozenset[int]:
        """The concepts of its words and of those of its place."""
        of_latin = frozenset(one for term in self.terms | self.about for one in of_word(term))
        return of_latin | frozenset(one for _, _, some in of_chinese(self.text) for one in some)

    @cached_property
    def is_said_as_fact(self) -> bool:
        """Whether it is asserted, or would be if nobody had spoken it."""
        silent = replace(self.place, speaker="")
        return (
            self.mode == "asserted" or bool(self.place.speaker) and _mode(self.text, silent, self.terms) == "asserted"
        )

    @cached_property
    def sentence(self) -> Sentence | None:
        """The words taken apart; offsets in `text`."""
        found = sentences_of(self.text)
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True, eq=False)  # one that was read is kept, and what is drawn from it is kept by which one it is
class Document:
    """A document as a list of statements.

    Attributes:
        name: What it is called.
        statements: What it states, in order.
        labels: Numbers, codes and years in its name and title, by which it is told from others of its kind.
        mould: Its name and title without those.
        is_note: Whether it is a paragraph or a few sentences, with nothing that gives them places.
        is_titled_note: Whether it is one, but for a title.
        forms: The labels of its rows and its headings: documents that share most of them are forms filled in twice.
    """

    name: str
    title: str
    statements: tuple[Statement, ...]
    labels: tuple[frozenset[str], frozenset[str]]
    mould: tuple[str, str]
    forms: frozenset[str]
    is_note: bool
    is_titled_note: bool

    @property
    def names(self) -> frozenset[str]:
        """Names, which documents about different things hardly share."""
        return self._named[0]

    @property
    def numbers(self) -> frozenset[str]:
        """Dates, and numbers of four digits and more."""
        return self._named[1]

    @cached_property
    def _named(self) -> tuple[frozenset[str], frozenset[str]]:
        return names_and_long_numbers(statement.text for statement in self.statements)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All terms of its statements and their places."""
        return frozenset(term for statement in self.statements for term in statement.terms | statement.about)


@lru_cache(maxsize=DOCUMENTS_KEPT)
def read(text: str, name: str = "") -> Document:
    """Read a document.

    Args:
        text: All of it.
        name: What it is called.
    """
    pieces = placed(text, name)
    statements: list[Statement] = []
    paragraph = end = 0
    for number, piece in enumerate(pieces):
        paragraph += text.count("\n", end, piece.start) > 1
        end = piece.end
        statements.append(_statement(text, piece, number, paragraph))
    title = next((piece.place.title for piece in pieces if piece.place.title), "")
    base = name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    base = "" if _COUNTED_NAME.fullmatch(base) else base
    forms = frozenset(
        p.place.row.casefold() or text[p.start : p.end].casefold().strip("#* ")
        for p in pieces
        if p.place.kind in ("heading", "row")
    )
    return Document(
        name,
        title,
        tuple(statements),
        (labels_of(base), labels_of(title)),
        (_masked(base), _masked(title)),
        forms - {""},
        "\n" not in text.strip() or (len(pieces) <= _NOTE and all(p.place.kind == "text" for p in pieces)),
        len(pieces) <= _NOTE and all(p.place.kind == "text" for p in pieces[1:]),
    )


@lru_cache(maxsize=4096)
def labels_of(text: str) -> frozenset[str]:
    """Numbers, codes and versions in a name or heading ("2021", "db-01", "A2", "一号")."""
    return frozenset(m.group().casefold() for p in (_LABEL, _HAN_LABEL) for m in p.finditer(text))


def _masked(text: str) -> str:
    return "".join(_HAN_LABEL.sub("#", _LABEL.sub("#", text)).casefold().split())


def _statement(text: str, piece: Placed, number: int, paragraph: int) -> Statement:
    words = text[piece.start : piece.end].replace("\n", " ")
    place = piece.place
    about = terms_of(" ".join((place.title, *place.headings, place.row, *place.columns)))
    said = terms_of(without_values(words))
    return Statement(
        piece.start, piece.end, words, place, _mode(words, place, said), said, about, number, paragraph, piece.cells
    )


def _mode(words: str, place: Place, terms: frozenset[str]) -> Mode:
    """How a statement is meant."""
    if place.kind in ("heading", "header", "code"):
        return "none"
    if len(terms) < 2 and place.kind != "row" and not _states_one(words, terms):
        return "none"
    if ASKS.search(words[-12:]):
        return "asked"
    if _TEMPLATE.search(words) or _EXAMPLE.search(words):
        return "template"
    if place.speaker or _is_quoted(words):
        return "quoted"
    bare = _QUOTE.sub(" ", words)
    if _POSSIBLE.search(bare):
        return "possible"
    if _PLANNED.search(bare):
        return "planned"
    if _PAST.search(bare):
        return "past"
    return "quoted" if _OPINION.search(bare) else "asserted"


def _states_one(words: str, terms: frozenset[str]) -> bool:
    """Whether a statement of one word gives a value for it ("Damage: €1.4 million"), or says that there is none."""
    return bool(terms) and (_FIELD.match(words) is not None or _NONE_OF.fullmatch(words) is not None)


def _is_quoted(words: str) -> bool:
    """Whether most of a sentence stands in quotation marks, or is what one of its speakers says."""
    quoted = sum(len(match.group()) for match in _QUOTE.finditer(words))
    return quoted * 2 > len(words)


def _unwrapped(text: str) -> tuple[Figure, ...]:
    """The figures of a sentence that was wrapped and indented: what is counted may stand in the next line."""
    kept = [n for n, char in enumerate(text) if char != " " or text[n - 1 : n] != " "]
    found = figures_of("".join(text[n] for n in kept))
    return tuple(replace(figure, start=kept[figure.start], end=kept[figure.end - 1] + 1) for figure in found)


def is_chinese(statement: Statement) -> bool:
    """Whether a statement is written in Chinese."""
    return is_cjk(statement.text)
