"""What `dyno explain`, `dyno profile --explain` and a log in place let through on MySQL and MariaDB
changes nothing, whatever views, routines, triggers and loadable functions it reaches; and what is
harmless is let through.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from conftest import SEED
from explaining import url_of
from harmless_statements import HARMLESS, OBJECTS
from kit_servers import choose_servers
from private_servers import made_home, started
from server_dumps import dump

from dyno import driver
from dyno.engines import PathRequest, Server
from dyno.engines.mysql.in_place import look_in_place
from dyno.errors import TrialFailed, UsageError
from dyno.runs.experiment.candidates import parse_candidate
from dyno.servers.explain.explain import ExplainOptions, PathPlayer
from dyno.servers.explain.target import open_path
from dyno.servers.kit.library import CARRIED
from dyno.servers.profile.mysql import reach_mysql
from dyno.servers.profile.source import NotPlanned, StatementText
from dyno.workloads.replay.in_place import Allowed

pytestmark = [pytest.mark.timeout(300)]

SERVERS = choose_servers("mysql@9.7", "mariadb@11.8")
LOADABLE = "dyno_kit_version"
STATEMENTS, FUNCTIONS, VIEWS, TRIGGERS, PER_DUMP = 66, 52, 24, 8, 11


@contextmanager
def serving(version: str) -> Iterator[Server]:
    """A server with a loadable function and performance_schema."""
    with made_home() as home:
        plugins = home.with_name("plugins")
        plugins.mkdir()
        shutil.copy(CARRIED, plugins)
        settings = {"plugin_dir": f"{plugins}/", "performance_schema": "ON"}
        with started(version, settings, home) as server:
            driver.ask(
                server.session,
                [
                    "SET GLOBAL log_bin_trust_function_creators = 1",
                    f"CREATE FUNCTION {LOADABLE} RETURNS STRING SONAME '{CARRIED.name}'",
                ],
            )
            yield server


def is_explained(ask: driver.Conversation, dsn: str, sql: str, writes: bool) -> str:
    """Why it was refused; empty where it was executed."""
    options = ExplainOptions(runs=1, limit_s=10.0, writes=writes)
    try:
        path = open_path(ask, dsn, PathRequest(sql, options.limit_s, writes))
        player = PathPlayer(path, ask, sql, options)
        try:
            player.begin()
            player.play_round()
        finally:
            player.close()
    except (UsageError, TrialFailed) as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("version", SERVERS)
def test_of_two_hundred_harmless_statements_nearly_all_are_explained(
    version: str, record_testsuite_property: Callable[[str, object], None]
) -> None:
    with serving(version) as server, driver.Conversation(60) as ask:
        driver.ask(server.session, OBJECTS, 60)
        before = dump(server)
        refused = {
            sql: why
            for sql, writes in HARMLESS
            if (why := is_explained(ask, url_of(server), sql, writes))
        }
        assert dump(server) == before
        assert len(HARMLESS) == 200
        record_testsuite_property(f"harmless_explained_{version}", 200 - len(refused))
        assert len(refused) <= 10, "\n".join(f"{sql}: {why}" for sql, why in refused.items())


#: Bodies of functions, harmful and not; {f} is another function, {t} a table, {v} a view.
BODIES = (
    *(
        "RETURN 1",
        "RETURN (SELECT COUNT(*) FROM {t})",
        "RETURN (SELECT COUNT(*) FROM {v})",
        "RETURN {f}() + 1",
        "BEGIN DECLARE n INT DEFAULT {f}(); SET n = n + 1; RETURN n; END",
        "BEGIN IF RAND() > 2 THEN RETURN {f}(); ELSE RETURN 2; END IF; END",
    )
    * 2,
    "BEGIN INSERT INTO {t} (id) VALUES (FLOOR(RAND() * 1e9)); RETURN 1; END",
    "BEGIN UPDATE {t} SET n = n + 1; RETURN 1; END",
    "BEGIN DELETE FROM {t} WHERE id > 1; RETURN 1; END",
    "BEGIN CALL p{k}(); RETURN 1; END",
    "BEGIN SET GLOBAL sort_buffer_size = 262144 + 1024 * FLOOR(RAND() * 900); RETURN 1; END",
    "BEGIN SET @@GLOBAL.sort_buffer_size = 262144 + 1024 * FLOOR(RAND() * 900); RETURN 1; END",
    "BEGIN SELECT 1 INTO OUTFILE '{file}{k}'; RETURN 1; END",
    "BEGIN UPDATE performance_schema.setup_consumers SET ENABLED = 'NO'; RETURN 1; END",
    "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET GLOBAL max_connections = 170 + {k};"
    " SELECT nothing INTO @x FROM nowhere; RETURN 1; END",
    "BEGIN x: LOOP SET GLOBAL max_connections = 170 + {k}; LEAVE x; END LOOP; RETURN 1; END",
    "BEGIN CASE WHEN 1 = 1 THEN SET GLOBAL max_connections = 200 + {k}; END CASE; RETURN 1; END",
    "BEGIN DECLARE s VARCHAR(90); SET s = " + LOADABLE + "(); RETURN {f}(); END",
    "RETURN GET_LOCK('dyno', 0)",
    "BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS x (a INT); RETURN 1; END",
)
PROCEDURES = (
    "INSERT INTO {t} (id) VALUES (FLOOR(RAND() * 1e9))",
    "BEGIN PREPARE s FROM 'INSERT INTO plain (id) VALUES (7)'; EXECUTE s; END",
    "BEGIN DECLARE n INT; SELECT {f}() INTO n; END",
    "UPDATE {t} SET n = 5",
    "SET @n = 1",
    "BEGIN START TRANSACTION; INSERT INTO base (id) VALUES (FLOOR(RAND() * 1e9)); COMMIT; END",
)
ACTIONS = (
    "SET @n = {f}()",
    "INSERT INTO {t} (id) VALUES (FLOOR(RAND() * 1e9))",
    "BEGIN IF NEW.id > 0 THEN CALL p{k}(); END IF; END",
    "UPDATE {t} SET n = 9",
    "SET NEW.n = 3",
)
TABLES = ("base", "child", "other", "plain", "held", "far", "`dyno_2`.`base`", "versioned", "dflt")
ASKED = (
    "SELECT UPPER(n), COUNT(*) FROM {t} GROUP BY n",
    "SELECT ABS(n), id FROM {v} ORDER BY id",
    "SELECT * FROM {t} a LEFT JOIN {v} b USING (id)",
    "SELECT {f}()",
    "SELECT * FROM {v}",
    "SELECT a.* FROM {v} a JOIN {t} b ON b.id = a.id WHERE {f}() > 0",
    "WITH c AS (SELECT {f}() AS x) SELECT * FROM c",
    "SELECT * FROM base WHERE id = {f}()",
    "SELECT (SELECT {f}() FROM {v} LIMIT 1)",
    "INSERT INTO {t} (id) VALUES ({k}000)",
    "INSERT INTO {t} (id) SELECT id + {k}000 FROM {v}",
    "UPDATE {t} SET n = n + {k}",
    "UPDATE {t}, {v} z SET {t}.n = 4 WHERE {t}.id = z.id",
    "DELETE FROM {t} WHERE id >= 1",
    "REPLACE INTO {t} (id) VALUES (1)",
    "INSERT INTO {t} (id) VALUES (1) ON DUPLICATE KEY UPDATE n = {f}()",
    "UPDATE {v} SET n = {k}",
    "DELETE FROM {v}",
    "INSERT INTO {v} (id) VALUES ({k}001)",
    "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO'",
    "SELECT " + LOADABLE + "(), id FROM {t}",
    "SELECT load_file('/etc/passwd'), get_lock('dyno', {k})",
)
MARIADB_TABLES = (
    "CREATE SEQUENCE counter",
    "CREATE TABLE versioned (id INT, n INT) ENGINE=InnoDB WITH SYSTEM VERSIONING",
    "CREATE TABLE dflt (id INT, n INT DEFAULT NEXTVAL(counter)) ENGINE=InnoDB",
    f"CREATE TABLE far (id INT, n INT, v VARCHAR(90) AS ({LOADABLE}()) VIRTUAL) ENGINE=InnoDB",
    "INSERT INTO versioned VALUES (1, 1)",
)
MYSQL_TABLES = tuple(
    f"CREATE TABLE {name} (id INT, n INT) ENGINE=InnoDB" for name in ("versioned", "dflt", "far")
)
BASE_TABLES = (
    "CREATE DATABASE dyno_2",
    "CREATE TABLE dyno_2.base (id INT, n INT) ENGINE=MyISAM",
    "CREATE TABLE base (id INT PRIMARY KEY AUTO_INCREMENT, n INT) ENGINE=InnoDB",
    "CREATE TABLE child (id INT PRIMARY KEY, n INT, FOREIGN KEY (n) REFERENCES base (id)"
    " ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
    "CREATE TABLE other (id INT, n INT) ENGINE=InnoDB",
    "CREATE TABLE plain (id INT, n INT) ENGINE=MyISAM",
    "CREATE TABLE held (id INT, n INT) ENGINE=MEMORY",
    *(f"INSERT INTO {it} (id, n) VALUES (1, 1), (2, 1)"
      for it in ("base", "child", "other", "plain", "held", "dyno_2.base")),
)  # fmt: skip


class Maker:
    """Makes objects that name each other at random, those that the server takes."""

    def __init__(self, server: Server) -> None:
        self.server, self.random = server, random.Random(SEED)
        self.functions, self.views = ["abs_of"], ["base"]
        self.file = str(server.home / "stolen")

    def fill(self, text: str) -> str:
        """With a table, view, function and number in their places."""
        return text.format(
            t=self.random.choice(TABLES),
            v=self.random.choice(self.views),
            f=self.random.choice(self.functions),
            k=self.random.randrange(len(PROCEDURES)),
            file=self.file,
        )

    def make(self, statement: str) -> bool:
        try:
            driver.ask(self.server.session, [statement])
        except TrialFailed:
            return False
        return True

    def make_all(self) -> None:
        """Functions may call procedures that call functions that are not there yet."""
        self.make("CREATE FUNCTION abs_of() RETURNS INT RETURN ABS(-1)")
        # a name that unlocks nothing: the server's own is called
        self.make("CREATE FUNCTION get_lock(a TEXT, b INT) RETURNS INT RETURN 1")
        for at in range(FUNCTIONS):
            body = BODIES[at % len(BODIES)]
            if self.make(f"CREATE FUNCTION f{at}() RETURNS INT {self.fill(body)}"):
                self.functions.append(f"f{at}")
            if at < VIEWS:
                body = self.fill("SELECT {v}.id, {v}.n FROM {v}" if at % 3 else
                                 "SELECT id, {f}() AS n FROM {t}")  # fmt: skip
                view = f"v{at}"
                if self.make(f"CREATE VIEW {view} AS SELECT * FROM ({body}) d" if at % 5 == 4
                             else f"CREATE VIEW {view} AS {body}"):  # fmt: skip
                    self.views.append(view)
        for at, body in enumerate(PROCEDURES):
            self.make(f"CREATE PROCEDURE p{at}() {self.fill(body)}")
        for at in range(TRIGGERS):
            when = ("BEFORE INSERT", "BEFORE UPDATE")[at % 2]
            table = ("base", "child", "other", "versioned")[at % 4]
            body = self.fill(self.random.choice(ACTIONS))
            self.make(f"CREATE TRIGGER t{at} {when} ON {table} FOR EACH ROW {body}")


class Ways:
    """The four ways in which a statement may reach a server that is only read, or put back."""

    def __init__(self, server: Server, ask: driver.Conversation) -> None:
        self.ask, self.dsn = ask, url_of(server)
        self.profiled = reach_mysql(ask, parse_candidate(self.dsn))
        self.rules = look_in_place(ask, server.session)
        self.counts: Counter[str] = Counter()

    def try_all(self, sql: str) -> None:
        """Those that let it through execute it, as they would."""
        for writes, name in ((False, "explain"), (True, "rollback")):
            self._count(name, not is_explained(self.ask, self.dsn, sql, writes))
        try:
            self.profiled.explain(self.ask, StatementText("dyno", sql, sql, False))
            self._count("profile", True)
        except NotPlanned:
            self._count("profile", False)
        is_allowed = isinstance(self.rules.judge(sql), Allowed)
        if is_allowed:
            with suppress(TrialFailed):
                self.ask(self.profiled.session, [sql])
        self._count("in place", is_allowed)

    def _count(self, way: str, is_run: bool) -> None:
        self.counts[f"{way}: {'run' if is_run else 'refused'}"] += 1


@pytest.mark.parametrize("version", SERVERS)
def test_statements_over_generated_objects_leave_a_server_as_it_was(
    version: str, record_testsuite_property: Callable[[str, object], None]
) -> None:
    more = MARIADB_TABLES if version.startswith("mariadb") else MYSQL_TABLES
    with serving(version) as server, driver.Conversation(60) as ask:
        driver.ask(server.session, BASE_TABLES + more)
        maker = Maker(server)
        maker.make_all()
        ways, before = Ways(server, ask), dump(server)
        for at in range(STATEMENTS):
            sql = maker.fill(ASKED[at % len(ASKED)])
            ways.try_all(sql)
            if at % PER_DUMP == PER_DUMP - 1:
                assert dump(server) == before, f"one of those up to {sql}"
        record_testsuite_property(f"reach_{version}", dict(ways.counts))
        for way in ("explain", "rollback", "profile", "in place"):
            for what in ("run", "refused"):
                assert ways.counts[f"{way}: {what}"] > STATEMENTS // 40, ways.counts
        # the dump sees what one of them would have done
        driver.ask(server.session, ["UPDATE other SET n = n + 1"])
        assert dump(server) != before


def test_a_loadable_function_in_a_generated_column_is_let_through_no_way() -> None:
    with serving("mariadb@11.8") as server, driver.Conversation(60) as ask:
        driver.ask(
            server.session,
            [
                f"CREATE TABLE made (id INT, said VARCHAR(90) AS ({LOADABLE}()) VIRTUAL)",
                "CREATE TABLE other (id INT)",
            ],
        )
        ways = Ways(server, ask)
        ways.try_all("SELECT said FROM made")
        assert not [it for it in ways.counts if it.endswith("run")], ways.counts
        ways.try_all("SELECT id FROM other")
        assert ways.counts["in place: run"] == ways.counts["profile: run"] == 1
