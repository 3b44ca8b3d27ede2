"""A driver, an engine, a control and a probe as fakes for tests of how runs and trials are played.

All note what is asked of them in one journal; the driver says the events that a test hands it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fake_engine import FakeControl, FakeEngine, FakeProbe, Journal
from fakes import make_candidate, make_record, make_run, make_tally, make_workload

from dyno import driver
from dyno.builds import Build
from dyno.driver import End, Event, Progress, Ready, Settle
from dyno.driver.plan import Description, Plan
from dyno.errors import TrialFailed
from dyno.instruments.time import watch
from dyno.instruments.time.job import Tools, TrialJob
from dyno.instruments.time.run import Rules
from dyno.judge.analysis import judge
from dyno.record import LedgerEntry, Run, Trial
from dyno.runs.resolve.draft import Prepared
from dyno.runs.run_folder import RunFolder, create_run

PHASE = make_record([make_tally(100.0)])
#: The events of a trial in which all goes well.
GOOD: tuple[Event, ...] = (
    Settle("run"),
    Ready("run", 1),
    Progress("run", 1.0, ()),
    PHASE,
    End({"inserted": 3, "deleted": 1}),
)


@dataclasses.dataclass
class FakeSetup:
    """What a run is played with, all of it fake, and what it noted.

    `driver_says` are the events of the next trials, one sequence each; the trials beyond are
    `GOOD`. `journal` has every step in its order, `events` what the watch was told, `baseline` is
    whether the client-only baseline is played.
    """

    journal: Journal
    driver_says: list[Sequence[Event | BaseException]] = dataclasses.field(default_factory=list)
    launches: list[driver.DriverLaunch] = dataclasses.field(default_factory=list)
    plans: list[Plan] = dataclasses.field(default_factory=list)
    tools: Tools = dataclasses.field(default_factory=Tools)
    events: list[watch.Event] = dataclasses.field(default_factory=list)
    baseline: bool = False

    def job(self, tmp_path: Path, **changes: Any) -> TrialJob:
        job = TrialJob(
            number=1,
            block=0,
            attempt=1,
            order=0,
            seed=5,
            workload=make_workload(),
            candidate=make_candidate("a"),
            engine=FakeEngine(self.journal),
            build=Build("fake", "a", "1", Path("/bin/true")),
            controls={"fake": "off"},
            home=tmp_path / "home" / "0001",
            log=tmp_path / "0001.log",
            loaded=tmp_path / "loaded" / "0001.json",
            tools=self.tools,
        )
        return dataclasses.replace(job, **changes)

    def prepared(self, run: Run) -> Prepared:
        names = [candidate.name for candidate in run.candidates]
        engine = FakeEngine(self.journal)
        builds = {name: Build("fake", name, "1", Path("/bin/true")) for name in names}
        return Prepared(run, dict.fromkeys(names, engine), builds)


def judge_by_blocks(analyses: Sequence[int], decided: int) -> Callable[..., judge.InterimResult]:
    """A judge that takes every whole block, and has decided at the analysis of `decided` blocks."""

    def analyse(run: Run, trials: Sequence[Trial]) -> judge.InterimResult:
        valid = {}
        for name in (workload.name for workload in run.workloads):
            last = {(t.block, t.candidate): t.status for t in trials if t.workload == name}
            good = Counter(b for (b, _), status in last.items() if b >= 0 and status == "ok")
            valid[name] = sum(sides == len(run.candidates) for sides in good.values())
        least = min(valid.values())
        if least in analyses and least >= decided:
            return judge.InterimResult("decided", least, "all decided", valid, {})
        target = next(n for n in analyses if n > least)
        missing = {name: target - n for name, n in valid.items()}
        return judge.InterimResult("go on", target, "go on", valid, missing)

    return analyse


#: A run of one whole block, where its trials are looked at and not its verdict.
ONE_BLOCK = Rules(analyse=judge_by_blocks((1,), 1))


def begin_run(setup: FakeSetup, tmp_path: Path, **changes: Any) -> tuple[Prepared, RunFolder]:
    planned = make_run(("a", "b"), analyses=(2, 4), controls={"fake": "on"}, **changes)
    return setup.prepared(planned), create_run(planned, tmp_path)


class FakeDriver:
    """A driver that says the events which the test handed in, and then is killed."""

    pid = 42

    def __init__(self, setup: FakeSetup, plan: Plan, launch: driver.DriverLaunch) -> None:
        setup.journal.append("drive")
        setup.plans.append(plan)
        setup.launches.append(launch)
        self.journal = setup.journal
        said = setup.driver_says.pop(0) if setup.driver_says else GOOD
        self.events = iter((*said, TrialFailed("the driver was killed (signal 2)")))

    def __enter__(self) -> FakeDriver:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.append("close")

    def read_event(self, limit: driver.Limit) -> Event:
        event = next(self.events)
        if isinstance(event, BaseException):
            raise event
        return event

    def go(self, start_ns: int | None = None) -> None:
        self.journal.append("go")

    def interrupt(self) -> None:
        self.journal.append("interrupt")


def fake_setup() -> FakeSetup:
    """Fakes in the place of the real driver, probes and controls."""
    setup = FakeSetup([])
    entry = LedgerEntry("rows", "count", {"inserted": 1, "deleted": -1})

    def describe(plan: Plan) -> Description:
        setup.journal.append("ledger")
        return Description("", (), (), (), (entry,), 0)

    def ask(session: Any, statements: Sequence[str]) -> list[list[list[str | None]]]:
        setup.journal.append(f"ask {' '.join(statements)}")
        return [[["2"]] for _ in statements]

    setup.tools = Tools(
        drive=partial(FakeDriver, setup),
        describe=describe,
        ask=ask,
        probes={"fake": FakeProbe(setup.journal)},
        controls={"fake": FakeControl(setup.journal)},
    )
    return setup
