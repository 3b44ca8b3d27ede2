#!/usr/bin/env python3
"""A server of many processes in small: each line on stdin is a child's work, in Python's words.

A child is forked for it and waited for, unless the line begins with `&`; `ok` is answered when
it has ended, or when it says so itself. `argv[1]` is the file that it writes to.
"""

import os
import sys
import time
from pathlib import Path


def burn(seconds: float) -> None:
    while time.process_time() < seconds:
        pass


def write(times: int) -> None:
    with Path(sys.argv[1]).open("wb", buffering=0) as out:
        for _ in range(times):
            out.write(b"x" * 4096)
        os.fsync(out.fileno())


def grandchild(seconds: float) -> None:
    if (child := os.fork()) == 0:
        burn(seconds)
        os._exit(0)
    os.waitpid(child, 0)


def ok() -> None:
    sys.stdout.write("ok\n")
    sys.stdout.flush()


def stay(switches: int) -> None:
    for _ in range(switches):
        time.sleep(0.0001)
    ok()
    time.sleep(60)


if __name__ == "__main__":
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            eval(line.lstrip("&"))
            os._exit(0)
        if line[0] != "&":
            os.waitpid(pid, 0)
            ok()
