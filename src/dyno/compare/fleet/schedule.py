"""Which host plays which share next.

There are more shares than hosts, and a share not begun goes to whoever is free. One that a host has
begun is gone on with there. Another host plays it from its beginning only where that host is lost;
so no block's trials are of two hosts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

#: Shares for each host where the user does not say: whoever is quicker plays more of them.
SHARES_PER_HOST = 2
#: A host's mean is one datum: fewer say little of a slowdown (docs/evidence/hosts.md).
HOSTS_LEAST = 4


def choose_shares(hosts: int, cells: int, blocks: int) -> int:
    """How many shares are dealt where the user does not say, of so many cells of so many `blocks`:
    whole cells where each host can have one, else parts of them.
    """
    return min(SHARES_PER_HOST * hosts, cells if cells >= hosts else cells * blocks)


def describe_split(shares: int, cells: int, hosts: int) -> str:
    """What it costs that cells are played by few hosts; empty where it costs little."""
    if shares <= cells or not 1 < hosts < HOSTS_LEAST:
        return ""
    return (
        f"each workload's blocks are dealt over {hosts} hosts, which rarely decide; "
        f"--shares {cells} deals whole workloads"
    )


@dataclass
class ShareSchedule:
    """The shares of a fleet: `begun` has the hosts that hold a part of each, `whole` those that
    were played to their end. Asked by a thread per host.
    """

    shares: int
    hosts: set[str]
    begun: dict[int, set[str]] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    #: Shares under way, with their host.
    playing: dict[int, str] = field(default_factory=dict)
    #: Hosts that a share failed on, by share: it ends the run where it fails on a second one.
    failed: dict[int, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._stopped = False

    def take(self, host: str) -> int | None:
        """The next share for a host that is free, waiting while it may yet be given one; None where
        nothing is left for it.
        """
        with self._changed:
            while not self._stopped and host in self.hosts:
                share = self._choose(host)
                if share is not None:
                    self.playing[share] = host
                    self.begun.setdefault(share, set()).add(host)
                    return share
                if not self.playing:
                    return None
                self._changed.wait(0.5)
            return None

    def _choose(self, host: str) -> int | None:
        left = [n for n in range(1, self.shares + 1) if n not in self.whole | self.playing.keys()]
        left = [n for n in left if host not in self.failed.get(n, {})]
        own = (n for n in left if host in self.begun.get(n, ()))
        fresh = (n for n in left if not self.begun.get(n))
        lost = (n for n in left if not self.begun.get(n, set()) & self.hosts)
        return next((n for each in (own, fresh, lost) for n in each), None)

    def finish(self, share: int) -> None:
        """Notes that a share was played to its end, and its records are here."""
        with self._changed:
            self.whole.add(share)
            self.playing.pop(share, None)
            self._changed.notify_all()

    def drop_host(self, host: str) -> None:
        """Notes that a host is lost: what it had begun goes to others."""
        with self._changed:
            self.hosts.discard(host)
            self._put_back(host)

    def mark_failed(self, share: int, host: str, why: str) -> None:
        """Notes that a share failed on a host, which plays no more; on a second host it ends all,
        since it is not the host's fault then.
        """
        with self._changed:
            self.failed.setdefault(share, {})[host] = why
            self.hosts.discard(host)
            self._put_back(host)
            if len(self.failed[share]) > 1:
                self._stopped = True

    def _put_back(self, host: str) -> None:
        for share in [n for n, other in self.playing.items() if other == host]:
            del self.playing[share]
        self._changed.notify_all()

    def stop(self) -> None:
        """Gives nobody another share."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def list_left(self) -> list[int]:
        """The shares that were not played to their end."""
        return [n for n in range(1, self.shares + 1) if n not in self.whole]


def recover_schedule(
    shares: int, whole: Iterable[int], begun: Mapping[str, Iterable[int]]
) -> ShareSchedule:
    """The schedule of a run that goes on: `begun` has each host that can be reached, with the
    shares that lie there.
    """
    schedule = ShareSchedule(shares, set(begun))
    schedule.whole = set(whole)
    for host, found in begun.items():
        for share in found:
            schedule.begun.setdefault(share, set()).add(host)
    return schedule
