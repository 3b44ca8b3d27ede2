"""What a cluster costs: the same tiny experiment here, and over one and two nodes by Ray.

    bench/run fleet [--quick]

Nodes are namespaces of this machine, with Ray of the bench's own (root). Engines
that wait leave the cores idle, so two nodes of one machine hardly disturb each other. What a share
costs beside its trials is the time of four shares less that of one, by three.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from fleet_plays import FleetCaller, write_experiment  # noqa: E402
from ray_nodes import PORT, serving_nodes  # noqa: E402


@dataclass
class Row:
    """Nodes, shares, and the wall time of each play; the median counts."""

    nodes: int
    shares: int
    walls: list[float]

    @property
    def wall_s(self) -> float:
        """The median, in s."""
        return statistics.median(self.walls)


def play(caller: FleetCaller, words: list[str]) -> float:
    """A play's wall time."""
    began = time.monotonic()
    code, said = caller.call(*words)
    assert code in (0, 1, 2, 3), said
    return time.monotonic() - began


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="bench/run fleet")
    parser.add_argument("--quick", action="store_true", help="once each, not three times")
    repeats = 1 if parser.parse_args().quick else 3
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as name:
        home = Path(name)
        caller = FleetCaller(home)
        experiment = write_experiment(home, 0.5, blocks=4)
        shard = ["shard", "1/1", str(experiment), "--dir"]
        here = Row(1, 1, [play(caller, [*shard, str(home / f"{n}")]) for n in range(repeats)])
        rows = list(play_by_ray(home, experiment, repeats))
    print("| way | nodes | shares | wall, s |\n|---|---|---|---|")
    print(f"| `dyno shard 1/1` here | 1 | 1 | {here.wall_s:.1f} |")
    for row in rows:
        print(f"| ray | {row.nodes} | {row.shares} | {row.wall_s:.1f} |")
    one, four = (row.wall_s for row in rows[:2])
    print(f"{one - here.wall_s:.1f} s once, {(four - one) / 3:.1f} s for each further share")


def play_by_ray(home: Path, experiment: Path, repeats: int) -> Iterator[Row]:
    """Over one node and over two, a cluster for each."""
    for names, dealt in ((("n1",), (1, 4)), (("n1", "n2"), (4,))):
        own = home / f"ray{len(names)}"
        own.mkdir()
        with serving_nodes(own, names) as cluster:
            inside = FleetCaller(home, cluster.enter())
            for shares in dealt:
                words = ["run", str(experiment), "--on", f"ray:127.0.0.1:{PORT}"]
                words += ["--shares", str(shares)]
                yield Row(len(names), shares, [play(inside, words) for _ in range(repeats)])


if __name__ == "__main__":
    main()
