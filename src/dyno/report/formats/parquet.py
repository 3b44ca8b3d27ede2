"""Format: Parquet, every number of every trial, for DuckDB, pandas and Spark; needs pyarrow.

The columns are those of `trials.csv`. The verdict stands in the file's metadata: `dyno.overall`,
`dyno.sentence`, and `dyno.comparisons`, the rows of `--json`.
"""

from __future__ import annotations

import io
import json

from dyno.errors import UsageError
from dyno.report import Book
from dyno.report.export import list_columns, list_trial_rows, to_json_rows


class _Parquet:
    summary = "Parquet: every number of every trial; needs pyarrow"

    def render(self, book: Book, strict: bool) -> bytes:
        try:
            import pyarrow as arrow
            from pyarrow import parquet
        except ImportError:
            raise UsageError(
                "the format parquet needs pyarrow, which is not installed",
                hint="pip install 'dyno-bench[parquet]'",
            ) from None
        verdict = {
            "dyno.run": book.run.name,
            "dyno.overall": book.verdict.overall,
            "dyno.sentence": book.verdict.sentence,
            "dyno.comparisons": json.dumps(to_json_rows(book.verdict)),
        }
        columns = zip(*list_trial_rows(book), strict=True)
        table = arrow.table(dict(zip(list_columns(book), map(list, columns), strict=True)))
        out = io.BytesIO()
        parquet.write_table(table.replace_schema_metadata(verdict), out)
        return out.getvalue()


FORMAT = _Parquet()
