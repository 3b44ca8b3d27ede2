"""Audit `debug_build` and what it reads: a program that is not fit to be timed is found out."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest
from fakes import make_run, make_trial

from dyno.builds import program
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import audits
from dyno.record import Candidate, Finding, Run, Trial

GOOD = {"assertions": "off", "optimisation": "-O2"}


def _run(**builds: dict[str, str]) -> Run:
    sides = [Candidate(n, f"real@{n}", "real", False, b, {}, {}) for n, b in builds.items()]
    return dataclasses.replace(make_run(), candidates=tuple(sides))


def _judged(run: Run, **settings: dict[str, str]) -> list[Finding]:
    trials: list[Trial] = []
    for number, side in enumerate(run.candidates, 1):
        told = settings.get(side.name, {})
        trials.append(make_trial(number, side.name, 0, 1.0, settings=told))
    return audits()["debug_build"].judge(RunView(run, trials))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"assertions": "on"}, "assertions"),
        ({"instrumentation": "address sanitizer"}, "address sanitizer"),
        ({"optimisation": "-O0"}, "no optimisation (-O0)"),
        ({"optimisation": "-Og", "assertions": "on"}, "assertions and no optimisation (-Og)"),
    ],
)
def test_one_side_that_is_not_for_release_is_invalid(facts: dict[str, str], words: str) -> None:
    (finding,) = _judged(_run(old=GOOD, new=facts))
    assert (finding.soundness, finding.trials) == ("invalid", (2,))
    assert f"new carries {words}, while others do not" in finding.sentence
    both = _judged(_run(old=facts, new=facts))
    assert [finding.soundness for finding in both] == ["doubtful", "doubtful"]


@pytest.mark.parametrize("flags", ["-O2 -g -O0", "", "-Og"])
def test_flags_tell_it_too_and_those_that_the_user_chose_may_be_the_question(flags: str) -> None:
    (finding,) = _judged(_run(old=GOOD, new={}), new={"built with CFLAGS": flags or "-g"})
    assert finding.soundness == "invalid" and "no optimisation" in finding.sentence
    (finding,) = _judged(_run(old=GOOD, new={"cflags": flags or "-g"}))
    assert finding.soundness == "doubtful"


def test_release_builds_are_sound_and_those_that_tell_nothing_were_not_checked() -> None:
    finding, unknown = _judged(_run(old=GOOD, new={"cflags": "-g -O3"}, other={}))
    assert finding.soundness == "sound" and "2 of 3 builds tell" in finding.sentence
    assert unknown.soundness == "not checked" and unknown.sentence.endswith("(other)")


def _compiled(folder: Path, *flags: str) -> dict[str, str]:
    (folder / "one.c").write_text("int one(int *x) { return x[1] + 1; }\n")
    made = folder / "one.so"
    command = ["cc", "-shared", "-fPIC", *flags, "-o", str(made), str(folder / "one.c")]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return program.build_facts(made)


def test_a_real_library_tells_its_sanitizer_and_its_flags(tmp_path: Path) -> None:
    assert _compiled(tmp_path, "-g", "-O0", "-fsanitize=address") == {
        "instrumentation": "address sanitizer",
        "optimisation": "-O0",
    }
    assert _compiled(tmp_path, "-g", "-O2") == {"optimisation": "-O2"}
    assert _compiled(tmp_path, "-O0", "-s") == {}, "a stripped library tells nothing"
    assert "coverage" in _compiled(tmp_path, "-O2", "--coverage")["instrumentation"]


def test_what_is_no_program_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("#!/bin/sh\nGNU C and __asan_init are words here\n")
    assert program.build_facts(tmp_path / "empty") == program.build_facts(tmp_path / "text") == {}
