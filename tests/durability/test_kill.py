"""Killed with SIGKILL at any moment, a run is resumed to the same memory, the same answer and the same export."""

import json
import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

Moment = tuple[str, int]
Report = dict[str, Any]

SCENARIOS = ("scripted", "extractive", "again", "setback")
JUDGED_AGAIN = 1
"""How many judgements a kill may cost."""
AFTER_ALL = ("after ledger remove",)


@dataclass(frozen=True)
class Whole:
    """What a scenario comes to when nobody kills it, and what its thread held before."""

    scenario: str
    run: Report
    before: Report
    template: str | None
    database: str | None = None

    def order(self, steps: list[Report]) -> Report:
        """An order of this scenario."""
        return {"scenario": self.scenario, "steps": steps, "template": self.template, "database": self.database}


@pytest.fixture(scope="module")
def unkilled(driver: Any) -> dict[str, Whole]:
    """Each scenario without a kill. `again` asks a second question of a kept memory, the others begin with none."""
    kept = str(driver.folder())
    ((made,),) = driver.carry_out([{"folder": kept, "steps": [{"do": "first"}]}])
    nothing: Report = {"checkpoints": [], "taken_in": [], "folders": []}
    found: dict[str, Whole] = {}
    for scenario in SCENARIOS:
        template, before = (f"{kept}/home", made) if scenario == "again" else (None, nothing)
        ((run, again),) = driver.carry_out([Whole(scenario, {}, before, template).order([{"do": "run"}, {"do": "gc"}])])
        assert "result" in run, run
        assert not run["rows"] + run["folders"] + again["folders"]
        found[scenario] = Whole(scenario, run, before, template)
    return found


@pytest.fixture
def shared(driver: Any, postgres: str) -> dict[str, Whole]:
    """Scenarios that begin with nothing, where runs are in a database."""
    nothing: Report = {"checkpoints": [], "taken_in": [], "folders": []}
    found: dict[str, Whole] = {}
    for scenario in ("scripted", "setback"):
        whole = Whole(scenario, {}, nothing, None, postgres)
        ((run, again),) = driver.carry_out([whole.order([{"do": "run"}, {"do": "gc"}])])
        assert "result" in run, run
        assert not run["rows"] + run["folders"] + again["folders"]
        found[scenario] = replace(whole, run=run)
    return found


def moments(run: Report) -> list[Moment]:
    """All moments of a run, each with its occurrence."""
    seen: Counter[str] = Counter()
    found: list[Moment] = []
    for moment in run["moments"]:
        seen[moment] += 1
        found.append((moment, seen[moment]))
    return found


def spread(found: list[Moment], wanted: int, whole_ending: bool) -> list[Moment]:
    """Some of the moments, at even distances, and all of the ending, where the run is exported and erased."""
    ending = next(place for place, (moment, _) in enumerate(found) if moment == "before write_export")
    end = ending if whole_ending else len(found)
    return found[: end : max(1, -(-end // wanted))] + found[end:]


def kill_at(driver: Any, whole: Whole, points: list[list[Moment]]) -> None:
    """Kill a run at each first moment, its resumes at the others, then let it end; compare with the unkilled run."""
    orders = [
        whole.order(
            [
                {"do": "run", "at": times[0]},
                *({"do": "resume", "at": at} for at in times[1:]),
                {"do": "resume"},
                {"do": "gc"},
            ]
        )
        for times in points
    ]
    faults: list[str] = []
    for times, steps in zip(points, driver.carry_out(orders), strict=True):
        faults += [f"{whole.scenario} killed at {times}: {fault}" for fault in faults_of(steps, whole)]
    assert not faults, f"{len(faults)} faults\n" + "\n".join(faults)


def faults_of(steps: list[Report], whole: Whole) -> list[str]:
    """What differs from a run that nobody killed."""
    *killed, resumed, collected = steps
    was_asked = killed[0]["rows"] not in ([], ["finished"]) or killed[0]["export"] is not None
    left = [] if was_asked else whole.before["folders"]
    checks = {
        "a step crashed": any("crashed" in step for step in steps),
        "nothing was killed": not killed[0]["killed"],
        "the last resume was killed": resumed["killed"],
        "the export is cut": any(step["export"] not in (None, whole.run["export"]) for step in steps),
        "something is left after gc": collected["folders"] != left or bool(collected["around"]),
        "a row is left after gc": len(collected["rows"]) != len(left),
    }
    return [fault for fault, found in checks.items() if found] + (
        outcome_faults(killed, resumed, whole) if was_asked else []
    )


def outcome_faults(killed: list[Report], resumed: Report, whole: Whole) -> list[str]:
    """What is wrong with what the last resume gave back."""
    faults = restarts(killed, resumed, whole)
    if resumed["export"] != whole.run["export"]:
        faults.append("the memory differs")
    if resumed.get("raised") == "UnknownThreadError" and killed[-1]["export"]:
        return faults  # it was killed after its end, when its memory was being erased
    if "raised" in resumed:
        return [f"{resumed['raised']}: {resumed['message']}"]
    if resumed["result"] != whole.run["result"]:
        faults.append("the outcome differs")
    return faults


def restarts(killed: list[Report], resumed: Report, whole: Whole) -> list[str]:
    """Whether anything began from zero though a checkpoint was there, and what judgements were made again."""
    faults: list[str] = []
    for before, after in zip(killed, [*killed[1:], resumed], strict=True):
        if len(before["checkpoints"]) > len(whole.before["checkpoints"]) and "input taken" in after["moments"]:
            faults.append("the input was taken again")
        if len(before["taken_in"]) > len(whole.before["taken_in"]) and "intake" in after["moments"]:
            faults.append("the documents were taken in again")
    again = sum(told(step) for step in [*killed, resumed]) - told(whole.run)
    if again > JUDGED_AGAIN * len(killed):
        faults.append(f"{again} judgements were made again")
    return faults


def told(step: Report) -> int:
    """How many judgements a process got."""
    return sum(moment.startswith("told") for moment in step["moments"])


@pytest.mark.kill
@pytest.mark.parametrize(("scenario", "wanted"), [("scripted", 20), ("extractive", 8), ("again", 8), ("setback", 6)])
def test_a_killed_run_resumes_to_what_an_unkilled_one_comes_to(
    driver: Any, unkilled: dict[str, Whole], scenario: str, wanted: int
) -> None:
    points = spread(moments(unkilled[scenario].run), wanted, whole_ending=scenario == "scripted")
    kill_at(driver, unkilled[scenario], [[point] for point in points])


@pytest.mark.kill
@pytest.mark.parametrize(("scenario", "wanted"), [("scripted", 10), ("setback", 4)])
def test_a_killed_run_in_a_database_resumes_to_what_an_unkilled_one_comes_to(
    driver: Any, shared: dict[str, Whole], unkilled: dict[str, Whole], scenario: str, wanted: int
) -> None:
    assert shared[scenario].run["export"] == unkilled[scenario].run["export"]

    points = spread(moments(shared[scenario].run), wanted, whole_ending=scenario == "scripted")
    kill_at(driver, shared[scenario], [[point] for point in points])


def assert_nothing_or_all(driver: Any, order: Any, whole: Any, exported: str) -> None:
    """Kill an import at each of its moments: what it leaves is collected or whole, and the next one ends the same."""
    points = moments(whole)
    orders = [
        {**order, "steps": [{"do": "import", "at": at}, {"do": "gc"}, {"do": "import"}, {"do": "export"}]}
        for at in points
    ]
    for at, (killed, collected, again, after) in zip(points, driver.carry_out(orders), strict=True):
        assert killed["killed"], at
        assert bool(collected["rows"]) == bool(collected["folders"]), at
        assert ("raised" in again) == bool(killed["rows"]), at
        assert after["export"] == exported, at


@pytest.mark.kill
def test_an_import_into_a_database_that_is_killed_leaves_nothing_or_all(
    driver: Any, shared: dict[str, Whole], tmp_path: Path
) -> None:
    file = tmp_path / "memory.json"
    file.write_text(shared["scripted"].run["export"])
    order = {"file": str(file), "database": shared["scripted"].database}
    ((whole, _),) = driver.carry_out([{**order, "steps": [{"do": "import"}, {"do": "export"}]}])
    assert_nothing_or_all(driver, order, whole, shared["scripted"].run["export"])


@pytest.mark.kill
def test_a_run_killed_again_while_it_is_resumed_comes_to_the_same(driver: Any, unkilled: dict[str, Whole]) -> None:
    kill_at(driver, unkilled["scripted"], twice_and_more(unkilled["scripted"], 8))


@pytest.mark.kill_full
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_at_every_moment_there_is(driver: Any, unkilled: dict[str, Whole], scenario: str) -> None:
    kill_at(driver, unkilled[scenario], [[point] for point in moments(unkilled[scenario].run)])


@pytest.mark.kill_full
@pytest.mark.parametrize("scenario", ["scripted", "setback"])
def test_killed_at_every_moment_there_is_in_a_database(driver: Any, shared: dict[str, Whole], scenario: str) -> None:
    kill_at(driver, shared[scenario], [[point] for point in moments(shared[scenario].run)])


@pytest.mark.kill_full
def test_killed_two_and_three_times_at_random(driver: Any, unkilled: dict[str, Whole]) -> None:
    kill_at(driver, unkilled["scripted"], twice_and_more(unkilled["scripted"], 150))


def twice_and_more(whole: Whole, wanted: int) -> list[list[Moment]]:
    """Moments to kill a run and one or two resumes at; a resume passes fewer, so it may come to its end before."""
    chance, found = random.Random(7), moments(whole.run)
    first = [point for point in found if point[0] not in AFTER_ALL]
    early = [point for point in found if point[1] <= 4]
    return [
        [chance.choice(first), *(chance.choice(early) for _ in range(chance.choice((1, 1, 2))))] for _ in range(wanted)
    ]


@pytest.mark.kill
def test_two_runs_of_one_input_export_equal_bytes(driver: Any, unkilled: dict[str, Whole]) -> None:
    again = [unkilled[scenario].order([{"do": "run"}]) for scenario in SCENARIOS]

    for scenario, (run,) in zip(SCENARIOS, driver.carry_out(again), strict=True):
        assert run["export"] == unkilled[scenario].run["export"], scenario


@pytest.mark.kill
def test_the_scenarios_lead_through_every_stage(unkilled: dict[str, Whole]) -> None:
    passed = {moment.removeprefix("enter ") for moment in unkilled["scripted"].run["moments"]}
    memory = json.loads(unkilled["scripted"].run["export"])["memory"]

    assert passed.issuperset(
        [
            "adapter_in",
            "classify",
            "structure",
            "embed",
            "retrieve",
            "analyze_conflict",
            "analyze_related",
            "integrate",
            "plan",
            "execute",
            "adapter_out",
        ]
    )
    assert {event["cause"] for event in memory["interaction_tree"]["merges"]} == {"merge", "conflict"}
    assert {conflict["status"] for conflict in memory["query_graph"]["conflicts"].values()} == {"settled"}
    assert "1931" in memory["answer"]


@pytest.mark.kill
def test_a_lease_is_free_as_soon_as_its_holder_is_killed(driver: Any, unkilled: dict[str, Whole]) -> None:
    (steps,) = driver.carry_out([{"steps": [{"do": "run", "at": ["told classify", 1]}, {"do": "resume"}]}])

    assert steps[0]["killed"]
    assert steps[1]["result"] == unkilled["scripted"].run["result"]


@pytest.mark.kill
def test_an_import_that_is_killed_leaves_nothing_or_all(
    driver: Any, unkilled: dict[str, Whole], tmp_path: Path
) -> None:
    file = tmp_path / "memory.json"
    file.write_text(unkilled["scripted"].run["export"])
    order = {"file": str(file), "steps": [{"do": "import"}, {"do": "export"}]}
    ((whole, exported),) = driver.carry_out([order])
    assert exported["export"] == unkilled["scripted"].run["export"]

    assert_nothing_or_all(driver, order, whole, whole_export(unkilled))


def whole_export(unkilled: dict[str, Whole]) -> str:
    return unkilled["scripted"].run["export"]
