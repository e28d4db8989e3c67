"""Makes the clients of servers that speak OpenAI's protocol: no retries of their own, and a timeout that holds."""

import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import httpx2
from langchain_openai import ChatOpenAI
from openai import DefaultHttpxClient
from pydantic import SecretStr

from agentic_memory_bank.engines.providers import provider_of
from agentic_memory_bank.state.model_table import RoleSettings

_DEADLINE: Final = "agentic_memory_bank.deadline"


@lru_cache(maxsize=64)
def openai_client(row: RoleSettings, key: str, address: str | None) -> ChatOpenAI:
    """The client of a row of the table; one for each row, key and address in a process."""
    provider, name = provider_of(row.model or "")
    is_openai = provider.name == "openai"  # the others know the limit by its older name
    return ChatOpenAI(
        model=name,
        api_key=SecretStr(key),
        base_url=address or provider.default_address,
        temperature=row.temperature,
        top_p=row.top_p,
        timeout=row.timeout,
        max_retries=0,
        use_responses_api=False,
        http_client=_http_client(row.timeout),
        max_completion_tokens=row.output if is_openai else None,
        extra_body=None if is_openai else {"max_tokens": row.output},
    )


def _http_client(timeout: float) -> httpx2.Client:
    """A client whose timeout holds for an answer as a whole: httpx counts anew with every byte that drips in."""

    def begin(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, _DEADLINE: time.monotonic() + timeout}

    def limit(response: httpx2.Response) -> None:
        response.stream = _Limited(response.stream, response.request.extensions[_DEADLINE])

    return DefaultHttpxClient(timeout=timeout, event_hooks={"request": [begin], "response": [limit]})


class _Limited(httpx2.SyncByteStream):
    """The chunks of an answer, up to a deadline."""

    def __init__(self, stream: Any, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            if time.monotonic() > self._deadline:
                raise httpx2.ReadTimeout("The answer was not complete in time.")
            yield chunk

    def close(self) -> None:
        """Give the connection back."""
        self._stream.close()
