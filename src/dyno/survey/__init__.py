"""The survey of a host: one file per subject, which offers `observe`; nothing is changed by it.

A machine is read through `Machine` only, so that a test can make one of a folder. Each
observation is marked, and what is not good costs points (`_weights.py`) of a hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dyno.plugins import things
from dyno.record import Mark, Observation, host_score
from dyno.survey._machine import Machine
from dyno.survey._mount import Mount, mount_of
from dyno.survey._weights import cost

__all__ = ["GRADES", "Machine", "Mount", "Observe", "grade", "mount_of", "survey"]

#: What a subject offers as `observe`: one observation for each thing that it looks at.
Observe = Callable[[Machine], Iterable[Observation]]

#: The least score that deserves the words.
GRADES = {
    85: "good: small differences can be told here",
    60: "fair: expect wider intervals, and some blocks dropped",
    0: "poor: quiet it before a verdict is to rest on it",
}

_WORST_FIRST: tuple[Mark, ...] = ("poor", "fair", "unknown", "good")


def survey(machine: Machine) -> tuple[Observation, ...]:
    """Every observation with its points: the poor ones first, and of these the dearest."""
    subjects: dict[str, Observe] = things("dyno.survey", "observe")
    seen = [o for observe in subjects.values() for o in observe(machine)]
    priced = [replace(o, points=cost(o)) for o in seen]
    return tuple(sorted(priced, key=lambda o: (_WORST_FIRST.index(o.mark), -o.points, o.name)))


def grade(observations: Sequence[Observation]) -> str:
    """The score of a survey in words."""
    score = host_score(observations)
    return next(words for least, words in GRADES.items() if score >= least)
