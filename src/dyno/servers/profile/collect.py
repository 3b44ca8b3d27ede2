"""Samples a server for a while: its processes' CPU time, its sessions, its statements' counts.

Whatever ends it early (the user, the server's end) ends it alone: what was seen until then is kept.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dyno.driver import Conversation
from dyno.driver.sampler import CpuSampler
from dyno.errors import DynoError, UsageError
from dyno.host.processes import list_process_family, sum_cpu_ns
from dyno.profile.debug_files import find_debug_folders
from dyno.profile.layers import label_profile
from dyno.record.server_profile import CpuTimes, ServerProfile, WaitSlice
from dyno.record.waits import SessionState, WaitKind
from dyno.servers.profile.statements import (
    COUNTS_SHARE,
    LOOK_EVERY_S,
    PERIOD_NS,
    StatementTimes,
    estimate_cost,
)
from dyno.servers.profile.target import ProfileTarget

#: What is handed a profile while it is taken.
Look = Callable[[ServerProfile], None]
#: What an answer may take beyond the server's own limit.
ANSWER_S = 15.0
#: A profile has at most so many slices, and none is shorter than a second.
SLICES_MOST, SLICE_LEAST_S = 120, 1.0


@dataclass(frozen=True)
class ProfileOptions:
    """How long, how fine (CPU time between samples), and whether callers are sampled, too."""

    for_s: float = 30.0
    period_ns: int = PERIOD_NS
    stacks: bool = False

    @property
    def slice_s(self) -> float:
        """How long a slice is: a whole number of seconds."""
        return max(SLICE_LEAST_S, float(-(-self.for_s // SLICES_MOST)))


@dataclass
class SessionSlices:
    """What sessions were seen doing, slice by slice."""

    slices: list[WaitSlice] = field(default_factory=list)
    _met: Counter[tuple[WaitKind, str]] = field(default_factory=Counter)
    _samples: int = 0

    def add(self, states: list[SessionState]) -> None:
        self._samples += 1
        for each in states:
            self._met[each.kind, each.event] += each.sessions

    def end_slice(self, elapsed_ns: int) -> None:
        """End a slice; one without a look is none."""
        if self._samples:
            states = (SessionState(*state, count) for state, count in self._met.most_common())
            self.slices.append(WaitSlice(elapsed_ns, self._samples, tuple(states)))
        self._met, self._samples = Counter(), 0


class Collector:
    """One profile. `prepare` asks and begins nothing yet, so that its cost can be shown; `run`
    samples; `build` names what was seen.
    """

    def __init__(
        self,
        target: ProfileTarget,
        options: ProfileOptions,
        make_sampler: Callable[[int], CpuSampler] = lambda period_ns: CpuSampler(
            period_ns, find_debug_folders(lambda _: None)
        ),
    ) -> None:
        self._make_sampler = make_sampler
        self.target, self.options = target, options
        self.missing = list(target.missing)
        self.stop = threading.Event()
        self._ask = Conversation(ANSWER_S)
        self._sampler: CpuSampler | None = None
        self._sessions = SessionSlices()
        self._times: StatementTimes | None = None
        self._began, self._began_s, self._elapsed_s = datetime.now(UTC), 0.0, 0.0
        self._before_ns: int | None = None
        self._charged_ns: int | None = None
        self._ended, self._cost_percent = "", 0.0
        self._rng = random.Random()

    def prepare(self) -> float:
        """Reach all that is asked; return the cost in percent of the host's cores, or of one if the
        server's process is not known. `DynoError` if neither CPU time can be sampled nor sessions
        asked.
        """
        server, process = self.target.server, self.target.process
        if server:
            self._times = StatementTimes(self._ask, server)
            self._times.begin()
            self.missing += self._times.missing
        if process:
            self._begin_sampling(process.pid)
        share = self._times.share if self._times else 0.0
        period_ns = self.options.period_ns if self._sampler else None
        cost = estimate_cost(
            period_ns=period_ns,
            stacks=self.options.stacks,
            asks=server is not None,
            counts_share=min(share, COUNTS_SHARE),
        )
        cores = (os.cpu_count() or 1) if process else 1
        self._cost_percent = cost.compute_percent(cores)
        return self._cost_percent

    def _begin_sampling(self, pid: int) -> None:
        """Try it, and wait for `run`; what is refused is missing, unless it was all."""
        self._sampler = self._make_sampler(self.options.period_ns)
        try:
            started = self._sampler.start([pid])
            self._sampler.stop()
        except DynoError as refused:
            self._sampler.close()
            self._sampler = None
            if self.target.server is None:
                raise
            self.missing.append(f"no CPU profile: {refused.sentence}")
            return
        if started.scope == "threads":
            self.missing.append(
                "each thread is sampled separately, which costs a server of short statements up to"
                " twice its CPU time: perf_event_paranoid leaves samples of all CPUs to root"
            )
        if not started.kernel:
            self.missing.append(
                "the time inside the kernel is not seen: perf_event_paranoid leaves it to root"
            )

    def run(self, look: Look | None = None, every_s: float = 2.0) -> None:
        """Sample until the time is over, `stop` is set, or the server has ended. `look` gets what
        was seen until then, again and again.
        """
        slice_s, process = self.options.slice_s, self.target.process
        if self._sampler and process:
            self._before_ns = self._read_charged()
            self._sampler.start(
                [process.pid], stacks=self.options.stacks, slice_ns=round(slice_s * 1e9)
            )
        if self._times:
            self._times.restart()
        self._began, self._began_s = datetime.now(UTC), time.monotonic()
        slice_due_s, look_due_s = slice_s, every_s
        slice_began_s = 0.0
        while not self._ended and self._elapsed_s < self.options.for_s:
            gap_s = LOOK_EVERY_S * self._rng.uniform(0.5, 1.5)
            due_s = min(self._elapsed_s + gap_s, slice_due_s, self.options.for_s)
            if self.stop.wait(max(0.0, due_s - self._read_clock())):
                self._elapsed_s = self._read_clock()
                self._ended = f"interrupted after {self._elapsed_s:.1f} s"
                break
            self._look_at_server()
            self._elapsed_s = self._read_clock()
            if self._elapsed_s >= slice_due_s:
                self._sessions.end_slice(round((self._elapsed_s - slice_began_s) * 1e9))
                slice_began_s, slice_due_s = self._elapsed_s, self._elapsed_s + slice_s
            if look and self._elapsed_s >= look_due_s:
                look(self._build(is_over=False))
                look_due_s = self._read_clock() + every_s
        self._sessions.end_slice(round((self._elapsed_s - slice_began_s) * 1e9))
        self._charged_ns = self._read_charged()
        if self._sampler:
            with self._keep_others():
                self._sampler.stop()

    @contextmanager
    def _keep_others(self) -> Iterator[None]:
        """If the sampler fails, there is no CPU profile, and the rest stands."""
        try:
            yield
        except DynoError as failed:
            if self.target.server is None:
                raise
            self.missing.append(f"no CPU profile: {failed.sentence}")
            if self._sampler:
                self._sampler.close()
            self._sampler = None

    def _read_clock(self) -> float:
        return time.monotonic() - self._began_s

    def _read_charged(self) -> int | None:
        """Return the CPU time of the process and its children until now; None if it has ended, or
        one is not ours to read.
        """
        process = self.target.process
        if process and process.is_there:
            with suppress(PermissionError):
                return sum_cpu_ns(list_process_family(process.pid))
        return None

    def _look_at_server(self) -> None:
        """Ask what the sessions are doing and, when that is due, what the statements took."""
        server, process = self.target.server, self.target.process
        if process and not process.is_there:
            self._ended = f"the server ended after {self._read_clock():.1f} s"
        if not server or self._ended or self._times is None or self._times.failed:
            return
        try:
            rows = self._ask(server.session, [server.sessions_sql])[0]
            met = server.extract_sessions(rows)
            self._sessions.add([it.state for it in met])
            self._times.add(met)
        except DynoError as refused:
            self._note_silence(refused)

    def _note_silence(self, refused: DynoError) -> None:
        """Note that the server did not answer: it has ended, or only CPU time is sampled from now
        on.
        """
        at_s, process = self._read_clock(), self.target.process
        if process and process.is_there and self._sampler:
            assert self._times
            self._times.failed = True
            self.missing.append(f"sessions were not asked after {at_s:.1f} s: {refused.sentence}")
        elif process and not process.is_there:
            self._ended = f"the server ended after {at_s:.1f} s"
        else:
            self._ended = f"the server stopped answering after {at_s:.1f} s: {refused.sentence}"

    def build(self) -> ServerProfile:
        """Return what was seen, with the functions' names and the statements' plans. `UsageError`
        if nothing was: an idle server has no profile.
        """
        found = self._build(is_over=True)
        met = sum(it.sessions for each in found.waits for it in each.states)
        if not (found.cpu and found.cpu.profile.samples) and not met and not found.statements:
            cause = f"no sample hit it and no session was active in {found.elapsed_s:.1f} s"
            hint = "is it in use? --for 5m looks longer"
            raise UsageError(f"{found.name} was idle", cause=cause, hint=hint)
        return found

    def _build(self, *, is_over: bool) -> ServerProfile:
        target, options = self.target, self.options
        statements = self._times.list_times(is_over=is_over) if self._times else ()
        cpu = None
        if self._sampler:
            with self._keep_others():
                assert self._sampler
                ((profile, slices),) = self._sampler.name_slices()
                charged_ns = None
                if self._charged_ns is not None and self._before_ns is not None:
                    charged_ns = self._charged_ns - self._before_ns
                # a container's files are others than this host's of the same path
                root = f"/proc/{target.process.pid}/root" if target.process else ""
                labelled = label_profile(target.engine, profile, root)
                cpu = CpuTimes(labelled, slices, charged_ns if charged_ns else None)
        missing = [*self.missing, *(self._times.found_missing if self._times and is_over else ())]
        if cpu and not cpu.profile.samples:
            missing.append("no CPU profile: no sample hit the server's processes; they were idle")
            cpu = None
        return ServerProfile(
            target.name,
            target.engine,
            target.server.version if target.server else "",
            f"{self._began:%Y-%m-%d %H:%M:%S}",
            options.for_s,
            round(self._elapsed_s, 3),
            options.slice_s,
            os.cpu_count() or 1,
            round(self._cost_percent, 3),
            (target.process.pid,) if target.process else (),
            cpu,
            tuple(self._sessions.slices),
            statements,
            self._times.source if self._times else "",
            self._times.slices_ns if self._times else (),
            self._ended,
            tuple(dict.fromkeys(missing)),
        )

    def close(self) -> None:
        if self._sampler:
            self._sampler.close()
        self._ask.close()

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
