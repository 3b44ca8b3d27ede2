"""What MySQL's family answers to EXPLAIN, as a plan's shape: no estimates, one order of words."""

from __future__ import annotations

from collections.abc import Sequence

#: Ways of reading a table whose name does not say it.
SPOKEN = {"ALL": "full table scan", "index": "full index scan"}
#: The optimizer looked for the row of the values, and found none.
NOTHING_PLANNED = ("impossible where noticed", "no matching", "const row not found")
#: Rows of values need no plan: 5.6 says `No tables used` of an INSERT, later servers name the table
#: that it goes to and call it a scan (type ALL), which nobody makes.
VALUES = "rows of values"
WRITTEN_TO = ("INSERT", "REPLACE")
NO_TABLES = "No tables used"


def plan_shape(rows: Sequence[Sequence[str | None]]) -> str:
    """A line per table: `item: ref by name (Using index, Using where)`.

    5.7 added the columns partitions and filtered to the ten of 5.6.
    """
    if any(any(word in (row[-1] or "").lower() for word in NOTHING_PLANNED) for row in rows):
        return ""
    read = [row for row in rows if row[1] not in WRITTEN_TO and row[-1] != NO_TABLES]
    return "\n".join(filter(None, map(_format_table, read))) if read else VALUES


def _format_table(row: Sequence[str | None]) -> str:
    places = (2, 4, 6, 11) if len(row) > 10 else (2, 3, 5, 9)
    table, way, key, extra = (row[at] or "" for at in places)
    beside = ", ".join(sorted(part.strip() for part in extra.split(";") if part.strip()))
    read = " by ".join(filter(None, (SPOKEN.get(way, way), key)))
    told = ": ".join(filter(None, (table, read)))
    return " ".join(filter(None, (told, f"({beside})" if beside else "")))
