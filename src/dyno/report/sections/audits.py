"""Section: what was checked, what was lost, and what the controls did, all of it."""

from __future__ import annotations

from collections import Counter, defaultdict

from dyno.numbers import format_count
from dyno.report import Book, Section, basis, facts
from dyno.report import document as doc
from dyno.report.facts import link_trials, tell_soundness


def build(book: Book) -> doc.Document:
    """The findings, the worst first; the dropped blocks; the lost trials; the conditions."""
    findings: list[doc.TableRow] = [
        (f.audit, tell_soundness(f), f.sentence, link_trials(f.trials))
        for f in facts.sort_worst_first(book.verdict.findings)
    ]
    dropped = [
        (doc.TextSpan(f"{it.workload}, block {it.block + 1}", "strong"), f": {it.reason}")
        for it in book.verdict.dropped
    ]
    lost = [
        (
            doc.TextSpan(f"trial {t.number}", "strong"),
            f", {t.candidate}, {t.workload}, block {t.block + 1}: {t.status}",
            f": {t.failure}" if t.failure else "",
        )
        for t in book.view.played_trials
        if t.status != "ok"
    ]
    anew = [
        (doc.TextSpan(where, "strong"), f": {n}") for where, n in _count_reconnections(book).items()
    ]
    torn = len(book.view.torn_numbers)
    told = f"{format_count(torn, 'trial')} of torn blocks (begun anew) did not count."
    limits = f"Limits declared before the run: {basis.describe_limits(book.run) or 'none'}."
    conditions = doc.RowTable(
        doc.make_columns("control", after=("state", "value")), _list_conditions(book)
    )
    folded = [doc.Details("Conditions: what each control found and set", [conditions])]
    return [
        doc.RowTable(doc.make_columns("audit", after=("finding", "why", "trials")), findings),
        *doc.list_prose([] if findings else ["No audit has judged this run."]),
        doc.Items(dropped, "Blocks dropped"),
        doc.Items(lost, "Trials that failed or were interrupted"),
        doc.Items(anew, "Connections that were lost and made anew"),
        doc.Prose(f"{limits} {told if torn else ''}", "quiet"),
        *(folded if conditions.rows else []),
    ]


def _count_reconnections(book: Book) -> Counter[str]:
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
