"""Bulk load: lineitem rows made and streamed by the driver, beside loads of a file that lies ready.

The same rows go into the same empty table with its primary key: from the driver over one connection
(`COPY FROM STDIN`, `LOAD DATA LOCAL`); from a file through `psql` or `mysql`; and from that file by
the server itself, with no client at all. That last one has no limit, unless no `mysql` is on the
path. The file was just written, so it is cached. DuckDB takes the rows by its appender, and reads
the file by its own COPY, on one thread each. 10 rounds, about 3 minutes a server.
"""

from __future__ import annotations

import shutil
import tempfile
from argparse import Namespace
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clients import driven, spent
from pgbench import libpq
from played import plan, play
from ratios import Limit, Limits, Row, compare, conclude, print_rows
from serving import CLIENT_CORE, command, pinned, serving
from spent import Side, Spent, Usage, in_turn, less, run, start_up

from dyno import driver
from dyno.driver.plan import Session

SERVERS = ("postgres@18", "mysql@5.6.14", "mysql@8.0.33", "duckdb@1.5.6?threads=1")
LIMIT = {"rate_per_s": Limit(least=0.9)}
#: Else MySQL's own load reads files of one folder only, or none.
ANY_FOLDER = {"secure_file_priv": ""}


@dataclass(frozen=True)
class Bulk:
    """A server and what it is to load: so much of lineitem, and a file of the same rows."""

    session: Session
    scale: float
    file: Path

    @property
    def is_postgres(self) -> bool:
        return bool(self.session["kind"] == "postgres")

    @property
    def is_mysql(self) -> bool:
        return bool(self.session["kind"] == "mysql")

    @property
    def _form(self) -> str:
        """What DuckDB must be told of the form that the others read by default."""
        return "" if self.is_postgres else " (DELIMITER '\t', HEADER false)"

    def ours(self) -> Spent:
        """Made and streamed by the driver."""
        options = {"scale": self.scale, "parts": 1}
        played = driven(plan(self.session, "lineitem_load", ["run"], **options))
        return spent(played, "load", played.counters["loaded"])

    def by_client(self) -> Spent:
        """From the file, through the server's own client."""
        copy = f"\\copy lineitem FROM '{self.file}'"
        load = f"LOAD DATA LOCAL INFILE '{self.file}' INTO TABLE lineitem"
        used = less(run(self._client(copy if self.is_postgres else load))[1], self._start)
        return Spent(self.rows, used.wall_ns, used)

    def by_server(self) -> Spent:
        """From the file, by the server itself."""
        copy = f"COPY lineitem FROM '{self.file}'{self._form}"
        load = f"LOAD DATA INFILE '{self.file}' INTO TABLE lineitem"
        sql = load if self.is_mysql else copy
        return spent(driven(plan(self.session, "ready_file", ["run"], sql=sql)), "run", self.rows)

    def write_file(self) -> None:
        """Loads the table once, and has the server write it to the file."""
        play(plan(self.session, "lineitem_load", ["cleanup", "prepare"]))
        self.ours()
        copy = f"COPY lineitem TO '{self.file}'{self._form}"
        select = f"SELECT * FROM lineitem INTO OUTFILE '{self.file}'"
        driver.ask(self.session, [select if self.is_mysql else copy])

    def empty(self) -> None:
        driver.ask(self.session, ["TRUNCATE TABLE lineitem"])

    @cached_property
    def rows(self) -> int:
        """Rows in the file; a row is a line."""
        with self.file.open("rb") as lines:
            return sum(1 for _ in lines)

    @cached_property
    def _start(self) -> Usage:
        return start_up(self._client("SELECT 1"))

    def _client(self, sql: str) -> list[object]:
        if self.is_postgres:
            return [*pinned(CLIENT_CORE), "psql", "-X", "-q", *libpq(self.session), "-c", sql]
        where = ["-u", self.session["user"], "-S", self.session["host"], self.session["database"]]
        return [*pinned(CLIENT_CORE), "mysql", "--local-infile=1", *where, "-e", sql]


def emptied(side: Side, bulk: Bulk) -> Side:
    """The side, which finds the table empty each time."""

    def measured() -> Spent:
        bulk.empty()
        return side()

    return measured


def case(at: str, bulk: Bulk, rounds: int) -> list[Row]:
    """One server."""
    bulk.write_file()
    sides: dict[str, Side] = {"ours": bulk.ours, "client": bulk.by_client, "server": bulk.by_server}
    limits: Limits = {"client": LIMIT}
    if not bulk.is_postgres and not (bulk.is_mysql and shutil.which("mysql")):
        del sides["client"]
        limits = {"server": LIMIT}
    taken = in_turn({name: emptied(side, bulk) for name, side in sides.items()}, rounds)
    rows = compare(at, taken, limits)
    print_rows(rows)
    return rows


def measured(at: str, words: Namespace) -> list[Row]:
    """Starts a server and measures it, with a folder that it may write to."""
    scale, rounds = (0.01, 3) if words.quick else (0.1, 10)
    settings = ANY_FOLDER if at.startswith("mysql") else {}
    with serving(at, **settings) as server, tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        return case(at, Bulk(server.session, scale, Path(folder) / "lineitem"), rounds)


def main() -> None:
    words = command("bulk-load", SERVERS).parse_args()
    conclude("bulk-load", [row for at in words.server for row in measured(at, words)])


if __name__ == "__main__":
    main()
