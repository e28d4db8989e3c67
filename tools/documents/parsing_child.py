"""The program of the child process that parses untrusted PDF, Word and HTML files under limits; `loaders` runs it.

It is run by its path and imports nothing of this package. One JSON object per line comes in, `{"path", "kind"}` after
a first line with the limits and the import path; one goes out for each, `{"parts": [{"text", "metadata"}]}` or
`{"error", "detail"}`.
"""

import contextlib
import importlib
import json
import logging
import os
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from bs4.element import Tag

Part = dict[str, Any]

UNPACKED_BYTES = 200 * 1024 * 1024  # of a Word file, which is a ZIP archive

_UNREAD = ("script", "style", "noscript", "template", "svg", "nav", "footer", "form", "head")
_BODY = "word/document.xml"
_WORD_UNREAD = ("Fallback", "del", "moveFrom", "pPr", "rPr", "tblPr", "sectPr")  # a fallback repeats its alternative
_WORD_OPENS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "tbl": "\n", "tr": "\n"}
_CELLS = ("td", "th")
_LINES = frozenset(("br", "dd", "dt", "hr", "li", "tr"))  # begin a line
_BLOCKS = frozenset(  # stand apart, before and after
    (
        *("address", "article", "aside", "blockquote", "body", "caption", "details", "div", "dl", "fieldset"),
        *("figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main", "ol", "p", "pre", "section"),
        *("summary", "table", "tbody", "tfoot", "thead", "ul"),
    )
)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_BLANK_LINES = re.compile(r"\n{3,}")


class Refused(Exception):
    """The file cannot be turned into text; the arguments are the kind of trouble and a detail."""


def read_pdf(path: str) -> list[Part]:
    """Return one part per page that has text; `page` counts from 1."""
    from langchain_community.document_loaders import PyPDFLoader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    parts: list[Part] = []
    try:
        for page in PyPDFLoader(path).lazy_load():
            metadata = {"page": page.metadata["page"] + 1, "pages": page.metadata["total_pages"]}
            metadata |= {name: page.metadata[name] for name in ("title", "author") if page.metadata.get(name)}
            label = page.metadata.get("page_label")
            if label and label != str(metadata["page"]):
                metadata["page_label"] = label
            parts.append({"text": page.page_content, "metadata": metadata})
    except (FileNotDecryptedError, DependencyError) as locked:
        raise Refused("locked", str(locked)) from locked
    return parts


def read_docx(path: str) -> list[Part]:
    """Return the body of a Word file as one part: paragraphs, tables, text boxes; no headers, footnotes, deletions."""
    import docx

    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > UNPACKED_BYTES:
            raise Refused("large", "it unpacks to too many bytes")
        if _BODY not in archive.namelist():
            raise Refused("foreign", "it is an archive, but no Word file")
        with archive.open(_BODY) as body:
            if b"<!DOCTYPE" in body.read(4096):  # entities: none is resolved, and text would go missing in silence
                raise Refused("foreign", "it declares XML entities, which Word never does")
    document = docx.Document(path)
    lines = "".join(_word_pieces(cast(Any, document.element).body)).split("\n")
    text = _BLANK_LINES.sub("\n\n", "\n".join(line.strip(" ") for line in lines)).strip()
    properties = {"title": document.core_properties.title, "author": document.core_properties.author}
    return [{"text": text, "metadata": {name: value for name, value in properties.items() if value}}]


def _word_pieces(body: Any) -> Iterator[str]:
    etree: Any = importlib.import_module("lxml.etree")  # it has no types

    tables = cells = 0
    walk = etree.iterwalk(body, events=("start", "end"), tag="{*}*")
    for event, element in walk:
        name = element.tag.rpartition("}")[2]
        if event == "start":
            if name in _WORD_UNREAD:
                walk.skip_subtree()
            tables += name == "tbl"
            cells = 0 if name == "tr" else cells + (name == "tc")
            yield (element.text or "") if name == "t" else _WORD_OPENS.get(name, "")
            yield "| " if name == "tc" and cells > 1 else ""
        else:
            tables -= name == "tbl"
            yield "\n\n" if name == "tbl" else (" " if tables else "\n\n") if name == "p" else ""


def read_html(path: str) -> list[Part]:
    """Return the text of a page, its `<main>` if it has one, without scripts, styles, navigation and forms."""
    from bs4 import BeautifulSoup

    with open(path, "rb") as stream:
        page = BeautifulSoup(stream.read(), "lxml")
    title = " ".join(page.title.get_text().split()) if page.title else ""
    mains = page.find_all("main")
    lines = "".join(_pieces(mains[0] if len(mains) == 1 else page)).split("\n")
    text = _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()
    return [{"text": text, "metadata": {"title": title} if title else {}}]


def _pieces(root: "Tag") -> Iterator[str]:
    """Walk the tree without recursion (a page may be nested 100 000 deep) and write lines as a browser breaks them."""
    from bs4.element import CData, NavigableString, Tag

    path = [(root, iter(root.contents))]
    preformatted = 0
    last = "\n"
    while path:
        tag, children = path[-1]
        child = next(children, None)
        if child is None:
            path.pop()
            preformatted -= tag.name == "pre"
            piece = "\n" if tag.name in _BLOCKS else ""
        elif isinstance(child, Tag):
            if child.name in _UNREAD:
                continue
            path.append((child, iter(child.contents)))
            preformatted += child.name == "pre"
            piece = _opening(child)
        elif type(child) in (NavigableString, CData):
            piece = str(child) if preformatted else _flowing(str(child), last)
        else:
            continue
        last = piece[-1:] or last
        yield piece


def _opening(tag: "Tag") -> str:
    if tag.name in _CELLS:
        return " | " if tag.find_previous_sibling(_CELLS) else ""
    return "\n" if tag.name in _BLOCKS or tag.name in _LINES else ""


def _flowing(text: str, last: str) -> str:
    """Collapse white space, across the border to what was written last."""
    collapsed = _SPACE.sub(" ", text)
    return collapsed.lstrip(" ") if last in ("\n", " ") else collapsed


READERS: dict[str, Callable[[str], list[Part]]] = {"pdf": read_pdf, "docx": read_docx, "html": read_html}


def answer(request: dict[str, str]) -> dict[str, Any]:
    """Parse one file; every trouble becomes an answer, as long as the process lives."""
    try:
        return {"parts": READERS[request["kind"]](request["path"])}
    except Refused as refused:
        return {"error": refused.args[0], "detail": refused.args[1]}
    except (MemoryError, RecursionError) as bomb:
        return {"error": "large", "detail": type(bomb).__name__}
    except ImportError as missing:
        return {"error": "missing", "detail": str(missing)}
    except Exception as fault:  # parsers of broken files raise anything
        name = type(fault).__name__
        return {"error": "large" if name == "LimitReachedError" else "damaged", "detail": f"{name}: {fault}"[:300]}


def confine(memory_bytes: int) -> None:
    """Limit the address space, and write no core file. (Windows has no such limits; there the clock alone holds)."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(ValueError, OSError):  # macOS refuses the first
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def allow_cpu(seconds: int) -> None:
    """Let the next file use so many seconds of processor time; then the process is killed."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    ceiling = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (until, ceiling))


def main() -> None:
    """Answer requests until the input ends. What the parsers print goes nowhere."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogatepass")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    first = json.loads(sys.stdin.readline())
    sys.path += [place for place in first["import_path"] if place not in sys.path]
    confine(first["memory_bytes"])
    for line in sys.stdin:
        allow_cpu(first["cpu_seconds"])
        answers.write(json.dumps(answer(json.loads(line)), ensure_ascii=False) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
