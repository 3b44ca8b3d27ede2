"""Audit `percentiles`: are there enough events behind the percentiles that are shown?

Of `n` events a share of 1 − p lies beyond the percentile, so p99 of 300 events is the third
largest. How far off it may be follows from order statistics alone, whatever the distribution
(Hahn and Meeker, *Statistical Intervals*, ch. 5): with 10 events beyond, the 95 % interval reaches
from the 17th to the 4th largest, p98.3 to p99.6 for a p99. With fewer than 4 it has no upper end:
all events of a restart may then lie below the true percentile, and what is shown is a maximum.

So 10 events must lie beyond in the typical restart (the median). A primary metric with fewer is
*doubtful*, and no more than that: the spread between restarts is in its interval all the same. Of
other metrics it is only told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from dyno.judge.analysis.measures import PERCENTILES
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Inapplicable, Unchecked, Unjudged, conclude, list_cases
from dyno.numbers import format_count
from dyno.record import Finding

BEYOND_LEAST = 10
PREFIX = "latency_ns_p"


class Percentiles:
    """Events beyond each percentile, in the typical restart."""

    summary = f"at least {BEYOND_LEAST} events of a restart lie beyond each percentile judged"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each primary percentile that rests on too few; else one."""
        run, trials = view.run, view.trials
        judged = list(list_cases(run, trials))
        findings = [
            case.make_finding("percentiles", "doubtful", f"{metric} of {stream} {words}")
            for case in judged
            for stream, metric, percentile in _list_primary(case)
            if (words := _describe_few(case, stream, percentile))
        ]
        primary = [(case, each) for case in judged for each in _list_primary(case)]
        known = [each for case, each in primary if any(_list_counts(case, each[0]))]
        shown = _describe_shown(judged)
        judged_of = format_count(len(known), "percentile")
        told = f"of {judged_of} judged each has enough events beyond it{shown}" if known else ""
        why = f"no primary metric is a percentile{shown}"
        left: list[Unjudged] = [Inapplicable(why)] if judged and not primary else []
        left += [
            Unchecked("no event was answered", f"{metric} of {stream} in {case.name}")
            for case, (stream, metric, _) in primary
            if not any(_list_counts(case, stream))
        ]
        return conclude("percentiles", findings, told, left)


def _list_primary(case: Case) -> Iterator[tuple[str, str, str]]:
    for pair in case.primaries:
        if pair.metric.startswith(PREFIX):
            yield pair.stream, pair.metric, pair.metric.removeprefix(PREFIX)


def _describe_few(case: Case, stream: str, percentile: str) -> str:
    """What the percentile rests on, where that is too little; a name may be `stream/type`."""
    counts = list(_list_counts(case, stream))
    beyond = median(counts) * (1 - float(percentile) / 100) if any(counts) else BEYOND_LEAST
    # Percentages are no binary fractions: 1000 events have 9.9999… of them beyond p99.
    if beyond > BEYOND_LEAST - 1e-6:
        return ""
    least = f"{BEYOND_LEAST} are needed"
    return f"rests on {beyond:.1f} events beyond it in a restart of {median(counts):g}; {least}"


def _list_counts(case: Case, stream: str) -> Iterator[int]:
    for record in case.records:
        for tally in record.streams:
            if tally.name == stream:
                yield tally.latency.count
            for kind, latency in tally.transactions.items():
                if f"{tally.name}/{kind}" == stream:
                    yield latency.count


def _describe_shown(judged: Sequence[Case]) -> str:
    """What is added of percentiles that decide nothing."""
    few = [
        f"p{percentile} of {stream} in {case.name}"
        for case in judged
        for stream in case.streams
        for percentile in PERCENTILES
        if _describe_few(case, stream, percentile)
    ]
    more = f" and {len(few) - 1} others" if few[1:] else ""
    return f"; of those shown, {few[-1]}{more} are nearer to maxima" if few else ""


AUDIT = Percentiles()
