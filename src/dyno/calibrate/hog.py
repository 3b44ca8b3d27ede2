"""A load that comes and goes on the engine's cores: the neighbour that a verdict must survive."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

#: How long the hog works and rests, in seconds: as long as some of a second's trials, or two.
WORKS_S = (0.3, 2.0)
RESTS_S = (0.5, 4.0)

#: Burns a core until it is killed, or whoever wanted it has died.
CODE = """
import os, sys
if cores := [int(core) for core in sys.argv[1].split(",") if core]:
    os.sched_setaffinity(0, cores)
while os.getppid() == int(sys.argv[2]):
    sum(range(100_000))
"""


@contextmanager
def coming_and_going(cores: Sequence[int], dice: random.Random) -> Iterator[None]:
    """Burns the first of `cores` (any, if there is none) for random stretches, until left."""
    over = threading.Event()
    words = (",".join(str(core) for core in cores[:1]), dice)
    thread = threading.Thread(target=_turns, args=(over, *words), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _turns(over: threading.Event, cores: str, dice: random.Random) -> None:
    while not over.wait(dice.uniform(*RESTS_S)):
        command = [sys.executable, "-I", "-S", "-c", CODE, cores, str(os.getpid())]
        hog = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        over.wait(dice.uniform(*WORKS_S))
        hog.kill()
        hog.wait()
