"""Probe `contention`: pages that were split and locks that were waited for, by the server's count.

`page_splits` and `lock_waits` of a phase, a cost of an operation each, of all tables and by
everybody's work. A server that does not count them gives no number.
"""

from __future__ import annotations

from dyno.host.probes import Measure, ProbeTarget


class Contention:
    """The server's own counters, asked by SQL, so never while a phase plays."""

    summary = "page splits and lock waits, by the server's own count"
    is_condition = False
    measures = (
        Measure("page_splits", "splits", "lower"),
        Measure("lock_waits", "waits", "lower"),
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """The counts now."""
        return {name: float(count) for name, count in watched.contended().items()}

    def sample_after_disconnect(self, watched: ProbeTarget) -> dict[str, float]:
        """The same, with the last of the driver's work in it."""
        return self.sample(watched)


PROBE = Contention()
