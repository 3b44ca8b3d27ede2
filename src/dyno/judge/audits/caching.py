"""Audit `caching`: were the data in memory, or on storage, as the candidate's profile claims?

`profile=cached` claims that the engine's own cache holds the data; `profile=io-bound` that it does
not, and that reads therefore reach the storage. An engine without profiles claims nothing.

- Data larger than the cache under `cached`, or smaller under `io-bound`: doubtful.
- `cached`, and a phase fetched from storage more than a twentieth of the data and 8 MB (system
  files, the first touch of a page after a load was copied): doubtful, since a cold start or a small
  cache was measured. Where no later phase does so, it was a cold start, and the finding says so:
  an engine may have dropped from its cache, or from the kernel's, what it had just written (an
  index), and a server that begins on a copied load has all still to read where it passes the
  kernel's cache by (InnoDB's O_DIRECT). Where no phase follows, either may be. The control
  `preload` reads all back before each phase.
- `io-bound` with data larger than the cache, and a phase that reads rows fetched less than a
  thousandth of them: doubtful, since the kernel's page cache held all. What was compared stands, a
  cache that is too small, but no storage was.

Bytes are what the kernel fetched for the engine's processes (probe `process`): data, and also log
or temporary files; what comes out of the kernel's page cache is not among them. Only phases with a
primary metric are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    KEEPS_NOTHING,
    Case,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    find_records,
    keeps_data,
    list_cases,
)
from dyno.record import DataCondition, Finding, PhaseRecord

CACHED_SHARE = 1 / 20
SYSTEM_BYTES = 8 << 20
IO_BOUND_SHARE = 1 / 1000


class Caching:
    """Data and cache by size; bytes fetched from storage in each judged phase."""

    summary = "data are cached, or on storage, as the profile claims"

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each candidate and phase that does not do as claimed; else a sound one."""
        run, trials = view.run, view.trials
        judged, findings = 0, []
        unjudged: list[Unjudged] = []
        for case in list_cases(run, trials):
            told = [t.conditions.data for t in case.played if t.conditions.data]
            claims = [data for data in told if data.claim and data.size_bytes is not None]
            unjudged += _list_unjudged(case, told, claims)
            if not claims:
                continue
            judged += 1
            findings += [
                case.make_finding("caching", "doubtful", each)
                for each in _find_faults(case, claims)
            ]
        words = f"{judged} cases are as their profiles claim" if judged else ""
        return conclude("caching", findings, words, unjudged)


def _list_unjudged(
    case: Case, told: Sequence[DataCondition], claims: Sequence[DataCondition]
) -> Iterator[Unjudged]:
    if not keeps_data(case.candidate):
        yield Inapplicable(KEEPS_NOTHING, case.name)
    elif told and not any(data.claim for data in told):
        yield Inapplicable("no profile claims it", case.name)
    elif not claims:
        yield Unchecked("the engine does not tell how much data it holds", case.name)
    elif _compute_fetched_bytes(case.records) is None:
        yield Unchecked("what was fetched from storage is not known", case.name)


def _find_faults(case: Case, claims: list[DataCondition]) -> Iterator[str]:
    claim, cache = claims[-1].claim, claims[-1].cache_bytes or 0
    held = median(data.size_bytes or 0 for data in claims)
    sizes = f"{held / 1e6:.0f} MB of data, a cache of {cache / 1e6:.0f} MB"
    if cache and claim == "cached" and held > cache:
        yield f"claims to be cached, with {sizes}"
    if cache and claim == "io-bound" and held < cache:
        yield f"claims to be io-bound, with {sizes}"
        return
    fetched = _compute_fetched_bytes(case.records)
    if fetched is None:
        return
    words = f"fetched {fetched / 1e6:.1f} MB from storage of {held / 1e6:.0f} MB of data"
    allowed = max(SYSTEM_BYTES, CACHED_SHARE * held)
    if claim == "cached" and fetched > allowed:
        yield f"claims to be cached, and {words}{_describe_cold_start(case, allowed)}"
    if claim == "io-bound" and _is_reading(case) and fetched < IO_BOUND_SHARE * held:
        yield f"claims to be io-bound, and {words}: the kernel's page cache held them"


def _describe_cold_start(case: Case, allowed: float) -> str:
    """What a finding adds where later phases found in the cache what this one had to fetch."""
    last = case.played[-1]
    names = [record.phase for record in last.phases]
    later = [
        _compute_fetched_bytes(find_records(case.played, name))
        for name in names[names.index(case.phase) + 1 :]
    ]
    known = [fetched for fetched in later if fetched is not None]
    preload = last.conditions.controls.get("preload")
    remedy = "" if preload and preload.set else "; preload=on begins warm"
    if not known:
        return ": a cold start, or a small cache" + remedy if remedy else ""
    if (most := max(known)) > allowed:
        return ""
    return f": a cold start, for no later phase fetched more than {most / 1e6:.1f} MB{remedy}"


def _compute_fetched_bytes(played: Sequence[PhaseRecord]) -> float | None:
    """The median over the restarts of the bytes read from storage; None where nobody knows."""
    found = [
        reading.value
        for record in played
        for reading in record.readings
        if reading.name == "read_bytes"
    ]
    return median(found) if found else None


def _is_reading(case: Case) -> bool:
    return any(tally.rows_read for record in case.records for tally in record.streams)


AUDIT = Caching()
