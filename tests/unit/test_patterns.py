"""Patterns that are compiled at their first use."""

import re

import pytest

from agentic_memory_bank.tools.text.patterns import LazyPattern, lazy_pattern


def test_a_lazy_pattern_finds_what_the_compiled_one_finds() -> None:
    lazy, compiled = (
        lazy_pattern(r"(?P<day>\d+) (may|june)", re.IGNORECASE),
        re.compile(r"(?P<day>\d+) (may|june)", re.I),
    )
    text = "From 3 May to 12 june."
    assert lazy.findall(text) == compiled.findall(text)
    assert [found.span() for found in lazy.finditer(text)] == [found.span() for found in compiled.finditer(text)]
    assert lazy.sub("then", text) == compiled.sub("then", text)
    assert [lazy.search(text, 6) is None, lazy.match(text), lazy.fullmatch(text)] == [False, None, None]
    assert (lazy.pattern, lazy.groups, lazy.groupindex) == (compiled.pattern, compiled.groups, compiled.groupindex)


def test_nothing_is_compiled_before_the_first_use() -> None:
    wrong = lazy_pattern("(")
    with pytest.raises(re.error, match="unterminated subpattern"):
        wrong.search("")


def test_what_compiled_patterns_can_do_and_no_more() -> None:
    with pytest.raises(AttributeError):
        LazyPattern("a").find("a")
