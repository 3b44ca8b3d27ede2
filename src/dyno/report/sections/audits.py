"""Section: what was checked, what was lost, and what the controls did, all of it."""

from __future__ import annotations

from collections import Counter, defaultdict

from dyno.report import Book, Section, basis, facts
from dyno.report.document import (
    Details,
    Document,
    Items,
    Prose,
    RowTable,
    TableRow,
    TextSpan,
    list_prose,
    make_columns,
)
from dyno.report.facts import link_trials, tell_soundness
from dyno.report.words import format_count


def build(book: Book) -> Document:
    """The findings, the worst first; the dropped blocks; the lost trials; the conditions."""
    findings: list[TableRow] = [
        (f.audit, tell_soundness(f), f.sentence, link_trials(f.trials))
        for f in facts.sort_worst_first(book.verdict.findings)
    ]
    dropped = [
        (TextSpan(f"{it.workload}, block {it.block + 1}", "strong"), f": {it.reason}")
        for it in book.verdict.dropped
    ]
    lost = [
        (
            TextSpan(f"trial {t.number}", "strong"),
            f", {t.candidate}, {t.workload}, block {t.block + 1}: {t.status}",
            f": {t.failure}" if t.failure else "",
        )
        for t in book.view.played_trials
        if t.status != "ok"
    ]
    anew = [
        (TextSpan(where, "strong"), f": {n}") for where, n in _count_reconnections(book).items()
    ]
    torn = len(book.view.torn_numbers)
    told = f"{format_count(torn, 'trial')} of torn blocks (begun anew) did not count."
    limits = f"Limits declared before the run: {basis.describe_limits(book.run) or 'none'}."
    conditions = RowTable(make_columns("control", after=("state", "value")), _list_conditions(book))
    folded = [Details("Conditions: what each control found and set", [conditions])]
    return [
        RowTable(make_columns("audit", after=("finding", "why", "trials")), findings),
        *list_prose([] if findings else ["No audit has judged this run."]),
        Items(dropped, "Blocks dropped"),
        Items(lost, "Trials that failed or were interrupted"),
        Items(anew, "Connections that were lost and made anew"),
        Prose(f"{limits} {told if torn else ''}", "quiet"),
        *(folded if conditions.rows else []),
    ]


def _count_reconnections(book: Book) -> Counter[str]:
    """Connections made anew, by candidate, workload and phase."""
    found: Counter[str] = Counter()
    for trial in book.view.played_trials:
        for record in trial.phases:
            where = f"{trial.candidate}, {trial.workload}, {record.phase}"
            found[where] += sum(tally.reconnected for tally in record.streams)
    return +found


def _list_conditions(book: Book) -> list[tuple[str, str, str]]:
    """(control, state, the values seen with the number of trials where there are several)."""
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for trial in book.view.played_trials:
        for name, facts_of_it in basis.list_condition_facts(trial.conditions).items():
            for fact, value in facts_of_it.items():
                seen[name, fact].append(value)
    return [
        (control, state, basis.format_values(found))
        for (control, state), found in sorted(seen.items())
    ]


SECTION = Section("Audits and conditions in full", 70, build)
