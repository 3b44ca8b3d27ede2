"""What each kind of server offers to a profile: its sessions, its statements' times and plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.errors import DynoError
from dyno.record.server_profile import StatementSource
from dyno.record.waits import SessionState
from dyno.runs.experiment.candidates import Spec
from dyno.workloads.replay.statements import Dialect

#: Stands in each question of ours, and says in a server's list of statements whose it is.
MARK = "/* dyno profile */"
#: What a question of ours may take, in s: the server's own limit, which it is told.
TIME_LIMIT_S = 10
Rows = list[list[str | None]]


@dataclass(frozen=True)
class StatementCount:
    """What a server has counted of a statement until now."""

    calls: int
    time_ns: int
    rows: int

    def __sub__(self, before: StatementCount | None) -> StatementCount:
        """Return what was added since; all of it if the server has reset its counts."""
        if before is None or before.calls > self.calls or before.time_ns > self.time_ns:
            return self
        calls, time_ns = self.calls - before.calls, self.time_ns - before.time_ns
        return StatementCount(calls, time_ns, max(0, self.rows - before.rows))


@dataclass(frozen=True)
class MetSession:
    """A session that works on a statement: its state, its database, and the statement's text, empty
    if it was not asked for.
    """

    state: SessionState
    database: str = ""
    text: str = ""


@dataclass(frozen=True)
class StatementText:
    """A statement as the server has it: `text` without values, `example` with some (empty if the
    server keeps none), and `example_cut` if that is not whole.
    """

    database: str
    text: str
    example: str = ""
    example_cut: bool = False


@dataclass(frozen=True)
class StatementServer(ABC):
    """A server that is asked, over sessions that only read. `name` is its address without the
    password, `missing` what it does not tell and why.
    """

    session: Session
    engine: str
    name: str
    version: str
    missing: tuple[str, ...]

    @property
    @abstractmethod
    def statement_source(self) -> StatementSource:
        """Where statements' times come from."""

    @property
    @abstractmethod
    def sessions_sql(self) -> str:
        """Return the question what its sessions are doing."""

    @abstractmethod
    def extract_sessions(self, rows: Rows) -> list[MetSession]:
        """Read its answer, without those that wait for their client's next statement, and without
        us.
        """

    @property
    @abstractmethod
    def counts_sql(self) -> str:
        """Return the question what it has counted of each statement; empty if it counts none."""

    @abstractmethod
    def extract_counts(self, rows: Rows) -> dict[str, StatementCount]:
        """Read its answer, by a name of the statement that stays the same."""

    @abstractmethod
    def read_texts(self, ask: Ask, keys: Sequence[str]) -> Mapping[str, StatementText]:
        """Return the statements of these names, without our own; `TrialFailed` if it fails."""

    @abstractmethod
    def shorten(self, text: str) -> str:
        """Return a statement without values, so that those that differ in values alone are one."""

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """How its statements are read."""

    @abstractmethod
    def check_keeps_statements(self) -> None:
        """Raise `UsageError` if it keeps no statements as they were sent."""

    @abstractmethod
    def choose_played(self, statement: StatementText) -> tuple[str, str]:
        """Return what of a statement can be played on a copy; or why nothing can."""

    @abstractmethod
    def is_of(self, statement: StatementText, database: str) -> bool:
        """Return whether a statement is of this database (if empty: of any but the server's own),
        and not one of ours.
        """

    @abstractmethod
    def explain(self, ask: Ask, statement: StatementText) -> str:
        """Return its plan, by EXPLAIN alone: nothing is executed. `NotPlanned` says why there is
        none.
        """


def complete_url(spec: Spec, database: str) -> str:
    """Return the server's URL with its password; `database` if nothing else names one."""
    text = f"//{spec.with_password.removeprefix('//').removesuffix('/')}"
    has_database = "/" in text.removeprefix("//").rpartition("@")[2]
    return text if has_database or not database else f"{text}/{database}"


class NotPlanned(DynoError):
    """A statement that has no plan to show."""
