"""What was said in one process is known in the next: the ten end-to-end cases of the Semantic Router proposal."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("conversations_driver.py")


def run(act: str, folder: Path) -> Any:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(DRIVER), act, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a second process finds of what was said to a first one."""
    folder = tmp_path_factory.mktemp("home")
    assert run("said", folder) == "said"
    return run("asked", folder)


def test_what_was_said_in_one_session_is_recalled_in_the_next_one(known: Any) -> None:
    assert "Tesla Model 3" in known["car"]
    assert "Rex" in known["dog"]


def test_a_number_and_a_figure_survive_as_they_were_written(known: Any) -> None:
    assert "4821-77B" in known["number"]
    assert "$83,250.50" in known["salary"]


def test_each_user_sees_their_own_secret_and_nobody_elses(known: Any) -> None:
    pin, password = known["own"]
    assert "9317" in pin
    assert "quokka-lane" in password
    to_bob, to_ana = known["foreign"]
    assert "9317" not in to_bob
    assert "Tesla" not in to_bob
    assert "quokka-lane" not in to_ana
    assert "Minka" not in to_ana


def test_memory_that_is_switched_off_knows_nothing(known: Any) -> None:
    assert known["off"] == ""


def test_a_very_high_threshold_injects_nothing(known: Any) -> None:
    assert known["high"] == ""


def test_the_prompt_of_the_application_and_a_memory_are_both_there(known: Any) -> None:
    instructions, memories, question = known["shown"][0]
    assert instructions == ["system", "You are Bluefin's clerk."]
    assert memories[0] == "human"
    assert "Bluefin Harvest" in memories[1]
    assert question == ["human", "What is my project called?"]


def test_messages_in_the_form_of_chat_completions_are_remembered_and_asked(known: Any) -> None:
    assert "teal" in known["colour"]


def test_the_home_that_moved_is_the_new_one_and_the_old_one_stays_in_the_history(known: Any) -> None:
    assert "Lisbon" in known["home"]
    assert "Berlin" not in known["home"]
    homes = {city: gone for text, gone in known["homes"] for city in ("Lisbon", "Berlin") if city in text}
    assert homes == {"Lisbon": False, "Berlin": True}


def test_a_question_about_something_else_is_shown_no_memory(known: Any) -> None:
    assert known["unrelated"] == ""


def test_a_store_that_is_down_fails_no_message(known: Any) -> None:
    assert known["down"] == ["I see.", "unavailable"]
    assert known["shown"][1] == [["human", "What is my dog called?"]]
