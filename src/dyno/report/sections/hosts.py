"""Section: a gathered run by host: each host's effect and interval, and what machine it is."""

from __future__ import annotations

from collections.abc import Sequence

from dyno import numbers
from dyno.judge.analysis.sentence import describe_slices
from dyno.record import Comparison, Run, compute_host_score, list_share_runs
from dyno.report import Book, Section, basis, words
from dyno.report.document import Document, Group, Prose, RowTable, TableRow, make_columns

WITHIN = (
    "Base and candidate are compared within a host only. Each interval here is of one host's "
    "blocks alone, and decides nothing: where several hosts played a workload, the verdict takes "
    "each host's mean as one datum. I² is the part of the spread of these means that is not the "
    "blocks' own."
)
#: Facts of a host that are told, by their name in its record.
FACTS = ("cpu", "cores", "memory_mb", "kernel", "virtualisation")


def build(book: Book) -> Document:
    """Two tables; none of a run of one host."""
    if book.run.gathered is None:
        return []
    rows = [each for each in book.verdict.comparisons if each.primary and each.hosts]
    return [build_effects(rows), build_machines(book), Prose(WITHIN, "quiet")]


def build_effects(found: Sequence[Comparison]) -> RowTable:
    rows: list[TableRow] = []
    for each in found:
        names = words.format_full_metric(each.metric), each.candidate, describe_heterogeneity(each)
        rows.append(Group(", ".join(filter(None, names))))
        for it in each.hosts:
            size = f"{numbers.format_signed_percent(it.slowdown_percent)} %"
            ends = numbers.format_interval(it.low_percent, it.high_percent) or numbers.DASH
            rows.append((it.host, str(it.blocks), size, ends))
    return RowTable(make_columns("host", "blocks", "slowdown", "interval"), rows, "Effects")


def describe_heterogeneity(found: Comparison) -> str:
    """`between hosts 0.8 %, I² 40 %`; empty where it is not known."""
    if found.between_hosts_percent is None or found.heterogeneity_percent is None:
        return ""
    between = numbers.format_percent(found.between_hosts_percent)
    return f"between hosts {between} (sd), I² {found.heterogeneity_percent:.0f} %"


def build_machines(book: Book) -> RowTable:
    """A row for each share, with its host's facts, slices, score and calibration."""
    names = {trial.share: trial.host for trial in book.view.trials}
    rows: list[TableRow] = [
        (names.get(own.share.index, own.share.host), *_format_machine(own))
        for own in list_share_runs(book.run)
        if own.share
    ]
    heads = ["share", *(fact.replace("_", " ") for fact in FACTS), "slices", "score", "errors"]
    return RowTable(make_columns("host", after=heads), rows, "Machines")


def _format_machine(run: Run) -> list[str]:
    share = f"{run.share.index} of {run.share.of}" if run.share else ""
    score = numbers.DASH if run.survey is None else str(compute_host_score(run.survey))
    slices = describe_slices(run) or "none"
    facts = [run.host.get(fact, numbers.DASH) for fact in FACTS]
    return [share, *facts, slices, score, _describe_errors(run)]


def _describe_errors(run: Run) -> str:
    known = basis.summarize_calibration(run)
    if not known.when:
        return "not calibrated"
    alarms = [each for each in known.own if not each.effect_percent]
    worst = max(alarms, key=lambda each: each.high_percent, default=None)
    told = f"{worst.slower} of {worst.comparisons} called slower" if worst else known.when
    return f"{told} (stale)" if known.stale else told


SECTION = Section("By host", 13, build)
