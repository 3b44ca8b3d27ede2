"""Format: OpenMetrics' text, for Prometheus' text collector and pushgateway.

The verdict is a state set: `dyno_verdict{…,dyno_verdict="slower"} 1`.
Source: the OpenMetrics specification 1.0, prometheus/OpenMetrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import get_args

from dyno.record import Comparison
from dyno.record.verdict import VerdictName
from dyno.report.formats._rows import FormatRow, FormatSide, list_rows
from dyno.report.result import Holding, Result


class _OpenMetrics:
    summary = "OpenMetrics' text, for Prometheus"
    reads: tuple[Holding, ...] = ("comparisons",)

    def render(self, result: Result, strict: bool) -> str:
        rows = list(list_rows(result))
        run = {"run": result.name}
        lines = [
            "# TYPE dyno_value gauge",
            "# HELP dyno_value A candidate's number, smaller is better; a rate is ns an operation.",
            *dict.fromkeys(line for row in rows for line in _write_values(run, row)),
            "# TYPE dyno_slowdown_ratio gauge",
            "# HELP dyno_slowdown_ratio The candidate's time over the base's - 1, and its bounds.",
            *(line for row in rows for line in _write_slowdown(run, row)),
            "# TYPE dyno_blocks gauge",
            *(
                _write_sample("dyno_blocks", run | _list_labels(row), float(row.comparison.blocks))
                for row in rows
            ),
            "# TYPE dyno_doubts gauge",
            "# HELP dyno_doubts Audits that doubt the comparison.",
            *(
                _write_sample(
                    "dyno_doubts", run | _list_labels(row), float(len(row.comparison.doubts))
                )
                for row in rows
            ),
            "# TYPE dyno_verdict stateset",
            *(line for row in rows for line in _write_verdict(run, row)),
            "# EOF",
        ]
        return "\n".join(lines) + "\n"


def _list_labels(row: FormatRow) -> dict[str, str]:
    return {"metric": row.name, "base": row.base.candidate, "candidate": row.candidate.candidate}


def _write_values(run: dict[str, str], row: FormatRow) -> Iterator[str]:
    for side in (row.base, row.candidate):
        yield _write_sample("dyno_value", run | _list_side_labels(row, side), side.value)


def _list_side_labels(row: FormatRow, side: FormatSide) -> dict[str, str]:
    return {"metric": row.name, "candidate": side.candidate, "unit": side.unit}


def _write_slowdown(run: dict[str, str], row: FormatRow) -> Iterator[str]:
    told: Comparison = row.comparison
    bounds = {"estimate": told.slowdown_percent, "low": told.low_percent, "high": told.high_percent}
    for bound, percent in ((name, it) for name, it in bounds.items() if math.isfinite(it)):
        labels = run | _list_labels(row) | {"bound": bound}
        yield _write_sample("dyno_slowdown_ratio", labels, percent / 100)


def _write_verdict(run: dict[str, str], row: FormatRow) -> Iterator[str]:
    for word in get_args(VerdictName):
        labels = run | _list_labels(row) | {"dyno_verdict": word}
        yield _write_sample("dyno_verdict", labels, float(row.comparison.verdict == word))


def _write_sample(name: str, labels: dict[str, str], value: float) -> str:
    told = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
    return f"{name}{{{told}}} {value:.10g}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


FORMAT = _OpenMetrics()
