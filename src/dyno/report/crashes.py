"""A run of crashes as a document: the verdict, each kill, and what nobody looked at."""

from __future__ import annotations

from collections.abc import Sequence

from dyno import numbers
from dyno.numbers import format_count
from dyno.record import Verdict
from dyno.record.crash import CrashPlay, CrashRun
from dyno.report import document as doc
from dyno.report.headline import build_headline, list_reasons
from dyno.report.result import Result
from dyno.report.sections.verdict import choose_tone
from dyno.report.words import TONES


def build_crash_result(
    run: CrashRun,
    verdict: Verdict,
    firsts: Sequence[str],
    recoveries: Sequence[float],
) -> Result:
    """Return what a run of crashes came to; `firsts` is what each kill lost first."""
    return Result(
        noun="a run of crashes",
        name=run.name,
        headline=f"{build_headline((), verdict)}.",
        created_utc=run.created_utc,
        question=f"What does {run.candidate.name} keep of its commits when the power is cut?",
        command=run.command,
        verdict=verdict,
        sides=[run.candidate],
        workloads=[run.workload],
        values={(run.candidate.name, run.metric): list(recoveries)} if recoveries else {},
        basis=_list_basis(run),
        document=_build_document(run, verdict, firsts),
    )


def _list_basis(run: CrashRun) -> list[str]:
    build, settings = run.candidate.build, run.candidate.settings
    chosen = ", ".join(f"{name}={value}" for name, value in settings.items())
    clients = format_count(run.clients, "client")
    told = [
        "; ".join(filter(None, (f"{run.candidate.engine} {build.get('version', '')}", chosen))),
        f"{run.workload} by {clients}; a kill within {run.within_s:g} s of the first commits, on a"
        f" copy of the same data, seed {run.seed}",
        "what was not synced is lost" + ", sector by sector by chance" * run.torn,
    ]
    if run.promise:
        decided = ", ".join(f"{name}={value}" for name, value in run.decided_by.items())
        told.append(f"by its settings a commit survives {run.promise} ({decided})")
    if run.seen_with:
        pairs = ", ".join(f"{name}={value}" for name, value in run.seen_with.items())
        told.append(f"set so that the layer sees all writes: {pairs}")
    return [f"{it}." for it in told]


def _build_document(run: CrashRun, verdict: Verdict, firsts: Sequence[str]) -> doc.Document:
    tone = choose_tone(verdict)
    rows = [_make_row(play, first) for play, first in zip(run.plays, firsts, strict=True)]
    heads = ("after", "acknowledged", "lost", "torn", "recovered in", "taken from files")
    columns = doc.make_columns("kill", *heads, after=("first",))
    findings = [
        (it.audit, doc.TextSpan(it.soundness, AUDITED.get(it.soundness, "quiet")), it.sentence)
        for it in verdict.findings
    ]
    return [
        doc.Heading("Verdict", "verdict"),
        doc.Prose(f"{build_headline((), verdict)}.", tone, boxed=True),
        *(doc.Prose(it, tone, boxed=True) for it in list_reasons(verdict, ())),
        doc.Heading("Kills", "kills"),
        doc.RowTable(columns, rows),
        *(
            doc.Details(
                f"why kill {it.number} did not recover",
                [doc.Listing(it.failure_words or it.failure)],
            )
            for it in [play for play in run.plays if play.failure][:1]
        ),
        doc.Heading("Audits", "audits"),
        doc.RowTable(doc.make_columns("audit", after=("", "finding")), findings),
        doc.Heading("How it was measured", "basis"),
        *doc.list_prose(_list_basis(run)),
        doc.Listing(run.command, "to repeat"),
    ]


#: How an audit's word is to be taken.
AUDITED: dict[str, doc.Tone] = {"sound": "good", "invalid": "bad", "doubtful": "doubt"}


def _make_row(play: CrashPlay, first: str) -> doc.TableRow:
    recovered = play.recovery_s
    return (
        str(play.number),
        numbers.format_quantity(play.moment_s, "s"),
        f"{play.acknowledged:,}",
        doc.TextSpan(f"{play.lost_count:,}", TONES["loses"] if play.lost_count else ""),
        doc.TextSpan(f"{play.torn_count:,}", TONES["loses"] if play.torn_count else ""),
        numbers.DASH if recovered is None else numbers.format_quantity(recovered, "s"),
        numbers.format_quantity(play.lost_bytes, "B"),
        first,
    )
