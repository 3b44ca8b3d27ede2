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
        """What was added since; all of it where the server has counted anew."""
        if before is None or before.calls > self.calls or before.time_ns > self.time_ns:
            return self
        calls, time_ns = self.calls - before.calls, self.time_ns - before.time_ns
        return StatementCount(calls, time_ns, max(0, self.rows - before.rows))


@dataclass(frozen=True)
class MetSession:
    """A session that works on a statement: what it is at, its database, and the statement's text,
    empty where it was not asked for.
    """

    state: SessionState
    database: str = ""
    text: str = ""


@dataclass(frozen=True)
class StatementText:
    """A statement as the server tells it: `text` without values, `example` with some (empty where
    the server keeps none), and `example_cut` where that is not whole.
    """

    database: str
    text: str
    example: str = ""
    example_cut: bool = False


@dataclass(frozen=True)
class StatementServer(ABC):
    """A server that is asked, over sessions that only read. `name` is its address without the
    password, `missing` what it will not tell and why.
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
        """What its sessions are at, as one question."""

    @abstractmethod
    def extract_sessions(self, rows: Rows) -> list[MetSession]:
        """Its answer, without those that wait for their client's next statement, and without us."""

    @property
    @abstractmethod
    def counts_sql(self) -> str:
        """What it has counted of each statement; empty where it counts none."""

    @abstractmethod
    def extract_counts(self, rows: Rows) -> dict[str, StatementCount]:
        """Its answer, by a name of the statement that stays the same."""

    @abstractmethod
    def read_texts(self, ask: Ask, keys: Sequence[str]) -> Mapping[str, StatementText]:
        """The statements of these names, without those of our own; `TrialFailed` where it fails."""

    @abstractmethod
    def shorten(self, text: str) -> str:
        """A statement without values, so that those that differ in values alone are one."""

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """How its statements are read."""

    @abstractmethod
    def check_keeps_statements(self) -> None:
        """`UsageError` where it keeps none as it was sent them."""

    @abstractmethod
    def choose_played(self, statement: StatementText) -> tuple[str, str]:
        """What of a statement can be played on a copy; or why nothing can."""

    @abstractmethod
    def is_of(self, statement: StatementText, database: str) -> bool:
        """Is a statement of this database, of any but the server's own where it is empty, and
        not one of ours?
        """

    @abstractmethod
    def explain(self, ask: Ask, statement: StatementText) -> str:
        """Its plan, by EXPLAIN alone: nothing is executed. `NotPlanned` says why there is none."""


def complete_url(spec: Spec, database: str) -> str:
    """The server's URL with its password; `database` where it names none and nobody else does."""
    text = f"//{spec.with_password.removeprefix('//').removesuffix('/')}"
    has_database = "/" in text.removeprefix("//").rpartition("@")[2]
    return text if has_database or not database else f"{text}/{database}"


class NotPlanned(DynoError):
    """A statement of which no plan can be told."""
