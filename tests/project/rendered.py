"""The parts of README and .env.example that are made from the code; `make readme` writes them."""

import textwrap
from pathlib import Path

from agentic_memory_bank import Settings, memory_bank


def diagram() -> str:
    """The Mermaid drawing of the graph, without the error handlers, which no edge leads to."""
    drawing = memory_bank.get_graph()
    joined = {end for edge in drawing.edges for end in (edge.source, edge.target)}
    for node in [node for name, node in drawing.nodes.items() if name not in joined]:
        drawing.remove_node(node)
    mermaid = drawing.draw_mermaid(with_styles=False).expandtabs(4).strip()
    return f"```mermaid\n{mermaid}\n```"


def default(name: str) -> str:
    """A setting's default as it would be written in the environment."""
    value = Settings.model_fields[name].default
    return "" if value is None else str(value)


def settings_table() -> str:
    """Every setting as a row."""
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        rows.append(f"| `MEMORY_BANK_{name.upper()}` | {default(name) or 'none'} | {field.description} |")
    return "\n".join(rows)


def environment() -> str:
    """`.env.example`: every variable with its default, commented out."""
    parts = [
        "# Every variable this package reads, with its default. Copy to .env for `langgraph dev`, or export them.",
        "# Settings of a run; an argument in code beats the variable.",
    ]
    for name, field in Settings.model_fields.items():
        said = textwrap.fill(field.description or "", 118, initial_indent="# ", subsequent_indent="# ")
        parts.append(f"{said}\n# MEMORY_BANK_{name.upper()}={default(name)}")
    parts += [
        "# Where runs live on disk. Default: agentic-memory-bank in the user's state folder, ~/.local/state.\n"
        "# MEMORY_BANK_HOME=",
        "# LangGraph's own: checkpoints then restore known types only. The command line sets it by itself.\n"
        "# LANGGRAPH_STRICT_MSGPACK=true",
    ]
    return "\n\n".join(parts) + "\n"


def write(root: Path) -> None:
    """Put the parts that are made from the code into the files, between the marks `<!-- name -->`."""
    for name, parts in {
        "README.md": {"diagram": diagram(), "settings": settings_table()},
        "README.zh.md": {"diagram": diagram()},
    }.items():
        text = (root / name).read_text(encoding="utf-8")
        for mark, part in parts.items():
            before, _, rest = text.partition(f"<!-- {mark} -->")
            text = f"{before}<!-- {mark} -->\n{part}\n<!-- /{mark} -->{rest.partition(f'<!-- /{mark} -->')[2]}"
        (root / name).write_text(text, encoding="utf-8")
    (root / ".env.example").write_text(environment(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parents[2])
