"""What a reader is told instead of the run's own names: candidates with engine, version and build,
and measurements by the title that a script declares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dyno.judge.analysis.effect_words import describe_verdict, format_metric_name
from dyno.record import Candidate, Comparison, Metric, Run
from dyno.record.build_facts import read_build_facts

#: Metrics that a title alone stands for: the work that it names, and the time that this takes.
_TITLED = ("rate_per_s", "rate_per_min")


def name_pair(sides: Sequence[Candidate], candidate: str, base: str) -> tuple[str, str]:
    """How candidate and base are called in a sentence: `sqlite 3.54.1` and `3.24.0`, where their
    names say no more than that; else by their names.
    """
    plain = {side.name: split for side in sides if (split := _split_name(side))}
    who, whom = plain.get(candidate), plain.get(base)
    if not who or not whom:
        return " ".join(who or (candidate,)), " ".join(whom or (base,))
    return " ".join(who), whom[1] if who[0] == whom[0] else " ".join(whom)


def _split_name(side: Candidate) -> tuple[str, str] | None:
    """Engine and build of a candidate that is called `sqlite@3.54.1`; None for other names."""
    engine, at, build = side.name.partition("@")
    is_plain = bool(at) and engine == side.engine and side.name == side.spec and "?" not in build
    return (engine, build) if is_plain else None


def name_compared(sides: Sequence[Candidate], name: str) -> str:
    """`base (1a2b3c4d5e6f, subject) vs new (…)`; the run's name where there are more than three."""
    return " vs ".join(side.label for side in sides) if 1 < len(sides) <= 3 else name


def explain_no_parent(base: Candidate, side: Candidate) -> str:
    """That the base is not the parent commit of the candidate; empty if it is, or is unknown."""
    commit, parents = side.build.get("commit", ""), side.build.get("parents", "").split()
    own = base.build.get("commit", "")
    if not (own and parents) or own in (commit, *parents):
        return ""
    return (
        f"{base.name} ({own[:12]}) is not the parent commit of {side.name} ({parents[0][:12]} is): "
        "what lies between is measured, too"
    )


def describe_candidate(side: Candidate, *, with_build: bool = True) -> str:
    """What a candidate is: `sqlite 3.54.1, gcc 12.2.0 -O2, journal_mode=wal`. Of a build from git
    its commit is told: a name such as HEAD soon means another one.
    """
    version = side.build.get("version", "")
    where = "a server that runs already" if side.attached else ""
    chosen = {**side.settings, **side.controls, **side.options}
    parts = (
        f"{side.engine} {version}".strip() + (f" of commit {side.commit}" if side.commit else ""),
        str(read_build_facts(side.build)) if with_build else "",
        where,
        *(f"{key}={value}" for key, value in chosen.items()),
    )
    return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class NamedRow:
    """A comparison as a report's first screen names it: `title` for a reader, `name` of the run;
    `word` says the verdict, where that is not the metric's own.
    """

    title: str
    name: str
    row: Comparison
    word: str = ""

    @property
    def verdict(self) -> str:
        word = self.word or describe_verdict(self.row)
        return f"{word}, doubtful" if self.row.is_doubtful else word


def name_measurements(run: Run, rows: Sequence[Comparison]) -> list[NamedRow]:
    """Each row with its title; rows of one title are told apart by their names."""
    metrics = list(dict.fromkeys(row.metric for row in rows))
    titles = {metric: _find_title(run, metric, metrics) for metric in metrics}
    counts = Counter(titles.values())
    names = {metric: _format_name(run, metric, metrics) for metric in metrics}
    for metric, title in titles.items():
        if counts[title] > 1 and title != names[metric]:
            titles[metric] = f"{title} ({names[metric]})"
    return [NamedRow(titles[row.metric], names[row.metric], row) for row in rows]


def _find_title(run: Run, metric: Metric, beside: Sequence[Metric]) -> str:
    """The phase's title, with the metric where that is not the rate or not the only one."""
    phases = {p.name: p for w in run.workloads if w.name == metric.workload for p in w.phases}
    phase = phases.get(metric.phase)
    if phase is None or not phase.title:
        return _format_name(run, metric, beside)
    own = [it for it in beside if (it.workload, it.phase) == (metric.workload, metric.phase)]
    parts = [phase.title]
    if len({it.transaction for it in own}) > 1:
        parts.append(metric.transaction)
    if metric.name not in _TITLED or len({it.name for it in own}) > 1:
        parts.append(format_metric_name(metric.name))
    return ", ".join(parts)


def _format_name(run: Run, metric: Metric, beside: Sequence[Metric]) -> str:
    """`insert / l.i0`: the parts by which the run's own words tell it from the others."""
    plan = next((w for w in run.workloads if w.name == metric.workload), None)
    own = [it for it in beside if (it.workload, it.phase) == (metric.workload, metric.phase)]
    parts = [metric.workload]
    if plan is None or len(plan.phases) != 1:
        parts.append(metric.phase)
    if len({it.transaction for it in own}) > 1:
        parts.append(metric.transaction)
    if metric.name not in _TITLED or len({it.name for it in own}) > 1:
        parts.append(format_metric_name(metric.name))
    return " / ".join(filter(None, parts))
