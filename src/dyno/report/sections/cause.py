"""Section: what changed, in a sentence, and the layers, plans and counters that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from dyno import numbers
from dyno.judge.analysis.cpu_samples import CodePlace, list_sampled_phases
from dyno.judge.analysis.frames import build_flat_frames, build_stack_frames, find_callers
from dyno.judge.analysis.layer_words import (
    describe_cpu_sampling,
    describe_explained,
    describe_unattributed,
    format_ends,
    format_time,
)
from dyno.numbers import format_count
from dyno.record import Cause, PhaseRecord, PlanChange, WaitDifference
from dyno.record.cause import CauseClause, CpuDifference, FunctionDifference, LayerDifference
from dyno.report import Book, Section, words
from dyno.report import document as doc

#: Phases of a candidate that have a flame graph: those that changed most.
FLAMES_MOST = 4
#: Events that a row of waits names, the largest first.
EVENTS_NAMED = 3
#: How a layer's word is to be taken.
TONES: dict[str, doc.Tone] = {"costlier": "bad", "cheaper": "good", "undecided": ""}
#: Where callers were not sampled.
NO_CALLERS: Mapping[CodePlace, tuple[str, float]] = MappingProxyType({})
#: What stands behind the tables.
METHOD = (
    "Plans are what each engine answers to EXPLAIN before the first and after the last phase, "
    "without estimates and values; nothing is executed. A plan has changed where no restart of the "
    "candidate shares one with the base. CPU time is sampled beside the phases; a layer's time is "
    "its share of the samples of the CPU time that the kernel charged, and its datum the "
    "difference as a share of the base's whole, block by block. In a virtual machine the first "
    "microseconds after each wake-up are sampled too seldom. Counters are the whole server's, its "
    "work in the background and a question of ours included; their intervals are over blocks, and "
    "Holm's method counts all rows of a table."
)
CAPTION = (
    "A frame's width is its CPU time of an operation, what it calls included; of the difference, "
    "that of the side with more, so that what vanished is shown too. A frame is coloured only "
    "where its interval excludes zero and Benjamini and Hochberg agree over all of some size. "
    "Click or press Enter to zoom, Escape to zoom out, arrows to move, / to search."
)
FLAT = " Callers were not sampled (--profile stacks does it): below each layer stand its functions."
DIVIDED = (
    " Callers are those of one trial of each side: the times that the blocks measured are divided "
    "among them. A frame's colour and interval are those of its function's own code."
)


def build(book: Book) -> doc.Document:
    """The sentences and, of each plan that differs, both; nothing where nothing was looked at."""
    causes = book.verdict.causes
    if not causes:
        return []
    found = [block for cause in causes for block in _list_blocks(book, cause)]
    return [*found, *doc.list_prose([describe_cpu_sampling(book.run), METHOD], "quiet")]


def _list_blocks(book: Book, cause: Cause) -> Iterator[doc.Block]:
    yield doc.Prose(_link_clauses(book, cause))
    yield from _list_layers(book, cause)
    base = book.view.candidates[0]
    for at, it in enumerate(cause.plan_changes):
        anchor = _name_anchor(book, cause, "plans") if at == 0 else ""
        first, then = _choose_titles(base, it)
        yield doc.Heading(it.statement, anchor, within=True)
        restarts = f"{it.restarts} of {it.of} restarts"
        yield doc.Prose(f"{it.workload}: {first}, then {then} ({restarts})")
        yield from (doc.Listing(it.base_plan), doc.Listing(it.plan))
    yield _build_counters(book, cause)
    records = [
        record
        for trial in book.view.trials
        if trial.candidate in (book.run.design.base, cause.candidate)
        for record in trial.phases
    ]
    anchor = _name_anchor(book, cause, "waits")
    yield from build_waits(
        cause, book.run.design.base, words.format_level(book.run), anchor, records
    )
    for why, count in (cause.unexplained or {}).items():
        yield doc.Prose(f"{format_count(count, 'statement')} without a plan: {why}.", "quiet")


def _name_anchor(book: Book, cause: Cause, table: str, phase: int = 0) -> str:
    """`layers-1`, of the second candidate; of its further phases `layers-1-2`."""
    name = f"{table}-{book.view.candidates.index(cause.candidate)}"
    return f"{name}-{phase}" if phase else name


def _link_clauses(book: Book, cause: Cause) -> list[doc.TextSpan]:
    """The sentence's parts, each a link to its table where it has one."""
    shown = {
        "plans": cause.plan_changes,
        "counters": cause.counters,
        "layers": cause.cpu,
        "waits": cause.waits,
        "instructions": cause.instructions,
    }
    spans: list[doc.TextSpan] = []
    for each in cause.clauses or (CauseClause(cause.sentence, ""),):
        anchor = f"#{_name_anchor(book, cause, each.table)}" if shown.get(each.table) else ""
        text = each.text if spans else f"{each.text[:1].upper()}{each.text[1:]}"
        spans += [doc.TextSpan("; ")] if spans else []
        spans += (doc.TextSpan(it.text, code=it.code, link=anchor) for it in doc.list_spans(text))
    return spans


def _build_counters(book: Book, cause: Cause) -> doc.RowTable:
    base = book.view.candidates[0]
    rows: list[doc.TableRow] = []
    for it in cause.counters:

        def write(value: float, unit: str = it.unit) -> str:
            return numbers.format_quantity(value, unit)

        values = map(write, (it.base_value, it.candidate_value, it.difference))
        ends = numbers.format_interval(it.low, it.high, write)
        name = f"{it.workload}, {it.phase}: {it.counter.replace('_', ' ')}"
        rows.append((name, *values, ends, "yes" if it.differs else ""))
    heads = (base, cause.candidate, "difference", words.format_level(book.run))
    title = f"What {cause.candidate}'s server counted for an operation, against {base}"
    anchor = _name_anchor(book, cause, "counters")
    return doc.RowTable(
        doc.make_columns("counter", *heads, after=("differs",)), rows, title, anchor
    )


def _list_layers(book: Book, cause: Cause) -> Iterator[doc.Block]:
    design, analyses = book.run.design, book.view.analyses
    sampled = {
        (each.workload, each.phase): each
        for each in list_sampled_phases(book.view, cause.candidate)
    }
    for at, cpu in enumerate(cause.cpu):
        anchor = _name_anchor(book, cause, "layers", at)
        own = book.find_stacks(cause.candidate, cpu.workload, cpu.phase)
        callers = find_callers(own) if own else {}
        yield from build_layers(cpu, design.base, words.format_level(book.run), anchor, callers)
        phase = sampled.get((cpu.workload, cpu.phase))
        if phase is None or at >= FLAMES_MOST:
            continue
        sides = design.base, cause.candidate
        base = book.find_stacks(design.base, cpu.workload, cpu.phase)
        has_stacks = base and own
        tree = build_flat_frames(phase, analyses)
        if base and own:
            tree = build_stack_frames(phase, analyses, base, own)
        caption = CAPTION + (DIVIDED if has_stacks else FLAT)
        if tree.left_out:
            most = numbers.format_quantity(tree.least_ns, "ns", 2)
            caption += f" {tree.left_out:,} frames of at most {most} an operation are left out."
        title = f"CPU time of an operation, {sides[1]} against {sides[0]}: {phase.workload}"
        yield doc.Flame(
            *(tree, sides, title, f"flame-{anchor}", caption, phase.base_ns),
            is_flat=not has_stacks,
        )
        if has_stacks and (host := book.find_stacks_host(cpu.workload)):
            yield doc.Prose(f"Its callers were sampled on {host}.", "quiet")


def build_first_layers(book: Book) -> list[doc.Block]:
    """Of each candidate's phase that changed most the table of layers, without functions."""
    found = [cause.cpu[0] for cause in book.verdict.causes if cause.cpu]
    level = words.format_level(book.run)
    tables = (next(build_layers(cpu, book.run.design.base, level, "")) for cpu in found)
    return [block for table in tables for block in (doc.Prose(""), table)]


def build_layers(
    cpu: CpuDifference,
    base: str,
    level: str,
    anchor: str,
    callers: Mapping[CodePlace, tuple[str, float]] = NO_CALLERS,
) -> Iterator[doc.Block]:
    """The whole, its layers, and behind a fold the functions of each, those of the C library with
    whom `callers` has for them.
    """

    def name(function: FunctionDifference) -> str:
        caller, share = callers.get(CodePlace(function.layer, function.name), ("", 0.0))
        called = f" (called by {caller}, {100 * share:.0f} %)" if caller else ""
        return function.name + called

    heads = (base, cpu.candidate, "difference", level)
    title = (
        f"CPU time of an operation by layer, {cpu.candidate} against {base}: "
        f"{cpu.workload}, {cpu.phase}"
    )
    rows: list[doc.TableRow] = [
        (
            doc.TextSpan(each.layer, "" if at else "strong"),
            *_format_times(cpu, each),
            doc.TextSpan(each.word, TONES.get(each.word, "quiet")),
        )
        for at, each in enumerate((cpu.total, *cpu.layers))
    ]
    yield doc.RowTable(doc.make_columns("layer", *heads, after=("word",)), rows, title, anchor)
    yield doc.Prose(" ".join(_list_notes(cpu)), "quiet")
    functions: list[doc.TableRow] = []
    for layer in cpu.layers:
        functions += [doc.Group(layer.layer)] if layer.functions else []
        functions += (
            (name(it), *_format_times(cpu, it), "yes" if it.differs else "")
            for it in layer.functions
        )
    if functions:
        table = doc.RowTable(doc.make_columns("function", *heads, after=("differs",)), functions)
        yield doc.Details("Functions that changed most, by layer", [table])


def _format_times(cpu: CpuDifference, row: LayerDifference | FunctionDifference) -> list[str]:
    scale_ns = cpu.total.base_ns
    times = [format_time(ns, scale_ns, further=1) for ns in (row.base_ns, row.candidate_ns)]
    difference = format_time(row.difference_ns, scale_ns, signed=True, further=1)
    return [*times, difference, format_ends(row.low_ns, row.high_ns, scale_ns, further=1)]


def _list_notes(cpu: CpuDifference) -> Iterator[str]:
    yield f"{cpu.blocks} sampled blocks."
    yield (
        "The whole is tested first. Where it differs surely its layers are, by Holm's method over "
        f"the {cpu.tested} that hold half a per cent; a layer's margin is "
        f"{cpu.margin_percent:g} % of all CPU time."
    )
    if cpu.is_across_engines:
        yield "The two engines share no layers of their own, so these are one."
    for said in filter(None, (describe_unattributed(cpu), describe_explained(cpu))):
        yield f"{said}."


def build_waits(
    cause: Cause, base: str, level: str, anchor: str, records: Sequence[PhaseRecord]
) -> list[doc.Block]:
    """The table of what a candidate's sessions waited for, and how that is known; `records` are all
    phases of both sides.
    """

    def write(us: float) -> str:
        return numbers.format_quantity(us, "µs")

    rows: list[doc.TableRow] = []
    ordered = sorted(cause.waits, key=lambda it: (it.workload, it.phase))
    for place, own in groupby(ordered, key=lambda it: (it.workload, it.phase)):
        rows.append(doc.Group(", ".join(place)))
        for it in own:
            sides = ((it.base_us, it.base_share), (it.candidate_us, it.candidate_share))
            times = (f"{write(us)}{_format_share(share)}" for us, share in sides)
            ends = numbers.format_interval(it.low_us, it.high_us, write)
            differs = "yes" if it.differs else ""
            told = (write(it.difference_us), ends, differs, _list_events(it))
            rows.append((_name_wait(it), *times, *told))
    heads = (base, cause.candidate, "difference", level)
    columns = doc.make_columns("waiting for", *heads, after=("differs", "most of it"))
    what = f"What {cause.candidate}'s sessions were at for an operation, against {base}"
    title = f"{what}, with its share of the database's time"
    return [
        *doc.list_prose(list_missing(cause, records), "quiet"),
        doc.RowTable(columns, rows, title, anchor),
        *doc.list_prose([_describe_sampling(records)], "quiet"),
    ]


#: What a probe of the server's own counts is called.
ASKED = {"work": "the counters of its own work", "contention": "page splits and lock waits"}


def list_missing(cause: Cause, records: Sequence[PhaseRecord]) -> list[str]:
    """A sentence for each thing that a server was asked for and did not tell, and for counters that
    one side does not know: all others stand.
    """
    reasons = {
        f"A server did not tell {what}: {record.unread[probe].rstrip('.')}."
        for record in records
        for probe, what in ASKED.items()
        if probe in record.unread
    }
    words = ", ".join(name.replace("_", " ") for name in cause.uncounted)
    one_sided = [f"Not compared, since one side does not count it: {words}."] if words else []
    return sorted(reasons) + one_sided


def _name_wait(wait: WaitDifference) -> str:
    if wait.is_counted:
        return f"{wait.kind}, by the engine's own count"
    return "nothing: running" if wait.kind == "running" else wait.kind


def _format_share(share: float | None) -> str:
    """`, 40.0 %`; empty where it is not known."""
    return "" if share is None else f", {100 * share:.1f} %"


def _list_events(wait: WaitDifference) -> str:
    events = (wait.events if wait.difference_us > 0 else wait.base_events) or {}
    return ", ".join([name for name, us in events.items() if name and us > 0][:EVENTS_NAMED])


def _describe_sampling(records: Sequence[PhaseRecord]) -> str:
    sampled = [(record, record.waits) for record in records if record.waits]
    if not sampled:
        why = next((record.unread["waits"] for record in records if "waits" in record.unread), "")
        return f"Sessions were not sampled: {why}." if why else ""
    own_ns = sum(record.own_time_ns for record, _ in sampled)
    cost = 100 * sum(waits.cpu_ns for _, waits in sampled) / max(1, own_ns)
    return (
        f"Sessions were sampled {sum(waits.samples for _, waits in sampled):,} times, on all sides "
        f"alike; asking took {cost:.2g} % of a core beside what the server took to answer. Who "
        "waits for the client's next statement is left out."
    )


def _choose_titles(base: str, change: PlanChange) -> tuple[str, str]:
    if change.kind in ("during", "both"):
        return f"{change.candidate} at the start", "at the end"
    return base, change.candidate


SECTION = Section("What changed", 12, build)
