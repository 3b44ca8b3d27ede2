"""Audit `counters`: do the numbers of a trial add up, and is each of them possible?

Whatever the driver counts in two ways must agree to the last event, else it is known that a number
is wrong but not which: *invalid*.

- A stream's `done` with its latency histogram, its seconds and its transaction types; `done` and
  `failed` together with the lateness of what was begun.
- `intended` with `done` + `failed` + `skipped`, where the driver counts `intended` and `skipped`
  from its schedule and not from what it played.

A probe's number that cannot be is that of a counter that wrapped, jumped or began anew: it fell
over the phase, is not a number, or is more CPU time than the cores had. No verdict rests on a
probe, but an explanation does: *doubtful*. Time may fall by a second, since CPU of ended children
is told in ticks of 10 ms, and be twice what there was and a second more, since the probes are read
shortly before the start and after the end; a counter that wraps at 2^32 ns or jumps is beyond both.

What the engine holds is compared by `ledger`, what it counted of its clients' work by
`server_count`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.record import Finding, PhaseRecord, Reading, Soundness, Tally, Trial
from dyno.record.profile import PROFILE

SECOND_NS = 1e9
#: How far a reading may fall without being suspect, by its unit.
MAY_FALL = {"ns": SECOND_NS, "µs": SECOND_NS / 1e3}
#: The probe whose readings may be negative: a clock may be set back.
SIGNED = "clock"
SERVER = "server"

#: How badly, in words that other trials may share, and a trial's own numbers.
_Fault = tuple[Soundness, str, str]


class Counters:
    """Every account of a trial against every other, and each number against the possible."""

    summary = "counts, histograms and seconds agree to the last event; no counter wrapped or jumped"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each fault, with all the trials that share it; else one that is sound."""
        run, trials = view.run, view.trials
        played = [trial for trial in trials if trial.status == "ok"]
        cores = int(run.host.get("cores", "0"))
        seen: dict[tuple[Soundness, str], dict[int, str]] = {}
        for trial in played:
            for record in trial.phases:
                where = f"{trial.workload} on {trial.candidate}, {record.phase}"
                for soundness, words, numbers in (
                    *_check_streams(record),
                    *_check_readings(record, cores),
                ):
                    fault = soundness, where + words
                    seen.setdefault(fault, {}).setdefault(trial.number, numbers)
        if not played:
            return [Finding("counters", "not checked", "no trial ended well")]
        found = [_make_finding(*fault, numbers) for fault, numbers in seen.items()]
        counted = [trial for trial in played if _has_counts(trial)]
        sound = f"the counts of {len(counted)} trials add up" if counted else ""
        unchecked = [
            Unchecked("no event was counted", f"{trial.workload} on {trial.candidate}")
            for trial in played
            if trial not in counted
        ]
        return conclude("counters", found, sound, [*unchecked, *_find_unread(played)])


def _has_counts(trial: Trial) -> bool:
    return any(tally.intended or tally.warmup for each in trial.phases for tally in each.streams)


def _find_unread(played: Sequence[Trial]) -> Iterator[Unchecked]:
    """What a server was asked for and did not tell. Audits `server_count` and `cpu_samples` tell of
    their own.
    """
    for trial in played:
        for record in trial.phases:
            for probe, why in record.unread.items():
                if probe not in (SERVER, PROFILE):
                    words = f"the numbers of the probe `{probe}` could not be read: {why}"
                    yield Unchecked(words, f"{trial.workload} on {trial.candidate}, {record.phase}")


def _make_finding(soundness: Soundness, words: str, seen: dict[int, str]) -> Finding:
    """One finding for the trials that share a fault, with the numbers of the first."""
    first, numbers = next(iter(seen.items()))
    return Finding("counters", soundness, f"{words} (trial {first}: {numbers})", tuple(seen))


def _check_streams(record: PhaseRecord) -> Iterator[_Fault]:
    for tally in record.streams:
        for words, numbers in _check_accounts(tally):
            yield "invalid", f"/{tally.name}: {words}", numbers


def _check_accounts(tally: Tally) -> Iterator[tuple[str, str]]:
    parts = tally.done + tally.failed + tally.skipped
    if tally.intended != parts:
        yield "events are missing", f"{tally.intended} intended, {parts} accounted for"
    accounts = {"histogram": (tally.latency.count, tally.done + tally.cut)}
    accounts["seconds"] = sum(tally.series.done), tally.done
    accounts["seconds of failures"] = sum(tally.series.failed), tally.failed
    accounts["lateness"] = tally.lateness.count, tally.done + tally.failed
    if tally.transactions:
        accounts["types"] = sum(each.count for each in tally.transactions.values()), tally.done
    for name, (count, expected) in accounts.items():
        if count != expected:
            yield f"the stream's {name} and its count differ", f"{count} and {expected} events"


def _check_readings(record: PhaseRecord, cores: int) -> Iterator[_Fault]:
    for reading in record.readings:
        if wrong := _describe_impossible(reading):
            numbers = f"{reading.value:,.0f} {reading.unit}"
            yield "doubtful", f": the counter '{reading.name}' {wrong}", numbers
    most_ns = cores * (2 * record.own_time_ns + SECOND_NS)
    for name, spent_ns in _sum_spent_ns(record).items():
        if spent_ns > most_ns > 0:
            numbers = f"{spent_ns / SECOND_NS:.0f} s on {cores} cores"
            yield "doubtful", f": {name} spent more CPU time than there was", numbers


def _describe_impossible(reading: Reading) -> str:
    if not math.isfinite(reading.value):
        return "is not a number"
    if reading.probe != SIGNED and reading.value < -MAY_FALL.get(reading.unit, 0.0):
        return "fell over the phase: it wrapped or began anew"
    return ""


def _sum_spent_ns(record: PhaseRecord) -> dict[str, float]:
    spent = {r.name: 1e3 * r.value for r in record.readings if r.name == "server_cpu_us"}
    driver_ns = record.usage.user_ns + record.usage.system_ns
    return {"the server": spent.get("server_cpu_us", 0.0), "the driver": float(driver_ns)}


AUDIT = Counters()
