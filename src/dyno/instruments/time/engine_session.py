"""An engine from its start to its stop, and the parts that are played on it meanwhile: those of a
trial, of a load that is kept, and of a pilot.

Where that fails, a server that died or was stopped is told from one that refused, so that the
trial's error names the cause.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from dyno import driver
from dyno.driver.plan import Excerpt, Plan, Script
from dyno.engines import Server, StartConditions
from dyno.errors import DynoError, InternalError, TrialFailed
from dyno.instruments.time.controls import (
    ControlStack,
    act_after_start,
    build_engine_environment,
    fill_cache,
)
from dyno.instruments.time.evidence import (
    check_integrity,
    measure_data_condition,
    measure_storage_condition,
    read_ledger,
)
from dyno.instruments.time.job import AskedLog, TrialJob, TrialNotes
from dyno.instruments.time.leftovers import CLEANUP, PREPARE, LoadedTables, is_prepared
from dyno.instruments.time.phases import PhaseLoop
from dyno.instruments.time.plans import (
    note_texts,
    read_plans,
    read_plans_before,
    read_plans_of_values,
)
from dyno.instruments.time.watch import Watch
from dyno.private_files import open_private
from dyno.record import DriverCondition, PhaseRecord
from dyno.tails import extract_last_lines, read_tail


@dataclass
class SessionPart:
    """Commands of a script, played under the workload's options and `options`, and what came of
    them.

    `is_last` asks for the engine's settings and evidence at the end; `excerpt` is what is played of
    `run`, None for all of it. `keeps_tables`: further parts follow on the same tables, in a server
    that goes on running, too (`EngineSession.hold_tables`).
    """

    commands: tuple[str, ...]
    seed: int
    options: dict[str, str] = field(default_factory=dict)
    is_last: bool = False
    phases: list[PhaseRecord] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    written: list[driver.WrittenKeys] = field(default_factory=list)
    examples: list[driver.StatementExample] = field(default_factory=list)
    excerpt: Excerpt | None = None
    keeps_tables: bool = False

    @property
    def seconds(self) -> float:
        """How long its phases were, warm-up included."""
        return sum((each.ended_ns - each.started_ns) / 1e9 for each in self.phases)


@dataclass(frozen=True)
class EngineSession:
    """Plays the parts of one trial or pilot, all under the same controls."""

    job: TrialJob
    notes: TrialNotes
    watch: Watch
    controls: ControlStack
    loaded: LoadedTables

    @contextmanager
    def run_engine(self) -> Iterator[Server]:
        """The engine, from its start to its stop.

        An error while it ran is the one that is raised, whatever goes wrong at its stop.
        """
        job = self.job
        held = self.controls
        environment = {} if job.engine.embedded else build_engine_environment(job, held)
        under = StartConditions(held.prefix, environment, held.executor, held.shown_as)
        server = job.engine.start(job.build, job.home, job.candidate.settings, under)
        try:
            with explain_death(server):
                yield server
        except BaseException:
            try:
                _stop(job, server)
            except TrialFailed as failed:
                self.notes.left_behind.append(f"the engine was not stopped: {failed.message}")
            raise
        _stop(job, server)

    def play(self, server: Server, part: SessionPart) -> None:
        """Plays `part` on the started engine, then asks for what it holds if it is the last; the
        script's counts join those of earlier parts.
        """
        job, notes = self.job, self.notes
        plan = self._make_plan(server, part)
        kept = nullcontext() if part.keeps_tables else self._drop_tables_after(plan, server, part)
        with kept:
            self._drive(plan, server, part)
            for name, count in part.counters.items():
                notes.counters[name] = notes.counters.get(name, 0) + count
            if part.is_last:
                note_texts(job, part.phases, part.examples)
                notes.evidence = read_ledger(plan, notes.counters, part.written, job.tools)
                found = read_plans(plan, job, part.phases, part.examples)
                notes.plans, notes.unexplained = found.plans, found.unexplained
                notes.generic_plans = found.generic
                notes.settings = reported = job.engine.settings(server)
                requested = job.candidate.settings
                notes.storage = measure_storage_condition(job.engine, server)
                notes.data = measure_data_condition(job.engine, server, requested, reported)
                notes.integrity = check_integrity(job, server)

    def explain_loaded(self, server: Server) -> None:
        """Settles loaded data, and reads the plans of the statements that the script names."""
        self.job.engine.settle(server)
        plan = self._make_plan(server, SessionPart((), self.job.seed))
        found = read_plans(plan, self.job, (), ())
        self.notes.plans, self.notes.unexplained = found.plans, found.unexplained
        self.notes.generic_plans = found.generic
        if isinstance(self.job.asked, AskedLog):
            self.notes.plans |= read_plans_of_values(plan, self.job, self.job.asked.replies.log)

    @contextmanager
    def hold_tables(self, server: Server) -> Iterator[None]:
        """Loads the script's tables for parts that keep them, and drops them in the end where the
        server goes on running.
        """
        part = SessionPart((PREPARE,), self.job.seed, keeps_tables=True)
        with self._drop_tables_after(self._make_plan(server, part), server, part):
            if PREPARE in self.job.workload.commands:
                self.play(server, part)
            yield

    def _make_plan(self, server: Server, part: SessionPart) -> Plan:
        job = self.job
        script = Script(job.workload.script, job.workload.options | part.options)
        given = (part.seed, part.commands, self.controls.cpus, job.progress_s)
        turns = job.seat.turns if job.seat else None
        return Plan(server.session, script, *given, turns=turns, excerpt=part.excerpt)

    def _drive(self, plan: Plan, server: Server, part: SessionPart) -> None:
        launch = _launch(self.job, self.controls, self.notes)
        job, clients = self.job, self.job.clients
        asked_s = part.options.get("time")
        lengths_s = {
            phase.name: phase.length_s if asked_s is None else float(asked_s)
            for phase in job.workload.phases
        }
        drive = partial(clients.drive, lengths_s=lengths_s) if clients else job.tools.drive
        with drive(plan, launch) as process:
            self._make_phase_loop(plan, server, part).serve(process)

    @contextmanager
    def _drop_tables_after(self, plan: Plan, server: Server, part: SessionPart) -> Iterator[None]:
        """In a server that goes on running, drops what the script's `prepare` made; where the trial
        has failed, that is the error that is raised, whatever goes wrong here.
        """
        try:
            yield
        except BaseException:
            try:
                self._clean_up(plan, server, part)
            except DynoError as failed:
                self.notes.left_behind.append(
                    f"the script's tables stay in the server, dyno resume drops them: "
                    f"{failed.message}"
                )
            raise
        self._clean_up(plan, server, part)

    def _clean_up(self, plan: Plan, server: Server, part: SessionPart) -> None:
        """The script's own `cleanup`, then what it left.

        It has its say only where `prepare` came to its end, which may have failed on tables that
        are not its own.
        """
        job = self.job
        if not job.build.attached:
            return
        self.loaded.note_tables()
        try:
            if is_prepared(part.phases) and CLEANUP in job.tools.describe(plan).commands:
                after = replace(plan, commands=(CLEANUP,))
                self._drive(after, server, SessionPart((CLEANUP,), part.seed))
        finally:
            self.loaded.drop()

    def _make_phase_loop(self, plan: Plan, server: Server, part: SessionPart) -> PhaseLoop:
        job = self.job
        declared = {phase.name: phase for phase in job.workload.phases}
        return PhaseLoop(
            job,
            server,
            declared,
            self.watch,
            part.phases,
            part.counters,
            part.written,
            part.examples,
            before=lambda phase, pid: self._act_before(phase, pid, plan, server),
            after=lambda phase: self._act_after(phase, part),
            settled=lambda phase: self._act_settled(phase, plan),
            cores=self.controls.pinning.both if self.controls.pinning else (),
        )

    def _act_before(self, phase: str, pid: int | None, plan: Plan, server: Server) -> None:
        """What the controls do while a phase stands ready in the engine's process `pid`."""
        act_after_start(self.controls, self.notes, pid)
        if phase == PREPARE:
            self.loaded.begin()
        if phase not in (PREPARE, CLEANUP):
            fill_cache(self.controls, self.notes, self.job.engine, server)
            if not self.notes.plans_before:
                self.notes.plans_before = read_plans_before(plan, self.job)

    def _act_settled(self, phase: str, plan: Plan) -> None:
        """While nobody is connected: an engine that lets one process in explains only then."""
        if self.job.engine.embedded and phase != PREPARE and not self.notes.plans_before:
            self.notes.plans_before = read_plans_before(plan, self.job)

    def _act_after(self, phase: str, part: SessionPart) -> None:
        """While the driver waits after a phase."""
        if phase == PREPARE and is_prepared(part.phases):
            self.loaded.note_tables()


def _stop(job: TrialJob, server: Server) -> None:
    """Stops the engine; its own last words join the trial's log, since its home goes."""
    try:
        job.engine.stop(server)
    finally:
        if said := read_tail(server.log):
            with open(job.log, "a", opener=open_private) as log:
                log.write(said)


def _launch(job: TrialJob, held: ControlStack, notes: TrialNotes) -> driver.DriverLaunch:
    """How the driver is started. Prefix and environment are meant for the engine's process,
    which is the driver's where the engine is embedded.
    """
    engine = held if job.candidate.embedded else ControlStack()
    words = " ".join(f"{k}={v}" for k, v in driver.build_driver_environment().items())
    prefix = (*engine.prefix, *engine.executor)
    notes.driver = DriverCondition(words, " ".join(prefix), held.cpus, job.seed)
    own = build_engine_environment(job, held) if job.candidate.embedded else {}
    environment = own | {"TMPDIR": str(job.home)}
    return driver.DriverLaunch(job.log, prefix, environment)


#: What the kernel may take, once a server's connections are gone, to show that it is gone too.
PATIENCE_S = 1.0
#: Lines of the server's log that an error carries.
LINES = 8
#: Letters of proc_pid_stat(5): stopped by a signal, by a debugger.
STOPPED = ("T", "t")


class ServerDied(TrialFailed):
    """The server's process is gone; `code` is its exit code or minus its signal, None if unseen."""

    code: int | None = None


class ServerStopped(TrialFailed):
    """The server's process is there, stopped by a signal."""


@contextmanager
def explain_death(server: Server, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Where the server dies meanwhile, `ServerDied` with its log's last lines, whatever was raised;
    where it is stopped by a signal, `ServerStopped`.
    """
    try:
        yield
    except InternalError:
        raise
    except DynoError as error:
        sentence = error.sentence
        if server.pid is not None and _read_state(server.pid) in STOPPED:
            hint = f"kill -CONT {server.pid} continues it"
            raise ServerStopped(
                "the server is stopped (SIGSTOP)", cause=sentence, hint=hint
            ) from error
        if server.pid is None or _is_alive(server.pid, patience_s):
            raise
        words = "".join(f"\n  {line}" for line in read_last_words(server)) or " nothing"
        cause = f"{sentence}\nits log ends with:{words}"
        code, how = _read_exit(server)
        died = ServerDied(f"the server died{how}", cause=cause)
        died.code = code
        raise died from error


def read_last_words(server: Server, lines: int = LINES) -> list[str]:
    """The last lines of the server's log; none where it has no log."""
    return extract_last_lines(read_tail(server.log), lines).splitlines()


def _is_alive(pid: int, patience_s: float) -> bool:
    """Is it there, and no zombie? A dying one is given a moment."""
    end_s = time.monotonic() + patience_s
    while _read_state(pid) not in "ZX":
        if time.monotonic() > end_s:
            return True
        time.sleep(0.01)
    return False


def _read_state(pid: int) -> str:
    """The letter of proc_pid_stat(5); `X` for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "X"


def _read_exit(server: Server) -> tuple[int | None, str]:
    """The exit code or minus the signal, and both in words, where the engine holds a `Popen` that
    can tell.
    """
    poll = getattr(server.handle, "poll", None)
    code = poll() if callable(poll) else None
    if not isinstance(code, int):
        return None, ""
    return code, f" (signal {-code})" if code < 0 else f" (exit code {code})"
