"""Reads and checks requests for memories, and writes memories as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NoReturn, cast

from starlette.requests import Request

from agentic_memory_bank.runs.conversation_memory import ThresholdChoice
from agentic_memory_bank.runs.server import USER_HEADER, is_plain, user_of_request
from agentic_memory_bank.state.errors import (
    InputError,
    NoUserError,
)
from agentic_memory_bank.state.records import TYPES, Record, RecordType

MOST: Final = 100
"""The most memories that a listing has, whatever is asked for."""
LONGEST: Final = 262_144
"""Longest body of a request, in bytes."""
UNSET: Final = object()


class RequestRefused(Exception):
    """Raised for a request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """A request for memories: its user and its fields."""

    user: str
    id: str
    given: Mapping[str, Any]
    """Parameters of the address, or else fields of the body."""


async def read_request(request: Request, takes: frozenset[str]) -> MemoryRequest:
    """Read a request, and check what can be checked without the memories."""
    parameters = _parameters(request)
    body = await _body(request) if request.method != "GET" else {}
    if body and request.method == "DELETE":  # whoever names a scope there would have everything erased
        refuse("INVALID_BODY", "What is to be erased stands in the address: ?project_id=... and type=...")
    try:
        user = user_of_request(request.scope, request.headers.get(USER_HEADER), _claimed(parameters, body))
    except NoUserError:
        raise
    except InputError as error:
        raise RequestRefused(400, "INVALID_USER_ID", str(error)) from None
    given = body if request.method in ("POST", "PUT") else parameters
    others = {} if given is parameters else parameters
    if unknown := sorted((given.keys() - takes) | (others.keys() - {"user_id"})):
        refuse("INVALID_PARAMETER", f"There is no {unknown[0]!r} here. There is {', '.join(sorted(takes))}.")
    id = _id(request) if "id" in request.path_params else ""
    return MemoryRequest(user, id, given)


def _id(request: Request) -> str:
    id = str(request.path_params["id"])
    if not is_plain(id) or not str(request.scope["path"]).endswith(id):  # a line break at the end matches no `.*`
        refuse("INVALID_MEMORY_ID", "The id of a memory is made of letters, digits and `._@:/$-`.")
    return id


def _parameters(request: Request) -> dict[str, str]:
    pairs = request.query_params.multi_items()
    if len({name for name, _ in pairs}) < len(pairs):
        refuse("INVALID_PARAMETER", "A parameter is given twice. Give each once; types are parted by commas.")
    return dict(pairs)


async def _body(request: Request) -> dict[str, Any]:
    """Read the JSON object in the body of a request; an empty body counts as an empty object."""
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > LONGEST:
            refuse("INVALID_BODY", f"The body of a request has at most {LONGEST:,} bytes. Send it in parts.")
    try:
        found: Any = json.loads(received) if received.strip() else {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        refuse("INVALID_BODY", "The body of this request is an object as JSON.")
    return cast("dict[str, Any]", found)


def _claimed(parameters: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    """Read the user that a request names in its address or body; two different ones are refused."""
    named = [source["user_id"] for source in (parameters, body) if source.get("user_id") not in (None, "")]
    if any(not isinstance(name, str) for name in named) or len(set(named)) > 1:
        raise RequestRefused(400, "INVALID_USER_ID", "`user_id` is a text, and the same wherever it is given.")
    return named[0] if named else None


def refuse(code: str, message: str) -> NoReturn:
    """Make the error for a malformed request."""
    raise RequestRefused(400, code, message)


def text_of(given: Mapping[str, Any], name: str) -> str:
    """Read a field that has to be a text and not blank."""
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        refuse(f"INVALID_{name.upper()}", f"`{name}` is a text that is not blank.")
    return value


def ids_of(given: Mapping[str, Any]) -> Sequence[str] | None:
    """Read the ids that a request names; None where it names none."""
    value = given.get("ids")
    if value is not None and not (
        isinstance(value, list) and all(isinstance(id, str) for id in cast("list[Any]", value))
    ):
        refuse("INVALID_IDS", "`ids` is a list of ids, as they are shown.")
    return cast("Sequence[str] | None", value)


def project_of(given: Mapping[str, Any]) -> str | None:
    """Read the project that a request means; None for all."""
    value = given.get("project_id")
    if value is not None and not isinstance(value, str):
        refuse("INVALID_PROJECT_ID", "`project_id` is a text.")
    return value


def type_of(value: object) -> RecordType:
    """Read a type of memory; raises RequestRefused for an unknown one."""
    if value not in TYPES:
        refuse("INVALID_TYPE", f"There is no type of memory {value!r}. Use {', '.join(TYPES)}.")
    return value


def types_of(value: object) -> Sequence[RecordType] | None:
    """Read types as a list, or as a text with commas; an empty one is refused, since it could mean all."""
    if value is UNSET or value is None:
        return None
    names: object = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        refuse("INVALID_TYPE", f"Name some of the types {', '.join(TYPES)}, or leave them out for all.")
    return [type_of(name) for name in cast("list[object]", names)]


def limit_of(value: object) -> int:
    """Read how many memories a listing has."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        refuse("INVALID_LIMIT", f"A limit is a whole number from 1; more than {MOST} are not sent at once.")
    return min(value, MOST)


def threshold_of(value: object) -> ThresholdChoice:
    """Read the least cosine that a request asks for."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
        refuse("INVALID_THRESHOLD", "A threshold is a cosine from -1 to 1, or null for none.")
    return float(value)


def share_of(value: object, name: str) -> float:
    """Read a field that has to be a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        refuse(f"INVALID_{name.upper()}", f"`{name}` is a number from 0 to 1.")
    return float(value)


def moment_of(value: object) -> datetime:
    """Read a time with its zone, and convert it to UTC."""
    try:
        moment = datetime.fromisoformat(cast(str, value))
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):  # the last: no year of UTC has it
        pass
    refuse("INVALID_EXPIRES_AT", "A memory ends at a time with its zone, such as 2030-01-31T12:00:00Z.")


def memories_json(records: Sequence[Record], user: str) -> list[Mapping[str, Any]]:
    """Write memories as JSON."""
    return [memory_json(record, user) for record in records]


def memory_json(record: Record, user: str) -> Mapping[str, Any]:
    """Write a memory as JSON."""
    return {
        "id": record["id"],
        "type": record["type"],
        "content": record["text"],
        "user_id": user,
        "project_id": record["project"],
        "source": _origin(record),
        "sources": record["sources"],
        "importance": record["importance"],
        "trust": record["trust"],
        "access_count": record["access_count"],
        "created_at": record["created_at"],
        "updated_at": record["updated_at"],
        "expires_at": record["expires_at"],
        "pinned_at": record["pinned_at"],
        "replaced_by": record["replaced_by"],
        "contradicts": record["contradicts"],
        "history": record["history"],
    }


def _origin(record: Record) -> str:
    if record["evidence"]:
        return "reflection"
    return "conversation" if any(source["conversation"] for source in record["sources"]) else "explicit"
