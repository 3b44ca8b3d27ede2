"""Ours and a peer in turn: pairs of measurements, their ratio, and how a benchmark reports."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Cost:
    """What one operation took, in ns."""

    wall_ns: float
    cpu_ns: float


@dataclass(frozen=True)
class Pair:
    """One round: ours and the peer."""

    ours: Cost
    peer: Cost

    @property
    def wall_ratio(self) -> float:
        """How many times the peer's wall time ours is."""
        return self.ours.wall_ns / self.peer.wall_ns

    @property
    def cpu_ratio(self) -> float:
        """How many times the peer's CPU ours is; a busy machine disturbs it less."""
        return self.ours.cpu_ns / self.peer.cpu_ns


def quick(name: str) -> bool:
    """Reads the command line of the benchmark `name`: was `--quick` given?"""
    parser = argparse.ArgumentParser(prog=f"bench/run {name}")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    return bool(parser.parse_args().quick)


def alternate(ours: Callable[[], Cost], peer: Callable[[], Cost], rounds: int) -> list[Pair]:
    """Plays both in every round, each first in every second one, after one round unmeasured."""
    ours(), peer()
    pairs = []
    for number in range(rounds):
        if number % 2:
            second = peer()
            pairs.append(Pair(ours(), second))
        else:
            first = ours()
            pairs.append(Pair(first, peer()))
    return pairs


def report_pairs(name: str, peer: str, pairs: Sequence[Pair]) -> None:
    """Prints every round, then the medians of the rounds' ratios and their range."""
    rows = [
        ("round", "driver ns", f"{peer} ns", "ratio", "driver CPU ns", f"{peer} CPU ns", "ratio")
    ]
    for number, pair in enumerate(pairs, 1):
        wall = (f"{pair.ours.wall_ns:.0f}", f"{pair.peer.wall_ns:.0f}", f"{pair.wall_ratio:.3f}")
        cpu = (f"{pair.ours.cpu_ns:.0f}", f"{pair.peer.cpu_ns:.0f}", f"{pair.cpu_ratio:.3f}")
        rows.append((str(number), *wall, *cpu))
    wall_ratios = [pair.wall_ratio for pair in pairs]
    cpu_ratios = [pair.cpu_ratio for pair in pairs]
    figures: dict[str, float | str] = {
        "bench": name,
        "wall_ratio": round(statistics.median(wall_ratios), 4),
        "wall_ratio_min": round(min(wall_ratios), 4),
        "wall_ratio_max": round(max(wall_ratios), 4),
        "cpu_ratio": round(statistics.median(cpu_ratios), 4),
        "cpu_ratio_min": round(min(cpu_ratios), 4),
        "cpu_ratio_max": round(max(cpu_ratios), 4),
    }
    report(rows, figures)


def report(rows: Iterable[Sequence[object]], figures: dict[str, float | str]) -> None:
    """Prints a table, then the figures as one line of JSON."""
    table(rows)
    print(json.dumps(figures))


def table(rows: Iterable[Sequence[object]]) -> None:
    """Prints rows in columns; the first is their head."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
