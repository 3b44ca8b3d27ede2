"""A statement's path in a database's file, by an engine that works inside the driver's process.

There is no connection to cross and nobody to look at the statement from beside: it is ended with
the process that executes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import PathRequest, Talk
from dyno.engines._statements import check_kind, read_statement
from dyno.errors import UsageError
from dyno.record.explanation import StageName
from dyno.record.waits import SessionState
from dyno.sql.tokens import Quoting


def check_file(place: str, flags: Mapping[str, str]) -> Path:
    """The file; `UsageError` where there is none, which opening it would make."""
    path = Path(place).expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    if flags:
        raise UsageError(f"a file takes no key (got '{next(iter(flags))}')")
    return path


class EmbeddedPath:
    """What all such paths share; `play_round` and `begin` are each engine's."""

    engine = ""
    sample_s = 1.0
    beside: Session | None = None
    wait_sql = end_source = ""
    switches: tuple[str, ...] = ()

    def __init__(
        self, build: Build, file: Path, request: PathRequest, quoting: Quoting, session: Session
    ) -> None:
        self._request, self._sql = request, request.sql.strip().rstrip("; \t\n")
        check_kind(read_statement(self._sql, quoting), request.writes)
        self.version, self.server, self.session = build.version, str(file), session
        self.bare = ("BEGIN", self._sql, "ROLLBACK") if request.writes else (self._sql,)
        self.repeats = 1
        self.remarks: list[str] = []
        self.sources: dict[StageName, str] = {}

    def list_endings(self) -> list[str]:
        """None: it ends with its process."""
        return []

    def read_wait(self, rows: Sequence[Sequence[str | None]]) -> SessionState | None:
        """Nobody is asked."""
        return None

    def begin(self, talk: Talk) -> None:
        """Nothing is said first."""
