"""The conductor: the order of what it does is its behaviour, so that is what is looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fakes import make_candidate, make_phase, make_record, make_run, make_tally, make_trial

from dyno import driver, folder, judge, plain
from dyno.builds import Build
from dyno.conduct import held, readings, run, trial, watch
from dyno.conduct.blocks import Next, upcoming
from dyno.conduct.job import Job
from dyno.conduct.prepared import Prepared
from dyno.controls import Held, Subject
from dyno.driver import End, Event, Progress, Ready, Settle
from dyno.engines import UNHELD, Server, Under
from dyno.errors import DynoError, HostError, TrialFailed, UsageError
from dyno.plan import Description, Plan
from dyno.probes import Measure, Watched
from dyno.record import FLOOR, Reading, Run, Trial, WorkloadPlan

Journal = list[str]

PHASE = make_record([make_tally(100.0)])
GOOD: tuple[Event, ...] = (
    Settle("run"),
    Ready("run", 1),
    Progress("run", 1.0, ()),
    PHASE,
    End({"inserted": 3, "deleted": 1}),
)


class FakeEngine:
    embedded: ClassVar[bool] = True
    options: ClassVar[dict[str, tuple[str, str]]] = {}
    flags: ClassVar[dict[str, tuple[str, str]]] = {}
    versions: ClassVar[tuple[str, ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def program(self, build: str, flags: dict[str, str], say: Callable[[str], None]) -> Build:
        return Build("fake", build, "1", Path("/bin/true"))

    def start(
        self, build: Build, home: Path, settings: dict[str, str], under: Under = UNHELD
    ) -> Server:
        del under
        assert home.is_dir()
        assert not list(home.iterdir())
        self.journal.append(f"start {build.name}")
        (home / "data").write_bytes(b"x" * 1000)
        return Server({"kind": "fake", "build": build.name}, home)

    def settings(self, server: Server) -> dict[str, str]:
        self.journal.append("settings")
        return {"journal_mode": "wal"}

    def settle(self, server: Server) -> None:
        self.journal.append("settle")

    def stop(self, server: Server) -> None:
        self.journal.append(f"stop {server.session['build']}")


class FakeControl:
    summary = "holds nothing"
    default = "on"
    values: ClassVar[dict[str, str]] = {"on": "", "off": ""}

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    @contextmanager
    def hold(self, value: str, subject: Subject) -> Iterator[Held]:
        assert subject.embedded
        self.journal.append(f"hold {value}")
        try:
            yield Held({"was": "off"}, ("nice",), {"MARK": "1"}, (1,))
        finally:
            self.journal.append("release")


class FakeProbe:
    summary = "counts its samples"
    measures = (
        Measure("counter", "ns", "lower"),
        Measure("gauge", "B", "lower", counter=False, per_operation=False),
        Measure("missing", "B", "lower"),
    )

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.samples = 0

    def sample(self, watched: Watched) -> dict[str, float]:
        assert watched.server_pid == watched.client_pid == 42
        self.journal.append("sample")
        self.samples += 10
        return {"counter": self.samples, "gauge": 7.0}


@dataclasses.dataclass
class Theatre:
    """Fakes on both sides of the conductor, one journal, and what the driver will say."""

    journal: Journal
    says: list[Sequence[Event | BaseException]] = dataclasses.field(default_factory=list)
    launches: list[driver.Launch] = dataclasses.field(default_factory=list)
    plans: list[Plan] = dataclasses.field(default_factory=list)
    events: list[watch.Event] = dataclasses.field(default_factory=list)

    def job(self, tmp_path: Path, **changes: Any) -> Job:
        workload = WorkloadPlan("select", "select.lua", "", {}, (make_phase(),), ())
        job = Job(
            number=1,
            block=0,
            attempt=1,
            order=0,
            seed=5,
            workload=workload,
            candidate=make_candidate("a"),
            engine=FakeEngine(self.journal),
            build=Build("fake", "a", "1", Path("/bin/true")),
            controls={"fake": "off"},
            home=tmp_path / "home" / "0001",
            log=tmp_path / "0001.log",
            loaded=tmp_path / "loaded" / "0001.json",
        )
        return dataclasses.replace(job, **changes)

    def prepared(self, run: Run) -> Prepared:
        names = [candidate.name for candidate in run.candidates]
        engine = FakeEngine(self.journal)
        builds = {name: Build("fake", name, "1", Path("/bin/true")) for name in names}
        return Prepared(run, dict.fromkeys(names, engine), builds)


@pytest.fixture
def theatre(monkeypatch: pytest.MonkeyPatch) -> Theatre:
    stage = Theatre([])

    class FakeProcess:
        pid = 42

        def __init__(self, plan: Plan, launch: driver.Launch) -> None:
            stage.journal.append("drive")
            stage.plans.append(plan)
            stage.launches.append(launch)
            said = stage.says.pop(0) if stage.says else GOOD
            self.events = iter((*said, TrialFailed("the driver was killed (signal 2)")))

        def __enter__(self) -> FakeProcess:
            return self

        def __exit__(self, *_: object) -> None:
            stage.journal.append("close")

        def next(self, limit: driver.Limit) -> Event:
            event = next(self.events)
            if isinstance(event, BaseException):
                raise event
            return event

        def go(self) -> None:
            stage.journal.append("go")

        def interrupt(self) -> None:
            stage.journal.append("interrupt")

    def describe(plan: Plan) -> Description:
        entry = plain.load(
            Description,
            {
                "summary": "",
                "options": [],
                "commands": [],
                "phases": [],
                "size_bytes": 0,
                "ledger": [
                    {"name": "rows", "sql": "count", "counters": {"inserted": 1, "deleted": -1}}
                ],
            },
        )
        stage.journal.append("ledger")
        return entry

    def ask(session: Any, statements: Sequence[str]) -> list[list[list[str | None]]]:
        stage.journal.append(f"ask {' '.join(statements)}")
        return [[["2"]] for _ in statements]

    monkeypatch.setattr(driver, "Process", FakeProcess)
    monkeypatch.setattr(driver, "describe", describe)
    monkeypatch.setattr(driver, "ask", ask)
    probe = FakeProbe(stage.journal)
    monkeypatch.setattr(readings, "probes", lambda: {"fake": probe})
    monkeypatch.setattr(held, "controls", lambda: {"fake": FakeControl(stage.journal)})
    return stage


def test_a_trial_does_one_thing_after_the_other(theatre: Theatre, tmp_path: Path) -> None:
    played, error = trial.play(theatre.job(tmp_path), theatre.events.append)
    assert error is None
    assert theatre.journal == [
        *("hold off", "start a", "drive", "settle", "go"),
        *("sample", "go", "sample", "go", "close"),
        *("ledger", "ask count", "settings", "stop a", "release"),
    ]
    assert theatre.events == [
        watch.PhaseStarted("run", 10.0),
        watch.Progressed("run", 1.0, ()),
    ]
    assert played.status == "ok"


def test_a_trial_records_what_was_measured_held_and_found(theatre: Theatre, tmp_path: Path) -> None:
    job = theatre.job(tmp_path)
    played, _ = trial.play(job, theatre.events.append)
    counter = Reading("fake", "counter", "ns", "lower", 10.0, True)
    gauge = Reading("fake", "gauge", "B", "lower", 7.0, False)
    assert played.phases == (dataclasses.replace(PHASE, readings=(counter, gauge)),)
    assert played.conditions["fake"] == {"value": "off", "was": "off"}
    assert played.conditions["driver"]["prefix"] == "nice"
    assert [(e.name, e.expected, e.found) for e in played.evidence] == [("rows", 2, "2")]
    assert played.settings == {"journal_mode": "wal"}
    assert played.size_bytes == 1000
    assert not job.home.exists()
    assert theatre.plans[0].cpus == (1,)
    assert theatre.launches[0].prefix == ("nice",)
    assert theatre.launches[0].environment == {"MARK": "1", "TMPDIR": str(job.home)}


@pytest.mark.parametrize("error", [TrialFailed("it gave up"), UsageError("a wrong word")])
def test_a_trial_that_ends_badly_keeps_what_it_has_and_leaves_nothing(
    theatre: Theatre, tmp_path: Path, error: BaseException
) -> None:
    theatre.says = [(GOOD[0], PHASE, error)]
    job = theatre.job(tmp_path)
    played, stopped = trial.play(job, theatre.events.append)
    assert stopped is error
    assert (played.status, len(played.phases)) == ("failed", 1)
    assert played.failure == str(error)
    assert theatre.journal[-3:] == ["close", "stop a", "release"]
    assert not job.home.exists()


def test_an_interrupted_trial_keeps_the_driver_s_last_words(
    theatre: Theatre, tmp_path: Path
) -> None:
    theatre.says = [(*GOOD[:2], KeyboardInterrupt(), *GOOD[2:])]
    played, _ = trial.play(theatre.job(tmp_path), theatre.events.append)
    assert (played.status, len(played.phases)) == ("interrupted", 1)
    assert theatre.journal[-4:] == ["interrupt", "close", "stop a", "release"]


def test_the_engine_s_process_gets_prefix_and_environment_not_the_driver_s(
    theatre: Theatre, tmp_path: Path
) -> None:
    served = dataclasses.replace(make_candidate("a"), embedded=False)
    trial.play(theatre.job(tmp_path, candidate=served), theatre.events.append)
    assert theatre.launches[0].prefix == ()
    assert "MARK" not in theatre.launches[0].environment


def counting(looks: Sequence[int], decided: int) -> Callable[..., judge.Look]:
    """A judge that takes every whole block, and has decided at the look of `decided` blocks."""

    def look(run: Run, trials: Sequence[Trial]) -> judge.Look:
        names = {candidate.name for candidate in run.candidates}
        valid = {}
        for workload in run.workloads:
            mine = [t for t in trials if t.workload == workload.name and t.block >= 0]
            last = {(t.block, t.candidate): t for t in mine}
            blocks = {block for block, _ in last}
            whole = [
                block
                for block in blocks
                if all((block, n) in last and last[block, n].status == "ok" for n in names)
            ]
            valid[workload.name] = len(whole)
        least = min(valid.values())
        if least in looks and least >= decided:
            return judge.Look("decided", least, "all decided", valid, {})
        target = next(n for n in looks if n > least)
        missing = {name: target - n for name, n in valid.items()}
        return judge.Look("go on", target, "go on", valid, missing)

    return look


@pytest.fixture
def staged(theatre: Theatre, monkeypatch: pytest.MonkeyPatch) -> Theatre:
    monkeypatch.setattr(judge, "look", counting((2, 4), decided=2))
    monkeypatch.setattr("dyno.conduct.stage.needs_floor", lambda _: False)
    return theatre


def begin(theatre: Theatre, tmp_path: Path, **changes: Any) -> tuple[Prepared, folder.Folder]:
    planned = make_run(("a", "b"), looks=(2, 4), controls={"fake": "on"}, **changes)
    return theatre.prepared(planned), folder.create(planned, tmp_path)


def test_a_run_plays_blocks_until_the_judge_is_done(staged: Theatre, tmp_path: Path) -> None:
    prepared, kept = begin(staged, tmp_path)
    run.play(prepared, kept, staged.events.append)
    trials = kept.trials()
    assert [(t.number, t.block, t.order) for t in trials] == [
        *((1, 0, 0), (2, 0, 1)),
        *((3, 1, 0), (4, 1, 1)),
    ]
    for block in (0, 1):
        assert {t.candidate for t in trials if t.block == block} == {"a", "b"}
    assert {t.candidate for t in trials if t.order == 0} == {"a", "b"}
    alive = [line for line in staged.journal if line.split()[0] in ("start", "stop")]
    assert [line.split()[0] for line in alive] == ["start", "stop"] * 4
    assert isinstance(staged.events[-1], watch.RunEnded)
    assert not kept.homes().exists()
    assert {t.conditions["driver"]["seed"] for t in trials if t.block == 0} != {
        t.conditions["driver"]["seed"] for t in trials if t.block == 1
    }


def test_a_run_that_is_over_plays_nothing_more(staged: Theatre, tmp_path: Path) -> None:
    prepared, kept = begin(staged, tmp_path)
    run.play(prepared, kept, staged.events.append)
    staged.journal.clear()
    run.play(prepared, kept, staged.events.append)
    assert staged.journal == []
    assert len(kept.trials()) == 4


def test_a_block_with_a_failed_trial_is_replayed_once(staged: Theatre, tmp_path: Path) -> None:
    failing = (GOOD[0], TrialFailed("the driver was killed (signal 9)"))
    staged.says = [GOOD, GOOD, failing]
    prepared, kept = begin(staged, tmp_path)
    run.play(prepared, kept, staged.events.append)
    states = [(t.block, t.attempt, t.status) for t in kept.trials()]
    assert states == [
        *((0, 1, "ok"), (0, 1, "ok")),
        (1, 1, "failed"),
        *((1, 2, "ok"), (1, 2, "ok")),
    ]
    assert kept.trials()[2].failure == "the driver was killed (signal 9)"
    assert not any(isinstance(event, watch.BlockDropped) for event in staged.events)


def test_a_block_that_fails_twice_is_given_up_and_another_played(
    staged: Theatre, tmp_path: Path
) -> None:
    failing = (GOOD[0], TrialFailed("out of luck", cause="a\nb"))
    staged.says = [GOOD, GOOD, GOOD, failing, GOOD, failing]
    prepared, kept = begin(staged, tmp_path)
    run.play(prepared, kept, staged.events.append)
    assert [t.block for t in kept.trials()] == [0, 0, 1, 1, 1, 1, 2, 2]
    dropped = [event for event in staged.events if isinstance(event, watch.BlockDropped)]
    assert [event.block for event in dropped] == [1]
    assert dropped[0].reason.endswith("failed: out of luck: a")


def test_a_candidate_that_never_works_ends_the_run_early(staged: Theatre, tmp_path: Path) -> None:
    staged.says = [(TrialFailed("no such table"),)] * 9
    prepared, kept = begin(staged, tmp_path)
    with pytest.raises(TrialFailed, match="fails on select every time: no such table"):
        run.play(prepared, kept, staged.events.append)
    assert len(kept.trials()) == 2


@pytest.mark.parametrize("error", [UsageError("a wrong word"), HostError("no room")])
def test_what_more_trials_would_not_mend_ends_the_run_at_once(
    staged: Theatre, tmp_path: Path, error: DynoError
) -> None:
    staged.says = [GOOD, (GOOD[0], error)]
    prepared, kept = begin(staged, tmp_path)
    with pytest.raises(type(error)):
        run.play(prepared, kept, staged.events.append)
    assert [t.status for t in kept.trials()] == ["ok", "failed"]


def test_an_interrupted_run_goes_on_with_its_torn_block_played_whole(
    staged: Theatre, tmp_path: Path
) -> None:
    staged.says = [GOOD, GOOD, GOOD, (GOOD[0], KeyboardInterrupt())]
    prepared, kept = begin(staged, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run.play(prepared, kept, staged.events.append)
    (kept.homes()).mkdir()
    run.play(prepared, kept, staged.events.append)
    states = [(t.block, t.attempt, t.status) for t in kept.trials()]
    assert states[2:] == [
        *((1, 1, "ok"), (1, 1, "interrupted")),
        *((1, 2, "ok"), (1, 2, "ok")),
    ]
    assert not kept.homes().exists()


def test_the_floor_is_played_first_and_its_failure_is_borne(
    staged: Theatre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dyno.conduct.stage.needs_floor", lambda _: True)
    staged.says = [(UsageError("no row came back"),)] * 2
    prepared, kept = begin(staged, tmp_path)
    run.play(prepared, kept, staged.events.append)
    floors = [t for t in kept.trials() if t.candidate == FLOOR]
    assert [(t.number, t.block, t.attempt, t.status) for t in floors] == [
        *((1, -1, 1, "failed"), (2, -1, 2, "failed")),
    ]
    assert staged.plans[0].session == {"kind": "null", "delay_ns": 0}
    assert len(kept.trials()) == 6


def test_a_full_disk_is_noticed_before_the_run(staged: Theatre, tmp_path: Path) -> None:
    prepared, kept = begin(staged, tmp_path)
    huge = dataclasses.replace(prepared, size_bytes=1 << 60)
    with pytest.raises(HostError, match=r"MB free(.|\n)*hint: free some"):
        run.play(huge, kept, staged.events.append)
    assert kept.trials() == []


def test_the_next_block_is_read_off_the_trials() -> None:
    planned = make_run(("a", "b"))

    def after(*played: tuple[int, str, int, str]) -> Next:
        trials = [
            make_trial(n, name, block, 1.0, attempt=attempt, status=status)
            for n, (block, name, attempt, status) in enumerate(played, 1)
        ]
        return upcoming(planned, "select", trials)

    assert after() == Next(0, 1)
    assert after((0, "a", 1, "ok")) == Next(0, 2)
    assert after((0, "a", 1, "ok"), (0, "b", 1, "ok")) == Next(1, 1)
    assert after((0, "a", 1, "ok"), (0, "b", 1, "interrupted")) == Next(0, 2)
    assert after((0, "a", 1, "failed")) == Next(0, 2)
    assert after((0, "a", 1, "failed"), (0, "a", 2, "failed")) == Next(1, 1)
    assert after((0, "a", 1, "failed"), (0, "a", 2, "ok")) == Next(0, 3)
    assert after((0, "a", 1, "ok"), (0, "a", 2, "ok"), (0, "b", 2, "ok")) == Next(1, 1)
