"""Probe `server`: what the server itself counted of its clients' work in a phase.

`server_statements` or `server_transactions`, whichever the engine counts as the driver does; those
of everybody who uses the database, our own question before the phase included; or
`server_collected_transactions`, where a collector was told of them in ways that may lose some.
Audit `server_count` holds them against what the driver claims (`Tally.claimed`).
"""

from __future__ import annotations

from dyno.probes import Measure, Watched


class Server:
    """The server's own count. Asked by SQL, so never while a phase plays."""

    summary = "statements or transactions of all clients, by the server's own count"
    measures = tuple(
        Measure(f"server_{name}", name.split("_")[-1], "lower", per_operation=False)
        for name in ("statements", "transactions", "collected_transactions")
    )

    def sample(self, watched: Watched) -> dict[str, float]:
        """The count now; of open connections up to a second may be missing."""
        return _named(watched, parted=False)

    def parted(self, watched: Watched) -> dict[str, float]:
        """The whole count, all of the driver's connections in it."""
        return _named(watched, parted=True)


def _named(watched: Watched, parted: bool) -> dict[str, float]:
    return {f"server_{name}": float(n) for name, n in watched.counted(parted).items()}


PROBE = Server()
