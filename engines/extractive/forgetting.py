"""Reads what users want forgotten: the subjects they name, the parts of memories that speak of them, yes and no.

Short: the door to five modules of `remembering`, for the stages that delete.
"""

from agentic_memory_bank.engines.extractive.remembering.antecedents import LOOKED_BACK
from agentic_memory_bank.engines.extractive.remembering.deletion import echoes_in, parts_meant
from agentic_memory_bank.engines.extractive.remembering.statements import only_asks
from agentic_memory_bank.engines.extractive.remembering.subjects import (
    Subject,
    roots_of,
    subject_of,
    subjects_of,
)
from agentic_memory_bank.engines.extractive.remembering.telling import Telling, is_no, is_yes, told_to_forget

__all__ = [
    "LOOKED_BACK",
    "Subject",
    "Telling",
    "echoes_in",
    "is_no",
    "is_yes",
    "only_asks",
    "parts_meant",
    "roots_of",
    "subject_of",
    "subjects_of",
    "told_to_forget",
]
