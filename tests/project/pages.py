"""What `make docs` does beside mkdocs: pages from the repository's root, links into the code, pictures of graphs.

The site is read from disk and without a network, so diagrams are drawn here, as SVG, and no page loads anything from
elsewhere: the build fails where one does.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
FROM_ROOT = {"contributing.md": "CONTRIBUTING.md", "security.md": "SECURITY.md", "changelog.md": "CHANGELOG.md"}
"""Pages of the site that are files of the repository's root."""
LINK = re.compile(r"\[([^\]\n]+)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
MERMAID = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
EDGE = re.compile(r"^\s*(\w+) (-->|-\.->) (\w+);$", re.MULTILINE)
ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>")
WIDE, HIGH, ROW = 150, 30, 58
"""Width and height of a stage, and from one row to the next."""


def on_config(config: Any) -> Any:
    """Give griffe the package under its name, without what lies beside it: it would look through .venv, too."""
    package = ROOT / "build" / "docs" / "agentic_memory_bank"
    package.mkdir(parents=True, exist_ok=True)
    for old in package.iterdir():
        old.unlink()
    kept = ("tests", "benchmarks", "docs", "build")
    rooms = [init.parent for init in ROOT.glob("*/__init__.py") if init.parent.name not in kept]
    for place in (*rooms, ROOT / "__init__.py"):
        (package / place.name).symlink_to(place)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are files of the root."""
    for name, source in FROM_ROOT.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to other pages, show files of the code by their names, and draw diagrams."""
    place = page.file.src_uri
    home = ROOT if place in FROM_ROOT else (ROOT / "docs" / place).parent
    back = "../" * place.count("/")

    def led(link: re.Match[str]) -> str:
        words, path, anchor = link[1], link[2], link[3] or ""
        target = (home / path).resolve()
        if target.parent == ROOT / "docs" and target.name in FROM_ROOT:
            return link[0]
        if not target.exists():
            raise PluginError(f"{place} names {path}, which is not there")
        inside = target.relative_to(ROOT).as_posix()
        pages = {source: name for name, source in FROM_ROOT.items()} | {"README.md": "index.md"}
        to = pages.get(inside) or inside.removeprefix("docs/") * inside.startswith("docs/")
        if to:
            return f"[{words}]({back}{to}{anchor})"
        return words if words.strip("`").rstrip("/") == inside else f"{words} (`{inside}`)"

    return MERMAID.sub(lambda found: drawn(found[1]), LINK.sub(led, markdown))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """See that the page loads nothing from elsewhere."""
    if found := ELSEWHERE.search(output):
        raise PluginError(f"{page.file.src_uri} would load {found[0]}")
    return output


def rows_of(edges: list[tuple[str, str, str]]) -> dict[str, int]:
    """The row of each stage: below all that lead to it, edges that go round aside."""
    after: dict[str, list[str]] = {}
    for start, _, end in edges:
        after.setdefault(start, []).append(end)
        after.setdefault(end, [])
    order: list[str] = []
    back: set[tuple[str, str]] = set()

    def walk(stage: str, way: tuple[str, ...]) -> None:
        for following in after[stage]:
            if following in way:
                back.add((stage, following))
            elif following not in order:
                walk(following, (*way, following))
        order.append(stage)

    walk("__start__", ("__start__",))
    rows = dict.fromkeys(reversed(order), 0)
    for stage in rows:
        for following in after[stage]:
            if (stage, following) not in back:
                rows[following] = max(rows[following], rows[stage] + 1)
    return rows


def arrow(start: tuple[float, float], end: tuple[float, float], rows: int, middle: float) -> str:
    """The way of an edge: straight to the next row, else in a bow, to where its stage can be reached from outside."""
    if rows == 1:
        return f"M{start[0]},{start[1] + HIGH / 2} L{end[0]},{end[1] - HIGH / 2 - 5}"
    side = (1 if rows > 1 else -1) if end[0] == middle else (1 if end[0] > middle else -1)
    beside = side * (WIDE / 2 + 1)
    far = max(side * start[0], side * end[0]) * side + beside + side * (20 + 13 * abs(rows))
    tip = end[0] + beside + side * 4
    return f"M{start[0] + beside},{start[1]} C{far},{start[1]} {far},{end[1]} {tip},{end[1]}"


def drawn(mermaid: str) -> str:
    """A diagram as SVG, its stages in rows."""
    edges = [(start, kind, end) for start, kind, end in EDGE.findall(mermaid)]
    rows = rows_of(edges)
    level = {row: [stage for stage in rows if rows[stage] == row] for row in rows.values()}
    half = max(map(len, level.values())) * (WIDE + 24) / 2 + 20 + 10 * len(level)
    at = {
        stage: (half + (level[row].index(stage) - (len(level[row]) - 1) / 2) * (WIDE + 24), 20 + row * ROW)
        for stage, row in rows.items()
    }
    ways = [
        f'<path d="{arrow(at[start], at[end], rows[end] - rows[start], half)}" marker-end="url(#tip)"'
        + (' stroke-dasharray="5 4"/>' if kind == "-.->" else "/>")
        for start, kind, end in edges
    ]
    boxes = [
        f'<rect x="{x - WIDE / 2}" y="{y - HIGH / 2}" width="{WIDE}" height="{HIGH}" rx="6"/>'
        f'<text x="{x}" y="{y + 5}" fill="currentColor" stroke="none">{escape(stage.strip("_"))}</text>'
        for stage, (x, y) in at.items()
    ]
    height = 40 + (len(level) - 1) * ROW
    return (
        f'<svg role="img" viewBox="0 0 {2 * half} {height}" style="max-width:{2 * half}px" '
        'xmlns="http://www.w3.org/2000/svg"><title>The stages; of dashed edges one is taken</title>'
        '<defs><marker id="tip" orient="auto" markerWidth="8" markerHeight="8" refX="6" refY="3">'
        '<path d="M0,0 L7,3 L0,6 z" fill="currentColor"/></marker></defs>'
        '<g fill="none" stroke="currentColor" stroke-width="1.2" font-size="14" text-anchor="middle">'
        + "".join([*ways, *boxes])
        + "</g></svg>\n"
    )
