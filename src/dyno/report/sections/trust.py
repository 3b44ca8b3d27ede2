"""Section: what the verdict rests on; where a sceptic looks first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno.judge.analysis.sentence import describe_pilot
from dyno.numbers import format_count
from dyno.record import Finding, Observation, Run, Score, compute_host_score
from dyno.report import Book, Section, basis, facts, words
from dyno.report import document as doc
from dyno.report.basis import (
    describe_clients,
    format_score,
    summarize_calibration,
    summarize_restarts,
)
from dyno.report.block_cost import describe_block_cost
from dyno.report.facts import link_trials, tell_soundness

#: Of losses and of the host's observations; the rest is folded.
_SHOWN = 5
#: How an observation's mark is to be taken.
_MARKS: dict[str, doc.Tone] = {"poor": "bad", "fair": "doubt", "good": "good"}
_FOLDED = (
    ("not checked", "what was not checked, and why"),
    ("does not apply", "what does not apply to this run, and why"),
    ("sound", "what was found sound"),
)


def build(book: Book) -> doc.Document:
    return [
        doc.Terms(
            [
                ("Restarts", _list_restarts(book)),
                ("Audits", _list_audits(facts.sort_worst_first(book.verdict.findings))),
                ("Pilot", doc.list_prose(describe_pilot(book.run))),
                ("Conditions", _list_conditions(book)),
                ("Host", _list_host(book.run)),
                ("Clients", doc.list_prose([describe_clients(book)])),
                ("By host", doc.list_prose(_list_host_effects(book))),
                ("Calibration", _list_calibration(book.run)),
            ]
        )
    ]


def _list_restarts(book: Book) -> list[doc.Block]:
    played, limits = summarize_restarts(book), basis.describe_limits(book.run)
    restarts = ", ".join(filter(None, (played.counted, played.loads)))
    losses: list[doc.Words] = list(played.losses[:_SHOWN])
    if more := len(played.losses) - _SHOWN:
        losses += [doc.TextSpan(f"and {more} more", link="#audits")] if more > 0 else []
    cost = describe_block_cost(book)
    return [
        doc.Prose(f"{restarts}."),
        *doc.list_prose(
            [f"Restarts of one candidate {played.spread}."] * bool(played.spread), "quiet"
        ),
        *([] if losses else [doc.Prose("Nothing was dropped, failed or begun anew.")]),
        doc.Items(losses),
        *doc.list_prose([f"{cost[:1].upper()}{cost[1:]}."] * bool(cost), "quiet"),
        *doc.list_prose([f"Limits declared before: {limits}."] * bool(limits), "quiet"),
    ]


def _list_host_effects(book: Book) -> Iterator[str]:
    """`select rate, new: a +5.0 % [4.1, 5.9], b +4.8 % […]`, a line for each primary."""
    for row in book.verdict.comparisons:
        if row.primary and row.hosts:
            told = ", ".join(map(words.format_host_effect, row.hosts))
            yield f"{words.format_full_metric(row.metric)}, {row.candidate}: {told}"


def _list_audits(findings: Sequence[Finding]) -> list[doc.Block]:
    counts: list[str | doc.TextSpan] = []
    for word, number in facts.count_findings(findings).items():
        counts += [", "] if counts else []
        counts.append(
            doc.TextSpan(facts.format_findings(word, number), facts.TONES.get(word, "quiet"))
        )
    unsound: list[doc.Words] = []
    for f in findings:
        if f.soundness in ("invalid", "doubtful"):
            trials = ["; trials ", *link_trials(f.trials)] if f.trials else []
            told = (doc.TextSpan(f.audit, "strong"), f": {f.sentence}")
            unsound.append([tell_soundness(f), " ", *told, *trials])
    folded = []
    for folded_word, title in _FOLDED:
        own = [it for it in findings if it.soundness == folded_word]
        items = [(doc.TextSpan(it.audit, "strong"), f": {it.sentence}") for it in own]
        names = f": {', '.join(it.audit for it in own)}" if folded_word == "not checked" else ""
        folded += [doc.Details(f"{title}{names}", [doc.Items(items)])] if own else []
    return [
        doc.Prose([*(counts or ["No audit has judged this run"]), "."]),
        doc.Items(unsound),
        *folded,
    ]


def _list_conditions(book: Book) -> list[doc.Block]:
    controls = basis.summarize_controls(book)
    if not controls:
        return [doc.Prose("This run has no controls on record.")]
    apart: list[doc.Words] = [
        ("≠ ", doc.TextSpan(h.sentence, "strong"), ": the candidates differ in it")
        for h in controls
        if h.differs
    ]
    apart += [(doc.TextSpan(h.control, "doubt"), f" {h.refused}") for h in controls if h.refused]
    rows: list[doc.TableRow] = [
        (
            f"{'≠ ' if h.differs else ''}{h.control}",
            *(h.values[name] for name in book.view.candidates),
            h.before,
            "; ".join(filter(None, (h.refused, *(f"{k} {text}" for k, text in h.done.items())))),
        )
        for h in controls
    ]
    columns = doc.make_columns("control", after=(*book.view.candidates, "found before", "done"))
    summary = basis.describe_controls(controls)
    all_alike = "Every control did what it was told, for all candidates alike."
    return [
        doc.Items(apart) if apart else doc.Prose(all_alike),
        doc.Details(
            f"{format_count(len(controls), 'control')}: {summary}",
            [doc.RowTable(columns, rows)],
        ),
    ]


def _list_host(run: Run) -> list[doc.Block]:
    parts = (("", "cpu", ""), ("", "cores", " cores"), ("kernel ", "kernel", ""))
    machine = ", ".join(f"{a}{run.host[name]}{z}" for a, name, z in parts if name in run.host)
    first: list[doc.Block] = [doc.Prose(doc.TextSpan(machine, link="#host"))] if machine else []
    if run.survey is None:
        return [*first, doc.Prose("Not surveyed when the run began; `dyno doctor` does it.")]
    seen = [_tell_observation(o) for o in run.survey if o.mark != "unknown"]
    unseen = ", ".join(o.name for o in run.survey if o.mark == "unknown")
    nothing = "" if seen else ": nothing that could be seen stands in the way"
    folded = doc.Details(f"{len(seen) - _SHOWN} that weigh less", [doc.Items(seen[_SHOWN:])])
    return [
        *first,
        doc.Prose(f"{compute_host_score(run.survey)} of 100{nothing}."),
        *doc.list_prose([f"Not visible there: {unseen}."] * bool(unseen), "quiet"),
        doc.Items(seen[:_SHOWN]),
        *([folded] if len(seen) > _SHOWN else []),
    ]


def _tell_observation(it: Observation) -> doc.Words:
    hint = f"; {it.hint}" if it.hint else ""
    told = f": {it.found} ({it.why}{hint})"
    return (
        doc.TextSpan(it.mark, _MARKS.get(it.mark, "")),
        " ",
        doc.TextSpan(it.name, "strong"),
        told,
    )


def _list_calibration(run: Run) -> list[doc.Block]:
    known = summarize_calibration(run)
    if not known.when:
        return [doc.Prose((doc.TextSpan("None for this host", "doubt"), ": run `dyno calibrate`."))]
    made_up = "Of the made-up cases the one with most false alarms: "
    stale = (
        [(doc.TextSpan("Stale", "doubt"), f": {'; '.join(known.stale)}.")] if known.stale else []
    )
    without = doc.TextSpan(f"None on {', '.join(known.without)}", "doubt")
    rest = doc.Details(
        f"{len(known.rest)} more, of other engines or made-up", [_list_scores(known.rest)]
    )
    worst = [doc.Prose(f"{made_up}{format_score(known.worst)}.")] if known.worst else []
    return [
        doc.Prose(f"{known.when}, Dyno {known.dyno}."),
        *map(doc.Prose, stale),
        *([doc.Prose((without, ": run `dyno calibrate`."))] if known.without else []),
        _list_scores(known.own),
        *worst,
        *([rest] if known.rest else []),
        doc.Prose("In brackets the 95 % interval of the share that was called slower.", "quiet"),
    ]


def _list_scores(scores: Sequence[Score]) -> doc.Items:
    return doc.Items(list(map(format_score, scores)))


SECTION = Section("What the verdict rests on", 12, build)
