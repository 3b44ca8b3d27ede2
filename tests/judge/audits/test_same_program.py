"""Audit `same_program`: a build compared with itself by mistake is told, one on purpose is not."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import make_run, make_trial
from msgspec import structs

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Candidate, Finding, Run

TRIALS = (make_trial(1, "old", 0, 1.0), make_trial(2, "new", 0, 1.0))


def _side(name: str, **changes: Any) -> Candidate:
    build = {"name": name, "source": "file", "sha256": "1f"}
    side = Candidate(name, f"{name}=real@{name}", "real", True, build, {"cache": "1"}, {})
    return structs.replace(side, **changes)


def _run(*sides: Candidate, aa: bool = False) -> Run:
    return make_run(sides, aa=aa, controls={"aslr": "on"})


def _only(run: Run) -> Finding:
    (finding,) = load_audits()["same_program"].judge(RunView(run, TRIALS))
    return finding


OLD = _side("old")
DIFFERENT = [
    {"build": {"source": "file", "sha256": "2e"}},
    {"settings": {"cache": "2"}},
    {"controls": {"aslr": "off"}},
    {"engine": "another"},
]


def test_a_program_under_two_names_is_doubtful_until_it_is_declared() -> None:
    finding = _only(_run(OLD, _side("new")))
    assert (finding.soundness, finding.trials) == ("doubtful", (1, 2))
    assert "old and new are the same program" in finding.sentence
    assert _only(_run(OLD, _side("new"), aa=True)).soundness == "sound"


@pytest.mark.parametrize("changes", DIFFERENT)
def test_programs_that_differ_in_anything_are_two(changes: dict[str, Any]) -> None:
    assert _only(_run(OLD, _side("new", **changes))).soundness == "sound"
    declared = _only(_run(OLD, _side("new", **changes), aa=True))
    assert declared.soundness == "invalid" and "declared A/A" in declared.sentence


def test_a_control_that_the_run_sets_anyway_is_no_difference() -> None:
    assert _only(_run(OLD, _side("new", controls={"aslr": "on"}))).soundness == "doubtful"


def test_one_program_under_two_names_among_three_is_enough() -> None:
    other = _side("other", settings={"cache": "9"})
    assert "new and third" in _only(_run(other, _side("new"), _side("third"))).sentence


def test_without_a_file_the_facts_tell() -> None:
    facts = {"source": "none", "delay_ns": "200000"}
    two = [_side("old", build=facts), _side("new", build=facts | {"name": "0.2ms"})]
    assert _only(_run(*two)).soundness == "doubtful"
    slower = _side("new", build=facts | {"delay_ns": "210000"})
    assert _only(_run(two[0], slower)).soundness == "sound"


def test_what_is_not_known_of_a_build_proves_nothing() -> None:
    assert _only(_run(_side("old", build={}), _side("new", build={}))).soundness == "not checked"
