"""The verdict on a terminal: one table like benchstat's, then what it means in words.

Says as much without colour (NO_COLOR, a pipe) as with it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dyno import numbers
from dyno.printable import escape_text
from dyno.record import Comparison, Finding, Run, Verdict
from dyno.report import words
from dyno.report.text import effects

#: Dropped blocks that the terminal names; the page names all.
DROPPED_SHOWN = 5
#: Candidates of which the terminal says what changed; the page says it of all.
CAUSES_SHOWN = 4
#: Comparisons that are named beside the note that they share; more are counted.
NAMED_OF_NOTE = 4
STYLES = {
    "slower": "bold red",
    "invalid": "bold magenta",
    "inconclusive": "yellow",
    "faster": "green",
    "not slower": "green",
    "doubtful": "bold yellow",
}


def build_verdict_table(
    run: Run, verdict: Verdict, everything: bool = False, rests_on: Sequence[RenderableType] = ()
) -> Group:
    """The whole verdict for `rich.print`: tables by candidate, notes, the overall sentence.

    Primaries are shown, those of each phase with the server's CPU per operation; other exploratory
    metrics are counted, and shown too where `everything`.
    `rests_on` (`brief_lines`) stands before the sentence.
    """
    primaries = [c for c in verdict.comparisons if c.primary]
    main = primaries if run.factors else words.list_main_comparisons(verdict.comparisons)
    shown = main + [c for c in verdict.comparisons if everything and c not in main]
    above = effects.build_effects_tables(run, verdict, STYLES) if run.factors else []
    explored = [c for c in shown if everything and not c.primary and len(c.levels) < 2]
    below = explored if above else shown
    parts: list[RenderableType] = []
    if run.design.quick:
        parts.append(Text(words.QUICK, style="bold yellow"))
    if run.design.gate == "mean":
        parts += _build_list(words.GATE_MEAN, words.format_mean_outcomes(verdict))
    parts += above
    for candidate in _sort_names(below):
        parts += _build_candidate(run, [c for c in below if c.candidate == candidate], main)
    if shown:
        meanings = "\n".join((words.SLOWDOWN, words.BLOCK, words.MDE80))
        parts.append(Text(f"{meanings}\n", style="dim"))
    parts += _build_folded_note(len(verdict.comparisons) - len(shown))
    parts += _build_notes(shown) + _build_dropped(verdict) + _build_findings(verdict.findings)
    return Group(*parts, *rests_on, *_build_overall(verdict))


def format_verdict(run: Run, verdict: Verdict, everything: bool = False, width: int = 100) -> str:
    """The same as text without colour, `width` columns wide: for files, logs and tests."""
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, highlight=False, markup=False)
    console.print(build_verdict_table(run, verdict, everything))
    return "\n".join(line.rstrip() for line in escape_text(out.getvalue()).splitlines()) + "\n"


def _build_candidate(
    run: Run, comparisons: Sequence[Comparison], main: Sequence[Comparison]
) -> list[RenderableType]:
    first = comparisons[0]
    one_margin = len({c.margin_percent for c in comparisons}) == 1
    margin = f", margin {first.margin_percent:g} %" if one_margin else ""
    counts = {_format_blocks(c) for c in comparisons}
    one_count = f", {counts.pop()}" if len(counts) == 1 else ""
    rows = _make_table(run.design.alpha, blocks=not one_count)
    names = [workload.name for workload in run.workloads]
    places = [(c not in main, names.index(c.metric.workload), c) for c in comparisons]
    in_order = sorted(places, key=lambda place: place[:2])
    for (explored, at), placed in groupby(in_order, key=lambda place: place[:2]):
        group = [c for *_, c in placed]
        rows.add_row(Text(f"{names[at]}, exploratory" if explored else names[at]))
        for c in group:
            said = words.format_verdict(c, margin=not one_margin)
            rows.add_row(*_format_cells(c, said, [] if one_count else [words.format_played(c)]))
    title = Text(f"{first.candidate} against {first.base}{margin}{one_count}", style="bold")
    return [title, rows, Text()]


def _format_blocks(c: Comparison) -> str:
    """`6 blocks`, or `6 of 7 blocks` where some were dropped."""
    played = c.blocks + c.dropped
    return f"{c.blocks} of {played} blocks" if c.dropped else words.format_count(played, "block")


def _make_table(alpha: float, blocks: bool) -> Table:
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    rows.add_column("", overflow="fold")
    for name in ("base", "candidate"):
        rows.add_column(name, justify="right", no_wrap=True)
    rows.add_column("slowdown", justify="right", no_wrap=True)
    rows.add_column(f"{100 * (1 - alpha):g} % interval", justify="right", no_wrap=True)
    if blocks:
        rows.add_column("blocks", justify="right", no_wrap=True)
    rows.add_column("MDE80", justify="right", no_wrap=True)
    rows.add_column("verdict", overflow="fold")
    return rows


def _format_cells(c: Comparison, verdict: str, blocks: Sequence[str]) -> tuple[Text, ...]:
    cells = (
        f"  {c.metric.phase} {words.format_metric(c.metric)}",
        numbers.format_quantity(c.base_value, c.metric.unit),
        numbers.format_quantity(c.candidate_value, c.metric.unit),
        f"{numbers.format_signed_percent(c.slowdown_percent)} %",
        numbers.format_interval(c.low_percent, c.high_percent),
        *blocks,
        numbers.format_percent(c.mde80_percent),
    )
    return *map(Text, cells), Text(
        verdict, style=STYLES[words.choose_standing(c)] if c.primary else "dim"
    )


def _build_folded_note(count: int) -> list[RenderableType]:
    if not count:
        return []
    return [
        Text(f"and {words.format_count(count, 'exploratory comparison')} not shown here\n", "dim")
    ]


def _build_notes(comparisons: Sequence[Comparison]) -> list[RenderableType]:
    """A note with the comparison that it is of; one that many share is said once."""
    sharing: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        for note in comparison.notes:
            sharing.setdefault(note, []).append(comparison)
    lines: list[str] = []
    for note, those in sharing.items():
        if len(those) > NAMED_OF_NOTE:
            lines.append(f"{len(those)} of {len(comparisons)} comparisons: {note}")
        else:
            lines += [f"{c.candidate}, {words.format_full_metric(c.metric)}: {note}" for c in those]
    return _build_list("notes", lines)


def _build_dropped(verdict: Verdict) -> list[RenderableType]:
    lines = [f"{each.workload}, block {each.block + 1}: {each.reason}" for each in verdict.dropped]
    more = len(lines) - DROPPED_SHOWN
    lines = lines[:DROPPED_SHOWN] + ([f"and {more} more, in report.html"] if more > 0 else [])
    noise = "" if any(each.standstill for each in verdict.dropped) else " for noise"
    return _build_list(f"{words.format_count(len(verdict.dropped), 'block')} dropped{noise}", lines)


def _build_findings(findings: Sequence[Finding]) -> list[RenderableType]:
    unsound = [f for f in findings if f.soundness in ("invalid", "doubtful")]
    return _build_list("audits", [f"{f.soundness}: {f.audit}: {f.sentence}" for f in unsound])


def _build_list(title: str, lines: Sequence[str]) -> list[RenderableType]:
    if not lines:
        return []
    items = (Padding(Text(line), (0, 0, 0, 2)) for line in lines)
    return [Text(title, style="bold"), *items, Text()]


def _build_overall(verdict: Verdict) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if not verdict.complete:
        parts.append(Text("the run is not complete: this is what has been measured so far"))
    style = STYLES["doubtful" if verdict.doubts else verdict.overall]
    causes = [Text(f"what changed: {cause.sentence}") for cause in verdict.causes[:CAUSES_SHOWN]]
    if (more := len(verdict.causes) - CAUSES_SHOWN) > 0:
        others = words.format_count(more, "further candidate")
        causes.append(Text(f"what changed on {others} is in report.html"))
    return [*parts, Text(verdict.sentence, style=style), *causes]


def _sort_names(comparisons: Iterable[Comparison]) -> list[str]:
    return list(dict.fromkeys(c.candidate for c in comparisons))
