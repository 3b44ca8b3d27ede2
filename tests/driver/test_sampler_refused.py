"""What the driver's sampler says where a kernel refuses it: a container's filter of system calls, a
user without rights, a kernel without perf events.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dyno.driver.questions import find_driver
from dyno.host.checks._machine import PERF_EVENT_OPEN

#: Forbids perf_event_open by seccomp, as a container may, then becomes the program: the system
#: call's number, the error's, the words.
FILTERED = """
import ctypes, os, struct, sys
number, error, *words = sys.argv[1:]
def step(code, if_so, else_skip, value): return struct.pack("HBBI", code, if_so, else_skip, value)
steps = [step(0x20, 0, 0, 0), step(0x15, 0, 1, int(number)),
         step(0x06, 0, 0, 0x00050000 | int(error)), step(0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(steps))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
laid = Filter(len(steps), ctypes.addressof(program))
assert libc.prctl(22, 2, ctypes.byref(laid), 0, 0) == 0, ctypes.get_errno()
os.execv(words[0], words)
"""
NOBODY = 65534


def ask(words: list[str], **options: Any) -> dict[str, Any]:
    """What a sampler that is started so answers to a request for its parent, which is us."""
    request = {"pids": [os.getpid()], "period_ns": 1_000_000}
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
    )
    try:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()
    return answer


@pytest.mark.parametrize(
    ("error", "said"), [(1, "seccomp profile forbids it"), (38, "no perf events")]
)
def test_a_filter_of_system_calls_is_told(error: int, said: str) -> None:
    number = PERF_EVENT_OPEN[os.uname().machine]
    words = [sys.executable, "-c", FILTERED, str(number), str(error), str(find_driver()), "sample"]
    answer = ask(words)
    assert said in answer["message"]


def test_a_user_without_rights_samples_his_own_processes_without_the_kernel_s_time() -> None:
    """What `perf_event_paranoid` 2 permits to everybody; at 1 and below the kernel's time, too."""
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    driver = Path(shutil.copy(find_driver(), "/var/tmp/dyno-test-sampler"))
    try:
        options: dict[str, Any] = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        own = subprocess.Popen(["sleep", "60"], **options)
        request = {"pids": [own.pid], "period_ns": 1_000_000}
        done = subprocess.run(
            [driver, "sample"],
            input=json.dumps(request) + "\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
            **options,
        )
        own.kill()
        own.communicate()
    finally:
        driver.unlink()
    answer = json.loads(done.stdout)
    if level > 2:
        assert f"perf_event_paranoid is {level}" in answer["message"]
    elif level >= 0:
        assert answer == {"event": "cpu-clock", "scope": "threads", "kernel": level < 2}
