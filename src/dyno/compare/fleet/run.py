"""Plays an experiment over a fleet: every host checked, then its shares until all are whole."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dyno import private_files
from dyno.compare.fleet import ConnectionLost
from dyno.compare.fleet.checks import HostState
from dyno.compare.fleet.folder import FleetFolder, FleetPlan
from dyno.compare.fleet.link import HostLink
from dyno.compare.fleet.messages import SHARE_BYTES, Ended, FileReceiver
from dyno.compare.fleet.schedule import ShareSchedule, recover_schedule
from dyno.errors import DynoError, HostError, TrialFailed
from dyno.numbers import format_quantity
from dyno.subprocesses import Heed


@dataclass(frozen=True)
class HostTold:
    """What a host does now: `share` 0 where it plays none; `is_progress` where it is a line that
    the share's play has printed.
    """

    host: str
    clause: str
    share: int = 0
    is_progress: bool = False


TellStep = Callable[[HostTold], None]


@dataclass
class FleetPlayer:
    """A fleet at play: a thread per host."""

    folder: FleetFolder
    plan: FleetPlan
    states: Sequence[HostState]
    tell: TellStep
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _faults: list[DynoError] = field(default_factory=list, init=False)

    def play(self) -> None:
        """Plays until every share is whole; `HostError` where some could not be played, and
        `TrialFailed` where one fails on two hosts. What has come back stays, whatever is raised.
        """
        links = {state.host.name: state.link for state in self.states if state.link}
        begun = {state.host.name: state.checked.begun for state in self.states if state.link}
        whole = [n for n in range(1, self.plan.shares + 1) if self.folder.find_player(n)]
        schedule = recover_schedule(self.plan.shares, whole, begun)
        threads = [
            threading.Thread(target=self._play_host, args=(name, link, schedule), daemon=True)
            for name, link in links.items()
        ]
        heed = Heed()
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads):
                heed.pause(0.1)
        except KeyboardInterrupt:
            self._stop.set()
            schedule.stop()
            for thread in threads:
                thread.join()
            raise
        self._refuse_left(schedule)

    def _refuse_left(self, schedule: ShareSchedule) -> None:
        if self._faults:
            raise self._faults[0]
        twice = [(n, why) for n, why in schedule.failed.items() if len(why) > 1]
        if twice:
            share, why = twice[0]
            cause = "; ".join(f"{host}: {said}" for host, said in why.items())
            raise TrialFailed(f"share {share} fails on {len(why)} hosts", cause=cause)
        if left := schedule.list_left():
            told = [f"{s.host.name}: {s.faults[-1]}" for s in self.states if s.faults]
            numbers = ", ".join(map(str, left))
            which = f"share {numbers}" if len(left) == 1 else f"shares {numbers}"
            were = "was" if len(left) == 1 else "were"
            raise HostError(
                f"{which} of {self.plan.shares} {were} not played",
                cause="; ".join(told) or "no host is left",
                hint="mend the hosts",
            )

    def _play_host(self, name: str, link: HostLink, schedule: ShareSchedule) -> None:
        try:
            while (share := schedule.take(name)) is not None:
                self._play_share(name, link, schedule, share)
                if self._stop.is_set():
                    return
            if name in schedule.hosts:
                moved = (format_quantity(n, "bytes", significant=2) for n in link.count_bytes())
                sent, received = moved
                clause = f"has nothing left to play; sent {sent}, received {received}"
                self.tell(HostTold(name, clause))
        except ConnectionLost as error:
            self._note_fault(name, error)
            schedule.drop_host(name)
        except DynoError as error:  # its own dyno refuses, or this disk is full
            self._note_fault(name, error)
            schedule.drop_host(name)
            if not isinstance(error, HostError):
                self._faults.append(error)
                schedule.stop()
        except Exception as error:
            self._faults.append(HostError(f"{name} cannot be followed", cause=repr(error)))
            schedule.stop()

    def _find_state(self, name: str) -> HostState:
        return next(state for state in self.states if state.host.name == name)

    def _note_fault(self, name: str, error: DynoError) -> None:
        self._find_state(name).faults.append(error.sentence)
        self.tell(HostTold(name, f"is lost: {error.sentence}"))

    def _play_share(self, name: str, link: HostLink, schedule: ShareSchedule, share: int) -> None:
        of = f"share {share}/{self.plan.shares}"
        self.tell(HostTold(name, f"{of} begun", share))
        records = self.folder.find_share(share, name)
        if share not in self._find_state(name).checked.begun:
            private_files.remove_all(records)  # of an attempt that the host has no more
        receiver = FileReceiver(records, SHARE_BYTES)
        ended = link.play(
            share, receiver, self._stop, lambda line: self.tell(HostTold(name, line, share, True))
        )
        if self._stop.is_set() and ended.exit_code:
            return
        if ended.exit_code == 0:
            self.folder.finish_share(share, name)
            schedule.finish(share)
            self.tell(HostTold(name, f"{of} whole"))
            return
        why = describe_end(ended)
        self._find_state(name).faults.append(f"{of} failed: {why}")
        self.tell(HostTold(name, f"{of} failed: {why}"))
        schedule.mark_failed(share, name, why)


def describe_end(ended: Ended) -> str:
    """How a share's play ended, with the last of its errors."""
    said = "; ".join(line.strip() for line in ended.errors.splitlines() if line.strip())
    ending = f"signal {-ended.exit_code}" if ended.exit_code < 0 else f"exit {ended.exit_code}"
    return f"{said or 'it said nothing'} ({ending})"
