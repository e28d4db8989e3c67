"""Reading text without a model: cleaning, language, index terms, sentences, paragraphs, sizes, names and numbers.

Pure functions over strings, for English, Chinese and mixtures of the two. Spans are `(start, end)` offsets; every
function that returns spans returns them in order, contiguous, and covering each character exactly once. All run in
linear time.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import add
from typing import Literal

import Stemmer

Span = tuple[int, int]

MAX_SENTENCE = 1_000
"""Longest sentence, in characters; a longer one is cut."""

MAX_TERM = 64
"""Longest index term, in characters; what is beyond is not indexed."""

MAX_CODE = 4_000
"""Longest fenced code block that is kept in one paragraph, in characters."""

# Han with its extensions and compatibility forms, kana, Hangul.
_CJK = (
    "\u3005\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK}]+")
_LATIN_WORD = re.compile(f"[^\\W\\d_{_CJK}]+")

# --- cleaning, language --------------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """Make a text storable: what SQLite, msgpack and JSON would change or refuse becomes U+FFFD, byte order marks go.

    Everything else, invisible characters included, stays as it came.
    """
    return _UNSTORABLE.sub("\ufffd", text.lstrip("\ufeff"))


def is_cjk(text: str) -> bool:
    """Say whether a text is mainly Chinese (or Japanese, Korean): a character there weighs as much as a Latin word."""
    characters = sum(len(run) for run in _CJK_RUN.findall(text))
    return characters > 0 and characters >= sum(1 for _ in _LATIN_WORD.finditer(text))


def language(text: str) -> Literal["zh", "en"]:
    """Name the language whose rules and thresholds suit a text: `zh` when it is mainly CJK, else `en`."""
    return "zh" if is_cjk(text) else "en"


# --- index terms ---------------------------------------------------------------------------------------------------

_FUNCTION_WORDS = """
a about above after again against all also am among an and any are as at be because been before being below between
both but by can could did do does doing down during each either else ever few for from further had has have having
he her here hers herself him himself his how however i if in into is it its itself just may me might more most must
my myself neither no nor not now of off on once only onto or other our ours ourselves out over own per quite rather
really same shall she should since so some such than that the their theirs them themselves then there these they
this those though through thus to too toward towards under until up upon us very was we were what whatever when
where whether which while who whom whose why will with within without would yet you your yours yourself yourselves
"""
STOP_WORDS = _words(_FUNCTION_WORDS)
"""English function words: frequent, and saying nothing of what a text is about."""

_INVISIBLE = re.compile("[\u0300-\u036f\u00ad\u200b-\u200f\u2060\ufe0e\ufe0f\ufeff]")
_PIECE = re.compile(r"\S{1,256}|\s+")
_SPACED = str.maketrans(dict.fromkeys("，：；！？（）", " "))  # folded to ASCII they would look like joints
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe", "Ø": "O", "Ł": "L", "Đ": "D"})
_WORD = f"[^\\W_{_CJK}]+"
_UNIT = re.compile(
    f"(?P<cjk>[{_CJK}]+)|(?P<word>{_WORD}(?:(?:[-.'’&:]|_+|(?<=\\d),(?=\\d{{3}})){_WORD})*(?:\\+\\+|#)?)"
)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_PART = re.compile(r"[-.'’&:_,]+|(?<=[^\W\d_]{2})(?=\d)|(?<=\d)(?=[^\W\d_]{2})|(?<=[a-z])(?=[A-Z])")
_CONTRACTION = re.compile(r"(.*)(?:['’](?:s|re|ve|ll|d|m))", re.IGNORECASE)
_ORDINALS = frozenset(("st", "nd", "rd", "th"))
_local = threading.local()
_USUAL = 32  # longest piece of text, in characters, whose terms are worth keeping


def tokenize(text: str) -> list[str]:
    """List the index terms of a text, in order and with repetitions.

    Case and accents are folded, English function words dropped, English words stemmed, CJK runs cut into overlapping
    pairs of characters. An identifier yields itself without its joints and its parts (`GPT-4o`: `gpt4o gpt 4o`), a
    number its plain form (`1,121`: `1121`).
    """
    return [term for chunk in text.split() for term in (_known_chunk if len(chunk) <= _USUAL else _chunk_terms)(chunk)]


def _chunk_terms(chunk: str) -> tuple[str, ...]:
    """The terms of a piece of text without white space: no term reaches across it."""
    return tuple(
        term
        for unit in _UNIT.finditer(_fold(chunk))
        for term in (_pairs(unit["cjk"]) if unit["cjk"] else _word_terms(unit["word"]))
    )


_known_chunk = lru_cache(maxsize=1 << 16)(_chunk_terms)  # words come again, with the same marks around them


def _fold(text: str) -> str:
    """Replace compatibility forms and drop accents; piecewise, as ordering a flood of marks takes quadratic time."""
    if text.isascii():
        return text
    pieces = (_fold_piece(piece) for piece in _PIECE.findall(text.translate(_SPACED)))
    return "".join(pieces)


def _fold_piece(piece: str) -> str:
    if piece.isascii():
        return piece
    bare = _INVISIBLE.sub("", unicodedata.normalize("NFKD", piece))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


def _pairs(run: str) -> Iterable[str]:
    return map(add, run, run[1:]) if len(run) > 1 else (run,)


@lru_cache(maxsize=1 << 16)
def _word_terms(word: str) -> tuple[str, ...]:
    """The terms of one Latin word, number or identifier, still in its own case."""
    if _NUMBER.fullmatch(word):
        return (_plain_number(word),)
    if word.casefold().replace("’", "'").endswith("n't"):
        return ()  # don't, isn't: function words all
    if contracted := _CONTRACTION.fullmatch(word):
        word = contracted[1]
    if word.endswith(("#", "++")):
        return (word.casefold()[:MAX_TERM],)
    parts = [part for part in _PART.split(word) if part]
    if len(parts) == 1:
        return _simple_terms(parts[0])
    return _whole(parts) + tuple(term for part in parts if _says_something(part) for term in _simple_terms(part))


def _says_something(part: str) -> bool:
    """Whether a part of an identifier is worth a term of its own: not a lone letter, nor the end of `7th`."""
    return part.isdigit() or (len(part) > 1 and part not in _ORDINALS)


def _whole(parts: list[str]) -> tuple[str, ...]:
    if len(parts) == 2 and parts[0].isdigit() and parts[1].casefold() in _ORDINALS:
        return ()
    return (_stem("".join(parts).casefold()[:MAX_TERM]),)


def _simple_terms(word: str) -> tuple[str, ...]:
    folded = word.casefold()[:MAX_TERM]
    if folded.isdigit():
        return (_plain_number(folded),)
    acronym = 1 < len(word) <= 5 and word.isupper()  # US, IT, WHO are no pronouns
    return () if folded in STOP_WORDS and not acronym else (_stem(folded),)


def _plain_number(number: str) -> str:
    plain = number.replace(",", "").lstrip("0") or "0"
    return ("0" + plain if plain.startswith(".") else plain)[:MAX_TERM]


def _stem(word: str) -> str:
    """Reduce an English word to its stem. A Snowball stemmer serves one thread at a time: each thread has its own."""
    if not hasattr(_local, "stem"):
        _local.stem = Stemmer.Stemmer("english").stemWord  # pyright: ignore[reportUnknownMemberType]
    return _local.stem(word)


# --- lines, paragraphs, sentences ----------------------------------------------------------------------------------

_LINE = re.compile(r"[^\n\r\x0c\x85\u2028\u2029]*+(?:\r\n|[\n\r\x0c\x85\u2028\u2029]|\Z)")
_INDENT = re.compile(r"\s*+")
_ROLE = "(?i:user|assistant|system|human|ai|tool|bot|agent)"
_KINDS = (
    ("fence", re.compile(r"`{3}|~{3}")),
    ("heading", re.compile(r"#{1,6}[ \t]+\S")),
    (
        "item",
        re.compile(
            r"(?:[-*+•·◦▪‣–—]|\d{1,3}[.)]|[(（]\d{1,3}[)）]|[a-zA-Z]\))[ \t]+\S"
            r"|(?:\d{1,3}|[一二三四五六七八九十]{1,3})、"
        ),
    ),
    ("row", re.compile(r"\|")),
    (
        "turn",
        re.compile(
            rf"(?:[\[(][^\[\]()\n]{{1,40}}[\])][ \t]*)?\*{{0,2}}"
            rf"(?:(?:[A-Z][\w.'’-]{{0,24}}(?:[ \t][\w.'’&()-]{{1,24}}){{0,3}}|{_ROLE})\*{{0,2}}[:：]\*{{0,2}}(?:\s|$)"
            rf"|[{_CJK}·]{{1,10}}(?:[:：]))"
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
        for piece in _cut(text, sentence, MAX_SENTENCE)
    ]


def passages(text: str, limit: int) -> list[Span]:
    """Divide a text into paragraphs, and those estimated at more than `limit` tokens into groups of sentences.

    A sentence over the limit is halved until it fits; a single character is never divided.
    """
    return [
        passage
        for start, end in paragraphs(text)
        for passage in ([(start, end)] if _fits(text, (start, end), limit) else _grouped(text, (start, end), limit))
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


_END = re.compile(
    r"(?<![.!?…。！？｡])(?P<mark>[.!?…。！？｡]++)(?P<close>[\"'”’»)\]）」』】》]*+(?:\[\d{1,3}\])*+)(?P<gap>\s*+)"
)
_NEXT_WORD = re.compile(r"[A-Za-z]+")
_ACRONYM = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")
_NEVER_LAST = _words(
    "mr mrs ms mx dr prof rev hon gen col lt sgt capt cmdr adm gov sen rep pres st mt ft vs viz approx ca cf e.g i.e "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
_BEFORE_NUMBERS = _words("no nos fig figs vol vols p pp ch sec eq eqs art tab ref refs ver v")
_SOMETIMES_LAST = _words("etc al inc ltd co corp llc jr sr dept est univ assn bros ave blvd rd hr min max ed eds")
_STARTERS = _words(
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
        return last in "!?" and _CJK_RUN.match(following) is not None
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
    if folded in _SOMETIMES_LAST or _ACRONYM.fullmatch(word):
        next_word = _NEXT_WORD.match(text, mark.end())
        return next_word is not None and next_word[0] in _STARTERS
    return not following.islower() or len(word) > 3


def _word_before(text: str, position: int, block: int) -> str:
    words = text[max(block, position - 24) : position].rsplit(None, 1)
    return words[-1].lstrip("(\"'[“‘") if words else ""


def _cut(text: str, span: Span, limit: int) -> Iterator[Span]:
    """Cut a span into pieces of at most `limit` characters, each at the last pause of its second half if it has one."""
    start, end = span
    while end - start > limit:
        border = _last_pause(text, start + limit // 2, start + limit)
        yield start, border
        start = border
    yield start, end


_TO_LAST_SPACE = re.compile(r".*\s", re.DOTALL)
_TO_LAST_COMMA = re.compile(r".*[，；、：,;]", re.DOTALL)


def _last_pause(text: str, low: int, high: int) -> int:
    """The offset behind the last white space between two offsets, else the last comma, else the upper one."""
    pause = _TO_LAST_SPACE.match(text, low, high) or _TO_LAST_COMMA.match(text, low, high)
    return pause.end() if pause else high


def _fits(text: str, span: Span, limit: int) -> bool:
    return span[1] - span[0] <= 1 or estimate_tokens(text[span[0] : span[1]]) <= limit


def _grouped(text: str, span: Span, limit: int) -> Iterator[Span]:
    """Join neighbouring sentences of a paragraph as long as they fit together."""
    start, size = span[0], 0
    for low, high in _fitting_pieces(text, span, limit):
        tokens = estimate_tokens(text[low:high])
        if size and size + tokens > limit:
            yield start, low
            start, size = low, 0
        size += tokens
    yield start, span[1]


def _fitting_pieces(text: str, span: Span, limit: int) -> Iterator[Span]:
    """The sentences of a paragraph; those that do not fit are halved until they do."""
    offset = span[0]
    todo = [(offset + low, offset + high) for low, high in sentences(text[offset : span[1]])][::-1]
    while todo:
        low, high = todo.pop()
        if _fits(text, (low, high), limit):
            yield low, high
        else:
            todo.extend(list(_cut(text, (low, high), max(1, (high - low + 1) // 2)))[::-1])


# --- size in tokens ------------------------------------------------------------------------------------------------

_NOT_LETTERS = re.compile(r"[^A-Za-z]+")
_SPACE_OR_LETTER = re.compile(r"[\sA-Za-z]+")
_SHORT_WORD = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,3}(?![A-Za-z])")
_NOT_EAST_ASIAN = re.compile(r"[^\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_TOKEN = 140
"""Parts of a token that are counted: whole numbers of them make two sevenths and fifteen hundredths."""


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a model counts in a text, rather too many than too few.

    Seven unaccented letters make two tokens, and a word makes at least one (with the space after it, four characters
    make one); every other visible character, such as a digit or a comma, is one, and an East Asian one 1.15. Joining
    texts never costs more than their sum. `benchmarks/token_estimate.py` compares this with what tokenizers count.
    """
    letters = len(_NOT_LETTERS.sub("", text))
    short = _SHORT_WORD.findall(text)
    others = len(_SPACE_OR_LETTER.sub("", text))
    east_asian = 0 if text.isascii() else len(_NOT_EAST_ASIAN.sub("", text))
    parts = 40 * (letters - len("".join(short))) + _TOKEN * (len(short) + others) + 21 * east_asian
    return -(-parts // _TOKEN)


# --- names and numbers ---------------------------------------------------------------------------------------------

_MONTH_NAMES = """january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|
october oct|november nov|december dec"""
_MONTHS = {name: number for number, names in enumerate(_MONTH_NAMES.split("|"), start=1) for name in names.split()}
_MONTH = "(?P<month{}>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY = r"(?P<day{}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year{}>[12]\d{{3}})"
_DATE = re.compile(
    "|".join(
        (
            rf"\b{_DAY.format(1)}(?: of)? {_MONTH.format(1)}(?:,? {_YEAR.format(1)})?(?!\w)",
            rf"\b{_MONTH.format(2)} {_DAY.format(2)}(?:,? {_YEAR.format(2)})?(?![\w.])",
            rf"\b{_MONTH.format(3)},? {_YEAR.format(3)}(?!\w)",
            rf"(?<![\d.-]){_YEAR.format(4)}[-/.](?P<month4>0?[1-9]|1[0-2])[-/.]{_DAY.format(4)}(?![\d-])",
            rf"(?<!\d){_YEAR.format(5)} ?年(?: ?(?P<month5>\d{{1,2}}) ?月(?: ?{_DAY.format(5)} ?[日号])?)?",
            rf"(?<!\d)(?P<month6>\d{{1,2}}) ?月 ?{_DAY.format(6)} ?[日号]",
        )
    ),
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"(?<![A-Za-z0-9_.])(?P<number>\d{1,2}:\d{2}(?!\d)|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?: ?(?P<scale>%|percent\b|per cent\b|thousand\b|million\b|billion\b|trillion\b|[万亿]))?",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(f"(?<![^\\W_])[^\\W\\d_{_CJK}](?:[^\\W_{_CJK}]|[-.:_](?=[^\\W_{_CJK}]))*")
_HALF_WIDTH = str.maketrans({0xFF01 + i: 0x21 + i for i in (*range(15, 25), *range(32, 58), *range(64, 90), 13, 4)})
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "万": 4, "亿": 8}
_NO_NAMES = STOP_WORDS | _MONTHS.keys() | _words("monday tuesday wednesday thursday friday saturday sunday")
_NAME = re.compile(f"{_WORD}(?:(?:[-.&]|_+){_WORD})*(?:\\+\\+|#)?")
_CHINESE_NAME = re.compile(f"《([^《》\n]{{1,40}})》|([{_CJK}]{{1,8}}(?:·[{_CJK}]{{1,8}})+)")


def names_and_numbers(text: str) -> set[str]:
    """Collect what rarely stands in two texts by chance: names, identifiers, dates and numbers, each in a normal form.

    Names are Latin words with a capital (at the start of a sentence only when they come again inside one, or with
    another capital behind them), any Latin word in a Chinese text, and Chinese titles in 《》 and names with a dot.
    Dates read `2023-05-07`, `2023-05` or `05-07`, numbers `1121`, `3.14` or `85%`; single digits are left out.
    """
    return _names(text) | {number for number, _ in numbers_with_offsets(text)}


def numbers_with_offsets(text: str) -> list[tuple[str, Span]]:
    """List dates, times and numbers of two digits and more in normal form, each with where it stands, in order."""
    plain = text.translate(_HALF_WIDTH)
    found = [(_iso(date), date.span()) for date in _DATE.finditer(plain)]
    rest = _IDENTIFIER.sub(_blank_identifier, _DATE.sub(_blank, plain))
    found += [(number, match.span()) for match in _QUANTITY.finditer(rest) if (number := _quantity(match))]
    return sorted(found, key=lambda item: item[1])


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _blank_identifier(word: re.Match[str]) -> str:
    return _blank(word) if any(map(str.isdigit, word[0])) else word[0]


def _iso(date: re.Match[str]) -> str:
    fields = {name.rstrip("123456"): value for name, value in date.groupdict().items() if value}
    month = fields.get("month", "").casefold()
    number = _MONTHS.get(month) or (int(month) if month else None)
    day = fields.get("day")
    parts = [fields.get("year"), f"{number:02d}" if number else None, f"{int(day):02d}" if day else None]
    return "-".join(part for part in parts if part)


def _quantity(match: re.Match[str]) -> str | None:
    number, scale = _plain_number(match["number"]), (match["scale"] or "").casefold()
    if scale in ("%", "percent", "per cent"):
        return number + "%"
    if scale in _SCALES:
        return _scaled(number, _SCALES[scale])
    return number if len(number) > 1 else None


def _scaled(number: str, zeros: int) -> str:
    whole, _, fraction = number.partition(".")
    shifted = (whole + fraction[:zeros].ljust(zeros, "0")).lstrip("0") or "0"
    rest = fraction[zeros:].rstrip("0")
    return f"{shifted}.{rest}" if rest else shifted


def _names(text: str) -> set[str]:
    names = {next(filter(None, match.groups())) for match in _CHINESE_NAME.finditer(text)}
    undated, chinese = _DATE.sub(_blank, text.translate(_HALF_WIDTH)), is_cjk(text)
    words = [word for start, end in sentences(undated) for word in _sentence_words(undated, start, end)]
    inside = {folded for folded, writing in words if writing == "capital"}
    for folded, writing in words:
        if writing == "identifier" or folded in inside or (chinese and len(folded) > 1):
            names.add(folded)
    return names


def _sentence_words(text: str, start: int, end: int) -> Iterator[tuple[str, str]]:
    """Yield the Latin words of a sentence, folded, each with how it is written: identifier, capital, first or plain."""
    matches = list(_NAME.finditer(text, start, end))
    shouted = sum(match[0].isupper() for match in matches) * 2 > len(matches) > 2
    for position, match in enumerate(matches):
        word = match[0]
        folded = _joined(word)
        if not word[0].isdigit() and folded not in _NO_NAMES:
            followed = position + 1 < len(matches) and matches[position + 1][0][:1].isupper()
            yield folded, _writing(word, position == 0 and not followed, shouted)


@lru_cache(maxsize=1 << 14)
def _joined(word: str) -> str:
    """A name without its joints, case and accents."""
    return "".join(_PART.split(_fold(word))).casefold()


def _writing(word: str, first: bool, shouted: bool) -> str:
    if any(map(str.isdigit, word)) or "_" in word or (not shouted and any(map(str.isupper, word[1:]))):
        return "identifier"
    if not word[:1].isupper() or shouted:
        return "plain"
    return "first" if first else "capital"


def merged(spans: Iterable[Span]) -> list[Span]:
    """Stretches in order, those that overlap as one.

    Args:
        spans: In the order of their starts.
    """
    apart: list[Span] = []
    for start, end in spans:
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart
