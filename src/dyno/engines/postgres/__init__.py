"""Engine `postgres`: PostgreSQL from 10 on, started on a private socket, or one that runs already.

What stands after the `@` is a version (`18`: its newest minor one, of Debian's build where there is
one; `12.22`, `maven:18`: fetched by Maven), a suite of Debian's (`trixie`), a prefix that holds
`bin/postgres`, `system`, or a tree of its source (`source:/path/to/tree`); nothing stands for the
newest version. A server that runs already is named by its URL,
`postgres://user@host:5432/database?sslmode=require` (`postgresql://`, `host=… dbname=…` and
`service=…` too, docs/guides/addresses.md); it is never started, stopped or configured,
and written to only in that database.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from dyno.access import url
from dyno.access.account import place_socket
from dyno.access.url import Login
from dyno.builds import Build, Say
from dyno.builds.abilities import keep_abilities
from dyno.builds.available import Offer
from dyno.builds.source.plan import BuildPlan
from dyno.driver.lockstep import ServerWords
from dyno.engines import (
    NO_CONDITIONS,
    Ask,
    ConfigOption,
    Server,
    StartConditions,
    _builds,
    _server,
)
from dyno.engines._builds import Releases
from dyno.engines._packaged import VENDORS
from dyno.engines._server import libraries
from dyno.engines.postgres import config_file, evidence, settle
from dyno.engines.postgres.attached import (
    CATALOGUE,
    FLAGS,
    PostgresTables,
    attach_server,
    describe_attached_server,
)
from dyno.engines.postgres.attached import convert_address as convert_address
from dyno.engines.postgres.attached import make_client_session as make_client_session
from dyno.engines.postgres.builds import RELEASES, check_build_name, find_build, list_offers
from dyno.engines.postgres.client_files import SYSBENCH as SYSBENCH
from dyno.engines.postgres.config_file import liken_settings, list_remarks
from dyno.engines.postgres.evidence import (
    CHECKS,
    KEYS,
    CountsPostgresInternals,
    CountsTransactions,
    TellsPostgresWaits,
)
from dyno.engines.postgres.explain import ExplainsPostgresPath
from dyno.engines.postgres.explain_nodes import ExplainsPostgresGeneric, plan_shape
from dyno.engines.postgres.locks import TellsPostgresLocks
from dyno.engines.postgres.log_formats import REFUSED_LOGS as REFUSED_LOGS
from dyno.engines.postgres.log_formats import CsvLog, JsonLog, StderrLog
from dyno.engines.postgres.settings import (
    ask_abilities,
    check_compiler,
    check_settings,
    choose_settings,
    describe_options,
    format_settings_file,
    read_held_value,
    read_settings,
    require_compiler,
    try_out,
)
from dyno.engines.postgres.settle import (
    FILED,
    NAME,
    close,
    estimate_cluster_bytes,
    lay_cluster,
    upgrade_cluster,
)
from dyno.record import DataCondition

LOG_READERS = (JsonLog(), CsvLog(), StderrLog())
#: PostgreSQL's name for the socket of port 5432; it lays a lock file beside it.
SOCKET = ".s.PGSQL.5432"
#: The unit of shared_buffers; and allowances: other shared memory and the helpers, a backend.
PAGE_BYTES = 8192
OTHER_BYTES, BACKEND_BYTES = 128 << 20, 12 << 20


class Engine(
    PostgresTables,
    CountsTransactions,
    CountsPostgresInternals,
    ExplainsPostgresGeneric,
    ExplainsPostgresPath,
    TellsPostgresWaits,
    TellsPostgresLocks,
):
    """PostgreSQL in a process of its own.

    Its settings are those of the table that `dyno show postgres` prints, in one of its profiles,
    and any other of the server's own; pages carry no checksums unless asked for, whatever the
    version's default is.
    """

    embedded: ClassVar[bool] = False
    integrity: ClassVar[dict[str, str]] = {}
    keys_sql: ClassVar[str] = KEYS
    deep: ClassVar[str] = "each page, and each index against its rows, by amcheck"
    deep_sql: ClassVar[tuple[str, ...]] = ("CREATE EXTENSION IF NOT EXISTS amcheck", CHECKS)
    session_kind: ClassVar[str] = "postgres"
    tables_sql: ClassVar[str] = (
        "SELECT format('%I.%I', n.nspname, c.relname), (SELECT string_agg(a.attname, E'\\n') FROM"
        " pg_attribute a WHERE a.attrelid = c.oid AND (a.attidentity = 'a'"
        " OR to_jsonb(a)->>'attgenerated' <> '')) FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p')"
        " AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
    )
    in_order: ClassVar[ServerWords] = ServerWords(
        process="SELECT pg_backend_pid()",
        waits="SELECT 1 FROM pg_locks WHERE pid = {process} AND NOT granted",
    )
    own_databases: ClassVar[frozenset[str]] = frozenset({"postgres", "template1"})
    has_use: ClassVar[bool] = False
    no_data: ClassVar[tuple[str, ...]] = ("postmaster.pid", "postmaster.opts")
    seen_with: ClassVar[dict[str, str]] = {}
    data: ClassVar[str] = "data"
    options: ClassVar[dict[str, tuple[str, str]]] = describe_options()
    flags: ClassVar[dict[str, tuple[str, str]]] = FLAGS | _builds.FLAGS
    versions: ClassVar[tuple[str, ...]] = RELEASES.versions
    releases: ClassVar[Releases] = RELEASES
    explain: ClassVar[str] = "EXPLAIN (COSTS OFF)"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        """Raise `UsageError` for what would be refused later; values that only the server can judge
        are left to `accept`.
        """
        url.check_url(build, {n: v for n, v in flags.items() if n not in _builds.FLAGS}, settings)
        check_settings(settings)
        if url.is_url(build):
            _builds.refuse_flags(build, flags)
        else:
            check_build_name(build, flags)

    def list_offers(self) -> list[Offer]:
        return list_offers()

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        self.check(build, flags, {})
        if url.is_url(build):
            return attach_server(self._ask, build, flags)
        return find_build(build, say, flags)

    def plan_build(self, place: str, flags: dict[str, str], say: Say) -> BuildPlan:
        return _builds.plan_source("postgres", place, flags, say)

    def accept(self, build: Build, settings: dict[str, str], others: Iterable[str] = ()) -> None:
        if not build.attached:
            try_out(build, settings, _parse_major(build), others)
            check_compiler(build, settings)

    def liken_settings(self, running: Build, build: Build) -> dict[str, str]:
        return liken_settings(self._ask, url.read_login(running).to_session("postgres"), build)

    def read_config(self, build: Build, file: Path) -> list[ConfigOption]:
        return config_file.read_options(build, file)

    def format_config(self, options: Sequence[ConfigOption]) -> tuple[str, dict[str, str]]:
        return config_file.format_file(options), {}

    def upgrade_folder(self, old: Build, new: Build, home: Path, settings: dict[str, str]) -> str:
        return upgrade_cluster(old, new, home, _choose_checksums(settings))

    def list_remarks(self, build: Build, settings: dict[str, str]) -> list[str]:
        if build.attached:
            return url.describe_missing(build, CATALOGUE)
        return list(list_remarks(build, settings, _parse_major(build)))

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        if build.attached:
            return describe_attached_server(build, home)
        data, socket = home / "data", place_socket(home, SOCKET)
        if not data.exists():
            lay_cluster(build, _choose_checksums(settings), data)
        close(data)
        # no other process works in a private home, so its lock is a dead server's
        (data / "postmaster.pid").unlink(missing_ok=True)
        config = home / "dyno.conf"
        major, sockets = _parse_major(build), socket.path.parent
        config.write_text(format_settings_file(settings, major, sockets, data))
        running = _server.start_server(
            _server.ServerLaunch(
                f"postgres {build.version}",
                (str(build.program), "-D", str(data), "-c", f"config_file={config}"),
                home,
                socket,
                under,
                libraries.build_environment(build.libraries),
                stops_on=signal.SIGINT,
                dies_on=signal.SIGQUIT,
                asked=choose_settings(settings, major),
            )
        )
        session = Login(str(socket.path), NAME, NAME).to_session("postgres")
        _server.wait_ready(running, lambda: self._ask(session, ["SELECT 1"]))
        server = Server(session, home, running.process.pid, running.log, running)
        try:
            if settings.get("jit") == "on":
                require_compiler(self._ask, server)
            keep_abilities(build, lambda: ask_abilities(self._ask, server, build.version))
        except BaseException:
            _server.kill_server(running)
            raise
        return server

    def select_file_settings(self, settings: dict[str, str]) -> dict[str, str]:
        """Checksums change every page, and a file of the user's may change anything."""
        filed = {name: value for name, value in settings.items() if name in FILED}
        profile = settings.get("profile", "")
        return filed | ({"profile": profile} if profile in VENDORS else {})

    def estimate_disk_bytes(self, data_bytes: int, settings: dict[str, str]) -> int:
        """Rows with their headers, indexes and dead versions; and the log of writing all that."""
        return estimate_cluster_bytes(data_bytes, settings.get("max_wal_size", "8GB"))

    def estimate_memory_bytes(
        self, build: Build, settings: dict[str, str], connections: int
    ) -> int:
        pages = int(read_held_value(build, settings, _parse_major(build), "shared_buffers"))
        return pages * PAGE_BYTES + OTHER_BYTES + connections * BACKEND_BYTES

    def find_most_connections(self, build: Build, settings: dict[str, str]) -> int:
        """Return `max_connections`, less those reserved on a server that is not ours."""
        if build.attached:
            return self.read_connection_limit(build)
        return int(read_held_value(build, settings, _parse_major(build), "max_connections"))

    def settings(self, server: Server) -> dict[str, str]:
        """Every setting as the server reports it, with its source unless that is the default.

        `TrialFailed` where the server runs with another value than it was asked for. Paths below
        the trial's home are left out: they differ from trial to trial.
        """
        return read_settings(self._ask, server)

    def extract_plan(self, rows: list[list[str | None]]) -> str:
        return plan_shape(str(row[0]) for row in rows)

    def settle(self, server: Server) -> None:
        """What the insert benchmark does between writes and reads: vacuums and analyses every
        table, then writes all changed pages; a server that runs already keeps its own time there.
        """
        settle.settle(self._ask, server)

    def preload(self, server: Server) -> dict[str, str]:
        return settle.preload(self._ask, server)

    def weigh(
        self, server: Server, requested: dict[str, str], reported: dict[str, str]
    ) -> DataCondition:
        return evidence.weigh_database(self._ask, server, requested, reported)

    def stop(self, server: Server) -> None:
        """Shut down fast: no client is waited for, and all is on disk; the data stay."""
        if server.handle is not None:
            _server.stop_server(server)


def _choose_checksums(settings: dict[str, str]) -> bool | None:
    """Return False unless asked for; None, as the vendor has it, under stock settings."""
    if "data_checksums" in settings:
        return settings["data_checksums"] == "on"
    return None if settings.get("profile") in VENDORS else False


def _parse_major(build: Build) -> int:
    return _builds.parse_version(build.version)[0]
