"""Probe `work`: what a server counted of its own work in a phase: pages, rows, scans, log, fsyncs.

It is the whole server's work, that of our questions included, and says what changed where a
candidate differs (`judge/analysis/counters.py`); as a condition it is no metric of its own. Asked
by SQL and after `server`, which has waited until the count of the driver's connections is whole.

Of an engine that lives in the driver it is what the driver's connections counted
(`PhaseRecord.engine_counts`): theirs alone, and of SQLite's statements those that were prepared.
"""

from __future__ import annotations

from dyno.host.probes import Measure, ProbeTarget

#: What is counted, with its unit; an engine tells those that it knows.
COUNTERS = {
    "lock_wait_us": "µs",
    "latch_wait_us": "µs",
    "pages_read": "pages",
    "page_requests": "pages",
    "pages_written": "pages",
    "pages_spilled": "pages",
    "rows_read": "rows",
    "full_scans": "scans",
    "scanned_rows": "rows",
    "sorts": "sorts",
    "sorted_rows": "rows",
    "automatic_index_rows": "rows",
    "machine_steps": "steps",
    "reprepares": "times",
    "temporary_tables": "tables",
    "temporary_disk_tables": "tables",
    "temporary_bytes": "B",
    "log_bytes": "B",
    "fsyncs": "fsyncs",
}


class Work:
    """The server's own counters; one question at each end of a phase."""

    summary = "pages, rows, scans, temporary tables, log and fsyncs, by the server's own count"
    is_condition = True
    measures = tuple(
        Measure(name, unit, "lower", per_operation=False) for name, unit in COUNTERS.items()
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        return {name: float(count) for name, count in watched.worked().items()}

    def sample_after_disconnect(self, watched: ProbeTarget) -> dict[str, float]:
        return self.sample(watched)


PROBE = Work()
