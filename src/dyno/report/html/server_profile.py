"""The page of a server that was profiled: layers, waits, statements with their plans, flame graph;
of one profile, or of two beside each other. It opens anywhere and asks nobody for anything.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

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
from dyno.report.html.flame import FlameWords, draw_frames, read_flame_assets
from dyno.report.html.markup import render
from dyno.report.html.page import PageHead, PagePart, build_page

#: Functions and events that a table names.
FUNCTIONS_SHOWN, EVENTS_SHOWN = 40, 3
#: How much of a statement stands in a table's row; its plan has all that is kept.
TEXT_SHOWN = 300
BATCHES = (
    "Intervals are of 95 %, by batches of neighbouring slices; they tell of this time, and of no"
    " other load or restart."
)

_TABLE = """
{% if rows %}<div class="scroll" tabindex="0"><table>
<thead><tr>{% for head in heads %}<th scope="col"{% if not loop.first %} class="n"{% endif %}>
{{ head }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in rows %}
<tr{% if row.strong %} class="strong"{% endif %}><th scope="row" class="wrap">{{ row.name }}</th>
{% for cell in row.cells %}<td class="n">{{ cell }}</td>{% endfor %}</tr>{% endfor %}
</tbody></table></div>{% endif %}
{% for note in notes %}<p class="aside">{{ note }}</p>
{% endfor %}
"""
_PLANS = """
{% for it in statements %}<details><summary>{{ it.text }}</summary>
{% if it.plan %}<pre>{{ it.plan }}</pre>{% else %}<p class="aside">No plan: {{ it.unplanned }}.</p>
{% endif %}</details>
{% endfor %}
<p class="aside">{{ source }}</p>
"""
_SUMMARY = """
<p class="cause">{{ sentence }}</p>
{% for it in missing %}<p class="aside">Missing: {{ it }}.</p>
{% endfor %}
{% for it in unlike %}<p class="aside">{{ it }}</p>
{% endfor %}
<p class="aside">{{ taken }}</p>
"""


@dataclass(frozen=True)
class _Row:
    name: str
    cells: Sequence[str]
    strong: bool = False


def build_profile_page(profile: ServerProfile, base: ServerProfile | None = None) -> str:
    """The page as text; with `base` an earlier profile stands beside it."""
    front = PageHead(
        title=f"{profile.name}: profile",
        eyebrow="Dyno profile",
        heading=f"{profile.name}",
        question="Where does its time go?"
        if base is None
        else f"Where does its time go, and where did it go at {base.began_utc} UTC?",
        aside=f"{profile.began_utc} UTC, {profile.elapsed_s:.0f} s",
    )
    return build_page(front, list(_list_parts(profile, base)))


def _list_parts(profile: ServerProfile, base: ServerProfile | None) -> Iterator[PagePart]:
    yield PagePart("Summary", "summary", _render_summary(profile, base))
    series = list_cpu_series(profile)
    before = list_cpu_series(base) if base else {}
    if series:
        layers = sum_by_layer(series)
        rows = compare_rows(sum_by_layer(before), layers) if before else tell_rows(layers)
        yield PagePart("CPU time by layer", "layers", _render_cpu(rows, "layer", notes=(BATCHES,)))
        yield PagePart("Flame graph", "flame", _draw_flame(profile, base))
        functions = compare_functions_of_profiles(before, series) if before else tell_rows(series)
        if not before:
            functions.sort(key=lambda row: -row.value)
        shown = functions[:FUNCTIONS_SHOWN]
        yield PagePart("Functions", "functions", _render_cpu(shown, "function", with_layer=True))
    if profile.waits:
        yield PagePart("Waits", "waits", _render_waits(profile, base))
    if profile.statements:
        yield PagePart("Statements", "statements", _render_statements(profile, base))


def _render_summary(profile: ServerProfile, base: ServerProfile | None) -> Markup:
    return render(
        _SUMMARY,
        sentence=describe_profile(profile),
        missing=profile.missing,
        unlike=list_unlike(base, profile) if base else (),
        taken=describe_taking(profile),
    )


def describe_profile(profile: ServerProfile) -> str:
    """Where most of the time went, in a sentence."""
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
    """What was sampled, how, and for how long."""
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
    """A kind of wait in words."""
    return "nothing: running" if kind == "running" else kind


def format_core(share: float) -> str:
    """A share of one core: `12.3 %`."""
    return f"{100 * share:.3g} %" if math.isfinite(share) else numbers.DASH


def format_core_ends(low: float, high: float, *, signed: bool = False) -> str:
    """An interval of shares of a core; empty where slices are too few."""
    if math.isnan(low):
        return ""
    sign = "+" if signed else ""
    return f"[{100 * low:{sign}.3g}, {100 * high:{sign}.3g}]"


def _render_cpu(
    rows: Sequence[ProfileRow], what: str, *, with_layer: bool = False, notes: Sequence[str] = ()
) -> Markup:
    """Shares of one core."""
    whole = next((row.value for row in rows if row.name == WHOLE), None)
    is_compared = any(row.other is not None for row in rows)
    heads = [what, *(("layer",) if with_layer else ())]
    heads += ["before", "now", "difference", "interval", ""] if is_compared else ["% of a core"]
    heads += [] if is_compared else ["interval", *(("share",) if whole else ())]
    made = []
    for row in rows:
        cells = [row.group] if with_layer else []
        if row.other is not None:
            cells += [format_core(row.value), format_core(row.other)]
            cells += [f"{100 * row.difference:+.3g}"]
            cells += [format_core_ends(row.low, row.high, signed=True), row.word or ""]
        else:
            cells += [format_core(row.value), format_core_ends(row.low, row.high)]
            cells += [f"{100 * row.value / whole:.1f} %"] if whole else []
        made.append(_Row(row.name, cells, row.name == WHOLE))
    return render(_TABLE, heads=heads, rows=made, notes=notes)


def _render_waits(profile: ServerProfile, base: ServerProfile | None) -> Markup:
    series, events = list_wait_series(profile), list_wait_events(profile)
    before = list_wait_series(base) if base else {}
    rows = compare_rows(before, series) if before else tell_rows(series)
    total = sum(row.value for row in rows) or 1.0
    heads = ["wait", "before", "now", "difference", "interval", "", "most of it"]
    heads = heads if before else [*WAIT_HEADS[:3], "interval", *WAIT_HEADS[3:]]
    made = []
    for row in rows:
        named = [name for name, _ in events.get(row.name, Counter()).most_common() if name]
        most = ", ".join(named[:EVENTS_SHOWN])
        if row.other is not None:
            cells = [f"{row.value:.2f}", f"{row.other:.2f}", f"{row.difference:+.2f}"]
            cells += [_format_ends(row.low, row.high, "+.2f"), row.word or "", most]
        else:
            cells = [f"{row.value:.2f}", f"{100 * row.value / total:.1f} %"]
            cells += [_format_ends(row.low, row.high, ".2f"), most]
        made.append(_Row(name_wait(row.name), cells))
    note = (
        "Sessions that work on a statement, on average. Who waits for the client's next statement"
        " is left out."
    )
    return render(_TABLE, heads=heads, rows=made, notes=(note,))


def _format_ends(low: float, high: float, form: str) -> str:
    return "" if math.isnan(low) else f"[{low:{form}}, {high:{form}}]"


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
WAIT_HEADS = ("wait", "sessions", "share", "most of it")
#: Where statements' times come from, in words.
SOURCES = {
    "pg_stat_statements": "Times are those that pg_stat_statements counted meanwhile.",
    "performance_schema": "Times are those of performance_schema's statement digests meanwhile.",
    "sampled sessions": "Times are told by how often sessions were met with a statement: the server"
    " counts none.",
    "": "",
}
PLANNED_BY = " Plans are what EXPLAIN says, without estimates; nothing was executed."


def _render_statements(profile: ServerProfile, base: ServerProfile | None) -> Markup:
    made = [
        _Row(shorten_text(it.text), list_statement_cells(profile, it)) for it in profile.statements
    ]
    now = render(_TABLE, heads=STATEMENT_HEADS, rows=made, notes=())
    plans = render(
        _PLANS,
        statements=[it for it in profile.statements if it.plan or it.unplanned],
        source=SOURCES[profile.statement_source] + PLANNED_BY,
    )
    if base is None:
        return now + plans
    rows = [
        _Row(shorten_text(row.name), [row.group, *list_difference_cells(row)])
        for row in compare_statements(base, profile)
    ]
    heads = ["time a call", "db", "before", "now", "difference", "interval", ""]
    notes = () if rows else ("The two servers tell statements otherwise: they are not compared.",)
    return now + render(_TABLE, heads=heads, rows=rows, notes=notes) + plans


def list_difference_cells(row: ProfileRow) -> list[str]:
    """A statement's time a call on both sides, what it changed by, and the word."""
    both = [numbers.format_quantity(ns, "ns") for ns in (row.value, row.other or math.nan)]
    if row.word == "on one side only":
        shown = [numbers.format_quantity(ns, "ns") if ns else "" for ns in (row.value, row.other)]
        return [*shown, "", "", row.word]
    ends = (
        ""
        if math.isnan(row.low)
        else (
            f"[{numbers.format_quantity(row.low, 'ns')}, {numbers.format_quantity(row.high, 'ns')}]"
        )
    )
    return [*both, numbers.format_quantity(row.difference, "ns"), ends, row.word or ""]


def shorten_text(text: str, most: int = TEXT_SHOWN) -> str:
    """A statement on one line, of a bearable length."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _draw_flame(profile: ServerProfile, base: ServerProfile | None) -> Markup:
    assets = Markup("").join(read_flame_assets())
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
    words = FlameWords("CPU time in a second", "flame-of-server", caption, "a second")
    return assets + draw_frames(tree, sides, words, scale_ns)


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
    """Layers and functions of both sides."""
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
