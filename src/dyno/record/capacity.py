"""What `dyno capacity` leaves behind: its plan (`capacity.json`), and a file for each block with
the steps of its restarts (`blocks/NNNN.json`).
"""

from __future__ import annotations

from typing import Literal

from dyno.record.clients import ClientLoad
from dyno.record.run import Run
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require
from dyno.record.trial import Metric
from dyno.record.verdict import Verdict

LimitKind = Literal["percentile", "mean", "max", "errors"]


class LimitTerm(Record):
    """One limit: of a percentile (50 to 99.99), the mean or the longest of latencies, in ns, or of
    the share of requests that fail. `words` are as `p99<10ms`.
    """

    kind: LimitKind
    limit: Finite
    words: str
    percentile: Finite = 0.0


class CapacityStep(Record):
    """What an open loop of so many events a second did for `duration_s`.

    `intended` = done + failed + skipped, as in `Tally`. `values` are those of the limit's terms, in
    their order: ns, or a share; None where so many had no answer that there is no number. `load` is
    the largest of value ÷ limit, None where one is None; the limit holds where it is at most 1.
    `overloaded_since_s` is the second from which on requests waited longer, unsent, than the limit
    allows, to the end; None where they did not. `goodput_per_s` are answers within the limit.
    `driver_busy_percent` is the busiest driver thread's, None where the engine lives in it.
    `clients` are the hosts that sent it, empty where one driver did.
    """

    rate_per_s: Finite
    duration_s: Finite
    intended: Int64
    done: Int64
    failed: Int64
    skipped: Int64
    values: tuple[Finite | None, ...]
    load: Finite | None
    goodput_per_s: Finite
    overloaded_since_s: Int64 | None = None
    driver_busy_percent: Finite | None = None
    clients: tuple[ClientLoad, ...] = ()

    def __post_init__(self) -> None:
        require(self.rate_per_s > 0, "rate_per_s", "above 0")
        require(self.duration_s > 0, "duration_s", "above 0")
        numbers = (*self.values, self.load)
        require(all(it is None or it >= 0 for it in numbers), "values and load", "0 or more")

    @property
    def holds(self) -> bool:
        """Was every limit held?"""
        return self.load is not None and self.load <= 1.0 and self.overloaded_since_s is None


class CapacityRestart(Record):
    """One start of a candidate on fresh data, and the steps of its search in the order played.

    `closed_per_s` is what its connections did in a closed loop. `exhausted` says that the search
    ended at the lowest rate that a step can judge.
    """

    candidate: str
    closed_per_s: Finite
    steps: tuple[CapacityStep, ...]
    exhausted: bool = False

    def __post_init__(self) -> None:
        require(self.steps, "steps", "one or more")
        require(self.closed_per_s >= 0, "closed_per_s", "0 or more")


class CapacityBlock(Record):
    """A restart of each candidate, and the client-only baseline, the same script on no engine: its
    events a second in a closed loop, and open loops at one and a half times the highest rate that
    any restart held, and, where that broke, nearer to it; at about the lowest rate that broke where
    none held.
    """

    block: Int64
    restarts: tuple[CapacityRestart, ...]
    baseline_closed_per_s: Finite
    baselines: tuple[CapacityStep, ...]
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        require(self.baseline_closed_per_s > 0, "baseline_closed_per_s", "above 0")
        require(self.baselines, "baselines", "one or more")

    def check_plan(self, plan: CapacityPlan) -> None:
        """`ValueError` where it is none of the plan's: of other candidates, or other limits."""
        names = [each.candidate for each in self.restarts]
        known = sorted(side.name for side in plan.run.candidates)
        require(sorted(names) == known, "CapacityBlock.restarts", "one of each of the candidates")
        steps = [*self.baselines, *(step for each in self.restarts for step in each.steps)]
        alike = all(len(step.values) == len(plan.terms) for step in steps)
        require(alike, "CapacityBlock.steps.values", "one for each limit")


class CapacityPlan(Record):
    """All that was fixed before the first block. Steps are `step_s` long or longer, after
    `warmup_s`; `together` says that all engines of a block are up at once and take steps in turn.
    """

    run: Run
    terms: tuple[LimitTerm, ...]
    blocks: Int64
    step_s: Finite
    warmup_s: Finite
    margin_percent: Finite
    together: bool
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        require(self.terms, "terms", "one or more")
        require(all(term.limit > 0 for term in self.terms), "terms.limit", "above 0")
        require(self.blocks > 0, "blocks", "1 or more")
        require(self.margin_percent > 0, "margin_percent", "above 0")
        streams = [phase.streams for plan in self.run.workloads for phase in plan.phases]
        require([len(each) for each in streams] == [1], "run.workloads", "one, of one stream")
        require(self.run.candidates, "run.candidates", "one or more")

    @property
    def limit_words(self) -> str:
        """`p99<10ms, errors<0.1%`."""
        return ", ".join(term.words for term in self.terms)

    @property
    def unit(self) -> str:
        """What the rate counts: `events`."""
        (stream,) = self.run.workloads[0].phases[0].streams
        return f"{stream.unit if stream.units_per_event == 1 else 'event'}s"

    @property
    def metric(self) -> Metric:
        """What is compared."""
        (workload,) = self.run.workloads
        names = (workload.name, workload.phases[0].name, self.limit_words)
        return Metric(*names, "capacity", f"{self.unit}/s", "higher")


class CandidateCapacity(Record):
    """A candidate's highest rate that holds the limit, in events a second: the geometric mean over
    restarts with its 95 % interval, None where none holds it. `restarts` are those of each
    restart, None where even the lowest rate broke the limit. `overloaded` of the `broken` steps
    were so by overload, after `overloaded_after_s` seconds at the earliest.
    """

    candidate: str
    restarts: tuple[Finite | None, ...]
    rate_per_s: Finite | None
    low: Finite | None
    high: Finite | None
    lowest_tried_per_s: Finite
    broken: Int64 = 0
    overloaded: Int64 = 0
    overloaded_after_s: Int64 | None = None


class CapacityVerdict(Verdict):
    """A verdict, and the rate of each candidate. `hosts` are the client hosts, each with its
    medians over the highest rate that held in each restart.
    """

    candidates: tuple[CandidateCapacity, ...] = ()
    hosts: tuple[ClientLoad, ...] = ()
