"""Audit `coordinated_omission`: do the latencies tell of every wait that a user would have had?

Coordinated omission (G. Tene) is what a load generator commits that waits for a slow answer and
leaves out the requests that were due meanwhile. Five ways in which latencies would be told too low:

- An event's latency counts from its intended time, so it is no less than its lateness: the same of
  their sums and of each percentile, but for the three digits of a histogram. Failed events have a
  lateness only, so the largest of all are taken for theirs. Else the wait before sending was left
  out: *invalid*.
- In a closed loop users are always in an event, or rest because their script has them
  (`rested_ns`), so latencies and rests add up to users × time (Little's law). Where they fill less
  than 90 % of it, waits are in no latency: *doubtful*; under half: *invalid*. An event at either
  end may be cut for each user. Judged where a phase ends by time. Time in which nothing could be
  sent is not left out: a worker stood ready and had no core (`waited_ns`), the driver stood still,
  or Dyno woke it late. Where that fills it up, the host is too noisy: *doubtful*.
- Arrivals of a paced stream that nobody was free to begin (`skipped`) would have been the slowest.
  If they are a larger part than lies beyond a primary's percentile, it is told too low: *doubtful*.
- Events that had no answer long after the phase's end were cut off: their latency is at least what
  they had waited. If they are a larger part than lies beyond a primary's percentile, it is a lower
  bound: *doubtful*.
- A closed loop sends nothing while it waits. A user who comes by the clock finds a stall as often
  as stalls take time: with T of the time in events of more than twice the percentile (the longest
  of each second, for one of the users), T/2 of all come when there is more than it left to wait.
  Where that is more than lies beyond, the primary percentile does not hold for them: *doubtful*,
  with the remedy to pace the stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Unchecked, conclude, list_cases
from dyno.numbers import format_count
from dyno.record import Finding, PhaseRecord, Soundness, Tally

DOUBTFUL_FILLED = 0.9
INVALID_FILLED = 0.5
#: Two histograms of three digits.
DIGITS = 0.998
#: More failures than this would be missing from the sum of latencies; `errors` judges them.
FAILED_MOST = 0.01
PREFIX = "latency_ns_p"
QUIET = "this host is too noisy; measure where it is quiet (`dyno doctor` says what else runs)"

_Fault = tuple[Soundness, str]
_Seen = Sequence[tuple[PhaseRecord, Tally]]


class CoordinatedOmission:
    """Latencies against lateness, users' time, skipped arrivals and stalls."""

    summary = "latencies count from the intended time, and leave out no wait that a user would have"
    judges_wall_time = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each way in which a stream's latencies are too low; else one."""
        run, trials = view.run, view.trials
        judged = list(list_cases(run, trials))
        findings = [
            case.make_finding("coordinated_omission", soundness, f"{stream}: {words}")
            for case in judged
            for stream, seen in case.streams.items()
            for soundness, words in _find_faults(case, stream, seen)
        ]
        told = "latencies count from the intended time and leave out no wait"
        silent = [
            case for case in judged if not any(t.done for r in case.records for t in r.streams)
        ]
        unchecked = [Unchecked("no event was answered", case.name) for case in silent]
        unchecked += [
            Unchecked("too many events failed, whose waits are in no latency", case.name)
            for case in judged
            if any(_is_unfilled(case, seen) for seen in case.streams.values())
        ]
        checked = sum(len(case.streams) for case in judged if case not in silent)
        told += f" in {format_count(checked, 'stream')}"
        return conclude("coordinated_omission", findings, told if checked else "", unchecked)


def _find_faults(case: Case, stream: str, seen: _Seen) -> Iterator[_Fault]:
    tallies = [tally for _, tally in seen]
    if any(_is_below_lateness(tally) for tally in tallies):
        yield "invalid", "events were answered before they were late: the wait was left out"
    yield from _find_cut(case, stream, tallies)
    if not any(tally.paced for tally in tallies):
        yield from _fill_faults(case, seen)
        yield from _find_stall_faults(case, stream, seen)
    else:
        yield from _find_skip_faults(case, stream, tallies)


def _is_below_lateness(tally: Tally) -> bool:
    """Is a latency less than the lateness in it? Of all whose lateness is a percentile or more, all
    but those that failed have a latency of as much.
    """
    latency, lateness = tally.latency, tally.lateness
    if not latency.count:
        return False
    lost = max(0, lateness.count - latency.count)
    late_ns = lateness.mean_ns * lateness.count - lost * lateness.max_ns
    pairs = [(latency.mean_ns * latency.count, late_ns)]
    levels = lateness.percentiles_ns | ({} if lost else {"100": lateness.max_ns})
    for name, part_ns in levels.items():
        beyond = (1 - float(name) / 100) * lateness.count - lost
        above = [
            n for n in latency.percentiles_ns if (1 - float(n) / 100) * latency.count <= beyond
        ]
        if beyond >= 0:
            whole_ns = min((latency.percentiles_ns[n] for n in above), default=latency.max_ns)
            pairs.append((whole_ns, part_ns))
    return any(whole < DIGITS * part for whole, part in pairs)


def _is_filled(case: Case, seen: _Seen) -> bool:
    """Do latencies and rests fill its users' time, by its plan?"""
    by_time = case.plan is not None and case.plan.stop.kind == "time"
    return by_time and not any(tally.paced for _, tally in seen)


def _is_unfilled(case: Case, seen: _Seen) -> bool:
    """Would they, if fewer events had failed?"""
    answered = [tally for _, tally in seen if tally.done]
    return _is_filled(case, seen) and bool(answered) and not any(map(_is_played_well, answered))


def _fill_faults(case: Case, seen: _Seen) -> Iterator[_Fault]:
    if not _is_filled(case, seen):
        return
    judged = [(record, tally) for record, tally in seen if _is_played_well(tally)]
    shares = [(_compute_filled_share(*each), _compute_held_share(each[0])) for each in judged]
    if not shares or (share := median(filled for filled, _ in shares)) >= DOUBTFUL_FILLED:
        return
    what = "latencies and rests" if any(tally.rested_ns for _, tally in seen) else "latencies"
    words = f"{what} fill {100 * share:.0f} % of the users' time"
    explained = median(filled + held for filled, held in shares)
    if explained >= DOUBTFUL_FILLED:
        held = 100 * median(held for _, held in shares)
        yield "doubtful", f"{words}, and for {held:.0f} % of it the driver had no core: {QUIET}"
        return
    soundness: Soundness = "invalid" if explained < INVALID_FILLED else "doubtful"
    yield (
        soundness,
        f"{words}: waits are in neither{_describe_outlasting([tally for _, tally in seen])}",
    )


def _compute_held_share(record: PhaseRecord) -> float:
    """The part of its own time in which the driver could send nothing, at most: a thread stood
    ready and had no core, all of it stood still, or it was woken late.
    """
    lost_ns = record.switches.lost_ns if record.switches else 0
    held_ns = max(record.waited_ns, record.stood_still_ns, lost_ns)
    return min(1.0, held_ns / max(1, record.own_time_ns))


def _describe_outlasting(tallies: Sequence[Tally]) -> str:
    """Where turns are taken: how many events ended after their slice's drain. Their users had to
    wait for the next slice, and that wait is in no latency.
    """
    done, late = (sum(t.done for t in tallies), sum(t.overrun for t in tallies))
    if not late:
        return ""
    share = 100 * late / max(1, done)
    return f"; {share:.1f} % of events outlasted their slice, and the next ones waited for another"


def _is_played_well(tally: Tally) -> bool:
    return tally.done > 0 and tally.failed <= FAILED_MOST * tally.done


def _compute_filled_share(record: PhaseRecord, tally: Tally) -> float:
    """The part of users × time that lies in latencies and rests, cut events granted in full."""
    in_latencies_ns = tally.latency.mean_ns * tally.latency.count
    cut_ns = 2 * tally.connections * tally.latency.max_ns
    filled_ns = in_latencies_ns + cut_ns + tally.rested_ns
    return filled_ns / (tally.connections * record.duration_s * 1e9)


def _find_stall_faults(case: Case, stream: str, seen: _Seen) -> Iterator[_Fault]:
    for percentile in _list_percentiles(case, stream):
        found = [
            _estimate_stalled_share(record, tally, percentile)
            for record, tally in seen
            if tally.done
        ]
        share = median(found) if found else 0.0
        if share / 2 > 1 - float(percentile) / 100:
            words = (
                f"{100 * share:.1f} % of the time passed in events of over twice the p{percentile},"
                f" so {50 * share:.1f} % of users who come by the clock would wait for longer than "
                "it; only a paced stream shows that"
            )
            yield "doubtful", words


def _estimate_stalled_share(record: PhaseRecord, tally: Tally, percentile: str) -> float:
    """At least this part of a user's time lay in events of over twice the percentile."""
    limit_ns = 2 * tally.latency.percentiles_ns[percentile]
    stalled_ns = sum(longest for longest in tally.series.latency_ns_max if longest > limit_ns)
    return stalled_ns / (tally.connections * record.duration_s * 1e9)


def _find_skip_faults(case: Case, stream: str, tallies: Sequence[Tally]) -> Iterator[_Fault]:
    due, skipped = (sum(t.intended for t in tallies), sum(t.skipped for t in tallies))
    share = skipped / due if due else 0.0
    if due and skipped == due:
        yield "doubtful", "none of the events that were due was begun"
    for percentile in _list_percentiles(case, stream):
        if share > 1 - float(percentile) / 100:
            words = f"{100 * share:.1f} % of what was due was never begun, beyond the p{percentile}"
            yield "doubtful", f"{words}: they would have been the slowest"


def _find_cut(case: Case, stream: str, tallies: Sequence[Tally]) -> Iterator[_Fault]:
    told, cut = (sum(t.latency.count for t in tallies), sum(t.cut for t in tallies))
    for percentile in _list_percentiles(case, stream):
        if cut > told * (1 - float(percentile) / 100):
            waited_s = max(t.cut_ns_max for t in tallies) / 1e9
            words = f"{cut} of {told} events were cut off after {waited_s:.0f} s at most"
            yield "doubtful", f"{words}, without an answer: the p{percentile} is a lower bound"


def _list_percentiles(case: Case, stream: str) -> list[str]:
    """The percentiles of a stream that a verdict rests on."""
    metrics = case.list_primary(stream)
    return [name.removeprefix(PREFIX) for name in metrics if name.startswith(PREFIX)]


AUDIT = CoordinatedOmission()
