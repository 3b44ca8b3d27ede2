"""Which blocks count: valid, dropped, or failed; decided without looking at a result.

A block of a workload is valid if every candidate has a good trial in its latest attempt, the host
was calm, and nobody stood still who must not. Noise is the largest share over the block's trials,
each share taken over all the phases that are compared, so a short phase weighs little (METHOD.md,
Which blocks count). Where loads of the data come again, the blocks that share theirs are one datum
(`group_dependent_blocks`).

What a candidate lost of its own time is missing in its rate, and in its latencies. A block is
dropped where that is more than half the smallest margin of the workload. Who may stand still:

- **Dyno**, where it suspends engines: its switches came late, so that one engine had the time of
  another (`Switches`).
- **A driver**: no thread of it ran in its own time (`stood_still_ns`).
- **The host**: all of them at once, as where a virtual machine is paused; or it was suspended, of
  which CLOCK_MONOTONIC knows nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dyno.judge.analysis.effects import find_margin_percent
from dyno.record import Dropped, PhaseRecord, Run, Standstill, Trial, WorkloadPlan

#: Of the margin: the share of a candidate's own time that may be lost.
MARGIN_SHARE = 0.5
#: Two clocks are read within microseconds.
SUSPENDED_NS = 1e6
LIMIT = "standstill_percent"


def find_limit_percent(run: Run, workload: WorkloadPlan) -> float:
    """What may be lost of a candidate's own time."""
    return MARGIN_SHARE * find_margin_percent(run, workload)


def find_standstill(
    run: Run, block: Sequence[Trial], workload: WorkloadPlan
) -> tuple[Standstill, float] | None:
    """Who stood still in a workload's phases in a block, and what percentage of its own time a
    candidate lost by that at the most; None where nobody did for long enough.
    """
    records = [
        (t, record) for t in block for record in t.phases if record.phase in workload.phase_names
    ]
    suspended_ns = max((_sum_suspended_ns(record) for _, record in records), default=0.0)
    if suspended_ns > SUSPENDED_NS:
        return Standstill("the host", suspended_ns / 1e9), 100.0
    most = find_limit_percent(run, workload)
    switched = [
        each for each in records if _compute_percent(each[1], _sum_switched_ns(each[1])) > most
    ]
    stopped = [each for each in records if _compute_percent(each[1], each[1].stood_still_ns) > most]
    if not switched and not stopped:
        return None
    lost = (max(_sum_switched_ns(record), record.stood_still_ns) for _, record in records)
    percents = (_compute_percent(record, ns) for (_, record), ns in zip(records, lost, strict=True))
    return Standstill(
        _name_standing(block, switched, stopped), _find_longest_s(switched or stopped)
    ), max(percents)


_Played = Sequence[tuple[Trial, PhaseRecord]]


def _name_standing(block: Sequence[Trial], switched: _Played, stopped: _Played) -> str:
    """Where turns are taken all drivers play at once, and stand still together with their host."""
    sides = {trial.candidate for trial, _ in stopped}
    interleaved = any(record.own_ns is not None for _, record in stopped)
    if interleaved and len(sides) == len({trial.candidate for trial in block}) > 1:
        return "the host"
    return "Dyno" if switched else f"the driver of {' and of '.join(sorted(sides))}"


def _find_longest_s(found: _Played) -> float:
    """The longest standstill in the records."""
    late = (record.switches.late_ns_max for _, record in found if record.switches)
    return max(*late, *(record.stood_still_ns_max for _, record in found), 0) / 1e9


def _sum_switched_ns(record: PhaseRecord) -> int:
    return record.switches.lost_ns if record.switches else 0


def _compute_percent(record: PhaseRecord, lost_ns: int) -> float:
    """Of the time that was measured; a standstill in the warm-up is counted, too."""
    own_ns = record.duration_s * 1e9
    return 100.0 * lost_ns / own_ns if own_ns > 0 else 0.0


def _sum_suspended_ns(record: PhaseRecord) -> float:
    found = (r.value for r in record.readings if (r.probe, r.name) == ("clock", "suspended_ns"))
    return next(found, 0.0)


@dataclass
class Blocks:
    """The blocks of one workload, in order of play.

    `valid` holds each block's trials by candidate; `dropped` and `failed` are by a block's number.
    A torn block is in none of them: it will be played anew.
    """

    valid: list[dict[str, Trial]] = field(default_factory=list)
    dropped: dict[int, Dropped] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)

    @property
    def played(self) -> int:
        """How many blocks are over, whatever came of them."""
        return len(self.valid) + len(self.dropped) + len(self.failed)

    @property
    def trial_numbers(self) -> set[int]:
        """The numbers of the trials in valid blocks."""
        return {trial.number for block in self.valid for trial in block.values()}

    @property
    def often_broken(self) -> list[Dropped]:
        """The blocks that the limit took which took most; at least one block was dropped."""
        often = Counter(each.limit for each in self.dropped.values()).most_common(1)[0][0]
        return [each for each in self.dropped.values() if each.limit == often]


def sort_blocks(run: Run, workload: WorkloadPlan, trials: Sequence[Trial]) -> Blocks:
    """The blocks of `workload`, each judged by its latest attempt."""
    names = {candidate.name for candidate in run.candidates}
    found = Blocks()
    for number, block in sorted(find_latest_attempts(workload.name, trials).items()):
        lost = [trial for trial in block if trial.status == "failed"]
        good = {trial.candidate: trial for trial in block if trial.status == "ok"}
        if lost:
            found.failed[number] = f"{lost[-1].candidate} failed: {lost[-1].why_failed}"
        elif names <= set(good):
            if dropped := _find_drop(run, workload, number, block):
                found.dropped[number] = dropped
            else:
                found.valid.append(good)
    return found


def join_blocks(found: Sequence[Blocks]) -> Blocks:
    """The blocks of a workload that several shares played; no two of them have the same number."""
    joined = Blocks()
    for each in found:
        joined.valid += each.valid
        joined.dropped |= each.dropped
        joined.failed |= each.failed
    return joined


def find_latest_attempts(workload: str, trials: Sequence[Trial]) -> dict[int, list[Trial]]:
    """The trials of each block's latest attempt, by block; the client-only baseline (block -1)
    is none.
    """
    blocks: dict[int, list[Trial]] = defaultdict(list)
    for trial in trials:
        if trial.workload == workload and trial.block >= 0:
            blocks[trial.block].append(trial)
    last = {number: max(t.attempt for t in block) for number, block in blocks.items()}
    return {n: [t for t in block if t.attempt == last[n]] for n, block in blocks.items()}


def _find_drop(
    run: Run, workload: WorkloadPlan, number: int, block: Sequence[Trial]
) -> Dropped | None:
    """Why the block does not count: the first limit that it breaks, or that somebody stood still.
    Where others take all cores Dyno may get none, and they are why. By CPU time standing still
    costs nobody anything.
    """
    seen = [compute_noise_shares(trial, workload.phase_names) for trial in block]
    for limit, most in sorted(run.design.limits.items()):
        worst = max((share.get(limit, 0.0) for share in seen), default=0.0)
        if worst > most:
            return Dropped(workload.name, number, limit, worst, most)
    if run.design.by == "time" and (found := find_standstill(run, block, workload)):
        who, percent = found
        return Dropped(
            workload.name, number, LIMIT, percent, find_limit_percent(run, workload), who
        )
    return None


def group_dependent_blocks(
    blocks: Sequence[dict[str, Trial]], sides: Sequence[str]
) -> tuple[int, ...] | None:
    """A number for each block, the same for those that are one datum together: they share their
    host, where several played (docs/decisions/0031), else their loads.

    None where every trial loaded anew, or where all sides began with the very same load, whose
    luck then cancels.
    """
    hosts = list_hosts(blocks)
    if len(set(hosts)) > 1:
        numbers = {host: number for number, host in enumerate(dict.fromkeys(hosts))}
        return tuple(numbers[host] for host in hosts)
    found = [tuple(block[side].conditions.load_name for side in sides) for block in blocks]
    if all(len(set(loads)) == 1 for loads in found):
        return None
    places = {loads: number for number, loads in enumerate(dict.fromkeys(found))}
    return tuple(places[loads] for loads in found)


@dataclass(frozen=True)
class HostBlocks:
    """The blocks of one host among those of a comparison: their places, and the groups of those
    that share their loads (None: none do).
    """

    host: str
    places: tuple[int, ...]
    groups: tuple[int, ...] | None


def split_by_host(
    blocks: Sequence[dict[str, Trial]], sides: Sequence[str]
) -> tuple[HostBlocks, ...]:
    """The blocks of each host; none in a run that was not gathered."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, host in enumerate(list_hosts(blocks)):
        places[host].append(place)
    return tuple(
        HostBlocks(
            host, tuple(own), group_dependent_blocks([blocks[place] for place in own], sides)
        )
        for host, own in places.items()
        if host
    )


def align_blocks(
    found: Mapping[str, Sequence[dict[str, Trial]]],
) -> dict[str, list[dict[str, Trial]]]:
    """As many blocks of each workload, so that their nth ones can be taken together: where they
    share hosts, as many of each of these, in one order; else the first ones.
    """
    hosts = {name: list_hosts(blocks) for name, blocks in found.items()}
    shared = set.intersection(*(set(own) for own in hosts.values())) if hosts else set()
    if not shared:
        least = min(map(len, found.values()), default=0)
        return {name: list(blocks[:least]) for name, blocks in found.items()}
    most = {host: min(own.count(host) for own in hosts.values()) for host in sorted(shared)}
    return {
        name: [
            block
            for host, count in most.items()
            for block in [it for it, its in zip(blocks, hosts[name], strict=True) if its == host][
                :count
            ]
        ]
        for name, blocks in found.items()
    }


def list_hosts(blocks: Sequence[dict[str, Trial]]) -> tuple[str, ...]:
    """The host of each block; empty words in a run that was not gathered."""
    return tuple(next(iter(block.values())).host for block in blocks)


#: The probe whose counters these are.
HOST = "host"
PLACED = "placed_"
ALL_NS = ("steal_ns", "busy_ns", "idle_ns")


#: Why nobody knows what others did beside one side alone where trials are interleaved: the probe
#: counts over the whole of a phase, in which all sides have their slices.
SHARED = "trials were interleaved, so what others had beside one side alone was not sampled"


def sum_counter_gains(trial: Trial, phases: Collection[str]) -> dict[str, float]:
    """What the probe's counters gained over the trial's `phases`, summed."""
    sums: dict[str, float] = defaultdict(float)
    for record in trial.phases:
        for reading in record.readings:
            if reading.probe == HOST and record.phase in phases:
                sums[reading.name] += reading.value
    return sums


def compute_noise_shares(trial: Trial, phases: Collection[str]) -> dict[str, float]:
    """Steal and foreign CPU in percent of the CPU time, by the name of the limit on it.

    Nobody is foreign where it is not known whose work is ours: beside a server that runs already.
    """
    return compute_shares(sum_counter_gains(trial, phases))


def compute_shares(sums: Mapping[str, float]) -> dict[str, float]:
    """The same of what the probe's counters gained: the larger of the share of all cores and of
    that of the cores which driver and engine are held to, where they are held to some.
    """
    total = sum(sums.get(name, 0.0) for name in ALL_NS)
    found = _divide(sums, "", total)
    placed = _divide(sums, PLACED, sums.get(f"{PLACED}total_ns", 0.0))
    return {name: max(share, placed.get(name, 0.0)) for name, share in found.items()}


def _divide(sums: Mapping[str, float], of: str, total: float) -> dict[str, float]:
    if total <= 0.0:
        return {}
    steal = 100.0 * sums[f"{of}steal_ns"] / total
    if "own_ns" not in sums:
        return {"steal_percent": steal}
    foreign = max(0.0, sums[f"{of}busy_ns"] - sums["own_ns"])
    return {"steal_percent": steal, "foreign_percent": 100.0 * foreign / total}


def compute_foreign_ns(sums: Mapping[str, float]) -> float:
    """CPU time of processes that are not ours, on the cores that driver and engine are held to, or
    on all.
    """
    of = PLACED if f"{PLACED}total_ns" in sums else ""
    return max(0.0, sums.get(f"{of}busy_ns", 0.0) - sums.get("own_ns", 0.0))


def is_calm(trial: Trial, limits: Mapping[str, float]) -> bool:
    """Was no noise limit broken over the whole trial?"""
    shares = compute_noise_shares(trial, {record.phase for record in trial.phases})
    return all(share <= limits.get(name, share) for name, share in shares.items())
