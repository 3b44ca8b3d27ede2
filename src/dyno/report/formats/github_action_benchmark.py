"""Format: what benchmark-action/github-action-benchmark reads with `tool: customSmallerIsBetter`.

The verdict stands in `extra`, the note that its charts show beside a point: its alerts compare with
the last run by a threshold of their own, and know no interval.
"""

from __future__ import annotations

import json
from typing import Any

from dyno.report import words
from dyno.report.formats._rows import FormatRow, FormatSide, list_rows
from dyno.report.result import Holding, Result


class _ActionBenchmark:
    summary = "benchmark-action/github-action-benchmark, tool customSmallerIsBetter"
    reads: tuple[Holding, ...] = ("comparisons",)

    def render(self, result: Result, strict: bool) -> str:
        points: dict[tuple[str, str], dict[str, Any]] = {}
        for row in list_rows(result):
            note = "the base, to which the others are compared"
            points.setdefault((row.name, row.base.candidate), _make_point(row, row.base, note))
            note = words.format_outcome(row.comparison)
            points[row.name, row.candidate.candidate] = _make_point(row, row.candidate, note)
        return json.dumps(list(points.values()), indent=1) + "\n"


def _make_point(row: FormatRow, side: FormatSide, note: str) -> dict[str, Any]:
    point = {
        "name": f"{row.name} ({side.candidate})",
        "unit": side.unit,
        "value": side.value,
        "extra": note,
    }
    if side.low is not None and side.high is not None:
        point["range"] = f"± {(side.high - side.low) / 2:.6g}"
    return point


FORMAT = _ActionBenchmark()
