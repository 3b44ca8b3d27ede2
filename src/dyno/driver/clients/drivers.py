"""Several drivers that play one load together, as one driver: `go` for all, an event of all.

What comes before `run` and after it (`prepare`, `cleanup`) is played by the first host alone; the
users of `run` are dealt to all. An event is answered once all have said it, so a phase is settled,
begun and told in step; its start is one time, translated to each host's clock. Whatever a host does
not do ends the trial, named by the host: every wait has the limit of who waits.
"""

from __future__ import annotations

import json
import select
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from dyno.driver.clients.merging import (
    ToldPart,
    append_event,
    compute_allowed_ns,
    measure_offset,
    merge_ends,
    merge_progress,
    merge_records,
    parse_host_event,
)
from dyno.driver.events import (
    ClientPhase,
    End,
    Event,
    Failing,
    Hello,
    Progress,
    Ready,
)
from dyno.driver.plan import LoadShare, Plan
from dyno.driver.process import (
    LINE_BYTES,
    DriverLaunch,
    DriverProcess,
    Limit,
    check_version,
)
from dyno.errors import DynoError, TrialFailed
from dyno.record import PhaseRecord
from dyno.record.clients import ClientHost, ClockOffset

#: From the last `go` to the common start, beside the time that a line takes to the slowest host.
START_AFTER_S = 0.05
#: So many times a round trip to the slowest host join that.
ROUND_TRIPS = 4
RUN = "run"
#: How `ssh` ends where it has not the end of the program there to tell.
SSH_EXIT = 255


@dataclass
class PlayingHost:
    """A host with its driver: what it has said and what is unanswered, its last record, and its
    clock as measured before the phase.
    """

    host: ClientHost
    process: DriverProcess
    plan: Plan
    is_shared: bool
    said: list[Event | ClientPhase] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    about: ClientPhase | None = None
    clock: ClockOffset | None = None
    progress: Progress | None = None
    is_over: bool = False

    def take_event(self, line: bytes) -> None:
        event = parse_host_event(line)
        if isinstance(event, Hello):
            check_version(event)
        elif isinstance(event, ClientPhase):
            self.about = event
        elif isinstance(event, Progress):
            self.progress = event
        else:
            if isinstance(event, PhaseRecord):
                self.told = {k: v for k, v in json.loads(line).items() if k != "event"}
            self.is_over = self.is_over or isinstance(event, End)
            append_event(self.said, event)  # type: ignore[arg-type]

    def explain_end(self) -> DynoError:
        """Return why its driver has ended, with the host's name; or that `ssh` has."""
        error = self.process.explain_end()
        if self.host.ssh and self.process.exit_code == SSH_EXIT:
            error = TrialFailed("the connection has ended", cause=error.cause)
        return self.name_error(error)

    def refuse_line(self) -> DynoError:
        """Return the error for a line that is longer than any driver's."""
        cause = f"no driver's is longer than {LINE_BYTES >> 20} MB"
        hint = "look at what stands at the driver's path there"
        return self.name_error(TrialFailed("it sent a line without end", cause=cause, hint=hint))

    def name_error(self, error: DynoError) -> DynoError:
        """Return the error with the host's name."""
        error.message = f"client host {self.host.name}: {error.message}"
        return error


class ClientStage:
    def __init__(
        self,
        members: Sequence[PlayingHost],
        lengths_s: Mapping[str, float],
        allowed: Callable[[int | None, float], int],
    ) -> None:
        self._members, self._lengths_s, self._allowed = members, lengths_s, allowed
        self._pending: Event | None = None
        self._is_failing = self._is_interrupted = False

    def begin(self) -> None:
        for member in self._members:
            member.process.lines.say(member.plan.to_line())

    def go(self, start_ns: int | None) -> None:
        """Answer all; a phase starts at a time of our clock, chosen here if it is None."""
        is_start, self._pending = isinstance(self._pending, Ready), None
        start_ns = self._choose_start_ns() if start_ns is None else start_ns
        for member in self._members:
            offset_ns = member.clock.offset_ns if member.clock else 0
            member.process.go(start_ns + offset_ns if is_start else None)

    def _choose_start_ns(self) -> int:
        slowest_ns = max((m.clock.error_ns for m in self._members if m.clock), default=0)
        return time.monotonic_ns() + round(START_AFTER_S * 1e9) + 2 * ROUND_TRIPS * slowest_ns

    def interrupt(self) -> None:
        self._is_interrupted = True
        for member in self._members:
            if not member.is_over:
                member.process.lines.say("interrupt")

    def read_event(self, limit: Limit) -> Event:
        """Return what all have said next."""
        self._pending = None
        while True:
            for member in self._members:
                try:
                    while (line := member.process.lines.take()) is not None:
                        member.take_event(line)
                except DynoError as error:
                    raise member.name_error(error) from None
            if (event := self._find_common_event()) is not None:
                self._pending = event
                return event
            self._wait(limit)

    def _find_common_event(self) -> Event | None:
        """Return the next event: progress of all, the error of one, or what all have reached."""
        members = self._members
        if all(member.progress for member in members):
            latest = [member.progress for member in members if member.progress]
            for member in members:
                member.progress = None
            return merge_progress(latest)
        failing = any(isinstance(each, Failing) for m in members for each in m.said)
        if failing:
            for member in members:
                member.said = [each for each in member.said if not isinstance(each, Failing)]
            if not self._is_failing:
                self._is_failing = True
                return Failing("")
        if not all(member.said for member in members):
            return None
        events = [member.said.pop(0) for member in members]
        for member in members:
            member.progress = None
        return self._agree(events)

    def _agree(self, events: Sequence[Event | ClientPhase]) -> Event:
        first = events[0]
        places = {(type(each), getattr(each, "phase", "")) for each in events}
        if len(places) > 1:
            said = ", ".join(
                f"{member.host.name} {type(each).__name__} {getattr(each, 'phase', '')}".rstrip()
                for member, each in zip(self._members, events, strict=True)
            )
            raise TrialFailed("the client hosts are not in step", cause=said)
        if isinstance(first, Ready):
            for member in self._members:
                member.clock = self._measure(member)
                self._check_error(member, first.phase, member.clock.error_ns, "is known to")
        elif isinstance(first, PhaseRecord):
            return self._merge_records(first)
        elif isinstance(first, End):
            return merge_ends(each for each in events if isinstance(each, End))
        assert not isinstance(first, ClientPhase)
        return first

    def _measure(self, member: PlayingHost) -> ClockOffset:
        try:
            return measure_offset(member.process, member.said)
        except TimeoutError:
            raise member.name_error(TrialFailed("its driver does not answer")) from None
        except EOFError:
            raise member.explain_end() from None
        except OverflowError:
            raise member.refuse_line() from None
        except DynoError as error:
            raise member.name_error(error) from None

    def _check_error(self, member: PlayingHost, phase: str, error_ns: int, what: str) -> None:
        """Refuse a phase that a host would begin, or go on with, at another time than others."""
        if len(self._members) == 1 and member.plan.turns is None:  # there are no others to meet
            return
        turns = member.plan.turns
        slice_ns = turns.slice_ns if turns else None
        allowed_ns = self._allowed(slice_ns, self._lengths_s.get(phase, 0.0))
        if error_ns > allowed_ns:
            part = "slices of phase" if turns else "phase"
            hint = (
                "play restarts one after the other (--sequential)"
                if turns
                else ("play longer phases, or name a host that is nearer")
            )
            cause = f"{part} {phase} must start within {allowed_ns / 1e3:,.0f} µs"
            message = f"its clock {what} ±{error_ns / 1e3:,.0f} µs"
            raise member.name_error(TrialFailed(message, cause=cause, hint=hint))

    def _merge_records(self, record: PhaseRecord) -> PhaseRecord:
        parts = []
        for member in self._members:
            clock, about = member.clock, member.about
            if clock is None or about is None:
                raise member.name_error(TrialFailed("its record came before its phase"))
            after = clock if self._is_interrupted else self._measure(member)
            if not self._is_interrupted:
                drift_ns = abs(after.offset_ns - clock.offset_ns)
                known_ns = clock.error_ns + after.error_ns
                self._check_error(
                    member, record.phase, max(0, drift_ns - known_ns) + clock.error_ns, "went by"
                )
            shared = member.is_shared
            parts.append(ToldPart(member.host, member.told, about, clock, after, shared))
        return merge_records(parts)

    def _wait(self, limit: Limit) -> None:
        """Wait until a driver has said something more; `TrialFailed` after the limit."""
        poll, by_handle = select.poll(), {}
        for member in self._members:
            if not member.is_over:
                by_handle[member.process.lines.handle] = member
                poll.register(member.process.lines.handle, select.POLLIN)
        left_s = limit.began_s + limit.limit_s - time.monotonic()
        # a host that never stops talking hides none that is late
        ready = poll.poll(left_s * 1000) if by_handle and left_s > 0 else []
        if not ready:
            late = [m.host.name for m in self._members if not m.said]
            names = f"client host{'s' if len(late) > 1 else ''} {', '.join(late)}"
            raise TrialFailed(f"{names}: {limit.doing} took longer than {limit.limit_s:.0f} s")
        for handle, _ in ready:
            member = by_handle[handle]
            try:
                member.process.lines.fill(LINE_BYTES)
            except EOFError:
                raise member.explain_end() from None
            except OverflowError:
                raise member.refuse_line() from None


@dataclass(frozen=True)
class ClientSeat:
    """A host that takes part: how its driver is started there, with how many worker threads, the
    path of the script there, and whether its machine has others of the run on it.
    """

    host: ClientHost
    launch: DriverLaunch
    script: str
    is_shared: bool


class ClientDrivers:
    """Drivers on `seats` that play `plan` together; a process each for what only the first does,
    and one for `run`. They die with us: their stdin closes.
    """

    def __init__(
        self,
        plan: Plan,
        seats: Sequence[ClientSeat],
        lengths_s: Mapping[str, float],
        allowed: Callable[[int | None, float], int] = compute_allowed_ns,
    ) -> None:
        """Start all of them; `HostError` if one cannot be started. `lengths_s` are phases';
        `allowed` says what error a start may have.
        """
        self._opened, self._ends = ExitStack(), list[End]()
        self._processes: list[DriverProcess] = []
        try:
            # `run` by itself, and what comes before it and after it
            parts = groupby(plan.commands, key=lambda it: it == RUN)
            stages = [self._start(plan, tuple(commands), seats) for _, commands in parts]
        except BaseException:
            self.close()
            raise
        self._stages = [ClientStage(members, lengths_s, allowed) for members in stages]
        load = next((each for each in stages if RUN in each[0].plan.commands), stages[0])
        self.pid = load[0].process.pid
        self._stages[0].begin()

    def _start(
        self, plan: Plan, commands: tuple[str, ...], seats: Sequence[ClientSeat]
    ) -> list[PlayingHost]:
        playing = seats if commands == (RUN,) else seats[:1]
        members = []
        for own, seat in enumerate(playing):
            process = self._opened.enter_context(DriverProcess(None, seat.launch))
            self._processes.append(process)
            part = replace(
                plan,
                script=replace(plan.script, path=seat.script),
                commands=commands,
                cpus=(),
                threads=max(1, seat.host.cores),
                client=LoadShare(own, len(playing)),
            )
            members.append(PlayingHost(seat.host, process, part, seat.is_shared))
        return members

    @property
    def pids(self) -> tuple[int, ...]:
        """Return all its processes on this machine: drivers, or the `ssh` to them."""
        return tuple(process.pid for process in self._processes)

    def go(self, start_ns: int | None = None) -> None:
        """As `DriverProcess.go`; `start_ns` is by our clock."""
        self._stages[0].go(start_ns)

    def read_event(self, limit: Limit) -> Event:
        """Return what all have said next; errors as `DriverProcess.read_event`, with the host's
        name.
        """
        while isinstance(event := self._stages[0].read_event(limit), End):
            self._ends.append(event)
            if len(self._stages) == 1:
                return merge_ends(self._ends)
            self._stages.pop(0)
            self._stages[0].begin()
        return event

    def interrupt(self) -> None:
        """Have those that play end with what they have; later commands are not played."""
        del self._stages[1:]
        self._stages[0].interrupt()

    def close(self) -> None:
        with suppress(OSError):
            self._opened.close()

    def __enter__(self) -> ClientDrivers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
