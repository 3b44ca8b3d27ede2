"""What the tests of pgbench's script files share: playing one, and what it left in a table."""

from __future__ import annotations

from pathlib import Path

from dyno import driver, engines
from dyno.driver.plan import Plan, Script, Session
from dyno.record import PhaseRecord

NULL: Session = {"kind": "null", "delay_ns": 0}
ONCE = {"events": "1", "warmup_time": "0"}
#: Expressions, and what pgbench 15 made of them; tests/on_servers asks it again.
EXPRESSIONS = dict(
    line.split("\t")
    for line in (Path(__file__).parent / "golden" / "pgbench_expressions.tsv")
    .read_text()
    .splitlines()
)


def sqlite_with_table(home: Path) -> Session:
    """A session on the system's library, a table `r (name, value)` made."""
    engine = engines.find_engine("sqlite", driver.ask)
    session = engine.start(engine.program("system", {}, lambda _: None), home, {}).session
    driver.ask(session, ["create table r (name text, value text)"])
    return session


def make_plan(session: Session, text: str, home: Path, **options: str) -> Plan:
    """A plan that plays `text` once, without a command before."""
    script = home / "file.sql"
    script.write_text(text)
    return Plan(session, Script(str(script), ONCE | options), 7, ("run",), progress_s=0)


def play_plan(plan: Plan, home: Path) -> dict[str, PhaseRecord]:
    """The records by phase."""
    records = {}
    with driver.DriverProcess(plan, driver.DriverLaunch(home / "driver.log")) as process:
        while not isinstance(event := process.read_event(driver.Limit("it", 30)), driver.End):
            if isinstance(event, PhaseRecord):
                records[event.phase] = event
            process.go()
    return records


def play(session: Session, text: str, home: Path, **options: str) -> PhaseRecord:
    """The record of the phase `run`."""
    return play_plan(make_plan(session, text, home, **options), home)["run"]


def kept(session: Session) -> dict[str, str | None]:
    """What a script left in `r`."""
    (rows,) = driver.ask(session, ["select name, value from r"])
    return {str(name): value for name, value in rows}
