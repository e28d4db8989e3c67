"""The parts of README, docs and .env.example that are made from the code; `make readme` writes them."""

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentic_memory_bank import Settings, memory_bank, react_mem, recall, researcher
from agentic_memory_bank.state.forms import GROUPS, used_by
from agentic_memory_bank.state.model_table import ROLES
from agentic_memory_bank.state.variables import EARLIER, OTHERS


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


EVERYDAY = (
    "model",
    "embeddings",
    "k",
    "memory_tokens",
    "research_rounds",
    "recall_limit",
    "recall_timeout",
    "remember_every",
    "memory_ttl_days",
    "budget_calls",
)
"""The settings that people change; README has these."""
GRAPHS = ("memory_bank", "memorizer", "researcher", "recall", "remember", "conversation", "react_mem")


def row(name: str) -> str:
    """What is said of a setting: its variable, its default, and what it is."""
    return f"| `MEMORY_BANK_{name.upper()}` | {default(name) or 'none'} | {Settings.model_fields[name].description} |"


def settings_table(names: Iterable[str] = EVERYDAY) -> str:
    """Settings as rows."""
    return "\n".join(["| variable | default | what it is |", "|---|---|---|", *map(row, names)])


def used(names: Iterable[str]) -> str:
    """Which graphs use some of these settings."""
    graphs = [f"`{graph}`" for graph in GRAPHS if set(names) & set(used_by(graph))]
    return f"Used by {', '.join(graphs)}." if graphs else "Settled where a graph or `Memories` is built."


def settings_page() -> str:
    """`docs/settings.md`: every setting by its group, with the graphs that use it."""
    parts = [
        "# Settings",
        "Every setting: what it does, its default, and which graphs use it. The ten that people change are in the "
        "[README](../README.md).",
        'Made from the code by `make readme`. In code `Settings(k=8)` or `context={"k": 8}`, on the command line '
        "`--set k=8`, in Studio a field of the graph's form, or a variable. Explicit beats environment beats default. "
        "A name that no graph has is an error; a setting that only another graph uses is none.",
    ]
    for group, names in GROUPS.items():
        plain = [name for name in names if name in Settings.model_fields and name.removesuffix("_model") not in ROLES]
        if plain:
            parts += [f"## {group}", used(plain), settings_table(plain)]
        if group == "Models":
            parts += [
                "Each role has a row; a cell is the variable `MEMORY_BANK_<ROLE>_<COLUMN>`, or "
                "`Settings(classify_temperature=0.2)`. `MEMORY_BANK_<ROLE>_MODEL` names another model for a role. "
                "Window and output are in tokens, the timeout is in seconds.",
                model_table(),
            ]
    rows = [f"| `{name}` | {said} |" for name, said in OTHERS.items()]
    parts += ["## Variables that are no settings", "\n".join(["| variable | what it says |", "|---|---|", *rows])]
    earlier = [
        f"`MEMORY_BANK_{old.upper()}=X` is `MEMORY_BANK_{now[0].upper()}={now[1]}X`" for old, now in EARLIER.items()
    ]
    return "\n\n".join([*parts, f"An earlier name is still read: {'; '.join(earlier)}."]) + "\n"


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
        "README.md": {"diagram": diagram(), "settings": settings_table()},
        "README.zh.md": {"diagram": diagram()},
        "docs/memory_bank.md": {"diagram": diagram()},
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
    (root / "docs" / "settings.md").write_text(settings_page(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parents[2])
