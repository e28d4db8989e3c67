"""Makes the recording of the demo that README shows: what a terminal prints, as one SVG whose lines appear in turn.

    python tests/project/recording.py FILE

The demo is run as `make demo` runs it; `rich` draws its output, with the colours of a terminal. Who asks for reduced
motion sees all of it at once.
"""

import io
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

WIDTH = 110
BEGIN, EACH = 0.6, 0.12
"""Seconds until the first line of the answer appears, and between two lines."""
_ROW = re.compile(
    r'<text (?P<named>class="[^"]*-r\d+" x="[^"]*" y="[^"]*") (?P<length>textLength="[^"]*") '
    r'(?P<clip>clip-path="url\(#[^"]*-line-(?P<line>\d+)\)")>(?P<words>[^<]*)'
)
_STYLE = """@keyframes appear { from { opacity: 0 } to { opacity: 1 } }
    text[data-line] { animation: appear 0.2s both; animation-delay: var(--after) }
    @media (prefers-reduced-motion: reduce) { text[data-line] { animation: none } }
    </style>"""


def main(argv: list[str]) -> int:
    """Run the demo and write the recording."""
    if len(argv) != 1:
        sys.stderr.write("Name the file to write.\n")
        return 2
    root = Path(__file__).parents[2]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    done = subprocess.run(
        ["bash", "examples/demo.sh"], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    Path(argv[0]).write_text(recording(done.stdout), encoding="utf8")
    return 0


def recording(printed: str) -> str:
    """What was printed, drawn; the command stands there at once, the lines under it appear one after the other."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(printed.rstrip()))
    drawn = console.export_svg(title="make demo", unique_id="demo")
    return _ROW.sub(_delayed, drawn).replace("</style>", _STYLE, 1)


def _delayed(row: re.Match[str]) -> str:
    """A piece of a line with the time at which it appears; rich counts a wide character as one column."""
    line, is_narrow = int(row["line"]), cell_len(unescape(row["words"])) == len(unescape(row["words"]))
    after = BEGIN + EACH * line if line else 0.0
    length = f"{row['length']} " if is_narrow else ""
    timed = f'data-line="{line}" style="--after: {after:.2f}s"'
    return f"<text {row['named']} {length}{row['clip']} {timed}>{row['words']}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
