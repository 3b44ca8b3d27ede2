"""A stage for the conductor: fakes on both sides of it, and a driver that says what it is told."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fakes import make_candidate, make_record, make_run, make_tally, make_workload
from theatre_props import FakeControl, FakeEngine, FakeProbe, Journal

from dyno import driver
from dyno.analysis import judge
from dyno.builds import Build
from dyno.driver import End, Event, Progress, Ready, Settle
from dyno.errors import TrialFailed
from dyno.plan import Description, Plan
from dyno.play import watch
from dyno.play.job import Tools, TrialJob
from dyno.record import LedgerEntry, Run, Trial
from dyno.resolve.experiment import Prepared
from dyno.run_folder import RunFolder, create_run

PHASE = make_record([make_tally(100.0)])


GOOD: tuple[Event, ...] = (
    Settle("run"),
    Ready("run", 1),
    Progress("run", 1.0, ()),
    PHASE,
    End({"inserted": 3, "deleted": 1}),
)


@dataclasses.dataclass
class Theatre:
    """Fakes on both sides of the conductor, one journal, and what the driver will say."""

    journal: Journal
    says: list[Sequence[Event | BaseException]] = dataclasses.field(default_factory=list)
    launches: list[driver.Launch] = dataclasses.field(default_factory=list)
    plans: list[Plan] = dataclasses.field(default_factory=list)
    tools: Tools = dataclasses.field(default_factory=Tools)
    events: list[watch.Event] = dataclasses.field(default_factory=list)
    floor: bool = False

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


def counting(looks: Sequence[int], decided: int) -> Callable[..., judge.Look]:
    """A judge that takes every whole block, and has decided at the look of `decided` blocks."""

    def look(run: Run, trials: Sequence[Trial]) -> judge.Look:
        valid = {}
        for name in (workload.name for workload in run.workloads):
            last = {(t.block, t.candidate): t.status for t in trials if t.workload == name}
            good = Counter(b for (b, _), status in last.items() if b >= 0 and status == "ok")
            valid[name] = sum(sides == len(run.candidates) for sides in good.values())
        least = min(valid.values())
        if least in looks and least >= decided:
            return judge.Look("decided", least, "all decided", valid, {})
        target = next(n for n in looks if n > least)
        missing = {name: target - n for name, n in valid.items()}
        return judge.Look("go on", target, "go on", valid, missing)

    return look


def begin(theatre: Theatre, tmp_path: Path, **changes: Any) -> tuple[Prepared, RunFolder]:
    planned = make_run(("a", "b"), looks=(2, 4), controls={"fake": "on"}, **changes)
    return theatre.prepared(planned), create_run(planned, tmp_path)


class FakeProcess:
    """A driver in whose mouth the theatre has put its words."""

    pid = 42

    def __init__(self, stage: Theatre, plan: Plan, launch: driver.Launch) -> None:
        stage.journal.append("drive")
        stage.plans.append(plan)
        stage.launches.append(launch)
        self.journal = stage.journal
        said = stage.says.pop(0) if stage.says else GOOD
        self.events = iter((*said, TrialFailed("the driver was killed (signal 2)")))

    def __enter__(self) -> FakeProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.append("close")

    def next(self, limit: driver.Limit) -> Event:
        event = next(self.events)
        if isinstance(event, BaseException):
            raise event
        return event

    def go(self) -> None:
        self.journal.append("go")

    def interrupt(self) -> None:
        self.journal.append("interrupt")


def opened() -> Theatre:
    """A theatre with driver, probes and controls of its own in the place of the real ones."""
    stage = Theatre([])
    entry = LedgerEntry("rows", "count", {"inserted": 1, "deleted": -1})

    def describe(plan: Plan) -> Description:
        stage.journal.append("ledger")
        return Description("", (), (), (), (entry,), 0)

    def ask(session: Any, statements: Sequence[str]) -> list[list[list[str | None]]]:
        stage.journal.append(f"ask {' '.join(statements)}")
        return [[["2"]] for _ in statements]

    stage.tools = Tools(
        drive=partial(FakeProcess, stage),
        describe=describe,
        ask=ask,
        probes={"fake": FakeProbe(stage.journal)},
        controls={"fake": FakeControl(stage.journal)},
    )
    return stage
