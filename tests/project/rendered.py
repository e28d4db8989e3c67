"""The parts of README and .env.example that are made from the code; `make readme` writes them."""

import textwrap
from pathlib import Path
from typing import Any

from agentic_memory_bank import Settings, memory_bank, react_mem, recall, researcher
from agentic_memory_bank.state.model_table import ROLES
from agentic_memory_bank.state.variables import OTHERS


def diagram(graph: Any = memory_bank) -> str:
    """The Mermaid drawing of a graph, without the error handlers, which no edge leads to."""
    drawing = graph.get_graph()
    joined = {end for edge in drawing.edges for end in (edge.source, edge.target)}
    for node in [node for name, node in drawing.nodes.items() if name not in joined]:
        drawing.remove_node(node)
    mermaid = drawing.draw_mermaid(with_styles=False).expandtabs(4).strip()
    return f"```mermaid\n{mermaid}\n```"


CELLS = ("temperature", "top_p", "window", "output", "timeout")


def default(name: str) -> str:
    """A setting's default as it would be written in the environment."""
    value = Settings.model_fields[name].get_default(call_default_factory=True)
    return "" if value in (None, {}, ()) else str(value)


def plain_settings() -> list[str]:
    """The settings that are no cells of the table of models."""
    cells = {f"{role}_{cell}" for role in ROLES for cell in (*CELLS, "model")}
    return [name for name in Settings.model_fields if name not in cells]


def settings_table() -> str:
    """Every setting as a row, cells of the table of models aside."""
    rows = ["| variable | default | what it is |", "|---|---|---|"]
    for name in plain_settings():
        description = Settings.model_fields[name].description
        rows.append(f"| `MEMORY_BANK_{name.upper()}` | {default(name) or 'none'} | {description} |")
    return "\n".join(rows)


def model_table() -> str:
    """The table of models with its defaults; a cell is the variable `MEMORY_BANK_<ROLE>_<COLUMN>`."""
    rows = [f"| role | {' | '.join(CELLS)} |", "|---|---|---|---|---|---|"]
    rows += [f"| `{role}` | {' | '.join(default(f'{role}_{cell}') for cell in CELLS)} |" for role in ROLES]
    return "\n".join(rows)


def environment() -> str:
    """`.env.example`: every variable with its default, commented out."""
    parts = [
        "# Every variable this package reads, with its default. Export them, or: `set -a; . ./.env; set +a`",
        "# Settings of a run; an argument in code beats the variable.",
    ]
    for name, field in Settings.model_fields.items():
        said = textwrap.fill(field.description or "", 118, initial_indent="# ", subsequent_indent="# ")
        parts.append(f"{said}\n# MEMORY_BANK_{name.upper()}={default(name)}")
    parts += [
        "# Keys and addresses of models; they are read where a client is made, and are no settings.\n"
        "# OPENAI_API_KEY=\n# OPENAI_BASE_URL=\n# DEEPSEEK_API_KEY=\n# DEEPSEEK_BASE_URL=https://api.deepseek.com\n"
        "# SERPER_API_KEY=\n# TAVILY_API_KEY=\n# JINA_API_KEY=",
        "# What else this package reads, none of it a setting.",
    ]
    for name, said in OTHERS.items():
        described = textwrap.fill(said, 118, initial_indent="# ", subsequent_indent="# ")
        parts.append(f"{described}\n# {name}=")
    parts += [
        "# LangGraph's own: checkpoints then restore known types only. The command line sets it by itself.\n"
        "# LANGGRAPH_STRICT_MSGPACK=true",
    ]
    return "\n\n".join(parts) + "\n"


def write(root: Path) -> None:
    """Put the parts that are made from the code into the files, between the marks `<!-- name -->`."""
    for name, parts in {
        "README.md": {"diagram": diagram(), "settings": settings_table(), "models": model_table()},
        "README.zh.md": {"diagram": diagram(), "models": model_table()},
        "docs/research.md": {"diagram": diagram(researcher)},
        "docs/memory.md": {"diagram": diagram(recall)},
        "docs/react_mem.md": {"diagram": diagram(react_mem)},
    }.items():
        text = (root / name).read_text(encoding="utf-8")
        for mark, part in parts.items():
            before, _, rest = text.partition(f"<!-- {mark} -->")
            text = f"{before}<!-- {mark} -->\n{part}\n<!-- /{mark} -->{rest.partition(f'<!-- /{mark} -->')[2]}"
        (root / name).write_text(text, encoding="utf-8")
    (root / ".env.example").write_text(environment(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parents[2])
