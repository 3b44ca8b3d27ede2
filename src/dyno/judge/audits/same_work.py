"""Audit `same_work`: were all candidates sent the same statements?

A script may ask which engine it has, look at the clock, or count wrongly: then one side does other
work, and the engine is blamed. Statements are compared by their text without literals.

- Candidates of one engine with the same options must be sent the same texts: one that is sent to
  one side only, and often enough to be no chance, is *invalid*.
- Each text must be sent as often for an event. Where that number is the same in all restarts of
  both sides, 1 % is *invalid*. Where it is drawn, or hangs on answers, the restarts' own spread and
  the number sent say what chance may do; beyond that and 5 %: *invalid*.
- Loads, `init` and `thread_init` are no matter of chance: in blocks that both sides loaded they
  must send each text as often, and loads must change as many rows, to within 1 %. So must loads
  that are kept, of which there are sums only.
- As many users must play, at the same rate if one is set.
- The values sent with a text must vary alike. Of each user's first executions the driver keeps how
  many of 64 classes their values fell into: fewer than a quarter of the other side's, over as many
  executions, is *invalid*. A side that always asks for the same row is found so; one that asks for
  other rows, as many of them, is not.

Candidates of different engines may be sent other texts, since their dialects differ; of them the
texts that they share are compared. A stream with more than 256 texts is not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import stdev

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Inapplicable, Unchecked, conclude
from dyno.judge.audits._statements import (
    NO_PAIR,
    StatementOutcome,
    StreamView,
    list_streams,
    list_unjudged,
    pair_streams,
)
from dyno.record import Finding, LoadCondition, Tally

#: A text of which so many were to be expected is not missing by chance.
MISSING_LEAST = 30
#: How far the numbers of a text may lie apart that is sent equally often for each event.
EXACT_SHARE = 0.01
#: Restarts that lie within this are equally often.
EQUAL_SHARE = 0.001
DRAWN_SHARE = 0.05
#: Standard deviations, of the restarts' mean and of a count: both are guessed from few numbers.
RESTART_DEVIATIONS = 8.0
COUNT_DEVIATIONS = 12.0
#: Executions of a sketch, on average, that tell few values from many.
SKETCHED_LEAST = 32
#: Sketches of so unlike lengths are not compared.
SKETCHED_SHARE = 0.5
VALUES_SHARE = 0.25


class SameWork:
    """Texts sent, and how often, beside those of the base."""

    summary = "all candidates were sent the same statements, equally often"
    judges_every_trial = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each statement that differs; else one with how many were compared."""
        known = list(list_streams(view))
        findings: list[Finding] = []
        compared, left = 0, list_unjudged(view, known)
        for own, base in pair_streams(view):
            if not own.is_counted or not base.is_counted:
                continue
            if why := _explain_incomparable(own, base):
                left.append(Unchecked(why, own.case.name))
                continue
            compared += len(own.statements) + len(own.statements_before)
            for words in _list_differences(*own.align(base)):
                told = f"{own.name}: {words}"
                findings.append(own.case.make_finding("same_work", "invalid", told))
            left += _find_other_texts(own, base)
        findings += [*_find_other_loads(view)]
        told = f"{compared} statements were sent equally often to all candidates"
        if not compared and not left:
            left.append(Inapplicable(NO_PAIR))
        return conclude("same_work", findings, told if compared else "", left)


def _explain_incomparable(own: StreamView, base: StreamView) -> str:
    if any("" in it.statements or "" in it.statements_before for it in (own, base)):
        return "more texts than the driver keeps apart"
    return ""


def _is_one_engine(own: StreamView, base: StreamView) -> bool:
    return own.candidate.engine == base.candidate.engine


def _find_other_texts(own: StreamView, base: StreamView) -> Iterator[Unchecked]:
    if not _is_one_engine(own, base) and own.statements.keys() != base.statements.keys():
        yield Unchecked("engines of another dialect are sent other texts", own.case.name)


def _find_other_loads(view: RunView) -> Iterator[Finding]:
    """Kept loads of one number that sent other statements, or changed other rows."""
    sides = {side.name: side for side in view.run.candidates}
    first: dict[tuple[str, ...], LoadCondition] = {}
    told: set[str] = set()
    for trial in view.trials:
        load = trial.conditions.load
        if trial.status != "ok" or trial.candidate not in sides or not load or load.sent is None:
            continue
        options = (f"{name}={value}" for name, value in trial.options.items())
        at = (trial.workload, sides[trial.candidate].engine, str(load.number), *options)
        if (
            words := _describe_other_load(load, first.setdefault(at, load))
        ) and load.name not in told:
            told.add(load.name)
            sentence = f"{trial.workload} on {trial.candidate}: its kept load {words}"
            yield Finding("same_work", "invalid", sentence, (trial.number,))


def _describe_other_load(load: LoadCondition, base: LoadCondition) -> str:
    if load.texts != base.texts:
        return "sent other statements than that of the base"
    for what, ours, theirs in (
        ("statements sent", load.sent, base.sent),
        ("rows changed", load.rows_changed, base.rows_changed),
    ):
        if _compute_share(ours or 0, theirs or 0) > EXACT_SHARE:
            return f"has {ours:,} {what}, that of the base {theirs:,}"
    return ""


def _list_differences(own: StreamView, base: StreamView) -> Iterator[str]:
    for what, ours, theirs in _pair_asked(own, base):
        if ours != theirs:
            yield f"{what} was {ours}, and {theirs} on {_format_base(base)}"
    fixed = [(own.statements_before, base.statements_before)]
    if own.is_load:
        fixed.append((own.statements, base.statements))
    else:
        yield from _compare_drawn(own, base)
    one_engine = _is_one_engine(own, base)
    for ours, theirs in fixed:
        for digest in ours.keys() | theirs.keys():
            each, there = ours.get(digest), theirs.get(digest)
            if one_engine or (each and there):
                yield from _compare_fixed(each, there, base, own)


def _pair_asked(own: StreamView, base: StreamView) -> Iterator[tuple[str, object, object]]:
    """What a script asked for in its phases, on both sides."""
    for ours, theirs in zip(own.tallies[:1], base.tallies[:1], strict=False):
        yield "the number of users", ours.connections, theirs.connections
        yield "the rate asked for", ours.target_per_s, theirs.target_per_s


def _compare_fixed(
    each: StatementOutcome | None, there: StatementOutcome | None, base: StreamView, own: StreamView
) -> Iterator[str]:
    """Of what is no matter of chance."""
    either = each or there
    ours, theirs = (it.sent if it else 0 for it in (each, there))
    if either is None:
        return
    if _compute_share(ours, theirs) > EXACT_SHARE:
        where = "its load" if own.is_load else "init or thread_init"
        other = f"{_format_times(theirs)} on {_format_base(base)}"
        yield f"{where} sent {either.quoted} {_format_times(ours)}, and {other}"
        return
    rows, others = (it.rows_changed if it else 0 for it in (each, there))
    if own.is_load and _compute_share(rows, others) > EXACT_SHARE:
        told = f"{rows:,} rows, and {others:,} on {_format_base(base)}"
        yield f"its load changed by {either.quoted} {told}"


def _compare_drawn(own: StreamView, base: StreamView) -> Iterator[str]:
    one_engine = _is_one_engine(own, base)
    for digest in own.statements.keys() | base.statements.keys():
        each, there = own.statements.get(digest), base.statements.get(digest)
        either = each or there
        if either is None or not (one_engine or (each and there)):
            continue
        ours, theirs = _compute_rates(each, own.tallies), _compute_rates(there, base.tallies)
        if not ours or not theirs:
            continue
        sent = tuple(it.sent if it else 0 for it in (each, there))
        mean, other = _compute_mean(sent[0], own.tallies), _compute_mean(sent[1], base.tallies)
        if _compute_share(mean, other) > _compute_limit(
            ours, theirs, _compute_expected(sent, own, base)
        ):
            told = f"{mean:.3g} times for an event, and {other:.3g} times on {_format_base(base)}"
            yield f"{either.quoted} was sent {told}"
        elif each and there:
            yield from _compare_values(each, there, _format_base(base))


def _compare_values(each: StatementOutcome, there: StatementOutcome, base: str) -> Iterator[str]:
    """Values that vary on one side, and hardly on the other."""
    lengths, classes = zip(*map(_measure_sketch, (each, there)), strict=True)
    if min(lengths) < max(SKETCHED_LEAST, SKETCHED_SHARE * max(lengths)):
        return
    if min(classes) < VALUES_SHARE * max(classes):
        few, many = ("", f" on {base}") if classes[0] < classes[1] else (f" on {base}", "")
        yield (
            f"{each.quoted} was sent nearly always with the same values{few}, and with many{many}"
        )


def _measure_sketch(each: StatementOutcome) -> tuple[float, float]:
    """How many executions a sketch holds, and how many classes of values it met, on average."""
    known = [it for it in each.counts if it]
    sketches = max(1, sum(it.sketches for it in known))
    executions = sum(it.sketched for it in known)
    return executions / sketches, sum(it.value_classes for it in known) / sketches


def _compute_expected(
    sent: tuple[int, ...], own: StreamView, base: StreamView
) -> tuple[float, float]:
    """How often each side would have sent a text, had it sent as many for an event as both."""
    events = _count_events(own.tallies), _count_events(base.tallies)
    rate = sum(sent) / sum(events)
    return rate * events[0], rate * events[1]


def _compute_limit(
    ours: Sequence[float], theirs: Sequence[float], expected: tuple[float, float]
) -> float:
    """How far two averages may lie apart, as a share of the larger."""
    if min(expected) < MISSING_LEAST:
        return math.inf
    if _is_equal(ours) and _is_equal(theirs):
        return EXACT_SHARE
    largest = max(*ours, *theirs)
    own = math.hypot(*(stdev(it) / math.sqrt(len(it)) for it in (ours, theirs) if len(it) > 1))
    chance = math.sqrt(sum(1 / count for count in expected))
    return max(DRAWN_SHARE, RESTART_DEVIATIONS * own / largest, COUNT_DEVIATIONS * chance)


def _is_equal(rates: Sequence[float]) -> bool:
    return _compute_share(max(rates), min(rates)) <= EQUAL_SHARE


def _compute_rates(each: StatementOutcome | None, tallies: Sequence[Tally]) -> list[float]:
    """How often a text was sent for an event, in each restart with events."""
    counts = each.counts if each else (None,) * len(tallies)
    pairs = zip(counts, tallies, strict=True)
    return [
        (it.sent if it else 0) / _count_events([tally])
        for it, tally in pairs
        if _count_events([tally])
    ]


def _compute_mean(sent: int, tallies: Sequence[Tally]) -> float:
    return sent / max(1, _count_events(tallies))


def _count_events(tallies: Sequence[Tally]) -> int:
    return sum(tally.done + tally.failed + tally.restarted for tally in tallies)


def _compute_share(one: float, other: float) -> float:
    most = max(one, other)
    return abs(one - other) / most if most else 0.0


def _format_times(count: int) -> str:
    return "never" if count == 0 else "once" if count == 1 else f"{count:,} times"


def _format_base(base: StreamView) -> str:
    return base.candidate.name


AUDIT = SameWork()
