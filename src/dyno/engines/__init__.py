"""Engines: one file or package per engine, which offers a class `Engine`.

An engine finds its program (by `dyno.builds`), starts it in a private home, reads its settings
back, lets it settle, and stops it. SQL reaches it through `ask`, which `play` hands in. What an
engine can do beyond that is a protocol of its own (`Snapshots`, `CountsWork`, `Preloads`,
`Attaches`, …), so that others ask for a capability and never for a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from dyno.builds import Build, Say
from dyno.builds.source.plan import BuildPlan
from dyno.driver.events import AskMode, TimedAnswer
from dyno.driver.lockstep import ServerWords
from dyno.driver.plan import Session
from dyno.engines._configs import ConfigOption as ConfigOption
from dyno.engines._configs import ReadsConfigs as ReadsConfigs
from dyno.engines._configs import UpgradesFolders as UpgradesFolders
from dyno.errors import UsageError
from dyno.plugins import find as find_module
from dyno.record import DataCondition
from dyno.record.explanation import InnerStatement, PathRound, StageName
from dyno.record.waits import SessionState
from dyno.workloads.replay.in_place import ServerRules

#: What a commit survives, from nothing to all, as an engine's settings promise it. A power cut
#: stands for whatever takes the machine away; without the last ones the data stay consistent.
SURVIVES = (
    "nothing",
    "a crash of the program",
    "a power cut, but for the last ones",
    "a power cut",
)


@runtime_checkable
class WeighsData(Protocol):
    """An engine that knows how much it holds, and how safely."""

    def weigh(
        self, server: Server, requested: dict[str, str], reported: dict[str, str]
    ) -> DataCondition:
        """Asked after the last phase; `reported` is what `settings` answered."""


@runtime_checkable
class ChecksIntegrity(Protocol):
    """An engine that can be asked whether what it holds is whole.

    `integrity` are questions by name that answer no row where nothing is wrong. `keys_sql` lists
    its unique and foreign keys, a row for each column, those of a key together: `unique` or
    `foreign`, the key, its table, the column, and the table and column that it refers to; names
    are quoted. A column that is NULL cannot be asked for.

    `deep_sql` are statements for heavier means (`deep` says which); the last of them lists names
    and questions, which answer no row but `OK` where nothing is wrong. Both are empty without any.
    """

    integrity: ClassVar[Mapping[str, str]]
    keys_sql: ClassVar[str]
    deep: ClassVar[str]
    deep_sql: ClassVar[Sequence[str]]


@runtime_checkable
class Attaches(Protocol):
    """An engine of which a build may run already (`Build.attached`), in a database named by URL."""

    def list_tables(self, build: Build) -> list[str]:
        """Every table and view of that database, by name, but for those we tried it with."""

    def drop(self, build: Build, tables: Sequence[str]) -> None:
        """Drops these tables; `TrialFailed` if another object of a user's depends on one."""


@runtime_checkable
class CountsWork(Protocol):
    """A server whose own count of the clients' work can be held against the driver's."""

    def count_work(self, server: Server, after_disconnect: bool) -> dict[str, int]:
        """What all clients of the database have had done until now: `statements` or `transactions`,
        as the driver's session of this engine claims them; `collected_transactions` where the
        server may have missed some itself; nothing where that cannot be told. `commits`: at least
        one for each transaction that changed rows and was committed; absent where some tables know
        no commits.

        `after_disconnect`: the driver has closed its connections, and what they did is to be
        counted in full.
        """


@runtime_checkable
class CountsContention(Protocol):
    """A server that counts what its clients waited for and what its pages went through."""

    def count_contention(self, server: Server) -> dict[str, int]:
        """The probe `contention`'s counts of all tables until now; without what is not counted."""


@runtime_checkable
class CountsInternals(Protocol):
    """A server that counts its own work: pages, rows, scans, log and fsyncs."""

    def count_internals(self, server: Server) -> dict[str, int]:
        """The counters of probe `work` until now, by their names; without those it has not."""


@runtime_checkable
class TellsWaits(Protocol):
    """A server that tells what the sessions that work on a statement are at, by one question.

    `waits_sql` is that, `counted_as` the counts of `CountsWork` that one such question raises.
    """

    waits_sql: ClassVar[str]
    counted_as: ClassVar[tuple[str, ...]]

    def extract_waits(self, rows: list[list[str | None]]) -> list[SessionState]:
        """What it answered, without the session that asks."""


#: Under this name `LockQuestions.counted` answers what others than the users did with a class of
#: locks, whoever asks among them.
BESIDE = "beside"


@dataclass(frozen=True)
class LockQuestions:
    """What a server is asked of its locks. Rows begin with a lock's class, its kind (`LockKind`),
    and which of the class it is (empty: there is one).

    `prepare` comes first in the session, so that planning is no part of a sample. `held` answers
    how many hold each now, and how many wait for it; `counted` how often it was taken and the ns
    that were waited for it since it was made; empty where nothing is counted. `asker` answers the
    kernel's number of the thread that serves the session; empty where that is not known, or not of
    this host.
    """

    prepare: tuple[str, ...]
    held: str
    counted: str
    asker: str
    unseen: tuple[str, ...]


@runtime_checkable
class MeasuresLocks(Protocol):
    """A server that tells of its locks while it is started with `lock_settings`, which may cost it
    CPU time.
    """

    lock_settings: ClassVar[Mapping[str, str]]

    def choose_lock_questions(self, server: Server) -> LockQuestions:
        """Those that it can answer; `TrialFailed` where it tells nothing."""


#: Under this name an answer says why tables and indexes are not in the cache after all.
MISSED = "missed"


@runtime_checkable
class BuildsFromSource(Protocol):
    """An engine that is built here from a tree of its source."""

    def plan_build(self, place: str, flags: dict[str, str], say: Say) -> BuildPlan:
        """The plan for the tree at `place`: `DIR`, `DIR@REF`, `deb:SUITE`; `UsageError` if none."""


@runtime_checkable
class Explains(Protocol):
    """An engine that tells by SQL how it would execute a statement: `explain` stands before it."""

    explain: ClassVar[str]

    def extract_plan(self, rows: list[list[str | None]]) -> str:
        """The plan's shape in lines, of what it answered: no estimates, which differ by chance."""


@runtime_checkable
class ExplainsGeneric(Protocol):
    """An engine that may plan a prepared statement once for all values."""

    def list_generic_questions(self, prepared: str) -> list[str]:
        """What it is asked for that plan, in one session; the last but one answer has it."""


@runtime_checkable
class Preloads(Protocol):
    """An engine with a cache for all connections that SQL can fill."""

    def preload(self, server: Server) -> dict[str, str]:
        """Reads every table and index of the database; answers what that was, for the record."""


@runtime_checkable
class ReachesDatabases(Protocol):
    """An engine whose statements can reach other databases of a server than the one of its URL."""

    def list_other_databases(self, build: Build) -> list[str]:
        """Those that the account sees, but for what cannot be written to."""


@runtime_checkable
class ReadsInPlace(Protocol):
    """An engine in whose attached build a log can be played that only reads: a URL's `readonly`."""

    def read_rules(self, build: Build) -> ServerRules:
        """Which statements it is asked; `UsageError` where none can be told from its text."""


@runtime_checkable
class ShowsWrites(Protocol):
    """An engine that changes its files by the C library alone, where a layer below it sees that:
    with the settings `seen_with`. Files whose names end with one of `no_data` hold nothing that a
    crash must find; `data` is the folder of the others below its home.
    """

    seen_with: ClassVar[Mapping[str, str]]
    no_data: ClassVar[tuple[str, ...]]
    data: ClassVar[str]


@runtime_checkable
class ReadsSql(Protocol):
    """An engine whose tables an SQL file can make, in the dialect of the driver's session of this
    kind. `tables_sql` lists the tables of a session's database, quoted, and may tell of each the
    columns that the server alone writes, a line each. `own_databases` are the server's, which a
    dump of all has, too; `has_use`: a connection may go to another database.
    """

    session_kind: ClassVar[str]
    tables_sql: ClassVar[str]
    own_databases: ClassVar[frozenset[str]]
    has_use: ClassVar[bool]


@runtime_checkable
class PlaysLogs(Protocol):
    """A server on which a log of many sessions is played in its order, one statement at a time."""

    in_order: ClassVar[ServerWords]


#: Answers SQL statements over a session: for each, its rows as text (None for NULL).
Ask = Callable[[Session, Sequence[str]], list[list[list[str | None]]]]


@dataclass(frozen=True)
class Server:
    """A started engine: how to reach it, which process to watch, where its data and log lie.

    `pid` is None where the engine lives inside the driver's process, and where a server that runs
    already is not known to run on this machine. `lacks` names what of its catalogue a server that
    runs already does not answer.
    """

    session: Session
    home: Path
    pid: int | None = None
    log: Path | None = None
    handle: Any = field(default=None, compare=False)
    lacks: frozenset[str] = frozenset()


@dataclass(frozen=True)
class StartConditions:
    """What the controls want of a server's process: the command that starts it under them
    (`("setarch", "-R", "taskset", "-c", "0")`), and what joins its environment. `executor` is the
    command of a program that executes the server's instructions, which stands right before it, and
    `shown_as` the program that the kernel then shows in its place.
    """

    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    executor: tuple[str, ...] = ()
    shown_as: Path | None = None


#: Under no control at all.
NO_CONDITIONS = StartConditions()


class Engine(Protocol):
    """The verbs of an engine.

    `embedded` says that it runs inside the driver's process. `options` maps each setting that it
    knows to its default and meaning; `flags` the same for its builds; `versions` are those that
    `program` can fetch by number.
    """

    embedded: ClassVar[bool]
    options: ClassVar[dict[str, tuple[str, str]]]
    flags: ClassVar[dict[str, tuple[str, str]]]
    versions: ClassVar[tuple[str, ...]]

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        """The program for what stands after the `@`; `UsageError` where there is none."""

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        """Starts `build` with its data in `home`, a private folder: empty, or as `stop` left it.

        An embedded engine ignores `under`, which is the driver's then.
        """

    def settings(self, server: Server) -> dict[str, str]:
        """Every setting as the engine itself reports it."""

    def settle(self, server: Server) -> None:
        """Checkpoint, vacuum, analyse: what this engine needs between writes and reads."""

    def stop(self, server: Server) -> None:
        """Ends the engine; its home stays."""


@runtime_checkable
class Checks(Protocol):
    """An engine that knows a wrong word before anything is built or started."""

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        """`UsageError` where `program` or `start` could not take these; fetches nothing."""


@runtime_checkable
class Accepts(Protocol):
    """An engine that takes all variables of its program by name: `options` explains only some.

    They are too many, and differ too much from version to version, to be listed here: the program
    judges them, once it is at hand and before any trial.
    """

    def accept(self, build: Build, settings: dict[str, str], others: Iterable[str] = ()) -> None:
        """`UsageError` where this build would not start with these settings; for a name that it
        does not know with the nearest of its own and of `others`, which are no settings.
        """


@runtime_checkable
class Likens(Protocol):
    """An engine that can be started with the settings of a server that runs already."""

    def liken_settings(self, running: Build, build: Build) -> dict[str, str]:
        """The settings with which `build` runs as the attached `running` does, by name."""


@runtime_checkable
class Remarks(Protocol):
    """An engine that knows which of its settings are easily mistaken, though it takes them."""

    def list_remarks(self, build: Build, settings: dict[str, str]) -> list[str]:
        """A clause for each: a key without effect beside another, a bare number's unit."""


@runtime_checkable
class Snapshots(Protocol):
    """An engine whose home, once stopped, may be copied and started elsewhere: where loading is
    slow, data are loaded a few times and copied for each trial."""

    def select_file_settings(self, settings: dict[str, str]) -> dict[str, str]:
        """Those of `settings` that the files depend on: a page's size, not a cache's."""


@runtime_checkable
class Knobs(Protocol):
    """An engine whose settings do what a control names for all: `knobs`, by its name and value."""

    knobs: ClassVar[dict[str, dict[str, dict[str, str]]]]


@runtime_checkable
class HoldsMemory(Protocol):
    """An engine that knows what its processes take of memory: interleaved, all of them at once."""

    def estimate_memory_bytes(
        self, build: Build, settings: dict[str, str], connections: int
    ) -> int:
        """The caches that `settings` resolve to, filled, and an allowance for all else."""


@runtime_checkable
class LimitsConnections(Protocol):
    """A server that lets in so many connections at once and no more."""

    def find_most_connections(self, build: Build, settings: dict[str, str]) -> int:
        """How many: what `settings` resolve to, or what the attached server says."""


@runtime_checkable
class Outgrows(Protocol):
    """An engine that knows what its files take beside the data (logs, redo, undo, temporaries)."""

    def estimate_disk_bytes(self, data_bytes: int, settings: dict[str, str]) -> int:
        """The most that a home may take while `data_bytes` of rows are loaded and changed."""


@dataclass(frozen=True)
class SysbenchOption:
    """An option of sysbench's: the type of its value as sysbench's help shows it, its default."""

    name: str
    kind: str
    default: str
    help: str


@dataclass(frozen=True)
class SysbenchDriver:
    """A driver as sysbench names it, its options, and the session that their values mean: what an
    engine that sysbench knows offers as `SYSBENCH`. `handed_on` are the options that our driver
    reads itself.
    """

    name: str
    title: str
    options: tuple[SysbenchOption, ...]
    session: Callable[[Mapping[str, str]], Session]
    handed_on: frozenset[str] = frozenset()


def find_engine(name: str, ask: Ask) -> Engine:
    """The engine called `name`; an unknown one raises `UsageError` with the nearest names, and how
    an engine that is none of ours is played.
    """
    try:
        engine: Engine = find_module("dyno.engines", "engine", name).Engine(ask)
    except UsageError as unknown:
        more = "an engine of your own: docs/guides/engines/plugin.md"
        raise UsageError(unknown.message, hint=f"{unknown.hint} ({more})") from None
    return engine


def find_plain_dump(path: Path, say: Say) -> Path:
    """A dump as one file of SQL statements: itself, or what is made of it in the cache.

    `UsageError` where it is something else, is cut, or what unpacks it is not here.
    """
    from dyno.engines._dumps import find_plain_file

    return find_plain_file(path, say)


def check_placeholders(sql: str, cause: object) -> None:
    """`UsageError` where a statement that a server refused for `cause` has what stands for a value
    in programs: `?`, `:id`, `%s`.
    """
    from dyno.engines._statements import refuse_placeholders

    refuse_placeholders(sql, cause)


#: Asks over the connection of the statement that is explained, and times each answer.
Talk = Callable[[Sequence[str], AskMode], list[TimedAnswer]]


@dataclass(frozen=True)
class PathRequest:
    """A statement whose path is asked for: no run of it may take longer than `limit_s`; `writes`:
    each is undone by a rollback.
    """

    sql: str
    limit_s: float
    writes: bool = False


class StatementPath(Protocol):
    """One statement's path in one server: what is asked, and what the answers tell.

    `bare` is what a run without any instrument sends, `repeats` how often a round runs each way, of
    which the median counts. `beside` is how a second connection is opened, which samples waits by
    `wait_sql` every `sample_s` and ends what still runs; None where there is none. `sources` says
    who tells which stage, `end_source` what the end of a transaction was timed by, `remarks` what
    this server cannot tell, a sentence each; `switches` as in `Explanation`.
    """

    engine: str
    version: str
    server: str
    session: Session
    beside: Session | None
    bare: tuple[str, ...]
    repeats: int
    wait_sql: str
    sample_s: float
    sources: dict[StageName, str]
    end_source: str
    remarks: list[str]
    switches: tuple[str, ...]

    def begin(self, talk: Talk) -> None:
        """What a new connection says first; `UsageError` where the server does not promise that
        nothing will be written."""

    def play_round(self, talk: Talk) -> PathRound:
        """The statement once in each way of running it."""

    def read_wait(self, rows: Sequence[Sequence[str | None]]) -> SessionState | None:
        """What the answer to `wait_sql` says that the statement is at; None: it is not running."""

    def list_endings(self) -> list[str]:
        """What ends the statement that runs in the connection begun last, asked from beside."""

    def extract_shape(self, talk: Talk) -> str:
        """Its plan without numbers; the statement is not executed."""


@runtime_checkable
class ChecksRemains(Protocol):
    """A path that looks afterwards at what its runs may have left."""

    def check_remains(self, ask: Ask) -> str:
        """What it found, in a clause; empty where nothing could be left."""


@runtime_checkable
class TellsInnerStatements(Protocol):
    """A statement's path in a server whose functions hold statements."""

    def read_inner(self, talk: Talk) -> tuple[InnerStatement, ...]:
        """The longest statements inside the functions that it calls, in one run more; none where
        the server does not tell them, which the path's `remarks` say."""


@runtime_checkable
class ExplainsPath(Protocol):
    """An engine that tells of one statement where its time goes, on a server that runs already or
    in a file."""

    def open_path(
        self, place: str, flags: Mapping[str, str], request: PathRequest, build: str = ""
    ) -> StatementPath:
        """The path at a URL, or in a file by the library of a build; `UsageError` where the
        statement is none that can be explained there."""


@runtime_checkable
class ExplainsFiles(ExplainsPath, Protocol):
    """One that does so in a file."""

    def is_own_file(self, head: bytes) -> bool:
        """Does a file that begins so hold a database of this engine?"""
