"""Audit `unlike_conditions`: were the candidates held alike, but for what is compared?

A server that runs already, on any core and with 128 MB of memory, beside one that was started on a
core of its own with 1 GB: whatever comes of it, the builds did not make it alone. A candidate is
doubtful, with the list, where it differs from the base in one of these and nobody asked for it:

- one runs already, the other is started anew for each trial;
- the engine's cores; and any other control that holds for one and could not for the other. Between
  an embedded engine and a server these differ by nature, and are not held against them;
- the engine's own cache, where the data do not fit into both, or nobody knows whether they do;
- what a commit survives, which is what it waits for;
- one began with data just loaded, the other with a copy of a load; only one was preloaded; beside
  a server that runs already: only one fetched its data from storage (a twentieth and 8 MB of it);
- others' work: CPU time that was not ours, apart by 3 % of all there was, to one side in every
  block (five or more). Others do not know whose turn it is, so it may well be the engine's own.
  *Not checked* where trials are interleaved: others' work was then counted over a time that all
  share.

Settings that one engine was asked for differ on purpose, but not beside a server that runs already:
nobody asked that one. What is on no record (another host's cores, memory, neighbours) is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from dyno.judge.analysis.blocks import SHARED, compute_noise_shares
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import Unchecked, conclude
from dyno.record import Candidate, Conditions, DataCondition, Finding, Trial

FOREIGN_PERCENT, FOREIGN_BLOCKS = 3.0, 5
FETCHED_SHARE, SYSTEM_BYTES = 1 / 20, 8 << 20
_NO_DATA = DataCondition()
OTHERS = "others' work"
#: What is compared, where it is known.
KNOWN = ("placement", "memory", "flushes", "files", OTHERS)


@dataclass(frozen=True)
class Side:
    """A candidate and its good trials of valid blocks, in the order of their blocks."""

    candidate: Candidate
    trials: tuple[Trial, ...]

    @property
    def name(self) -> str:
        """The candidate's."""
        return self.candidate.name

    @property
    def last(self) -> Conditions:
        """The conditions of its last trial."""
        return self.trials[-1].conditions

    @property
    def data(self) -> DataCondition:
        """What it holds, as far as it is known."""
        return self.last.data or _NO_DATA


class UnlikeConditions:
    """Each candidate's conditions beside the base's."""

    summary = (
        "candidates ran under like conditions: placement, memory, flushes, files, others' work"
    )

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate that was not held as the base was; else a sound one."""
        sides = [_make_side(candidate, view.trials) for candidate in view.run.candidates]
        base = next((s for s in sides if s.name == view.run.design.base and s.trials), None)
        if base is None:
            why = "the base has no trial to compare with"
            return [Finding("unlike_conditions", "not checked", why)]
        interleaved = view.run.design.interleaving is not None
        aspects = ASPECTS if interleaved else (*ASPECTS, _compare_others)
        findings, unknown = [], {OTHERS: SHARED} if interleaved else {}
        for side in (s for s in sides if s.trials and s is not base):
            unknown = dict(_list_unknown(base, side)) | unknown
            if told := [clause for differs in aspects if (clause := differs(base, side))]:
                words = f"{side.name} and {base.name} differ in conditions: {'; '.join(told)}"
                meant = tuple(trial.number for trial in side.trials)
                findings.append(Finding("unlike_conditions", "doubtful", words, meant))
        known = ", ".join(each for each in KNOWN if each not in unknown)
        alike = (
            f"{sum(bool(it.trials) for it in sides)} candidates ran under like conditions: {known}"
        )
        idle = [side.name for side in sides if not side.trials]
        unchecked = [Unchecked("no trial ended well", name) for name in idle]
        checked = len(idle) < len(sides) - 1
        unchecked += [Unchecked(why, each) for each, why in unknown.items() if checked]
        return conclude(
            "unlike_conditions", findings, alike if checked and known else "", unchecked
        )


def _list_unknown(base: Side, side: Side) -> Iterator[tuple[str, str]]:
    """What is not known of both, so that it cannot be compared, and why."""
    both = (base, side)
    if any(each.last == Conditions() for each in both):
        yield from ((each, "trials do not tell it") for each in ("placement", "files"))
    if not all(each.data.cache_bytes for each in both):
        yield "memory", "not every engine tells its cache"
    if not all(each.data.survives for each in both):
        yield "flushes", "not every engine tells what a commit survives"
    if len(set(_compute_foreign(base)) & set(_compute_foreign(side))) < FOREIGN_BLOCKS:
        yield OTHERS, f"known in fewer than {FOREIGN_BLOCKS} blocks"


def _make_side(candidate: Candidate, trials: Sequence[Trial]) -> Side:
    own = (t for t in trials if t.status == "ok" and t.candidate == candidate.name and t.block >= 0)
    return Side(candidate, tuple(sorted(own, key=lambda trial: (trial.workload, trial.block))))


def _is_asked(base: Side, side: Side) -> bool:
    """Were their settings asked to differ? Nobody asked a server that runs already."""
    one, other = base.candidate, side.candidate
    ours = not (one.attached or other.attached)
    return ours and one.engine == other.engine and one.settings != other.settings


def _compare_age(base: Side, side: Side) -> str:
    if base.candidate.attached == side.candidate.attached:
        return ""
    old, new = (base, side) if base.candidate.attached else (side, base)
    return f"{old.name} runs already, {new.name} is started anew for each trial"


def _compare_placement(base: Side, side: Side) -> str:
    one, other = base.candidate, side.candidate
    asked = one.controls.get("pinning") != other.controls.get("pinning")
    if asked or one.embedded != other.embedded:
        return ""
    cores = {each.name: each.last.engine_cores for each in (base, side)}
    if len(set(cores.values())) == 1:
        return ""
    return ", ".join(f"{name} {_format_cores(found)}" for name, found in cores.items())


def _format_cores(cores: Sequence[int]) -> str:
    return f"on core {','.join(map(str, cores))}" if cores else "on any core (not pinned)"


def _compare_controls(base: Side, side: Side) -> str:
    """The controls that hold for one side and could not in any trial of the other."""
    if base.candidate.embedded != side.candidate.embedded:
        return ""
    refused = [_find_refused(each) for each in (base, side)]
    both = (set(base.last.controls) & set(side.last.controls)) - {"pinning"}
    told = []
    for name in sorted((set(refused[0]) ^ set(refused[1])) & both):
        lacks, why = (base, refused[0]) if name in refused[0] else (side, refused[1])
        if base.last.controls[name].value == side.last.controls[name].value:
            told.append(f"{name} not held for {lacks.name} alone ({why[name]})")
    return ", ".join(told)


def _find_refused(side: Side) -> dict[str, str]:
    """The controls that could not be held in any of its trials, with the reason."""
    every = [trial.conditions.controls for trial in side.trials]
    return {
        name: held.refused
        for name, held in every[-1].items()
        if all(name in each and each[name].refused for each in every)
    }


def _compare_memory(base: Side, side: Side) -> str:
    caches = {each.name: each.data.cache_bytes for each in (base, side)}
    known = [size for size in caches.values() if size]
    if len(known) < 2 or known[0] == known[1] or _is_asked(base, side):
        return ""
    sizes = [each.data.size_bytes for each in (base, side)]
    if all(size is not None and size <= min(known) for size in sizes):
        return ""
    return ", ".join(f"{name} has a cache of {(c or 0) / 1e6:.0f} MB" for name, c in caches.items())


def _flush(base: Side, side: Side) -> str:
    kept = {each.name: each.data.survives for each in (base, side)}
    if not all(kept.values()) or len(set(kept.values())) == 1 or _is_asked(base, side):
        return ""
    return "a commit survives " + ", ".join(f"{what} on {name}" for name, what in kept.items())


def _compare_files(base: Side, side: Side) -> str:
    told = []
    copied = {each.name: any(t.conditions.load_name for t in each.trials) for each in (base, side)}
    if len(set(copied.values())) == 2:
        words = ("with data just loaded", "with a copy of a load")
        told.append(", ".join(f"{name} began {words[kept]}" for name, kept in copied.items()))
    filled = [each for each in (base, side) if _is_preloaded(each)]
    asked = base.candidate.controls.get("preload") != side.candidate.controls.get("preload")
    if len(filled) == 1 and not asked:
        told.append(f"only {filled[0].name} was preloaded")
    if base.candidate.attached or side.candidate.attached:
        cold = [each for each in (base, side) if _is_cold(each)]
        told += [f"only {cold[0].name} fetched its data from storage"] if len(cold) == 1 else []
    return "; ".join(told)


def _is_preloaded(side: Side) -> bool:
    control = side.last.controls.get("preload")
    return bool(control and control.set)


def _is_cold(side: Side) -> bool:
    """Did some phase fetch more than system files take, in the median of the restarts?"""
    fetched: dict[str, list[float]] = {}
    for trial in side.trials:
        for record in trial.phases:
            for reading in record.readings:
                if reading.name == "read_bytes":
                    fetched.setdefault(record.phase, []).append(reading.value)
    least = max(SYSTEM_BYTES, FETCHED_SHARE * (side.data.size_bytes or 0))
    return any(median(values) > least for values in fetched.values())


def _compare_others(base: Side, side: Side) -> str:
    """Others' CPU time beside either, block by block."""
    shares = [_compute_foreign(each) for each in (base, side)]
    both = sorted(set(shares[0]) & set(shares[1]))
    apart = [shares[1][key] - shares[0][key] for key in both]
    same_way = all(each > 0 for each in apart) or all(each < 0 for each in apart)
    if len(both) < FOREIGN_BLOCKS or not same_way or abs(median(apart)) < FOREIGN_PERCENT:
        return ""
    beside = (
        f"{median(own[key] for key in both):.0f} % beside {each.name}"
        for each, own in zip((base, side), shares, strict=True)
    )
    return f"others used {' and '.join(beside)} of the CPU"


def _compute_foreign(side: Side) -> dict[tuple[str, int], float]:
    """(workload, block) to the share of CPU time that was not ours, where that is known."""
    found = {}
    for trial in side.trials:
        names = [record.phase for record in trial.phases]
        share = compute_noise_shares(trial, names).get("foreign_percent")
        if share is not None:
            found[trial.workload, trial.block] = share
    return found


ASPECTS: tuple[Callable[[Side, Side], str], ...] = (
    *(_compare_age, _compare_placement, _compare_controls, _compare_memory, _flush, _compare_files),
)
AUDIT = UnlikeConditions()
