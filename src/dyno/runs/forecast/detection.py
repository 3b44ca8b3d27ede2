"""What the primaries of a planned run can detect: how each will vary, measured before or assumed.

An effect of crossed factors averages over cells, so that a block says more of it than of a pair of
restarts: spreads are kept as those of a restart, and each effect takes its weights' norm of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dyno.judge.analysis.effects import Effect, list_effects
from dyno.judge.analysis.margins import DeclaredPrimary, list_declared_primaries
from dyno.judge.stats.log_ratio import to_log
from dyno.judge.stats.power import BlockErrors
from dyno.record import Run
from dyno.runs.forecast.earlier_run import EarlierRun, LearntErrors

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


def count_family(run: Run) -> int:
    """Candidates, or main effects, × primaries: what Holm runs over."""
    return sum(map(len, _group_equal_effects(run))) * len(_list_primaries(run))


def plan_primaries(run: Run, earlier: EarlierRun | None) -> list[PlannedPrimary]:
    """Each primary as `earlier` measured it; without that each spread that is assumed."""
    if earlier is None:
        return [case for sd in SDS_PERCENT for case in assume_primaries(run, sd)]
    alike = _group_equal_effects(run)
    return [
        PlannedPrimary(
            _name_primary(pair) + _describe_factors(own, alike),
            pair.margin_percent,
            errors.planned,
            len(own),
            errors.likely,
        )
        for pair in _list_primaries(run)
        for own in alike
        if (errors := _find_errors(run, earlier, pair, own[0].norm)) is not None
    ]


def assume_primaries(run: Run, pair_percent: float) -> list[PlannedPrimary]:
    """All primaries, those together that have margin and weights alike, where the log ratio of two
    restarts has this sd.
    """
    margins, alike = (
        [pair.margin_percent for pair in _list_primaries(run)],
        _group_equal_effects(run),
    )
    restart, found = to_log(pair_percent) / PAIR, []
    for margin in sorted(set(margins)):
        for own in alike:
            errors = BlockErrors(restart * own[0].norm, run.design.loads or 0)
            count = len(own) * margins.count(margin)
            every = f"each of {count} primaries" if count > 1 else "the primary"
            name = f"{every}{_describe_factors(own, alike)}"
            if run.factors:
                name = f"{name}, two restarts vary by {pair_percent:g} %"
            found.append(PlannedPrimary(name, margin, errors, count))
    return found


def _group_equal_effects(run: Run) -> list[list[Effect]]:
    """Candidates, or main effects, those together of which a block tells as much."""
    found: dict[float, list[Effect]] = {}
    for effect in list_effects(run):
        if not effect.interaction:
            found.setdefault(round(effect.norm, 9), []).append(effect)
    return list(found.values())


def _describe_factors(own: Sequence[Effect], alike: Sequence[Sequence[Effect]]) -> str:
    """The factors meant, where not all are."""
    names = dict.fromkeys(name for effect in own for name in effect.levels)
    return f" ({', '.join(names)})" if len(alike) > 1 else ""


def _list_primaries(run: Run) -> list[DeclaredPrimary]:
    return [pair for workload in run.workloads for pair in list_declared_primaries(run, workload)]


def _find_errors(
    run: Run, earlier: EarlierRun, pair: DeclaredPrimary, norm: float
) -> LearntErrors | None:
    workload = next(each for each in run.workloads if each.name == pair.workload)
    return earlier.estimate_errors(pair, workload, run.design.loads, norm)


def _name_primary(pair: DeclaredPrimary) -> str:
    return f"{pair.workload} / {pair.phase} / {pair.stream} {pair.metric}"
