"""Unmodified sysbench scripts: under the driver beside under sysbench itself.

Debian's eleven scripts play on one server, with the same options, from core 1, in turn: 10 pairs
of 2 s over 4 connections. CPU and rate are per event. Tables that a script makes grow or shrink
are made anew before each measurement, by sysbench. A rate more than 5 % above sysbench's is said
to be `beyond`: the client's core is what limits there.

About 12 minutes a server; `--script oltp_read_only` plays one. Others' scripts, with their options:

    bench/run script-cost --folder sysbench-tpcc --script tpcc --option tables=1 --option scale=1
    bench/run script-cost --folder oltp_legacy --script oltp --option oltp_table_size=100000
"""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from clients import Driver, Load
from ratios import Limit, Limits, Row, compare, conclude, print_rows
from serving import budget, command, serving, timed
from spent import Side, Spent, in_turn, run
from sysbench import Sysbench
from sysbench import command as sysbench

from dyno.driver.plan import Session

FOLDER = Path("/usr/share/sysbench")
SERVERS = ("postgres@18", "mysql@5.6.14", "mysql@8.0.33")
OLTP: dict[str, object] = {"table_size": 100_000, "tables": 1, "rand_type": "uniform"}
#: Scripts after which their table is another one.
DRIFTING = ("bulk_insert", "oltp_delete", "oltp_insert")
LIMITS: Limits = {
    "sysbench": {"cpu_us": Limit(most=1.0), "rate_per_s": Limit(least=0.95, most=1.05)}
}


def scripts(folder: Path) -> list[str]:
    """Those that can be run: all but the one that the others require."""
    return sorted(path.stem for path in folder.glob("*.lua") if path.stem != "oltp_common")


def options(words: Namespace, script: str) -> dict[str, object]:
    """The user's, or those of sysbench's own scripts."""
    if words.option:
        return dict(pair.split("=", 1) for pair in words.option)
    return {} if script == "bulk_insert" else OLTP


def reload(session: Session, load: Load) -> None:
    """Makes the script's tables, as it does so itself under sysbench."""
    options = {"threads": load.connections, **load.options}
    for word in ("cleanup", "prepare"):
        run(sysbench(session, load.workload, word, options))


def reloaded(side: Side, session: Session, load: Load) -> Side:
    """The side, which finds new tables each time."""

    def measured() -> Spent:
        reload(session, load)
        return side()

    return measured


def case(at: str, session: Session, script: str, words: Namespace) -> list[Row]:
    """One script on one server."""
    time_s, rounds = budget(words)
    path = words.folder / f"{script}.lua"
    load = Load(str(path), words.connections, time_s, options(words, script))
    sides: dict[str, Side] = {"ours": Driver(session, load), "sysbench": Sysbench(session, load)}
    reload(session, load)
    if script in DRIFTING:
        sides = {name: reloaded(side, session, load) for name, side in sides.items()}
    rows = compare(f"{at} {script}", in_turn(sides, rounds), LIMITS)
    run(sysbench(session, load.workload, "cleanup", {"threads": load.connections, **load.options}))
    print_rows(rows)
    return rows


def main() -> None:
    parser = timed(command("script-cost", SERVERS))
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the scripts lie")
    parser.add_argument("--script", nargs="+", help="by name; all that lie there, if none is named")
    parser.add_argument("--option", action="append", default=[], help="a script's own, KEY=VALUE")
    words, rows = parser.parse_args(), []
    # sysbench looks for a script's modules in the working folder, not beside the script
    os.environ["LUA_PATH"] = f"{words.folder.absolute()}/?.lua;;"
    for at in words.server:
        with serving(at) as server:
            for script in words.script or scripts(words.folder):
                rows += case(at, server.session, script, words)
    conclude("script-cost", rows)


if __name__ == "__main__":
    main()
