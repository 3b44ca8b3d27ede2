"""Servers for tests, shared or of their own, and what they say was sent to them."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import Server, find_engine
from dyno.runs.experiment.candidates import parse_candidate

#: Name of a test's parameter -> engine, build, settings.
SERVERS: dict[str, tuple[str, str, dict[str, str]]] = {
    "postgres-12": ("postgres", "12", {}),
    "postgres-18": ("postgres", "18", {}),
    "mysql-5.6": ("mysql", "5.6.14", {}),
    "mysql-8.0": ("mysql", "8.0.33", {}),
    "mariadb-innodb": ("mariadb", "debian", {}),
    "mariadb-rocksdb": ("mariadb", "debian", {"engine": "RocksDB"}),
}


def choose_build(text: str) -> str:
    """A candidate's text, or what `DYNO_TEST_BUILDS` has in its place: tests play on other servers
    than they were written for (`mysql@8.0.33=mysql@9.7,mariadb@debian=mariadb@11.8`).
    """
    pairs = (it.partition("=") for it in os.environ.get("DYNO_TEST_BUILDS", "").split(","))
    return {wanted: given for wanted, _, given in pairs}.get(text, text)


#: Settings of PostgreSQL's that Dyno holds where it starts a server; a test of logs sets them.
LOGGING = ("logging_collector", "log_destination")
#: Servers that a process keeps running, unless more than this are used at once.
MOST = 2


@contextmanager
def started(
    text: str, settings: Mapping[str, str] = MappingProxyType({}), home: Path | None = None
) -> Iterator[Server]:
    """The server of a candidate's text (`mysql@8.0.33`), stopped in the end if the test has not.

    Its data lie in `home`, else in a folder that goes with it.
    """
    spec = parse_candidate(choose_build(text))
    engine = find_engine(spec.engine, driver.ask)
    build = engine.program(spec.with_password, {}, lambda _: None)
    with ExitStack() as stack:
        folder = home or stack.enter_context(made_home())
        logging = {name: it for name, it in settings.items() if name in LOGGING}
        asked = {**spec.keys, **{name: it for name, it in settings.items() if name not in LOGGING}}
        server = engine.start(build, folder, asked)
        if logging:
            written = [f"ALTER SYSTEM SET {name} = {it}" for name, it in logging.items()]
            driver.ask(server.session, written)
            engine.stop(server)
            server = engine.start(build, folder, asked)
        try:
            yield server
        finally:
            engine.stop(server)


@contextmanager
def made_home() -> Iterator[Path]:
    """A folder for a server's data, which goes in the end."""
    with tempfile.TemporaryDirectory(prefix="dyno-test-", dir="/var/tmp") as folder:
        # the server's user is not ours, and has to pass through
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        home.mkdir()
        yield home


class SharedServers:
    """Servers by candidate's text and settings, each started once in this process.

    A test has one for itself while it uses it, and finds its database `dyno` empty.
    """

    def __init__(self) -> None:
        #: Those that run, the one that was used last in the end; and those that are in use.
        self.running: dict[tuple[str, ...], tuple[SharedServer, ExitStack]] = {}
        self.used: set[tuple[str, ...]] = set()

    @contextmanager
    def use(self, text: str, **settings: str) -> Iterator[Server]:
        """The server, its database empty; one that somebody uses already is started anew."""
        key = (text, *(f"{name}={value}" for name, value in sorted(settings.items())))
        if key in self.used:
            with started(text, settings) as server:
                yield server
            return
        self.used.add(key)
        try:
            both = self.running.pop(key) if key in self.running else self._start(text, settings)
            self.running[key] = both
            shared, _ = both
            yield shared.server
            # what a failed test leaves behind is nobody's to clean
            shared.empty()
        except BaseException:
            if key in self.running:
                self.running.pop(key)[1].close()
            raise
        finally:
            self.used.remove(key)

    def _start(self, text: str, settings: dict[str, str]) -> tuple[SharedServer, ExitStack]:
        idle = [key for key in self.running if key not in self.used]
        if len(self.running) >= MOST and idle:
            self.running.pop(idle[0])[1].close()
        stack = ExitStack()
        return SharedServer(stack.enter_context(started(text, settings))), stack

    def stop(self) -> None:
        """Stops all."""
        while self.running:
            self.running.popitem()[1][1].close()


class SharedServer:
    """A server, and what stood in it when it was started."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.is_postgres = server.session["kind"] == "postgres"
        self.stood = self._standing()

    def empty(self) -> None:
        """Drops what was made since: databases with all that they hold, and accounts."""
        system = {**self.server.session, "database": "template1" if self.is_postgres else "mysql"}
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"
        made = sorted(self._standing() - self.stood)
        statements = [f"DROP {kind} {name}" for kind, name in made]
        statements = ["DROP DATABASE dyno", "CREATE DATABASE dyno", *statements]
        if self.is_postgres:
            dropped = ["dyno", *(name.strip('"') for kind, name in made if kind == "DATABASE")]
            statements = [*map(ended.format, dropped), *statements]
        driver.ask(system, statements, 60)

    def _standing(self) -> set[tuple[str, str]]:
        asked = (
            (
                "SELECT 'DATABASE', quote_ident(datname) FROM pg_database",
                "SELECT 'ROLE', quote_ident(rolname) FROM pg_roles",
            )
            if self.is_postgres
            else (
                "SELECT 'DATABASE', CONCAT('`', REPLACE(schema_name, '`', '``'), '`')"
                " FROM information_schema.schemata",
                "SELECT 'USER', CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user",
            )
        )
        answers = driver.ask(self.server.session, asked)
        return {(str(kind), str(name)) for rows in answers for kind, name in rows}


SHARED = SharedServers()


@contextmanager
def serving(name: str, **more: str) -> Iterator[Server]:
    """The server called so, shared and with an empty database; `more` joins its settings."""
    kind, version, settings = SERVERS[name]
    with SHARED.use(f"{kind}@{version}", **settings | more) as server:
        yield server


def login(session: Session) -> str:
    """The user of a session, with the password if there is one, as a URL has them."""
    word = session["password"]
    return str(session["user"]) if word is None else f"{session['user']}:{word}"


LOGGED = re.compile(r"LOG:\s+(statement|execute (\S+)): (.*)")


def arrived(server: Server) -> Counter[str]:
    """What the server has been sent so far.

    MySQL counts commands by kind (`Com_…`); PostgreSQL, with `log_statement=all`, logs each and how
    it came: as text, or under a prepared statement's name.
    """
    if server.session["kind"] == "mysql":
        (rows,) = driver.ask(server.session, ["SHOW GLOBAL STATUS LIKE 'Com\\_%'"])
        return Counter({str(k): int(v or 0) for k, v in rows if "show" not in str(k)})
    assert server.log is not None
    found: Counter[str] = Counter()
    for _, name, text in LOGGED.findall(server.log.read_text(errors="replace")):
        plain = re.sub(r"'[^']*'|-?\b\d+\b", "…", text.rstrip("; "))
        way = "text" if not name else "unnamed" if name == "<unnamed>" else "prepared"
        found[f"{way}: {plain}"] += 1
    return found
