"""A log played in a server that is only read changes nothing of it, whatever stands in the log."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from conftest import SEED
from private_servers import login, serving
from repository import ROOT
from server_dumps import dump
from statement_grammar import Family, make_statements

from dyno import driver
from dyno.engines import Server, find_engine
from dyno.engines.mysql import in_place as of_mysql
from dyno.engines.postgres.in_place import look_in_place
from dyno.errors import DynoError, UsageError

pytestmark = [pytest.mark.timeout(300)]

COUNT, PER_SESSION = 10_000, 100
NASTY = tomllib.loads((ROOT / "tests" / "golden/nasty_statements.toml").read_text())
SHOP = (
    "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40))",
    "INSERT INTO item VALUES (1, 'one'), (2, 'two'), (3, 'three')",
)
BODY = "BEGIN INSERT INTO item VALUES (1000000 * random(), 'written'); RETURN i; END"
POSTGRES = (
    *SHOP,
    "ANALYZE",
    f"CREATE FUNCTION w(i int) RETURNS int LANGUAGE plpgsql AS $${BODY}$$",
    "CREATE FUNCTION wr(r item) RETURNS int LANGUAGE sql AS $$SELECT w(r.id)$$",
    "CREATE PROCEDURE pw() LANGUAGE sql AS $$SELECT w(1)$$",
    "CREATE VIEW writing AS SELECT w(id) AS id, name FROM item",
    "CREATE VIEW over_writing AS SELECT * FROM writing",
    "CREATE VIEW reading AS SELECT id, lower(name) AS name FROM item",
    "CREATE MATERIALIZED VIEW kept AS SELECT id, name FROM item",
    "CREATE TABLE guarded (id INT, name TEXT)",
    "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
    "CREATE POLICY p ON guarded USING (w(id) > 0)",
    "CREATE SEQUENCE counter",
)
MYSQL = (
    *SHOP,
    "SET GLOBAL log_bin_trust_function_creators = 1",
    f"CREATE FUNCTION w(i INT) RETURNS INT {BODY.replace('random', 'RAND')}",
    "CREATE PROCEDURE pw() SELECT w(1)",
    "CREATE VIEW writing AS SELECT w(id) AS id, name FROM item",
    "CREATE VIEW over_writing AS SELECT * FROM writing",
    "CREATE VIEW reading AS SELECT id, lower(name) AS name FROM item",
    "CREATE TABLE kept AS SELECT * FROM item",
    "CREATE TABLE guarded AS SELECT * FROM item",
    "CREATE TABLE counter (n INT)",
)
#: Functions of the family that write, lock, wait or read files, beside those that are listed.
HARMFUL = frozenset(
    (
        *("get_lock", "release_lock", "release_all_locks", "load_file", "master_pos_wait"),
        *("setval", "nextval", "insert", "fb_drop", "wait_for_executed_gtid_set"),
    )
)
KINDS: dict[str, dict[str, str]] = {"mysql-5.6": {}, "mysql-8.0": {}, "mariadb-innodb": {}}
KINDS |= {"postgres-12": {"autovacuum": "off"}, "postgres-18": {"autovacuum": "off"}}


def url(server: Server) -> str:
    session = server.session
    where = str(session["host"]).replace("/", "%2F")
    return f"{session['kind']}://{login(session)}@{where}/{session['database']}"


def sessions(statements: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """When each is sent, by which session."""
    for at, sql in enumerate(statements):
        yield at, 100 + at // PER_SESSION, sql


def json_log(statements: Sequence[str]) -> str:
    def line(at: int, session: int, sql: str) -> str:
        stamp = f"2026-01-01 10:{at // 60000:02}:{at // 1000 % 60:02}.{at % 1000:03} UTC"
        said = {"timestamp": stamp, "pid": session, "session_id": f"6955.{session:x}"}
        said |= {"dbname": "dyno", "error_severity": "LOG", "message": f"statement: {sql}"}
        return json.dumps(said)

    return "\n".join(line(*each) for each in sessions(statements)) + "\n"


def general_log(statements: Sequence[str]) -> str:
    lines = ["Time                 Id Command    Argument"]
    for at, session, sql in sessions(statements):
        stamp = f"2026-01-01T10:{at // 60000:02}:{at // 1000 % 60:02}.{at % 1000:03}000Z"
        if at % PER_SESSION == 0:
            lines.append(f"{stamp}\t{session:5} Connect\tapp@localhost on dyno using Socket")
        lines.append(f"{stamp}\t{session:5} Query\t{sql}")
    return "\n".join(lines) + "\n"


def set_up(server: Server) -> Family:
    """Makes what the statements name; what the server can be asked."""
    if server.session["kind"] == "postgres":
        driver.ask(server.session, POSTGRES)
        (rows,) = driver.ask(server.session, ["SELECT DISTINCT proname FROM pg_proc ORDER BY 1"])
        return Family([str(name) for (name,) in rows], _published("postgres"), True)
    driver.ask(server.session, MYSQL)
    listed = sorted(of_mysql.FUNCTIONS | of_mysql.LATER | HARMFUL)
    return Family(listed, _published("mysql"), False)


def _published(family: str) -> list[str]:
    return [text for texts in NASTY[family].values() for text in texts]


def play(server: Server, folder: Path, statements: Sequence[str], keys: str = "") -> str:
    """Plays them in place by the command line; what it said."""
    is_postgres = server.session["kind"] == "postgres"
    log = folder / "it.log"
    text = json_log(statements) if is_postgres else general_log(statements)
    log.write_text(text, encoding="utf-8", newline="\n")
    command = [sys.executable, "-m", "dyno.cli", "play", url(server) + keys, "--log", str(log)]
    done = subprocess.run(
        [*command, "--in-place"], cwd=folder, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_statements_in_place_leave_a_server_as_it_was(
    kind: str, tmp_path: Path, record_testsuite_property: Callable[[str, object], None]
) -> None:
    most = {"max_connections": "300"}
    with serving(kind, **KINDS[kind], **most) as server:
        family = set_up(server)
        statements = list(make_statements(family, COUNT, SEED))
        before = dump(server)
        said = play(server, tmp_path, statements)
        assert dump(server) == before, said
        played = re.search(r"([\d,]+) of ([\d,]+) statements are played", said)
        assert played is not None, said
        record_testsuite_property(f"in_place_{kind}", said)
        assert int(played[1].replace(",", "")) > COUNT // 20, said
        # the dump sees what a single one of them would have done
        driver.ask(server.session, ["SELECT w(1)"])
        assert dump(server) != before


@pytest.mark.parametrize("kind", ["mysql-5.6", "mysql-8.0", "mariadb-innodb", "postgres-18"])
def test_a_session_that_reads_only_is_held_by_the_server_too(kind: str, tmp_path: Path) -> None:
    """Whatever a text may hide from us: a `readonly` URL's sessions are refused every write."""
    with serving(kind) as server:
        set_up(server)
        before = dump(server)
        name, _, build = url(server).partition(":")
        engine = find_engine(name, driver.ask)
        flags = {"readonly": "on"}
        session = engine.start(engine.program(build, flags, lambda _: None), Path(), {}).session
        several = [] if name == "postgres" else ["SELECT 1; SELECT 2"]
        for sql in ("SELECT w(1)", "SELECT * FROM writing", "DELETE FROM item", *several):
            with pytest.raises(DynoError):
                driver.ask(session, [sql])
        driver.ask(session, ["SELECT 1", session["reads_only"]["question"]])
        with pytest.raises(DynoError):
            driver.ask(server.session, [session["reads_only"]["question"]])
        assert dump(server) == before


#: What calls a function that no statement names, how the refusal calls it, and how it goes again.
UNNAMED = [
    ("CREATE OPERATOR ## (FUNCTION = w, RIGHTARG = int)", "operator ##", "OPERATOR ## (none, int)"),
    (
        "CREATE CAST (item AS int) WITH FUNCTION wr(item) AS IMPLICIT",
        "cast to integer",
        "CAST (item AS int)",
    ),
    ("CREATE DOMAIN small AS int CHECK (w(VALUE) > 0)", "domain small", "DOMAIN small"),
    (
        "CREATE TYPE span AS RANGE (SUBTYPE = int, SUBTYPE_DIFF = apart)",
        "range type span",
        "TYPE span",
    ),
    (
        "CREATE OPERATOR CLASS own FOR TYPE int USING hash AS OPERATOR 1 =, FUNCTION 1 w(int)",
        "operator class over integer",
        "OPERATOR FAMILY own USING hash",
    ),
]
APART = (
    "CREATE FUNCTION apart(int, int) RETURNS float8 IMMUTABLE LANGUAGE sql"
    " AS $$SELECT w($1)::float8$$"
)


def test_a_database_that_calls_unknown_functions_without_a_name_is_refused(tmp_path: Path) -> None:
    """By an operator, a cast, a type: their statements name no function that could be judged."""
    with serving("postgres-18") as server:
        set_up(server)
        driver.ask(server.session, [APART])
        for made, named, gone in UNNAMED:
            driver.ask(server.session, [made])
            before = dump(server)
            with pytest.raises(UsageError, match="may call functions that write") as refused:
                look_in_place(driver.ask, server.session)
            assert named in refused.value.cause, refused.value.cause
            assert dump(server) == before
            driver.ask(server.session, [f"DROP {gone}"])
        look_in_place(driver.ask, server.session)
        driver.ask(server.session, [UNNAMED[0][0]])
        with pytest.raises(AssertionError, match="operator ##"):
            play(server, tmp_path, ["SELECT id FROM item"])


@pytest.mark.parametrize("kind", ["mysql-5.6", "mysql-8.0", "mariadb-innodb", "postgres-18"])
def test_a_statement_that_does_not_end_is_ended(kind: str, tmp_path: Path) -> None:
    endless = "SELECT pg_sleep(100000)" if kind == "postgres-18" else "SELECT SLEEP(100000)"
    with serving(kind) as server:
        set_up(server)
        began_s = time.monotonic()
        play(server, tmp_path, [endless, "SELECT id FROM item"], "?time_limit=1")
        assert time.monotonic() - began_s < 60
