"""What others' CPU does to blocks interleaved: how many are dropped, how much wider they vary.

One build under two names, blocks with nobody beside and blocks beside a process that takes part of
the engine's core, comes and goes, over and over in the same hour. No block is dropped while it is
played; `dropped_percent` says how many each limit on foreign CPU would have taken. `--engine`,
`--share`, `--rounds` choose. It needs the engines, which are fetched.

`--as-steal` (root only) plays what a hypervisor does: a hog of real-time priority on every core
takes `--share` of it, 2 to 20 ms at a time, and whoever runs there stands still, as a virtual core
does that the hypervisor has taken away.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from paired import table
from resolution import INTERLEAVED, Case, log_ratios, prepare, valid_blocks

from dyno.compare.calibration.comparison import burn_intermittently
from dyno.instruments.time.run import play_run
from dyno.judge.analysis.blocks import compute_noise_shares
from dyno.judge.analysis.run_view import RunView
from dyno.record import Trial
from dyno.runs.run_folder import create_run

SELECT = {"time": "2", "warmup_time": "0.3", "table_size": "10000"}
CASES = (
    Case("sqlite@3.46.0", "oltp_point_select", 1, SELECT),
    Case("postgres@18", "oltp_point_select", 1, SELECT),
)
#: Blocks played with and without the hog in turn, so many at a time.
BLOCKS = 5
ROUNDS = 3
#: How long the hog works at a time; it rests as long as leaves it its share.
WORKS_S = (0.3, 2.0)
#: The same where it is to be like steal.
STEALS_S = (0.002, 0.02)
#: Limits on foreign CPU that are tried, in percent of all cores.
LIMITS = (10.0, 20.0, 30.0, 40.0, 50.0)


@dataclass
class Found:
    """Blocks of one kind: their log ratios, and what part of all CPU others took in each, and the
    hypervisor, in percent.
    """

    logs: list[float] = field(default_factory=list)
    foreign: list[float] = field(default_factory=list)
    steal: list[float] = field(default_factory=list)


@contextmanager
def hogs(share: float, as_steal: bool) -> Iterator[None]:
    """Takes `share` of the engine's core, or of every core as steal does; 0 for nothing."""
    works_s = STEALS_S if as_steal else WORKS_S
    cores = sorted(os.sched_getaffinity(0)) if as_steal else [1]
    with ExitStack() as stack:
        for core in cores if share else ():
            rests_s = tuple(seconds * (1 - share) / share for seconds in works_s)
            pid = stack.enter_context(
                burn_intermittently([core], random.Random(), works_s, rests_s)
            )
            if as_steal:
                os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))
        yield


def play(case: Case, share: float, as_steal: bool, blocks: int, found: Found) -> None:
    """Plays blocks beside a hog that takes `share` of the engine's core, 0 for none."""
    prepared = prepare(case, INTERLEAVED, blocks)
    with tempfile.TemporaryDirectory(prefix="dyno-") as place, hogs(share, as_steal):
        folder = create_run(prepared.run, Path(place))
        play_run(prepared, folder, lambda _: None)
        view = RunView(prepared.run, folder.read_trials())
    found.logs += log_ratios(view, case)
    phases = prepared.run.workloads[0].phase_names
    for block in valid_blocks(view):
        found.foreign.append(worst_share(block, phases, "foreign_percent"))
        found.steal.append(worst_share(block, phases, "steal_percent"))


def worst_share(block: Mapping[str, Trial], phases: frozenset[str], limit: str) -> float:
    """What a limit looks at: the share of the trial that met the most."""
    return max(compute_noise_shares(trial, phases).get(limit, 0.0) for trial in block.values())


def row(case: Case, share: float, found: Found) -> dict[str, object]:
    """What blocks of one kind came to."""
    return {
        "engine": case.engine,
        "hog_percent": round(100 * share),
        "blocks": len(found.logs),
        "foreign_median": round(statistics.median(found.foreign), 1),
        "foreign_max": round(max(found.foreign), 1),
        "steal_median": round(statistics.median(found.steal), 1),
        "steal_max": round(max(found.steal), 1),
        "sd_percent": round(100 * statistics.stdev(found.logs), 2),
        "dropped_percent": {
            f"{limit:g}": round(100 * sum(f > limit for f in found.foreign) / len(found.foreign))
            for limit in LIMITS
        },
        "pairs": [
            (round(100 * log, 2), round(f, 1), round(s, 1))
            for log, f, s in zip(found.logs, found.foreign, found.steal, strict=True)
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run foreign-cpu")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--engine", default="", help="only engines whose name begins so")
    parser.add_argument("--share", type=float, default=0.3, help="of a core that the hog takes")
    parser.add_argument(
        "--as-steal", action="store_true", help="takes cores away, as root only may"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of five blocks of each kind")
    asked = parser.parse_args()
    rounds, blocks = (1, 3) if asked.quick else (asked.rounds, BLOCKS)
    rows: list[dict[str, object]] = []
    for case in CASES:
        if not case.engine.startswith(asked.engine):
            continue
        kinds = {0.0: Found(), asked.share: Found()}
        for _ in range(rounds):
            for share, found in kinds.items():
                play(case, share, asked.as_steal, blocks, found)
        rows += [row(case, share, found) for share, found in kinds.items()]
    heads = [head for head in rows[0] if head != "pairs"]
    table([heads, *([each[head] for head in heads] for each in rows)])
    print(json.dumps({"bench": "foreign-cpu", "rows": rows}))


if __name__ == "__main__":
    main()
