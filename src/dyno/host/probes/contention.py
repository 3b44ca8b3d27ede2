"""Probe `contention`: pages that were split and locks that were waited for, by the server's count.

`page_splits`, `lock_waits` (of rows), `index_lock_waits` and `page_lock_waits` of a phase, a cost
of an operation each, of all tables and by everybody's work. The last two are sleeps for read-write
locks inside the storage engine, which guard an index's tree and a page in memory. A server that
does not count them gives no number.
"""

from __future__ import annotations

from dyno.host.probes import Measure, ProbeTarget


class Contention:
    """The server's own counters, asked by SQL, so never while a phase plays."""

    summary = "page splits, waits for locks of rows, indexes and pages, by the server's own count"
    is_condition = False
    measures = (
        Measure("page_splits", "splits", "lower"),
        Measure("lock_waits", "waits", "lower"),
        Measure("index_lock_waits", "waits", "lower"),
        Measure("page_lock_waits", "waits", "lower"),
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        return {name: float(count) for name, count in watched.contended().items()}

    def sample_after_disconnect(self, watched: ProbeTarget) -> dict[str, float]:
        return self.sample(watched)


PROBE = Contention()
