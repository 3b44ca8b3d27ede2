"""What a trial measured, as numbers with an identity: rates, latencies, costs of an operation.

- `rate_per_s`: units done ÷ the phase's measured seconds. A stream that ended before its phase did
  (stop by count, several streams) is divided by the same seconds.
- `rate_per_min`: events of a transaction type ÷ the phase's measured minutes, of streams at full
  speed.
- `latency_ns_p50` … `latency_ns_max`: from the intended time, of events that were answered, and of
  those cut off without an answer what they had waited.
- Of a stream whose every user had one event under way for the whole phase, rate and latencies are
  what these took or had waited: bounds, told as such (`comparisons.PairedMetric.bound`).
- The latencies of `all <unit> streams` of a phase, where several count in one unit. Percentiles do
  not average, so the driver adds histograms up before it reads them.
- `failed_percent`: events failed ÷ events played.
- `X_per_op`: a probe's reading X ÷ the phase's operations, which are the units of its closed-loop
  streams (of all streams, where all are paced): rows where rows are inserted at full speed,
  queries where readers at full speed run beside paced writers, as Callaghan's tables count them.
  Events of the warm-up and failed ones count here, since a probe sees their cost too.
- `driver_cpu_us_per_op`, `driver_user_…`, `driver_system_…`: what the client spent, likewise, where
  the engine is a server. Where it lives in the driver's process, both are one process.
- Gauges (`database_bytes`, `resident_bytes`) as they are.

Readings that are conditions are left out: they describe what else the host did, or the whole work
of a phase, and compare nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dyno.record import (
    CLIENT_BASELINE,
    Better,
    Latency,
    Metric,
    PhaseRecord,
    Reading,
    Tally,
    Trial,
    Usage,
)

PERCENTILES = ("50", "95", "99", "99.9")


def compute_latency_figures(latency: Latency) -> dict[tuple[str, str], float]:
    """Percentiles, mean and maximum in ns, by name and unit; none where nothing was answered."""
    if latency.count == 0:
        return {}
    found = {
        (f"latency_ns_p{name}", "ns"): float(latency.percentiles_ns[name])
        for name in PERCENTILES
        if name in latency.percentiles_ns
    }
    ends = {("latency_ns_mean", "ns"): latency.mean_ns, ("latency_ns_max", "ns"): latency.max_ns}
    return found | {identity: float(value) for identity, value in ends.items()}


def compute_joint_percentiles(record: PhaseRecord) -> dict[str, dict[str, int]]:
    """Unit to percentile to ns, for each unit that two or more of a phase's streams answered in."""
    return {
        unit: {name: latency.percentiles_ns[name] for name in PERCENTILES}
        for unit, latency in record.together.items()
    }


#: What a verdict by CPU time rests on: of a server all its processes, of an engine in the driver's
#: process that without the driver's own part.
CPU_PER_OP = "server_cpu_us_per_op"
#: Costs of which the driver's own share is subtracted where the engine lives in its process.
SUBTRACTED_FROM = ("server_cpu_us", "server_user_us", "server_system_us")
#: Of the events of a baseline, that may fail.
BASELINE_FAILED_PERCENT = 1.0
#: The reading that only trials of a server have: the driver's threads beside the engine's.
SERVED = "driver_busy_percent"

Numbers = dict[Metric, float]
Played = tuple[str, tuple[tuple[str, str], ...]]


def compute_measures(trial: Trial, baseline: Trial | None = None) -> Numbers:
    """Every number of `trial`, by identity.

    `baseline` is the trial that played the same script on `null`: its CPU per operation is the
    driver's own and is subtracted from that of an embedded engine (METHOD.md, What is compared),
    down to 0; not of a phase in which its events failed.
    """
    found: Numbers = {}
    own = (
        {record.phase: record for record in baseline.phases if is_baseline(record)}
        if baseline
        else {}
    )
    for record in trial.phases:
        found |= dict(_measure_phase(trial.workload, record, own.get(record.phase)))
    return found


def find_client_baselines(trials: Iterable[Trial]) -> dict[Played, Trial]:
    """The last good trial of the client-only baseline, looked up `make_baseline_key`."""
    return {
        make_baseline_key(t): t
        for t in trials
        if t.candidate == CLIENT_BASELINE and t.status == "ok"
    }


def make_baseline_key(trial: Trial) -> Played:
    """The workload, and the options of it that belong to the trial's cell."""
    return trial.workload, tuple(sorted(trial.options.items()))


def compute_failed_percent(record: PhaseRecord) -> float:
    """The share of a phase's events that failed."""
    played = sum(tally.done + tally.failed for tally in record.streams)
    return 100.0 * sum(tally.failed for tally in record.streams) / played if played else 0.0


def is_baseline(record: PhaseRecord) -> bool:
    """Does a phase played without an engine tell what the client costs? Not where events fail: an
    error takes another way through a script, often a longer one.
    """
    return compute_failed_percent(record) <= BASELINE_FAILED_PERCENT


def count_operations(record: PhaseRecord) -> int:
    """The units that a phase's costs are divided by, those of the warm-up included."""
    closed = [tally for tally in record.streams if not tally.paced]
    return sum(
        (tally.done + tally.failed + tally.warmup) * tally.units_per_event
        for tally in closed or record.streams
    )


def _measure_phase(
    workload: str, record: PhaseRecord, baseline: PhaseRecord | None
) -> Iterator[tuple[Metric, float]]:
    for tally in record.streams:
        for (name, unit), value in _measure_stream(tally, record.duration_s).items():
            better: Better = "higher" if name == "rate_per_s" else "lower"
            yield Metric(workload, record.phase, tally.name, name, unit, better), value
        for kind, latency in tally.transactions.items():
            for (name, unit), value in compute_latency_figures(latency).items():
                transaction = f"{tally.name}/{kind}"
                yield Metric(workload, record.phase, transaction, name, unit, "lower"), value
            if latency.count and not tally.paced and record.duration_s > 0.0:
                identity = (f"{tally.name}/{kind}", "rate_per_min", f"{kind}/min")
                per_min = 60.0 * latency.count / record.duration_s
                yield Metric(workload, record.phase, *identity, "higher"), per_min
    for common, percentiles in compute_joint_percentiles(record).items():
        for name, ns in percentiles.items():
            identity = (f"all {common} streams", f"latency_ns_p{name}", "ns")
            yield Metric(workload, record.phase, *identity, "lower"), float(ns)
    own = {reading.name: cost for reading, cost in _compute_costs(baseline)} if baseline else {}
    for reading, cost in _compute_costs(record):
        name = f"{reading.name}_per_op" if reading.per_operation else reading.name
        metric = Metric(workload, record.phase, "", name, reading.unit, reading.better)
        drivers = own.get(reading.name, 0.0) if reading.name in SUBTRACTED_FROM else 0.0
        yield metric, max(0.0, cost - drivers)


def _measure_stream(tally: Tally, duration_s: float) -> dict[tuple[str, str], float]:
    found = {}
    if tally.is_outlasted:
        rate = 1e9 * tally.connections * tally.units_per_event / max(1, tally.under_way_ns_min)
        found["rate_per_s", f"{tally.unit}/s"] = rate
        if not tally.latency.count:
            names = (*(f"p{each}" for each in PERCENTILES), "mean", "max")
            waited_ns = float(tally.under_way_ns_min)
            found |= {(f"latency_ns_{name}", "ns"): waited_ns for name in names}
    elif duration_s > 0.0:
        rate = tally.done * tally.units_per_event / duration_s
        found["rate_per_s", f"{tally.unit}/s"] = rate
    if played := tally.done + tally.failed:
        found["failed_percent", "%"] = 100.0 * tally.failed / played
    return found | compute_latency_figures(tally.latency)


def _compute_costs(record: PhaseRecord) -> Iterator[tuple[Reading, float]]:
    """Each reading with its cost per operation, or with its value where it is a gauge."""
    done = count_operations(record)
    for reading in _list_readings(record):
        if not reading.per_operation:
            yield reading, reading.value
        elif done:
            yield reading, reading.value / done


def _list_readings(record: PhaseRecord) -> tuple[Reading, ...]:
    """The probes' readings, and what the driver's own `Usage` (getrusage(2)) has beside them.

    That is its CPU, where the engine is a server of its own; and the context switches that no
    probe could see, where the engine lives in the driver's process.
    """
    read = tuple(each for each in record.readings if not each.condition)
    names = {each.name for each in read}
    usage = record.usage
    if SERVED in names:
        return (*read, *_list_driver_readings(usage))
    switches = {
        "context_switches": usage.voluntary_switches,
        "involuntary_switches": usage.involuntary_switches,
    }
    if not read or names & set(switches):
        return read
    own = (Reading("driver", n, "switches", "lower", v, True) for n, v in switches.items())
    return (*read, *own)


def _list_driver_readings(usage: Usage) -> Iterator[Reading]:
    spent_ns = {
        "driver_cpu_us": usage.user_ns + usage.system_ns,
        "driver_user_us": usage.user_ns,
        "driver_system_us": usage.system_ns,
    }
    yield from (Reading("driver", n, "µs", "lower", ns / 1e3, True) for n, ns in spent_ns.items())
