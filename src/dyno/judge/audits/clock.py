"""Audit `clock`: did the clock that times everything go evenly, and was it cheap to read?

- The wall clock was set during a phase (it left CLOCK_MONOTONIC by over a millisecond; readings
  differ by microseconds): *doubtful*. Durations here are CLOCK_MONOTONIC's, but an engine's own
  timers and a script's may not be.
- CLOCK_MONOTONIC was bent against the hardware's: by over 0.05 %, the most that the kernel's own
  NTP discipline does (500 ppm, adjtimex(2)), *doubtful*; by more than the smallest margin of the
  phase's primaries, *invalid*, since every duration is then wrong by more than what is judged.
- A reading of the clock costs over a quarter of a microsecond and over 1 % of an event: *doubtful*.
  The clock is then read by a system call (a clock source such as hpet or acpi_pm, or a TSC that the
  kernel gave up), once for each answer. Read in user space it costs far less.

A clock source that changed during a run shows in the cost. `dyno doctor` names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Unchecked, conclude, list_cases
from dyno.numbers import format_count
from dyno.record import Finding, PhaseRecord, Soundness

STEP_NS = 1e6
SLEW_PERCENT = 0.05
READ_NS = 250.0
READ_PERCENT = 1.0


class ClockAudit:
    """Steps, slewing and the cost of the clock."""

    summary = "the clock was not set or adjusted during a phase, and is cheap to read"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each fault of each phase, with the trials that share it; else one."""
        run, trials = view.run, view.trials
        judged = list(list_cases(run, trials))
        findings = [
            f for case in judged for f in _make_findings(case, case.find_margin_percent(run))
        ]
        unread = [case.name for case in judged if not all(map(_find_readings, case.records))]
        read = sum(len(case.records) for case in judged if case.name not in unread)
        told = f"the clock ran evenly in {format_count(read, 'restart')}" if read else ""
        unchecked = [Unchecked("the clock was not looked at", name) for name in unread]
        return conclude("clock", findings, told, unchecked)


def _make_findings(case: Case, margin_percent: float) -> Iterator[Finding]:
    faults: dict[tuple[Soundness, str], list[int]] = {}
    for trial in case.played:
        for record in trial.phases:
            if record.phase == case.phase:
                for soundness, words in _find_faults(record, margin_percent):
                    faults.setdefault((soundness, words), []).append(trial.number)
    for (soundness, words), numbers in faults.items():
        sentence = f"{case.name}: {words}"
        yield Finding("clock", soundness, sentence, tuple(numbers), case.phase)
    if words := _describe_reading_cost(case):
        yield case.make_finding("clock", "doubtful", words)


def _find_faults(record: PhaseRecord, margin_percent: float) -> Iterator[tuple[Soundness, str]]:
    found = _find_readings(record)
    # the wall clock goes on while a machine is suspended, which drops its block
    set_ns = found.get("realtime_step_ns", 0.0) - found.get("suspended_ns", 0.0)
    if abs(set_ns) > STEP_NS:
        yield "doubtful", "the wall clock was set while the phase played, by a millisecond or more"
    time_ns = record.ended_ns - record.started_ns
    slew = 100 * abs(found.get("clock_slew_ns", 0.0)) / time_ns if time_ns else 0.0
    if slew > margin_percent:
        yield "invalid", f"the clock was adjusted by more than the margin of {margin_percent:g} %"
    elif slew > SLEW_PERCENT:
        yield "doubtful", f"the clock was adjusted by more than {SLEW_PERCENT} %"


def _describe_reading_cost(case: Case) -> str:
    """What a reading of the clock costs, where that is dear."""
    found = [_find_readings(record) for record in case.records]
    costs = [each["clock_read_ns"] for each in found if "clock_read_ns" in each]
    events = [
        tally.latency.mean_ns for record in case.records for tally in record.streams if tally.done
    ]
    if not costs or not events or (cost := median(costs)) <= READ_NS:
        return ""
    percent = 100 * cost / median(events)
    if percent <= READ_PERCENT:
        return ""
    return f"reading the clock costs {cost:.0f} ns, {percent:.1f} % of an event: no TSC is used"


def _find_readings(record: PhaseRecord) -> dict[str, float]:
    return {r.name: r.value for r in record.readings if r.probe == "clock"}


AUDIT = ClockAudit()
