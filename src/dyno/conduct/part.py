"""A part of a trial: an engine started, the driver under the controls, the ledger, the stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from dyno import driver
from dyno.conduct import attached, death, holding, ledger
from dyno.conduct import held as controlled
from dyno.conduct.held import Joined
from dyno.conduct.job import Job, Notes
from dyno.conduct.leftovers import Loaded
from dyno.conduct.listener import Listener
from dyno.conduct.watch import Watch
from dyno.engines import Server, Under
from dyno.errors import TrialFailed
from dyno.plan import Plan, Script
from dyno.record import PhaseRecord


@dataclass
class Part:
    """The commands of a script between a start and a stop of the engine, and what came of them.

    `is_last` asks for the engine's settings and evidence at the end.
    """

    commands: tuple[str, ...]
    seed: int
    is_last: bool = True
    phases: list[PhaseRecord] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long its phases were, warm-up included."""
        return sum((each.ended_ns - each.started_ns) / 1e9 for each in self.phases)


@dataclass(frozen=True)
class Player:
    """Plays the parts of one trial, all under the same controls."""

    job: Job
    notes: Notes
    watch: Watch
    held: Joined
    loaded: Loaded

    def play(self, part: Part) -> None:
        """From the engine's start to its stop; the script's counts join those of earlier parts."""
        job, notes = self.job, self.notes
        with self._server() as server:
            script = Script(job.workload.script, job.workload.options)
            given = (part.seed, part.commands, self.held.cpus, job.progress_s)
            plan = Plan(server.session, script, *given)
            with self._cleaned(plan, server, part):
                self._drive(plan, server, part)
                for name, count in part.counters.items():
                    notes.counters[name] = notes.counters.get(name, 0) + count
                if part.is_last:
                    notes.evidence = ledger.read(plan, notes.counters)
                    notes.settings = told = job.engine.settings(server)
                    asked = job.candidate.settings
                    notes.conditions |= holding.found(job.engine, server, asked, told)

    def _drive(self, plan: Plan, server: Server, part: Part) -> None:
        launch = _launch(self.job, self.held, self.notes)
        with driver.Process(plan, launch) as process:
            self._listener(server, part).listen(process)

    @contextmanager
    def _cleaned(self, plan: Plan, server: Server, part: Part) -> Iterator[None]:
        """In a server that goes on running, drops what the script's `prepare` made.

        Only where `prepare` came to its end: it may have failed on tables that are not its own.
        """
        try:
            yield
        finally:
            if self.job.build.attached and attached.is_loaded(part.phases):
                after = replace(plan, commands=(attached.CLEANUP,))
                self._drive(after, server, Part((attached.CLEANUP,), part.seed))
                self.loaded.forget()

    def _listener(self, server: Server, part: Part) -> Listener:
        job = self.job
        declared = {phase["name"]: phase for phase in job.workload.phases}
        sink = part.phases, part.counters
        listener = Listener(job.engine, server, declared, job.home, self.watch, *sink)
        listener.before = lambda phase, pid: self._before(phase, pid, server)
        listener.after = lambda phase: self._after(phase, part)
        return listener

    def _before(self, phase: str, pid: int | None, server: Server) -> None:
        """What the controls do while a phase stands ready in the engine's process `pid`."""
        controlled.started(self.held, self.notes, pid)
        if phase == attached.PREPARE:
            self.loaded.begin()
        if phase not in (attached.PREPARE, attached.CLEANUP):
            controlled.preload(self.held, self.notes, self.job.engine, server)

    def _after(self, phase: str, part: Part) -> None:
        """While the driver waits after a phase."""
        if phase == attached.PREPARE and attached.is_loaded(part.phases):
            self.loaded.note()

    @contextmanager
    def _server(self) -> Iterator[Server]:
        """The engine while it runs; where it dies or stands still meanwhile, the error says so.

        What went wrong while it ran is what is told, whatever goes wrong at its stop as well.
        """
        job, under = self.job, Under(self.held.prefix, self.held.environment)
        server = job.engine.start(job.build, job.home, job.candidate.settings, under)
        try:
            with death.explained(server):
                yield server
        except BaseException:
            with suppress(TrialFailed):
                _stop(job, server)
            raise
        _stop(job, server)


def _stop(job: Job, server: Server) -> None:
    """Stops the engine; its own last words join the trial's log, since its home goes."""
    try:
        job.engine.stop(server)
    finally:
        if said := death.tail(server.log):
            with job.log.open("a") as log:
                log.write(said)


def _launch(job: Job, held: Joined, notes: Notes) -> driver.Launch:
    """How the driver is started. Prefix and environment are meant for the engine's process,
    which is the driver's where the engine is embedded.
    """
    engine = held if job.candidate.embedded else Joined()
    notes.conditions["driver"] = {
        "environment": " ".join(f"{k}={v}" for k, v in driver.environment().items()),
        "prefix": " ".join(engine.prefix),
        "cpus": ",".join(str(cpu) for cpu in held.cpus),
        "seed": str(job.seed),
    }
    environment = engine.environment | {"TMPDIR": str(job.home)}
    return driver.Launch(job.log, engine.prefix, environment)
