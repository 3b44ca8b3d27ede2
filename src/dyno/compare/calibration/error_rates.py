"""The error rates that a run quotes: stored entries added up, and why they are stale if so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from dyno.compare.calibration import store
from dyno.compare.calibration.store import (
    DOSE_RESPONSE,
    METHOD,
    CalibrationEntry,
    instrument,
)
from dyno.judge.stats.simulate import compute_clopper_pearson
from dyno.record import Calibration, Score
from dyno.record.host import RELEVANT, select_facts
from dyno.runs.resolve.draft import RunDraft

#: Hosts drift: kernels are patched in place, disks fill, neighbours move in.
AGE_DAYS_MAX = 90


def find_error_rates(host: Mapping[str, str], now: datetime | None = None) -> Calibration | None:
    """What is known on this host at `now`: what was found with the host and the method as they
    are; where that is nothing, what was found last, and why it is stale.
    """
    stored = store.read_store(store.find_store(host))
    found = [each for each in stored.entries if each.kind != DOSE_RESPONSE]
    if not found:
        return None
    current = [each for each in found if each.host == select_facts(host) and each.method == METHOD]
    last = current[-1] if current else found[-1]
    chosen = [each for each in found if (each.host, each.method) == (last.host, last.method)]
    return Calibration(
        host=last.host,
        dyno=last.dyno,
        method=last.method,
        first_utc=chosen[0].utc,
        last_utc=last.utc,
        scores=compute_scores(chosen),
        stale=tuple(_explain_stale(last, select_facts(host), now or datetime.now(UTC))),
        passed_over=stored.passed_over,
    )


def quote_error_rates(draft: RunDraft) -> None:
    """Notes in `draft` what is known of the method's errors on its host and driver."""
    known = find_error_rates(instrument(draft.run.host, draft.run.driver_sha256))
    draft.change(calibration=known)


def _explain_stale(last: CalibrationEntry, host: Mapping[str, str], now: datetime) -> Iterable[str]:
    for name in RELEVANT:
        was, found = last.host.get(name, ""), host.get(name, "")
        if was != found:
            yield f"{name.replace('_', ' ')} was '{was}' and is '{found}'"
    if last.method != METHOD:
        yield f"the method was version {last.method} and is {METHOD}"
    days = (now - datetime.fromisoformat(last.utc)).days
    if days > AGE_DAYS_MAX:
        yield f"it is {days} days old"


def compute_scores(entries: Sequence[CalibrationEntry]) -> tuple[Score, ...]:
    """Entries of one kind, engine, size and settings added up, in the order of their first."""
    groups: dict[tuple[object, ...], list[CalibrationEntry]] = defaultdict(list)
    for each in entries:
        same = (each.kind, each.engine, each.what, each.effect_percent)
        groups[*same, *sorted(each.settings.items())].append(each)
    return tuple(_compute_score(group) for group in groups.values())


def _compute_score(group: Sequence[CalibrationEntry]) -> Score:
    first, words = group[0], defaultdict[str, int](int)
    for each in group:
        for word, count in each.words.items():
            words[word] += count
    comparisons = sum(words.values())
    low, high = compute_clopper_pearson(words["slower"], comparisons)
    sizes = [each.injected_percent for each in group if each.injected_percent is not None]
    return Score(
        kind=first.kind,
        engine=first.engine,
        what=first.what,
        effect_percent=first.effect_percent,
        comparisons=comparisons,
        words={word: count for word, count in words.items() if count},
        low_percent=100.0 * low,
        high_percent=100.0 * high,
        covered=sum(each.covered for each in group),
        coverable=sum(each.coverable for each in group),
        injected_percent=sum(sizes) / len(sizes) if sizes else None,
        dropped_blocks=sum(each.dropped_blocks for each in group),
        settings=first.settings,
    )
