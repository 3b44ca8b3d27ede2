"""Servers for the kit, with a plugin directory of a test's own, and `dyno kit` against them."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from private_servers import made_home, started

from dyno import driver
from dyno.cli import run_words
from dyno.engines import Server, find_engine
from dyno.servers.kit import server as kit_server


def choose_servers(*usual: str) -> tuple[str, ...]:
    """The servers that a test plays on: these, unless `DYNO_TEST_KIT_SERVERS` names others."""
    chosen = os.environ.get("DYNO_TEST_KIT_SERVERS", "")
    return tuple(chosen.replace(" ", "").split(",")) if chosen else usual


def is_mysql_5(version: str) -> bool:
    """Whether a candidate's text names a MySQL before 8.0."""
    return version.startswith("mysql@5")


#: The eldest and the newest; tests that start servers of their own have those between them.
VERSIONS = choose_servers("mysql@5.6.14", "mysql@9.7", "mariadb@11.8")
BETWEEN = choose_servers("mysql@5.6.14", "mysql@8.0.33", "mariadb@debian")
#: Of the engine's own settings: jobs and collections run by the event scheduler, and what is
#: collected has to be counted.
SETTINGS = {"event_scheduler": "ON", "performance_schema": "ON"}

#: Of `VERSIONS`, those with the schema `sys`, or its file, and those without.
WITH_SYS = tuple(it for it in VERSIONS if not is_mysql_5(it))
WITHOUT_SYS = tuple(it for it in VERSIONS if is_mysql_5(it))


@dataclass(frozen=True)
class KitServer:
    """A server, where it looks for libraries, and its URL with the password."""

    version: str
    engine: Server
    plugins: Path

    @property
    def is_mysql_5(self) -> bool:
        """Whether it is MySQL before 8.0."""
        return is_mysql_5(self.version)

    @property
    def is_mysql_8(self) -> bool:
        """Whether it is MySQL 8.0 or later."""
        return self.version.startswith("mysql@") and not self.is_mysql_5

    @property
    def url(self) -> str:
        """As root, by its socket."""
        return self.url_of("root", str(self.engine.session["password"]))

    def url_of(self, user: str, password: str) -> str:
        """As somebody else."""
        socket = quote(str(self.engine.session["host"]), safe="")
        return f"mysql://{user}:{quote(password, safe='')}@{socket}"

    def ask(self, *statements: str, **session: object) -> list[list[str | None]]:
        """The rows of the last statement; `session` says what differs from root's."""
        return driver.ask(self.engine.session | session, statements, 60)[-1]

    def one(self, statement: str, **session: object) -> str | None:
        """The one field of the one row."""
        ((field,),) = self.ask(statement, **session)
        return field

    def kit(self, *words: str, url: str = "") -> int:
        """The exit code of `dyno kit` with these words."""
        return run_words(["kit", *words, "--dsn", url or self.url])

    def reached(self, url: str = "") -> kit_server.KitServer:
        """The same server as the kit sees it."""
        return kit_server.reach_server(driver.ask, url or self.url)

    def inventory(self) -> list[list[str | None]]:
        """Everything that stands in the server: what an uninstall must leave as it was."""
        answers = driver.ask(self.engine.session, INVENTORY, 60)
        return sorted(row for rows in answers for row in rows)


INVENTORY = (
    "SELECT 'function', name, dl FROM mysql.func",
    "SELECT 'schema', schema_name, default_collation_name FROM information_schema.schemata",
    "SELECT 'table', table_schema, table_name FROM information_schema.tables",
    "SELECT 'routine', routine_schema, routine_name FROM information_schema.routines",
    "SELECT 'event', event_schema, event_name FROM information_schema.events",
    "SELECT 'trigger', trigger_schema, trigger_name FROM information_schema.triggers",
    "SELECT 'user', user, host FROM mysql.user",
    "SELECT 'right', grantee, privilege_type FROM information_schema.user_privileges",
    "SELECT 'right', grantee, CONCAT(table_schema, privilege_type)"
    " FROM information_schema.schema_privileges",
    "SELECT 'right', grantee, CONCAT(table_schema, table_name, privilege_type)"
    " FROM information_schema.table_privileges",
    "SELECT 'routine right', user, CONCAT(db, routine_name) FROM mysql.procs_priv",
)


@contextmanager
def serving(version: str, **more: str) -> Iterator[KitServer]:
    """A server of this version; `more` joins its settings."""
    with made_home() as home:
        plugins = home.with_name("plugins")
        plugins.mkdir()
        settings = SETTINGS | {"plugin_dir": f"{plugins}/"} | more
        with started(version, settings, home) as server:
            yield KitServer(version, server, plugins)


class Revived:
    """A server, and each of its next lives."""

    def __init__(self, first: KitServer) -> None:
        self.now = first
        self.first = first

    def kill(self) -> None:
        """SIGKILL, whatever it does."""
        running: Any = self.now.engine.handle
        with suppress(ProcessLookupError):
            os.kill(running.process.pid, signal.SIGKILL)

    def begin_anew(self) -> None:
        name, _, build = self.now.version.partition("@")
        engine = find_engine(name, driver.ask)
        engine.stop(self.now.engine)
        program = engine.program(build, {}, lambda _: None)
        settings = SETTINGS | {"plugin_dir": f"{self.now.plugins}/"}
        again = engine.start(program, self.now.engine.home, settings)
        self.now = KitServer(self.now.version, again, self.now.plugins)


@contextmanager
def reviving(version: str) -> Iterator[Revived]:
    """A server of this version that may be killed and begun anew."""
    with serving(version) as first:
        revived = Revived(first)
        try:
            yield revived
        finally:
            if revived.now is not first:
                find_engine(version.partition("@")[0], driver.ask).stop(revived.now.engine)


def sys_schema(server: KitServer) -> list[str]:
    """The statements of MariaDB's own file, which a server of ours is started without."""
    program = Path(str(server.one("SELECT @@basedir")))
    (file, *_) = sorted(program.rglob("*_sys_schema.sql"))
    found, statement, delimiter = [], [], ";"
    for line in file.read_text().splitlines():
        if line.upper().startswith("DELIMITER"):
            delimiter = line.split()[1]
        elif not (line.startswith("--") or not line.strip()):
            statement.append(line)
            if line.rstrip().endswith(delimiter):
                found.append("\n".join(statement).rstrip().removesuffix(delimiter))
                statement = []
    return found


def examples(text: str) -> list[tuple[str, str]]:
    """The statements of a text's examples, each with the answer that stands below it: lines that
    begin with `-- `, fields apart by ` | `.
    """
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```sql\n(.*?)```", text, re.DOTALL):
        statement: list[str] = []
        for line in block.splitlines():
            if line.startswith("-- ") and not statement:
                sql, answer = found[-1]
                found[-1] = (sql, f"{answer}\n{line.removeprefix('-- ')}".strip())
            elif line.strip():
                statement.append(line)
                if line.endswith(";"):
                    found.append(("\n".join(statement).removesuffix(";"), ""))
                    statement = []
        assert not statement, f"no ; ends {statement}"
    return found


def answer_text(rows: list[list[str | None]]) -> str:
    """Rows as a page shows them."""
    lines = [" | ".join("NULL" if it is None else it.rstrip("\n") for it in row) for row in rows]
    return "\n".join(lines)


def check_page(server: KitServer, page: Path) -> None:
    """The statements of a page, in order and in one session, answer what the page says."""
    check_text(server, page.read_text())


def check_text(server: KitServer, text: str) -> None:
    """The statements of a text, in order and in one session, answer what it says; … is whatever
    stands there.
    """
    told = examples(text)
    assert told, "no example"
    answers = driver.ask(server.engine.session, [statement for statement, _ in told], 60)
    for (statement, answer), rows in zip(told, answers, strict=True):
        wanted = re.escape(answer).replace("…", ".*")
        assert re.fullmatch(wanted, answer_text(rows)), (statement, rows)
