"""The parts of a calibration: cases, sizes, slices, the hog, the synthetic scenarios."""

from __future__ import annotations

import dataclasses
import os
import random
import time
from pathlib import Path

import pytest
from fakes import make_latency, make_readings, make_record, make_run, make_tally, make_trial
from msgspec import structs

from dyno.cli import run_words
from dyno.compare.calibration import comparison, session
from dyno.compare.calibration.cases import CalibrationCase, list_cases
from dyno.compare.calibration.comparison import compute_injected_percent, is_other_size
from dyno.compare.calibration.copies import make_two_copies
from dyno.compare.calibration.dose_response import run_dose_series
from dyno.compare.calibration.pilot import CalibrationPilot, Shape, summarize_pilot
from dyno.judge.stats.scenarios import Scenario
from dyno.record import Run, Trial
from dyno.runs.experiment import Experiment
from dyno.runs.experiment.candidates import parse_candidate

PILOT = CalibrationPilot(5000.0, 4800.0, 8000.0, 1.0, "1.2.3", (1,))
ALL = {"aa": 4, "delay": 3, "p99": 2, "noise": 1}


def trial(block: int, candidate: str, per_s: float, injected_ns: float, lost: float = 1.0) -> Trial:
    """A trial of ten seconds whose engine was held up by `injected_ns` in each operation; its rate
    tells so many times what an operation took.
    """
    own_ns = 1e9 / per_s / lost
    latency = structs.replace(make_latency(own_ns), mean_ns=own_ns)
    tally = make_tally(per_s, service_ns=None, latency=latency)
    total_ns = injected_ns * per_s * 10
    readings = make_readings(injected_ns=total_ns, injected_answers=per_s * 10)
    record = make_record([tally], readings=readings)
    return make_trial(block * 2, candidate, block, per_s, phases=(record,))


def test_spins_are_sized_by_the_pilot() -> None:
    found = list_cases("thing@1?colour=red", PILOT, ALL)
    assert [(case.kind, case.goal) for case in found] == [
        ("A/A", 4),
        ("noise", 1),
        *[("delay", 3)] * 3,
        ("p99 delay", 2),
    ]
    five = next(case for case in found if case.effect_percent == 5.0)
    assert parse_candidate(five.base).keys == {"colour": "red", "inject": "0ns"}
    assert parse_candidate(five.candidate).keys == {"colour": "red", "inject": "250ns"}
    assert parse_candidate(found[-1].candidate).keys["inject"] == "7200ns/50"
    assert found[-1].metric == "latency_ns_p99"
    assert [case.is_aa for case in found] == [True, True, False, False, False, False]


def test_what_is_injected_is_played_beside_a_hog_too_where_asked() -> None:
    goals = {"delay": 10, "delay-noise": 2}
    for text in ("thing@1", "null@70us"):
        alone, beside = list_cases(text, PILOT, goals, (1.0,))
        assert (alone.beside_hog, beside.beside_hog) == (False, True)
        assert (alone.base, alone.candidate) == (beside.base, beside.candidate)
        assert alone.title != beside.title
        assert beside.goal == 2


def test_a_margin_is_that_of_every_comparison_and_of_its_score() -> None:
    shape = dataclasses.replace(Shape(), margin_percent=0.5)
    made = shape.build_experiment(["a=null@1us", "b=null@2us"], "rate_per_s")
    assert made.measuring.margin_percent == 0.5
    assert shape.settings != Shape().settings


def test_where_no_delay_reaches_the_engine_none_is_tried() -> None:
    found = list_cases("thing", dataclasses.replace(PILOT, answers_per_op=0.0), ALL)
    assert {case.kind for case in found} == {"A/A", "noise"}


def test_the_pilot_counts_answers_for_each_operation() -> None:
    pilot = summarize_pilot(trial(0, "base", 1000.0, 20.0), "3.1")
    assert pilot.answers_per_op == pytest.approx(1.0)
    assert pilot.per_op_ns == pytest.approx(1e6)


def test_the_size_is_what_was_spun_more_than_in_the_base() -> None:
    """50 µs more in an operation of 1 ms: 5 %, whatever the rates say."""
    blocks = [
        {"base": trial(n, "base", 1000.0, 100.0), "new": trial(n, "new", 990.0, 50_100.0)}
        for n in range(3)
    ]
    case = CalibrationCase("delay", "5 % injected", 5.0, 1, "a", "b")
    assert compute_injected_percent(case, blocks, "base", "new") == pytest.approx(5.0)
    rare = dataclasses.replace(case, metric="latency_ns_p99")
    held_ms = 1.0 + 50 * 0.05
    assert compute_injected_percent(rare, blocks, "base", "new") == pytest.approx(
        100 * (held_ms / 3 - 1)
    )
    same = CalibrationCase("A/A", "same build", 0.0, 1, "a", "a")
    assert compute_injected_percent(same, blocks, "base", "new") is None


def test_by_cpu_time_the_size_is_what_was_asked_for() -> None:
    """The library counts the time in which others had the core."""
    blocks = [{"base": trial(0, "base", 1000.0, 0.0), "new": trial(0, "new", 990.0, 900_000.0)}]
    case = CalibrationCase("delay", "5 % injected", 5.0, 1, "sqlite", "sqlite?inject=50000ns")
    found = compute_injected_percent(case, blocks, "base", "new", lambda _: 1e6)
    assert found == pytest.approx(5.0)
    assert run_words(["calibrate", "--by", "cpu"]) == 64
    assert run_words(["calibrate", "--by", "cpu", "--engine", "sqlite", "--kind", "p99"]) == 64


def test_the_size_of_null_is_that_of_its_median_answer() -> None:
    """The mean of its answers holds late sleeps too: here more than was injected."""

    def answered(candidate: str, p50_ns: float, mean_ns: int) -> Trial:
        latency = structs.replace(make_latency(p50_ns), mean_ns=200_000.0)
        tally = make_tally(5000.0, service_ns=mean_ns * 50_000, latency=latency)
        return make_trial(0, candidate, 0, 5000.0, phases=(make_record([tally]),))

    base, slower = answered("base", 200_000.0, 230_000), answered("null", 210_000.0, 215_000)
    blocks = [{"base": base, "null": slower}]
    case = CalibrationCase("delay", "5 % injected", 5.0, 1, "a", "b")
    assert compute_injected_percent(case, blocks, "base", "null") == pytest.approx(5.0)


def test_a_delay_is_told_of_where_it_is_another() -> None:
    assert not is_other_size(5.0, 4.2)
    assert is_other_size(5.0, 3.9) and is_other_size(1.0, 1.3)


def test_a_comparison_is_judged_in_one_primary_and_declared_where_it_is_aa() -> None:
    made = Shape().build_experiment(["a=null@1us", "b=null@1us"], "latency_ns_p99", aa=True)
    assert made.workloads[0].primary == ({"metric": "latency_ns_p99"},)
    assert made.measuring.aa
    assert made.measuring.blocks == 12


def burning() -> list[Path]:
    """Our children that burn a core now."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (each / "stat").read_text().rpartition(")")[2].split()[:2]
            ours = state == "R" and int(parent) == os.getpid()
            if ours and "sum(range" in (each / "cmdline").read_text():
                found.append(each)
        except OSError:
            continue
    return found


def test_the_hog_comes_and_is_gone_at_the_end() -> None:
    """Its CPU is not ours while it works: else nobody would take it for foreign."""
    seen_burning, before = 0, os.times().children_user
    with comparison.burn_intermittently((), random.Random(1), (0.05, 0.06), (0.01, 0.02)):
        ends_s = time.monotonic() + 20
        while seen_burning < 20 and time.monotonic() < ends_s:
            seen_burning += bool(burning())
            time.sleep(0.01)
        assert os.times().children_user == before
    assert seen_burning == 20
    assert not burning()


def test_a_scenario_is_a_line_of_many_comparisons() -> None:
    scenario = Scenario("normal", truth_percent=5.0)
    found = session.play_scenario(scenario, {"cpu": "two"}, runs=500)
    assert sum(found.words.values()) == found.coverable == 500
    assert found.words["slower"] > 490
    assert (found.what, found.effect_percent) == ("5 % slower, normal", 5.0)


@pytest.mark.parametrize("lost", [1.0, 1.1])
def test_the_dose_response_check_holds_the_time_against_the_size_block_by_block(
    lost: float,
) -> None:
    """Whatever of a slice its beginning loses, with all sizes alike."""

    def play(experiment: Experiment) -> tuple[Run, list[Trial]]:
        names = [side.name for side in experiment.candidates]
        assert names == ["x0", "x1", "x3", "x10"]
        spins = [int(side.keys["inject"].removesuffix("ns")) for side in experiment.candidates]
        assert spins == [0, 250, 750, 2500]
        run = make_run(names, analyses=(3,))
        trials = [
            trial(block, name, 1e9 / (lost * own_ns), float(spin_ns), lost)
            for block in range(3)
            for name, spin_ns in zip(names, spins, strict=True)
            for own_ns in [4000.0 + 1000.0 * block + 0.5 * spin_ns]
        ]
        return run, trials

    response = run_dose_series("thing", Shape(), PILOT, play)
    assert response.slope == pytest.approx(0.5, abs=0.01) and not response.transmitted


def test_a_program_in_one_file_is_compared_with_a_copy_of_itself(tmp_path: Path) -> None:
    program = tmp_path / "libthing.so"
    program.write_text("machine code")
    pilot = dataclasses.replace(PILOT, program=str(program))
    with make_two_copies("thing@1", pilot) as copies:
        paths = [Path(parse_candidate(spec).build) for spec in copies]
        assert [each.read_text() for each in paths] == ["machine code"] * 2
        (case,) = [
            each for each in list_cases("thing@1", pilot, {"paths": 2}, copies=copies) if each.goal
        ]
    assert case.is_aa and (case.base, case.candidate) == copies
    assert case.kind == "A/A at two paths"
    assert not any(each.exists() for each in paths)


def test_what_has_no_file_of_its_own_is_not_copied(tmp_path: Path) -> None:
    program = tmp_path / "libthing.so"
    program.write_text("machine code")
    served = dataclasses.replace(PILOT, program=str(program), embedded=False)
    for text, pilot in (("thing", PILOT), ("thing", served)):
        with make_two_copies(text, pilot) as copies:
            assert copies == ()
    with make_two_copies(
        "thing@1?cflags=-O0", dataclasses.replace(served, embedded=True)
    ) as copies:
        assert copies == ()
