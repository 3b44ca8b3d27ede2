"""Probe `server`: what the server itself counted of its clients' work in a phase.

`server_statements` or `server_transactions`, whichever the engine counts as the driver does; those
of everybody who uses the database, our own question before the phase included; or
`server_collected_transactions`, where a collector was told of them in ways that may lose some.
Audit `server_count` holds them against what the driver claims (`Tally.claimed`). `server_commits`
are the commits that it counted; `committed` holds them against `Tally.commits`.
"""

from __future__ import annotations

from dyno.host.probes import Measure, ProbeTarget


class ServerProbe:
    """The server's own count. Asked by SQL, so never while a phase plays."""

    summary = "statements or transactions of all clients, and commits, by the server's own count"
    is_condition = True
    measures = tuple(
        Measure(f"server_{name}", name.split("_")[-1], "lower", per_operation=False)
        for name in ("statements", "transactions", "collected_transactions", "commits")
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        return _ask_counts(watched, after_disconnect=False)

    def sample_after_disconnect(self, watched: ProbeTarget) -> dict[str, float]:
        return _ask_counts(watched, after_disconnect=True)


def _ask_counts(watched: ProbeTarget, after_disconnect: bool) -> dict[str, float]:
    return {f"server_{name}": float(n) for name, n in watched.counted(after_disconnect).items()}


PROBE = ServerProbe()
