"""A warehouse of TPC-C: its rows made and streamed by the driver, beside others' ways to load one.

`server`: the same rows lie ready in a file for each table, and the server reads these itself; all
else is the same: tables, transactions, indexes afterwards, the check of the population. The files
were just written, so they are cached. `sysbench`, with `--folder` (a copy of Percona's
sysbench-tpcc; PostgreSQL and MySQL): its own `prepare` of one warehouse by one thread, in INSERTs
of many rows, without its pause of 30 s and without the four indexes that we do not make. It commits
each statement, makes the two others before the rows, and checks nothing. Rates are of all nine
tables' rows, about 600,000. 5 rounds, half a minute a server, two or three with `--folder`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from argparse import Namespace
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bulk_load import ANY_FOLDER
from clients import driven, spent
from played import plan, play
from ratios import Limit, Limits, Row, compare, conclude, print_rows
from serving import command, serving
from spent import Side, Spent, in_turn, run
from sysbench import DRIVERS
from sysbench import command as sysbench

from dyno import driver
from dyno.driver.plan import Session
from dyno.workloads import find_workload

SERVERS = ("postgres@18", "mysql@8.0.33", "duckdb@1.5.6?threads=1")
TABLES = (
    *("warehouse", "district", "customer", "history", "item"),
    *("stock", "orders", "new_orders", "order_line"),
)
LIMITS: Limits = {
    "server": {"rate_per_s": Limit(least=0.9)},
    "sysbench": {"rate_per_s": Limit(least=1.0)},
}
#: In the place of the workload's own `_bulk_load.lua`: a table from its file, by the server.
READY = "return function(con, name) return con:query(([[{sql}]]):format(name, name)).nrows end\n"
#: Lines that sysbench's side does without, and how many they are.
LEFT_OUT, LEFT_OUT_LINES = ("   sleep(30)", '    con:query("CREATE INDEX fkey_'), 5
#: What DuckDB must be told of the form that the others write and read by default.
FORM = {"duckdb": " (DELIMITER '\t', HEADER false, NULLSTR '\\N')"}


@dataclass(frozen=True)
class Warehouse:
    """A server, a folder that it may write to, and the folder of sysbench-tpcc's scripts."""

    session: Session
    folder: Path
    peer: Path | None

    def sides(self) -> dict[str, Side]:
        """Ours and its peers on this server."""
        self.write_files()
        sides: dict[str, Side] = {"ours": self.ours, "server": self.by_server}
        if self.peer and self.session["kind"] in DRIVERS:
            sides["sysbench"] = partial(self.sysbench, str(self.peer / "tpcc.lua"))
        return sides

    def ours(self) -> Spent:
        """Made and streamed by the driver."""
        return self._prepared("tpcc")

    def by_server(self) -> Spent:
        """From the files, by the server itself."""
        return self._prepared(str(self.folder / "tpcc.lua"))

    def sysbench(self, script: str) -> Spent:
        """sysbench-tpcc's own; its start-up stays in."""
        options = {"tables": 1, "scale": 1, "use_fk": 0}
        used = run(sysbench(self.session, script, "prepare", options))[1]
        found = Spent(self._rows("1"), used.wall_ns, used)
        run(sysbench(self.session, script, "cleanup", options))
        return found

    def write_files(self) -> None:
        """Has the server write a warehouse's tables to files, and makes a workload of them."""
        play(plan(self.session, "tpcc", ["prepare"]))
        write, read = self._commands()
        driver.ask(self.session, [write % (table, table) for table in TABLES])
        play(plan(self.session, "tpcc", ["cleanup"]))
        own = find_workload("tpcc").parent
        for script in (own / "tpcc.lua", own / "_dialect.lua", *own.glob("_tpcc_*.lua")):
            shutil.copy(script, self.folder)
        (self.folder / "_bulk_load.lua").write_text(READY.format(sql=read))

    def _commands(self) -> tuple[str, str]:
        """What writes a table to a file of its name, and what reads it back."""
        file, kind = f"'{self.folder}/%s'", self.session["kind"]
        if kind == "mysql":
            return f"SELECT * FROM %s INTO OUTFILE {file}", f"LOAD DATA INFILE {file} INTO TABLE %s"
        form = FORM.get(kind, "")
        return f"COPY %s TO {file}{form}", f"COPY %s FROM {file}{form}"

    def _prepared(self, script: str) -> Spent:
        played = driven(plan(self.session, script, ["prepare"]))
        found = spent(played, "prepare", self._rows())
        play(plan(self.session, "tpcc", ["cleanup"]))
        return found

    def _rows(self, suffix: str = "") -> int:
        """Rows of all tables."""
        counts = [f"SELECT COUNT(*) FROM {table}{suffix}" for table in TABLES]
        return sum(int(rows[0][0]) for rows in driver.ask(self.session, counts))


def shortened(folder: Path, to: Path) -> Path:
    """A copy of sysbench-tpcc's scripts without what makes its load another one."""
    for script in folder.glob("*.lua"):
        shutil.copy(script, to)
    loading = to / "tpcc_common.lua"
    lines = loading.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(LEFT_OUT)]
    if len(lines) - len(kept) != LEFT_OUT_LINES:
        raise SystemExit(f"{folder}: these scripts load otherwise than those that are known")
    loading.write_text("".join(kept))
    return to


def measured(at: str, words: Namespace) -> list[Row]:
    """One server."""
    settings = ANY_FOLDER if at.startswith("mysql") else {}
    with serving(at, **settings) as server, tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        warehouse = Warehouse(server.session, Path(folder), words.folder)
        rows = compare(at, in_turn(warehouse.sides(), 3 if words.quick else 5), LIMITS)
    print_rows(rows)
    return rows


def main() -> None:
    parser = command("tpcc-load", SERVERS)
    parser.add_argument("--folder", type=Path, help="where sysbench-tpcc's scripts lie")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if words.folder:
            words.folder = shortened(words.folder, Path(folder))
            # sysbench looks for a script's modules in the working folder, not beside the script
            os.environ["LUA_PATH"] = f"{folder}/?.lua;;"
        conclude("tpcc-load", [row for at in words.server for row in measured(at, words)])


if __name__ == "__main__":
    main()
