"""The class `AsyncMemories`: `Memories` for asynchronous code, each operation on a thread of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from agentic_memory_bank.runs.memories import Memories

P = ParamSpec("P")
R = TypeVar("R")


class _Awaited(Generic[P, R]):
    """A method of `Memories`, awaited: arguments, returns and errors are those of the method."""

    def __init__(self, method: Callable[Concatenate[Memories, P], R]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: "AsyncMemories", owner: type["AsyncMemories"]) -> Callable[P, Awaitable[R]]:
        async def awaited(*args: P.args, **given: P.kwargs) -> R:
            return await asyncio.to_thread(self._method, instance.memories, *args, **given)

        return awaited


class AsyncMemories:
    """Awaits what `Memories` does: no operation blocks the event loop. Arguments and errors are those of `Memories`.

    What is cancelled while it writes is carried through on its thread, whole or not at all.

    Args:
        memories: Memories that are shared with code that is not asynchronous; they are not closed here. Default: new
            ones, made of the other arguments.

    Example:
        >>> async with AsyncMemories() as memories:
        ...     await memories.remember("I moved to Lisbon last month.", user="ana", end=True)
        ...     print((await memories.recall("Where do I live now?", user="ana"))["block"])
    """

    def __init__(self, memories: Memories | None = None, **given: Any) -> None:
        self.memories = Memories(**given) if memories is None else memories
        self._is_shared = memories is not None
        self.as_tools = self.memories.as_tools  # LangChain's tools can be awaited as they are

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._is_shared:
            await self.close()

    add_invocation = _Awaited(Memories.add_invocation)
    agent_conversation = _Awaited(Memories.agent_conversation)
    close = _Awaited(Memories.close)
    consolidate = _Awaited(Memories.consolidate)
    dataframe = _Awaited(Memories.dataframe)
    copy_of = _Awaited(Memories.copy_of)
    delete = _Awaited(Memories.delete)
    delete_conversation = _Awaited(Memories.delete_conversation)
    delete_all = _Awaited(Memories.delete_all)
    documents = _Awaited(Memories.documents)
    export = _Awaited(Memories.export)
    flush = _Awaited(Memories.flush)
    get = _Awaited(Memories.get)
    import_from = _Awaited(Memories.import_from)
    import_ = _Awaited(Memories.import_)
    list = _Awaited(Memories.list)
    maintain = _Awaited(Memories.maintain)
    mode = _Awaited(Memories.mode)
    pin = _Awaited(Memories.pin)
    preview_delete = _Awaited(Memories.preview_delete)
    preview_delete_about = _Awaited(Memories.preview_delete_about)
    preview_delete_all = _Awaited(Memories.preview_delete_all)
    recall = _Awaited(Memories.recall)
    reflect = _Awaited(Memories.reflect)
    remember = _Awaited(Memories.remember)
    remember_later = _Awaited(Memories.remember_later)
    restore = _Awaited(Memories.restore)
    search = _Awaited(Memories.search)
    search_episodes = _Awaited(Memories.search_episodes)
    store = _Awaited(Memories.store)
    store_episode = _Awaited(Memories.store_episode)
    supersede = _Awaited(Memories.supersede)
    switch = _Awaited(Memories.switch)
    sync_folder = _Awaited(Memories.sync_folder)
    talk = _Awaited(Memories.talk)
    transcript = _Awaited(Memories.transcript)
    update = _Awaited(Memories.update)
