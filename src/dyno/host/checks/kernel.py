"""Survey: what the kernel lays out at random, and what it lets Dyno do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from dyno.host.checks import make_not_visible, make_observation
from dyno.host.checks._machine import Machine
from dyno.record import Mark, Observation

WEIGHTS = {"ASLR": 9, "io_uring": 6, "perf events": 3}

RANDOMISE = "/proc/sys/kernel/randomize_va_space"
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
URING = "/proc/sys/kernel/io_uring_disabled"


def observe(machine: Machine) -> Iterator[Observation]:
    yield observe_aslr(machine)
    yield observe_io_uring(machine)
    yield observe_perf_events(machine)


def observe_aslr(machine: Machine) -> Observation:
    """Dyno samples the layout by restarting, which needs a kernel that draws it anew."""
    why = "addresses of code and stack change speed by percents; blocks average if they vary"
    state = machine.read_text(RANDOMISE)
    if not state:
        return make_not_visible("ASLR", why)
    found = {"0": "off for the whole machine", "1": "on, without the heap", "2": "on"}
    hint = "sudo sysctl kernel.randomize_va_space=2; --control aslr=off freezes it on purpose"
    mark: Mark = "fair" if state == "0" else "good"
    return make_observation("ASLR", found.get(state, state), mark, why, hint)


def observe_io_uring(machine: Machine) -> Observation:
    """Ask the kernel for one."""
    why = "the driver then waits for servers in epoll, which costs it a system call more a query"
    refused = machine.uring_errno()
    if not refused:
        return make_observation("io_uring", "allowed", "good", why)
    switched = machine.read_text(URING)
    hint = "run the container with a seccomp profile that allows io_uring_setup"
    if switched in ("1", "2"):
        hint = "sudo sysctl kernel.io_uring_disabled=0"
    elif refused == errno.ENOSYS:
        hint = "a kernel from 5.6 on has it"
    cause = os.strerror(refused).lower()
    return make_observation("io_uring", f"refused ({cause})", "fair", why, hint)


def observe_perf_events(machine: Machine) -> Observation:
    """Ask the kernel for one. If it refuses, its own level may be why."""
    why = (
        "samples of CPU time show which part of an engine is slower; without them only counters do"
    )
    refused, level = machine.perf_errno(False), machine.read_number(PARANOID)
    if refused in (errno.ENOSYS, errno.ENOENT, errno.EOPNOTSUPP):
        hint = "a kernel with CONFIG_PERF_EVENTS; plans, counters and `dyno count` do without"
        return make_observation("perf events", "this kernel has none", "fair", why, hint)
    if refused and level is not None and level > 2:
        hint = "sudo sysctl kernel.perf_event_paranoid=1, or run as root"
        return make_observation("perf events", f"refused (paranoid {level})", "fair", why, hint)
    if refused:
        cause = os.strerror(refused).lower()
        hint = "run the container with a seccomp profile that allows perf_event_open"
        return make_observation("perf events", f"refused ({cause})", "fair", why, hint)
    if machine.perf_errno(True):
        hint = "sudo sysctl kernel.perf_event_paranoid=1"
        found = f"without the kernel's time (paranoid {level})"
        return make_observation("perf events", found, "fair", why, hint)
    return make_observation("perf events", "CPU time can be sampled", "good", why)
