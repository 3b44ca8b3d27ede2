"""A server that was profiled, as a document: layers, waits, statements with their plans, flame
graph; of one profile, or of two beside each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from dyno import numbers
from dyno.judge.analysis.cpu_samples import CodePlace, CpuTime, name_place
from dyno.judge.analysis.frames import FRAMES_MOST, SHARE_LEAST, Frame, FrameTree
from dyno.judge.analysis.server_profiles import (
    NS,
    WHOLE,
    ProfileRow,
    compare_functions_of_profiles,
    compare_rows,
    compare_statements,
    list_cpu_series,
    list_unlike,
    list_wait_events,
    list_wait_series,
    sum_by_layer,
    tell_rows,
)
from dyno.record.server_profile import ServerProfile, StatementTime
from dyno.report import document as doc
from dyno.report.result import Result

#: Functions and events that a table names.
FUNCTIONS_SHOWN, EVENTS_SHOWN = 40, 3
#: How much of a statement stands in a table's row; its plan has all that is kept.
TEXT_SHOWN = 300
#: So much of a statement, and so many rows, a terminal shows; the page has all.
TEXT_BRIEF, ROWS_BRIEF = 50, 14
BATCHES = (
    "Intervals are of 95 %, by batches of neighbouring slices; they tell of this time, and of no"
    " other load or restart."
)


def build_profile_result(profile: ServerProfile, base: ServerProfile | None = None) -> Result:
    """Return a profile, with `base` an earlier one beside it: it has no verdict."""
    question = "Where does its time go"
    return Result(
        noun="a profile of a server",
        name=profile.name,
        headline=profile.name,
        created_utc=f"{profile.began_utc} UTC, {profile.elapsed_s:.0f} s",
        question=f"{question}, and where did it go at {base.began_utc} UTC?"
        if base
        else f"{question}?",
        document=build_profile(profile, base),
    )


def build_profile(profile: ServerProfile, base: ServerProfile | None = None) -> doc.Document:
    blocks = [doc.Heading("Summary", "summary"), *_build_summary(profile, base)]
    series, before = list_cpu_series(profile), list_cpu_series(base) if base else {}
    if series:
        layers, functions = _build_layers(profile, base), list(tell_rows(series))
        functions.sort(key=lambda row: -row.value)
        if before:
            functions = compare_functions_of_profiles(before, series)
        shown = _build_table("function", functions[:FUNCTIONS_SHOWN], format_core, groups="layer")
        blocks += [doc.Heading("CPU time by layer", "layers"), layers, doc.Prose(BATCHES, "quiet")]
        blocks += [doc.Heading("Flame graph", "flame"), _build_flame(profile, base)]
        blocks += [doc.Heading("Functions", "functions"), shown]
    if profile.waits:
        blocks += [
            doc.Heading("Waits", "waits"),
            _build_waits(profile, base),
            doc.Prose(WAITING, "quiet"),
        ]
    if profile.statements:
        blocks += [doc.Heading("Statements", "statements"), _list_statements(profile)]
        blocks += _compare_statements(profile, base) if base else []
        blocks += _list_plans(profile)
    return blocks


def build_brief_profile(profile: ServerProfile, base: ServerProfile | None = None) -> doc.Document:
    blocks: list[doc.Block] = [doc.Prose(describe_profile(profile)), doc.Prose("")]
    if list_cpu_series(profile):
        blocks += [
            *doc.cut_table(_build_layers(profile, base), ROWS_BRIEF, "layers"),
            doc.Prose(""),
        ]
    if profile.waits:
        blocks += [_build_waits(profile, base), doc.Prose("")]
    if profile.statements:
        compared = _compare_statements(profile, base, TEXT_BRIEF) if base else []
        tables = [it for it in compared if isinstance(it, doc.RowTable)]
        (table,) = tables or [_list_statements(profile, TEXT_BRIEF)]
        blocks += doc.cut_table(table, ROWS_BRIEF, "statements")
        blocks += doc.list_prose([SOURCES[profile.statement_source]])
        if planned := next((it for it in profile.statements if it.plan), None):
            text = shorten_text(planned.text, TEXT_BRIEF)
            blocks.append(doc.Listing(planned.plan, f"plan of {text}:"))
        blocks.append(doc.Prose(""))
    return [*blocks, *doc.list_prose([BATCHES] if base else []), *_build_summary(profile, base)[1:]]


def _build_summary(profile: ServerProfile, base: ServerProfile | None) -> list[doc.Block]:
    missing = [f"Missing: {it}." for it in profile.missing]
    unlike = list_unlike(base, profile) if base else []
    taken = describe_taking(profile)
    return [
        doc.Prose(describe_profile(profile)),
        *doc.list_prose([*missing, *unlike, taken], "quiet"),
    ]


def describe_profile(profile: ServerProfile) -> str:
    parts = []
    if series := list_cpu_series(profile):
        whole, *layers = tell_rows(sum_by_layer(series))
        most = ", ".join(
            f"{each.name} {100 * each.value / whole.value:.0f} %"
            for each in layers[:3]
            if whole.value
        )
        parts.append(f"{format_core(whole.value)} of a core: {most}")
    if waits := tell_rows(list_wait_series(profile)):
        total = sum(row.value for row in waits)
        most = ", ".join(
            f"{name_wait(row.name)} {100 * row.value / total:.0f} %" for row in waits[:3] if total
        )
        parts.append(f"{total:.2f} sessions at work on average: {most}")
    return "; ".join(parts) or "nothing was met but its statements"


def describe_taking(profile: ServerProfile) -> str:
    parts = [f"{profile.elapsed_s:.1f} s in slices of {profile.slice_s:g} s"]
    if cpu := profile.cpu:
        whose = "by what the kernel charged" if cpu.charged_ns else "by the period of the samples"
        parts.append(f"{cpu.profile.samples:,} samples of CPU time, which is told {whose}")
        if cpu.profile.lost:
            parts.append(f"{cpu.profile.lost:,} samples were lost")
    if profile.waits:
        looks = sum(each.samples for each in profile.waits)
        parts.append(f"{looks:,} looks at the sessions")
    said = ", ".join(parts) + f"; cost about {profile.cost_percent:.2g} % of the host's cores."
    return f"{said} It is shorter than was asked for: {profile.ended}." if profile.ended else said


def name_wait(kind: str) -> str:
    return "nothing: running" if kind == "running" else kind


Write = Callable[[float], str]


def format_core(share: float) -> str:
    """A share of one core: `12.3 %`."""
    return f"{100 * share:.3g} %" if math.isfinite(share) else numbers.DASH


def _format_ends(low: float, high: float, write: Write) -> str:
    """An interval; empty where slices are too few."""
    return "" if math.isnan(low) else numbers.format_interval(low, high, write)


def _build_layers(profile: ServerProfile, base: ServerProfile | None) -> doc.RowTable:
    layers = sum_by_layer(list_cpu_series(profile))
    before = list_cpu_series(base) if base else {}
    rows = compare_rows(sum_by_layer(before), layers) if before else tell_rows(layers)
    return _build_table("layer", rows, format_core)


def _build_table(
    what: str,
    rows: Sequence[ProfileRow],
    write: Write,
    signed: Write = lambda share: f"{100 * share:+.3g}",
    *,
    groups: str = "",
) -> doc.RowTable:
    """Values of one profile with their share of the whole, or of two with their difference."""
    whole = next((row.value for row in rows if row.name == WHOLE), None)
    is_compared = any(row.other is not None for row in rows)
    made: list[doc.TableRow] = []
    for row in rows:
        cells = [row.group] if groups else []
        cells.append(write(row.value))
        if row.other is not None:
            ends = _format_ends(row.low, row.high, signed)
            cells += [write(row.other), signed(row.difference), ends, row.word or ""]
        else:
            cells.append(_format_ends(row.low, row.high, lambda it: write(it).removesuffix(" %")))
            cells += [f"{100 * row.value / whole:.1f} %"] if whole else []
        made.append((doc.TextSpan(row.name, "strong" if row.name == WHOLE else ""), *cells))
    names = (what, groups) if groups else what
    columns = doc.make_columns(names, "before", "now", "difference", "interval", after=("",))
    if not is_compared:
        columns = doc.make_columns(names, "% of a core", "interval", *(("share",) if whole else ()))
    return doc.RowTable(columns, made)


WAITING = (
    "Sessions that work on a statement, on average. Who waits for the client's next statement"
    " is left out."
)


def _build_waits(profile: ServerProfile, base: ServerProfile | None) -> doc.RowTable:
    series, events = list_wait_series(profile), list_wait_events(profile)
    before = list_wait_series(base) if base else {}
    rows = compare_rows(before, series) if before else tell_rows(series)
    total = sum(row.value for row in rows) or 1.0
    made: list[doc.TableRow] = []
    for row in rows:
        named = [name for name, _ in events.get(row.name, Counter()).most_common() if name]
        most, name = ", ".join(named[:EVENTS_SHOWN]), name_wait(row.name)
        if row.other is not None:
            sides = f"{row.value:.2f}", f"{row.other:.2f}", f"{row.difference:+.2f}"
            ends = _format_ends(row.low, row.high, "{:+.2f}".format)
            made.append((name, *sides, ends, row.word or "", most))
        else:
            ends = _format_ends(row.low, row.high, "{:.2f}".format)
            made.append((name, f"{row.value:.2f}", ends, f"{100 * row.value / total:.1f} %", most))
    if before:
        heads = ("wait", "before", "now", "difference", "interval")
        return doc.RowTable(doc.make_columns(*heads, after=("", "most of it")), made)
    return doc.RowTable(doc.make_columns(*WAIT_HEADS[:-1], after=WAIT_HEADS[-1:]), made)


def list_statement_cells(profile: ServerProfile, it: StatementTime) -> list[str]:
    """db, per_second, avg_ms, sessions, rows: the columns of `dyno watch top`."""
    elapsed_s = sum(profile.statement_slices_ns) / NS or profile.elapsed_s
    sessions = f"{it.time_ns / NS / elapsed_s:.2f}"
    if it.calls is None:
        return [it.database, "", "", sessions, ""]
    calls = it.calls or 1
    each_ms = f"{it.time_ns / 1e6 / calls:.3f}"
    rows = f"{(it.rows or 0) / calls:.1f}"
    return [it.database, f"{it.calls / elapsed_s:.1f}", each_ms, sessions, rows]


STATEMENT_HEADS = ("query", "db", "per_second", "avg_ms", "sessions", "rows")
WAIT_HEADS = ("wait", "sessions", "interval", "share", "most of it")
#: Where statements' times come from, in words.
SOURCES = {
    "pg_stat_statements": "Times are those that pg_stat_statements counted meanwhile.",
    "performance_schema": "Times are those of performance_schema's statement digests meanwhile.",
    "sampled sessions": "Times are told by how often sessions were met with a statement: the server"
    " counts none.",
    "": "",
}
PLANNED_BY = " Plans are what EXPLAIN says, without estimates; nothing was executed."


def _list_statements(profile: ServerProfile, letters: int = TEXT_SHOWN) -> doc.RowTable:
    rows: list[doc.TableRow] = [
        (doc.TextSpan(shorten_text(it.text, letters)), *list_statement_cells(profile, it))
        for it in profile.statements
    ]
    return doc.RowTable(doc.make_columns(STATEMENT_HEADS[:2], *STATEMENT_HEADS[2:]), rows)


def _list_plans(profile: ServerProfile) -> Iterator[doc.Block]:
    for it in profile.statements:
        if it.plan or it.unplanned:
            why: doc.Block = doc.Prose(f"No plan: {it.unplanned}.", "quiet")
            yield doc.Details(doc.TextSpan(it.text), [doc.Listing(it.plan) if it.plan else why])
    yield doc.Prose(SOURCES[profile.statement_source] + PLANNED_BY, "quiet")


def _compare_statements(
    profile: ServerProfile, base: ServerProfile, letters: int = TEXT_SHOWN
) -> list[doc.Block]:
    rows: list[doc.TableRow] = [
        (doc.TextSpan(shorten_text(row.name, letters)), row.group, *_list_difference_cells(row))
        for row in compare_statements(base, profile)
    ]
    if not rows:
        return [
            doc.Prose("The two servers tell statements otherwise: they are not compared.", "quiet")
        ]
    heads = ("before", "now", "difference", "interval")
    names = ("query: time a call", "db")
    return [doc.RowTable(doc.make_columns(names, *heads, after=("",)), rows)]


def _list_difference_cells(row: ProfileRow) -> list[str]:
    def write(ns: float) -> str:
        return numbers.format_quantity(ns, "ns")

    if row.word == "on one side only":
        return [*(write(ns) if ns else "" for ns in (row.value, row.other)), "", "", row.word]
    sides = [write(row.value), write(math.nan if row.other is None else row.other)]
    ends = _format_ends(row.low, row.high, write)
    return [*sides, write(row.difference), ends, row.word or ""]


def shorten_text(text: str, most: int = TEXT_SHOWN) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _build_flame(profile: ServerProfile, base: ServerProfile | None) -> doc.Flame:
    if base and base.cpu:
        sides = [f"at {each.began_utc}" for each in (base, profile)]
        tree = _build_compared_tree(profile, base)
        caption = (
            "A frame's width is its CPU time in a second; of the difference, that of the side with"
            " more. It is coloured only where it differs surely."
        )
    else:
        sides, tree = ["CPU time"], _build_tree(profile)
        caption = "A frame's width is its CPU time in a second, with what it calls."
    has_stacks = bool(profile.cpu and profile.cpu.profile.stacks) and not (base and base.cpu)
    caption += "" if has_stacks else " Below each layer stand its functions (--stacks: callers)."
    if tree.left_out:
        caption += f" {tree.left_out:,} small frames are left out."
    caption += " Click or Enter zooms, Escape zooms out, arrows move, / searches."
    scale_ns = tree.root.base_ns or tree.root.candidate_ns
    title = "CPU time in a second"
    return doc.Flame(tree, sides, title, "flame-of-server", caption, scale_ns, "a second")


def _build_tree(profile: ServerProfile) -> FrameTree:
    """Callers and functions where callers are known, else layers and functions."""
    cpu = profile.cpu
    assert cpu
    per_s = cpu.sample_ns / max(profile.elapsed_s, 1e-9)
    places = [name_place(each) for each in cpu.profile.functions]
    sums: Counter[tuple[CodePlace, ...]] = Counter()
    paths = [(tuple(places[at] for at in it.frames), it.samples) for it in cpu.profile.stacks]
    if not paths:
        paths = [
            ((CodePlace(place.layer, place.layer), place), function.samples)
            for place, function in zip(places, cpu.profile.functions, strict=True)
            if function.samples
        ]
    for path, samples in paths:
        for depth in range(len(path) + 1):
            sums[path[:depth]] += samples
    shown = [path for path, n in sums.most_common(FRAMES_MOST) if n >= SHARE_LEAST * sums[()]]
    frames = {path: sums[path] * per_s for path in shown}

    def make(path: tuple[CodePlace, ...]) -> Frame:
        below = tuple(make(each) for each in children.get(path, ()))
        place = path[-1] if path else CodePlace("", WHOLE)
        ns = frames[path]
        return Frame(place.name, place.layer, ns, ns, 0.0, 0.0, 0.0, False, below)

    children: dict[tuple[CodePlace, ...], list[tuple[CodePlace, ...]]] = {}
    for path in sorted(frames):
        if path:
            children.setdefault(path[:-1], []).append(path)
    return FrameTree(make(()), len(sums) - len(shown), SHARE_LEAST * sums[()] * per_s)


def _build_compared_tree(profile: ServerProfile, base: ServerProfile) -> FrameTree:
    before, now = list_cpu_series(base), list_cpu_series(profile)
    layers = compare_rows(sum_by_layer(before), sum_by_layer(now))
    functions = compare_functions_of_profiles(before, now)
    whole = max(layers[0].value, layers[0].other or 0.0)
    kept = [it for it in functions if max(it.value, it.other or 0.0) >= SHARE_LEAST * whole]
    kept = kept[:FRAMES_MOST]

    def make(row: ProfileRow, below: tuple[Frame, ...] = ()) -> Frame:
        times = (row.value, row.other or 0.0, row.difference, row.low, row.high)
        ns = CpuTime(*(0.0 if math.isnan(it) else it * NS for it in times))
        return Frame(row.name, row.group, *ns, row.word == "differs", below)

    own = {layer.name: tuple(make(it) for it in kept if it.group == layer.name) for layer in layers}
    root = make(layers[0], tuple(make(it, own[it.name]) for it in layers[1:]))
    return FrameTree(root, len(functions) - len(kept), SHARE_LEAST * whole * NS)
