"""A load that comes and goes on the engine's cores: the neighbour that a verdict must survive."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

#: How long the hog works and rests, in seconds: it meets about half of the blocks of small trials,
#: so that some comparisons come to a verdict and some do not.
WORKS_S = (0.3, 2.0)
RESTS_S = (2.0, 12.0)

#: Burns a core for a stretch, rests for another, until it is killed or whoever wanted it has died.
CODE = """
import os, random, sys, time
cores, seed, works, rests, parent = sys.argv[1:]
dice = random.Random(int(seed))
if cores:
    os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
def stretch(between):
    ends_s = time.monotonic() + dice.uniform(*map(float, between.split(",")))
    while time.monotonic() < ends_s:
        if os.getppid() != int(parent):
            sys.exit()
        yield
while True:
    for _ in stretch(rests):
        time.sleep(0.01)
    for _ in stretch(works):
        sum(range(100_000))
"""


@contextmanager
def coming_and_going(cores: Sequence[int], dice: random.Random) -> Iterator[None]:
    """Burns the first of `cores` (any, if there is none) for random stretches, until left.

    One process all the time: the kernel adds the CPU of a child that ended to its parent's, and
    what is the parent's is not foreign (probe `host`).
    """
    words = (_text(cores[:1]), str(dice.getrandbits(32)), _text(WORKS_S), _text(RESTS_S))
    command = [sys.executable, "-I", "-S", "-c", CODE, *words, str(os.getpid())]
    # In a session of its own: an interrupt from the keyboard is for us, and we kill it.
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True) as hog:
        try:
            yield
        finally:
            hog.kill()


def _text(numbers: Sequence[float]) -> str:
    return ",".join(str(number) for number in numbers)
