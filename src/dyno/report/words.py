"""The words of a report and of a history: metrics, verdicts, series, flagged changes.

They are the same in text and on the page. No word here says "no change": a difference that was not
found is not an equality that was shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno import numbers
from dyno.judge.analysis.effect_words import (
    describe_verdict,
    describe_word,
    format_metric_name,
    is_slight_gain,
    measure_losses,
)
from dyno.judge.analysis.measures import CPU_PER_OP
from dyno.numbers import format_interval
from dyno.record import (
    ClientLoad,
    Comparison,
    FlaggedChange,
    History,
    HistoryPoint,
    HistorySeries,
    HostEffect,
    Metric,
    Run,
    Verdict,
)
from dyno.record.build_facts import describe_commit, find_commit
from dyno.report.document import TextSpan, Tone

#: Client hosts that a sentence names.
HOSTS = 4
QUICK = "QUICK: one analysis of a shortened workload; do not mix with full runs"
SLOWDOWN = "slowdown: candidate's time ÷ base's − 1; positive is worse, whatever the metric"
BLOCK = "block: every candidate once, each newly started, next to each other in time"
MDE80 = "MDE80: the smallest slowdown that this many blocks would find 4 times in 5"


#: How a verdict's word is to be taken.
TONES: dict[str, Tone] = {"slower": "bad", "invalid": "bad", "faster": "good", "not slower": "good"}
TONES |= {"inconclusive": "doubt", "doubtful": "doubt", "measured": ""}
TONES |= {"loses": "bad", "loses as permitted": "doubt"}


def format_size(row: Comparison) -> str:
    """`+5.0 % [+4.1, +5.9]`: the slowdown with its interval."""
    return " ".join(format_ends(row))


def format_level(run: Run) -> str:
    """`95 % interval`: what intervals of this run are."""
    return f"{100 * (1 - run.design.alpha):g} % interval"


def format_values(row: Comparison) -> tuple[str, str]:
    values = (row.base_value, row.candidate_value)
    base, own = (numbers.format_quantity(value, row.metric.unit) for value in values)
    return base, own


def format_ends(row: Comparison) -> tuple[str, str]:
    size, low, high = measure_losses(row)
    return f"{numbers.format_signed_percent(size)} %", format_interval(low, high)


def tell_verdict(row: Comparison, margin: bool = False) -> TextSpan:
    """The verdict, in colour where the metric is a primary one."""
    return TextSpan(format_verdict(row, margin), TONES[choose_standing(row)] if row.primary else "")


def format_metric(metric: Metric) -> str:
    """The metric within its phase: `query rate`, `insert latency p99`, `server CPU …`."""
    return f"{metric.transaction} {format_metric_name(metric.name)}".strip()


def format_host_effect(effect: HostEffect) -> str:
    """`left +5.0 % [+4.1, +5.9]`; without bounds where it has one block."""
    told = f"{effect.host} {numbers.format_signed_percent(effect.slowdown_percent)} %"
    return f"{told} {numbers.format_interval(effect.low_percent, effect.high_percent)}".rstrip()


def format_full_metric(metric_: Metric) -> str:
    """The metric within its run: `insert / qr100 / query rate`."""
    return f"{metric_.workload} / {metric_.phase} / {format_metric(metric_)}"


#: The cost that stands beside every rate: it is less noisy, and the same work at a lower cost is a
#: gain even where the rate hangs on something else.
SERVER_CPU = CPU_PER_OP


def list_main_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The rows of the main table: the primaries, and after those of a phase its server CPU/op."""
    found: list[Comparison] = []
    by_place: dict[tuple[str, ...], list[Comparison]] = {}
    for c in comparisons:
        by_place.setdefault((c.candidate, c.metric.workload, c.metric.phase), []).append(c)
    for own in by_place.values():
        if primaries := [c for c in own if c.primary]:
            found += primaries + [c for c in own if c.metric.name == SERVER_CPU and not c.primary]
    return found


def format_verdict(comparison: Comparison, margin: bool = True) -> str:
    """The verdict in the metric's own word, with its bound where it passes, and with the margin:
    `not slower, ≤ 1.8 % (margin 2 %)`; and before it all that an audit doubts it.
    """
    told = _format_verdict(comparison, margin)
    return f"doubtful: {told}" if comparison.is_doubtful else told


def _format_verdict(comparison: Comparison, margin: bool) -> str:
    word = describe_verdict(comparison)
    if not word.startswith("not "):
        return word
    if is_slight_gain(comparison):
        return f"{word}; better by < {comparison.margin_percent:g} %"
    held = f" (margin {comparison.margin_percent:g} %)" if margin else ""
    bound = numbers.format_percent(max(comparison.high_percent, 0.0))
    return f"{word}, {bound if bound.startswith('<') else f'≤ {bound}'}{held}"


def choose_standing(comparison: Comparison) -> str:
    """The word that gives a comparison its colour: its verdict's, or *doubtful*."""
    return "doubtful" if comparison.is_doubtful else comparison.verdict


def format_played(comparison: Comparison) -> str:
    """Blocks that count, of those that were played: `6/8`."""
    return f"{comparison.blocks}/{comparison.blocks + comparison.dropped}"


def format_outcome(comparison: Comparison) -> str:
    bounds = format_interval(comparison.low_percent, comparison.high_percent)
    metric = format_full_metric(comparison.metric)
    what = f"{comparison.candidate} against {comparison.base} in {metric}"
    return f"{what}: {format_verdict(comparison)}, slowdown {bounds} %"


def format_factors(run: Run) -> str:
    """`aslr (control): on, off. …`, the first level of each being the base."""
    found = (f"{f.name} ({f.kind}): {', '.join(f.levels)}." for f in run.factors)
    return " ".join(found)


def format_client_loads(loads: Sequence[ClientLoad]) -> str:
    """`c1 (12,300 events/s, busiest thread 41 %) and c2 (…)`; of more than a few the busiest."""
    shown = sorted(loads, key=lambda load: -load.busiest_percent)[:HOSTS] if loads else []
    told = [
        f"{load.host} ({load.rate_per_s:,.0f} events/s, busiest thread "
        f"{load.busiest_percent:.0f} %)"
        for load in loads
        if load in shown
    ]
    if more := len(loads) - len(told):
        told.append(numbers.format_count(more, "less busy host"))
    return " and ".join([*([", ".join(told[:-1])] if told[1:] else []), *told[-1:]])


GATE_MEAN = (
    "what decides is the geometric mean over all workloads (`gate`); each workload's own rows "
    "stand beside it"
)


def format_mean_outcomes(verdict_: Verdict) -> list[str]:
    """A line for each candidate where the mean decides: word, size, interval, margin."""
    return [
        f"{c.candidate} against {c.base} on the whole: {format_verdict(c)}, slowdown "
        f"{format_size(c)}, "
        f"MDE80 {numbers.format_percent(c.mde80_percent)}{f' ({c.notes[0]})' if c.notes else ''}"
        for c in verdict_.means
    ]


#: What is told of a series beside its metric: what a user chose.
CHOSEN = ("option", "setting", "control", "length", "series")
#: How far the rate of false flagged changes is to be trusted (METHOD.md, Limits).
LIMIT = (
    "That rate holds for points that may be exchanged where nothing changed. Points that hang "
    "together in time, as on a host that drifts, get more: with a correlation of 0.3 from one to "
    "the next, about 8 % of made-up series of 30 points at a rate of 1 %. The size of a change "
    "exaggerates, since its place was chosen for being large."
)


def format_series(series: HistorySeries) -> str:
    """`insert / l.i0 / insert rate, sqlite, journal_mode=wal`."""
    pairs = [(*name.partition(" "), value) for name, value in series.alike.items()]
    chosen = [f"{name or group}={value}" for group, _, name, value in pairs if group in CHOSEN]
    return ", ".join((format_full_metric(series.metric), series.engine, *chosen))


def describe_reference(series: HistorySeries) -> str:
    """Against which build's points changes were searched; empty where against none's."""
    if not (base := series.relative_to):
        return ""
    name = base.get("version") or base.get("name") or base.get("sha256", "")[:12]
    return (
        f"changes are searched in the distance from {name}, which every run measured along, so "
        "that the host's nights cancel"
    )


def name_build(point: HistoryPoint) -> str:
    """Its commit with the subject, else as the user wrote it."""
    return describe_commit(point.build) or point.candidate


def format_point(point: HistoryPoint) -> str:
    restarts = numbers.format_count(point.restarts, "restart")
    version, day = point.version or "no version", point.began_utc[:10]
    return f"{name_build(point)} ({version}), {day}, {restarts} in {point.run}"


def name_ends(series: HistorySeries, flagged: FlaggedChange) -> tuple[str, str]:
    """What the points beside a change are called: of commits `last good` and `first bad`."""
    before, after = (find_commit(series.points[at].build) for at in (flagged.at - 1, flagged.at))
    told = before and after and before != after and flagged.slowdown_percent > 0
    return ("last good", "first bad") if told else ("before", "after")


def format_change_size(series: HistorySeries, flagged: FlaggedChange, alpha: float) -> str:
    """`slowdown +5.1 %, 99 % interval [+4.3, +5.9], p 0.002`; of a count `instructions +5.10 %`, of
    a capacity by how much it changed itself.
    """
    if flagged.is_exact:
        ends = (flagged.low_percent, flagged.high_percent)
        bounds = f" {format_interval(*ends, '{:+.2f}'.format)}" if ends[0] != ends[1] else ""
        return f"instructions {flagged.slowdown_percent:+.2f} %{bounds}, a count"
    level = f"{100 * (1 - alpha):g} % interval"
    percents, name = (
        (flagged.slowdown_percent, flagged.low_percent, flagged.high_percent),
        "slowdown",
    )
    if series.metric.name == "capacity":
        change, high, low = (-100 * it / (100 + it) for it in percents)
        percents, name = (change, low, high), "capacity"
    size, bounds = (
        numbers.format_signed_percent(percents[0]),
        numbers.format_interval(*percents[1:]),
    )
    return f"{name} {size} %, {level} {bounds}, p {format_p_value(flagged.p_value)}"


def format_p_value(p: float) -> str:
    """Three places, and never that it were 0."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def format_change_place(series: HistorySeries, flagged: FlaggedChange) -> str:
    """Which builds may have changed the level, where it may be another than the one named, and that
    commits lie between both of these; else empty.
    """
    first, last = flagged.first, flagged.last
    told = []
    if first != last:
        ends = (name_build(series.points[at]) for at in (first, last))
        count = last - first + 1
        told.append(f"any of {count} builds, {' to '.join(ends)}, may have brought it (99 %)")
    before, after = (series.points[at].build for at in (flagged.at - 1, flagged.at))
    own, parents = before.get("commit", ""), after.get("parents", "").split()
    if own and parents and own not in (after.get("commit"), *parents):
        told.append("commits between both were not measured; `dyno bisect` finds the one")
    return "; ".join(told)


def format_host_change(flagged: FlaggedChange) -> str:
    """What of a group's hosts, or of what pilots chose, changed along with the level; empty where
    nothing did.
    """
    clauses = "; ".join(flagged.unlike_hosts)
    return f"{clauses}: that may have brought it, not the build" if clauses else ""


def format_state(flagged: FlaggedChange) -> str:
    """`accepted until 2030-01-31: checksums`; empty of a gain."""
    return f"{flagged.state} {flagged.state_reason}".strip()


def format_past_verdict(series: HistorySeries, flagged: FlaggedChange) -> str:
    trial = flagged.trial
    later = "" if flagged.stands else "; the level has come back since"
    if flagged.is_exact:
        if not flagged.is_decided:
            return (
                f"inconclusive: its repetitions vary too far to tell; --repeat 5 would tell{later}"
            )
        word = "heavier" if flagged.slowdown_percent > 0 else "lighter"
        return f"{word} by its repetitions; a count is not time{later}"
    if trial is None:
        return f"flagged, not tried{later}"
    ends = numbers.format_interval(trial.low_percent, trial.high_percent)
    bounds = f", {ends} %," if ends else ""
    doubt = f", doubtful: {trial.doubts[0].sentence}" if trial.doubts else ""
    word = describe_word(series.metric, trial.verdict)
    return f"{word}{bounds} by the fresh comparison in {trial.run}{doubt}{later}"


def describe_changes_worth(history: History) -> str:
    """What the flagged changes are worth: how often there is one where nothing changed."""
    timed = [each for each in history.tested if not each.is_exact]
    exact = [each for each in history.tested if each.is_exact]
    said = []
    if timed or not exact:
        found = sum(len(each.flagged_changes) for each in timed)
        said.append(
            f"{numbers.format_count(found, 'flagged change')} in {len(timed)} series; where "
            f"nothing changed, {100 * history.alpha:g} % of the series get one all the same. A "
            "flagged change is no verdict: only a fresh paired comparison confirms."
        )
    if exact:
        found = sum(len(each.flagged_changes) for each in exact)
        said.append(
            f"{numbers.format_count(found, 'step')} in {len(exact)} series of instruction counts, "
            "each judged by its repetitions, as dyno count does. Heavier is not slower."
        )
    return " ".join(said)


def describe_one_sided(history: History) -> str:
    """What it means that nearly all alarms are of one side; empty where they are not."""
    sides = history.sides
    if sides is None or not sides.is_one_sided:
        return ""
    of = sides.slowdowns + sides.speedups
    ours, noun = max((sides.slowdowns, "slowdowns"), (sides.speedups, "speed-ups"))
    return (
        f"{ours} of {of} flagged events that nothing has confirmed are {noun}; a fair coin is so "
        f"skewed with p {sides.p_value:.2g}. Real series change both ways: something may push all "
        "levels one way, such as the host, its disk or growing data. Play a base along in each "
        "run, or confirm some by fresh comparisons, before you believe the others."
    )
