"""How many rows of the star schema benchmark a core makes, beside ssb-dbgen, and whether they are
the same.

Each side writes the five tables of scale 1 (6.2 million rows) to files, in turn; a row's cost is
the CPU of the whole process, files written. Target: a million rows a second. `--dbgen FILE` names
the program of github.com/eyalroz/ssb-dbgen, built by you with its `dists.dss` beside it; without
it only ours is measured. With it, every file is held against ours byte for byte.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path

from paired import Cost, alternate, report, table

from dyno import driver

TABLES = ("part", "supplier", "customer", "date", "lineorder")
LEAST_ROWS_PER_S = 1e6


def spent(command: Sequence[object], out: Path | None, **more: str) -> Cost:
    """Wall time and CPU of a program, in ns, from its start to its end."""
    with (out or Path(os.devnull)).open("wb") as file:
        before = os.times()
        subprocess.run(
            [str(word) for word in command], stdout=file, check=True, env={**os.environ, **more}
        )
        after = os.times()
    cpu_s = after.children_user + after.children_system
    cpu_s -= before.children_user + before.children_system
    return Cost((after.elapsed - before.elapsed) * 1e9, cpu_s * 1e9)


def total(costs: Sequence[Cost]) -> Cost:
    return Cost(sum(it.wall_ns for it in costs), sum(it.cpu_ns for it in costs))


def ours(folder: Path, scale: float) -> Cost:
    """The driver's rows of all tables, a process each."""
    rows = [json.dumps({"kind": "ssb", "table": name, "scale": scale}) for name in TABLES]
    commands = [(driver.find_driver(), "rows", each) for each in rows]
    files = [folder / name for name in TABLES]
    return total([spent(*each) for each in zip(commands, files, strict=True)])


def theirs(program: Path, folder: Path) -> Cost:
    """ssb-dbgen's, in one process; its calendar is that of the local time."""
    words = [program, "-q", "-s", 1, "-b", program.with_name("dists.dss")]
    return spent(words, None, DSS_PATH=str(folder), TZ="UTC")


def rows_in(folder: Path) -> int:
    """Rows of all tables; a row is a line."""
    lines = 0
    for name in TABLES:
        with (folder / name).open("rb") as file:
            lines += sum(1 for _ in file)
    return lines


def differing(ours: Path, theirs: Path) -> list[str]:
    """Tables of which some row differs; theirs has bars for tabs, and one behind each row."""
    found = []
    for name in TABLES:
        with (ours / name).open("rb") as our_rows, (theirs / f"{name}.tbl").open("rb") as rows:
            pairs = zip_longest(our_rows, rows, fillvalue=b"")
            if any(a.replace(b"\t", b"|")[:-1] + b"|\n" != b for a, b in pairs):
                found.append(name)
    return found


def measured(
    our_side: Callable[[], Cost], peer: Callable[[], Cost] | None, rounds: int
) -> list[tuple[Cost, Cost | None]]:
    if peer is None:
        our_side()
        return [(our_side(), None) for _ in range(rounds)]
    return [(pair.ours, pair.peer) for pair in alternate(our_side, peer, rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run ssb-rows")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--dbgen", type=Path, help="your own build of ssb-dbgen")
    words = parser.parse_args()
    if words.quick and words.dbgen:
        parser.error("--quick is for ours alone: below scale 1 ssb-dbgen's calendar is another")
    scale, rounds = (0.05, 1) if words.quick else (1, 5)
    with tempfile.TemporaryDirectory() as place:
        our_folder, peer_folder = Path(place) / "ours", Path(place) / "theirs"
        our_folder.mkdir()
        peer_folder.mkdir()
        peer = (lambda: theirs(words.dbgen.resolve(), peer_folder)) if words.dbgen else None
        rounds_taken = measured(lambda: ours(our_folder, scale), peer, rounds)
        rows = rows_in(our_folder)
        unlike = differing(our_folder, peer_folder) if peer else []
    rates = [rows / our_cost.cpu_ns * 1e9 for our_cost, _ in rounds_taken]
    peers = [rows / cost.cpu_ns * 1e9 for _, cost in rounds_taken if cost]
    figures: dict[str, float | str] = {
        "bench": "ssb-rows",
        "rows": rows,
        "rows_per_s": round(statistics.median(rates)),
        "target_ratio": round(statistics.median(rates) / LEAST_ROWS_PER_S, 4),
    }
    head = ["round", "rows/s of a core"]
    cells: list[list[object]] = [[number, f"{rate:.0f}"] for number, rate in enumerate(rates, 1)]
    if peers:
        head += ["ssb-dbgen's", "ratio"]
        for cell, rate, its in zip(cells, rates, peers, strict=True):
            cell += [f"{its:.0f}", f"{rate / its:.2f}"]
        ratios = [rate / its for rate, its in zip(rates, peers, strict=True)]
        figures["peer_rows_per_s"] = round(statistics.median(peers))
        figures["peer_ratio"] = round(statistics.median(ratios), 4)
        figures["differing_tables"] = " ".join(unlike)
    else:
        table([("ssb-dbgen is not measured: name a build of it by --dbgen FILE",)])
    report([head, *cells], figures)


if __name__ == "__main__":
    main()
