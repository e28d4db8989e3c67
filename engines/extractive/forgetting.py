"""Reads what users tell a memory: what to forget, in which parts of memories it stands, yes and no, and on or off.

Short: the door to eleven modules of `remembering`, for the stages that delete.
"""

from agentic_memory_bank.engines.extractive.remembering.antecedents import JUST_BEFORE, LOOKED_BACK, antecedent
from agentic_memory_bank.engines.extractive.remembering.deletion import echoes_in, parts_like, parts_meant, with_whom
from agentic_memory_bank.engines.extractive.remembering.replies import is_no, is_yes
from agentic_memory_bank.engines.extractive.remembering.statements import only_asks
from agentic_memory_bank.engines.extractive.remembering.subjects import (
    Subject,
    have_in_common,
    held_of,
    in_other_words,
    meaning_of,
    roots_of,
    shared_words,
    subject_of,
    subjects_of,
    things_named,
)
from agentic_memory_bank.engines.extractive.remembering.switching import Switching, told_to_switch
from agentic_memory_bank.engines.extractive.remembering.telling import Telling, told_to_forget
from agentic_memory_bank.engines.extractive.remembering.unkept import NotKept, not_kept_in, offers_to_keep
from agentic_memory_bank.engines.extractive.remembering.whom import people_meant
from agentic_memory_bank.engines.extractive.remembering.wish_head import sounds_like_a_wish
from agentic_memory_bank.engines.extractive.remembering.wishes import (
    Wish,
    places_of,
    plain_wish_in,
    subjects_described,
    wish_in,
    without,
    words_at,
)

__all__ = [
    "JUST_BEFORE",
    "LOOKED_BACK",
    "NotKept",
    "Subject",
    "Switching",
    "Telling",
    "Wish",
    "antecedent",
    "echoes_in",
    "have_in_common",
    "held_of",
    "in_other_words",
    "meaning_of",
    "is_no",
    "is_yes",
    "not_kept_in",
    "offers_to_keep",
    "only_asks",
    "parts_like",
    "parts_meant",
    "people_meant",
    "places_of",
    "plain_wish_in",
    "roots_of",
    "shared_words",
    "sounds_like_a_wish",
    "subject_of",
    "subjects_described",
    "subjects_of",
    "things_named",
    "told_to_forget",
    "told_to_switch",
    "wish_in",
    "with_whom",
    "without",
    "words_at",
]
