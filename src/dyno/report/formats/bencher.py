"""Format: Bencher's metric format (`bencher run --adapter json`).

It holds numbers only, so the verdict is a measure of its own, the exit code that `dyno compare`
would have for that comparison: 0 not slower or faster, 1 slower, 2 inconclusive, 3 invalid.
Source: "Bencher Metric Format", Bencher's reference.
"""

from __future__ import annotations

import json
import math

from dyno.record import Comparison
from dyno.report.formats._rows import FormatSide, list_rows
from dyno.report.result import Holding, Result

VERDICTS = {"not slower": 0, "faster": 0, "slower": 1, "inconclusive": 2, "invalid": 3}
#: Bencher's own measures by our units; others are named by their unit.
MEASURES = {"ns": "latency"}


class _Bencher:
    summary = "Bencher's metric format (bencher run --adapter json)"
    reads: tuple[Holding, ...] = ("comparisons",)

    def render(self, result: Result, strict: bool) -> str:
        found: dict[str, dict[str, dict[str, float]]] = {}
        for row in list_rows(result):
            found.setdefault(f"{row.name} ({row.base.candidate})", _make_measures(row.base))
            name = f"{row.name} ({row.candidate.candidate})"
            found[name] = _make_measures(row.candidate) | _judge(row.comparison)
        return json.dumps(found, indent=1) + "\n"


def _make_measures(side: FormatSide) -> dict[str, dict[str, float]]:
    bounds = {"lower_value": side.low, "upper_value": side.high}
    known = {name: value for name, value in bounds.items() if value is not None}
    return {MEASURES.get(side.unit, side.unit): {"value": side.value} | known}


def _judge(comparison: Comparison) -> dict[str, dict[str, float]]:
    slowdown = {
        "value": comparison.slowdown_percent,
        "lower_value": comparison.low_percent,
        "upper_value": comparison.high_percent,
    }
    return {
        "slowdown-percent": {name: it for name, it in slowdown.items() if math.isfinite(it)},
        "verdict-exit-code": {"value": float(VERDICTS[comparison.verdict])},
    }


FORMAT = _Bencher()
