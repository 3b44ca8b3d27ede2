"""Runs and trials made of numbers, for tests of what reads records (judge, audits, report)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from dyno.record import (
    Candidate,
    ClientPart,
    ClockOffset,
    Design,
    Latency,
    LoadCondition,
    Phase,
    PhaseRecord,
    Reading,
    Run,
    Series,
    Tally,
    Trial,
    Usage,
    WorkloadPlan,
)
from dyno.record.decode import decode

SECOND_NS = 1_000_000_000
CALM = {"steal_ns": 0.0, "busy_ns": 1.0, "idle_ns": 1.0, "own_ns": 1.0}


def make_candidate(name: str) -> Candidate:
    """A candidate on `null`, which stands for any engine."""
    return Candidate(name, f"{name}=null@200us", "null", True, {"version": "1"}, {}, {})


def make_phase(name: str = "run", primary: Sequence[str] = ("rate_per_s",)) -> dict[str, Any]:
    """A phase with one closed-loop stream `reader`, as plain data."""
    stream = {
        "name": "reader",
        "function": "event",
        "connections": 1,
        "pace": {"kind": "closed"},
        "role": "reader",
        "unit": "query",
        "units_per_event": 1,
    }
    pairs = [{"stream": "reader", "metric": m, "margin_percent": None} for m in primary]
    return {
        "name": name,
        "streams": [stream],
        "stop": {"kind": "time", "duration_s": 10.0},
        "warmup_s": 0.0,
        "stationary": True,
        "settle": False,
        "primary": pairs,
        "expected_s": 10.0,
    }


def make_workload(name: str = "select", phases: Sequence[dict[str, Any]] = ()) -> WorkloadPlan:
    """A workload of one phase `run`, or of those given."""
    declared = tuple(decode(Phase, phase) for phase in phases or (make_phase(),))
    return WorkloadPlan(name, f"{name}.lua", "0" * 64, {}, declared, ())


def make_design(**changes: Any) -> Design:
    """The default design: looks at 6, 10, 14, 18, 24; margin 2 %, alpha 5 %."""
    limits = {"steal_percent": 5.0, "foreign_percent": 10.0}
    design = Design("old", (6, 10, 14, 18, 24), 2.0, 0.05, False, limits, {})
    return structs.replace(design, **changes)


def make_run(
    candidates: Sequence[str | Candidate] = ("old", "new"),
    workloads: Sequence[WorkloadPlan] = (),
    **design: Any,
) -> Run:
    """A run whose first candidate is the base; `design` changes `make_design`."""
    sides = tuple(make_candidate(it) if isinstance(it, str) else it for it in candidates)
    return Run(
        name="fake",
        created_utc="2026-01-01T00:00:00Z",
        question="is new slower than old?",
        command="dyno compare old new --workload select",
        seed=1,
        candidates=sides,
        workloads=tuple(workloads or (make_workload(),)),
        design=make_design(base=sides[0].name, **design),
        host={"cpu": "two of them"},
    )


def make_load(name: str = "x", number: int = 1, of: int = 1) -> LoadCondition:
    """The kept load `name`, the `number`th `of` so many; it had taken a second."""
    return LoadCondition(number, of, name, 1.0)


def make_latency(typical_ns: float, count: int = 1000) -> Latency:
    """A distribution with its median at `typical_ns`; the histogram itself is empty."""
    factors = {"1": 0.5, "10": 0.7, "25": 0.9, "50": 1.0, "75": 1.2, "90": 1.6, "95": 2.0}
    factors |= {"99": 3.0, "99.5": 3.5, "99.9": 5.0, "99.99": 8.0, "99.999": 9.0}
    percentiles = {name: round(typical_ns * factor) for name, factor in factors.items()}
    return Latency(count, typical_ns * 1.1, round(typical_ns * 10), percentiles, "")


def make_tally(per_s: float, seconds: float = 10.0, **changes: Any) -> Tally:
    """A closed-loop stream `reader` that did `per_s` events a second, without a failure or rest."""
    done = round(per_s * seconds)
    before = (round(per_s),) * (int(seconds) - 1)
    per_second = (*before, done - sum(before))
    tally = Tally(
        name="reader",
        unit="query",
        units_per_event=1,
        connections=1,
        target_per_s=None,
        intended=done,
        done=done,
        failed=0,
        skipped=0,
        warmup=0,
        restarted=0,
        queries=done,
        rows_read=done,
        rows_changed=0,
        busy=0,
        errors={},
        service_ns=round(seconds * SECOND_NS),
        latency=make_latency(1e9 / per_s, done),
        lateness=make_latency(1.0, done),
        transactions={},
        series=Series(per_second, (0,) * int(seconds), (1,) * int(seconds)),
    )
    return structs.replace(tally, **changes)


def make_readings(host: Mapping[str, float] = CALM, **costs: float) -> tuple[Reading, ...]:
    """Readings of the probe `host`, and of the probe `process` one cost for each of `costs`."""
    surroundings = (Reading("host", n, "ns", "lower", v, False, True) for n, v in host.items())
    own = (Reading("process", n, "ns", "lower", v, True) for n, v in costs.items())
    return (*surroundings, *own)


def make_record(
    streams: Sequence[Tally],
    phase: str = "run",
    seconds: float = 10.0,
    readings: tuple[Reading, ...] | None = None,
) -> PhaseRecord:
    """A phase of `seconds` without a warm-up, on a calm host unless `readings` say otherwise."""
    end = SECOND_NS + round(seconds * SECOND_NS)
    usage = Usage(SECOND_NS, SECOND_NS, 10, 1, 1 << 20)
    calm = make_readings() if readings is None else readings
    return PhaseRecord(phase, SECOND_NS, SECOND_NS, end, False, usage, tuple(streams), calm)


def make_client_part(host: str, *, busiest: float = 10.0, **changes: Any) -> ClientPart:
    """A host that began 10 µs late, by a clock that is known to 20 µs."""
    clock = ClockOffset(0, 20_000, 24)
    began_ns = SECOND_NS + 10_000
    part = ClientPart(host, 4, 2, began_ns, began_ns, clock, clock, SECOND_NS, {"reader": 9})
    return structs.replace(part, busiest_percent=busiest, **changes)


def make_trial(number: int, candidate: str, block: int, per_s: float, **changes: Any) -> Trial:
    """A good trial of the workload `select` with its phase `run`."""
    trial = Trial(
        number=number,
        workload="select",
        block=block,
        candidate=candidate,
        attempt=1,
        order=0,
        started_utc="2026-01-01T00:00:00Z",
        status="ok",
        phases=(make_record([make_tally(per_s)]),),
    )
    return structs.replace(trial, **changes)


def make_trials(
    slowdowns: Mapping[str, Sequence[float]], base: str = "old", per_s: float = 1e6
) -> list[Trial]:
    """Trials whose rates give these log time ratios: candidate -> one per block.

    The base does `per_s` in every block: `make_trials({"new": [0.05] * 6})` is a slowdown of
    `exp(0.05) - 1`, six blocks long.
    """
    numbers = itertools.count(1)
    trials = []
    for block in range(max(len(logs) for logs in slowdowns.values())):
        trials.append(make_trial(next(numbers), base, block, per_s))
        for name, logs in slowdowns.items():
            rate = per_s * math.exp(-logs[block])
            trials.append(make_trial(next(numbers), name, block, rate))
    return trials
