"""A server that runs already: scripts load only where nothing is, and drop what they made."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from fakes import make_trial, make_workload

from dyno.builds import Build
from dyno.conduct.attached import check_empty, is_loaded
from dyno.errors import UsageError
from dyno.record import PhaseRecord


def build(tables: str, attached: bool = True) -> Build:
    return Build("any", "//joe@h/d", "1", Path("/dev/null"), {"tables": tables}, attached)


def test_nothing_is_loaded_beside_somebodys_tables() -> None:
    loading, reading = (
        dataclasses.replace(make_workload(), commands=commands)
        for commands in (("prepare", "run"), ("run",))
    )
    with pytest.raises(UsageError, match=r"//joe@h/d is not empty: .*, and theirs is there"):
        check_empty([build(""), build("theirs")], [reading, loading])
    check_empty([build("theirs")], [reading])
    check_empty([build(""), build("theirs", attached=False)], [loading])


def phase(name: str, failed: int = 0, interrupted: bool = False) -> PhaseRecord:
    (played,) = make_trial(1, "old", 0, 100.0).phases
    stream = played.streams[0]
    tally = dataclasses.replace(stream, failed=failed, intended=stream.intended + failed)
    return dataclasses.replace(played, phase=name, interrupted=interrupted, streams=(tally,))


def test_what_a_script_made_is_known_by_the_end_of_its_load() -> None:
    assert is_loaded([phase("prepare"), phase("run", failed=1)])
    assert not is_loaded([phase("run")]) and not is_loaded([])
    assert not is_loaded([phase("prepare", failed=1)])
    assert not is_loaded([phase("prepare", interrupted=True)])
