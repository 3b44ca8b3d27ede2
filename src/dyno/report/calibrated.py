"""What is known of the method's own errors on the host of a run, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dyno.record import Run, Score
from dyno.report import numbers

NONE = "none for this host: run `dyno calibrate`"
MADE_UP = "synthetic"


@dataclass(frozen=True)
class Calibrated:
    """`when` bounds the comparisons, empty where there are none; `own` are the scores on the run's
    engines, `without` those engines that have none; `worst` has the most false alarms of those on
    made-up blocks; `rest` are the others.
    """

    when: str = ""
    dyno: str = ""
    stale: tuple[str, ...] = ()
    own: Sequence[Score] = ()
    worst: Score | None = None
    rest: Sequence[Score] = ()
    without: Sequence[str] = ()


def calibrated(run: Run) -> Calibrated:
    """The run's snapshot, sorted by what matters to it."""
    known = run.calibration
    if known is None:
        return Calibrated()
    engines = dict.fromkeys(candidate.engine for candidate in run.candidates)
    own = [s for s in known.scores if s.engine in engines and s.kind != MADE_UP]
    made_up = [s for s in known.scores if s.kind == MADE_UP and not s.effect_percent]
    worst = max(made_up, key=lambda s: s.slower_percent, default=None)
    first, last = known.first_utc[:10], known.last_utc[:10]
    return Calibrated(
        when=first if first == last else f"{first} to {last}",
        dyno=known.dyno,
        stale=known.stale,
        own=own,
        worst=worst,
        rest=[s for s in known.scores if s not in own and s is not worst],
        without=[name for name in engines if name not in {s.engine for s in own}],
    )


def sentence(score: Score) -> str:
    """`A/A on x (same build): 2 of 40 called slower, 5.0 % [0.61, 16.9]`."""
    share = f"{score.slower_percent:.3g} % [{score.low_percent:.3g}, {score.high_percent:.3g}]"
    called = "found" if score.effect_percent else "called slower"
    where = f" on {score.engine}" if score.engine and score.kind != MADE_UP else ""
    dose = score.dose_percent
    measured = f"measured {numbers.signed(dose)} %" if score.effect_percent and dose else ""
    what = ", ".join(filter(None, (score.what, measured)))
    told = f"{score.slower:,} of {score.comparisons:,} {called}, {share}"
    return f"{score.kind}{where} ({what}): {told}"
