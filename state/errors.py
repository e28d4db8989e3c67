"""Every error this package raises on purpose, in one tree.

```text
MemoryBankError
├── InputError            what was handed in cannot be used (also a ValueError)
│   ├── InputTooLarge     it is over a limit of `Settings`
│   ├── NoUserError       nobody is named whose memories are meant
│   └── UnknownMemoryError  this user has no such memory
├── SettingsError         a setting has no meaning, or a needed package or key is missing
├── EngineError           a judgement could not be made
│   ├── AnswerRejected    the engine answered, and the answer breaks its contract
│   ├── ModelUnavailable  the model behind the engine could not be reached
│   ├── StageTimedOut     a stage took longer than it may
│   └── ModelRefused      the model's server will not answer until something is mended: a key, a name, a quota
├── EmbeddingError        vectors could not be made, or cannot be used
├── LoadError             a file could not be turned into text
├── ToolError             a tool called by an agent failed
├── RunError              a durable run cannot go on
│   ├── ThreadBusyError   another process or thread is running this thread
│   ├── UnknownThreadError  nothing is known of this thread
│   ├── EngineMismatchError  the run was started with another engine
│   └── BudgetReachedError   the run has spent what it may
└── StorageError          what is on disk cannot be read or written
    ├── StorageFullError  the disk or its quota is full
    ├── StorageDamagedError  a database or its checkpoints are not what was written
    │   └── DamagedRowError    what the ledger says of one thread is not what was written
    ├── StoreBusyError    another process has the store open, and it serves one at a time
    └── ExportError       an export file is foreign, damaged or newer than this package
```
"""


class MemoryBankError(Exception):
    """Base of all errors of this package. The message says what went wrong and what to do."""


class InputError(MemoryBankError, ValueError):
    """What was handed in cannot be used; nothing was done with it."""


class InputTooLarge(InputError):
    """The input is over a limit of `Settings`; nothing was done with it."""


class NoUserError(InputError):
    """No user is named; that never means the memories of all users."""


class UnknownMemoryError(InputError, LookupError):
    """The user has no memory of this id; whether another user has one is not told."""


class SettingsError(MemoryBankError, ValueError):
    """A setting has no meaning, or something it needs is not installed."""


class EngineError(MemoryBankError):
    """A judgement could not be made."""

    is_final = False
    """Whether the engine has asked again already, or asking again cannot help."""


class AnswerRejected(EngineError):
    """The engine answered, and the answer breaks the contract of the judgement."""


class ModelUnavailable(EngineError):
    """The model behind the engine could not be reached."""


class StageTimedOut(EngineError):
    """A stage took longer than it may, and nobody waits for it any more."""

    is_final = True


class ModelRefused(EngineError):
    """The model's server will not answer this, however often it is asked; the message says what has to be mended."""


class EmbeddingError(MemoryBankError):
    """Vectors could not be made, or what was made cannot be used."""


class LoadError(MemoryBankError):
    """A file could not be turned into text."""


class ToolError(MemoryBankError):
    """A tool called by an agent failed."""


class RunError(MemoryBankError):
    """A durable run cannot go on."""


class ThreadBusyError(RunError):
    """Another process or thread is running this thread right now."""


class UnknownThreadError(RunError, LookupError):
    """Nothing is known of this thread."""


class EngineMismatchError(RunError):
    """The run was started with another engine than the one it is asked to go on with."""


class BudgetReachedError(RunError):
    """The run has spent what it may.

    Args:
        resource: What is used up: `calls`, `tokens`, `money` or `seconds`.
        limit: How much was allowed in all.
        spent: How much is used; the last call may have passed the limit.
    """

    def __init__(self, resource: str, limit: float, spent: float | None = None) -> None:
        super().__init__(
            f"The budget of {limit:,.10g} {resource} is used up. Raise it, finish with what is there, or stop."
        )
        self.resource = resource
        self.limit = limit
        self.spent = limit if spent is None else max(spent, limit)


class StorageError(MemoryBankError):
    """What is on disk cannot be read or written."""


class StorageFullError(StorageError):
    """The disk, or a quota on it, is full. What was saved before is intact."""


class StorageDamagedError(StorageError):
    """A database or its checkpoints are not what this package wrote."""


class DamagedRowError(StorageDamagedError):
    """What the ledger says of one thread is not what was written; what it says of others can be read."""


class StoreBusyError(StorageError):
    """Another process has the store open, and it serves one at a time."""


class ExportError(StorageError):
    """An export file is foreign, damaged, or newer than this package."""


def unfit(name: str, given: object, wanted: str) -> InputError:
    """Make the error for an argument of a type that cannot be used."""
    kind = f"the class {given.__name__} itself" if isinstance(given, type) else f"of type {type(given).__name__}"
    return InputError(f"`{name}` cannot be {kind}. Give {wanted}, or leave it out.")
