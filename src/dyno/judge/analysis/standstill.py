"""Whether somebody stood still while a block was played who must not.

- **Dyno**, where it suspends engines: its switches came late, so that one engine had the time of
  another (`Switches`).
- **A driver**: no thread of it ran in its own time (`stood_still_ns`).
- **The host**: all of them at once, as where a virtual machine is paused; or it was suspended, of
  which CLOCK_MONOTONIC knows nothing.

What a candidate lost of its own time is missing in its rate, and in its latencies. A block is
dropped where that is more than half the smallest margin of the workload.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.judge.analysis.margins import margin_percent
from dyno.record import PhaseRecord, Run, Standstill, Trial, WorkloadPlan

#: Of the margin: the share of a candidate's own time that may be lost.
MARGIN_SHARE = 0.5
#: Two clocks are read within microseconds.
SUSPENDED_NS = 1e6
LIMIT = "standstill_percent"


def most_percent(run: Run, workload: WorkloadPlan) -> float:
    """What may be lost of a candidate's own time."""
    return MARGIN_SHARE * margin_percent(run, workload)


def find_standstill(
    run: Run, block: Sequence[Trial], workload: WorkloadPlan
) -> tuple[Standstill, float] | None:
    """Who stood still in a workload's phases in a block, and what percentage of its own time a
    candidate lost by that at the most; None where nobody did for long enough.
    """
    records = [
        (t, record) for t in block for record in t.phases if record.phase in workload.phase_names
    ]
    suspended_ns = max((_suspended_ns(record) for _, record in records), default=0.0)
    if suspended_ns > SUSPENDED_NS:
        return Standstill("the host", suspended_ns / 1e9), 100.0
    most = most_percent(run, workload)
    switched = [each for each in records if _percent(each[1], _switched_ns(each[1])) > most]
    stopped = [each for each in records if _percent(each[1], each[1].stood_still_ns) > most]
    if not switched and not stopped:
        return None
    lost = (max(_switched_ns(record), record.stood_still_ns) for _, record in records)
    percents = (_percent(record, ns) for (_, record), ns in zip(records, lost, strict=True))
    return Standstill(_who(block, switched, stopped), _longest_s(switched or stopped)), max(
        percents
    )


_Played = Sequence[tuple[Trial, PhaseRecord]]


def _who(block: Sequence[Trial], switched: _Played, stopped: _Played) -> str:
    """Where turns are taken all drivers play at once, and stand still together with their host."""
    sides = {trial.candidate for trial, _ in stopped}
    by_turns = any(record.own_ns is not None for _, record in stopped)
    if by_turns and len(sides) == len({trial.candidate for trial in block}) > 1:
        return "the host"
    return "Dyno" if switched else f"the driver of {' and of '.join(sorted(sides))}"


def _longest_s(found: _Played) -> float:
    """The longest standstill in the records."""
    late = (record.switches.late_ns_max for _, record in found if record.switches)
    return max(*late, *(record.stood_still_ns_max for _, record in found), 0) / 1e9


def _switched_ns(record: PhaseRecord) -> int:
    return record.switches.lost_ns if record.switches else 0


def _percent(record: PhaseRecord, lost_ns: int) -> float:
    """Of the time that was measured; a standstill in the warm-up is counted, too."""
    own_ns = record.duration_s * 1e9
    return 100.0 * lost_ns / own_ns if own_ns > 0 else 0.0


def _suspended_ns(record: PhaseRecord) -> float:
    found = (r.value for r in record.readings if (r.probe, r.name) == ("clock", "suspended_ns"))
    return next(found, 0.0)
