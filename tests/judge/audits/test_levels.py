"""The audit of factors' levels: caught where a level was not set, quiet where all were."""

from __future__ import annotations

from typing import Any

from crossed import crossed, played
from fakes import make_run
from msgspec import structs

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Conditions, ControlCondition, Factor, Finding, Run, Trial

AUDIT = load_audits()["levels"]


def told(run: Run, change: Any) -> list[Finding]:
    """What the audit says of clean trials, each changed by `change(levels)`."""
    levels = {side.name: side.levels for side in run.candidates}
    trials = [
        structs.replace(trial, **change(levels[trial.candidate]))
        for trial in played(run, lambda _: 0.0, blocks=2)
    ]
    return AUDIT.judge(RunView(run, trials))


def settings(run: Run) -> Run:
    """The same factors as engine settings."""
    kinds = tuple(Factor(f.name, "engine setting", f.levels) for f in run.factors)
    return structs.replace(run, factors=kinds)


def test_a_run_without_factors_has_nothing_to_say() -> None:
    trials: list[Trial] = []
    (found,) = AUDIT.judge(RunView(make_run(), trials))
    assert found.sentence == "no factor is crossed"


def test_levels_that_were_set_are_sound() -> None:
    def held(at: dict[str, str]) -> dict[str, Any]:
        controls = {name: ControlCondition(value) for name, value in at.items()}
        return {"conditions": Conditions(controls)}

    def read(at: dict[str, str]) -> dict[str, Any]:
        return {"settings": {name: value.upper() for name, value in at.items()}}

    assert [f.soundness for f in told(crossed(), held)] == ["sound"]
    assert [f.soundness for f in told(settings(crossed()), read)] == ["sound"]


def test_a_control_that_was_not_held_makes_its_factor_doubtful() -> None:
    def held(at: dict[str, str]) -> dict[str, Any]:
        why = "no setarch" if at["aslr"] == "off" else ""
        return {"conditions": Conditions({"aslr": ControlCondition(at["aslr"], refused=why)})}

    found, unknown = told(crossed(), held)
    assert unknown.soundness == "not checked" and "(preload)" in unknown.sentence
    assert found.soundness == "doubtful" and len(found.trials) == 4
    assert found.sentence == (
        "the factor 'aslr' was not held at 'off': not controllable here: no setarch"
    )


def test_a_setting_that_reads_the_same_at_both_levels_is_doubtful() -> None:
    run = settings(crossed())
    found = told(run, lambda at: {"settings": {"aslr": "ON", "preload": at["preload"]}})
    assert [f.sentence for f in found] == [
        "the factor 'aslr' is 'ON' by the engine's own word at 'on' and at 'off'"
    ]


def test_a_setting_that_the_engine_does_not_tell_is_not_judged() -> None:
    assert [f.soundness for f in told(settings(crossed()), lambda _: {})] == ["not checked"]
