"""Audit `cpu_samples`: do the samples of the engines' CPU time hold what the engines used?

Each sample stands for a fixed CPU time, so all of them should add up to what the kernel charged the
engine's processes with (probe `process`). A virtual machine's timer is late, and misses a part of
processes that run for microseconds at a time: there the samples are fewer, and what was charged is
shared out among them. A verdict does not rest on samples, but an explanation does.

- No sample at all where the engine used CPU, or over half more or less than it used over all
  restarts of a candidate: *doubtful*. Where the kernel's own time is not seen, samples are held
  against the time in user mode. Else the sentence says how near they came.
- *Not checked* where nothing was sampled, or a phase's profile is missing, with the reason; and of
  a build whose functions have no names (a stripped one): its samples are known by file alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Case, Inapplicable, Unchecked, Unjudged, conclude, list_cases
from dyno.record import Finding, PhaseRecord
from dyno.record.profile import PROFILE, CpuProfile

APART = 0.5
#: CPU that may be off without being suspect: some ticks of 10 ms, some samples.
SLACK_NS = 5e7
#: Samples in the engine's largest file that say something of its names.
SAMPLES_LEAST = 50
NAMELESS_PERCENT = 50.0
NOT_ASKED_FOR = "it was not asked for"


class CpuSamples:
    """Samples against the CPU time that was charged, and samples without a name."""

    summary = "samples of the engines' CPU time add up to what they used, and have names"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate whose samples do not add up; else one with how near."""
        why = _explain_missing(view)
        cases = list(list_cases(view.run, view.trials))
        if why or not cases:
            return conclude("cpu_samples", [], "", [why] if why else [])
        findings = [
            case.make_finding("cpu_samples", "doubtful", words)
            for case in cases
            if (words := _describe_fault(case))
        ]
        checked = [case for case in cases if _sum_cpu_ns(case)[1]]
        told = _describe_sound(checked)
        left = [each for case in cases for each in _list_unchecked(case)]
        return conclude("cpu_samples", findings, told, left)


def _explain_missing(view: RunView) -> Unjudged | None:
    sampling = view.run.cpu_sampling
    if sampling is None:
        return Unchecked("CPU time was not sampled by the Dyno that played this run")
    if not sampling.missing:
        return None
    kind = Inapplicable if NOT_ASKED_FOR in sampling.missing else Unchecked
    return kind(f"CPU time was not sampled: {sampling.missing}")


def _list_profiles(case: Case) -> Iterator[tuple[PhaseRecord, CpuProfile]]:
    for record in case.records:
        if record.profile is not None:
            yield record, record.profile


def _sum_cpu_ns(case: Case) -> tuple[float, float]:
    """What the samples stand for, and what the engine used in the same phases."""
    sampled = used = 0.0
    for record, profile in _list_profiles(case):
        name = "server_cpu_us" if profile.kernel else "server_user_us"
        charged = [1e3 * each.value for each in record.readings if each.name == name]
        if charged:
            sampled, used = sampled + profile.cpu_ns, used + charged[0]
    return sampled, used


def _describe_fault(case: Case) -> str:
    sampled, used = _sum_cpu_ns(case)
    if abs(sampled - used) <= APART * used + SLACK_NS:
        return ""
    if not sampled:
        return f"the engine used {used / 1e9:.2g} s of CPU, and no sample of it was taken"
    words = f"samples stand for {sampled / 1e9:.3g} s of CPU, and the engine used"
    return f"{words} {used / 1e9:.3g} s"


def _describe_sound(checked: Sequence[Case]) -> str:
    percents = sorted(
        100 * sampled / used for sampled, used in map(_sum_cpu_ns, checked) if used > 0
    )
    if not percents:
        return ""
    low, high = f"{percents[0]:.0f}", f"{percents[-1]:.0f}"
    shares = low if low == high else f"{low} to {high}"
    return f"samples hold {shares} % of the CPU time used, in {len(percents)} phases"


def _list_unchecked(case: Case) -> Iterator[Unjudged]:
    reasons = {record.unread[PROFILE] for record in case.records if PROFILE in record.unread}
    for why in sorted(reasons):
        yield Unchecked(f"some phases have no profile: {why}", case.name)
    if case.candidate.attached:
        yield Unchecked("it runs already, and is not ours to look into", case.name)
    elif not reasons and not any(True for _ in _list_profiles(case)):
        yield Unchecked("its phases have no profile", case.name)
    if (percent := _compute_nameless_percent([p for _, p in _list_profiles(case)])) is not None:
        words = "the build is stripped: its samples are known by file, not by function"
        if percent > NAMELESS_PERCENT:
            yield Unchecked(words, case.name)


def _compute_nameless_percent(profiles: Sequence[CpuProfile]) -> float | None:
    """Of the samples in the file that has most of them, how many have no name; None of too few."""
    all_samples, nameless = Counter[str](), Counter[str]()
    for profile in profiles:
        for function in profile.functions:
            if function.module.startswith("/"):
                all_samples[function.module] += function.samples
                nameless[function.module] += 0 if function.name else function.samples
    most = max(all_samples, key=lambda module: all_samples[module], default="")
    if not most or all_samples[most] < SAMPLES_LEAST:
        return None
    return 100 * nameless[most] / all_samples[most]


AUDIT = CpuSamples()
