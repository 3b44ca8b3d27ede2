"""How small a difference blocks of restarts can tell: one after the other, and interleaved.

The same build under two names, in the same hour: some blocks sequential, some interleaved, over and
over. A block's datum is the log ratio of its two sides, so its sd is what a verdict rests on; both
designs measure each side for the same time. `variance_ratio` is how many times smaller the last
design's block variance is than the first's at equal machine time. `--engine`, `--workload`,
`--rounds` choose; all of it takes about 40 minutes. It needs the engines, which are fetched.

Slices are as long as a comparison's own pilot has them (`slice_ms`). Two other questions, each by
turns: `--idle` leaves engines running that have no turn, beside frozen ones; `--slices 50,100`
plays slices of so many ms. `slices_percent` is what of the sd the host's
noise from slice to slice makes, told by the rounds within a block; the rest is the restarts' own.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from msgspec import structs
from paired import table

from dyno.compare.pilot.slices import settle_slices
from dyno.instruments.time.brief_play import PilotContext
from dyno.instruments.time.run import play_run
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.log_ratio import to_percent
from dyno.judge.stats.power import compute_detectable
from dyno.record import Slice, Trial
from dyno.runs.experiment import Experiment, Measuring, compare_candidates
from dyno.runs.resolve.design import TURNS
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

ALPHA = 0.05
#: Blocks of one design in a round.
BLOCKS = 3
ROUNDS = 4
#: MDE80 is quoted for so many blocks, which a run of two minutes has at 12 s a block.
QUOTED_BLOCKS = 10
#: Noise limits would drop what is to be measured here.
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}
SELECT = {"time": "5", "warmup_time": "0.5", "table_size": "10000"}
WRITE = {"time": "5", "warmup_time": "1", "table_size": "10000"}
INSERT = {"load_rows": "20000", "write_rows": "150000", "query_rates": ""}
UPDATE = {"time": "3", "warmup_time": "1"}


@dataclass(frozen=True)
class Order:
    """How the restarts of a block are played: interleaved, or one after the other."""

    name: str
    sequential: bool = False
    #: 0: as long as the pilot has them.
    slice_s: float = 0.0
    frozen: bool = TURNS.frozen

    def choose_interleaving(self, draft: RunDraft) -> None:
        """Has the run played in this order."""
        if not self.slice_s:
            settle_slices(draft, PilotContext(say))
        if (turns := draft.design.interleaving) is None:
            return
        if self.slice_s:
            turns = structs.replace(turns, slice=Slice(self.slice_s, self.slice_s / 10))
        turns = structs.replace(turns, frozen=self.frozen)
        draft.change(design=structs.replace(draft.design, interleaving=turns))


SEQUENTIAL, INTERLEAVED = Order("sequential", sequential=True), Order("interleaved")
IDLE = Order("interleaved, idle", frozen=False)


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


def idle_cases() -> list[Case]:
    """Engines that have something to do while nobody asks them."""
    update = Case("postgres@18", "pgbench_simple_update", 1, UPDATE)
    return [update, Case("mysql@8.0.33", "insert", 1, INSERT, "l.i1")]


@dataclass
class Blocks:
    """Blocks of one order: their log ratios, what slices leave in each, what each took, and the
    length of the slices.
    """

    logs: list[float]
    slices: list[float]
    seconds: list[float]
    slice_s: float = 0.0


def prepare(case: Case, order: Order, blocks: int) -> Prepared:
    """Some blocks of the engine with itself, ready to be played."""
    measuring = Measuring(
        blocks=blocks,
        fixed=True,
        limits=CALM,
        aa=True,
        sequential=order.sequential,
        loads=0,
        controls={"pinning": case.pinning},
    )
    made = replace(case.experiment, measuring=measuring)
    draft = draft_run(made, say)
    order.choose_interleaving(draft)
    return draft


def say(clause: str) -> None:
    """A line for whoever waits."""
    print(clause, file=sys.stderr)


def play(case: Case, order: Order, blocks: int) -> Blocks:
    """Some blocks of one order, of the engine with itself."""
    prepared = prepare(case, order, blocks)
    with tempfile.TemporaryDirectory(prefix="dyno-") as place:
        folder = create_run(prepared.run, Path(place))
        began = datetime.now().astimezone()
        play_run(prepared, folder, lambda _: None)
        ended = datetime.now().astimezone()
        trials = folder.read_trials()
        view = RunView(prepared.run, trials)
        logs, slices = log_ratios(view, case), slice_errors(view, case)
    baselines = [t for t in trials if t.block < 0]
    first = min(datetime.fromisoformat(t.started_utc) for t in trials if t not in baselines)
    seconds = (ended - max(first, began)).total_seconds() / max(1, blocks)
    turns = prepared.run.design.interleaving
    slice_s = turns.find_slice(case.workload).length_s if turns else 0.0
    return Blocks(logs, slices, [seconds] * len(logs), slice_s)


def valid_blocks(view: RunView) -> Sequence[Mapping[str, Trial]]:
    """Its blocks, of the one workload there is."""
    return view.blocks[view.run.workloads[0].name].valid


def log_ratios(view: RunView, case: Case) -> list[float]:
    """Block by block, of the metric that is primary in the case's phase."""
    primary = next(p for p in view.primaries if p.phase == case.phase)
    found = []
    for block in valid_blocks(view):
        sides = [view.compute_numbers(block[side]) for side in ("a", "b")]
        metric = next(metric for metric in sides[0] if primary.matches(metric))
        found.append(math.log(sides[0][metric] / sides[1][metric]))
    return found


def slice_errors(view: RunView, case: Case) -> list[float]:
    """Block by block, the standard error of the log ratio as the rounds of its turns tell it.

    The slices of one number lie in one row, and each row is followed by its reverse: a round. No
    number where turns were not taken.
    """
    found = []
    for block in valid_blocks(view):
        sides = [slices_of(block[side], case.phase) for side in ("a", "b")]
        logs = [math.log(a / b) for a, b in zip(*sides, strict=False) if a and b]
        rounds = [(one + two) / 2 for one, two in zip(logs[::2], logs[1::2], strict=False)]
        if len(rounds) > 1:
            found.append(statistics.stdev(rounds) / math.sqrt(len(rounds)))
    return found


def slices_of(trial: Trial, phase: str) -> tuple[int, ...]:
    """Events in each slice of a phase's first stream."""
    return next(record for record in trial.phases if record.phase == phase).streams[0].slices


def judged(case: Case, order: Order, blocks: Blocks) -> dict[str, object]:
    """A row: sd in percent, MDE80 at `QUOTED_BLOCKS`, seconds of a block."""
    sd = statistics.stdev(blocks.logs)
    mde80 = float(to_percent(compute_detectable(QUOTED_BLOCKS, sd, ALPHA)))
    return {
        "engine": case.engine,
        "workload": case.workload if case.phase == "run" else f"{case.workload} {case.phase}",
        "clients": case.clients,
        "design": order.name,
        "slice_ms": round(1e3 * blocks.slice_s),
        "block_s": round(statistics.fmean(blocks.seconds), 2),
        "sd_percent": round(100 * sd, 3),
        "slices_percent": round(100 * root_mean_square(blocks.slices), 3),
        "mde80_percent": round(mde80, 3),
        "blocks": len(blocks.logs),
    }


def root_mean_square(errors: Sequence[float]) -> float:
    """0 where there are none."""
    return math.sqrt(statistics.fmean(error**2 for error in errors)) if errors else 0.0


def variance_ratio(rows: Sequence[dict[str, object]]) -> float:
    """Variance × seconds of the first order over that of the last."""
    costs = [float(str(r["sd_percent"])) ** 2 * float(str(r["block_s"])) for r in rows]
    return costs[0] / costs[-1]


def words() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench/run resolution")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--engine", default="", help="only engines whose name begins so")
    parser.add_argument("--workload", default="", help="only this workload")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of three blocks each design")
    parser.add_argument("--idle", action="store_true", help="frozen against idle, interleaved")
    parser.add_argument("--slices", default="", help="lengths in ms, interleaved: 50,100,200,500")
    return parser.parse_args()


def main() -> None:
    asked = words()
    orders = [INTERLEAVED, IDLE] if asked.idle else [SEQUENTIAL, INTERLEAVED]
    if asked.slices:
        lengths = asked.slices.split(",")
        orders = [Order(f"interleaved, {ms} ms", slice_s=float(ms) / 1e3) for ms in lengths]
    all_cases = idle_cases() if asked.idle else cases()
    chosen = [c for c in all_cases if c.engine.startswith(asked.engine)]
    chosen = [c for c in chosen if asked.workload in ("", c.workload)]
    rounds, blocks = (1, 3) if asked.quick else (asked.rounds, BLOCKS)
    rows: list[dict[str, object]] = []
    ratios: dict[str, float] = {}
    for case in chosen[:1] if asked.quick else chosen:
        found: dict[Order, Blocks] = defaultdict(lambda: Blocks([], [], []))
        for _ in range(rounds):
            for order in orders:
                played = play(case, order, blocks)
                found[order].logs += played.logs
                found[order].slices += played.slices
                found[order].seconds += played.seconds
                found[order].slice_s = played.slice_s
        each = [judged(case, order, found[order]) for order in orders]
        rows += each
        name = f"{case.engine} {each[0]['workload']} {case.clients}"
        ratios[name] = round(variance_ratio(each), 1)
        print(*map(json.dumps, each), ratios[name], file=sys.stderr)
    heads = list(rows[0])
    table([heads, *([row[head] for head in heads] for row in rows)])
    print(json.dumps({"bench": "resolution", "variance_ratio": ratios, "rows": rows}))


if __name__ == "__main__":
    main()
