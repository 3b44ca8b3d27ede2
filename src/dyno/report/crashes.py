"""A run of crashes as a document: the verdict, each kill, and what nobody looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno import numbers
from dyno.numbers import format_count
from dyno.record import Verdict
from dyno.record.crash import CrashPlay, CrashRun, CrashSide
from dyno.record.verdict import WORST_FIRST
from dyno.report import document as doc
from dyno.report.headline import build_headline, list_reasons
from dyno.report.names import NamedRow
from dyno.report.result import Result
from dyno.report.sections.verdict import choose_tone
from dyno.report.words import TONES


def build_crash_result(run: CrashRun, verdict: Verdict, losses: Sequence[str]) -> Result:
    """Return what a run of crashes came to; `losses` say what each engine that was killed lost."""
    sides = [side.candidate for side in run.sides]
    headline = f"{build_headline(sides, verdict)}."
    if verdict.comparisons and verdict.overall in WORST_FIRST:
        headline = f"{headline} {'; '.join(losses)}."
    return Result(
        noun="a run of crashes",
        name=run.name,
        headline=headline,
        created_utc=run.created_utc,
        question=f"What does {run.name} keep of its commits when the power is cut?",
        command=run.command,
        verdict=verdict,
        sides=sides,
        workloads=[run.workload],
        rows=_name_rows(verdict),
        values={
            (side.candidate.name, run.metric): found
            for side in run.sides
            if (found := side.recoveries_s)
        },
        basis=_list_basis(run),
        document=_build_document(run, verdict, headline),
    )


def _name_rows(verdict: Verdict) -> list[NamedRow]:
    titles = {"recovery": "time to recover", "rate_per_s": "commits before the kill"}
    return [NamedRow(titles[it.metric.name], "", it) for it in verdict.comparisons]


def _list_basis(run: CrashRun) -> list[str]:
    told = []
    for side in run.sides:
        build, settings = side.candidate.build, side.candidate.settings
        chosen = ", ".join(f"{name}={value}" for name, value in settings.items())
        told.append(
            "; ".join(filter(None, (f"{side.candidate.engine} {build.get('version', '')}", chosen)))
        )
        if side.promise:
            decided = ", ".join(f"{name}={value}" for name, value in side.decided_by.items())
            told.append(f"by its settings a commit survives {side.promise} ({decided})")
        if side.seen_with:
            pairs = ", ".join(f"{name}={value}" for name, value in side.seen_with.items())
            told.append(f"set so that the layer sees all writes: {pairs}")
    counts = dict.fromkeys(side.clients for side in run.sides)
    clients = " and ".join(format_count(count, "client") for count in counts)
    told.append(
        f"{run.workload} by {clients}; a kill within {run.within_s:g} s of the first commits, on a"
        f" copy of the same data, seed {run.seed}"
    )
    told.append("what was not synced is lost" + ", sector by sector by chance" * run.torn)
    if run.others:
        told.append(
            "the engines are killed in turn, each at the same drawn moments; commits a second are"
            " those under the layer, which copies what each write replaces"
        )
    return [f"{it}." for it in told]


def _build_document(run: CrashRun, verdict: Verdict, headline: str) -> doc.Document:
    tone, named = choose_tone(verdict), _name_rows(verdict)
    sides = [side.candidate for side in run.sides]
    findings = [
        (it.audit, doc.TextSpan(it.soundness, AUDITED.get(it.soundness, "quiet")), it.sentence)
        for it in verdict.findings
    ]
    return [
        doc.Heading("Verdict", "verdict"),
        doc.Prose(headline, tone, boxed=True),
        *(doc.Prose(it, tone, boxed=True) for it in list_reasons(verdict, named)),
        *([doc.Forest(sides, named, "95 %")] if named else []),
        doc.Heading("Kills", "kills"),
        *(block for side in run.sides for block in _list_kills(run, side)),
        doc.Heading("Audits", "audits"),
        doc.RowTable(doc.make_columns("audit", after=("", "finding")), findings),
        doc.Heading("How it was measured", "basis"),
        *doc.list_prose(_list_basis(run)),
        doc.Listing(run.command, "to repeat"),
    ]


def _list_kills(run: CrashRun, side: CrashSide) -> Iterator[doc.Block]:
    """A row of each, and the last words of the first engine that did not recover."""
    heads = ("after", "acknowledged", "lost", "torn", "recovered in", "taken from files")
    columns = doc.make_columns("kill", *heads, after=("first",))
    yield doc.RowTable(
        columns, [*map(_make_row, side.plays)], side.candidate.name * bool(run.others)
    )
    for it in [play for play in side.plays if play.failure][:1]:
        whose = f" of {side.candidate.name}" * bool(run.others)
        told = doc.Listing(it.failure_words or it.failure)
        yield doc.Details(f"why kill {it.number}{whose} did not recover", [told])


#: How an audit's word is to be taken.
AUDITED: dict[str, doc.Tone] = {"sound": "good", "invalid": "bad", "doubtful": "doubt"}


def _make_row(play: CrashPlay) -> doc.TableRow:
    recovered = play.recovery_s
    return (
        str(play.number),
        numbers.format_quantity(play.moment_s, "s"),
        f"{play.acknowledged:,}",
        doc.TextSpan(f"{play.lost_count:,}", TONES["loses"] if play.lost_count else ""),
        doc.TextSpan(f"{play.torn_count:,}", TONES["loses"] if play.torn_count else ""),
        numbers.DASH if recovered is None else numbers.format_quantity(recovered, "s"),
        numbers.format_quantity(play.lost_bytes, "B"),
        play.first,
    )
