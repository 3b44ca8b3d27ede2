"""Command lines that people swap: the tool's own, and the same words behind `dyno`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pgbench import libpq
from serving import CLIENT_CORE, pinned
from spent import Spent, Usage, less, number, run, start_up
from sysbench import at

from dyno.driver.plan import Session

#: What each tool reports: how many were played, and seconds or a rate.
COUNTED = {"pgbench": r"actually processed: (\d+)", "sysbench": r"number of events: +(\d+)"}
#: Arguments before the place of the server: `{seconds}` of play, or one event.
FOR_A_TIME = {"pgbench": ("-T", "{seconds}"), "sysbench": ("--events=0", "--time={seconds}")}
ONCE = {"pgbench": ("-t", "1"), "sysbench": ("--events=1", "--time=0")}


@dataclass(frozen=True)
class SwappedLine:
    """A command line as a client to be measured; `before` is what stands before its words."""

    words: tuple[str, ...]
    where: tuple[str, ...]
    time_s: int
    before: tuple[str, ...] = ()

    def __call__(self) -> Spent:
        said, used = run(self._command(FOR_A_TIME))
        count = int(number(said, COUNTED[self.words[0]]))
        if self.words[0] == "pgbench":
            wall_s = count / number(said, r"tps = ([\d.]+)")
        else:
            wall_s = number(said, r"total time: +([\d.]+)s")
        return Spent(count, wall_s * 1e9, less(used, self._start))

    @cached_property
    def _start(self) -> Usage:
        return start_up(self._command(ONCE))

    def _command(self, stop: Mapping[str, tuple[str, ...]]) -> list[object]:
        told = [word.format(seconds=self.time_s) for word in stop[self.words[0]]]
        return [*pinned(CLIENT_CORE), *self.before, *self.words, *told, *self.where]


def lines(folder: Path) -> dict[str, tuple[str, ...]]:
    """The lines by name; their script files are made in `folder`."""
    one_select = folder / "one_select.sql"
    one_select.write_text("SELECT 1;\n")
    many = ("-n", "-c", "20", "-j", "2")
    return {
        "pgbench -S -c 1": ("pgbench", "-S", "-n", "-c", "1"),
        "pgbench -S -c 20 -j 2": ("pgbench", "-S", *many),
        "pgbench -S -c 64 -j 2": ("pgbench", "-S", "-n", "-c", "64", "-j", "2"),
        "pgbench -c 20 -j 2": ("pgbench", *many),
        "pgbench -f one_select.sql -c 20 -j 2": ("pgbench", "-f", str(one_select), *many),
        "sysbench oltp_point_select --threads=20": (
            *("sysbench", "oltp_point_select", "--db-driver=pgsql"),
            *("--threads=20", "--table-size=100000"),
        ),
    }


def both_sides(words: tuple[str, ...], session: Session, time_s: int) -> dict[str, SwappedLine]:
    """The tool's own line, and the same behind our `dyno`."""
    if words[0] == "pgbench":
        where: tuple[str, ...] = tuple(libpq(session))
    else:
        pairs = at(session).items()
        where = (*(f"--{name.replace('_', '-')}={value}" for name, value in pairs), "run")
    theirs = SwappedLine(words, where, time_s)
    return {
        "ours": replace(theirs, before=(str(Path(sys.executable).with_name("dyno")),)),
        words[0]: theirs,
    }


def fill(session: Session) -> None:
    """Makes pgbench's tables."""
    run(["pgbench", "-i", "-q", "-s", 10, *libpq(session)])
