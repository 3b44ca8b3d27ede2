"""Published claims of many cores beside what `dyno scale`'s model makes of their own numbers.

Prints the rows of docs/evidence/scaling.md, and writes its picture (`--svg FILE`). Nothing is
played: inputs are the published machine's cores and rates, and other people's cache lines.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno.instruments.scale.play import find_machine
from dyno.judge.stats.queueing_network import Cores, Demand, solve

CORES = (1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48)
#: POWER8 has two sockets of 12 cores; its lines are taken from a Power7.
POWER_NEAR = 12
#: CPU time of a point select: 24 cores, 7 to 10 % idle, at a million a second; sysbench's is in it.
SELECT_NS = 24 * 0.915 / 1e6 * 1e9


@dataclass(frozen=True)
class Curve:
    """A forecast with its band: `demands` are of the middle, the least and the most."""

    name: str
    colour: str
    demands: tuple[Demand, Demand, Demand]
    machine: str

    def compute(self, cores: int) -> tuple[float, float, float, float]:
        """Middle, low and high operations a second, and the middle's idle share."""
        _, line = find_machine(self.machine)
        near = POWER_NEAR if self.machine == "power7" else line.near_cores
        found = []
        for demand, ns in zip(self.demands, (line.ns, line.low_ns, line.high_ns), strict=True):
            far_ns = (line.far_ns or ns) * ns / line.ns
            found.append(solve(demand, Cores(cores, ns, far_ns, near), 8 * cores))
        rates = [1e9 * it.rate for it in found]
        return rates[0], min(rates), max(rates), max(0.0, found[0].idle)


def make_line(name: str, colour: str, cpu_ns: float, ways: Sequence[float], machine: str) -> Curve:
    """A shared lock that moves its line so many times an operation: middle, least, most."""
    demands = [Demand(cpu_ns, transfers={"line": it} if it else {}) for it in ways]
    return Curve(name, colour, (demands[0], demands[1], demands[2]), machine)


def make_lock(
    name: str, colour: str, cpu_ns: float, held: Sequence[tuple[float, float]], machine: str
) -> Curve:
    """An exclusive lock: the ns held of an operation and how often it is handed over."""
    demands = [Demand(cpu_ns, {"lock": ns}, {"lock": times}) for ns, times in held]
    return Curve(name, colour, (demands[0], demands[1], demands[2]), machine)


BLUE, RED, GREEN = "#2563eb", "#dc2626", "#059669"
PLAIN = (0.0, 0.0, 0.0)
#: Each claim: its title, curves, and what was published (cores, operations a second, words).
CLAIMS: dict[str, tuple[str, tuple[Curve, ...], tuple[tuple[int, float, str], ...]]] = {
    "A7": (
        "A7: point selects and LOCK_grant",
        (
            make_line("without the lock", GREEN, SELECT_NS, PLAIN, "power7"),
            make_line("a shared lock", BLUE, SELECT_NS, (1.5, 1, 2), "power7"),
            make_lock("a mutex within it", RED, SELECT_NS, ((0, 3), (0, 2), (0, 4)), "power7"),
        ),
        ((24, 630e3, "630 k, 30 to 40 % idle"), (24, 1e6, "1 M, 7 to 10 % idle")),
    ),
    "A8": (
        "A8: the query cache's mutex",
        (
            make_lock("off", GREEN, SELECT_NS, ((0, 3), (0, 2), (0, 4)), "power7"),
            make_lock(
                "on, 2 to 8 µs held", BLUE, SELECT_NS, ((4e3, 3), (2e3, 2), (8e3, 4)), "power7"
            ),
            make_lock(
                "on, 16 µs held", RED, SELECT_NS, ((16e3, 3), (16e3, 2), (16e3, 4)), "power7"
            ),
        ),
        ((24, 63e3, "an order of magnitude below 630 k"),),
    ),
    "A17": (
        "A17: TPC-C's index lock, one socket of 24 cores and two",
        (
            make_line("60 moves of its line", GREEN, 3e6, (60, 30, 120), "xeon-8275cl"),
            make_lock(
                "splits of 20 µs", BLUE, 3e6, ((12e3, 60), (6e3, 30), (24e3, 120)), "xeon-8275cl"
            ),
            make_line("1,400 moves of its line", RED, 3e6, (1400, 1200, 1600), "xeon-8275cl"),
        ),
        (),
    ),
}


def main() -> None:
    """The rows, and the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--svg", type=Path, help="where the picture goes")
    asked = parser.parse_args()
    print("| claim | forecast of | on 24 cores | idle | on 48 cores |")
    print("|---|---|---|---|---|")
    for claim, (_, curves, published) in CLAIMS.items():
        for curve in curves:
            (rate, low, high, idle), two = curve.compute(24), curve.compute(48)
            cell = f"{rate:,.0f} [{low:,.0f}, {high:,.0f}]"
            print(f"| {claim} | {curve.name} | {cell} | {100 * idle:.0f} % | {two[0]:,.0f} |")
        for cores, _, words in published:
            print(f"| {claim} | *published, {cores} cores* | {words} | | |")
    if asked.svg:
        asked.svg.write_text(draw())


WIDTH, HEIGHT, LEFT, TOP, GAP = 360, 300, 60, 40, 70


def draw() -> str:
    """Three panels, logarithmic on both axes: bands, curves, and crosses for what was published."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{3 * (WIDTH + GAP)}" height="420" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    for at, (title, curves, published) in enumerate(CLAIMS.values()):
        parts += _draw_panel(LEFT + at * (WIDTH + GAP), title, curves, published)
    return "\n".join([*parts, "</svg>\n"])


def _draw_panel(
    left: int, title: str, curves: Sequence[Curve], published: Sequence[tuple[int, float, str]]
) -> list[str]:
    points = [(curve, [curve.compute(cores) for cores in CORES]) for curve in curves]
    values = [rate for _, each in points for it in each for rate in it[:3]]
    values += [rate for _, rate, _ in published]
    low, high = math.log(min(values) / 1.2), math.log(max(values) * 1.3)

    def across(cores: float) -> float:
        return left + WIDTH * math.log(cores) / math.log(CORES[-1])

    def up(rate: float) -> float:
        return TOP + HEIGHT * (1 - (math.log(rate) - low) / (high - low))

    parts = [
        f'<text x="{left}" y="20" font-weight="bold">{title}</text>',
        f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
    ]
    for cores in (1, 2, 4, 8, 16, 24, 48):
        parts.append(
            f'<text x="{across(cores):.0f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">'
            f"{cores}</text>"
        )
    for power in range(2, 8):
        for digit in (1, 2, 5):
            tick = digit * 10.0**power
            if low < math.log(tick) < high:
                told = f"{tick / 1e6:g} M" if tick >= 1e6 else f"{tick / 1e3:g} k"
                parts.append(
                    f'<text x="{left - 5}" y="{up(tick) + 4:.0f}" text-anchor="end">{told}</text>'
                )
    for at, (curve, found) in enumerate(points):
        pairs = list(zip(CORES, found, strict=True))
        ends = [(n, it[2]) for n, it in pairs] + [(n, it[1]) for n, it in reversed(pairs)]
        band = " ".join(f"{across(n):.1f},{up(rate):.1f}" for n, rate in ends)
        line = " ".join(f"{across(n):.1f},{up(it[0]):.1f}" for n, it in pairs)
        parts += [
            f'<polygon points="{band}" fill="{curve.colour}" fill-opacity="0.15"/>',
            f'<polyline points="{line}" fill="none" stroke="{curve.colour}" stroke-width="2" '
            'stroke-dasharray="5 3"/>',
            f'<text x="{left}" y="{TOP + HEIGHT + 36 + 16 * at}" fill="{curve.colour}">'
            f"forecast: {curve.name}</text>",
        ]
    for cores, rate, words in published:
        parts.append(
            f'<text x="{across(cores):.0f}" y="{up(rate) + 6:.0f}" text-anchor="middle" '
            f'font-size="18">×</text><text x="{across(cores) - 10:.0f}" y="{up(rate) - 6:.0f}" '
            f'text-anchor="end">published: {words}</text>'
        )
    return parts


if __name__ == "__main__":
    main()
