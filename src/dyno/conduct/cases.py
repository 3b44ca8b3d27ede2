"""The primaries of a run that is planned, and how each will vary: measured, or assumed."""

from __future__ import annotations

from dataclasses import dataclass

from dyno.conduct.earlier import Earlier
from dyno.conduct.estimate import SDS_PERCENT
from dyno.judge.effects import effects
from dyno.judge.lines import Pair, pairs
from dyno.record import Run
from dyno.stats.outlook import Errors
from dyno.stats.percent import to_log


@dataclass(frozen=True)
class Case:
    """A primary by name, its margin, and how its block log ratios will vary."""

    name: str
    margin_percent: float
    errors: Errors


def family(run: Run) -> int:
    """Candidates, or main effects, × primaries: what Holm runs over."""
    return sum(not effect.interaction for effect in effects(run)) * len(_pairs(run))


def cases(run: Run, earlier: Earlier | None) -> list[Case]:
    """Each primary as `earlier` measured it; without that each spread that is assumed, once for
    every margin, since it stands for all primaries.
    """
    loads = run.design.loads
    if earlier is not None:
        found = [(pair, _errors(run, earlier, pair, loads)) for pair in _pairs(run)]
        return [Case(_named(pair), _margin(run, pair), e) for pair, e in found if e is not None]
    margins = sorted({_margin(run, pair) for pair in _pairs(run)})
    sds = [Errors(to_log(sd), loads or 0) for sd in SDS_PERCENT]
    return [Case(f"each of {family(run)}", margin, sd) for margin in margins for sd in sds]


def _pairs(run: Run) -> list[Pair]:
    return [pair for workload in run.workloads for pair in pairs(workload)]


def _margin(run: Run, pair: Pair) -> float:
    own = pair.margin_percent
    return run.design.margin_percent if own is None else own


def _errors(run: Run, earlier: Earlier, pair: Pair, loads: int | None) -> Errors | None:
    workload = next(each for each in run.workloads if each.name == pair.workload)
    return earlier.errors(pair, workload, loads)


def _named(pair: Pair) -> str:
    return f"{pair.workload} / {pair.phase} / {pair.stream} {pair.metric}"
