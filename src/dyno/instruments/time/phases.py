"""The loop over a trial's phases: settles and samples where the driver waits, then lets it go.

The probes' samples at a phase's two ends become its readings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from dyno import driver
from dyno.engines import CountsContention, CountsInternals, CountsWork, Server
from dyno.errors import DynoError, TrialFailed
from dyno.host.probes import Probe, ProbeTarget, SamplesAfterDisconnect
from dyno.host.processes import iterate_stopping_family
from dyno.instruments.time.cpu_samples import TrialSampling
from dyno.instruments.time.freezer import NeverFrozen, ProcessFreezer
from dyno.instruments.time.interleaving import InterleavedBlock, TrialProcesses, TrialSlot
from dyno.instruments.time.job import DrivenProcess, DrivenTogether, TrialJob
from dyno.instruments.time.waits import PhaseWaits
from dyno.instruments.time.watch import PhaseEnded, PhaseStarted, Printed, Progressed, Watch
from dyno.record import Phase, PhaseRecord, Reading
from dyno.record.waits import WaitProfile
from dyno.record.workload import UNKNOWN_S
from dyno.tails import GrowingLog

#: Probe name to the numbers that it gave.
Sample = Mapping[str, Mapping[str, float]]
Probes = Mapping[str, Probe]


def sample_before(probes: Probes, watched: ProbeTarget) -> Sample:
    """Every probe's counters and gauges before a phase, those first that cost the engine work."""
    asking = {n: p.sample(watched) for n, p in probes.items() if _needs_wait(p)}
    return {**asking, **sample_answered(probes, watched)}


def sample_answered(probes: Probes, watched: ProbeTarget) -> Sample:
    """The same after it, while the driver's connections are open, but for those that wait."""
    return {n: p.sample(watched) for n, p in probes.items() if not _needs_wait(p)}


def sample_after_disconnect(probes: Probes, watched: ProbeTarget) -> Sample:
    """Those that waited until the connections were closed."""
    return {
        n: probe.sample_after_disconnect(watched)
        for n, probe in probes.items()
        if isinstance(probe, SamplesAfterDisconnect)
    }


def _needs_wait(probe: Probe) -> bool:
    return isinstance(probe, SamplesAfterDisconnect)


def add_readings(probes: Probes, record: PhaseRecord, before: Sample, after: Sample) -> PhaseRecord:
    """`record` with what the phase added to each counter, and each gauge at its end.

    A number that was not to be had at both ends (a gauge: at the end) is left out.
    """
    readings = _compute_readings(probes, before, after, record.own_share)
    return replace(record, readings=tuple(readings))


def _add_own_counts(done: PhaseRecord, before: Sample, after: Sample) -> tuple[Sample, Sample]:
    """Both samples with what an engine counted that lives in the driver, as probe `work`'s."""
    if not done.engine_counts:
        return before, after
    counts = {name: float(count) for name, count in done.engine_counts.items()}
    return {**before, "work": dict.fromkeys(counts, 0.0)}, {**after, "work": counts}


def _compute_readings(
    probes: Probes, before: Sample, after: Sample, own_share: float
) -> list[Reading]:
    found = []
    for name, probe in probes.items():
        first, last = before.get(name, {}), after[name]
        for measure in probe.measures:
            if measure.name not in last or (measure.counter and measure.name not in first):
                continue
            value = last[measure.name] - (first[measure.name] if measure.counter else 0.0)
            if measure.unit == "%":  # of the time in which it had its turn
                value = min(100.0, value / own_share)
            identity = (measure.name, measure.unit, measure.better)
            kinds = (measure.per_operation, probe.is_condition)
            found.append(Reading(name, *identity, value, *kinds))
    return found


#: What the probe `client` says of the one driver that it sees.
OF_CLIENTS = ("driver_busy_percent", "driver_waited_percent")


def add_client_readings(record: PhaseRecord) -> PhaseRecord:
    """`record` with the busiest thread of all client hosts in the place of the busiest of what a
    probe saw here.
    """
    if not record.clients:
        return record
    own = record.own_share
    most = (
        max(part.busiest_percent for part in record.clients),
        max(part.waited_percent for part in record.clients),
    )
    values = {name: min(100.0, v / own) for name, v in zip(OF_CLIENTS, most, strict=True)}
    readings = (replace(r, value=values.get(r.name, r.value)) for r in record.readings)
    return replace(record, readings=tuple(readings))


#: What the driver may take to open its connections, to close them (an embedded engine may write
#: its log back then), and to say so. Far above anything healthy: it ends what hangs.
BETWEEN_PHASES_S = 300.0

#: What an interrupted driver may take over its last words.
LAST_WORDS_S = 5.0


@dataclass
class PhaseLoop:
    """The driver's events of one trial, answered in turn; fills `phases` and `counters`.

    `declared` are the workload's phases by name.
    `before` is told of a phase that stands ready, with the engine's process; `after` of its end;
    `settled` before it, when the engine has settled and nobody is connected.
    `cores` are those that driver and engine are held to. `written` is what users wrote last,
    `examples` an execution of each text that they sent.
    """

    job: TrialJob
    server: Server
    declared: Mapping[str, Phase]
    watch: Watch
    phases: list[PhaseRecord]
    counters: dict[str, int] = field(default_factory=dict)
    written: list[driver.WrittenKeys] = field(default_factory=list)
    examples: list[driver.StatementExample] = field(default_factory=list)
    before: Callable[[str, int | None], None] = lambda phase, pid: None
    after: Callable[[str], None] = lambda phase: None
    settled: Callable[[str], None] = lambda phase: None
    cores: tuple[int, ...] = ()
    _unread: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._log = GrowingLog(self.job.log)
        self._waits = PhaseWaits(self.job, self.server)
        self._sampling = TrialSampling(self.job.sampler)

    def serve(self, process: DrivenProcess) -> None:
        """Answers the driver until it ends; its errors are raised.

        On Ctrl-C the driver is given a moment to say what it measured so far.
        """
        watched, seat = self._find_target(process), self.job.seat
        place = seat.take(self._find_place(watched, process)) if seat else nullcontext()
        try:
            with place, closing(self._waits):
                self._serve_events(process, watched)
        except KeyboardInterrupt:
            process.interrupt()
            limit = driver.Limit("stopping", LAST_WORDS_S)
            with suppress(DynoError):  # it says no more: the trial is torn, and told so
                while not isinstance(event := process.read_event(limit), driver.End):
                    if isinstance(event, PhaseRecord):
                        self.phases.append(event)
            raise

    def _read_event(self, process: DrivenProcess, limit: driver.Limit) -> driver.Event:
        """The driver's next event, after what the script printed before it."""
        try:
            return process.read_event(limit)
        finally:
            if said := self._log.read_more():
                self.watch(Printed(said))

    def _serve_events(self, process: DrivenProcess, watched: ProbeTarget) -> None:
        probes = self.job.tools.probes
        limit = driver.Limit("opening the connections", BETWEEN_PHASES_S)
        before: Sample = {}
        after: Sample | None = None
        seat: TrialSlot | None = None
        block: InterleavedBlock | None = None
        while True:
            match self._read_event(process, limit):
                case driver.Settle(phase=phase):
                    self.job.engine.settle(self.server)
                    self.settled(phase)
                    limit = driver.Limit("opening the connections", BETWEEN_PHASES_S)
                    process.go()
                case driver.Ready(phase=phase) as ready:
                    self.before(phase, watched.server_pid)
                    seat = self.job.seat if ready.is_interleaved else None
                    block = seat.block if seat else None
                    if block:
                        block.wait_ready()
                    self._unread.clear()
                    before, after = sample_before(probes, watched), None
                    self._waits.prepare(phase, seat is not None)
                    self._sampling.begin(phase, None if self.job.seat else watched.server_pid)
                    start_ns = seat.block.agree_start_ns() if seat else None
                    process.go(start_ns)
                    self._waits.begin(start_ns)
                    limit = self._begin_phase(phase)
                case driver.Failing():
                    if seat:
                        seat.block.break_off()
                        seat = None
                case driver.Answered(phase=phase):
                    seat = self._end(seat)
                    self._waits.end()
                    self._sampling.stop()
                    after = sample_answered(probes, watched)
                    limit = driver.Limit(f"ending phase {phase}", BETWEEN_PHASES_S)
                    process.go()
                case driver.Progress() as going:
                    self.watch(Progressed(going.phase, going.elapsed_s, going.streams))
                case PhaseRecord() as done:
                    seat = self._end(seat)
                    self._sampling.stop()
                    done = replace(done, waits=self._take_waits())
                    after = {
                        **(after or sample_answered(probes, watched)),
                        **sample_after_disconnect(probes, watched),
                    }
                    if block and self.job.seat:
                        done = replace(done, switches=block.find_switches(self.job.seat.own))
                    done = replace(done, unread=dict(self._unread))
                    before, after = _add_own_counts(done, before, after)
                    done = add_client_readings(add_readings(probes, done, before, after))
                    self._finish_phase(self._add_samples(done, block))
                    limit = driver.Limit(f"ending phase {done.phase}", BETWEEN_PHASES_S)
                    process.go()
                case driver.End(counters=counters, written=written, examples=examples):
                    self.counters |= counters
                    self.written += written
                    self.examples += examples
                    return

    def _find_place(self, watched: ProbeTarget, process: DrivenProcess) -> TrialProcesses:
        """The trial's place among those that are interleaved; an engine of somebody else's runs
        on.
        """
        pid, interrupt = watched.server_pid, process.interrupt
        if pid is None or self.job.build.attached or self.job.clients:
            return TrialProcesses(NeverFrozen(), (process.pid,), interrupt)
        alone = self.job.engine.embedded
        freezer = ProcessFreezer(lambda: [pid] if alone else iterate_stopping_family(pid))
        return TrialProcesses(freezer, tuple({pid, process.pid}), interrupt, sampled=pid)

    @staticmethod
    def _end(seat: TrialSlot | None) -> None:
        """Waits for the others to end the phase, too; there is no seat in it any more."""
        if seat:
            seat.block.end()

    def _add_samples(self, done: PhaseRecord, block: InterleavedBlock | None) -> PhaseRecord:
        """The record with where the engine's CPU time went in the phase that is over."""
        seat = self.job.seat
        found = block.find_samples(seat.own) if block and seat else self._sampling.name()
        return found.add_to(done, self.job.candidate.engine)

    def _finish_phase(self, phase: PhaseRecord) -> None:
        self.phases.append(phase)
        self.after(phase.phase)
        self.watch(PhaseEnded(phase.phase))

    def _find_target(self, process: DrivenProcess) -> ProbeTarget:
        pid = process.pid if self.job.engine.embedded else self.server.pid
        seat = self.job.seat
        others = seat.list_others if seat else tuple
        clients = process.pids if isinstance(process, DrivenTogether) else ()
        return ProbeTarget(
            pid,
            process.pid,
            self.job.home,
            counted=self._count_commits,
            contended=self._count_contention,
            worked=self._count_internals,
            beside=lambda: (*others(), *clients),
            cores=self.cores,
        )

    def _count_commits(self, after_disconnect: bool) -> Mapping[str, int]:
        """The server's own count; empty where it has none, or cannot be asked,
        which the phase's record says."""
        try:
            if isinstance(self.job.engine, CountsWork):
                counts = self.job.engine.count_work(self.server, after_disconnect)
                return self._waits.subtract_questions(counts)
        except TrialFailed as failed:
            self._unread["server"] = failed.message
        return {}

    def _take_waits(self) -> WaitProfile | None:
        """What the server's sessions were at; None where that is not known, which is said."""
        found = self._waits.take()
        if self._waits.unread:
            self._unread["waits"] = self._waits.unread
        return found

    def _count_contention(self) -> Mapping[str, int]:
        """The server's count of splits and waits, likewise."""
        try:
            if isinstance(self.job.engine, CountsContention):
                return self.job.engine.count_contention(self.server)
        except TrialFailed as failed:
            self._unread["contention"] = failed.message
        return {}

    def _count_internals(self) -> Mapping[str, int]:
        """The server's count of its own work, likewise."""
        try:
            if isinstance(self.job.engine, CountsInternals):
                return self.job.engine.count_internals(self.server)
        except TrialFailed as failed:
            self._unread["work"] = failed.message
        return {}

    def _begin_phase(self, phase: str) -> driver.Limit:
        declared = self.declared.get(phase)
        self.watch(PhaseStarted(phase, declared.expected_s if declared else 0.0))
        limit_s = declared.limit_s if declared else UNKNOWN_S
        if self.job.seat:  # the others' time passes, too
            limit_s *= 2 * len(self.job.seat.block.turns)
        return driver.Limit(f"phase {phase}", limit_s)
