"""The tools of an agent that reach the web, as the settings of a run name them."""

from functools import lru_cache

from langchain_core.tools import BaseTool

from agentic_memory_bank.state.settings import Settings
from agentic_memory_bank.tools.web.client import PublicWeb
from agentic_memory_bank.tools.web.search import Disabled, search
from agentic_memory_bank.tools.web.visit import visit


def web_tools(settings: Settings) -> tuple[tuple[BaseTool, ...], tuple[Disabled, ...]]:
    """`search` and `visit`, and which of them are not there for want of a key."""
    web = _web(settings.allow_private_addresses)
    made: list[BaseTool] = []
    disabled: list[Disabled] = []
    if settings.search_provider != "none":
        found = search(settings.search_provider, web=web)
        (disabled if isinstance(found, Disabled) else made).append(found)  # type: ignore[arg-type]
    if settings.visit_reader != "none":
        made.append(visit(reader=settings.visit_reader, web=web))
    return tuple(made), tuple(disabled)


@lru_cache(maxsize=2)
def _web(allow_private: bool) -> PublicWeb:
    return PublicWeb(allow_private=allow_private)
