"""Audit `interleaving`: where trials were interleaved, did each have its slices, and was its time
its own?

- A trial whose slices were fewer or shorter than its partners' was not met by the same host.
  Another workload's may be shorter: each has slices as its own events ask for.
- An event that outlasted its turn stood still with its engine, and its latency is told without the
  time of others. What it waited for passed meanwhile and cost nothing, and its rest may end where
  no time counts. Where events of either side may gain more than half the margin so
  (`judge/stats/turn_ends.py`), both sides are held against each other, block by block, in what they
  gain, and in how much of their users' time their events fill. *Doubtful* where either differs by
  more than half the margin (98 % interval over the blocks): what both gain alike cancels. *Not
  checked* where an interval reaches beyond the margin.
- Users who never rest spend all the time that counts in events. Where slices hold more of one
  side's events than that, an event's length may be in step with the slice's, and the rate is off.
  Both sides are compared in this alone, block by block, within the same limits.
- An engine that is not ours to freeze, or was not since its workload changes nothing, went on
  meanwhile: where more than one of a hundred of its events outlasted their turns, it worked in the
  slices of others.
- Where engines are suspended, Dyno's own switches may be late, as where Dyno itself stands still:
  then one engine has the time of another. A block that lost more than half the margin so is
  dropped; the latest switch is told.
- A process that Dyno may not signal, as one that has changed its user, was not suspended.
- An engine that used CPU time while it was to stand still took it from others: somebody else woke
  it. What a process uses until a signal reaches it is allowed for (half a millisecond each time,
  the shortest ramp-in, which counts for nothing); more than half the margin, as a share of a core,
  is doubtful. *Not checked* where the kernel does not tell, and in records that do not say.
- An engine that ran on since a pilot saw its workload change nothing, and did change rows, wrote
  and tidied up in the slices of others.

Where restarts were played one after the other there is nothing to judge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from dyno.judge.analysis.run_view import RunView
from dyno.judge.analysis.sentence import describe_slices
from dyno.judge.analysis.turn_ends import estimate_moved
from dyno.judge.audits._cases import NO_EVENT, Case, Unchecked, conclude, list_cases
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.within_restarts import estimate_common_change, is_beyond
from dyno.numbers import format_count
from dyno.record import Finding, Interleaving, Suspended

#: Of the counted time of the trial with the most.
SHORTER_PERCENT = 2.0
#: Of the events of an engine that ran on while others had their turn.
STRADDLED_PERCENT = 1.0
#: What a process may use, each time, until a signal to stop has reached it, with a margin of ten
#: (docs/evidence/suspending.md). The shortest ramp-in of slices in which engines are suspended.
STOPPING_NS = 500_000
#: Of the margin, as a share of a core.
SPENT_MOST = 1 / 2
#: Of the margin, by which events that outlast their turns may move the ratio.
MOVED_MOST = 1 / 2


class InterleavingAudit:
    """The slices of interleaved trials, and what lay across them."""

    summary = "interleaved trials had equal slices, and none worked in another's"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and phase that is not sound; else one."""
        if (turns := view.run.design.interleaving) is None:
            return [
                Finding(
                    "interleaving", "does not apply", "restarts were played one after the other"
                )
            ]
        judged = list(list_cases(view.run, view.trials))
        longest_s: defaultdict[tuple[str, str], float] = defaultdict(float)
        for case in judged:
            place = case.workload, case.phase
            longest_s[place] = max(longest_s[place], _compute_seconds(case))
        findings = [
            case.make_finding("interleaving", "doubtful", words)
            for case in judged
            for words in _find_faults(case, turns, longest_s[case.workload, case.phase])
        ]
        own = [case for case in judged if _is_suspended(case, turns)]
        seen = {case.name: _measure_suspended(case) for case in own}
        findings += [
            case.make_finding("interleaving", "doubtful", words)
            for case in own
            for words in _check_spent(seen[case.name], case.find_margin_percent(view.run))
        ]
        idle = [case for case in judged if case.is_idle]
        unseen = [Unchecked(NO_EVENT, case.name) for case in idle]
        unseen += [Unchecked(_UNSEEN, name) for name, found in seen.items() if found is None]
        for case in judged:
            words, unmoved = _find_moved(view, case, case in own)
            findings += [case.make_finding("interleaving", "doubtful", each) for each in words]
            unseen += unmoved
        length, latest = describe_slices(view.run), _describe_latest(judged)
        restarts = format_count(sum(len(case.records) for case in judged), "restart")
        told = f"slices of {length} were played interleaved in {restarts}{latest}"
        return conclude("interleaving", findings, told if len(idle) < len(judged) else "", unseen)


_UNSEEN = "whether it used CPU time while it was suspended was not seen"


def _is_suspended(case: Case, turns: Interleaving) -> bool:
    """Was it to stand still while others had their turn?"""
    return turns.is_freezing(case.workload) and not case.candidate.attached


def _measure_suspended(case: Case) -> Suspended | None:
    """What it did meanwhile, over all its restarts; None where one of them does not tell."""
    found = [r.switches.suspended if r.switches else None for r in case.records]
    known = [each for each in found if each is not None]
    return sum(known, Suspended()) if known and len(known) == len(found) else None


def _check_spent(found: Suspended | None, margin_percent: float) -> Iterator[str]:
    """That it used more of others' time than what a signal takes to reach it."""
    if found is None or not found.time_ns:
        return
    spent_ns = found.cpu_ns - found.times * STOPPING_NS
    if (percent := 100 * spent_ns / found.time_ns) > SPENT_MOST * margin_percent:
        yield (
            f"it used {percent:.1f} % of a core while it was suspended: something else woke it, "
            "and it worked in the slices of others; use --sequential"
        )


def _find_faults(case: Case, turns: Interleaving, longest_s: float) -> Iterator[str]:
    ends_by_time = case.plan is not None and case.plan.stop.kind == "time"
    seconds = _compute_seconds(case)
    lost = 100 * (1 - seconds / longest_s) if seconds else 0.0
    if ends_by_time and lost > SHORTER_PERCENT:
        yield f"its slices were {lost:.0f} % shorter than those of others"
    if refused := max((r.switches.refused for r in case.records if r.switches), default=0):
        yield (
            f"{refused} of its processes could not be suspended: they worked in the slices of "
            "others; use --sequential"
        )
    if _is_suspended(case, turns):
        return
    tallies = [tally for record in case.records for tally in record.streams]
    if case.workload in turns.running and (rows := sum(tally.rows_changed for tally in tallies)):
        yield (
            f"{rows} rows were changed, and none when it was tried before the first block: it may "
            "have worked in the slices of others; use --sequential"
        )
    done = sum(tally.done for tally in tallies)
    overrun = 100 * sum(tally.overrun for tally in tallies) / done if done else 0.0
    if overrun > STRADDLED_PERCENT:
        yield (
            f"{overrun:.0f} % of its events outlasted their turns: it worked in the slices of "
            "others; use --sequential"
        )


def _find_moved(view: RunView, case: Case, suspended: bool) -> tuple[list[str], list[Unchecked]]:
    """By how much the ends of turns may move each of its streams' rate beside the base's; and of
    which of them the blocks do not tell.
    """
    names = view.run.design.base, case.candidate.name
    if case.plan is None or names[0] == names[1]:
        return [], []
    blocks = view.blocks[case.workload].valid
    limit = MOVED_MOST * to_log(case.find_margin_percent(view.run))
    words, unknown = [], []
    for stream, found in estimate_moved(view.run, blocks, case.plan, names).items():
        outlasts = suspended and found.most > limit
        counts = (found.filled, found.gained) if outlasts else (found.filled,)
        known = [change for each in counts if (change := estimate_common_change(each)) is not None]
        if any(is_beyond(each, limit) for each in known):
            percent = max(abs(to_percent(float(each.estimate))) for each in known)
            why = _OUTLASTS.format(100 * found.most) if outlasts else _OUT_OF_STEP
            words.append(f"{stream}: {why}: the ratio may be off by {percent:.1f} %; {_SEQUENTIAL}")
        elif not known and outlasts:
            unknown.append(Unchecked(_FEW, f"{case.name}, {stream}"))
        elif any(max(each.high, -each.low) > 2 * limit for each in known):
            unknown.append(Unchecked(_NOISY, f"{case.name}, {stream}"))
    return words, unknown


_OUTLASTS = (
    "events outlast their turns, by up to {:.0f} % of their time, and not alike on both sides"
)
_OUT_OF_STEP = (
    "its events took more or less time than was counted, unlike the base's, as where their length "
    "is in step with the slices"
)
_SEQUENTIAL = "use --sequential"
_FEW = "too few blocks to tell whether the ends of turns move the ratio"
_NOISY = "too noisy to tell whether the ends of turns move the ratio"


def _describe_latest(judged: Sequence[Case]) -> str:
    """`; the latest of 300 switches came 0.2 ms late`; empty where no engine was suspended."""
    found = [r.switches for case in judged for r in case.records if r.switches]
    if not found:
        return ""
    count, late_ms = sum(each.count for each in found), max(e.late_ns_max for e in found) / 1e6
    return f"; the latest of {count} switches came {late_ms:.1f} ms late"


def _compute_seconds(case: Case) -> float:
    """What counted of a phase, at the median. One whose events outlast it ends with the last of
    them, and has no more slices than others: 0.
    """
    timely = [r for r in case.records if not any(tally.is_outlasted for tally in r.streams)]
    return median(record.duration_s for record in timely) if timely else 0.0


AUDIT = InterleavingAudit()
