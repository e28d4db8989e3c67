"""Every kind of file, damaged 200 times in each way: the right answer or an error of our own, nothing else."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from damaging import DAMAGES, KINDS, outcomes


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_gives_the_right_answer_or_an_error(kind: str, damage: str, tmp_path: Path) -> None:
    found = list(outcomes(kind, damage, 200, tmp_path))

    assert len(found) == 200
    assert [outcome.done for outcome in found if not outcome.is_held] == []
