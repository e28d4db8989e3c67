"""Reads settings from the variables `MEMORY_BANK_*`, and refuses unknown ones."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, ClassVar, Final, TypeVar, cast

from pydantic import ValidationError
from pydantic_settings import PydanticBaseSettingsSource

from agentic_memory_bank.state.errors import SettingsError

PREFIX: Final = "MEMORY_BANK_"
Made = TypeVar("Made")

OTHERS: Final = {
    "MEMORY_BANK_HOME": "Where runs and memories live on disk. Default: agentic-memory-bank in the user's state "
    "folder, ~/.local/state.",
    "MEMORY_BANK_DATABASE_URL": "Address of a Postgres database for runs, memories of pages and memories across "
    "conversations, such as postgresql://user:password@host/database. Default: files in MEMORY_BANK_HOME.",
    "MEMORY_BANK_USER": "Whose memories are meant on the command line, and by a server that serves one user. Such a "
    "server calls its user `me` where this is not set.",
    "MEMORY_BANK_PROJECT": "Which of the user's projects `memory-bank mcp` serves. Default: none.",
    "MEMORY_BANK_LOCAL_BASE_URL": "Address of the server of the models `local:NAME`. Default: http://127.0.0.1:11434/v1.",
    "MEMORY_BANK_LOCAL_API_KEY": "Its key, if it asks for one.",
    "MEMORY_BANK_AUTH": "How a server knows who asks: `local` (one user, on this machine), `proxy` (the header "
    "x-authz-user-id, set by a proxy in front of the server) or `token` (bearer tokens). Default: local.",
    "MEMORY_BANK_TOKENS": "The file of bearer tokens for `token`, as `memory-bank token NAME` writes it.",
    "MEMORY_BANK_ALLOW_REMOTE": "`true` lets everybody be the one user of `local` who reaches the server, from other "
    "machines, too.",
    "MEMORY_BANK_ORIGINS": "Web origins besides those of this machine whose pages may ask a `local` server. Default: "
    "https://smith.langchain.com and https://eu.smith.langchain.com, where LangGraph Studio is.",
    "MEMORY_BANK_CLIENT_SETTINGS": "Names of the settings that clients of a server may set, parted by commas; "
    "`default` among them stands for those that concern no operator. Default: default.",
}
"""Every variable of this package that is no setting, with its description."""
EARLIER: Final = {"embedding_path": ("embeddings", "local:")}
"""Earlier names of settings: the name now, and a prefix for the value."""


def renewed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Rename settings that go by an earlier name; where both names are given, the new one counts."""
    now = {name: value for name, value in values.items() if name not in EARLIER}
    for earlier, (name, before) in EARLIER.items():
        if values.get(earlier) is not None:
            now.setdefault(name, f"{before}{values[earlier]}")
    return now


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name for an unknown one, as the end of a sentence."""
    close = get_close_matches(name.casefold(), {one.casefold(): one for one in known}, n=1, cutoff=0.5)
    meant = {one.casefold(): one for one in known}.get(close[0]) if close else None
    return f"The nearest is `{meant}`." if meant else "docs/settings.md lists all."


def set_variables() -> frozenset[tuple[str, str]]:
    """The variables `MEMORY_BANK_*` as they are now, with their values."""
    return frozenset((name, value) for name, value in os.environ.items() if name.upper().startswith(PREFIX))


_made: dict[tuple[Any, ...], Any] = {}
_MOST_MADE: Final = 256


def once(make: Callable[..., Made], given: Mapping[str, Any]) -> Made:
    """Make settings of values and of the variables as they are now, or give those that were made of the same.

    Each stage of a graph and each hook of an agent asks for its own, and making them takes as long as a search.
    """
    known = (make, set_variables(), repr(given))
    made = _made.get(known)
    if made is None:
        if len(_made) >= _MOST_MADE:
            _made.clear()
        made = _made[known] = make(**given)
    return cast("Made", made)


class Environment(PydanticBaseSettingsSource):
    """Reads the variables that are settings, again only where one has changed.

    Reading them takes longer than a search, and every message needs them.
    """

    _last: ClassVar[dict[type[Any], tuple[frozenset[tuple[str, str]], dict[str, Any]]]] = {}
    """The variables that were read last, and what came of them."""

    def __init__(
        self, settings_cls: type[Any], source: PydanticBaseSettingsSource, without: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(settings_cls)
        self._source, self._without = source, without

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        """Read the variable of one field."""
        return self._source.get_field_value(field, field_name)

    def __call__(self) -> dict[str, Any]:
        """Read all settings by name.

        Raises:
            SettingsError: A variable `MEMORY_BANK_*` has an unknown name.
        """
        variables = set_variables()
        last = Environment._last.get(self.settings_cls)
        if last is None or last[0] != variables:
            self._check(name for name, value in variables if value)
            known = {name: value for name, value in self._source().items() if name not in self._without}
            read = renewed({**_earlier(variables), **known})
            last = Environment._last[self.settings_cls] = (variables, read)
        return dict(last[1])

    def _check(self, names: Iterable[str]) -> None:
        check_variables(names, set(self.settings_cls.model_fields) - self._without)


def check_variables(names: Iterable[str], fields: Iterable[str]) -> None:
    """Check that variables are settings or other variables of this package.

    Raises:
        SettingsError: One is not; the message names the nearest.
    """
    known = {*OTHERS, *(f"{PREFIX}{field.upper()}" for field in (*fields, *EARLIER))}
    for name in sorted(names):
        if name.upper() not in known:
            raise SettingsError(f"No setting has the variable {name}. {nearest(name, known)} Mend or unset it.")


def _earlier(variables: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Read the variables that have an earlier name of a setting."""
    named = ((name.upper().removeprefix(PREFIX).casefold(), value) for name, value in variables)
    return {name: value for name, value in named if name in EARLIER and value}


@contextmanager
def explained() -> Iterator[None]:
    """Tell of values that are not allowed in our own words.

    Raises:
        SettingsError: One is not.
    """
    try:
        yield
    except ValidationError as error:
        raise SettingsError(_explain(error)) from None
    except SettingsError:
        raise
    except ValueError as error:  # a variable that holds no JSON where there should be some
        raise SettingsError(f"{error}. Mend the variable MEMORY_BANK_<NAME>.") from None


def _explain(error: ValidationError) -> str:
    found = "; ".join(
        f"{'.'.join(map(str, e['loc'])) or 'settings'}: {e['msg']}" for e in error.errors(include_url=False)
    )
    return f"These settings cannot be used: {found}. Mend the argument or the variable MEMORY_BANK_<NAME>."
