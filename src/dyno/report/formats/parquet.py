"""Format: Parquet, every number of every trial, for DuckDB, pandas and Spark; needs pyarrow.

The columns are those of `trials.csv`; of a run without trials each restart's numbers, with its
place among them as `block`. The verdict stands in the file's metadata: `dyno.overall`,
`dyno.sentence`, and `dyno.comparisons`, the rows of `--json`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

from dyno.errors import UsageError
from dyno.report.export import to_json_rows
from dyno.report.result import Cell, Holding, Result


class _Parquet:
    summary = "Parquet: every number of every trial; needs pyarrow"
    reads: tuple[Holding, ...] = ("numbers",)

    def render(self, result: Result, strict: bool) -> bytes:
        try:
            import pyarrow as arrow
            from pyarrow import parquet
        except ImportError:
            raise UsageError(
                "the format parquet needs pyarrow, which is not installed",
                hint="pip install 'dyno-bench[parquet]'",
            ) from None
        verdict = {
            "dyno.run": result.name,
            "dyno.overall": result.verdict.overall,
            "dyno.sentence": result.verdict.sentence,
            "dyno.comparisons": json.dumps(to_json_rows(result.verdict)),
        }
        names, rows = result.numbers or _list_values(result)
        columns = [[row[at] for row in rows] for at in range(len(names))]
        table = arrow.table(dict(zip(names, columns, strict=True)))
        out = io.BytesIO()
        parquet.write_table(table.replace_schema_metadata(verdict), out)
        return out.getvalue()


def _list_values(result: Result) -> tuple[Sequence[str], list[Sequence[Cell]]]:
    rows: list[Sequence[Cell]] = [
        (it.workload, at, candidate, it.phase, it.transaction, it.name, it.unit, it.better, value)
        for (candidate, it), values in result.values.items()
        for at, value in enumerate(values, 1)
    ]
    columns = ("workload", "block", "candidate", "phase", "transaction", "metric", "unit", "better")
    return (*columns, "value"), rows


FORMAT = _Parquet()
