"""Probe `client`: how busy the driver's busiest thread was, where the engine is a server.

A worker thread serves many connections, so a client is at its limit when one thread is, however
idle the others are. The driver's CPU per operation comes from its own `Usage` (getrusage(2)),
which is exact, and is not repeated here.
"""

from __future__ import annotations

import time

from dyno.probes import Measure, Watched
from dyno.probes._proc import thread_ns


class Client:
    """The driver's threads, beside the server's processes."""

    summary = "how busy the busiest thread of the driver was, where the engine is a server"
    measures = (Measure("driver_busy_percent", "%", "lower", counter=False, per_operation=False),)

    def sample(self, watched: Watched) -> dict[str, float]:
        """Since the last sample, in percent of the time; 0 where there was none."""
        if watched.embedded:
            return {}
        now_ns, threads = time.monotonic_ns(), thread_ns(watched.client_pid)
        then_ns, before = watched.memory.get("client", (now_ns, threads))
        watched.memory["client"] = (now_ns, threads)
        busiest = max((ns - before.get(thread, 0) for thread, ns in threads.items()), default=0)
        # The kernel adds up a running thread's time late, at its next tick: a short stretch may
        # be told more than it lasted.
        return {"driver_busy_percent": min(100.0, 100.0 * busiest / max(1, now_ns - then_ns))}


PROBE = Client()
