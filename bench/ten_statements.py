"""Ten statements explained on every engine (`dyno explain`): what docs/evidence/explain.md holds.

A table a statement: a stage's median in µs, by engine; and whole outputs as a terminal has them.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import quote

from serving import command

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import PathRequest, find_engine
from dyno.errors import DynoError
from dyno.record.explanation import Explanation
from dyno.runs.experiment.candidates import parse_candidate
from dyno.servers.explain.explain import ExplainOptions, PathPlayer, explain_all
from dyno.servers.explain.target import open_path

SERVERS = (
    *("mysql@5.6.14", "mysql@8.0.33", "mysql@9.7", "mariadb@10.11"),
    *("postgres@12", "postgres@18"),
)
FILES = ("sqlite@3.54.1", "duckdb@1.5.6")
ROWS = 20_000
#: Statement by what it shows; a tuple where a family says it otherwise.
STATEMENTS: Mapping[str, str] = {
    "point select": "SELECT * FROM orders WHERE id = 77",
    "range": "SELECT * FROM orders WHERE id BETWEEN 500 AND 900",
    "join": "SELECT name, note FROM orders JOIN customers ON customers.id = customer"
    " WHERE orders.id < 2000",
    "sort to disk": "SELECT count(*) FROM (SELECT note, id FROM orders ORDER BY note, id DESC"
    " LIMIT 19999) s",
    "write": "UPDATE orders SET note = 'changed' WHERE id BETWEEN 500 AND 600",
    "lock wait": "UPDATE orders SET note = 'changed' WHERE id = 7",
    "function": "SELECT sum(plus_one(customer)) FROM orders",
    "view": "SELECT * FROM per_customer WHERE customer = 7",
    "missing index": "SELECT * FROM orders WHERE unindexed = 7",
    "full scan": "SELECT sum(customer), max(note) FROM orders",
}
HEAD = f"""# One statement on every engine

**Question**: what does `dyno explain` tell of ten statements on each engine? **Machine**: two
cores of a virtual machine, {date.today():%d %B %Y}; what else ran there is in the spread.
**Command**: `bench/run ten-statements`, which prints this page. Tables of {ROWS:,} rows; sort
memory of 64 kB (PostgreSQL) or 32 kB (MySQL, MariaDB), the binary log on; what writes is rolled
back. The lock is held for 0.1 s at a time by another session, and the statement sleeps 20 ms
first.

**Conclusion**: each engine tells what it can, and the stage that is slowed is the one that is
long: *lock wait* where a lock is held, *execute* with merge passes or temporary files where a
sort spills, *storage engine* and *execute* where an index is missing. Stages that no engine tells
are dashes; what no stage accounts for is *not attributed*."""
WRITING = {"write", "lock wait"}
HELD_S, RELEASED_S = 0.1, 0.005
OPTIONS = ExplainOptions(runs=20, for_s=6.0)
QUICK = ExplainOptions(runs=2, for_s=1.0)


def list_tables(kind: str) -> list[str]:
    """What is explained, in an engine's words."""
    rows = ", ".join(f"({i}, {i % 1000}, {i % 997}, '{i * 7919 % ROWS:060}')" for i in range(ROWS))
    customers = ", ".join(f"({i}, 'c{i}')" for i in range(1000))
    made = [
        "CREATE TABLE orders (id INT PRIMARY KEY, customer INT, unindexed INT, note VARCHAR(80))",
        f"INSERT INTO orders VALUES {rows}",
        "CREATE INDEX of_customer ON orders (customer)",
        "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(20))",
        f"INSERT INTO customers VALUES {customers}",
        "CREATE VIEW per_customer AS SELECT customer, count(*) AS n FROM orders GROUP BY customer",
    ]
    if kind == "postgres":
        made += [
            "CREATE FUNCTION plus_one(n int) RETURNS int LANGUAGE plpgsql AS"
            " 'BEGIN RETURN n + 1; END'",
            "ALTER ROLE dyno SET work_mem = '64kB'",
            "ANALYZE",
        ]
    if kind == "mysql":
        made += [
            "CREATE FUNCTION plus_one(n INT) RETURNS INT DETERMINISTIC RETURN n + 1",
            "SET GLOBAL sort_buffer_size = 32768",
            "ANALYZE TABLE orders, customers",
        ]
    return made + (["ANALYZE"] if kind == "duckdb" else [])


@contextmanager
def serve(text: str, home: Path) -> Iterator[tuple[str, Session]]:
    """A server with the tables, and its DSN."""
    spec = parse_candidate(text)
    engine = find_engine(spec.engine, driver.ask)
    build = engine.program(spec.build, {}, print)
    settings = {} if spec.engine == "postgres" else {"log_bin": "on"}
    server = engine.start(build, home, settings)
    try:
        session = server.session
        driver.ask(session, list_tables(session["kind"]))
        word = session["password"]
        user = quote(session["user"]) + (f":{quote(word, safe='')}" if word else "")
        host = quote(session["host"], safe="")
        yield f"{spec.engine}://{user}@{host}/{session['database']}", session
    finally:
        engine.stop(server)


def make_file(text: str, home: Path) -> str:
    """A file with the tables, and its DSN."""
    spec = parse_candidate(text)
    file = home / f"shop.{spec.engine}"
    if spec.engine == "sqlite":
        with sqlite3.connect(file) as made:
            for statement in list_tables("sqlite"):
                made.execute(statement)
        made.close()
    else:
        build = find_engine(spec.engine, driver.ask).program(spec.build, {}, print)
        library = {"kind": spec.engine, "library": str(build.program), "settings": []}
        driver.ask({**library, "database": str(file)}, list_tables(spec.engine))
    return f"{text}:{file}"


@contextmanager
def hold_row(session: Session) -> Iterator[None]:
    """Another session holds the row most of the time."""
    stop = threading.Event()

    def hold() -> None:
        with driver.Conversation(60) as other:
            while not stop.is_set():
                other(session, ["BEGIN", "SELECT * FROM orders WHERE id = 7 FOR UPDATE"])
                time.sleep(HELD_S)
                other(session, ["ROLLBACK"])
                time.sleep(RELEASED_S)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def adapt_statement(name: str, dsn: str) -> str:
    """In the words of an engine: a file's has no functions of users; and who waits for a lock
    begins to only once the holder has it again.
    """
    sql = STATEMENTS[name]
    if name == "lock wait":
        later = "pg_sleep(0.02) IS NOT NULL" if dsn.startswith("postgres") else "SLEEP(0.02) = 0"
        return f"{sql} AND {later}"
    return sql.replace("plus_one(customer)", "abs(customer)") if "://" not in dsn else sql


def explain(dsn: str, name: str, options: ExplainOptions) -> Explanation:
    """One statement's record."""
    writes = name in WRITING
    sql = adapt_statement(name, dsn)
    options = ExplainOptions(options.runs, options.for_s, options.limit_s, writes)
    path = open_path(driver.ask, dsn, PathRequest(sql, options.limit_s, writes))
    (found,) = explain_all([PathPlayer(path, driver.ask, sql, options)], options)
    return found


def print_statement(name: str, found: Mapping[str, Explanation | str]) -> None:
    """A table: stages by engine."""
    sides = [it for it in found.values() if isinstance(it, Explanation)]
    stages = [stage.name for stage in sides[0].stages] if sides else []
    print(f"\n## {name.capitalize()}\n\n`{STATEMENTS[name]}`\n")
    print(f"| stage, µs | {' | '.join(found)} |\n|---|{'---:|' * len(found)}")
    for at, stage in enumerate(stages):
        cells = [
            format_cell(it.stages[at].us) if isinstance(it, Explanation) else ""
            for it in found.values()
        ]
        if any(cell not in ("", "0", "—") for cell in cells):
            print(f"| {stage} | {' | '.join(cells)} |")
    for title, read in (("bare time", "bare_us"), ("clock", "clock_us")):
        cells = [
            format_cell(getattr(it, read)) if isinstance(it, Explanation) else ""
            for it in found.values()
        ]
        print(f"| {title} | {' | '.join(cells)} |")
    for engine, it in found.items():
        if isinstance(it, str):
            print(f"\n{engine}: {it}")
        elif facts := [fact for stage in it.stages for fact in stage.facts]:
            print(f"\n{engine}: {', '.join(facts)}")


def format_cell(us: Sequence[float]) -> str:
    """The median."""
    return (
        f"{median(us):,.0f}"
        if us and abs(median(us)) >= 10
        else (f"{median(us):.2g}" if us else "—")
    )


def main() -> None:
    """All engines, or those that are named."""
    parser = command("ten-statements", (*SERVERS, *FILES))
    words = parser.parse_args()
    options = QUICK if words.quick else OPTIONS
    tables: dict[str, dict[str, Explanation | str]] = {name: {} for name in STATEMENTS}
    shown = []
    with TemporaryDirectory(prefix="dyno-ten-", dir="/var/tmp") as place:
        Path(place).chmod(0o755)
        for number, text in enumerate(words.server):
            home = Path(place) / str(number)
            home.mkdir()
            with ExitStack() as stack:
                session: Session | None = None
                if text in FILES:
                    dsn = make_file(text, home)
                else:
                    dsn, session = stack.enter_context(serve(text, home))
                for name in STATEMENTS:
                    if name == "lock wait" and session is None:
                        tables[name][text] = "no lock of a row: a file has one writer"
                        continue
                    with hold_row(session) if name == "lock wait" and session else ExitStack():
                        try:
                            tables[name][text] = explain(dsn, name, options)
                        except DynoError as error:
                            tables[name][text] = str(error)
                shown.append((text, run_command(dsn)))
    print(HEAD)
    for name, found in tables.items():
        print_statement(name, found)
    for text, output in shown:
        print(f"\n## As a terminal has it: {text}, sort to disk\n\n```\n{output}```")


def run_command(dsn: str) -> str:
    """What `dyno explain` prints, without the place of this run's server."""
    sql = STATEMENTS["sort to disk"]
    asked = [sys.executable, "-m", "dyno.cli", "explain", dsn, sql, "--for", "3s"]
    said = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=True).stdout
    lines = said.splitlines(keepends=True)
    first = next((at for at, line in enumerate(lines) if not line.strip()), 0)
    return "".join(lines[first + 1 :])


if __name__ == "__main__":
    main()
