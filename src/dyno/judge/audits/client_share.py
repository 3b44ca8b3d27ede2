"""Audit `client_share`: was the engine measured, or the client?

With a client's share of `s` in the time of an operation, an engine that is slower by `x` shows as
slower by `(1 − s)·x`. At half, a margin of 2 % lets an engine pass that is slower by nearly 4 %:
doubtful. At nine tenths it hides 20 %, and no verdict says anything about the engine: invalid.

- An engine inside the driver's process: the client-only baseline's CPU per operation (the same
script on `null`)
  over the candidate's. An operation is what `judge/analysis/measures.py` divides costs by. The
  baseline plays more of them beside the same paced writers, so with several streams in a phase it
  is an estimate.
- `null` itself: the part of its users' time, their rests left out (`rested_ns`), that was not the
  delay that the driver measured.

A baseline whose events fail is none, and the share is not checked: a script may want rows that
`null` never has. One that costs more than the engine and the client together played something else:
*doubtful*.

Judged are the phases with a primary metric: elsewhere no verdict is at stake. `null` in a phase
whose streams are all paced is passed over: its users rest on purpose. So is an engine inside the
driver's process where users rest (`dyno.rest`): what the driver spins before each event is no cost
of the script's. Servers are judged by `client_bottleneck`.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dyno.judge.analysis.measures import compute_failed_percent, count_operations, is_baseline
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    Case,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    find_records,
    list_cases,
)
from dyno.record import CLIENT_BASELINE, Finding, PhaseRecord, Run, Trial

DOUBTFUL_PERCENT = 50.0
INVALID_PERCENT = 90.0
#: More than the whole, and than what two measurements of it differ by.
IMPOSSIBLE_PERCENT = 110.0


class ClientShare:
    """The client's part of the time, against which a slowdown of the engine is diluted."""

    summary = "the client takes less than half of the time attributed to the engine"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and phase that is not sound; else one with the largest."""
        run, trials = view.run, view.trials
        shares: dict[str, float] = {}
        findings, unknown = [], []
        failing: list[Unjudged] = []
        for case in list_cases(run, trials):
            if failed := _explain_failed_baseline(case, trials):
                failing.append(Unchecked(failed, case.name))
                continue
            share = _compute_share_percent(case, trials)
            if share is None:
                unknown.append(case)
                continue
            shares[case.name] = share
            # from CPU time a known share is subtracted
            if run.design.by == "time" or not share <= IMPOSSIBLE_PERCENT:
                findings += _find_faults(case, share)
        unjudged = [*failing, *_list_unjudged(run, unknown)]
        return conclude("client_share", findings, _describe_sound(shares), unjudged)


def _list_unjudged(run: Run, unknown: Sequence[Case]) -> list[Unjudged]:
    """Servers are judged by `client_bottleneck`."""
    if not any(side.embedded for side in run.candidates):
        return [Inapplicable("no candidate is an engine inside the client's process")]
    inside = [case.name for case in unknown if case.candidate.embedded]
    return [Unchecked("its users rest, or did nothing", name) for name in inside]


def _find_faults(case: Case, share_percent: float) -> list[Finding]:
    if share_percent != share_percent:
        sentence = (
            f"{case.name}: the client's share is unknown, since no client-only baseline was played"
        )
        return [Finding("client_share", "doubtful", sentence, case.trials)]
    if share_percent > IMPOSSIBLE_PERCENT:
        sentence = (
            f"{case.name}: without an engine the client takes {share_percent:.0f} % of the time, "
            "so that played something else, and the client's share is unknown"
        )
        return [Finding("client_share", "doubtful", sentence, case.trials)]
    sentence = f"{case.name}: {share_percent:.0f} % of the time is the client's"
    if share_percent >= INVALID_PERCENT:
        sentence = f"{sentence}, so the client was measured and not the engine"
        return [Finding("client_share", "invalid", sentence, case.trials)]
    if share_percent >= DOUBTFUL_PERCENT:
        sentence = f"{sentence}, so an engine's slowdown shows at less than half its size"
        return [Finding("client_share", "doubtful", sentence, case.trials)]
    return []


def _describe_sound(shares: dict[str, float]) -> str:
    if not shares:
        return ""
    largest = max(shares, key=lambda name: shares[name])
    return f"the client's share is {shares[largest]:.1f} % at most (of {len(shares)}, {largest})"


def _compute_share_percent(case: Case, trials: Sequence[Trial]) -> float | None:
    """The median over the trials; None: not to be judged; NaN: it cannot be known."""
    if case.candidate.engine == "null":
        rests = [
            rest for each in case.records if (rest := _compute_outside_percent(each)) is not None
        ]
        return median(rests) if rests else None
    costs = [cost for each in case.records if (cost := _compute_cpu_ns_per_operation(each))]
    if not case.candidate.embedded or not costs:
        return None
    if any(tally.rested_ns for each in case.records for tally in each.streams):
        return None
    baseline = [each for each in _find_baselines(case, trials) if is_baseline(each)]
    baseline_costs = [cost for each in baseline if (cost := _compute_cpu_ns_per_operation(each))]
    return 100 * median(baseline_costs) / median(costs) if baseline_costs else float("nan")


def _find_baselines(case: Case, trials: Sequence[Trial]) -> Sequence[PhaseRecord]:
    """The case's phase as it was played without an engine."""
    own = (CLIENT_BASELINE, case.workload, case.candidate.options, "ok")
    played = [t for t in trials if (t.candidate, t.workload, t.options, t.status) == own]
    return find_records(played, case.phase)


def _explain_failed_baseline(case: Case, trials: Sequence[Trial]) -> str:
    """Why the share cannot be told though it was played without an engine; empty where it can."""
    if case.candidate.engine == "null" or not case.candidate.embedded:
        return ""
    baselines = _find_baselines(case, trials)
    if not baselines or any(map(is_baseline, baselines)):
        return ""
    percent = min(map(compute_failed_percent, baselines))
    return f"without an engine {percent:.0f} % of its events fail, so it is not a baseline"


def _compute_cpu_ns_per_operation(record: PhaseRecord) -> float | None:
    """CPU of the driver's process for one operation, those of the warm-up included in both."""
    done = count_operations(record)
    return (record.usage.user_ns + record.usage.system_ns) / done if done else None


def _compute_outside_percent(record: PhaseRecord) -> float | None:
    """The part of its closed-loop users' time that `null` did not spend in its delay; the delay of
    an event that outlasts the phase is not told.
    """
    closed = [each for each in record.streams if not each.paced and not each.is_outlasted]
    time_ns = sum(each.connections for each in closed) * round(record.duration_s * 1e9)
    time_ns -= sum(each.rested_ns for each in closed)
    service_ns = sum(each.service_ns or 0 for each in closed)
    return max(0.0, 100 * (1 - service_ns / time_ns)) if time_ns > 0 else None


AUDIT = ClientShare()
