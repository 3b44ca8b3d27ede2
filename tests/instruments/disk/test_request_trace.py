"""A request's way through the kernel, event by event, and what of it a real disk shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyno.errors import HostError
from dyno.instruments.disk.request_trace import (
    COMPLETED,
    DISPATCHED,
    QUEUED,
    RequestTrace,
    trace_requests,
)

#: Mounts tracefs where nobody else sees it, and reads a file past the page cache. No core is idle:
#: some kernels write no sample of an event that wakes one, and the device's counters serve there.
TRACED = """
import mmap, os, subprocess, sys, time
from dyno.instruments.disk.request_trace import trace_requests
handle = os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR | os.O_DIRECT)
page = mmap.mmap(-1, 1 << 16)
page.write(os.urandom(1 << 16))
os.pwritev(handle, [page], 0)
device = os.fstat(handle).st_dev
spin = [sys.executable, "-c", "while True: pass"]
spinning = [subprocess.Popen(spin) for _ in range(os.cpu_count())]
time.sleep(0.2)
try:
    with trace_requests([f"{os.major(device)}:{os.minor(device)}"]) as traced:
        for at in range(0, 1 << 16, 4096):
            os.preadv(handle, [memoryview(page)[:4096]], at)
finally:
    [each.kill() for each in spinning]
times = traced.measure()
print(times.requests, times.queue_ns > 0, times.device_ns > 0)
"""


def test_times_are_of_requests_of_which_all_events_were_seen() -> None:
    seen = [
        (100, QUEUED, 8),
        (130, DISPATCHED, 8),
        (140, QUEUED, 16),
        (230, COMPLETED, 8),
        (240, COMPLETED, 24),
        (250, DISPATCHED, 16),
        (260, QUEUED, 8),
        (300, DISPATCHED, 8),
        (500, COMPLETED, 8),
    ]
    times = RequestTrace(seen[::-1]).measure()
    assert times is not None
    assert (times.requests, times.queue_ns, times.device_ns) == (2, 35.0, 150.0)
    assert RequestTrace([(1, QUEUED, 8)]).measure() is None


def test_a_host_without_block_events_says_so(tmp_path: Path) -> None:
    with (
        pytest.raises(HostError, match="block events are not visible"),
        trace_requests(["8:0"], [tmp_path]),
    ):
        raise AssertionError("it was traced")


def test_requests_of_a_real_disk_are_seen() -> None:
    mount = 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"'
    words = [sys.executable, "-c", TRACED, "/var/tmp"]
    command = ["unshare", "--mount", "sh", "-c", mount, "sh", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if os.geteuid() or "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("takes root, and a kernel with tracefs")
    requests, queued, took = done.stdout.split()
    assert int(requests) >= 16 and (queued, took) == ("True", "True"), done.stderr
