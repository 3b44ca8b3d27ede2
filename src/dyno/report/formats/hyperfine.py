"""Format: hyperfine's JSON (`--export-json`), for the plots that read it.

`times` holds the time of an operation in each restart, in seconds. `command` names the candidate
with its verdict, since the format has no other place for it. What is no time (a size) is left out.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

from dyno.report import words
from dyno.report.formats._rows import FormatRow, FormatSide, list_rows
from dyno.report.result import SECONDS, Holding, Result


class _Hyperfine:
    summary = "hyperfine's JSON, for scripts that plot it"
    reads: tuple[Holding, ...] = ("comparisons of times",)

    def render(self, result: Result, strict: bool) -> str:
        results: dict[tuple[str, str], dict[str, Any]] = {}
        for row in list_rows(result):
            if row.base.unit in SECONDS:
                base = _make_result(row, row.base, "the base")
                results.setdefault((row.name, row.base.candidate), base)
                told = words.format_verdict(row.comparison)
                own = _make_result(row, row.candidate, told)
                results[row.name, row.candidate.candidate] = own
        return json.dumps({"results": list(results.values())}, indent=1) + "\n"


def _make_result(row: FormatRow, side: FormatSide, told: str) -> dict[str, Any]:
    times = [value * SECONDS[side.unit] for value in side.restarts]
    return {
        "command": f"{side.candidate}: {row.name} ({told})",
        "mean": statistics.fmean(times),
        "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        "user": 0.0,
        "system": 0.0,
        "min": min(times),
        "max": max(times),
        "times": times,
        "exit_codes": [0] * len(times),
        "parameters": {"candidate": side.candidate, "metric": row.name},
    }


FORMAT = _Hyperfine()
