"""Section: what the verdict rests on; where a sceptic looks first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from dyno.judge.analysis.sentence import describe_pilot
from dyno.record import Finding, Observation, Run, Score, compute_host_score
from dyno.report import Book, Section, basis, facts, words
from dyno.report.basis import (
    NONE,
    describe_clients,
    format_score,
    summarize_calibration,
    summarize_restarts,
)
from dyno.report.block_cost import describe_block_cost
from dyno.report.document import (
    Block,
    Details,
    Document,
    Heading,
    Items,
    Prose,
    RowTable,
    TableRow,
    Terms,
    TextSpan,
    Tone,
    Words,
    list_prose,
    make_columns,
)
from dyno.report.facts import link_trials, tell_soundness

#: Of losses and of the host's observations; the rest is folded.
_SHOWN = 5
#: The same on a terminal, and of scores of the calibration.
_BRIEF = 3
#: How an observation's mark is to be taken.
_MARKS: dict[str, Tone] = {"poor": "bad", "fair": "doubt", "good": "good"}
_FOLDED = (
    ("not checked", "what was not checked, and why"),
    ("does not apply", "what does not apply to this run, and why"),
    ("sound", "what was found sound"),
)


def build(book: Book) -> Document:
    """Restarts, audits, conditions, host and calibration, each in a few lines."""
    return [
        Terms(
            [
                ("Restarts", _list_restarts(book)),
                ("Audits", _list_audits(facts.sort_worst_first(book.verdict.findings))),
                ("Pilot", list_prose(describe_pilot(book.run))),
                ("Conditions", _list_conditions(book)),
                ("Host", _list_host(book.run)),
                ("Calibration", _list_calibration(book.run)),
            ]
        )
    ]


def _list_restarts(book: Book) -> list[Block]:
    played, limits = summarize_restarts(book), basis.describe_limits(book.run)
    restarts = ", ".join(filter(None, (played.counted, played.loads)))
    losses: list[Words] = list(played.losses[:_SHOWN])
    if more := len(played.losses) - _SHOWN:
        losses += [TextSpan(f"and {more} more", link="#audits")] if more > 0 else []
    cost = describe_block_cost(book)
    return [
        Prose(f"{restarts}."),
        *list_prose([f"Restarts of one candidate {played.spread}."] * bool(played.spread), "quiet"),
        *([] if losses else [Prose("Nothing was dropped, failed or begun anew.")]),
        Items(losses),
        *list_prose([f"{cost[:1].upper()}{cost[1:]}."] * bool(cost), "quiet"),
        *list_prose([f"Limits declared before: {limits}."] * bool(limits), "quiet"),
    ]


def _list_audits(findings: Sequence[Finding]) -> list[Block]:
    counts: list[str | TextSpan] = []
    for word, number in facts.count_findings(findings).items():
        counts += [", "] if counts else []
        counts.append(TextSpan(facts.format_count(word, number), facts.TONES.get(word, "quiet")))
    unsound: list[Words] = []
    for f in findings:
        if f.soundness in ("invalid", "doubtful"):
            trials = ["; trials ", *link_trials(f.trials)] if f.trials else []
            told = (TextSpan(f.audit, "strong"), f": {f.sentence}")
            unsound.append([tell_soundness(f), " ", *told, *trials])
    folded = []
    for folded_word, title in _FOLDED:
        own = [it for it in findings if it.soundness == folded_word]
        items = [(TextSpan(it.audit, "strong"), f": {it.sentence}") for it in own]
        folded += [Details(title, [Items(items)])] if own else []
    return [Prose([*(counts or ["No audit has judged this run"]), "."]), Items(unsound), *folded]


def _list_conditions(book: Book) -> list[Block]:
    controls = basis.summarize_controls(book)
    if not controls:
        return [Prose("This run has no controls on record.")]
    apart: list[Words] = [
        ("≠ ", TextSpan(h.sentence, "strong"), ": the candidates differ in it")
        for h in controls
        if h.differs
    ]
    apart += [(TextSpan(h.control, "doubt"), f" {h.refused}") for h in controls if h.refused]
    rows: list[TableRow] = [
        (
            f"{'≠ ' if h.differs else ''}{h.control}",
            *(h.values[name] for name in book.view.candidates),
            h.before,
            "; ".join(filter(None, (h.refused, *(f"{k} {text}" for k, text in h.done.items())))),
        )
        for h in controls
    ]
    columns = make_columns("control", after=(*book.view.candidates, "found before", "done"))
    summary = basis.describe_controls(controls)
    all_alike = "Every control did what it was told, for all candidates alike."
    return [
        Items(apart) if apart else Prose(all_alike),
        Details(
            f"{words.format_count(len(controls), 'control')}: {summary}", [RowTable(columns, rows)]
        ),
    ]


def _list_host(run: Run) -> list[Block]:
    parts = (("", "cpu", ""), ("", "cores", " cores"), ("kernel ", "kernel", ""))
    machine = ", ".join(f"{a}{run.host[name]}{z}" for a, name, z in parts if name in run.host)
    first: list[Block] = [Prose(TextSpan(machine, link="#host"))] if machine else []
    if run.survey is None:
        return [*first, Prose("Not surveyed when the run began; `dyno doctor` does it.")]
    seen = [_tell_observation(o) for o in run.survey if o.mark != "unknown"]
    unseen = ", ".join(o.name for o in run.survey if o.mark == "unknown")
    nothing = "" if seen else ": nothing that could be seen stands in the way"
    folded = Details(f"{len(seen) - _SHOWN} that weigh less", [Items(seen[_SHOWN:])])
    return [
        *first,
        Prose(f"{compute_host_score(run.survey)} of 100{nothing}."),
        *list_prose([f"Not visible there: {unseen}."] * bool(unseen), "quiet"),
        Items(seen[:_SHOWN]),
        *([folded] if len(seen) > _SHOWN else []),
    ]


def _tell_observation(it: Observation) -> Words:
    hint = f"; {it.hint}" if it.hint else ""
    told = f": {it.found} ({it.why}{hint})"
    return (TextSpan(it.mark, _MARKS.get(it.mark, "")), " ", TextSpan(it.name, "strong"), told)


def _list_calibration(run: Run) -> list[Block]:
    known = summarize_calibration(run)
    if not known.when:
        return [Prose((TextSpan("None for this host", "doubt"), ": run `dyno calibrate`."))]
    made_up = "Of the made-up cases the one with most false alarms: "
    stale = [(TextSpan("Stale", "doubt"), f": {'; '.join(known.stale)}.")] if known.stale else []
    without = TextSpan(f"None on {', '.join(known.without)}", "doubt")
    rest = Details(
        f"{len(known.rest)} more, of other engines or made-up", [_list_scores(known.rest)]
    )
    worst = [Prose(f"{made_up}{format_score(known.worst)}.")] if known.worst else []
    return [
        Prose(f"{known.when}, Dyno {known.dyno}."),
        *map(Prose, stale),
        *([Prose((without, ": run `dyno calibrate`."))] if known.without else []),
        _list_scores(known.own),
        *worst,
        *([rest] if known.rest else []),
        Prose("In brackets the 95 % interval of the share that was called slower.", "quiet"),
    ]


def _list_scores(scores: Sequence[Score]) -> Items:
    return Items(list(map(format_score, scores)))


def build_brief(book: Book) -> Document:
    """A line each for restarts, audits, pilot, conditions, host and calibration."""
    terms = [(name, list_prose(own)) for name, own in _list_rows(book)]
    return [Heading("what it rests on"), Terms(terms), Prose("")]


def _list_rows(book: Book) -> Iterator[tuple[str, Sequence[str]]]:
    found = summarize_restarts(book)
    lost = f"; {len(found.losses)} lost" if found.losses else "; nothing lost"
    restarts = ", ".join(filter(None, (found.counted, found.loads))) + lost
    spread = f"of one candidate {found.spread}" if found.spread else ""
    yield "restarts", (restarts, spread, describe_block_cost(book))
    yield "audits", [_describe_audits(book)]
    yield "pilot", describe_pilot(book.run)
    yield "conditions", [_describe_conditions(book)]
    yield "host", [_describe_host(book.run.survey)]
    yield "clients", [describe_clients(book).removeprefix("clients ")]
    yield "by host", list(_list_host_effects(book))
    yield "calibration", _describe_errors(book)


def _list_host_effects(book: Book) -> Iterator[str]:
    """`select rate, new: a +5.0 % [4.1, 5.9], b +4.8 % […]`, a line for each primary."""
    for row in book.verdict.comparisons:
        if row.primary and row.hosts:
            told = ", ".join(map(words.format_host_effect, row.hosts))
            yield f"{words.format_full_metric(row.metric)}, {row.candidate}: {told}"


def _describe_audits(book: Book) -> str:
    """`21 sound, 3 not checked (clock, noise, …), 11 do not apply`; the page says why."""
    findings = book.verdict.findings
    unchecked = dict.fromkeys(f.audit for f in findings if f.soundness == "not checked")
    told = [
        facts.format_count(word, number)
        + (f" ({', '.join(unchecked)})" if word == "not checked" else "")
        for word, number in facts.count_findings(findings).items()
    ]
    return ", ".join(told) or "none"


def _describe_conditions(book: Book) -> str:
    controls = basis.summarize_controls(book)
    refused = [f"{h.control}: {h.refused}" for h in controls if h.refused]
    return (
        "; ".join(filter(None, (basis.describe_controls(controls), *refused))) or "none on record"
    )


def _describe_host(survey: tuple[Observation, ...] | None) -> str:
    if survey is None:
        return "not surveyed: `dyno doctor` does it"
    against = [o for o in survey if o.points][:_BRIEF]
    told = (
        f"{mark}: {', '.join(f'{o.name} ({o.found})' for o in group)}"
        for mark, group in groupby(against, key=lambda o: o.mark)
    )
    return "; ".join((f"{compute_host_score(survey)} of 100", *told))


def _describe_errors(book: Book) -> list[str]:
    known = summarize_calibration(book.run)
    if not known.when:
        return [NONE]
    stale = [f"STALE: {'; '.join(known.stale)}"] if known.stale else []
    without = [f"none on {', '.join(known.without)}: run `dyno calibrate`"] if known.without else []
    best = [*known.own, *([known.worst] if known.worst else [])][:_BRIEF]
    return [f"{known.when}", *stale, *without, *map(format_score, best)]


SECTION = Section("What the verdict rests on", 12, build)
