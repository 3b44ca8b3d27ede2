"""How busy a server was: its CPU in percent of the cores that it could use."""

from __future__ import annotations

from statistics import median

from dyno.judge.audits._cases import Case
from dyno.record import PhaseRecord, Run, Trial


def compute_server_percent(run: Run, case: Case) -> float | None:
    """The median over the trials of the share of its cores that the server used."""
    found = [
        100 * reading.value * 1e3 / time_ns
        for trial in case.played
        for record in trial.phases
        if record.phase == case.phase and (time_ns := _compute_usable_ns(run, trial, record))
        for reading in record.readings
        if reading.name == "server_cpu_us"
    ]
    return median(found) if found else None


def _compute_usable_ns(run: Run, trial: Trial, record: PhaseRecord) -> float:
    """CPU time that the server could have used in a phase: interleaved, that of its slices, since
    it is asked for nothing in the drains.
    """
    turns = run.design.interleaving
    time_slice = turns.find_slice(trial.workload) if turns else None
    asked = time_slice.length_s / (time_slice.length_s + time_slice.drain_s) if time_slice else 1.0
    cores = len(trial.conditions.engine_cores) or int(run.host.get("cores", "1"))
    connections = sum(tally.connections for tally in record.streams)
    return min(cores, connections) * record.own_time_ns * asked
