"""What the real dump programs write of real servers is loaded, and is the same when it is dumped
again."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Sequence
from pathlib import Path

import pytest
from dump_programs import PROGRAMS, dump, empty, without_passing
from guides import guide
from pgbench_files import play_plan
from private_servers import SHARED, serving

from dyno import driver
from dyno.cli import run_words
from dyno.driver.plan import Plan, Script, Session
from dyno.errors import UsageError
from dyno.runs.experiment.candidates import parse_candidate
from dyno.runs.resolve.setup_files import ReadyFile, make_ready

pytestmark = [pytest.mark.timeout(300)]

GOLDEN = Path(__file__).parents[2] / "golden"
ROLES = ("CREATE ROLE app", "CREATE ROLE reader")
OWNED = (
    "ALTER TABLE shop.parent OWNER TO app", "GRANT SELECT ON shop.parent TO reader",
    "ALTER SCHEMA shop OWNER TO app", "CREATE POLICY own ON shop.parent TO app USING (true)",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO reader",
)  # fmt: skip


def read_statements(kind: str) -> list[str]:
    """The content's statements: each begins on a line with one of these words."""
    found: list[str] = []
    for line in (GOLDEN / f"dump_of_{kind}.sql").read_text().splitlines():
        if not found or line.split(" ")[0] in BEGIN:
            found.append(line)
        else:
            found[-1] += "\n" + line
    return [it.rstrip(";") if not it.endswith("END;") else it for it in found]


BEGIN = {"CREATE", "INSERT", "ALTER", "COMMENT", "SELECT"}


def fill(session: Session, more: Sequence[str] = ()) -> None:
    driver.ask(session, [*read_statements(session["kind"]), *more], 60)


def load(session: Session, file: Path, home: Path) -> ReadyFile:
    """Loads a dump as `dyno play` does for an engine that it starts."""
    engine = "postgres@18" if session["kind"] == "postgres" else "mysql@8.0"
    ready = make_ready(file, [parse_candidate(engine)], lambda _: None)
    script = home / "one.sql"
    script.write_text("SELECT 1;\n")
    options = {"events": "1", "warmup_time": "0"} | ready.list_options()
    play_plan(Plan(session, Script(str(script), options), 7, ("prepare",), progress_s=0), home)
    return ready


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


ALL = ("--routines", "--events", "--triggers")
#: Servers, programs, options: what they write by default, and what people add to it.
OF_MYSQL = [
    ("mysql@8.0.33", "mysqldump", ALL),
    ("mysql@8.0.33", "mysqldump", (*ALL, "--hex-blob", "--databases", "dyno")),
    ("mysql@9.7", "mysqldump", (*ALL, "--skip-extended-insert", "--complete-insert")),
    ("mariadb@11.8", "mariadb-dump-11.8", ALL),
    ("mariadb@debian", "mariadb-dump-10.11", (*ALL, "--all-databases", "--hex-blob")),
]


@pytest.mark.parametrize(("server", "program", "options"), OF_MYSQL)
def test_what_dumps_mysql_and_mariadb_is_loaded_as_it_was(
    server: str, program: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    with SHARED.use(server) as running:
        session = running.session
        fill(session)
        (tmp_path / "it.sql").write_bytes(dump(program, session, options))
        before = dump(program, session, ALL)
        empty(session)
        ready = load(session, tmp_path / "it.sql", tmp_path)
        assert without_passing(dump(program, session, ALL)) == without_passing(before)
        left = ready.outlines[0].left_out
        assert "DEFINER clauses" in left, left
        # triggers, views and routines belong to an account that is there
        driver.ask(session, ["CALL add_one(9)", "SELECT * FROM b_view"])
        assert driver.ask(session, ["SELECT said FROM log"])[0] == [["new; 9"]]


def read_content(session: Session) -> list[list[list[str | None]]]:
    """What a server too old for the programs tells of itself."""
    tables = ["CHECKSUM TABLE parent, child, log", "SELECT id, HEX(data), note FROM child"]
    of_views = "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'dyno'"
    names = [
        f"SELECT {it}_NAME FROM information_schema.{it}S WHERE {it}_SCHEMA = 'dyno' ORDER BY 1"
        for it in ("ROUTINE", "EVENT", "TRIGGER")
    ]
    return driver.ask(session, [*tables, of_views, *names])


@pytest.mark.parametrize("server", ["mariadb@debian", "mysql@5.6.14"])
def test_what_mydumper_writes_is_loaded_as_it_was(server: str, tmp_path: Path) -> None:
    with SHARED.use(server) as running:
        session, reads = running.session, server.startswith("mariadb")
        fill(session)
        options = ("--triggers", "--routines", "--events", "--compress")
        dump("mydumper", session, options, tmp_path / "folder")
        before = dump("mariadb-dump-10.11", session, ALL) if reads else b""
        content = read_content(session)
        empty(session)
        load(session, tmp_path / "folder", tmp_path)
        after = dump("mariadb-dump-10.11", session, ALL) if reads else b""
        assert without_passing(after) == without_passing(before)
        assert read_content(session) == content
    (tmp_path / "folder" / "metadata").write_text("Started dump at: 2026-01-01 10:00:00\n")
    with pytest.raises(UsageError, match="is not whole"):
        make_ready(tmp_path / "folder", [parse_candidate("mysql@8.0")], lambda _: None)


#: Below the case: what names the database within bodies.
BODIES = """
DELIMITER ;;
CREATE DEFINER=`a`@`%` TRIGGER shop.g BEFORE INSERT ON shop.item FOR EACH ROW
  SET NEW.name = shop.shout(NEW.name);;
CREATE FUNCTION `shop`.`shout`(it VARCHAR(40)) RETURNS VARCHAR(40) DETERMINISTIC
  RETURN CONCAT(it, (SELECT COUNT(shop.item.id) FROM `shop`.`item`), ' shop.x');;
DELIMITER ;
INSERT INTO shop.item VALUES (2, 'two');
"""


def test_a_dump_that_names_its_own_database_within_it_is_loaded_into_ours(tmp_path: Path) -> None:
    """Case 29 from the field."""
    (tmp_path / "it.sql").write_text((GOLDEN / "cases" / "29.sql").read_text() + BODIES)
    with SHARED.use("mysql@8.0.33") as running:
        load(running.session, tmp_path / "it.sql", tmp_path)
        asked = ["SELECT name FROM item ORDER BY id", "SELECT COUNT(*) FROM v"]
        assert driver.ask(running.session, asked) == [[["one"], ["two1 shop.x"]], [["2"]]]


#: The server and the program's version, and options; the endings that pack them.
OF_POSTGRES = [
    ("postgres@18", "18", ()),
    ("postgres@18", "18", ("--inserts",)),
    ("postgres@18", "18", ("--column-inserts", "--create")),
    ("postgres@18", "18", ("--format=custom",)),
    ("postgres@18", "18", ("--format=tar",)),
    ("postgres@18", "18", ("--clean", "--if-exists")),
    ("postgres@12", "13", ()),
    ("postgres@12", "18", ()),
]


@pytest.mark.parametrize(("server", "version", "options"), OF_POSTGRES)
def test_what_dumps_postgres_is_loaded_as_it_was(
    server: str, version: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    compare = ("--no-owner", "--no-privileges")
    with SHARED.use(server) as running:
        session = running.session
        fill(session)
        before = dump(f"pg_dump-{version}", session, compare)
        driver.ask(session, [*ROLES, *OWNED])
        (tmp_path / "it.sql").write_bytes(dump(f"pg_dump-{version}", session, options))
        empty(session)
        driver.ask(session, ["DROP ROLE app", "DROP ROLE reader"])
        ready = load(session, tmp_path / "it.sql", tmp_path)
        after = dump(f"pg_dump-{version}", session, compare)
        assert without_passing(after) == without_passing(before)
        left = ready.outlines[0].left_out
        assert {"OWNER TO", "GRANT or REVOKE", "policies of roles"} <= left.keys(), left


def test_a_dump_of_all_databases_of_postgres_brings_the_one_that_has_tables(tmp_path: Path) -> None:
    with serving("postgres-12") as running:
        session = running.session
        fill(session)
        before = dump("pg_dump-13", session)
        (tmp_path / "all.sql").write_bytes(dump("pg_dumpall-13", session))
        empty(session)
        ready = load(session, tmp_path / "all.sql", tmp_path)
        assert without_passing(dump("pg_dump-13", session)) == without_passing(before)
    assert ready.database == "dyno" and "roles" in "".join(ready.describe())


def test_a_packed_dump_is_loaded_and_a_folder_of_pg_dump(tmp_path: Path) -> None:
    with serving("postgres-18") as running:
        session = running.session
        fill(session)
        before = dump("pg_dump-18", session)
        dump("pg_dump-18", session, ("--format=directory", f"--file={tmp_path}/folder"))
        (tmp_path / "it.sql.gz").write_bytes(gzip.compress(before))
        (tmp_path / "it.sql.xz").write_bytes(lzma.compress(before))
        for name in ("folder", "it.sql.gz", "it.sql.xz"):
            empty(session)
            load(session, tmp_path / name, tmp_path)
            assert without_passing(dump("pg_dump-18", session)) == without_passing(before), name


def test_an_extension_that_the_server_lacks_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "it.sql").write_text("\nCREATE EXTENSION IF NOT EXISTS nowhere WITH SCHEMA x;\n")
    with (
        serving("postgres-18") as running,
        pytest.raises(UsageError, match="does not have the extension nowhere") as raised,
    ):
        load(running.session, tmp_path / "it.sql", tmp_path)
    assert "it.sql:2" in str(raised.value), raised.value


def test_every_program_that_dumps_is_played() -> None:
    assert {program for _, program, _ in OF_MYSQL} | {"mydumper"} == PROGRAMS.keys()


def test_the_guide_of_dumps_is_played_as_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    it = guide("../dumps")
    it.unpack(tmp_path)
    for words in it.commands_of("postgres"):
        assert run_words(words) == 0, capsys.readouterr().err
        assert "1 GRANT or REVOKE (line 7), 1 OWNER TO (line 2)" in capsys.readouterr().err
