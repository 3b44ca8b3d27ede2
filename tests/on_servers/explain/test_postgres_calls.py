"""Nothing is written through what a statement calls, in no mode that promises so: functions of
extensions, in C, overloads of dangerous names, and whatever leads to them; and what is harmless is
explained all the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from explaining import ask, url_of
from private_servers import serving

from dyno import driver
from dyno.driver.events import AskMode, TimedAnswer
from dyno.driver.plan import Session
from dyno.engines import PathRequest, Server
from dyno.engines.postgres.in_place import look_in_place
from dyno.errors import TrialFailed, UsageError
from dyno.runs.experiment.candidates import parse_candidate
from dyno.servers.explain.target import open_path
from dyno.servers.profile.postgres import reach_postgres
from dyno.servers.profile.source import NotPlanned, StatementText
from dyno.workloads.replay.in_place import Allowed, ServerRules

GOLDEN = Path(__file__).parents[2] / "golden"
HARMLESS = (GOLDEN / "harmless_postgres.sql").read_text().splitlines()
OBJECTS = (GOLDEN / "objects_postgres.sql").read_text()
#: What each weapon writes to, seen from outside of any transaction.
SEEN = (
    "SELECT (SELECT array_agg(n ORDER BY n) FROM canary), (SELECT count(*) FROM victim),"
    " (SELECT last_value FROM steps), (SELECT count(*) FROM pg_ls_dir('.') f WHERE f LIKE 'mark%')"
)
#: Every table's rows, and what objects there are.
CONTENT = """
SELECT (SELECT string_agg(md5(query_to_xml(format('SELECT * FROM %s ORDER BY ctid',
    oid::regclass), true, false, '')::text), ',' ORDER BY oid)
  FROM pg_class WHERE oid >= 16384 AND relkind IN ('r', 'm', 'S')),
  (SELECT md5(string_agg(concat(relname, relkind, relnatts), ',' ORDER BY oid)) FROM pg_class),
  (SELECT md5(string_agg(proname || prosrc, ',' ORDER BY oid)) FROM pg_proc),
  (SELECT md5(string_agg(conname, ',' ORDER BY oid)) FROM pg_constraint),
  (SELECT array_agg(oid ORDER BY oid) FROM pg_largeobject_metadata),
  (SELECT string_agg(rolname, ',' ORDER BY oid) FROM pg_roles),
  (SELECT string_agg(datname, ',' ORDER BY oid) FROM pg_database),
  (SELECT count(*) FROM pg_ls_dir('.'))
"""
WEAPONS = """
CREATE EXTENSION dblink;
CREATE EXTENSION pg_surgery;
CREATE EXTENSION postgres_fdw;
CREATE EXTENSION file_fdw;
CREATE TABLE canary (n int);
CREATE TABLE victim AS SELECT i FROM generate_series(1, 500) i;
CREATE TABLE plain (id int, note text);
INSERT INTO plain SELECT i, 'x' FROM generate_series(1, 9) i;
CREATE SEQUENCE steps;
SELECT lo_create(4711);
CREATE FUNCTION strike() RETURNS int LANGUAGE plpgsql AS $$
BEGIN PERFORM public.dblink_exec('{dsn}', 'INSERT INTO canary VALUES (1)'); RETURN 1; END $$;
CREATE FUNCTION strike_now() RETURNS int LANGUAGE plpgsql IMMUTABLE AS
$$ DECLARE sql text := 'SELECT public.strike()'; BEGIN EXECUTE sql; RETURN 1; END $$;
CREATE FUNCTION taken(text, regtype) RETURNS text LANGUAGE sql AS 'SELECT public.strike()::text';
CREATE OPERATOR || (leftarg = text, rightarg = regtype, function = taken);
CREATE FUNCTION pierce(text, text) RETURNS text LANGUAGE c AS '$libdir/dblink', 'dblink_exec';
CREATE FUNCTION alias(oid, text) RETURNS int LANGUAGE internal AS 'be_lo_export';
CREATE SERVER program FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE written (n text) SERVER program OPTIONS (program 'touch mark_program; echo 1');
CREATE SERVER again FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({options});
CREATE USER MAPPING FOR PUBLIC SERVER again OPTIONS (user '{user}', password_required 'false');
CREATE VIEW striking AS SELECT strike() AS n;
CREATE FOREIGN TABLE far (n int) SERVER again OPTIONS (table_name 'striking');
"""
#: Expressions that write past a read-only transaction or a rollback; and some that do not.
BLOWS = (
    "dblink_exec('{dsn}', 'INSERT INTO canary VALUES (2)')",
    "pierce('{dsn}', 'INSERT INTO canary VALUES (3)')",
    "lo_export(4711, 'mark_large')",
    "alias(4711, 'mark_alias')",
    "heap_force_kill('victim', ARRAY['(0,1)']::tid[])",
    "(SELECT n FROM written)",
    "(SELECT n FROM far)",
    "strike()",
    "setval('steps', 77)",
)
CALM = (
    "length('x')",
    "(SELECT count(*) FROM plain)",
    "abs(-4)",
    "lo_export(4)",
    "similarity('a', 'b')",
)


class Modes:
    """One statement through `dyno explain`, with --rollback, a replay in place, `dyno profile`."""

    rules: ServerRules
    seen: list[list[str | None]]

    def __init__(self, server: Server, dsn: str) -> None:
        self.server, self.url, self.dsn = server, url_of(server), dsn
        self.talks = {writes: driver.Conversation(60) for writes in (False, True)}
        self.ask = cache(lambda _, statements: driver.ask(server.session, statements))
        self.profiled = reach_postgres(driver.ask, parse_candidate(self.url))
        self.reading: Session = {
            **server.session,
            "settings": [("default_transaction_read_only", "on")],
        }
        self.played, self.plain = driver.Conversation(60), driver.Conversation(60)

    def explain_undone(self, sql: str) -> None:
        """With --rollback."""
        self.explain(sql, writes=True)

    def explain(self, sql: str, writes: bool = False) -> None:
        """What `dyno explain` sends before a round: it judges, runs the statement, plans it."""

        def look(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
            return self.ask(str(session["database"]), tuple(statements))

        path = open_path(look, self.url, PathRequest(sql, 20, writes))

        def tell(statements: Sequence[str], mode: AskMode = "rows") -> list[TimedAnswer]:
            return self.talks[writes].ask_timed(path.session, statements, mode)

        path.begin(tell)
        tell(path.bare, "counts")
        path.extract_shape(tell)

    def profile(self, sql: str) -> None:
        """Its plan, as a profile shows it."""
        database = str(self.server.session["database"])
        self.profiled.explain(driver.ask, StatementText(database, sql, sql))

    def replay(self, sql: str) -> None:
        """Plays it in place where the server's rules let it."""
        found = self.rules.judge(sql)
        if not isinstance(found, Allowed):
            raise UsageError(found.why)
        self.played(self.reading, [found.text])

    def tries(self, mode: Callable[[str], None], sql: str) -> bool:
        """Does the mode let the statement pass? What the server itself refuses was let pass."""
        try:
            mode(sql)
        except (UsageError, NotPlanned):
            return False
        return True

    def aim(self, blow: str) -> str:
        """The expression, with where the server is to be found."""
        return blow.replace("{dsn}", self.dsn)

    def ask_now(self, sql: str) -> list[list[str | None]]:
        """The rows of a statement that nobody judges."""
        return self.plain(self.server.session, [sql])[0]

    def dump(self) -> list[list[str | None]]:
        """All that the database holds, as checksums; and what the weapons write to."""
        self.seen = self.ask_now(SEEN)
        return [*self.seen, *self.ask_now(CONTENT)]


pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def modes() -> Iterator[Modes]:
    """A shared server with contrib's extensions, and what the statements name."""
    with serving("postgres-18") as server:
        session = server.session
        host, port = str(session["host"]).rpartition("/.s.PGSQL.")[::2]
        words = {"host": host, "port": port, "dbname": str(session["database"])}
        fields = {
            "dsn": " ".join(f"{k}={v}" for k, v in {**words, "user": session["user"]}.items()),
            "options": ", ".join(f"{name} '{value}'" for name, value in words.items()),
            "user": str(session["user"]),
        }
        weapons = WEAPONS
        for name, value in fields.items():
            weapons = weapons.replace(f"{{{name}}}", value)
        access = server.home / "data" / "pg_hba.conf"
        before = access.read_text()
        access.write_text(f"local all all trust\n{before}")  # the server logs in to itself
        ask(session, "SELECT pg_reload_conf()")
        ask(session, OBJECTS)
        ask(session, weapons)
        made = Modes(server, fields["dsn"])
        yield made
        for talk in (*made.talks.values(), made.played, made.plain):
            talk.close()
        access.write_text(before)
        ask(session, "SELECT pg_reload_conf()")


def test_of_200_harmless_statements_at_least_190_are_explained(modes: Modes) -> None:
    refused = []
    for line in HARMLESS:
        try:
            modes.explain(line.removeprefix("!"), writes=line.startswith("!"))
        except (UsageError, TrialFailed) as why:
            refused.append(f"{line}: {why.sentence}")
    assert len(HARMLESS) >= 200
    assert len(HARMLESS) - len(refused) >= 190, "\n".join(refused)


def test_a_profile_plans_them_and_what_planning_does_not_call(modes: Modes) -> None:
    sampled = [it.removeprefix("!") for it in HARMLESS if "dblink" not in it][::9]
    for sql in (*sampled, "INSERT INTO numbered (note) VALUES ($1)", "SELECT nextval('steps')"):
        modes.profile(sql)
    with pytest.raises(NotPlanned, match=r"calls public\.strike_now"):
        modes.profile("SELECT strike_now()")


def test_each_weapon_writes_where_nobody_refuses_it(modes: Modes) -> None:
    """Else the test below could not fail."""
    for blow in BLOWS[:-1]:  # no read-only transaction lets a sequence be set, a rollback keeps it
        before = modes.ask_now(SEEN)
        driver.ask(modes.reading, [f"SELECT {modes.aim(blow)}"])
        assert modes.ask_now(SEEN) != before, blow
    modes.ask_now("COPY canary TO PROGRAM 'rm -f mark*'")


#: What calls an expression `{e}`, by objects of a number `{i}`; and the statement or expression.
NAMED = (
    ("CREATE FUNCTION f{i}() RETURNS text LANGUAGE sql AS $w$ SELECT ({e})::text $w$", "f{i}()"),
    (
        "CREATE FUNCTION f{i}() RETURNS text LANGUAGE sql IMMUTABLE AS $w$ SELECT ({e})::text $w$",
        "f{i}()",
    ),
    ("CREATE FUNCTION f{i}() RETURNS text LANGUAGE sql RETURN ({e})::text", "f{i}()"),
    (
        "CREATE FUNCTION f{i}() RETURNS text LANGUAGE plpgsql STABLE AS"
        " $w$ DECLARE r text; BEGIN r := ({e})::text; RETURN r; END $w$",
        "f{i}()",
    ),
    (
        "CREATE FUNCTION f{i}() RETURNS text LANGUAGE plpgsql IMMUTABLE AS"
        " $w$ BEGIN IF ({e}) IS NULL THEN RETURN 1; ELSE RETURN 2; END IF; END $w$",
        "f{i}()",
    ),
    ("CREATE VIEW v{i} AS SELECT ({e})::text AS n", "(SELECT max(n) FROM v{i})"),
    (
        "CREATE FUNCTION f{i}(anyelement) RETURNS text LANGUAGE sql AS $w$ SELECT ({e})::text $w$",
        "f{i}(1)",
    ),
    (
        "CREATE TYPE k{i} AS (a int);"
        " CREATE FUNCTION f{i}(k{i}) RETURNS text LANGUAGE sql AS $w$ SELECT ({e})::text $w$",
        "(ROW(1)::k{i}).f{i}",
    ),
)
UNNAMED = (
    (
        "CREATE TYPE k{i} AS (a int); CREATE FUNCTION f{i}(k{i}, k{i}) RETURNS text LANGUAGE sql"
        " AS $w$ SELECT ({e})::text $w$;"
        " CREATE OPERATOR |#| (leftarg = k{i}, rightarg = k{i}, function = f{i})",
        "(ROW(1)::k{i} |#| ROW(1)::k{i})",
    ),
    (
        "CREATE TYPE k{i} AS (a int); CREATE FUNCTION f{i}(k{i}) RETURNS text LANGUAGE plpgsql"
        " AS $w$ BEGIN RETURN ({e})::text; END $w$;"
        " CREATE CAST (k{i} AS text) WITH FUNCTION f{i}(k{i})",
        "ROW(1)::k{i}::text",
    ),
    (
        "CREATE FUNCTION f{i}(text) RETURNS boolean LANGUAGE sql"
        " AS $w$ SELECT ({e}) IS NOT NULL $w$; CREATE DOMAIN d{i} AS text CHECK (f{i}(VALUE))",
        "'x'::d{i}::text",
    ),
    (
        "CREATE FUNCTION f{i}(text, int) RETURNS text LANGUAGE sql AS $w$ SELECT ({e})::text $w$;"
        " CREATE AGGREGATE a{i}(int) (sfunc = f{i}, stype = text)",
        "(SELECT a{i}(id) FROM plain)",
    ),
    (
        "CREATE TYPE k{i} AS (a int);"
        " CREATE FUNCTION abs(k{i}) RETURNS text LANGUAGE sql AS $w$ SELECT ({e})::text $w$",
        "abs(ROW(1)::k{i})",
    ),
    (
        "CREATE FUNCTION g{i}() RETURNS text LANGUAGE sql AS $w$ SELECT ({e})::text $w$;"
        " CREATE FUNCTION f{i}(a text DEFAULT g{i}()) RETURNS text LANGUAGE sql AS 'SELECT a'",
        "f{i}()",
    ),
)
#: What a write calls.
_TRIGGER = (
    "CREATE TABLE t{i} (n int); CREATE FUNCTION f{i}() RETURNS trigger LANGUAGE plpgsql AS"
    " $w$ BEGIN PERFORM {e}; RETURN NEW; END $w$;"
    " CREATE TRIGGER g AFTER INSERT OR DELETE ON t{i} FOR EACH ROW EXECUTE FUNCTION f{i}()"
)
_FUNCTION = (
    "CREATE FUNCTION f{i}(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS"
    " $w$ BEGIN PERFORM {e}; RETURN $1; END $w$; "
)
WRITTEN = (
    (_TRIGGER, "INSERT INTO t{i} VALUES (1)"),
    (
        f"{_TRIGGER}; CREATE TABLE u{{i}} (n int);"
        " CREATE RULE r AS ON INSERT TO u{i} DO ALSO INSERT INTO t{i} VALUES (1)",
        "INSERT INTO u{i} VALUES (1)",
    ),
    (
        f"{_TRIGGER}; CREATE TABLE u{{i}} (n int PRIMARY KEY); INSERT INTO u{{i}} VALUES (1);"
        " INSERT INTO u{i} VALUES (2); CREATE TABLE w{i} (n int REFERENCES u{i} ON DELETE CASCADE);"
        " INSERT INTO w{i} VALUES (1);"
        " CREATE TRIGGER g AFTER DELETE ON w{i} FOR EACH ROW EXECUTE FUNCTION f{i}()",
        "DELETE FROM u{i} WHERE n = 1",
    ),
    (_FUNCTION + "CREATE TABLE t{i} (n int DEFAULT f{i}(1))", "INSERT INTO t{i} DEFAULT VALUES"),
    (
        _FUNCTION + "CREATE TABLE t{i} (n int, m int GENERATED ALWAYS AS (f{i}(n)) STORED)",
        "INSERT INTO t{i} (n) VALUES (1)",
    ),
    (_FUNCTION + "CREATE TABLE t{i} (n int CHECK (f{i}(n) > 0))", "INSERT INTO t{i} VALUES (1)"),
    (
        _FUNCTION + "CREATE TABLE t{i} (n int); CREATE INDEX ON t{i} (f{i}(n))",
        "INSERT INTO t{i} VALUES (1)",
    ),
    (
        _FUNCTION + "CREATE TABLE t{i} (n int); CREATE VIEW v{i} AS SELECT n FROM t{i}"
        " WHERE f{i}(n) > 0 WITH CHECK OPTION",
        "INSERT INTO v{i} VALUES (1)",
    ),
)
Made = list[tuple[str, bool]]


def make_objects(modes: Modes, seed: int, kinds: Sequence[tuple[str, str]], number: int) -> Made:
    """Objects over objects, made in the database: statements that call them, and whether one of
    them would write past a rollback.
    """
    chance = random.Random(seed)
    made: Made = []
    for at in range(number):
        is_blow = chance.random() < 0.7
        called = modes.aim(chance.choice(BLOWS if is_blow else CALM))
        around = [chance.choice(NAMED) for _ in range(chance.randrange(3))]
        for depth, (ddl, use) in enumerate([*around, kinds[at % len(kinds)]]):
            name = f"{seed}_{at}_{depth}"
            modes.ask_now(ddl.replace("{e}", called).replace("{i}", name))
            called = use.replace("{i}", name)
        made.append((called if kinds is WRITTEN else f"SELECT {called}", is_blow))
    return made


def test_what_calls_a_weapon_is_refused_in_every_mode_and_writes_nothing(modes: Modes) -> None:
    named = make_objects(modes, 1, NAMED, 24)
    named += [(f"SELECT {modes.aim(it)}", True) for it in BLOWS]
    modes.ask_now("DROP CAST (int AS pair)")
    modes.ask_now("DROP OPERATOR |+| (numeric, numeric)")
    modes.ask_now("DROP OPERATOR || (text, regtype)")  # what stands in for one of the server's
    modes.rules = look_in_place(driver.ask, modes.server.session)
    dump = modes.dump()
    passed = [sql for sql, _ in named if modes.tries(modes.replay, sql)]
    assert modes.dump() == dump and passed, "a replay in place"
    made = named + make_objects(modes, 2, UNNAMED, 18)
    written = make_objects(modes, 3, WRITTEN, 24)
    with pytest.raises(UsageError, match="the database may call functions that write"):
        look_in_place(driver.ask, modes.server.session)
    dump = modes.dump()
    explained: dict[bool, list[bool]] = {True: [], False: []}
    for sql, is_blow in made + written:
        for mode in (modes.explain_undone, modes.explain)[: 1 + sql.startswith("SELECT")]:
            went = modes.tries(mode, sql)
            explained[is_blow].append(went)
            assert not (went and is_blow), f"{mode.__name__}: {sql}"
        modes.tries(modes.profile, sql)
        assert modes.ask_now(SEEN) == modes.seen, f"profile: {sql}"
    assert modes.dump() == dump
    # a body's abs() may be any of that name
    assert explained[False].count(True) >= 0.8 * len(explained[False]) > 20 < len(explained[True])
