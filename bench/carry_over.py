"""What a slice loses after another's, beside one after its own: engine by engine, by length.

Interleaved, one build under two names: `loss_percent` is how many fewer events its slices hold that
follow the other's, `bias_percent` half the difference of both sides' losses, which is what would
move a slowdown; each with its 95 % interval over the blocks. `--beside` plays `null`, which writes
nothing, beside a server or library that inserts rows: does what that left to write fall into
null's slices? `--engine`, `--lengths` (ms), `--blocks`, `--time` (s a side) choose; all of it takes
about 15 minutes. It needs the engines, which are fetched.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from msgspec import structs
from paired import table

from dyno.errors import DynoError
from dyno.instruments.time.run import play_run
from dyno.judge.analysis.carry_over import carry_over
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.log_ratio import to_percent
from dyno.record import Interleaving, Slice
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

ENGINES = ("sqlite@3.46.0", "duckdb", "postgres@18", "mysql@8.0.33", "mariadb@10.11.5")
LENGTHS_MS = "1,5,20,100"
#: Noise limits would drop what is to be measured here.
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}
LEVEL = 0.05


@dataclass(frozen=True)
class Case:
    """Who plays beside whom, what, in which slices; are engines suspended without a turn?"""

    specs: tuple[str, str]
    workload: str
    slice_s: float
    suspended: bool


def cases(engines: Sequence[str], lengths_s: Sequence[float], beside: bool) -> Iterator[Case]:
    """Point selects of an engine beside itself, which runs on; or inserts beside `null`."""
    for engine in engines:
        for length_s in lengths_s:
            if beside:
                yield Case(("a=null@20us", f"b={engine}"), "oltp_insert", length_s, True)
            else:
                yield Case((f"a={engine}", f"b={engine}"), "oltp_point_select", length_s, False)


def contrasts(case: Case, blocks: int, time_s: str) -> list[dict[str, float]]:
    """Block by block, what each side's slices lose after the other's (logs)."""
    same = case.workload == "oltp_point_select"
    measuring = Measuring(blocks=blocks, fixed=True, limits=CALM, aa=same, loads=1)
    options = {"time": time_s, "warmup_time": "0.2", "table_size": "1000", "threads": "1"}
    made = compare_candidates(case.specs, case.workload, options, measuring)
    prepared = draft_run(made, lambda clause: print(clause, file=sys.stderr))
    time_slice = Slice(case.slice_s, case.slice_s / 10)
    turns = Interleaving(time_slice, epoch_s=1.0, frozen=case.suspended)
    run = structs.replace(
        prepared.run, design=structs.replace(prepared.run.design, interleaving=turns)
    )
    with tempfile.TemporaryDirectory(prefix="dyno-") as place:
        folder = create_run(run, Path(place))
        play_run(replace(prepared, run=run), folder, lambda _: None)
        view = RunView(run, folder.read_trials())
    plan = run.workloads[0]
    phase = plan.phases[-1].name
    return [carry_over(run, plan, phase, block) for block in view.blocks[plan.name].valid]


def row(case: Case, found: Sequence[dict[str, float]]) -> dict[str, object]:
    """Of side a where it is null, else of both sides; and half their difference."""
    told = [each for each in found if len(each) == 2]
    alone = case.specs[0].startswith("a=null")
    losses = np.array([each["a"] if alone else (each["a"] + each["b"]) / 2 for each in told])
    bias = np.array([(each["b"] - each["a"]) / 2 for each in told])
    return {
        "engine": case.specs[1].removeprefix("b="),
        "of": "null" if alone else "itself",
        "slice_ms": round(1e3 * case.slice_s),
        "blocks": len(told),
        "loss_percent": interval_words(losses),
        "bias_percent": "" if alone else interval_words(bias),
    }


def interval_words(logs: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """`3.2 [3.0, 3.4]`: in percent."""
    if logs.size < 2:
        return "–"
    found = compute_t_interval(logs, LEVEL)
    estimate, low, high = (
        to_percent(float(each)) for each in (found.estimate, found.low, found.high)
    )
    return f"{estimate:+.2f} [{low:+.2f}, {high:+.2f}]"


def words() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench/run carry-over")
    parser.add_argument("--quick", action="store_true", help="a tiny budget; shows that it runs")
    parser.add_argument("--engine", default="", help="only engines whose name begins so")
    parser.add_argument("--lengths", default=LENGTHS_MS, help="of slices, in ms")
    parser.add_argument("--blocks", type=int, default=6, help="of each case")
    parser.add_argument("--time", default="2", help="seconds a side in a block")
    parser.add_argument("--beside", action="store_true", help="null beside an engine that writes")
    return parser.parse_args()


def main() -> None:
    asked = words()
    engines = [each for each in ENGINES if each.startswith(asked.engine)]
    lengths_s = [float(ms) / 1e3 for ms in asked.lengths.split(",")]
    blocks, time_s = (3, "0.3") if asked.quick else (asked.blocks, asked.time)
    chosen = list(cases(engines, lengths_s, asked.beside))
    rows = []
    for case in chosen[:1] if asked.quick else chosen:
        try:
            rows.append(row(case, contrasts(case, blocks, time_s)))
        except DynoError as failed:
            print(f"{case.specs[1]}: {failed.sentence}", file=sys.stderr)
        else:
            print(json.dumps(rows[-1]), file=sys.stderr)
    if rows:
        table([list(rows[0]), *(list(each.values()) for each in rows)])
    print(json.dumps({"bench": "carry-over", "rows": rows}))


if __name__ == "__main__":
    main()
