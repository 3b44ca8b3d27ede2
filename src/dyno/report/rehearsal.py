"""The sections of a rehearsal's page, each written once, as data (`document.py`)."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from dyno import numbers
from dyno.judge.analysis.rehearsal import ORDER
from dyno.judge.settings.values import is_same_value
from dyno.numbers import format_count
from dyno.record import (
    ClassTime,
    ClassVerdict,
    ClassWord,
    ComparedStatement,
    OptionVerdict,
    OptionWord,
    Rehearsal,
    name_contents,
)
from dyno.report import Book
from dyno.report import document as doc
from dyno.report.names import describe_candidate

TONES: dict[ClassWord, doc.Tone] = {
    "fails": "bad",
    "answers otherwise": "bad",
    "types or warnings": "doubt",
    "plan changed": "doubt",
    "slower": "bad",
    "faster": "good",
    "accepted": "quiet",
    "not compared": "doubt",
    "same": "",
}
#: Classes that a first screen shows, those that the page's tables do, and letters of a class there.
FIRST, MOST, LETTERS = 12, 200, 160
#: Reasons that a first screen tells, slower classes with a command to explain them, and letters
#: from which on an example may be cut.
FEW, EXPLAINED, EXAMPLE = 3, 5, 2000
#: Audits of what both sides answered, which the classes tell in a rehearsal.
ANSWERS = ("contents", "errors", "results", "rows_changed", "same_work")


def build_rehearsal(book: Book) -> doc.Document:
    """All sections; the first line stands above them."""
    found = find_rehearsal(book)
    blocks = list_tried(book)
    blocks += [doc.Heading("Statement classes", "classes")]
    blocks += [*list_classes(found.classes, MOST), *list_counts(found), *list_proofs(found)]
    options: list[doc.Block] = [*list_options(found, found.options, MOST), *_tell_options(found)]
    sections: tuple[tuple[doc.Heading, list[doc.Block]], ...] = (
        (doc.Heading("Your options", "options"), options if found.options else []),
        (doc.Heading("Upgrade of the data folder", "upgrade"), list_upgrade(found)),
        (doc.Heading("Time", "time"), list_times(book)),
        (
            doc.Heading("Tables in the end: rows, and what breaks constraints", "tables"),
            list_classes(found.tables, MOST),
        ),
        (doc.Heading("Refused by both", "refused"), list_refused(found)),
        (doc.Heading("Settings", "settings"), list_settings(book)),
        (doc.Heading("What was not compared", "uncompared"), list_unjudged(found)),
        (doc.Heading("Left out before anything was played", "left"), list_left_out(found)),
        (doc.Heading("Doubts and noise", "doubts"), list_doubts(book)),
        (doc.Heading("How it was played", "played"), list_facts(book)),
    )
    for heading, own in sections:
        blocks += [heading, *own] if own else []
    return blocks


def build_first_rows(book: Book) -> doc.Document:
    """The first line, and the classes that need a reader."""
    found = find_rehearsal(book)
    grave = [it for it in found.classes if it.word not in ("same", "accepted", "not compared")]
    line = doc.Prose(found.sentence, choose_tone(found))
    doubts = [it for it in list_doubts(book) if isinstance(it, doc.Prose)]
    failing = [it for it in found.options if it.word == "fails"]
    own = list_options(found, failing, FIRST)
    left = [doc.Prose(told, "doubt")] if (told := describe_left_out(found)) else []
    return [line, *list_tried(book)[1:], *list_classes(grave, FIRST), *own, *left, *doubts[:1]]


def list_tried(book: Book) -> list[doc.Block]:
    """What a remedy comes to, for each class that it was tried for."""
    design, found = book.run.design, find_rehearsal(book)
    rows = [
        (
            doc.TextSpan(time.word, _choose_time_tone(time)) if time else "not timed",
            doc.TextSpan(_cut(it.answers.text), code=True),
            describe_time(time) if time else "too rare to be timed by itself",
        )
        for it in found.classes
        if it.answers.text in design.tried_for
        for time in [it.time]
    ]
    columns = doc.make_columns(("verdict", "class"), after=(f"without and with {design.tried}",))
    return [doc.Heading("The remedy", "remedy"), doc.RowTable(columns, rows)] * bool(rows)


def find_rehearsal(book: Book) -> Rehearsal:
    found = book.verdict.rehearsal
    assert found is not None, "a section of a rehearsal, and the run is none"
    return found


def choose_tone(found: Rehearsal) -> doc.Tone:
    """How the first line is to be taken."""
    tones: dict[int, doc.Tone] = {0: "good", 1: "bad"}
    return tones.get(found.exit_code, "doubt")


OPTION_TONES: dict[OptionWord, doc.Tone] = {
    "fails": "bad",
    "warned of": "doubt",
    "accepted": "quiet",
}


def list_options(found: Rehearsal, options: Sequence[OptionVerdict], most: int) -> list[doc.Block]:
    rows = [
        (
            doc.TextSpan(it.word, OPTION_TONES.get(it.word, "")),
            doc.TextSpan(_cut(f"{it.name} = {it.value}" if it.value else it.name), code=True),
            doc.TextSpan(it.old, code=True),
            doc.TextSpan(it.new, code=True),
        )
        for it in options
        if it.word != "taken"
    ]
    sides = (f"{found.base} says", f"{found.own} says")
    columns = doc.make_columns("verdict", after=("option", *sides))
    return [doc.RowTable(columns, rows[:most])]


def _tell_options(found: Rehearsal) -> Iterator[doc.Block]:
    taken = sum(it.word == "taken" for it in found.options)
    held = ", ".join(f"{it.name} ({it.held})" for it in found.options if it.held)
    yield doc.Prose(f"{taken:,} of {format_count(len(found.options), 'option')} are taken alike.")
    if held:
        yield doc.Prose(f"Judged, and not applied on this host: {held}.", "quiet")


def list_upgrade(found: Rehearsal) -> list[doc.Block]:
    """How NEW took over OLD's data folder, in its own words, and the tables' checks."""
    upgrade = found.upgrade
    if upgrade is None:
        return []
    took = numbers.format_quantity(upgrade.duration_s * 1e9, "ns")
    verb = "did not take over" if upgrade.failed else "took over"
    told = f"{found.own} {verb} the data folder that {found.base} had loaded, in {took}"
    rows = [
        (
            doc.TextSpan(
                "faults" if it.faults else "not checked" if it.unchecked else "sound",
                "bad" if it.faults else "doubt" if it.unchecked else "",
            ),
            it.name,
            doc.TextSpan("; ".join(it.faults) or it.unchecked),
        )
        for it in sorted(upgrade.checks, key=lambda it: (not it.faults, not it.unchecked))
    ]
    blocks: list[doc.Block] = [doc.Prose(f"{told}.", "bad" if upgrade.failed else "")]
    if rows:
        columns = doc.make_columns("verdict", after=("check", "found"))
        blocks.append(doc.RowTable(columns, rows[:MOST]))
    if upgrade.words:
        listing = doc.Listing(upgrade.words)
        blocks.append(doc.Details("its own words", [listing], is_printed=True))
    return blocks


def list_counts(found: Rehearsal) -> list[doc.Block]:
    """How many classes each word holds of, and how many executions these are."""
    classes = Counter(it.word for it in found.classes)
    calls = Counter[ClassWord]()
    for it in found.classes:
        calls[it.word] += it.calls
    rows = [
        (doc.TextSpan(word, TONES[word]), f"{classes[word]:,}", f"{calls[word]:,}")
        for word in ORDER
        if classes[word]
    ]
    return [doc.RowTable(doc.make_columns("verdict", "classes", "executions"), rows)]


def list_classes(classes: Sequence[ClassVerdict], most: int) -> list[doc.Block]:
    told = [it for it in classes if it.word != "same"]
    if not told:
        text = f"All are the same ({len(classes):,})."
        return [doc.Prose(text, "good")] if classes else []
    rows = [
        (
            doc.TextSpan(it.word, TONES[it.word]),
            doc.TextSpan(_cut(it.answers.text), code=True),
            _format_calls(it),
            doc.TextSpan(describe_proof(it), code=it.word == "fails"),
        )
        for it in told[:most]
    ]
    columns = doc.make_columns(("verdict", "class"), "calls", after=("proof",))
    blocks: list[doc.Block] = [doc.RowTable(columns, rows)]
    if more := len(told) - most:
        blocks += [doc.Prose(f"and {more:,} more", "quiet")] if more > 0 else []
    return blocks


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


def _format_calls(it: ClassVerdict) -> str:
    """`120`, or `3 of 120` where some of them differ."""
    answers = it.answers
    some = answers.failed if it.word == "fails" else answers.differs
    if answers.sent:
        return f"{it.sent:,}"
    return f"{some:,} of {it.calls:,}" if some and some < it.calls else f"{it.calls:,}"


def describe_proof(it: ClassVerdict) -> str:
    answers = it.answers
    if it.word in ("slower", "faster") and it.time:
        return describe_time(it.time)
    if it.word == "plan changed" and it.is_slower and it.time:
        return f"{it.why}; {describe_time(it.time)}"
    if it.word == "fails" and answers.own:
        return answers.own[0]
    if it.word == "answers otherwise" and answers.base != answers.own:
        return f"{it.why}: {_describe_first_row(answers)}"
    return it.why


def _describe_first_row(answers: ComparedStatement) -> str:
    """`(2, y), not (1, x)`: the first rows that differ."""
    pairs = zip_longest(answers.base, answers.own, fillvalue="")
    base, own = next((base, own) for base, own in pairs if base != own)
    told = (_cut(row) if row[:1] in ("", "(") else f"({_cut(row)})" for row in (own, base))
    return ", not ".join(row or "no row" for row in told)


def describe_time(time: ClassTime) -> str:
    """`1.2 ms → 2.0 ms, +63 % [+46, +82]`; what keeps a word back stands behind."""
    sides = (numbers.format_quantity(each, "ns") for each in (time.base_ns, time.own_ns))
    change = numbers.format_signed_percent(time.change_percent)
    bounds = numbers.format_interval(time.low_percent, time.high_percent)
    told = f"{' → '.join(sides)}, {change} % {bounds}"
    return f"{told}: {time.why}" if time.why else told


def list_proofs(found: Rehearsal) -> Iterator[doc.Block]:
    needing = [it for it in found.classes if it.word not in ("same", "not compared")]
    for it in needing[:MOST]:
        summary = (
            doc.TextSpan(it.word, TONES[it.word]),
            " ",
            doc.TextSpan(_cut(it.answers.text), code=True),
        )
        yield doc.Details(summary, tuple(_list_proof(it, found)), is_printed=True)


def _list_proof(it: ClassVerdict, found: Rehearsal) -> Iterator[doc.Block]:
    answers = it.answers
    if proof := describe_proof(it):
        yield doc.Prose(doc.TextSpan(proof))
    yield doc.Prose(_describe_executions(answers))
    if len(answers.text) > LETTERS:
        yield doc.Listing(answers.text, "the class")
    if answers.example:
        yield doc.Listing(f"{answers.example.rstrip().rstrip(';')};", "an execution, to be pasted")
    if answers.base != answers.own:
        base, own = (side or ("no row",) for side in (answers.base, answers.own))
        pairs = zip_longest(base, own, fillvalue="")
        yield doc.RowTable(
            doc.make_columns(found.base, after=(found.own,)),
            [(doc.TextSpan(one, code=True), doc.TextSpan(two, code=True)) for one, two in pairs],
        )
    if it.plan:
        yield doc.Listing(it.plan.base_plan, f"plan on {found.base}")
        yield doc.Listing(it.plan.plan, f"plan on {found.own}")
    if it.time and it.word not in ("slower", "faster"):
        yield doc.Prose(f"time of an execution: {describe_time(it.time)}")


def _describe_executions(it: ComparedStatement) -> str:
    """`120 executions: 118 the same, 2 different`."""
    of = it.same + it.differs + it.undecidable + it.not_compared
    parts = (
        (it.same, "the same"),
        (it.failed, "failed"),
        (it.differs - it.failed, "different"),
        (it.unsteady, "unsteady on the base itself"),
        (it.undecidable - it.unsteady, "undecidable"),
        (it.downstream, "downstream of an earlier difference"),
        (it.not_compared - it.downstream, "not compared"),
    )
    told = ", ".join(f"{count:,} {words}" for count, words in parts if count > 0)
    return f"{format_count(of, 'execution')}: {told}."


def list_times(book: Book) -> list[doc.Block]:
    """Classes by what they cost more on the whole: calls × difference of means."""
    found = find_rehearsal(book)
    costs = {it.answers.text: abs(it.time.cost_ns) for it in found.classes if it.time}
    timed = [it for it in found.classes if it.time]
    timed.sort(key=lambda it: -costs[it.answers.text])
    if not timed:
        reason = book.verdict.reason or "no statement class was timed by itself"
        why = "as --no-time asks" if book.run.design.untimed else reason
        if book.run.design.saves_answers and len(book.run.candidates) == 1:
            why = "answers and plans are saved, and no times"
        if book.run.design.old_answers:
            why = f"{found.base} was played on another day or host"
        return [doc.Prose(f"Time was not compared: {why}.", "quiet")]
    rows = [
        (
            doc.TextSpan(it.time.word, _choose_time_tone(it.time)),
            doc.TextSpan(_cut(it.answers.text), code=True),
            f"{it.sent:,}",
            f"{it.time.share_percent:.1f} %",
            _format_cost(it.time),
            describe_time(it.time),
        )
        for it in timed[:MOST]
        if it.time
    ]
    heads = ("calls", f"of {found.base}'s time", "in all")
    after = ("an execution, and its interval",)
    columns = doc.make_columns(("verdict", "class"), *heads, after=after)
    said = (
        "Means of an execution in the timed blocks; in all: calls × difference. Intervals and "
        "words count all classes (Holm). An open interval is not shown to differ, and not the same."
    )
    told: list[doc.Block] = [doc.RowTable(columns, rows), doc.Prose(said, "quiet")]
    told += list_explained(book)
    if found.others:
        words = f"All classes that are timed together: {describe_time(found.others)}."
        told.append(doc.Prose(words))
    if untimed := [it for it in found.classes if not it.time and it.answers.same]:
        items = [doc.TextSpan(_cut(it.answers.text), code=True) for it in untimed[:MOST]]
        summary = f"not timed by themselves: {len(untimed):,} class{'es' * (len(untimed) != 1)}"
        told.append(doc.Details(summary, (doc.Items(items),), is_printed=True))
    return told


def list_explained(book: Book) -> list[doc.Block]:
    """The commands that tell where the time of the worst classes goes on both sides, what they
    answer first; of those that read, and whose example is whole.
    """
    run = book.run
    if len(run.candidates) < 2:
        return []
    sides = sorted(run.candidates, key=lambda it: it.name != run.design.base)
    old, new = (it.spec.removeprefix(f"{it.name}=").partition("?")[0] for it in sides)
    setup = run.workloads[0].options.get("setup", "")
    slower = [it for it in find_rehearsal(book).classes if it.is_slower and it.time]
    slower.sort(key=lambda it: -it.time.cost_ns if it.time else 0.0)
    told = [it.answers for it in slower if it.answers.kind == "read" and it.answers.example]
    words = ["--setup", setup, "--against", new]
    lines = [
        shlex.join(["dyno", "explain", old, it.example, *words])
        for it in told[:EXPLAINED]
        if len(it.example) < EXAMPLE
    ]
    title = "what both answer, and the stage that takes the time, of the worst that are slower"
    return [doc.Listing("\n".join(lines), title)] * bool(lines)


def _choose_time_tone(time: ClassTime) -> doc.Tone:
    tones: dict[str, doc.Tone] = {"slower": "bad", "faster": "good", "not shown": "quiet"}
    return tones.get(time.word, "")


def _format_cost(time: ClassTime) -> str:
    sign = "−" if time.cost_ns < 0 else "+"
    return f"{sign}{numbers.format_quantity(abs(time.cost_ns), 'ns')}"


def list_refused(found: Rehearsal) -> list[doc.Block]:
    """Classes of which both sides refuse executions, with the error: the same, and worth a look."""
    rows = [
        (
            doc.TextSpan(_cut(it.answers.text), code=True),
            f"{it.answers.failed_both:,}",
            doc.TextSpan(it.answers.why, code=True),
        )
        for it in found.classes
        if it.answers.failed_both
    ]
    return [
        doc.RowTable(doc.make_columns("class", "executions", after=("error",)), rows[:MOST])
    ] * bool(rows)


#: Settings that name a release, a place or a moment.
_OWN_SETTINGS = re.compile(r"built with|(?:server_|innodb_)?version|timestamp$|.*uuid$|pid_file$")


def list_settings(book: Book) -> list[doc.Block]:
    """Settings that only one release has, and those that it has at another value."""
    found, run = find_rehearsal(book), book.run
    sides = sorted(run.candidates, key=lambda it: it.name != run.design.base)
    old, new = (_find_settings(book, side.name) for side in (sides[0], sides[-1]))
    if not (old and new):
        return []
    columns = doc.make_columns("setting", after=(found.base, found.own))
    other = "at another default" if found.options else "at another value"
    groups = (
        (f"only {found.base} has", sorted(old.keys() - new)),
        (
            other,
            [it for it in sorted(old.keys() & new) if not is_same_value(old[it], new[it])],
        ),
        (f"only {found.own} has", sorted(new.keys() - old)),
    )
    blocks: list[doc.Block] = []
    for words, names in groups:
        rows = [
            (
                doc.TextSpan(it, code=True),
                *(doc.TextSpan(side.get(it, ""), code=True) for side in (old, new)),
            )
            for it in names
        ]
        if rows:
            summary = f"{format_count(len(rows), 'setting')} {words}"
            blocks.append(doc.Details(summary, (doc.RowTable(columns, rows),), is_printed=True))
    said = "what Dyno sets on both is alike, and ?profile=stock sets none."
    if found.options:
        said = "both have the options of your file, and else each release's own defaults."
    said = f"As the servers report them; {said}"
    return [*blocks, doc.Prose(said, "quiet")] if blocks else []


def _find_settings(book: Book, candidate: str) -> dict[str, str]:
    """What a side's server reported first, without what is its own by nature."""
    names = (candidate, name_contents(candidate))
    trials = [*book.view.played_trials, *book.view.contents]
    read = next((t.settings for t in trials if t.candidate in names and t.settings), {})
    return {
        name: value
        for name, value in read.items()
        if not (_OWN_SETTINGS.match(name) or value.startswith("/"))
    }


def list_unjudged(found: Rehearsal) -> list[doc.Block]:
    """Executions that say nothing of NEW, by name and by reason."""
    if not found.unjudged:
        return []
    rows = [(name, f"{count:,}") for name, count in found.unjudged.items()]
    reasons = Counter[str]()
    for it in found.classes:
        answers = it.answers
        if answers.why and not answers.differs and answers.undecidable + answers.not_compared:
            reasons[answers.why] += answers.undecidable + answers.not_compared
    why = [(text, f"{count:,}") for text, count in reasons.most_common(MOST)]
    return [
        doc.RowTable(doc.make_columns("executions that were", "count"), rows),
        doc.RowTable(doc.make_columns("reason", "executions"), why),
    ]


def describe_left_out(found: Rehearsal) -> str:
    """`Left out: 3 of the log (…), …`; empty where nothing is."""
    told = [f"{it.count:,} of the {it.of} ({it.why})" for it in found.left_out]
    more = f", and for {len(told) - FEW} more reasons" if len(told) > FEW else ""
    return f"Left out, and compared nowhere: {', '.join(told[:FEW])}{more}." if told else ""


def list_left_out(found: Rehearsal) -> list[doc.Block]:
    """What of the log and the dump nobody played, by its reason."""
    rows = [(it.of, f"{it.count:,}", it.why, doc.TextSpan(it.where)) for it in found.left_out]
    columns = doc.make_columns("of the", "count", after=("reason", "the first"))
    return [doc.RowTable(columns, rows[:MOST])] * bool(rows)


def list_doubts(book: Book) -> list[doc.Block]:
    blocks: list[doc.Block] = [
        doc.Prose(
            (doc.TextSpan(it.soundness, "doubt"), doc.TextSpan(f" by {it.audit}: {it.sentence}"))
        )
        for it in book.verdict.findings
        if it.soundness in ("doubtful", "invalid") and it.audit not in ANSWERS
    ]
    blocks += [
        doc.Prose(f"block {it.block + 1} was dropped: {it.reason}") for it in book.verdict.dropped
    ]
    changes = [it for cause in book.verdict.causes for it in cause.plan_changes]
    blocks += [
        doc.Prose(
            (
                "the plan of ",
                doc.TextSpan(_cut(it.statement), code=True),
                (f" varies from restart to restart: {it.step}, and {it.base_step}"),
            )
        )
        for it in changes
        if it.kind != "between"
    ]
    return blocks


def list_facts(book: Book) -> list[doc.Block]:
    run, found = book.run, find_rehearsal(book)
    sides = " and ".join(describe_candidate(side) for side in run.candidates)
    parts = [f"{sides}; {found.calls:,} executions of {len(found.classes):,} classes"]
    if run.design.old_answers:
        saved = next(
            it for it in book.view.contents if it.candidate == name_contents(run.design.base)
        )
        parts.append(f"{found.base} was played at {saved.started_utc}, its answers are saved ones")
    parts.append(format_count(found.blocks, "timed block"))
    parts.append(f"plans compared: {found.plans}")
    return [doc.Prose("; ".join(parts)), doc.Listing(run.command, "the same again")]
