"""What a fleet costs: the same tiny experiment here, and over one and two hosts, by ssh and Ray.

    bench/run fleet [--quick]

Hosts are namespaces of this machine, with an sshd and Ray nodes of the bench's own (root). Engines
that wait leave the cores idle, so two hosts of one machine hardly disturb each other. What a share
costs beside its trials is the time of four shares less that of one, by three.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from fleet_hosts import serving_hosts  # noqa: E402
from fleet_plays import FleetCaller, write_experiment  # noqa: E402
from ray_nodes import PORT, serving_nodes  # noqa: E402

MOVED = re.compile(r"^(\S+): has nothing left to play; sent (.+), received (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Way:
    """A way to play: its name, hosts, shares, and the fleet as the command names it."""

    name: str
    hosts: int
    shares: int
    on: str = ""


@dataclass
class Row:
    """A way, its wall time, and what was moved."""

    way: Way
    wall_s: float
    moved: str


def play(caller: FleetCaller, words: list[str]) -> tuple[float, str]:
    """A play's wall time, and what it printed."""
    began = time.monotonic()
    code, said = caller.call(*words)
    assert code in (0, 1, 2, 3), said
    return time.monotonic() - began, said


def describe_moved(said: str) -> str:
    """What each host was sent and sent back."""
    found = [f"{sent} there, {back} back" for _, sent, back in MOVED.findall(said)]
    return "; ".join(found) or "-"


def play_way(way: Way, caller: FleetCaller, experiment: Path, repeats: int) -> Row:
    """The experiment played so, the median of `repeats` by wall time."""
    words = ["run", str(experiment), "--on", way.on, "--shares", str(way.shares)]
    plays = sorted(play(caller, words) for _ in range(repeats))
    wall_s, said = plays[len(plays) // 2]
    return Row(way, wall_s, describe_moved(said))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="bench/run fleet")
    parser.add_argument("--quick", action="store_true", help="once each, not three times")
    repeats = 1 if parser.parse_args().quick else 3
    with tempfile.TemporaryDirectory(prefix="dyno-bench-") as name:
        home = Path(name)
        caller = FleetCaller(home)
        experiment = write_experiment(home, 0.5, blocks=4)
        walls = [
            play(caller, ["shard", "1/1", str(experiment), "--dir", str(home / f"here-{n}")])[0]
            for n in range(repeats)
        ]
        here_s = sorted(walls)[len(walls) // 2]
        rows = [Row(Way("here", 1, 1), here_s, "-")]
        rows += play_by_ssh(home, caller, experiment, repeats)
        rows += play_by_ray(home, experiment, repeats)
    print_table(rows, here_s)


def play_by_ssh(home: Path, caller: FleetCaller, experiment: Path, repeats: int) -> list[Row]:
    """Over one host and over two."""
    (home / "ssh").mkdir()
    with serving_hosts(home / "ssh", ("h1", "h2")) as fleet:
        one, two = home / "one.toml", home / "two.toml"
        one.write_text(fleet.write_hosts({"h1": (fleet.hosts[0], {})}).read_text())
        two.write_text(fleet.write_hosts().read_text())
        ways = [Way("ssh", 1, 1, f"ssh:{one}"), Way("ssh", 1, 4, f"ssh:{one}")]
        ways.append(Way("ssh", 2, 4, f"ssh:{two}"))
        return [play_way(way, caller, experiment, repeats) for way in ways]


def play_by_ray(home: Path, experiment: Path, repeats: int) -> list[Row]:
    """The same by Ray, a cluster for each number of nodes."""
    rows = []
    for names, dealt in ((("n1",), (1, 4)), (("n1", "n2"), (4,))):
        own = home / f"ray{len(names)}"
        own.mkdir()
        with serving_nodes(own, names) as cluster:
            inside = FleetCaller(home, cluster.enter())
            ways = [Way("ray", len(names), shares, f"ray:127.0.0.1:{PORT}") for shares in dealt]
            rows += [play_way(way, inside, experiment, repeats) for way in ways]
    return rows


def print_table(rows: list[Row], here_s: float) -> None:
    """The rows, then what each way adds."""
    print("| way | hosts | shares | wall, s | moved, by host |\n|---|---|---|---|---|")
    for row in rows:
        way = row.way
        print(f"| {way.name} | {way.hosts} | {way.shares} | {row.wall_s:.1f} | {row.moved} |")
    for name in ("ssh", "ray"):
        one, four = (it.wall_s for it in rows if (it.way.name, it.way.hosts) == (name, 1))
        print(f"{name}: {one - here_s:.1f} s once, {(four - one) / 3:.1f} s for each further share")


if __name__ == "__main__":
    main()
