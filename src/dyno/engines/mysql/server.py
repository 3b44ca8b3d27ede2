"""A server of MySQL's family: its command line, and start, settings, settle and stop.

MySQL and MariaDB share all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dyno.access import url
from dyno.access.account import place_socket
from dyno.access.url import Login
from dyno.builds import Build, Say
from dyno.builds.abilities import keep_abilities
from dyno.builds.source.plan import BuildPlan
from dyno.builds.suite_tree import SuiteProgram, Tree
from dyno.driver.lockstep import ServerWords
from dyno.driver.plan import Session
from dyno.engines import NO_CONDITIONS, Ask, ConfigOption, Server, StartConditions, _builds, _server
from dyno.engines._builds import Releases
from dyno.engines._packaged import VENDORS, choose_packaged, list_packaged_remarks
from dyno.engines.mysql import config_file
from dyno.engines.mysql.attached import (
    CATALOGUE,
    FLAGS,
    MysqlTables,
    attach_server,
    convert_flags,
    describe_attached_server,
)
from dyno.engines.mysql.builds import (
    Prefix,
    RegistryPackage,
    fetch_build,
    find_local_build,
    find_prefix,
    is_path,
    make_source_build,
    make_suite_build,
)
from dyno.engines.mysql.config_file import liken_settings, list_remarks
from dyno.engines.mysql.data import (
    Query,
    fill_data,
    grant_access,
    preload,
    prepare_database,
    settle,
)
from dyno.engines.mysql.evidence import (
    CountsMysqlInternals,
    TellsMysqlWaits,
    WeighsServer,
    estimate_needed_bytes,
)
from dyno.engines.mysql.explain import ExplainsMysqlPath
from dyno.engines.mysql.explain_nodes import plan_shape
from dyno.engines.mysql.locks import TellsMysqlLocks
from dyno.engines.mysql.logs import SCHEMAS
from dyno.engines.mysql.settings import (
    FIXED_BYTES,
    KNOBS,
    PASSING,
    AskedSettings,
    check_settings,
    describe_options,
    is_logged,
    sort_settings,
)
from dyno.engines.mysql.values import (
    ask_abilities,
    build_defaults_argument,
    check_values,
    list_values,
    select_lasting_values,
    try_out,
)
from dyno.errors import TrialFailed


@dataclass(frozen=True)
class StartedServer(_server.Running):
    """A server's process, and what it was asked to run with."""

    asked: AskedSettings


def plan_launch(
    build: Build, prefix: Prefix, home: Path, requested: AskedSettings, under: StartConditions
) -> _server.ServerLaunch:
    """The server to be, its data in `home/data`, its socket in `home` or as near as can be."""
    socket = place_socket(home, "mysqld.sock")
    places = _list_places(home, socket.path, requested.config)
    return _server.ServerLaunch(
        name=f"{build.engine} {build.version}",
        command=[
            str(build.program),
            *places,
            *prefix.list_arguments(),
            *requested.list_arguments(prefix),
        ],
        home=home,
        socket=socket,
        under=under,
        environment=prefix.build_environment(),
    )


def _list_places(home: Path, socket: Path, config: Path | None) -> Sequence[str]:
    return [
        build_defaults_argument(config, home),
        f"--datadir={home / 'data'}",
        f"--tmpdir={home / 'tmp'}",
        f"--socket={socket}",
        f"--pid-file={home / 'mysqld.pid'}",
        f"--log-error={home / 'server.log'}",
    ]


#: What an upgrade leaves out.
NO_CLIENT = "mariadb-upgrade was not run: its clients are no part of this build\n"
#: Whom everything is done as: `root` may set what settling needs, and stands in every build.
USER, DATABASE = "root", "dyno"
QUESTIONS = ("SHOW GLOBAL VARIABLES", "SELECT CURRENT_USER()")


class Family(
    WeighsServer,
    CountsMysqlInternals,
    TellsMysqlWaits,
    TellsMysqlLocks,
    MysqlTables,
    ExplainsMysqlPath,
):
    """A server of this family on a private socket, with every variable of it as a setting.

    All of them are read back; one that differs from what was asked for fails the trial.
    """

    embedded: ClassVar[bool] = False
    session_kind: ClassVar[str] = "mysql"
    tables_sql: ClassVar[str] = (
        "SELECT CONCAT('`', REPLACE(t.table_name, '`', '``'), '`'), GROUP_CONCAT(c.column_name"
        " SEPARATOR '\\n') FROM information_schema.tables t LEFT JOIN information_schema.columns c"
        " ON c.table_schema = t.table_schema AND c.table_name = t.table_name"
        " AND c.extra REGEXP 'VIRTUAL|STORED|PERSISTENT' WHERE t.table_schema = DATABASE()"
        " AND t.table_type = 'BASE TABLE' GROUP BY t.table_name ORDER BY 1"
    )
    in_order: ClassVar[ServerWords] = ServerWords(
        opening=("SET timestamp = {second}, rand_seed1 = 1, rand_seed2 = 2",),
        process="SELECT CONNECTION_ID()",
        waits=(
            "SELECT 1 FROM information_schema.innodb_trx"
            " WHERE trx_mysql_thread_id = {process} AND trx_state = 'LOCK WAIT'"
            " UNION ALL SELECT 1 FROM information_schema.processlist WHERE id = {process}"
            " AND (state LIKE 'Waiting for%lock%' OR state = 'User lock')"
        ),
        # InnoDB answers what asks more often with its figures of before (trx0i_s.cc)
        spacing_s=0.11,
    )
    own_databases: ClassVar[frozenset[str]] = frozenset(SCHEMAS)
    has_use: ClassVar[bool] = True
    no_data: ClassVar[tuple[str, ...]] = ()
    seen_with: ClassVar[dict[str, str]] = {"innodb_use_native_aio": "OFF"}
    data: ClassVar[str] = "data"
    options: ClassVar[dict[str, tuple[str, str]]] = describe_options()
    flags: ClassVar[dict[str, tuple[str, str]]] = FLAGS | _builds.FLAGS
    versions: ClassVar[tuple[str, ...]]
    # from 9.0 on the server's own choice is a tree; MariaDB and old versions skip the comment
    explain: ClassVar[str] = "EXPLAIN /*!80016 FORMAT=TRADITIONAL */"
    knobs: ClassVar[dict[str, dict[str, dict[str, str]]]] = KNOBS
    name: ClassVar[str]

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    releases: ClassVar[Releases]

    def check_version(self, build: str) -> None:
        self.releases.list_choices(build)

    def fetch_build(self, build: str, say: Say) -> Build:
        raise NotImplementedError

    def make_from_suite(self, name: str, say: Say) -> Callable[[Tree, SuiteProgram], Build]:
        return lambda tree, wanted: make_suite_build(self.name, name, tree, wanted, say)

    def make_by_number(
        self, packages: Mapping[str, RegistryPackage], say: Say
    ) -> Callable[[str], Build]:
        return lambda version: fetch_build(self.name, version, packages[version], say)

    def adjust_settings(self, version: str) -> dict[str, str]:
        """Rows of the table that mean something else in this version."""
        return {}

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        of_url = {name: value for name, value in flags.items() if name not in _builds.FLAGS}
        url.check_url(build, convert_flags(of_url), settings)
        check_settings(settings)
        if _builds.is_source(build):
            _builds.check_source(self.name, build, flags)
            return
        _builds.refuse_flags(build, flags)
        if not url.is_url(build) and not is_path(build):
            self.check_version(build)

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        self.check(build, flags, {})
        if url.is_url(build):
            return attach_server(self._ask, self.name, build, flags)
        if _builds.is_source(build):
            return make_source_build(self.name, build, flags, say)
        if is_path(build):
            return find_local_build(self.name, build, say)
        return self.fetch_build(build, say)

    def plan_build(self, place: str, flags: dict[str, str], say: Say) -> BuildPlan:
        return _builds.plan_source(self.name, place, flags, say)

    def accept(self, build: Build, settings: dict[str, str], others: Iterable[str] = ()) -> None:
        if build.attached:
            return
        asked = self._sort_settings(build, settings)
        try_out(build, find_prefix(build.program, build.libraries), asked, others)

    def read_config(self, build: Build, file: Path) -> list[ConfigOption]:
        return config_file.read_options(build, find_prefix(build.program, build.libraries), file)

    def format_config(self, options: Sequence[ConfigOption]) -> tuple[str, dict[str, str]]:
        return config_file.format_file(options)

    def upgrade_folder(self, old: Build, new: Build, home: Path, settings: dict[str, str]) -> str:
        """By the server's own start; of a MariaDB `mariadb-upgrade` calls clients that no build
        here has, which the answer says.
        """
        try:
            server = self.start(new, home, settings)
        except TrialFailed as failed:
            first = next(iter(config_file.find_words(failed.cause, "ERROR")), failed.message)
            message = f"{new.program.name}: {first}"
            raise TrialFailed(message, cause=failed.cause, hint=failed.hint) from None
        self.stop(server)
        said = (home / "server.log").read_text(errors="replace").splitlines(keepends=True)
        # what no release knows all of is what our profile sets where it can be
        told = "".join(line for line in said if "variable 'loose-" not in line)
        return told + NO_CLIENT * (new.engine == "mariadb")

    def list_remarks(self, build: Build, settings: dict[str, str]) -> list[str]:
        if build.attached:
            return url.describe_missing(build, CATALOGUE)
        found = list_packaged_remarks(self.name, build.version, settings)
        return [*found, *list_remarks(build, settings, self._sort_settings(build, settings))]

    def liken_settings(self, running: Build, build: Build) -> dict[str, str]:
        session = url.read_login(running).to_session("mysql")
        prefix, left = find_prefix(build.program, build.libraries), self.adjust_settings("0")
        return liken_settings(self._ask, session, build, prefix, left)

    def select_file_settings(self, settings: dict[str, str]) -> dict[str, str]:
        """All that may shape the files: every setting but those that pass with the process."""
        lasting = {name: value for name, value in settings.items() if name not in PASSING}
        lasting |= {"log_bin": "on"} if is_logged(settings) == "on" else {}
        profile = settings.get("profile", "")
        return lasting | ({"profile": profile} if profile in VENDORS else {})

    def estimate_disk_bytes(self, data_bytes: int, settings: dict[str, str]) -> int:
        """Half-full pages, redo and system files; the binary log holds all rows once more."""
        logged = data_bytes if is_logged(settings) == "on" else 0
        return 2 * data_bytes + logged + FIXED_BYTES

    def estimate_memory_bytes(
        self, build: Build, settings: dict[str, str], connections: int
    ) -> int:
        asked = self._sort_settings(build, settings)
        values = list_values(build, find_prefix(build.program, build.libraries), asked)
        return estimate_needed_bytes(values, asked.storage, connections)

    def extract_plan(self, rows: list[list[str | None]]) -> str:
        """Return a line per table: how it is read, by which index, and the remarks. Empty if no row
        fits the statement's values, so that nothing was planned.
        """
        return plan_shape(rows)

    def find_most_connections(self, build: Build, settings: dict[str, str]) -> int:
        if build.attached:
            return self.read_connection_limit(build)
        asked = self._sort_settings(build, settings)
        values = list_values(build, find_prefix(build.program, build.libraries), asked)
        return int(values["max_connections"])

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        """The server with its data in `home/data`, answering; `home/server.log` is its log.

        `UsageError` where the build has no such storage engine, `TrialFailed` with the log's last
        words where it does not start.
        """
        if build.attached:
            return describe_attached_server(build, home)
        asked = self._sort_settings(build, settings)
        prefix = find_prefix(build.program, build.libraries)
        if not (home / "data").exists():
            fill_data(build, prefix, asked.list_all(), home / "data")
        (home / "tmp").mkdir(exist_ok=True)
        way = grant_access(build, asked, home)
        running = _server.start_server(plan_launch(build, prefix, home, way.asked, under))
        started = StartedServer(**vars(running), asked=way.asked)
        socket = str(running.launch.socket.path)
        session = Login(socket, USER, DATABASE, password=way.password).to_session("mysql")
        _server.wait_ready(started, lambda: self._ask(session, ["SELECT 1"]))
        try:
            way.forget()
            query = self._make_query(session)
            prepare_database(query, running.launch.name, asked.storage, prefix)
            keep_abilities(build, lambda: ask_abilities(query, build, prefix))
        except BaseException:
            _server.kill_server(started)
            raise
        return Server(session, home, running.process.pid, running.log, started)

    def settings(self, server: Server) -> dict[str, str]:
        """Every global variable as the server reports it, without what names this start."""
        if "variables" in server.lacks:
            return {}
        variables, user = self._ask(server.session, QUESTIONS)
        told = {str(name).lower(): value or "" for name, value in variables}
        # without grants everybody is called so, or has no name at all
        free = "".join(str(name) for row in user for name in row).startswith(("skip-grants", "@"))
        told["skip_grant_tables"] = "ON" if free else "OFF"
        if started := server.handle:
            check_values(
                started.launch.name, told, started.asked.list_strict(), started.asked.select_firm()
            )
        return select_lasting_values(told, server.home)

    def settle(self, server: Server) -> None:
        if "information_schema" not in server.lacks:
            settle(self._make_query(server.session), ours=server.handle is not None)

    def preload(self, server: Server) -> dict[str, str]:
        return preload(self._make_query(server.session))

    def stop(self, server: Server) -> None:
        if server.handle is not None:
            _server.stop_server(server)

    def _sort_settings(self, build: Build, settings: Mapping[str, str]) -> AskedSettings:
        packaged = choose_packaged(self.name, build.version, settings)
        return sort_settings(settings, self.adjust_settings(build.version), packaged)

    def _make_query(self, session: Session) -> Query:
        return lambda statements: self._ask(session, statements)
