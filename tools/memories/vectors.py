"""Vectors of memories as they stand in events: encoded beside the text, with the name of their model."""

import base64
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from agentic_memory_bank.state.errors import EmbeddingError
from agentic_memory_bank.tools.embeddings.encoder import Encoder

Vector = NDArray[np.float32]

REEMBED: Final = "memory-bank maintain --reembed"
"""The command that makes all vectors anew."""


def encode_vector(vector: Vector) -> str:
    """A vector as text: little-endian float32 in base64; empty for one of zeros."""
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode() if vector.any() else ""


def decode_vector(vector: str) -> Vector | None:
    """The vector that `encode_vector` was given; None for anything else."""
    try:
        values = np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float32)
    except ValueError:
        return None
    return values if len(values) and np.isfinite(values).all() and values.any() else None


def vector_fields(vector: Vector | None, model: str) -> Mapping[str, Any]:
    """The fields of an event for a vector; empty ones where it could not be made."""
    return {"vector": "", "model": ""} if vector is None else {"vector": encode_vector(vector), "model": model}


def model_of(encoder: Encoder) -> str:
    """The name of the model; empty where its files are not there."""
    try:
        return encoder.model
    except EmbeddingError:  # listing and forgetting go on without the model's files
        return ""
