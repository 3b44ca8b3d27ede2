"""A run of programs as a document: the verdict, each start's number, and what nobody looked at."""

from __future__ import annotations

from shlex import join

from dyno import numbers
from dyno.judge.analysis.block_pairs import compute_mean
from dyno.numbers import format_count
from dyno.record import Candidate, Verdict
from dyno.record.program import ProgramRun, ProgramSide
from dyno.report import document as doc
from dyno.report.headline import build_headline, list_reasons
from dyno.report.names import NamedRow
from dyno.report.result import Result
from dyno.report.sections.verdict import choose_tone


def build_program_result(run: ProgramRun, verdict: Verdict) -> Result:
    """Return what a run of programs came to."""
    values = {side.name: run.find_values(side.name) for side in run.sides}
    return Result(
        noun="a run of programs",
        name=run.name,
        headline=f"{build_headline((), verdict)}.",
        created_utc=run.created_utc,
        question=f"Which program prints the better number of {run.workload}?",
        command=run.command,
        verdict=verdict,
        sides=[
            Candidate(it.name, it.spec, "program", True, {"version": it.version}, {}, {})
            for it in run.sides
        ],
        workloads=[run.workload],
        rows=_name_rows(run, verdict),
        values={(name, run.metric): found for name, found in values.items() if found},
        basis=_list_basis(run),
        document=_build_document(run, verdict),
    )


def _name_rows(run: ProgramRun, verdict: Verdict) -> list[NamedRow]:
    return [NamedRow(run.workload, "", row) for row in verdict.comparisons]


def _list_basis(run: ProgramRun) -> list[str]:
    told = f"{format_count(run.blocks, 'block')}, each side started once in each, seed {run.seed}."
    return [*(f"{side.name}: {_describe(side)}." for side in run.sides), told]


def _describe(side: ProgramSide) -> str:
    digests = ", ".join(f"{path} ({digest[:12]})" for path, digest in side.programs.items())
    return "; ".join(filter(None, (side.version, join(side.command), digests)))


def _build_document(run: ProgramRun, verdict: Verdict) -> doc.Document:
    tone, named = choose_tone(verdict), _name_rows(run, verdict)
    columns = doc.make_columns("audit", after=("", "finding"))
    findings = [
        (it.audit, doc.TextSpan(it.soundness, TONES.get(it.soundness, "quiet")), it.sentence)
        for it in verdict.findings
    ]
    return [
        doc.Heading("Verdict", "verdict"),
        doc.Prose(f"{build_headline((), verdict)}.", tone, boxed=True),
        *(doc.Prose(it, tone, boxed=True) for it in list_reasons(verdict, named)),
        *([doc.Forest((), named, "95 %")] if named else []),
        doc.Heading("Starts", "starts"),
        _make_starts(run),
        doc.Heading("Audits", "audits"),
        doc.RowTable(columns, findings),
        doc.Heading("How it was measured", "basis"),
        *doc.list_prose(_list_basis(run)),
        doc.Listing(run.command, "to repeat"),
    ]


#: How an audit's word is to be taken.
TONES: dict[str, doc.Tone] = {"sound": "good"}


def _make_starts(run: ProgramRun) -> doc.RowTable:
    """A row for each side: the mean of its numbers, and how far they lie apart."""
    rows = []
    for side in run.sides:
        if found := run.find_values(side.name):
            told = [compute_mean(found), min(found), max(found)]
            plays = [play.duration_s for play in run.plays if play.side == side.name]
            rows.append(
                (
                    side.name,
                    *(numbers.format_quantity(it, run.unit) for it in told),
                    numbers.format_percent(100.0 * (max(found) / min(found) - 1.0)),
                    numbers.format_quantity(sum(plays) / len(plays), "s"),
                )
            )
    heads = ("mean", "least", "most", "starts apart", "ran for")
    label = numbers.format_label("program", run.unit)
    return doc.RowTable(doc.make_columns(label, *heads), rows)
