"""Other people's scripts: the eleven that Debian's package `sysbench` ships, as they are.

Each is prepared and run on SQLite and on `null`. Scripts do not check their own work, so the
database is asked afterwards: every table must hold rows, and none without an id.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import outside
from debian_scripts import NAMES, SCRIPTS

from dyno import driver
from dyno.driver import DriverLaunch, DriverProcess, End, Limit
from dyno.driver.plan import Plan, Script, Session
from dyno.engines import find_engine
from dyno.errors import DynoError
from dyno.record import PhaseRecord, StatementTally

OPTIONS = {"time": "0.3", "tables": "2", "table_size": "500"}


@pytest.fixture(scope="module")
def scripts() -> Path:
    """The folder of the package's scripts."""
    outside("sysbench")
    return SCRIPTS


def played(
    session: Session,
    script: Path,
    options: dict[str, str],
    commands: tuple[str, ...] = ("prepare", "run"),
) -> PhaseRecord:
    """What `run` measured, after `prepare`."""
    plan = Plan(session, Script(str(script), options), seed=7, commands=commands)
    records = []
    with (
        TemporaryDirectory() as home,
        DriverProcess(plan, DriverLaunch(Path(home) / "log")) as process,
    ):
        while not isinstance(event := process.read_event(Limit("the script", 50.0)), End):
            if isinstance(event, PhaseRecord):
                records.append(event)
            if isinstance(event, PhaseRecord | driver.Ready):
                process.go()
    return next(record for record in records if record.phase == "run")


def options_of(name: str) -> dict[str, str]:
    """Small tables; `bulk_insert` makes one for each user and asks for no size."""
    return OPTIONS if name != "bulk_insert" else {"time": OPTIONS["time"]}


def database(home: Path) -> Session:
    """A new SQLite database, by the system's own library."""
    engine = find_engine("sqlite", driver.ask)
    return engine.start(engine.program("system", {}, lambda _: None), home, {}).session


@pytest.mark.parametrize("name", NAMES)
def test_a_script_from_the_wild_runs_on_sqlite_and_no_id_is_null(
    name: str, scripts: Path, tmp_path: Path
) -> None:
    session = database(tmp_path)
    run = played(session, scripts / f"{name}.lua", options_of(name))
    assert run.streams[0].done > 0
    assert run.streams[0].failed == 0
    (tables,) = driver.ask(session, ["select name from sqlite_master where type = 'table'"])
    names = [str(row[0]) for row in tables if not str(row[0]).startswith("sqlite_")]
    assert names
    for table in names:
        asked = f"select count(*), count(id) from {table}"
        (((rows, ids),),) = driver.ask(session, [asked])
        assert rows == ids, f"{table} has rows without an id"
        assert int(rows or 0) > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_script_from_the_wild_runs_on_null(name: str, scripts: Path) -> None:
    run = played({"kind": "null", "delay_ns": 0}, scripts / f"{name}.lua", options_of(name))
    assert run.streams[0].done > 0


def test_sql_that_only_mysql_knows_gets_a_clear_error(scripts: Path, tmp_path: Path) -> None:
    """`--secondary` makes the scripts write `KEY xid (id)`, which no other engine reads."""
    options = {"secondary": "on", "table_size": "10"}
    with pytest.raises(DynoError, match=r"(?i)syntax error") as error:
        played(database(tmp_path), scripts / "oltp_insert.lua", options)
    assert "oltp_common.lua" in str(error.value)
    assert error.value.hint


#: Scripts that the driver knows by their texts, and the options under which they are tried.
KNOWN = [
    *((name, {"tables": "2"}) for name in NAMES if name.startswith("oltp_")),
    ("oltp_read_write", {"rand_type": "special", "skip_trx": "on", "delete_inserts": "3"}),
    ("oltp_read_only", {"range_selects": "off", "point_selects": "0", "db_ps_mode": "disable"}),
]
KNOWN.remove(("oltp_insert", {"tables": "2"}))


def changed(script: Path, folder: Path) -> Path:
    """A copy of the script that the driver does not know, since a remark was added."""
    copied = folder / script.name
    copied.write_text(f"{script.read_text()}-- changed\n")
    return copied


@pytest.mark.parametrize(("name", "options"), KNOWN)
def test_a_known_script_sends_without_lua_what_it_sends_in_lua(
    name: str, options: dict[str, str], scripts: Path, tmp_path: Path
) -> None:
    options = {"events": "60", "time": "0", "table_size": "500", "rand_type": "uniform"} | options
    found = list[tuple[list[StatementTally], object]]()
    for script in (scripts / f"{name}.lua", changed(scripts / f"{name}.lua", tmp_path)):
        home = tmp_path / str(len(found))
        home.mkdir()
        session = database(home)
        in_lua = driver.describe(Plan(session, Script(str(script), options), 7)).in_lua
        assert in_lua == (("event()",) if found else ())
        statements = played(session, script, options).streams[0].statements
        rows = driver.ask(session, ["select * from sbtest1"])
        found.append((sorted(statements, key=lambda it: it.text), rows))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["oltp_point_select", "oltp_write_only", "oltp_delete"])
def test_a_known_scripts_error_names_the_line_that_sent_the_statement(
    name: str, scripts: Path, tmp_path: Path
) -> None:
    errors = []
    for script in (scripts / f"{name}.lua", changed(scripts / f"{name}.lua", tmp_path)):
        with pytest.raises(DynoError) as error:
            played(database(tmp_path), script, {"db_ps_mode": "disable"}, ("run",))
        place = error.value.place.rpartition("/")[2]
        errors.append((place, error.value.without_place, error.value.hint))
    assert errors[0] == errors[1]
    assert ".lua:" in errors[0][0]
