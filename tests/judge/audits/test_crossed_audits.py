"""Cells that differ by options of the workload or by controls are not blamed for differing so."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import (
    make_candidate,
    make_record,
    make_run,
    make_tally,
    make_trial,
    make_workload,
)
from msgspec import structs

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Conditions, DataCondition, Evidence, Finding, Run, Trial, Variant

WIDE = {"range_size": "100"}
MB = 1_000_000


def crossed() -> Run:
    """Two cells that read a row per query and two that read a hundred, of ten times the data."""
    names = ["one aslr=on", "one aslr=off", "wide aslr=on", "wide aslr=off"]
    sides = [
        structs.replace(
            make_candidate(name),
            engine="sqlite",
            build={"sha256": "ab"},
            options=WIDE if name.startswith("wide") else {},
            controls={"aslr": name[-3:].strip("=")},
        )
        for name in names
    ]
    plan = structs.replace(make_workload(), size_bytes=100 * MB)
    variant = Variant(WIDE, plan.phases, (), 1000 * MB)
    run = make_run(names, [structs.replace(plan, variants=(variant,))])
    return structs.replace(run, candidates=tuple(sides))


def trials(run: Run, **changes: Any) -> list[Trial]:
    """A restart of every cell, as it should be."""
    made = []
    for number, side in enumerate(run.candidates, 1):
        rows = 100 if side.options else 1
        held = DataCondition(10 * rows * MB if rows > 1 else 100 * MB)
        tally = make_tally(1000.0, rows_read=rows * 10_000)
        trial = make_trial(number, side.name, 0, 1000.0, phases=(make_record([tally]),))
        told = {
            "options": side.options,
            "evidence": (Evidence("all", "SELECT", 0, str(rows), digest=str(rows)),),
            "conditions": Conditions(data=held),
            "settings": {"layout": side.controls["aslr"]},
        }
        made.append(structs.replace(trial, **{**told, **changes}))
    return made


def judged(audit: str, run: Run, played: list[Trial]) -> list[Finding]:
    return load_audits()[audit].judge(RunView(run, played))


@pytest.mark.parametrize("audit", ["results", "data_size", "settings", "same_program"])
def test_cells_that_differ_as_they_should_are_sound(audit: str) -> None:
    run = crossed()
    assert [f.soundness for f in judged(audit, run, trials(run))] == ["sound"], audit


def test_cells_with_the_same_options_must_answer_alike() -> None:
    run = crossed()
    played = trials(run)
    wrong = (Evidence("all", "SELECT", 0, "99", digest="99"),)
    played[3] = structs.replace(played[3], evidence=wrong)
    (found,) = judged("results", run, played)
    assert found.soundness == "invalid" and "wide aslr=off and wide aslr=on" in found.sentence


def test_cells_with_the_same_options_must_read_as_many_rows() -> None:
    run = crossed()
    played = trials(run)
    half = make_record([make_tally(1000.0, rows_read=500_000)])
    played[3] = structs.replace(played[3], phases=(half,))
    (found,) = judged("results", run, played)
    assert found.soundness == "invalid" and found.trials == (4,)


def test_data_are_as_large_as_the_cell_s_own_options_say() -> None:
    run = crossed()
    small = Conditions(data=DataCondition(100 * MB))
    (found, other) = judged("data_size", run, trials(run, conditions=small))
    assert {found.trials, other.trials} == {(3,), (4,)}


def test_a_setting_that_nothing_asked_to_differ_is_still_doubtful() -> None:
    run = crossed()
    same = tuple(structs.replace(side, controls={}) for side in run.candidates)
    found = judged("settings", structs.replace(run, candidates=same), trials(run))
    assert found[0].soundness == "doubtful" and "nobody asked for it" in found[0].sentence
