"""Probe `client`: the driver's busiest thread, and its longest wait for a core, beside a server.

A worker thread serves many connections, so a client is at its limit when one thread is, however
idle the others are. And while a thread stands ready and waits for a core, answers lie unread. The
driver's CPU per operation comes from its own `Usage` (getrusage(2)), which is exact, and is not
repeated here. Where the engine lives in the driver's process, neither is measured.
"""

from __future__ import annotations

import time

from dyno.host.probes import Measure, ProbeTarget
from dyno.host.processes import read_threads_ns, read_unless_refused

NAMES = ("driver_busy_percent", "driver_waited_percent")


class ClientProbe:
    """The driver's threads, beside the server's processes."""

    summary = "the driver's threads beside a server: how busy one was, how long one lacked a core"
    is_condition = False
    measures = tuple(
        Measure(name, "%", "lower", counter=False, per_operation=False) for name in NAMES
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """Since the last sample, of the busiest thread, in percent of the time; 0 at first.

        The kernel adds up a running thread's time late, at its next tick: a short stretch may show
        more than it lasted.
        """
        if watched.embedded:
            return {}
        return read_unless_refused(lambda: self._compute_shares(watched))

    @staticmethod
    def _compute_shares(watched: ProbeTarget) -> dict[str, float]:
        now_ns, threads = time.monotonic_ns(), read_threads_ns(watched.client_pid)
        then_ns, before = watched.memory.get("client", (now_ns, threads))
        watched.memory["client"] = (now_ns, threads)
        gained = [
            [now - then for now, then in zip(spent, before.get(thread, (0, 0)), strict=True)]
            for thread, spent in threads.items()
        ]
        most = [max(column) for column in zip(*gained, strict=True)] or [0, 0]
        time_ns = max(1, now_ns - then_ns)
        shares = [min(100.0, 100.0 * ns / time_ns) for ns in most]
        return dict(zip(NAMES, shares, strict=True))


PROBE = ClientProbe()
