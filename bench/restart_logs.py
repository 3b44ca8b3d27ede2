"""Restart logs of one real build under two names: played here, kept in a folder, read again.

A log is a file of JSON lines, `restarts.jsonl`: each holds the slices of some pairs of restarts,
played interleaved or one after the other. No noise limit drops any, so all rules see the same.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from made_up import Comparisons, of_log
from resolution import INTERLEAVED, SEQUENTIAL, Case, Order, prepare, slices_of, valid_blocks

from dyno.instruments.time.run import play_run
from dyno.instruments.time.watch import Event, Progressed, TrialStarted
from dyno.judge.analysis.run_view import RunView
from dyno.record import Phase
from dyno.runs.run_folder import create_run

SIDES = ("a", "b")
ORDERS = {order.name: order for order in (SEQUENTIAL, INTERLEAVED)}
#: What the log calls a slice: so long a piece of what is counted. Turns are shorter where an
#: event is short, so that several are joined: a host that stands still for 30 ms leaves some
#: turns empty, and an empty one has no time per operation.
SLICE_S = 0.1
#: What a restart is measured.
SECONDS = 1.0
OPTIONS = {"time": f"{SECONDS:g}", "warmup_time": "0.2", "table_size": "10000"}
#: A log of fewer pairs is no sample to draw a comparison from that goes on to the last analysis.
PAIRS_LEAST = 24
FILE = "restarts.jsonl"


class Slices:
    """Watches a run: the events in the slices of each trial's measured time, by its number."""

    def __init__(self, phase: Phase) -> None:
        self.phase, self.warmup_s = phase.name, phase.warmup_s
        self.number, self.before_s = 0, 0.0
        self.found: dict[int, list[float]] = defaultdict(list)

    def __call__(self, event: Event) -> None:
        """Hears what the run says of itself."""
        if isinstance(event, TrialStarted):
            self.number, self.before_s = event.number, 0.0
        elif isinstance(event, Progressed) and event.phase == self.phase:
            if self.before_s >= self.warmup_s:
                self.found[self.number].append(round(event.streams[0].rate_per_s, 1))
            self.before_s = event.elapsed_s


def play(folder: Path, engine: str, order: Order, blocks: int) -> None:
    """Plays so many pairs of restarts of `engine` and adds them to the log in `folder`."""
    prepared = prepare(Case(engine, "oltp_point_select", 1, OPTIONS), order, blocks)
    prepared = replace(prepared, progress_s=SLICE_S)
    phase = prepared.run.workloads[0].phases[-1]
    heard = Slices(phase)
    with tempfile.TemporaryDirectory(prefix="dyno-") as place:
        made = create_run(prepared.run, Path(place))
        play_run(prepared, made, heard)
        view = RunView(prepared.run, made.read_trials())
    turns = prepared.run.design.interleaving
    rates: dict[str, list[Sequence[float]]] = {side: [] for side in SIDES}
    for block in valid_blocks(view):
        for side in SIDES:
            if turns is None:
                rates[side].append(heard.found[block[side].number])
            else:
                time_slice = turns.find_slice(prepared.run.workloads[0].name)
                counted_s = time_slice.length_s - time_slice.ramp_in_s
                rates[side].append(join_turns(slices_of(block[side], phase.name), counted_s))
    folder.mkdir(parents=True, exist_ok=True)
    line = {"engine": engine, "order": order.name, "seconds": SECONDS}
    with (folder / FILE).open("a") as kept:
        kept.write(json.dumps(line | rates) + "\n")


def join_turns(events: Sequence[int], counted_s: float) -> list[float]:
    """Events per second of turns that follow one another, joined to about `SLICE_S`.

    Turns left over at the end, too few for a slice, are left out.
    """
    many = max(1, round(SLICE_S / counted_s))
    begins = range(0, len(events) - many + 1, many)
    return [round(sum(events[at : at + many]) / (many * counted_s), 1) for at in begins]


def stored(folder: Path, runs: int) -> dict[tuple[str, str], Comparisons]:
    """So many comparisons drawn from every log in a folder, by engine and order; logs of too few
    pairs are left out.
    """
    found: dict[tuple[str, str], dict[str, list[list[float]]]] = {}
    for text in (folder / FILE).read_text().splitlines():
        line = json.loads(text)
        sides = found.setdefault((line["engine"], line["order"]), {side: [] for side in SIDES})
        for side in SIDES:
            sides[side] += line[side]
    return {
        name: comparisons(sides, runs)
        for name, sides in sorted(found.items())
        if len(sides[SIDES[0]]) >= PAIRS_LEAST
    }


def comparisons(rates: dict[str, list[list[float]]], runs: int) -> Comparisons:
    """Rates as times per operation, each restart cut to as many slices as all have.

    A slice in which nothing was done, on a crowded host, has no time per operation.
    """
    full = {side: [[rate for rate in each if rate > 0] for each in rates[side]] for side in SIDES}
    least = min(len(slices) for side in SIDES for slices in full[side])
    times = (1 / np.array([slices[:least] for slices in full[side]]) for side in SIDES)
    return of_log(*times, SECONDS, runs)
