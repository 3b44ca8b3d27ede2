"""What the primaries of a planned run can detect: how each will vary, measured before or assumed.

An effect of crossed factors averages over cells, so that a block says more of it than of a pair of
restarts: spreads are kept as those of a restart, and each effect takes its weights' norm of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dyno.compare.forecast.earlier_run import EarlierRun, LearntErrors
from dyno.judge.analysis.effects import Effect, effects
from dyno.judge.analysis.margins import DeclaredPrimary, declared_primaries
from dyno.judge.stats.interval import to_log
from dyno.judge.stats.power import BlockErrors
from dyno.record import Run

#: Spreads that are assumed, in percent: sds of the log ratio of two restarts in a block.
SDS_PERCENT = (1.0, 2.0, 5.0)
PAIR = math.sqrt(2.0)


@dataclass(frozen=True)
class PlannedPrimary:
    """Primaries by name, their margin, and how the block logs of each of the `count` will vary:
    `errors` are planned for, at the upper 80 % bound of those measured; `likely` are those.
    """

    name: str
    margin_percent: float
    errors: BlockErrors
    count: int = 1
    likely: BlockErrors | None = None


def family_size(run: Run) -> int:
    """Candidates, or main effects, × primaries: what Holm runs over."""
    return sum(map(len, _equal_effects(run))) * len(_pairs(run))


def planned_primaries(run: Run, earlier: EarlierRun | None) -> list[PlannedPrimary]:
    """Each primary as `earlier` measured it; without that each spread that is assumed."""
    if earlier is None:
        return [case for sd in SDS_PERCENT for case in assumed_primaries(run, sd)]
    alike = _equal_effects(run)
    return [
        PlannedPrimary(
            _primary_name(pair) + _factors_meant(own, alike),
            pair.margin_percent,
            errors.planned,
            len(own),
            errors.likely,
        )
        for pair in _pairs(run)
        for own in alike
        if (errors := _errors_of(run, earlier, pair, own[0].norm)) is not None
    ]


def assumed_primaries(run: Run, pair_percent: float) -> list[PlannedPrimary]:
    """All primaries, those together that have margin and weights alike, where the log ratio of two
    restarts has this sd.
    """
    margins, alike = [pair.margin_percent for pair in _pairs(run)], _equal_effects(run)
    restart, found = to_log(pair_percent) / PAIR, []
    for margin in sorted(set(margins)):
        for own in alike:
            errors = BlockErrors(restart * own[0].norm, run.design.loads or 0)
            count = len(own) * margins.count(margin)
            every = f"each of {count} primaries" if count > 1 else "the primary"
            name = f"{every}{_factors_meant(own, alike)}"
            if run.factors:
                name = f"{name}, two restarts vary by {pair_percent:g} %"
            found.append(PlannedPrimary(name, margin, errors, count))
    return found


def _equal_effects(run: Run) -> list[list[Effect]]:
    """Candidates, or main effects, those together of which a block tells as much."""
    found: dict[float, list[Effect]] = {}
    for effect in effects(run):
        if not effect.interaction:
            found.setdefault(round(effect.norm, 9), []).append(effect)
    return list(found.values())


def _factors_meant(own: Sequence[Effect], alike: Sequence[Sequence[Effect]]) -> str:
    """The factors meant, where not all are."""
    names = dict.fromkeys(name for effect in own for name in effect.levels)
    return f" ({', '.join(names)})" if len(alike) > 1 else ""


def _pairs(run: Run) -> list[DeclaredPrimary]:
    return [pair for workload in run.workloads for pair in declared_primaries(run, workload)]


def _errors_of(
    run: Run, earlier: EarlierRun, pair: DeclaredPrimary, norm: float
) -> LearntErrors | None:
    workload = next(each for each in run.workloads if each.name == pair.workload)
    return earlier.errors(pair, workload, run.design.loads, norm)


def _primary_name(pair: DeclaredPrimary) -> str:
    return f"{pair.workload} / {pair.phase} / {pair.stream} {pair.metric}"
