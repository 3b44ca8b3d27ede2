"""What a server's sessions were at while a phase was played: running, or waiting for what."""

from __future__ import annotations

from typing import Literal

from dyno.record.schema import Int64, Record

#: `running`: on a core or ready for one, or waiting inside the engine where it does not say so;
#: `locks` of rows, tables, metadata; `latches` guard memory; `files`; `commit`; `processes`: others
#: of the server; `client`: its results are not fetched; `other`.
WaitKind = Literal["running", "locks", "latches", "files", "commit", "processes", "client", "other"]


class SessionState(Record):
    """In how many samples a session was met that worked on a statement, by what it was at."""

    kind: WaitKind
    event: str
    sessions: Int64


class WaitProfile(Record):
    """All samples of a phase, taken in its own time alone: `sessions` over `samples` is how many
    sessions are in a state on average. Those that wait for their client's next word are in none.

    `cpu_ns` is what asking cost on our side; the server's own part is not in it. `missed` samples
    came too late, when another candidate had its turn.
    """

    samples: Int64
    states: tuple[SessionState, ...]
    cpu_ns: Int64 = 0
    missed: Int64 = 0
