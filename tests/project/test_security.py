"""Every sentence of SECURITY.md has its tests, and they are there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from agentic_memory_bank import Memories
from agentic_memory_bank.tools.embeddings.hashing import HashEmbeddings
from agentic_memory_bank.tools.storage.database_form import sealed
from agentic_memory_bank.tools.storage.sqlite_store import FILE
from agentic_memory_bank.tools.text.secrets import secrets_in

ROOT = Path(__file__).parents[2]
SENTENCES = re.findall(r"^- (.+)$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
HELD = {
    "With nothing set up (`local`), a server answers": (
        "server/test_who_asks.py::test_on_this_machine_nobody_else_is_answered",
        "server/test_who_asks.py::test_studio_works_with_nothing_set_up",
        "server/test_who_asks.py::test_a_server_that_others_can_reach_answers_this_machine_alone",
    ),
    "Behind a proxy (`proxy`), a request without its": (
        "unit/test_auth.py::test_behind_a_proxy_nobody_is_refused",
        "unit/test_auth.py::test_two_names_are_nobodys",
    ),
    "With tokens (`token`), only hashes are on disk, a": (
        "server/test_who_asks.py::test_whoever_has_a_token_is_its_user_until_the_line_is_taken_out",
        "unit/test_auth.py::test_whoever_has_a_token_is_known_by_it_and_nobody_else",
        "unit/test_auth.py::test_a_file_that_others_may_write_is_not_believed",
    ),
    "In `proxy` and `token`, no user reads, changes or": (
        "attack/test_crossing.py::*",
        "server/test_who_asks.py::test_threads_runs_and_assistants_are_their_owners_whatever_a_client_writes",
    ),
    "In every mode, a request that names somebody else": (
        "unit/test_auth.py::test_a_context_that_is_not_the_clients_to_say_is_refused_at_every_door",
        "server/test_who_asks.py::test_on_this_machine_too_a_context_that_names_somebody_else_is_an_error",
    ),
    "In every mode, a client sets nothing that is the": (
        "server/test_operators_settings.py::test_a_client_that_names_a_setting_of_the_operator_is_told_so",
        "unit/test_clients.py::test_every_setting_is_a_clients_or_the_operators",
    ),
    "No text, whatever it is made of, takes more than": (
        "unit/test_linear_time.py::test_every_pattern_of_a_module_takes_linear_time",
        "unit/test_linear_time.py::test_every_function_that_reads_a_text_takes_linear_time",
        "attack/test_hostile_text.py::*",
    ),
    "Documents that give orders give none: texts are": (
        "graph/test_memory_poisoning.py::test_what_was_remembered_is_never_in_a_system_message",
        "graph/test_middleware_invariants.py::test_any_text_comes_back_out_of_its_fence_and_cannot_leave_it",
    ),
    "Documents that attack a parser reach a child": (
        "unit/test_loaders.py::test_hostile_files_cost_a_load_error_and_not_the_process",
        "unit/test_loaders.py::test_the_child_sees_no_secret_of_the_environment",
    ),
    "Documents and memories do not drive the": (
        "cli/test_ask.py::test_a_document_cannot_drive_the_terminal",
        "cli/test_remembering.py::test_an_escape_sequence_in_a_memory_is_not_sent_to_the_terminal",
    ),
    "A page of `memory-bank view` runs and loads": (
        "graph/test_viewer.py::test_nothing_of_a_memory_is_markup",
        "graph/test_viewer.py::test_the_policy_lets_run_only_the_script_and_style_of_the_file",
        "browser/test_viewer_in_browser.py::test_hostile_content_runs_nothing_and_asks_for_nothing",
    ),
    "The live page answers the one visitor of its": (
        "server/test_live_view.py::test_the_address_is_good_once_and_the_cookie_from_then_on",
        "server/test_live_view.py::test_what_another_site_can_send_does_nothing",
    ),
    "An agent opens no address of your own network": (
        "unit/test_public_web.py::test_no_connection_is_made_where_a_url_leads_outside_of_the_public_web",
        "server/test_operators_settings.py::test_an_agent_that_is_told_to_visit_loopback_does_not_whatever_its_client_sets",
        "unit/test_public_web.py::test_with_private_addresses_allowed_metadata_servers_stay_closed",
    ),
    "A model that goes on calling tools comes to an end:": (
        "graph/test_agent_limits.py::test_an_agent_that_only_calls_tools_ends_after_react_calls_and_answers_from_what_it_found",
        "graph/test_agent_limits.py::test_a_budget_ends_the_agent_before_it_is_passed",
        "server/test_agent.py::test_a_model_that_goes_on_calling_tools_that_were_withdrawn_ends_at_the_limit_with_what_it_found",
    ),
    "What a user says is on disk before the first word": (
        "durability/test_kept_at_once.py::test_a_turn_is_known_after_a_kill_right_behind_its_answer",
        "durability/test_kept_at_once.py::test_what_the_user_said_is_kept_before_the_first_word_of_the_answer",
    ),
    "A description alone never erases; what is erased": (
        "graph/test_forgetting_in_part.py::test_a_vector_alone_never_shows_a_memory",
        "cli/test_remembering.py::test_a_description_alone_never_erases_but_the_ids_that_it_shows_do",
    ),
    "Of a turn of which a part is forgotten, the rest": (
        "graph/test_forgetting_in_part.py::test_what_was_said_in_the_same_turn_stays",
    ),
    "Credentials and personal numbers of the kinds we": (
        "unit/test_personal_numbers.py::test_a_personal_number_is_left_out_wherever_something_is_kept",
        "unit/test_personal_numbers.py::test_of_a_sentence_with_a_personal_number_only_the_number_is_left_out",
    ),
    "Health, religion, politics and sexuality are left": (
        "unit/test_personal_numbers.py::test_what_somebody_wants_left_out_and_personal_numbers_stand_in_no_memory",
    ),
    "`FourTierMemory` keeps masked what LangChain's": (
        "graph/test_pii_order.py::test_four_tiers_keep_what_is_masked_masked_wherever_they_stand",
        "graph/test_pii_order.py::test_behind_a_mask_memory_keeps_nothing_unmasked_and_warns_of_nothing",
        "graph/test_pii_order.py::test_in_front_of_a_mask_memory_keeps_what_is_not_masked_and_warns_once",
    ),
    "A named thread is kept until it is cleared; an": (
        "durability/test_runs.py::test_no_byte_of_a_task_is_left_when_it_ended",
        "durability/test_runs.py::test_a_named_thread_is_erased_where_a_run_says_that_it_is_not_to_be_kept",
    ),
    "What is over leaves the disk with `gc` and": (
        "durability/test_upkeep.py::test_the_text_and_vectors_of_expired_pages_leave_the_disk_with_upkeep",
        "durability/test_upkeep.py::test_runs_leave_no_lock_behind",
    ),
    "A flipped bit, a cut or a swapped page in a": (
        "durability/test_damage.py::test_a_damaged_file_gives_the_right_answer_or_an_error",
        "attack/test_damaged_files.py::*",
    ),
    "No folder with memory is erased for want of a row": (
        "durability/test_damage.py::test_a_folder_with_memory_is_not_erased_for_want_of_a_row",
        "durability/test_damage.py::test_a_ledger_row_with_a_flipped_bit_is_an_error_and_erases_nothing",
    ),
    "A kill loses nothing that was acknowledged, and an": (
        "attack/test_kills.py::*",
        "durability/test_runs.py::test_a_thread_whose_erasure_was_killed_is_gone_for_who_reads_it_and_with_gc",
    ),
    "On a full disk what is kept can be read, and": (
        "durability/test_damage.py::test_a_memory_is_read_on_a_full_disk",
        "durability/test_damage.py::test_stores_are_erased_from_on_a_full_disk",
        "durability/test_damage.py::test_a_thread_is_erased_on_a_full_disk",
    ),
    "Other users of the machine read nothing: folders": (
        "durability/test_runs.py::test_what_is_on_disk_is_for_its_owner_alone",
    ),
    "A checkpoint that was forged runs no code: msgpack": ("durability/test_runs.py::test_a_forged_row_runs_no_code",),
    "Keys are in no file, log, trace or error: they are": (
        "server/test_secrets.py::test_no_secret_is_left_behind_by_a_run_or_by_a_fault",
        "server/test_secrets.py::test_settings_take_no_secret",
    ),
    "Weights that were exchanged are": (
        "unit/test_embeddings.py::test_weights_that_are_not_those_of_the_model_are_refused",
    ),
    "The default embeddings leave nothing in your": (
        "unit/test_embeddings.py::test_encoding_leaves_nothing_in_a_users_folders_and_sends_nothing_home",
    ),
    "In `local`, every program and every account on the": (
        "unit/test_auth.py::test_on_this_machine_everybody_is_the_one_user",
        "unit/test_auth.py::test_the_operator_may_say_otherwise",
    ),
    "In `proxy`, whoever reaches the server past the": (
        "unit/test_auth.py::test_behind_a_proxy_the_header_says_who_asks",
    ),
    "Without `auth` in langgraph.json, or in code and on": (
        "unit/test_clients.py::test_in_code_nothing_is_restricted",
    ),
    "Whoever can read your files as you can reads a kept": (
        "project/test_security.py::test_a_kept_memory_is_not_encrypted",
    ),
    "Seals tell damage, not malice: they have no key,": ("project/test_security.py::test_a_seal_has_no_key",),
    "Personal numbers that no form, check digit or word": (
        "project/test_security.py::test_a_number_that_nothing_gives_away_is_kept",
    ),
    "`store`, and a user's explicit wish in code, keep": (
        "project/test_security.py::test_what_is_stored_on_purpose_is_kept_as_it_is",
    ),
    "The damage of a log's very last frame is taken for": ("attack/test_damaged_files.py::*",),
}
"""How each sentence begins, and the tests that hold it; `*` stands for all of a file."""


@cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_sentence_of_the_lists_has_tests() -> None:
    assert len(HELD) == len(SENTENCES)
    assert all(sentence.startswith(opening) for opening, sentence in zip(HELD, SENTENCES, strict=True))


@pytest.mark.parametrize("name", sorted({name for names in HELD.values() for name in names}))
def test_a_test_that_holds_a_sentence_is_there(name: str) -> None:
    file, _, test = name.partition("::")

    assert test in functions_of(file) or (
        test == "*" and any(found.startswith("test_") for found in functions_of(file))
    )


# --- what is not protected ---


def test_a_kept_memory_is_not_encrypted(home: Path) -> None:
    with Memories(embeddings=HashEmbeddings(), home=home) as memories:
        memories.store("The cellar key hangs behind the clock.", user="ann")

    assert b"behind the clock" in (home / FILE).read_bytes()


def test_a_seal_has_no_key() -> None:
    assert sealed("what anybody writes") == sealed("what anybody writes")


def test_a_number_that_nothing_gives_away_is_kept() -> None:
    assert secrets_in("It was 4820917 or so.") == []


def test_what_is_stored_on_purpose_is_kept_as_it_is() -> None:
    with Memories(embeddings=HashEmbeddings()) as memories:
        kept = memories.store("The password of the old laptop is tulip-4711.", user="ann")

    assert "tulip-4711" in kept["text"]
