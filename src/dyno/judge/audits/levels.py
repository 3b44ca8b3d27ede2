"""Audit `levels`: was every factor really at the level that its cells are named by?

A control may not be to be had on this host, and an engine may read `2` and `3` as the same. Then a
factor has varied nothing, and "not slower" says nothing of it. Only that factor is doubtful: the
effects of the others stand.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Inapplicable, Unchecked, Unjudged, conclude
from dyno.numbers import format_count
from dyno.record import Factor, Finding, Run, Trial

#: How a control says that it was not held (`dyno.host.controls`).
NOT_HELD = "not controllable here"


_Played = Sequence[tuple[Trial, dict[str, str]]]


class LevelsAudit:
    """Controls by what they answered, engine settings by what was read back."""

    summary = "where factors are crossed, every level was set, and no two levels are the same"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each factor that is in doubt."""
        run, trials = view.run, view.trials
        judges = {"control": _check_control, "engine setting": _check_setting}
        by_name = {side.name: side.levels for side in run.candidates}
        played = [(t, by_name[t.candidate]) for t in trials if t.candidate in by_name]
        good = [(trial, levels) for trial, levels in played if trial.status == "ok"]
        asked = [(factor, judges[factor.kind]) for factor in run.factors if factor.kind in judges]
        found = [finding for factor, judge in asked if (finding := judge(factor, good))]
        unchecked: list[Unjudged] = [
            each for factor in run.factors if (each := _find_unchecked(factor, good))
        ]
        checked = len(unchecked) < len(run.factors)
        restarts = format_count(len(good), "restart")
        sound = f"every factor was at the level of its cell in {restarts}" if checked else ""
        return conclude("levels", found, sound, unchecked or _list_without_factors(run))


def _list_without_factors(run: Run) -> list[Unjudged]:
    return [] if run.factors else [Inapplicable("no factor is crossed")]


def _find_unchecked(factor: Factor, played: _Played) -> Unchecked | None:
    """A factor of which no record tells at which level it was."""
    if factor.kind == "control":
        known = all(factor.name in trial.conditions.controls for trial, _ in played)
    elif factor.kind == "engine setting":
        known = all(factor.name in trial.settings for trial, _ in played)
    else:
        known = False
    if known and played:
        return None
    return Unchecked("no record tells the level that was set", factor.name)


def _check_control(factor: Factor, played: _Played) -> Finding | None:
    """Trials in which the control says that it was not held."""
    refused = {
        trial.number: (levels[factor.name], control.refused)
        for trial, levels in played
        if (control := trial.conditions.controls.get(factor.name)) and control.refused
    }
    if not refused:
        return None
    level, why = next(iter(refused.values()))
    return _make_doubt(factor, f"was not held at '{level}': {NOT_HELD}: {why}", tuple(refused))


def _check_setting(factor: Factor, played: _Played) -> Finding | None:
    """Two levels that the engine reads back as one and the same value."""
    told = {
        level: {t.settings.get(factor.name) for t, own in played if own[factor.name] == level}
        for level in factor.levels
    }
    for at, level in enumerate(factor.levels):
        for other in factor.levels[:at]:
            if told[level] == told[other] and len(told[level]) == 1 and None not in told[level]:
                (value,) = told[level]
                words = f"is '{value}' by the engine's own word at '{other}' and at '{level}'"
                meant = tuple(t.number for t, own in played if own[factor.name] == level)
                return _make_doubt(factor, words, meant)
    return None


def _make_doubt(factor: Factor, words: str, trials: tuple[int, ...]) -> Finding:
    return Finding("levels", "doubtful", f"the factor '{factor.name}' {words}", trials)


AUDIT = LevelsAudit()
