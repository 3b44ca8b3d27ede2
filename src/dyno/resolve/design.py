"""The design of a run: when its data are looked at, its margin, its limits, its controls."""

from __future__ import annotations

from dyno.errors import UsageError
from dyno.experiment import Experiment, Measuring
from dyno.record import Design

#: Valid blocks at which a default run looks at its data, the last is MAX (METHOD.md,
#: The interval and the looks).
LOOKS = (6, 10, 14, 18, 24)
#: Beyond the default MAX a third more blocks each time, so that a long run too may end early.
LATER_LOOKS = (32, 42, 56, 75, 100, 133, 177)
#: No look after this part of MAX: it would save next to no time, and cost power. Of 7 blocks a look
#: at 6 would leave an MDE80 of 3.05 % at sd 2 %, more than the 2.91 % of 6; without it, 2.58 %.
LOOK_LATEST = 0.85
#: The one look of a quick run (METHOD.md, The words).
QUICK_LOOKS = (5,)
MARGIN_PERCENT = 2.0
#: Percent of all cores' time that others may take in a phase (METHOD.md, Which blocks count).
LIMITS = {"steal_percent": 2.0, "foreign_percent": 10.0}


def make_design(experiment: Experiment, base: str, controls: dict[str, str]) -> Design:
    """The design that an experiment asks for, `controls` being the controls of the whole run.

    Whether turns are taken is decided when the candidates are known (`resolve/turns.py`).
    """
    measuring, own = experiment.measuring, experiment.measuring.margin_percent
    return Design(
        base=base,
        looks=_looks(measuring),
        margin_percent=MARGIN_PERCENT if own is None else own,
        alpha=measuring.alpha,
        quick=measuring.quick,
        limits=LIMITS | measuring.limits,
        controls=controls,
        loads=measuring.loads,
        crossing=experiment.crossed.crossing if experiment.crossed.levels else None,
        aa=measuring.aa,
    )


def _looks(measuring: Measuring) -> tuple[int, ...]:
    if measuring.quick:
        if measuring.blocks is not None:
            raise UsageError(f"a quick run has {QUICK_LOOKS[-1]} blocks", hint="leave one out")
        return QUICK_LOOKS
    most = measuring.blocks or LOOKS[-1]
    return (most,) if measuring.fixed else looks_up_to(most)


def looks_up_to(most: int) -> tuple[int, ...]:
    """The default looks well before `most` blocks, and `most` itself."""
    every = (*LOOKS, *LATER_LOOKS)
    return (*(look for look in every if look <= LOOK_LATEST * most), most)
