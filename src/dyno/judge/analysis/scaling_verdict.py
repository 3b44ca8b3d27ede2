"""A forecast of scaling as a verdict: in words, what it was held against, what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from dyno.judge.analysis.scaling import CORES, CandidateForecast, ScaleForecast
from dyno.numbers import format_interval, format_percent, format_quantity, format_signed_percent
from dyno.record import Finding, Verdict
from dyno.record.run import LIMITS
from dyno.record.scaling import ScaleRun

#: The number of cores that the sentence tells.
TOLD_CORES = 64
#: A forecast from one user that is further off here is doubtful, in percent.
FAR_OFF_PERCENT = 15.0
#: What no part of the model stands for.
LEFT_OUT = {
    "memory": "memory of several sockets (NUMA), caches and bandwidth that more users fill",
    "frequency": "cores that slow down where many are at work, and two threads of one core (SMT)",
    "scheduler": "moving threads, spinning for locks, and the CPU time that waiting for one costs",
    "data": "locks of rows, and more data or connections than were played here",
}


def judge_scaling(run: ScaleRun, forecast: ScaleForecast | None) -> Verdict:
    """The verdict; without a forecast (None) the run is not over."""
    if forecast is None:
        told = f"{run.played} of {run.wanted} restarts are over."
        return Verdict("measured", told, False, (), (), ())
    rates = [describe_rate(it, run.metric.unit) for it in forecast.candidates]
    told = f"Forecast, not measured: on {TOLD_CORES} cores {', '.join(rates)}."
    told = " ".join([told, *describe_crossings(forecast)])
    findings = (*_list_checks(forecast), *_list_noise(run), *_list_locks(run, forecast))
    left_out = (Finding(name, "not checked", told) for name, told in LEFT_OUT.items())
    return Verdict("measured", told, True, (), (*findings, *left_out), ())


def describe_rate(found: CandidateForecast, unit: str) -> str:
    """`A does 812 k queries/s [700 k, 930 k]`."""
    rate = next(it.rate_per_s for it in found.points if it.cores == TOLD_CORES)
    ends = format_interval(rate.low, rate.high, format_rate)
    return f"{found.side.name} does {format_rate(rate.middle)} {unit} {ends}"


def describe_full(found: CandidateForecast) -> str:
    """`A: lock X fills first, at about 12 cores; without it 192 cores would do 2.1 times as much`
    in the form of a clause.
    """
    name, full = found.side.name, found.full
    if not full.name:
        return f"{name}: up to {CORES[-1]} cores nothing that was measured fills but the cores"
    kind = "the cache line of" if found.kinds[full.name] == "shared" else "lock"
    return (
        f"{name}: {kind} {full.name} fills first, at about {full.cores} cores; "
        f"without it {CORES[-1]} cores would do {full.gain:.1f} times as much"
    )


def describe_crossings(forecast: ScaleForecast) -> list[str]:
    """Where a candidate overtakes the base, or falls behind it, beyond both bands."""
    base = forecast.candidates[0].side.name
    return [
        f"{name} {'overtakes' if is_ahead else 'falls behind'} {base} at about {cores:.0f} cores."
        for name, cores, is_ahead in forecast.crossings
    ]


def format_rate(per_s: float) -> str:
    """`812 k`, `1.24 M`."""
    return format_quantity(per_s, "/s").removesuffix("/s").strip()


def format_idle(share: float) -> str:
    """Whole per cents."""
    return f"{100 * max(0.0, share):.0f} %"


def describe_check(found: CandidateForecast) -> str:
    """`A, forecast from one user, is off by +3.1 % with 2 users, −6.2 % with 4, measured here`."""
    parts = [f"{format_signed_percent(100 * it.off)} % with {it.users}" for it in found.checks]
    told = ", ".join([f"{parts[0]} users", *parts[1:]])
    return f"{found.side.name}, forecast from one user, is off by {told}, measured here"


def _list_checks(forecast: ScaleForecast) -> Iterator[Finding]:
    for found in forecast.candidates:
        if not found.checks:
            told = f"{found.side.name}: only one user was played, so nothing checks the forecast"
            yield Finding("forecast", "not checked", told)
            continue
        worst = max(abs(100 * it.off) for it in found.checks)
        is_far = worst > FAR_OFF_PERCENT
        yield Finding("forecast", "doubtful" if is_far else "sound", describe_check(found))


def _list_noise(run: ScaleRun) -> Iterator[Finding]:
    """The noise limits of a comparison whose restarts follow each other."""
    shares = {
        name: max((it.others_percent.get(name, 0.0) for it in run.plays), default=0.0)
        for name in LIMITS
    }
    told = ", ".join(f"{format_percent(shares[name])} {name.split('_')[0]}" for name in LIMITS)
    is_noisy = any(shares[name] > limit for name, limit in LIMITS.items())
    limits = ", ".join(f"{limit:g} %" for limit in LIMITS.values())
    told = f"others' CPU time in the noisiest play: {told} (at most {limits})"
    yield Finding("noise", "doubtful" if is_noisy else "sound", told)


def _list_locks(run: ScaleRun, forecast: ScaleForecast) -> Iterator[Finding]:
    for found in forecast.candidates:
        name = found.side.name
        plays = [it for it in run.plays if it.candidate == name]
        missing = next((it.unread for it in plays if it.unread), "")
        if not any(it.locks for it in plays):
            why = missing or "the engine tells of none"
            told = f"{name}: no lock is in the forecast: {why}"
            yield Finding("locks", "not checked", told)
            continue
        if found.unknown:
            held = ", ".join(found.unknown[:3]) + " …" * (len(found.unknown) > 3)
            told = f"{name}: how long it holds {held} is not known, and counts as nothing"
            yield Finding("locks", "not checked", told)
        elif missing:
            yield Finding("locks", "not checked", f"{name}: {missing}")
        if found.seldom:
            told = f"{name}: {', '.join(found.seldom)} in few restarts, and counts as nothing"
            yield Finding("locks", "not checked", told)
    if run.line is None:
        told = "a cache line's way counts as nothing: one core, or cores too busy to measure it"
        yield Finding("cache lines", "not checked", told)
