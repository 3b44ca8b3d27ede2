"""One record of those that several drivers told of a phase, and what each host's part in it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from dyno.driver.events import ClientPhase, End, Progress, StreamProgress, WrittenKey, WrittenKeys
from dyno.driver.questions import merge_phases
from dyno.record import PhaseRecord, decode
from dyno.record.clients import ClientHost, ClientPart, ClockOffset

#: What a record tells by the host's own clock.
TIMES = ("started_ns", "measured_ns", "ended_ns")


@dataclass(frozen=True)
class ToldPart:
    """A host's record of a phase as its driver `told` it, what it said of itself, and its clock
    before and after; `is_shared`: the host's machine has others of the run on it.
    """

    host: ClientHost
    told: dict[str, Any]
    about: ClientPhase
    clock: ClockOffset
    clock_after: ClockOffset
    is_shared: bool

    def describe(self) -> ClientPart:
        """The host's part, as a record keeps it."""
        record, about = decode.decode(PhaseRecord, self.told), self.about
        length_ns = max(1, record.ended_ns - record.started_ns)
        cpu_ns = record.usage.user_ns + record.usage.system_ns
        cores_ns = length_ns * (about.cores or 1)
        stolen, foreign = about.host_stolen_ns, None
        if about.host_busy_ns is not None and not self.is_shared:
            foreign = _compute_percent(about.host_busy_ns - cpu_ns, cores_ns)
        return ClientPart(
            host=self.host.name,
            users=about.users,
            threads=about.threads,
            began_ns=about.first_began_ns - self.clock.offset_ns,
            last_began_ns=about.last_began_ns - self.clock.offset_ns,
            clock=self.clock,
            clock_after=self.clock_after,
            cpu_ns=cpu_ns,
            done={tally.name: tally.done for tally in record.streams},
            failed={tally.name: tally.failed for tally in record.streams},
            busiest_percent=_compute_percent(about.busiest_ns, length_ns),
            waited_percent=_compute_percent(about.waited_ns_max, length_ns),
            stolen_percent=None if stolen is None else _compute_percent(stolen, cores_ns),
            foreign_percent=foreign,
        )


def _compute_percent(part_ns: int, whole_ns: int) -> float:
    return min(100.0, max(0.0, 100 * part_ns / whole_ns))


def merge_records(parts: Sequence[ToldPart]) -> PhaseRecord:
    """The phase as all hosts together played it, by our clock, with the part of each."""
    translated = [
        part.told | {name: part.told[name] - part.clock.offset_ns for name in TIMES}
        for part in parts
    ]
    merged = merge_phases(translated) if len(parts) > 1 else translated[0]
    record = decode.decode(PhaseRecord, merged)
    return replace(record, clients=tuple(part.describe() for part in parts))


def merge_progress(latest: Sequence[Progress]) -> Progress:
    """How a phase goes on all hosts together."""
    names = [stream.name for stream in latest[0].streams]
    by_name = {
        name: [s for each in latest for s in each.streams if s.name == name] for name in names
    }
    streams = tuple(
        StreamProgress(
            name,
            sum(each.done for each in found),
            sum(each.failed for each in found),
            sum(each.rate_per_s for each in found),
            max(each.latency_ns_max for each in found),
        )
        for name, found in by_name.items()
    )
    return Progress(latest[0].phase, max(each.elapsed_s for each in latest), streams)


def merge_ends(ends: Iterable[End]) -> End:
    """What the scripts on all hosts counted, and what they wrote last."""
    all_ends = list(ends)
    counters: dict[str, int] = {}
    for end in all_ends:
        for name, count in end.counters.items():
            counters[name] = counters.get(name, 0) + count
    examples = {each.digest: each for end in reversed(all_ends) for each in end.examples}
    return End(counters, _merge_written(all_ends), tuple(examples.values()))


def _merge_written(ends: Sequence[End]) -> tuple[WrittenKeys, ...]:
    """Of a key that several hosts wrote any host's last value may be the last; one that is unknown
    to a host that wrote it is unknown.
    """
    found: dict[str, dict[int, list[WrittenKey]]] = {}
    for written in (each for end in ends for each in end.written):
        for key in written.keys:
            found.setdefault(written.name, {}).setdefault(key.key, []).append(key)
    return tuple(
        WrittenKeys(
            name,
            tuple(
                WrittenKey(
                    key,
                    tuple(dict.fromkeys(d for each in told for d in each.digests))
                    if all(each.digests for each in told)
                    else (),
                )
                for key, told in keys.items()
            ),
        )
        for name, keys in found.items()
    )
