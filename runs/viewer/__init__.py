"""The viewer: what a bank, a user's memories or a memory of pages hold, as one page to look at."""

from typing import Final

MARK: Final = '<meta name="generator" content="memory-bank view">'
"""What tells a file of ours from another, near its beginning."""
