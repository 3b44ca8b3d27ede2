"""A home of runs of every kind, made of numbers: what lists, pages and sites are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from counts import make_count
from crash_runs import write_crash_run
from disk_runs import make_run as make_disk_run
from disk_runs import make_side
from fakes import make_design, make_phase, make_run, make_trials, make_workload
from made_profiles import make_profile
from made_rates import make_blocks, make_plan
from msgspec.structs import replace
from program_runs import write_program_run

from dyno.instruments.capacity.folder import create_folder
from dyno.judge.analysis.judge import judge
from dyno.record import Candidate, WorkloadPlan
from dyno.record.decode import encode
from dyno.runs.run_folder import RunFolder, create_run

BASE = "null@100us"
STEADY = (0.001, -0.001, 0.002, -0.002, 0.0, 0.001)


def make_side_of(name: str, engine: str = "null") -> Candidate:
    """A candidate that a command could name."""
    build = {"version": name.partition("@")[2] or "1", "sha256": name.encode().hex().ljust(64, "0")}
    return Candidate(name, name, engine, True, build, {}, {})


def write_comparison(
    home: Path,
    slowdowns: Mapping[str, Sequence[float]],
    *,
    day: int = 1,
    judged: bool = True,
    workloads: Sequence[WorkloadPlan] = (),
) -> Path:
    """A run of `BASE` and the others, each as slow in log time as given, block by block."""
    sides = tuple(make_side_of(name) for name in (BASE, *slowdowns))
    design = make_design(base=BASE, analyses=(6,))
    run = replace(
        make_run([side.name for side in sides], workloads),
        name=" vs ".join(side.name for side in sides),
        created_utc=f"2026-01-{day:02}T00:00:00Z",
        candidates=sides,
        design=design,
        command=f"dyno compare {' '.join(side.name for side in sides)} -w select",
    )
    folder = create_run(run, home)
    trials = [
        replace(trial, number=at, workload=workload.name)
        for at, (workload, trial) in enumerate(
            (
                (workload, trial)
                for workload in run.workloads
                for trial in make_trials(slowdowns, BASE)
            ),
            1,
        )
    ]
    for trial in trials:
        folder.write_trial(trial)
    if judged:
        folder.write_verdict(judge(run, trials))
    return folder.path


def write_count(home: Path) -> Path:
    """A count of instructions in which the second build is heavier."""
    folder = home / "20260110T000000Z-count"
    folder.mkdir(parents=True)
    count = make_count({"1.0": (1000.0, 1000.0), "1.1": (1100.0, 1100.0)})
    (folder / "count.json").write_text(json.dumps(encode(count)))
    return folder


def write_capacity(home: Path) -> Path:
    """Capacities of A, and of B which holds half of it."""
    plan = make_plan(blocks=4)
    folder = create_folder(plan, home)
    for block in make_blocks({"A": [1000.0, 1010.0, 990.0, 1000.0], "B": [500.0] * 4}):
        folder.write_block(block)
    return folder.path


def write_disks(home: Path) -> Path:
    """Disks at two paths."""
    folder = home / "20260111T000000Z-disk"
    folder.mkdir(parents=True)
    run = make_disk_run([make_side("/a"), make_side("/b")])
    (folder / "disk.json").write_text(json.dumps(encode(run)))
    return folder


def write_profile(home: Path) -> Path:
    """A profile of a server in use."""
    folder = home / "server-profiles"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "20260112-000000.json"
    file.write_text(json.dumps(encode(make_profile(1))))
    return file


def make_two_workloads() -> list[WorkloadPlan]:
    """One of one phase, and another, so that a suite has two rows."""
    return [make_workload("select"), make_workload("update", [make_phase("run")])]


def write_home(home: Path) -> Path:
    """A home with a run of each kind: the comparisons say slower, not slower, and nothing yet."""
    slow = [0.2 + each for each in STEADY]
    write_comparison(home, {"null@120us": slow}, day=1)
    write_comparison(home, {"null@101us": STEADY}, day=2)
    write_comparison(
        home, {"null@120us": slow, "null@101us": STEADY}, day=3, workloads=make_two_workloads()
    )
    write_comparison(home, {"null@130us": [0.3, 0.3]}, day=4, judged=False)
    for write in (
        write_count,
        write_capacity,
        write_disks,
        write_program_run,
        write_crash_run,
        write_profile,
    ):
        write(home)
    return home


def open_run(home: Path, day: int) -> RunFolder:
    """The comparison of that day."""
    (path,) = home.glob(f"202601{day:02}T*")
    return RunFolder(path)
