"""Plays a run to its end: the client-only baseline, then blocks of trials, until the analyses
decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from msgspec import structs

from dyno import engines, private_files, scratch
from dyno.builds import Say, cache
from dyno.errors import InternalError, TrialFailed, UsageError
from dyno.instruments.time import echo
from dyno.instruments.time.blocks import (
    NextBlock,
    RunLength,
    choose_baseline_attempt,
    choose_next_block,
    draw_block_order,
    find_always_failing,
)
from dyno.instruments.time.contents import Replies
from dyno.instruments.time.contents_trials import (
    AnsweredTrial,
    compare_sides,
    list_due_sides,
    make_timed,
)
from dyno.instruments.time.cpu_samples import PhaseSampler
from dyno.instruments.time.interleaving import InterleavedBlock, plan_turns
from dyno.instruments.time.job import (
    AskedContents,
    AskedLog,
    AskedTexts,
    LoadChoice,
    Tools,
    TrialJob,
)
from dyno.instruments.time.known_statements import KnownStatements, KnownText
from dyno.instruments.time.leftovers import drop_leftovers
from dyno.instruments.time.loads import choose_load, stop_where_failed, with_upgraded
from dyno.instruments.time.log_contents import LogReplies
from dyno.instruments.time.saved_answers import LogPlays
from dyno.instruments.time.stack_trials import list_stack_profiles
from dyno.instruments.time.trial import (
    Played,
    TrialPlayer,
    compute_trial_seed,
    play_together,
    play_trial,
)
from dyno.instruments.time.watch import (
    BlockDropped,
    BlockJudged,
    LengthLearnt,
    RunEnded,
    RunStarted,
    TrialEnded,
    TrialStarted,
    Watch,
)
from dyno.judge.analysis.blocks import sort_blocks
from dyno.judge.analysis.judge import InterimResult, analyse_now
from dyno.record import (
    CLIENT_BASELINE,
    Candidate,
    Failure,
    Interleaving,
    Run,
    Trial,
    WorkloadPlan,
    name_contents,
)
from dyno.runs.resolve.design import list_due_baselines, needs_baseline
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.experiment import list_changes_since, reopen_run
from dyno.runs.resolve.preconditions import (
    check_empty,
    check_folder_space,
    check_memory,
)
from dyno.runs.run_folder import PROFILES, RunFolder
from dyno.workloads.replay.order import OrderedLog, read_order


def play_run(
    prepared: Prepared,
    folder: RunFolder,
    watch: Watch,
    rules: Rules | None = None,
    budget_s: float | None = None,
) -> Run:
    """Plays what is left of `prepared` into `folder` (made by `create_run`): the client-only
    baseline, then a block of every workload that lacks one, until the judge is done, or another
    one of phases that say no length (a log) would not end within the budget.

    Everything measured stays in the folder, whatever is raised: `TrialFailed` where a candidate
    does not work at all, `HostError` where the disk is full, `KeyboardInterrupt` as it came.
    """
    with folder.hold_alone():
        check_folder_space(folder, prepared)
        with _share_entries(prepared), folder.hold_homes():
            rules, played = rules or Rules(), folder.read_trials()
            length = RunLength(prepared, budget_s, rules.clock)
            with sample_phases(prepared.run, rules.tools) as sampler:
                player = RunPlayer(prepared, folder, watch, played, rules, sampler=sampler)
                state = player.begin()
                while not state.over and length.has_room():
                    for workload in player.find_lacking(state):
                        player.play_block(workload)
                    state = player.analyse(state)
                    if told := length.learn():
                        watch(LengthLearnt(told))
            if prepared.run.samples_stacks and not (folder.path / PROFILES).is_dir():
                player.play_for_stacks()
            if not state.over:
                watch(LengthLearnt(f"the budget of {budget_s:g} s is spent before a verdict"))
            watch(RunEnded(state.sentence))
    return prepared.run


def resume_run(folder: RunFolder, watch: Watch, say: Say = lambda _: None) -> Run:
    """Goes on with a torn run; `UsageError` where host, program or script are not the same.

    A run that is over stays as it is.
    """
    run = folder.read_run()
    prepared = reopen_run(run, say)
    if found := list_changes_since(run, prepared):
        hint = "start a new run; dyno report shows this one's verdict so far"
        raise UsageError("the run cannot be resumed", cause="; ".join(found), hint=hint)
    with folder.hold_alone():
        drop_leftovers(folder, prepared.engines, prepared.builds, say)
    with prepared.clients or nullcontext():
        check_memory(prepared)
        check_empty(prepared)
        return play_run(prepared, folder, watch)


def play_once(prepared: Prepared, watch: Watch, sampler: PhaseSampler | None = None) -> Trial:
    """One trial of the first candidate on the first workload, neither judged nor kept; `sampler`
    samples its CPU time.

    A failed or interrupted one is answered too, with what it measured before.
    """
    with _share_entries(prepared), make_temporary_run() as folder:
        check_folder_space(folder, prepared)
        watch(RunStarted(prepared.run, None, 0))
        player = RunPlayer(prepared, folder, watch, [], Rules(), sampler=sampler)
        workload, candidate = prepared.run.workloads[0], prepared.run.candidates[0]
        job = player.make_job(workload, candidate, NextBlock(0, 1), 0)
        watch(TrialStarted(0, 1, workload.name, candidate.name, 1, 1, 1))
        trial, error = play_trial(replace(job, load=None), watch)
        if isinstance(error, InternalError):
            raise error
        watch(TrialEnded(trial))
        return trial


@contextmanager
def sample_phases(run: Run, tools: Tools) -> Iterator[PhaseSampler | None]:
    """The sampler of a run; none where that was tried in vain, or not wanted."""
    if run.cpu_sampling is None or run.cpu_sampling.missing:
        yield None
        return
    sampler = PhaseSampler(tools.make_sampler)
    try:
        yield sampler
    finally:
        sampler.close()


def _share_entries(prepared: Prepared) -> AbstractContextManager[None]:
    """Keeps programs, their libraries, and logs that are laid out for a replay in the cache:
    `dyno clean` may be called meanwhile.
    """
    builds = prepared.builds.values()
    programs = [file for build in builds for file in (build.program, *build.libraries)]
    scripts = [Path(workload.script) for workload in prepared.run.workloads]
    return cache.keep_entries([*programs, *scripts])


@contextmanager
def make_temporary_run() -> Iterator[RunFolder]:
    """A run's folder of which nothing stays, whose homes a server's user can reach."""
    with scratch.make_folder("play", scratch.find_temporary_folder()) as place:
        folder = RunFolder(place)
        with folder.hold_homes():
            private_files.make_folder(folder.path / "logs")
            yield folder


#: Asked for the load of a trial: the design's loads, workload, trials so far, block, bytes of data.
LoadChooser = Callable[[int | None, WorkloadPlan, Sequence[Trial], int, int], LoadChoice | None]


@dataclass(frozen=True)
class Rules:
    """How a trial is played, what decides whether to go on, whether the client-only baseline is
    played and which load a trial begins with; a test hands in its own.
    """

    play_trial: TrialPlayer = play_trial
    analyse: Callable[[Run, Sequence[Trial]], InterimResult] = analyse_now
    needs_baseline: Callable[[Sequence[Candidate]], bool] = needs_baseline
    choose_load: LoadChooser = choose_load
    tools: Tools = field(default_factory=Tools)
    clock: Callable[[], float] = time.monotonic


@dataclass
class RunPlayer:
    """A run under way; `played` is every trial there is, in memory as on disk."""

    prepared: Prepared
    folder: RunFolder
    watch: Watch
    played: list[Trial]
    rules: Rules
    statements: KnownStatements = field(default_factory=KnownStatements)
    sampler: PhaseSampler | None = None

    @property
    def run(self) -> Run:
        """The run that is played."""
        return self.prepared.run

    @property
    def _next_number(self) -> int:
        return max((trial.number for trial in self.played), default=0) + 1

    def begin(self) -> InterimResult:
        """Where the run stands; plays the client-only baseline, where anything is to be played, and
        a rehearsal's answers are compared, whose time counts with a budget.
        """
        blocks = {(t.workload, t.block) for t in self.played if t.block >= 0}
        self.watch(RunStarted(self.run, self.folder.path, len(blocks)))
        first = self.rules.analyse(self.run, self.played)
        if not first.over:
            self._play_baselines()
        if self.run.design.rehearses:
            for workload in self.run.workloads:
                self._compare_contents(workload)
        return stop_where_failed(self.run, first, self.played)

    def find_lacking(self, state: InterimResult) -> list[WorkloadPlan]:
        """The workloads that lack a valid block for the next interim analysis."""
        return [plan for plan in self.run.workloads if state.missing.get(plan.name, 0)]

    def analyse(self, before: InterimResult) -> InterimResult:
        """Where the run stands after a round of blocks; those that do not count are reported."""
        now = self.rules.analyse(self.run, self.played)
        for workload in self.find_lacking(before):
            self._tell_dropped(workload)
        self.watch(BlockJudged(now.blocks, now.valid, now.state, now.sentence))
        return now

    def _tell_dropped(self, workload: WorkloadPlan) -> None:
        found = sort_blocks(self.run, workload, self.played)
        block = max(t.block for t in self.played if t.workload == workload.name)
        over = choose_next_block(self.run, workload.name, self.played).block != block
        if over and (dropped := found.dropped.get(block)):
            self.watch(BlockDropped(block, dropped.reason))
        elif over and (why := found.failed.get(block)):
            self.watch(BlockDropped(block, why))

    def _play_baselines(self) -> None:
        """The driver's own share of each workload, played on `null` without delay, under the
        options of every cell.
        """
        if not self.rules.needs_baseline(self.run.candidates):
            return
        engine = engines.find_engine("null", self.rules.tools.ask)
        build = engine.program("0us", {}, lambda _: None)
        self.prepared.engines[CLIENT_BASELINE], self.prepared.builds[CLIENT_BASELINE] = (
            engine,
            build,
        )
        for workload, options in list_due_baselines(self.run.workloads):
            side = Candidate(CLIENT_BASELINE, "null@0us", "null", True, {}, {}, {}, options=options)
            while (
                attempt := choose_baseline_attempt(workload.name, self.played, options)
            ) is not None:
                self._play_trial(self.make_job(workload, side, NextBlock(-1, attempt), 0), 1)

    def play_block(self, workload: WorkloadPlan) -> None:
        """One block, until a trial of it fails; what failed and has never worked ends the run."""
        self._compare_contents(workload)
        place = choose_next_block(self.run, workload.name, self.played)
        if self.run.find_next_block(workload.name, place.block - 1) != place.block:
            most = self.run.count_most_blocks(workload.name)
            raise TrialFailed(f"{workload.name} has played all {most} blocks without a verdict")
        if turns := self.run.design.interleaving:
            block, jobs = self._list_interleaved_jobs(workload, place, turns)
            played, stopped = play_together(jobs, block, self.rules.play_trial, self.watch)
            self._keep_all(played, stopped)
        else:
            jobs = self._list_jobs(workload, place)
            if self.run.design.rehearses and (log := read_order(Path(workload.script))):
                jobs = [make_timed(job, log) for job in jobs]
            for job in jobs:
                if self._play_trial(job, len(jobs)).status != "ok":
                    break
        if failed := find_always_failing(workload.name, self.played):
            why = failed.failure or Failure("")
            raise TrialFailed(
                f"{failed.candidate} fails on {workload.name} every time",
                cause=why,
                hint=why.hint or f"see {failed.log or 'dyno show'}",
            )
        self._play_echoes(workload)
        self._compare_contents(workload)

    def _compare_contents(self, workload: WorkloadPlan) -> None:
        """What every candidate answers beside the first with the same options, once: a log in its
        order, before anything is timed; other statements by themselves, once they were sent.
        """
        log = read_order(Path(workload.script))
        for sides in list_due_sides(self.prepared, workload, self.played, is_log=bool(log)):
            if log is not None:
                self._compare_log(workload, log, sides)
            elif texts := self.statements.find_texts(workload.name, sides[0].name):
                self._keep_answered(compare_sides(sides, partial(self._ask_side, workload, texts)))

    def _compare_log(
        self, workload: WorkloadPlan, log: OrderedLog, sides: Sequence[Candidate]
    ) -> None:
        plays = LogPlays(self.run, workload, log, self.folder.find_homes())

        def ask(side: Candidate, beside: int) -> AnsweredTrial[LogReplies]:
            replies = plays.make_replies()
            answered = plays.take_saved(side, replies, self._next_number + beside) or AnsweredTrial(
                *self._play_asked(workload, side, beside, AskedLog(replies)), replies
            )
            plays.asked.append((side, answered))
            return answered

        self._keep_answered(compare_sides(sides, ask, always_again=plays.is_saved))
        plays.save(sides[0])

    def _keep_answered(self, trials: Iterable[Played]) -> None:
        for trial, error in trials:
            # what a side refuses of the dump is an answer of a rehearsal, too
            is_told = self.run.design.rehearses and isinstance(error, UsageError)
            self._keep_all([(trial, None if is_told else error)], None)

    def _ask_side(
        self, workload: WorkloadPlan, texts: Sequence[KnownText], side: Candidate, beside: int
    ) -> AnsweredTrial[Replies]:
        asked = AskedTexts(texts, Replies())
        return AnsweredTrial(*self._play_asked(workload, side, beside, asked), asked.replies)

    def _play_asked(
        self, workload: WorkloadPlan, side: Candidate, beside: int, asked: AskedContents
    ) -> Played:
        job = self.make_job(workload, side, NextBlock(0, 1), 0, beside)
        named = structs.replace(side, name=name_contents(side.name))
        job = replace(job, block=-1, candidate=named, sampler=None, asked=asked)
        job = replace(job, explains=self.run.design.untimed)
        self._announce(job, 1)
        return self.rules.play_trial(job, self.watch)

    def play_for_stacks(self) -> None:
        """A trial of each candidate on each workload beside the blocks, with callers sampled."""
        sampler = PhaseSampler(self.rules.tools.make_sampler, stacks=True)
        beside = replace(self, sampler=sampler, watch=lambda _: None, played=list(self.played))
        try:
            played = [each for plan in self.run.workloads for each in beside.play_beside(plan)]
        finally:
            sampler.close()
        for profile in list_stack_profiles(played, self.watch):
            self.folder.write_profile(profile)

    def play_beside(self, workload: WorkloadPlan) -> list[Played]:
        """A trial of each candidate, as in a block, that is not written down."""
        place = choose_next_block(self.run, workload.name, self.played)
        if turns := self.run.design.interleaving:
            block, jobs = self._list_interleaved_jobs(workload, place, turns)
            played, stopped = play_together(jobs, block, self.rules.play_trial, self.watch)
            if stopped:
                raise stopped
        else:
            jobs = self._list_jobs(workload, place)
            played = [self.rules.play_trial(job, self.watch) for job in jobs]
        self.played += (trial for trial, _ in played)
        return played

    def _play_echoes(self, workload: WorkloadPlan) -> None:
        """The echo of each server that has played the workload, once where the host was calm."""
        if self.prepared.clients:  # the way from other hosts is another one
            return
        due = echo.list_due_echoes(self.prepared, workload, tuple(self.played))
        for plan, side, build, attempt in due:
            self.prepared.engines[side.name] = echo.EchoEngine()
            self.prepared.builds[side.name] = build
            self._play_trial(self.make_job(plan, side, NextBlock(-1, attempt), 0), 1)

    def _list_jobs(self, workload: WorkloadPlan, place: NextBlock) -> list[TrialJob]:
        """The jobs of a block, in the block's own order."""
        sides = {candidate.name: candidate for candidate in self.run.candidates}
        names = draw_block_order(self.run.seed, workload.name, place.block, list(sides))
        return [
            self.make_job(workload, sides[name], place, at, at) for at, name in enumerate(names)
        ]

    def _list_interleaved_jobs(
        self, workload: WorkloadPlan, place: NextBlock, design: Interleaving
    ) -> tuple[InterleavedBlock, list[TrialJob]]:
        """The jobs of a block whose trials are interleaved: who is the first to start and to
        connect is drawn for each block, as it is where trials follow each other.
        """
        jobs = self._list_jobs(workload, place)
        sides = [job.candidate for job in jobs]
        turns = plan_turns(design, self.run, workload, place.block, sides)
        block = InterleavedBlock(turns, design.is_freezing(workload.name), self.sampler)
        jobs = [replace(job, seat=block.make_slot(at)) for at, job in enumerate(jobs)]
        for job in jobs:
            self._announce(job, len(jobs))
        return block, jobs

    def _keep_all(self, played: Sequence[Played], stopped: KeyboardInterrupt | None) -> None:
        """Writes trials down that were played together, then raises what more would not mend."""
        for trial, _ in played:
            self._keep(trial)
        for error in (*(error for _, error in played), stopped):
            if error is not None and not isinstance(error, TrialFailed):
                raise error

    def make_job(
        self,
        workload: WorkloadPlan,
        side: Candidate,
        place: NextBlock,
        position: int,
        beside: int = 0,
    ) -> TrialJob:
        """The next trial's job, or that of the one `beside` places behind it."""
        number = self._next_number + beside
        engine, build = self.prepared.engines[side.name], self.prepared.builds[side.name]
        kept = isinstance(engine, engines.Snapshots) and not build.attached and place.block >= 0
        job = TrialJob(
            number=number,
            block=place.block,
            attempt=place.attempt,
            order=position,
            seed=compute_trial_seed(self.run.seed, workload.name, place.block),
            workload=workload.with_options(side.options),
            candidate=side,
            engine=engine,
            build=build,
            controls=self.run.design.controls | side.controls,
            home=self.folder.find_homes() / f"{number:04}",
            log=self.folder.log(number),
            loaded=self.folder.find_loaded_list(number),
            load=self._choose_load(workload, place.block) if kept else None,
            run_seed=self.run.seed,
            check=self.run.design.check,
            driver_sha256=self.run.driver_sha256,
            progress_s=self.prepared.progress_s,
            sampler=self.sampler if place.block >= 0 else None,
            statements=self.statements,
            tools=self.rules.tools,
            clients=self.prepared.clients,
            samples_waits=self.run.design.by == "time",
        )
        return with_upgraded(job, self.prepared)

    def _choose_load(self, workload: WorkloadPlan, block: int) -> LoadChoice | None:
        loads, size_bytes = self.run.design.loads, self.prepared.size_bytes
        return self.rules.choose_load(loads, workload, self.played, block, size_bytes)

    def _play_trial(self, job: TrialJob, of: int) -> Trial:
        """Plays a trial and writes it down; raises what more trials would not mend.

        A script that cannot be played on `null` costs the client-only baseline only, and not the
        run.
        """
        self._announce(job, of)
        trial, error = self.rules.play_trial(job, self.watch)
        self._keep(trial)
        borne = (TrialFailed, UsageError) if job.block < 0 else TrialFailed
        if error is not None and not isinstance(error, borne):
            raise error
        return trial

    def _announce(self, job: TrialJob, of: int) -> None:
        names = (job.workload.name, job.candidate.name)
        self.watch(TrialStarted(job.block, job.attempt, *names, job.number, job.order + 1, of))

    def _keep(self, trial: Trial) -> None:
        self.folder.write_trial(trial)
        self.played.append(trial)
        self.watch(TrialEnded(trial))
