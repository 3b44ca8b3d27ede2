"""How small a difference blocks of restarts can tell: one after the other, and by turns.

The same build under two names, in the same hour: some blocks sequential, some by turns, over and
over. A block's datum is the log ratio of its two sides, so its sd is what a verdict rests on; both
designs measure each side for the same time. `variance_ratio` is how many times smaller turns' block
variance is at equal machine time. `--engine`, `--workload`, `--rounds` choose; all of it takes
about 40 minutes. It needs the engines, which are fetched.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from paired import table

from dyno.analysis.run_view import RunView
from dyno.experiment import Experiment, Measuring, compare_candidates
from dyno.play.run import play_run
from dyno.record import Run, Trial
from dyno.resolve.experiment import resolve_experiment
from dyno.run_folder import create_run
from dyno.stats.interval import to_percent
from dyno.stats.power import detectable

ALPHA = 0.05
#: Blocks of one design in a round.
BLOCKS = 3
ROUNDS = 4
#: MDE80 is quoted for so many blocks, which a run of two minutes has at 12 s a block.
QUOTED_BLOCKS = 10
#: Noise limits would drop what is to be measured here.
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}
DESIGNS = ("sequential", "interleaved")
SELECT = {"time": "5", "warmup_time": "0.5", "table_size": "10000"}
WRITE = {"time": "5", "warmup_time": "1", "table_size": "10000"}
INSERT = {"load_rows": "20000", "write_rows": "30000", "query_rates": ""}


@dataclass(frozen=True)
class Case:
    """What is played, and the metric that is looked at."""

    engine: str
    workload: str
    clients: int
    options: dict[str, str]
    phase: str = "run"

    @property
    def pinning(self) -> str:
        """One client and its server share a core, as the pilot has it where waking up is dear."""
        alone = self.clients == 1 and not self.engine.startswith("sqlite")
        return "together" if alone else "apart"

    @property
    def experiment(self) -> Experiment:
        """Its A/A comparison, whose design is filled in later."""
        option = "clients" if self.workload == "insert" else "threads"
        options = {**self.options, option: str(self.clients)}
        specs = [f"{side}={self.engine}" for side in ("a", "b")]
        return compare_candidates(specs, self.workload, options, Measuring(aa=True))


def cases() -> list[Case]:
    """Three engines, three workloads; point selects by one client and by several."""
    engines = ("sqlite@3.46.0", "postgres@18", "mysql@8.0.33")
    found = []
    for engine in engines:
        embedded = engine.startswith("sqlite")
        found.append(Case(engine, "oltp_point_select", 1, SELECT))
        if not embedded:
            found.append(Case(engine, "oltp_point_select", 4, SELECT))
        found.append(Case(engine, "oltp_read_write", 1 if embedded else 4, WRITE))
        found.append(Case(engine, "insert", 1, INSERT, "l.i1"))
    return found


@dataclass
class Blocks:
    """Blocks of one design: their log ratios, and what each took."""

    logs: list[float]
    seconds: list[float]


def play(case: Case, design: str, blocks: int) -> Blocks:
    """Some blocks of one design, of the engine with itself."""
    sequential = design == "sequential"
    measuring = Measuring(
        blocks=blocks,
        fixed=True,
        limits=CALM,
        aa=True,
        sequential=sequential,
        loads=0,
        controls={"pinning": case.pinning},
    )
    made = replace(case.experiment, measuring=measuring)
    prepared = resolve_experiment(made, lambda clause: print(clause, file=sys.stderr))
    with tempfile.TemporaryDirectory(prefix="dyno-") as place:
        folder = create_run(prepared.run, Path(place))
        began = datetime.now().astimezone()
        play_run(prepared, folder, lambda _: None)
        ended = datetime.now().astimezone()
        trials = folder.trials()
        logs = log_ratios(prepared.run, trials, case)
    floors = [t for t in trials if t.block < 0]
    first = min(datetime.fromisoformat(t.started_utc) for t in trials if t not in floors)
    seconds = (ended - max(first, began)).total_seconds() / max(1, blocks)
    return Blocks(logs, [seconds] * len(logs))


def log_ratios(run: Run, trials: Sequence[Trial], case: Case) -> list[float]:
    """Block by block, of the metric that is primary in the case's phase."""
    view = RunView(run, trials)
    primary = next(p for p in view.primaries if p.phase == case.phase)
    found = []
    for block in view.blocks[run.workloads[0].name].valid:
        sides = [view.numbers(block[side]) for side in ("a", "b")]
        metric = next(metric for metric in sides[0] if primary.names(metric))
        found.append(math.log(sides[0][metric] / sides[1][metric]))
    return found


def judged(case: Case, design: str, blocks: Blocks) -> dict[str, object]:
    """A row: sd in percent, MDE80 at `QUOTED_BLOCKS`, seconds of a block."""
    sd = statistics.stdev(blocks.logs)
    mde80 = float(to_percent(detectable(QUOTED_BLOCKS, sd, ALPHA)))
    return {
        "engine": case.engine,
        "workload": case.workload if case.phase == "run" else f"{case.workload} {case.phase}",
        "clients": case.clients,
        "design": design,
        "block_s": round(statistics.fmean(blocks.seconds), 2),
        "sd_percent": round(100 * sd, 3),
        "mde80_percent": round(mde80, 3),
        "blocks": len(blocks.logs),
    }


def variance_ratio(rows: Sequence[dict[str, object]]) -> float:
    """Sequential variance × seconds over that of turns."""
    costs = {
        str(r["design"]): float(str(r["sd_percent"])) ** 2 * float(str(r["block_s"])) for r in rows
    }
    return costs["sequential"] / costs["interleaved"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run resolution")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--engine", default="", help="only engines whose name begins so")
    parser.add_argument("--workload", default="", help="only this workload")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of three blocks each design")
    asked = parser.parse_args()
    chosen = [c for c in cases() if c.engine.startswith(asked.engine)]
    chosen = [c for c in chosen if asked.workload in ("", c.workload)]
    rounds, blocks = (1, 3) if asked.quick else (asked.rounds, BLOCKS)
    rows: list[dict[str, object]] = []
    ratios: dict[str, float] = {}
    for case in chosen[:1] if asked.quick else chosen:
        found: dict[str, Blocks] = defaultdict(lambda: Blocks([], []))
        for _ in range(rounds):
            for design in DESIGNS:
                played = play(case, design, blocks)
                found[design].logs += played.logs
                found[design].seconds += played.seconds
        two = [judged(case, design, found[design]) for design in DESIGNS]
        rows += two
        name = f"{case.engine} {two[0]['workload']} {case.clients}"
        ratios[name] = round(variance_ratio(two), 1)
        print(json.dumps({**two[0]}), json.dumps({**two[1]}), ratios[name], file=sys.stderr)
    heads = list(rows[0])
    table([heads, *([row[head] for head in heads] for row in rows)])
    print(json.dumps({"bench": "resolution", "variance_ratio": ratios, "rows": rows}))


if __name__ == "__main__":
    main()
