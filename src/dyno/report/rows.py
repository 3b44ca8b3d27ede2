"""The rows of `--json`: one comparison each, flat, with plain names."""

from __future__ import annotations

from typing import Any

from dyno.record import Comparison, Verdict
from dyno.report.numbers import finite


def rows(verdict: Verdict) -> list[dict[str, Any]]:
    """One dict per comparison, primaries first, ready for `json.dump`.

    `base` and `candidate` are the sides' names. `change_percent`, `low_percent` and
    `high_percent` are all slowdowns in percent (the candidate's time ÷ the base's − 1, so a rate
    that falls by a half is +100, and positive is worse whatever the direction): the change lies
    in its interval. `blocks` counts the valid ones, `dropped` those lost to noise. A number that
    is not known (an interval from one block) is None. `levels` is empty but where factors are
    crossed: there it maps the factors of the effect to their levels; several make an interaction.
    """
    ordered = sorted(verdict.comparisons, key=lambda c: not c.primary)
    return [_row(comparison) for comparison in ordered]


def _row(comparison: Comparison) -> dict[str, Any]:
    metric = comparison.metric
    return {
        "workload": metric.workload,
        "phase": metric.phase,
        "metric": f"{metric.transaction}.{metric.name}".lstrip("."),
        "unit": metric.unit,
        "direction": metric.better,
        "primary": comparison.primary,
        "base": comparison.base,
        "candidate": comparison.candidate,
        "change_percent": finite(comparison.slowdown_percent),
        "low_percent": finite(comparison.low_percent),
        "high_percent": finite(comparison.high_percent),
        "blocks": comparison.blocks,
        "dropped": comparison.dropped,
        "mde80_percent": finite(comparison.mde80_percent),
        "verdict": comparison.verdict,
        "levels": comparison.levels,
    }
