"""Turns the bytes of a text file into text, or says why that cannot be done without guessing."""

import codecs
import re

from agentic_memory_bank.state.errors import LoadError

_MARKED = (  # the longer marks first: that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b") + b"\x7f"
_SAMPLE = 100_000  # characters outside ASCII that are looked at to judge an encoding
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_UTF8_PAIR = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
_CHINESE = re.compile(r"[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef\u2010-\u203b·]")
_FREQUENT = frozenset("的一是了不在有人我他这中大来上国年为和地到以")  # Chinese prose does not go on long without any
_WESTERN = re.compile("[À-ÖØ-öø-ÿŠšŽžŒœŸ°§«»‘’“”–—…€£©®ªº¡¿·²³½¼¾\xa0]")


class BinaryError(LoadError):
    """The bytes are no text in any encoding, as opposed to text in an unknown one."""


def decode(data: bytes, name: str) -> str:
    """Return the text: UTF-8, UTF-16 or UTF-32 with a byte order mark, GB18030, or, where plausible, Latin-1.

    Raises:
        BinaryError: These are no characters.
        LoadError: These are characters, in an unknown encoding or in several.
    """
    for mark, encoding in _MARKED:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding, name)
    if _is_binary(data):
        raise BinaryError(f"{name} is binary, and not of a type that can be read. Convert it to text, PDF or DOCX.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        text = _as_chinese(data) or _as_western(data)
        if text is None:
            raise _unknown(name, f"byte {fault.start} is not UTF-8, and no other encoding fits all of it") from fault
        return text


def _strictly(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as fault:
        raise _unknown(name, f"it is marked as {encoding}, and byte {fault.start} is not") from fault


def _unknown(name: str, why: str) -> LoadError:
    return LoadError(f"The encoding of {name} is mixed or unknown: {why}. Save it as UTF-8 and load it again.")


def _is_binary(data: bytes) -> bool:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return controls * 50 > len(data)


def _as_chinese(data: bytes) -> str | None:
    """Read GB18030 (and GBK and GB2312, its subsets), unless that gives characters nobody writes."""
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return None
    foreign = _foreign(text)
    chinese = sum(1 for character in foreign if _CHINESE.match(character))
    common = len(foreign.encode("gb2312", "ignore")) / 2
    if min(chinese, common) < 0.8 * len(foreign):
        return None
    return text if len(foreign) < 100 or _FREQUENT.intersection(foreign) else None


def _as_western(data: bytes) -> str | None:
    """Read Latin-1, as Windows extends it, if the rest looks like letters of western words in mostly plain text."""
    if _UTF8_PAIR.search(data):
        return None  # some of it is UTF-8
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    foreign = _foreign(text)
    alone = all(_WESTERN.match(character) for character in foreign)
    longest = max(map(len, _NOT_ASCII.findall(text)), default=0)
    return text if alone and longest <= 3 and len(foreign) * 3 <= len(text) else None


def _foreign(text: str) -> str:
    found: list[str] = []
    size = 0
    for run in _NOT_ASCII.finditer(text):
        found.append(run.group()[: _SAMPLE - size])
        size += len(found[-1])
        if size >= _SAMPLE:
            break
    return "".join(found)
