"""What calibration found of the method's errors."""

from __future__ import annotations

from dyno.record.schema import Finite, Int64, Record


class Score(Record):
    """What the method made of comparisons with a known truth, of one kind on one engine.

    `kind` is `synthetic` (made-up blocks), `A/A` (a build with itself), `A/A at two paths` (with a
    copy of it that lies elsewhere), `delay` (a slowdown put
    in), `p99 delay` (one operation in fifty slowed down) or `noise` (A/A beside a load that comes
    and goes); `what` says it in words. `words` counts the verdicts. `low_percent` and
    `high_percent` are the 95 % Clopper-Pearson interval of the share called *slower*: of false
    alarms where `effect_percent` is 0, of slowdowns found where it is not. `injected_percent` is
    the mean slowdown that was really injected, as measured apart from the verdict (None: nothing
    was). `covered` of the intervals held the truth, `coverable` of them could be asked. `settings`
    are those that the comparisons were played with.
    """

    kind: str
    engine: str
    what: str
    effect_percent: Finite
    comparisons: Int64
    words: dict[str, Int64]
    low_percent: Finite
    high_percent: Finite
    covered: Int64 = 0
    coverable: Int64 = 0
    injected_percent: Finite | None = None
    dropped_blocks: Int64 = 0
    settings: dict[str, str] = {}

    @property
    def slower(self) -> int:
        """How many comparisons were called *slower*."""
        return self.words.get("slower", 0)

    @property
    def slower_percent(self) -> float:
        """Their share."""
        return 100.0 * self.slower / self.comparisons


class Calibration(Record):
    """What calibration had found on this host when a run began (`dyno calibrate`).

    `first_utc` and `last_utc` bound the comparisons; `method` is the version of the rule that was
    calibrated (`calibration.METHOD`). `stale` says, a clause each, what was no longer as it was
    then: empty where the figures speak for the run. `passed_over` counts lines of the store that
    could not be read, torn or a newer Dyno's.
    """

    host: dict[str, str]
    dyno: str
    method: Int64
    first_utc: str
    last_utc: str
    scores: tuple[Score, ...]
    stale: tuple[str, ...] = ()
    passed_over: Int64 = 0
