"""Regular expressions that are compiled at their first use, as most of a rule's are not needed for one answer.

Compiling all that the rules know takes 0.4 s of CPU, of each process; who asks one question in English needs a third of
them. Where a module holds many or large ones, it makes them by `lazy_pattern`.
"""

import re
from functools import cached_property
from typing import Any, Final, cast

_METHODS: Final = (
    "search",
    "match",
    "fullmatch",
    "split",
    "findall",
    "finditer",
    "sub",
    "subn",
    "groups",
    "groupindex",
)


class LazyPattern:
    """A pattern that is compiled when it is first asked for anything; from then on its methods are the compiled one's.

    The `re` of a match is the compiled pattern and not this: where a module compares that, it compiles at import. Two
    threads that ask first at the same time compile it twice, to no harm.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self._flags = pattern, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        compiled = self.compiled
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    r"""Make a pattern as `re.compile` does, but compile it at its first use, which raises `re.error` for a wrong one.

    Example:
        >>> lazy_pattern(r"\d+").findall("3 of 12")
        ['3', '12']
    """
    return cast(re.Pattern[str], LazyPattern(pattern, flags))
