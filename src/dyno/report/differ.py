"""A search for differences as a document: what was found, each with its script and both answers,
what release notes explain, and what was not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dyno.numbers import format_count
from dyno.record import Finding, Verdict
from dyno.record.differ import DifferRun, FoundDifference
from dyno.report import document as doc
from dyno.report.result import Result

#: What it does not look at, by the audit that looks at it elsewhere.
UNSEEN = {
    "concurrency": "isolation, locks and deadlocks: each side is asked over one session",
    "data": "rows by the thousand: tables hold up to some dozen",
    "coverage": "what the generator makes no statement of: docs/guides/differ.md lists it",
}
#: Of all statements so many may be undecidable or not compared before that is the result.
UNJUDGED_PERCENT = 20.0


def describe_run(run: DifferRun) -> str:
    """Return what a run came to, in a sentence."""
    found, known = run.open_finds, len(run.finds) - len(run.open_finds)
    kinds = Counter(it.kind for it in found)
    told = format_count(len(found), "difference") if found else "No difference"
    if found:
        told += f" ({', '.join(f'{kind}: {count}' for kind, count in kinds.most_common())})"
    beside = f", {known} explained by release notes" if known else ""
    asked = f"{run.counts.statements:,} statements in {format_count(run.scripts, 'script')}"
    return f"{told}{beside}, in {asked}, seed {run.seed}"


def choose_differ_exit(run: DifferRun) -> int:
    """Return 1 where something differs that nothing explains, 2 where too little was judged."""
    if run.open_finds:
        return 1
    counts = run.counts
    unjudged = counts.undecidable + counts.not_compared
    is_judged = counts.same and 100 * unjudged <= UNJUDGED_PERCENT * counts.statements
    return 0 if is_judged else 2


def build_differ_result(run: DifferRun) -> Result:
    """Return what a run came to."""
    rows = (
        (it.kind, len(it.script), it.count, it.explained.what if it.explained else "")
        for _, it in _number_finds(run)
    )
    return Result(
        noun="a search for differences",
        name=run.name,
        headline=f"{describe_run(run)}.",
        created_utc=run.created_utc,
        question=f"What does {run.sides[1].name} answer otherwise than {run.sides[0].name}?",
        command=run.command,
        verdict=Verdict("measured", describe_run(run), run.is_over, (), _list_findings(run), ()),
        sides=run.sides,
        numbers=(("class", "statements", "found", "explained by"), list(rows)),
        basis=_list_basis(run),
        document=_build_document(run),
        warnings=list(_list_warnings(run)),
    )


def _number_finds(run: DifferRun) -> list[tuple[int, FoundDifference]]:
    """Each find with the number of its file, those that nothing explains first."""
    return sorted(enumerate(run.finds, 1), key=lambda it: not it[1].is_open)


def _list_findings(run: DifferRun) -> tuple[Finding, ...]:
    return tuple(Finding(name, "not checked", told) for name, told in UNSEEN.items())


def _list_warnings(run: DifferRun) -> Iterator[str]:
    if run.counts.unsteady:
        yield f"{format_count(run.counts.unsteady, 'difference')} did not show again."
    if run.counts.unrepeated:
        scripts = format_count(run.counts.unrepeated, "script")
        yield f"A side had no answer in {scripts}, and had one when it was asked once more."


def _list_basis(run: DifferRun) -> list[str]:
    sides = [f"{it.name}: {it.engine} {it.build.get('version', '')}." for it in run.sides]
    counts = run.counts
    told = (
        f"{counts.same:,} statements are answered the same ({counts.refused:,} of them with the "
        f"same error), {counts.differs:,} differently, {counts.undecidable:,} are undecidable, "
        f"{counts.not_compared:,} not compared since they rest on an earlier difference."
    )
    beside = (
        f"{counts.unreduced:,} differences were like reduced ones and only counted, "
        f"{counts.unsteady:,} did not show again. "
        f"Known between the two versions: {format_count(run.changes, 'release note')}."
    )
    seeds = f"Seed {run.seed}; all statements have the digest {run.digest[:16] or '(none)'}."
    return [*sides, told, beside, seeds]


def _build_document(run: DifferRun) -> doc.Document:
    tone: doc.Tone = "bad" if run.open_finds else "good"
    columns = doc.make_columns("find", "statements", "found", after=("explained by",))
    rows = [
        (
            f"{number}. {it.kind}",
            f"{len(it.script)}",
            f"{it.count:,}",
            it.explained.what if it.explained else "",
        )
        for number, it in _number_finds(run)
    ]
    audits = [(it.audit, it.soundness, it.sentence) for it in _list_findings(run)]
    blocks: list[doc.Block] = [
        doc.Heading("Differences", "differences"),
        doc.Prose(f"{describe_run(run)}.", tone, boxed=True),
        *doc.list_prose(_list_warnings(run), "doubt"),
        doc.RowTable(columns, rows),
    ]
    blocks += [_describe_find(run, find, number) for number, find in _number_finds(run)]
    return [
        *blocks,
        doc.Heading("Audits", "audits"),
        doc.RowTable(doc.make_columns("audit", after=("", "finding")), audits),
        doc.Heading("How it was searched", "basis"),
        *doc.list_prose(_list_basis(run)),
        doc.Listing(run.command, "to repeat"),
    ]


def _describe_find(run: DifferRun, find: FoundDifference, number: int) -> doc.Block:
    one, other = (it.name for it in run.sides)
    reduced = (
        f"Script {find.number}, reduced from {find.statements} statements in {find.trials} trials"
        f"{'' if find.is_whole else ' (not to the end)'}; "
        f"found {format_count(find.count, 'time')}. "
        f"finds/{number:04}.sql has it."
    )
    blocks: list[doc.Block] = [doc.Prose(f"{find.why}.")]
    if known := find.explained:
        since = f" (since {known.since})" if known.since else ""
        if find.is_open:
            told = f"Known: {known.what}{since}. No release note that we found says so."
            blocks.append(doc.Prose(told, "doubt"))
        else:
            blocks.append(doc.Prose(f"Explained: {known.what}{since}, {known.source}.", "good"))
    blocks += [
        doc.Listing("\n".join(f"{it};" for it in find.script), "script"),
        doc.Listing("\n".join(find.ours) or "(no rows)", one),
        doc.Listing("\n".join(find.theirs) or "(no rows)", other),
        doc.Prose(reduced, "quiet"),
    ]
    words = find.kind if find.is_open else "explained"
    summary = f"{number}. {words}: {len(find.script)} statements"
    return doc.Details(summary, blocks, f"find-{number}", find.is_open, is_printed=find.is_open)
