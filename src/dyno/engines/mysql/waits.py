"""What sessions of MySQL's family are at, as their states say.

`SHOW PROCESSLIST` is asked, since it is there in every version and setting: performance_schema is
off in MariaDB and in our profiles, its `events_waits_current` keeps waits that are over, and its
tables and `information_schema` count as scans and temporary tables. No state tells of a wait for
InnoDB's row locks or files: such a session counts as running. Row locks InnoDB counts itself
(`lock_wait_us` of probe `work`).
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from dyno.record.waits import SessionState, WaitKind

#: Commands of sessions that work on no statement.
IDLE = frozenset({"Sleep", "Daemon", "Connect", "Binlog Dump", "Binlog Dump GTID"})
#: States without the word "lock" in them, by the kind that they are of.
KINDS: dict[str, WaitKind] = {
    "waiting for table flush": "locks",
    "waiting for tables": "locks",
    "user lock": "locks",
    "user sleep": "other",
    "waiting for handler commit": "commit",
    "commit": "commit",
    "query end": "commit",
    "writing to net": "client",
    "receiving from client": "client",
    "sending to client": "client",
    "reading from net": "client",
}
#: What our own question is at.
QUESTION = "SHOW PROCESSLIST"


class TellsMysqlWaits:
    """The question, and its answer read."""

    waits_sql: ClassVar[str] = QUESTION
    counted_as: ClassVar[tuple[str, ...]] = ("statements",)

    def extract_waits(self, rows: list[list[str | None]]) -> list[SessionState]:
        """A state for each that sessions were met in; the session that asks is left out."""
        met = Counter(
            (row[6] or "").lower()
            for row in rows
            if row[4] not in IDLE and row[7] not in (None, QUESTION)
        )
        return [SessionState(_find_kind(state), state, count) for state, count in met.items()]


def _find_kind(state: str) -> WaitKind:
    """What waits for something that we do not know waits all the same."""
    if known := KINDS.get(state):
        return known
    if state == "system lock" or (state.startswith("waiting for") and "lock" in state):
        return "locks"
    if state.startswith("waiting for semi-sync ack"):
        return "commit"
    return "other" if state.startswith("waiting") else "running"
