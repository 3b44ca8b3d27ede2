"""The cases of a calibration: comparisons of one kind each, with a known truth and a goal.

A goal is how many comparisons of a case are wanted; their size is declared (`Shape`), and stored
with each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dyno.compare.calibration.pilot import CalibrationPilot, add_keys, with_injected_delay
from dyno.engines import null
from dyno.errors import UsageError
from dyno.runs.experiment import candidates

#: Comparisons of each kind, unless the user says how many; and of a quick calibration.
GOALS = {"aa": 20, "paths": 10, "delay": 10, "p99": 5, "noise": 10, "delay-noise": 5}
QUICK = {"aa": 3, "paths": 1, "delay": 2, "p99": 1, "noise": 1, "delay-noise": 0}
#: The goals of cases whose truth is what is injected.
INJECTED = ("delay", "p99", "delay-noise")
#: What is said of a comparison that a hog comes and goes beside.
HOG = ", a CPU hog on and off"
#: The kind of comparisons of one program with a copy of it that lies elsewhere.
PATHS = "A/A at two paths"
#: What is injected, as slowdowns in percent.
INJECTED_PERCENT = (5.0, 2.0, 1.0)
#: What the p99 is raised by, at least, where one answer in `EVERY` is held up.
P99_PERCENT, EVERY = 50.0, 50
#: Fewer answers for each operation than this: the delay does not reach the engine.
ANSWERS_LEAST = 0.5


@dataclass(frozen=True)
class CalibrationCase:
    """Comparisons of one kind; `base` and `candidate` are specs as a user would write them."""

    kind: str
    title: str
    effect_percent: float
    goal: int
    base: str
    candidate: str
    metric: str = "rate_per_s"
    beside_hog: bool = False

    @property
    def is_aa(self) -> bool:
        """Are both sides the same on purpose?"""
        return self.kind == PATHS or self.base == self.candidate


def list_cases(
    text: str,
    pilot: CalibrationPilot,
    goals: Mapping[str, int],
    injected_percent: Sequence[float] = INJECTED_PERCENT,
    copies: Sequence[str] = (),
) -> list[CalibrationCase]:
    """Every case of the engine that `text` names; `goals` maps a kind to a number, and lacks those
    that are not wanted. `copies` are two specs of the same program at two paths, if there are any.
    """
    spec = candidates.parse_candidate(text)
    found = list(_list_aa_cases(text, goals))
    if copies:
        title, goal = "same build at two paths", goals.get("paths", 0)
        found.append(CalibrationCase(PATHS, title, 0.0, goal, copies[0], copies[1]))
    if spec.engine == "null":
        found += _list_delay_cases(text, pilot, goals, injected_percent)
    elif pilot.answers_per_op >= ANSWERS_LEAST:
        found += _list_injected_cases(text, pilot, goals, injected_percent)
    return [case for case in found if case.goal]


def _list_aa_cases(text: str, goals: Mapping[str, int]) -> Iterator[CalibrationCase]:
    yield CalibrationCase("A/A", "same build", 0.0, goals.get("aa", 0), text, text)
    beside = f"same build{HOG}"
    yield CalibrationCase("noise", beside, 0.0, goals.get("noise", 0), text, text, beside_hog=True)


def _list_delay_cases(
    text: str, pilot: CalibrationPilot, goals: Mapping[str, int], injected_percent: Sequence[float]
) -> Iterator[CalibrationCase]:
    """Longer delays, by shares of the whole operation; the base's is 0 only by mistake."""
    delay_ns = null.parse_delay_ns(candidates.parse_candidate(text).build or "0")
    if not delay_ns:
        hint = "for instance null@70us: a share of nothing cannot be injected"
        raise UsageError("null has no delay of its own", hint=hint)
    for percent in injected_percent:
        slower = f"null@{round(delay_ns + pilot.per_op_ns * percent / 100)}ns"
        yield from _list_noise_cases(percent, goals, text, slower)


def _list_injected_cases(
    text: str, pilot: CalibrationPilot, goals: Mapping[str, int], injected_percent: Sequence[float]
) -> Iterator[CalibrationCase]:
    """Spins sized by the pilot's trial, so that a slower host gets longer ones."""
    base = with_injected_delay(text, 0)
    answers = pilot.answers_per_op
    for percent in injected_percent:
        spin_ns = round(pilot.per_op_ns * percent / 100 / answers)
        yield from _list_noise_cases(percent, goals, base, with_injected_delay(text, spin_ns))
    spin_ns = round(pilot.p99_ns * (1 + P99_PERCENT / 100) - pilot.p50_ns)
    rare = add_keys(text, {"inject": f"{spin_ns}ns/{EVERY}"})
    what = f"p99 raised by {P99_PERCENT:g} %: one answer in {EVERY} held up"
    metric, goal = "latency_ns_p99", goals.get("p99", 0)
    yield CalibrationCase("p99 delay", what, P99_PERCENT, goal, base, rare, metric)


def _list_noise_cases(
    percent: float, goals: Mapping[str, int], base: str, slower: str
) -> Iterator[CalibrationCase]:
    """The same delay on a host left alone and beside a hog."""
    title = f"{percent:g} % injected"
    yield CalibrationCase("delay", title, percent, goals.get("delay", 0), base, slower)
    goal = goals.get("delay-noise", 0)
    yield CalibrationCase(
        "delay-noise", f"{title}{HOG}", percent, goal, base, slower, beside_hog=True
    )
