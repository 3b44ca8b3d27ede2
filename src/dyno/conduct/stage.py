"""A run under way: its floor, its blocks, its trials, one after another."""

from __future__ import annotations

from dataclasses import dataclass

from dyno import driver, engines, judge
from dyno.conduct import loads
from dyno.conduct import trial as trials
from dyno.conduct.blocks import Next, floor_attempt, hopeless, upcoming
from dyno.conduct.estimate import blocks_at_most, floors_due, needs_floor
from dyno.conduct.job import Job, Turn
from dyno.conduct.order import order
from dyno.conduct.prepared import Prepared
from dyno.conduct.watch import (
    BlockDropped,
    Looked,
    RunEnded,
    RunStarted,
    TrialEnded,
    TrialStarted,
    Watch,
)
from dyno.errors import TrialFailed, UsageError
from dyno.folder import Folder
from dyno.judge.blocks import sorted_out
from dyno.record import FLOOR, Candidate, Run, Trial, WorkloadPlan


@dataclass
class Stage:
    """A run under way; `played` is every trial there is, in memory as on disk."""

    prepared: Prepared
    folder: Folder
    watch: Watch
    played: list[Trial]

    @property
    def run(self) -> Run:
        """The run that is played."""
        return self.prepared.run

    def play(self) -> None:
        """The floor, then a block of every workload that lacks one, until the judge is done."""
        blocks = {(t.workload, t.block) for t in self.played if t.block >= 0}
        self.watch(RunStarted(self.run, self.folder.path, len(blocks)))
        look = judge.look(self.run, self.played)
        if not look.over:
            self._floors()
        while not look.over:
            for workload in self.run.workloads:
                if look.missing.get(workload.name, 0):
                    self._block(workload)
            look = self._look(look)
        self.watch(RunEnded(look.sentence))

    def _look(self, before: judge.Look) -> judge.Look:
        """The judge's word after a round; a block that it did not take is reported as dropped."""
        look = judge.look(self.run, self.played)
        for workload in self.run.workloads:
            if before.missing.get(workload.name, 0):
                self._tell_dropped(workload)
        self.watch(Looked(look.blocks, look.valid, look.state, look.sentence))
        return look

    def _tell_dropped(self, workload: WorkloadPlan) -> None:
        found = sorted_out(self.run, workload, self.played)
        block = max(t.block for t in self.played if t.workload == workload.name)
        over = upcoming(self.run, workload.name, self.played).block != block
        if over and (reason := (found.dropped | found.failed).get(block)):
            self.watch(BlockDropped(block, reason))

    def _floors(self) -> None:
        """The driver's own share of each workload, played on `null` without delay, under the
        options of every cell.
        """
        if not needs_floor(self.run):
            return
        engine = engines.find("null", driver.ask)
        build = engine.program("0us", {}, lambda _: None)
        self.prepared.engines[FLOOR], self.prepared.builds[FLOOR] = engine, build
        for workload, options in floors_due(self.run):
            side = Candidate(FLOOR, "null@0us", "null", True, {}, {}, {}, options=options)
            while (attempt := floor_attempt(workload.name, self.played, options)) is not None:
                self._trial(self.job(workload, side, Next(-1, attempt), 0), 1)

    def _block(self, workload: WorkloadPlan) -> None:
        """One block, until a trial of it fails; what failed and has never worked ends the run."""
        place = upcoming(self.run, workload.name, self.played)
        if place.block >= blocks_at_most(self.run):
            raise TrialFailed(f"{workload.name} has played all {place.block} blocks to no end")
        sides = {candidate.name: candidate for candidate in self.run.candidates}
        names = order(self.run.seed, workload.name, place.block, list(sides))
        for position, name in enumerate(names):
            job = self.job(workload, sides[name], place, position)
            if self._trial(job, len(names)).status != "ok":
                break
        if failed := hopeless(workload.name, self.played):
            raise TrialFailed(
                f"{failed.candidate} fails on {workload.name} every time",
                cause=failed.failure.partition("\nhint: ")[0],
                hint=failed.failure.partition("\nhint: ")[2] or f"see {failed.log or 'dyno show'}",
            )

    def job(self, workload: WorkloadPlan, side: Candidate, place: Next, position: int) -> Job:
        """The next trial's job."""
        number = max((trial.number for trial in self.played), default=0) + 1
        engine, build = self.prepared.engines[side.name], self.prepared.builds[side.name]
        kept = isinstance(engine, engines.Snapshots) and not build.attached and place.block >= 0
        return Job(
            number=number,
            block=place.block,
            attempt=place.attempt,
            order=position,
            seed=trials.seed(self.run.seed, workload.name, place.block),
            workload=workload.under(side.options),
            candidate=side,
            engine=engine,
            build=build,
            controls=self.run.design.controls | side.controls,
            home=self.folder.homes() / f"{number:04}",
            log=self.folder.log(number),
            loaded=self.folder.loaded(number),
            load=self._turn(workload, place.block) if kept else None,
            run_seed=self.run.seed,
            progress_s=self.prepared.progress_s,
        )

    def _turn(self, workload: WorkloadPlan, block: int) -> Turn | None:
        size_bytes = self.prepared.size_bytes
        return loads.turn(self.run, workload, self.played, block, size_bytes)

    def _trial(self, job: Job, of: int) -> Trial:
        """Plays a trial and writes it down; raises what more trials would not mend.

        A script that cannot be played on `null` costs the floor only, and not the run.
        """
        names = (job.workload.name, job.candidate.name)
        self.watch(TrialStarted(job.block, job.attempt, *names, job.number, job.order + 1, of))
        trial, error = trials.play(job, self.watch)
        self.folder.write_trial(trial)
        self.played.append(trial)
        self.watch(TrialEnded(trial))
        borne = (TrialFailed, UsageError) if job.block < 0 else TrialFailed
        if error is not None and not isinstance(error, borne):
            raise error
        return trial
