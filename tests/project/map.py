"""The map of the package: its rooms with their sizes and who imports whom, and what is not yet as it is to be.

`make map` prints it. What is known to be wrong is listed in `known.toml` beside this file, and nowhere else:
`test_map.py` fails for what is new, and for what is listed and has been mended; `map.py --shorten` takes that out.
"""

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "agentic_memory_bank"
KNOWN = Path(__file__).with_name("known.toml")
OUTSIDE = {"tests", "benchmarks", "notebooks", "examples", "docs", "build", "dist"}
"""The folders at the root that are no part of the package."""
LONGEST, SHORTEST = 400, 40
"""Lines of a module."""
REASONS = ("Short:", "Stage ")
"""With these the docstring of a module says why it is short: in words, or since it holds one stage of a graph."""


class Module:
    """A module as it is written.

    Args:
        file: Where it is.
        root: The folder of the package.
    """

    def __init__(self, file: Path, root: Path = ROOT) -> None:
        parts = file.relative_to(root).with_suffix("").parts
        self.is_package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts) or PACKAGE
        text = file.read_text(encoding="utf-8")
        self.lines = text.count("\n")
        self.tree = ast.parse(text)

    @property
    def room(self) -> str:
        """The package it is in."""
        return self.name if self.is_package else self.name.rpartition(".")[0] or PACKAGE

    @property
    def is_short_without_reason(self) -> bool:
        """Whether it is a fragment: a package's own module and `__main__` are short by nature."""
        named = self.is_package or self.name.endswith("__main__")
        said = ast.get_docstring(self.tree) or ""
        return self.lines < SHORTEST and not named and not any(reason in said for reason in REASONS)

    @cached_property
    def classes(self) -> set[str]:
        """The names of the classes it defines."""
        return {node.name for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)}

    @cached_property
    def imported(self) -> set[str]:
        """What it imports of the package, in functions too but for types alone: modules, or names in them."""
        found: set[str] = set()
        for node in _run(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
        return {name.removeprefix(f"{PACKAGE}.") for name in found if name.startswith(f"{PACKAGE}.")}


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """All of a tree but what only a type checker reads."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            left += node.orelse
        else:
            left += ast.iter_child_nodes(node)


class Map:
    """All modules of the package, and what is to be seen of them side by side."""

    def __init__(self, root: Path = ROOT) -> None:
        files = [file for file in root.rglob("*.py") if _is_inside(file.relative_to(root))]
        self.modules = {module.name: module for module in (Module(file, root) for file in sorted(files))}

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """By module, the modules it imports."""
        return {name: set(self._homes(module)) - {name} for name, module in self.modules.items()}

    def _homes(self, module: Module) -> Iterator[str]:
        for name in module.imported:
            home = name if name in self.modules else name.rpartition(".")[0]
            if home in self.modules:
                yield home

    @cached_property
    def rooms(self) -> dict[str, list[Module]]:
        """By package, its modules."""
        found: dict[str, list[Module]] = {}
        for module in self.modules.values():
            found.setdefault(module.room, []).append(module)
        return found

    def arrows(self, room: str) -> Counter[str]:
        """The other rooms that a room imports, with the number of imports."""
        homes = (self.modules[home].room for module in self.rooms[room] for home in self.imports[module.name])
        return Counter(home for home in homes if home != room)

    @cached_property
    def faults(self) -> dict[str, set[str]]:
        """What is not as it is to be, by kind."""
        homes = Counter(name for module in self.modules.values() for name in module.classes)
        return {
            "circles": {" ".join(sorted(circle)) for circle in circles(self.imports)},
            "long": {name for name, module in self.modules.items() if module.lines > LONGEST},
            "short": {name for name, module in self.modules.items() if module.is_short_without_reason},
            "doubled": {name for name, count in homes.items() if count > 1},
        }

    def where(self, name: str) -> list[str]:
        """The modules that define a class."""
        return [module.name for module in self.modules.values() if name in module.classes]


def _is_inside(path: Path) -> bool:
    return path.parts[0] not in OUTSIDE and not any(part.startswith(".") for part in path.parts)


def circles(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules that import each other, by the depth-first search of Tarjan."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        open_.append(name)
        for other in sorted(imports[name]):
            if other not in order:
                visit(other)
            if other in open_:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == order[name]:
            group = set(open_[open_.index(name) :])
            del open_[open_.index(name) :]
            if len(group) > 1:
                found.append(group)

    for name in imports:
        if name not in order:
            visit(name)
    return found


def known() -> dict[str, list[str]]:
    """The faults that are known, by kind."""
    return tomllib.loads(KNOWN.read_text(encoding="utf-8"))


def shorten(place: Map) -> None:
    """Take what is mended out of the list of what is known; nothing is ever added to it."""
    faults, lines = place.faults, [line for line in KNOWN.read_text(encoding="utf-8").splitlines() if line[:1] == "#"]
    for kind, names in known().items():
        left = [name for name in names if name in faults[kind]]
        lines += ["", f"{kind} = [", *(f'    "{name}",' for name in left), "]"]
    KNOWN.write_text("\n".join(lines) + "\n", encoding="utf-8")


def drawn(place: Map) -> Iterator[str]:
    """The map in words."""
    yield f"{len(place.modules)} modules, {sum(module.lines for module in place.modules.values()):,} lines\n"
    width = max(map(len, place.rooms))
    for room, modules in sorted(place.rooms.items()):
        lines = f"{len(modules):4} modules {sum(module.lines for module in modules):7,} lines"
        arrows = ", ".join(f"{other} {count}" for other, count in sorted(place.arrows(room).items()))
        yield f"{room.ljust(width)} {lines}  > {arrows or 'nothing'}"
    titles = {
        "circles": "modules that import each other",
        "long": f"modules above {LONGEST} lines",
        "short": f"modules under {SHORTEST} lines without a reason in their docstring",
        "doubled": "class names with more than one meaning",
    }
    for kind, names in place.faults.items():
        yield f"\n{len(names)} {titles[kind]}"
        for name in sorted(names):
            yield f"    {name}{_more(place, kind, name)}"


def _more(place: Map, kind: str, name: str) -> str:
    if kind == "doubled":
        return f": {', '.join(place.where(name))}"
    return "" if kind == "circles" else f": {place.modules[name].lines} lines"


if __name__ == "__main__":
    here = Map()
    if "--shorten" in sys.argv:
        shorten(here)
    sys.stdout.write("\n".join(drawn(here)) + "\n")
