"""One block: every candidate started once on fresh data, and the steps of their searches.

Where all engines may be up at once they take steps in turn, in a random order for each round, and
a side without one is suspended; a neighbour or a warm cache then meets all alike. Else one restart
follows the other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from dyno.engines import Server, Snapshots, find_engine
from dyno.errors import TrialFailed
from dyno.host.probes import Probe, load_probes
from dyno.host.processes import iterate_stopping_family
from dyno.instruments.capacity.limits import count_events_least, count_events_wanted
from dyno.instruments.capacity.search import WIDEN_FIRST, WIDEN_LATER, RateSearch
from dyno.instruments.capacity.steps import judge_step
from dyno.instruments.time.controls import act_after_restore, hold_controls
from dyno.instruments.time.engine_session import EngineSession, SessionPart
from dyno.instruments.time.freezer import NeverFrozen, ProcessFreezer
from dyno.instruments.time.job import LoadChoice, Tools, TrialJob, TrialNotes
from dyno.instruments.time.leftovers import LoadedTables
from dyno.instruments.time.loads import choose_load, prepare_load
from dyno.instruments.time.run import LoadChooser, make_temporary_run
from dyno.instruments.time.trial import compute_trial_seed
from dyno.record import CLIENT_BASELINE, Candidate, PhaseRecord
from dyno.record.capacity import CapacityBlock, CapacityPlan, CapacityRestart, CapacityStep
from dyno.runs.resolve.design import LOADS
from dyno.runs.resolve.draft import Prepared
from dyno.runs.run_folder import RunFolder

RUN = "run"
#: The longest step, unless longer ones are needed or asked for; a rate at which it has too few
#: events is too low to be judged. That of a baseline where nothing held.
LONGEST_S, BASELINE_S = 15.0, 5.0
#: How far beyond the rate that held the driver alone has to hold the limit, or else is a part of
#: the answer; and how far, or else is the answer.
CLIENT_FACTORS = (1.5, 1.2)
#: How long the closed loop is that the first search begins from, and its share of that.
CLOSED_S, CLOSED_WARMUP_S, START_SHARE = 0.6, 0.2, 0.75
#: How far, in logs, a search begins beside where it would: else all restarts ask the same rates.
SCATTER_FIRST, SCATTER_LATER = 0.1, 0.02
#: The probe that says how busy the driver's threads are.
PROBE = "client"


@dataclass(frozen=True)
class StepTold:
    """A step that is over, of which search, and between which rates the answer lies now."""

    block: int
    candidate: str
    number: int
    step: CapacityStep
    low: float | None
    high: float | None


@dataclass(frozen=True)
class BlockTold:
    """A block that is over."""

    block: CapacityBlock


Told = StepTold | BlockTold


@dataclass(frozen=True)
class BlockPlayer:
    """Plays blocks of `plan` for the run in `kept`, which lists what lies in servers that go on
    running; `tell` hears every step, and a test hands in its own `tools` and choice of loads.
    """

    plan: CapacityPlan
    prepared: Prepared
    kept: RunFolder
    tell: Callable[[StepTold], None]
    tools: Tools = field(default_factory=lambda: Tools(probes=choose_probes()))
    choose_load: LoadChooser = choose_load
    _quickly_loaded: set[str] = field(default_factory=set)

    def play_block(self, number: int, known: dict[str, float]) -> CapacityBlock:
        """A restart of every candidate; `known` are the rates at the limit so far, by candidate."""
        rng = random.Random(f"{self.plan.run.seed}/{number}")
        sides = list(self.plan.run.candidates)
        rng.shuffle(sides)
        groups = [sides] if self.plan.together else [[side] for side in sides]
        restarts: list[CapacityRestart] = []
        for group in groups:
            restarts += self._play_restarts(group, number, known, rng)
        closed, baselines = self._play_baselines(number, restarts)
        return CapacityBlock(number, tuple(restarts), closed, baselines)

    def _play_restarts(
        self, sides: Sequence[Candidate], number: int, known: dict[str, float], rng: random.Random
    ) -> list[CapacityRestart]:
        with make_temporary_run() as place, ExitStack() as stack:
            players = [
                stack.enter_context(self._open_restart(side, number, place)) for side in sides
            ]
            for player in players:
                with player.suspend_others(players):
                    player.begin(known.get(player.name), rng)
            while playing := [each for each in players if not each.is_over]:
                rng.shuffle(playing)
                for player in playing:
                    with player.suspend_others(players):
                        self._take_step(player, number)
            return [each.build_restart() for each in players]

    def _take_step(self, player: RestartPlayer, number: int) -> None:
        step = player.play_next()
        low, high = player.search.bracket
        self.tell(StepTold(number, player.name, len(player.search.steps), step, low, high))

    def _play_baselines(
        self, number: int, restarts: Sequence[CapacityRestart]
    ) -> tuple[float, tuple[CapacityStep, ...]]:
        """The client-only baseline: its rate in a closed loop, and open loops beyond the highest
        rate that any restart held: far beyond, and where it breaks there, nearer. Where nothing
        held, at about the lowest rate that broke.
        """
        steps = [step for each in restarts for step in each.steps]
        held = [step.rate_per_s for step in steps if step.holds]
        least = count_events_wanted(self.plan.terms) / BASELINE_S
        lowest = max(least, min(step.rate_per_s for step in steps))
        rates = [factor * max(held) for factor in CLIENT_FACTORS] if held else [lowest]
        side = Candidate(CLIENT_BASELINE, "null@0us", "null", True, {}, {}, {})
        played: list[CapacityStep] = []
        with make_temporary_run() as place, self._open_restart(side, number, place) as player:
            closed_per_s = player.measure_closed()
            while rates and not any(step.holds for step in played):
                played.append(player.play_rate(rates.pop(0), len(played)))
        return closed_per_s, tuple(played)

    @contextmanager
    def _open_restart(
        self, side: Candidate, number: int, place: RunFolder
    ) -> Iterator[RestartPlayer]:
        """A candidate's engine, started on data of its own, until its restart is over."""
        job, notes = self._make_job(side, number, place), TrialNotes()
        job.home.mkdir(mode=0o700)
        with ExitStack() as stack:
            held = hold_controls(job, notes, stack)
            session = EngineSession(job, notes, lambda _: None, held, LoadedTables(job))
            is_loaded = self._take_load(session)
            with session.run_engine() as server, ExitStack() as tables:
                if not is_loaded:
                    tables.enter_context(session.hold_tables(server))
                yield RestartPlayer(self.plan, session, server)

    def _take_load(self, session: EngineSession) -> bool:
        """Leaves a kept load in the home, where loading is slow and the data may be copied."""
        job, size_bytes = session.job, self.prepared.size_bytes
        asked = self.plan.run.design.loads
        choice = self.choose_load(asked, job.workload, [], job.block, size_bytes)
        is_quick = job.candidate.name in self._quickly_loaded
        if (
            choice is None
            or is_quick
            or job.build.attached
            or not isinstance(job.engine, Snapshots)
        ):
            return False
        if not choice.of:
            choice = LoadChoice(job.block % LOADS, 0)
        if prepare_load(session, choice) is None:
            self._quickly_loaded.add(job.candidate.name)
            return False
        act_after_restore(session.controls, session.notes, job.home)
        return True

    def _make_job(self, side: Candidate, number: int, place: RunFolder) -> TrialJob:
        run, prepared = self.plan.run, self.prepared
        (workload,) = run.workloads
        if side.name == CLIENT_BASELINE:
            engine = find_engine("null", self.tools.ask)
            build = engine.program("0us", {}, lambda _: None)
        else:
            engine, build = prepared.engines[side.name], prepared.builds[side.name]
        names = [each.name for each in run.candidates]
        order = names.index(side.name) if side.name in names else len(names)
        return TrialJob(
            number=0,
            block=number,
            attempt=1,
            order=order,
            seed=compute_trial_seed(run.seed, workload.name, number),
            workload=workload,
            candidate=side,
            engine=engine,
            build=build,
            controls=run.design.controls | side.controls,
            home=place.find_homes() / f"restart-{order}",
            log=place.log(order),
            loaded=self.kept.find_loaded_list(order),
            run_seed=run.seed,
            driver_sha256=run.driver_sha256,
            progress_s=0.0,
            tools=self.tools,
            clients=prepared.clients,
        )


def choose_probes() -> dict[str, Probe]:
    """The one probe that steps are watched by."""
    return {PROBE: load_probes()[PROBE]}


@dataclass
class RestartPlayer:
    """A started engine, and the search that is played on it."""

    plan: CapacityPlan
    session: EngineSession
    server: Server
    search: RateSearch = field(init=False)
    closed_per_s: float = 0.0

    def __post_init__(self) -> None:
        pid, job = self.server.pid, self.session.job
        self.freezer = (
            NeverFrozen()
            if pid is None or job.engine.embedded or job.build.attached
            else ProcessFreezer(lambda: iterate_stopping_family(pid))
        )

    @property
    def name(self) -> str:
        """The candidate's."""
        return self.session.job.candidate.name

    @property
    def longest_s(self) -> float:
        """How long a step is at most."""
        return max(LONGEST_S, self.plan.step_s)

    @property
    def is_over(self) -> bool:
        """Is there no further step?"""
        return self.search.choose_rate() is None

    @contextmanager
    def suspend_others(self, players: Sequence[RestartPlayer]) -> Iterator[None]:
        """While all others are suspended."""
        others = [each.freezer for each in players if each is not self]
        try:
            for other in others:
                other.freeze()
            yield
        finally:
            for other in others:
                other.thaw()

    def begin(self, known_per_s: float | None, rng: random.Random) -> None:
        """Where the search begins: at what earlier restarts found, else at a share of what a closed
        loop does.
        """
        lowest = count_events_least(self.plan.terms) / self.longest_s
        self.closed_per_s = self.measure_closed()
        if known_per_s is not None:
            scatter = math.exp(rng.uniform(-SCATTER_LATER, SCATTER_LATER))
            self.search = RateSearch(known_per_s * scatter, lowest, WIDEN_LATER)
            return
        scatter = math.exp(rng.uniform(-SCATTER_FIRST, SCATTER_FIRST))
        start = START_SHARE * self.closed_per_s * scatter
        self.search = RateSearch(start, lowest, WIDEN_FIRST)

    def measure_closed(self) -> float:
        """Events a second of all connections in a closed loop."""
        record = self._play({"time": f"{CLOSED_S:g}", "warmup_time": f"{CLOSED_WARMUP_S:g}"}, 0)
        (tally,) = record.streams
        if not tally.done:
            raise TrialFailed(f"{self.name} did nothing in a closed loop")
        return tally.done / record.duration_s

    def play_next(self) -> CapacityStep:
        """The next step of the search."""
        rate = self.search.choose_rate()
        if rate is None:
            raise ValueError("the search is over")
        step = self.play_rate(rate, len(self.search.steps) + 1)
        self.search.take(step)
        return step

    def play_rate(self, rate_per_s: float, number: int) -> CapacityStep:
        """An open loop at a rate, judged."""
        plan = self.plan
        wanted_s = count_events_wanted(plan.terms) / rate_per_s
        length_s = min(self.longest_s, max(plan.step_s, wanted_s))
        options = {
            "rate": repr(rate_per_s),
            "time": f"{length_s:.3f}",
            "warmup_time": f"{plan.warmup_s:g}",
        }
        return judge_step(self._play(options, number), plan.terms, rate_per_s)

    def _play(self, options: dict[str, str], number: int) -> PhaseRecord:
        job = self.session.job
        seed = compute_trial_seed(job.run_seed, f"{job.workload.name}/{number}", job.block)
        part = SessionPart((RUN,), seed, options, keeps_tables=True)
        self.session.play(self.server, part)
        return part.phases[-1]

    def build_restart(self) -> CapacityRestart:
        """What there is to be written down."""
        search = self.search
        return CapacityRestart(self.name, self.closed_per_s, tuple(search.steps), search.exhausted)
