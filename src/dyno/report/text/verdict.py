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
from dyno.record import Comparison, Finding, Run, Verdict
from dyno.report import words
from dyno.report.text import effects

#: Dropped blocks that the terminal names; the page names all.
DROPPED_SHOWN = 5
_STYLES = {
    "slower": "bold red",
    "invalid": "bold magenta",
    "inconclusive": "yellow",
    "faster": "green",
    "not slower": "green",
}


def verdict_table(
    run: Run, verdict: Verdict, everything: bool = False, rests_on: Sequence[RenderableType] = ()
) -> Group:
    """The whole verdict for `rich.print`: tables by candidate, notes, the overall sentence.

    Primaries are shown; exploratory metrics are counted, and shown too where `everything`.
    `rests_on` (`brief_lines`) stands before the sentence.
    """
    shown = [c for c in verdict.comparisons if c.primary or everything]
    above = effects.effects_tables(run, verdict, _STYLES) if run.factors else []
    below = [c for c in shown if not (above and (c.primary or len(c.levels) > 1))]
    parts: list[RenderableType] = []
    if run.design.quick:
        parts.append(Text(words.QUICK, style="bold yellow"))
    parts += above
    for candidate in _in_order(below):
        parts += _candidate(run, [c for c in below if c.candidate == candidate])
    parts += [Text(f"{words.SLOWDOWN}\n", style="dim")] if shown else []
    parts += _folded_note(len(verdict.comparisons) - len(shown))
    parts += _notes(shown) + _dropped(verdict) + _findings(verdict.findings)
    return Group(*parts, *rests_on, *_overall(verdict))


def verdict_text(run: Run, verdict: Verdict, everything: bool = False, width: int = 100) -> str:
    """The same as text without colour, `width` columns wide: for files, logs and tests."""
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, highlight=False)
    console.print(verdict_table(run, verdict, everything))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _candidate(run: Run, comparisons: Sequence[Comparison]) -> list[RenderableType]:
    first = comparisons[0]
    one_margin = len({c.margin_percent for c in comparisons}) == 1
    margin = f", margin {first.margin_percent:g} %" if one_margin else ""
    rows = _table(run.design.alpha)
    names = [workload.name for workload in run.workloads]
    in_order = sorted(comparisons, key=lambda c: _position(c, names))
    for (workload, primary), group in groupby(
        in_order, key=lambda c: (c.metric.workload, c.primary)
    ):
        rows.add_row(Text(workload if primary else f"{workload}, exploratory"))
        for c in group:
            rows.add_row(*_cells(c, str(c.verdict) if one_margin else words.verdict(c)))
    title = Text(f"{first.candidate} against {first.base}{margin}", style="bold")
    return [title, rows, Text()]


def _position(comparison: Comparison, names: Sequence[str]) -> tuple[bool, int]:
    """Primaries first; the workloads in the run's order, which a sweep's values are in."""
    return not comparison.primary, names.index(comparison.metric.workload)


def _table(alpha: float) -> Table:
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    rows.add_column("", overflow="fold")
    for name in ("base", "candidate"):
        rows.add_column(name, justify="right", no_wrap=True)
    rows.add_column("slowdown", justify="right", no_wrap=True)
    rows.add_column(f"{100 * (1 - alpha):g} % interval", justify="right", no_wrap=True)
    rows.add_column("blocks", justify="right", no_wrap=True)
    rows.add_column("MDE80", justify="right", no_wrap=True)
    rows.add_column("verdict", overflow="fold")
    return rows


def _cells(c: Comparison, verdict: str) -> tuple[Text, ...]:
    cells = (
        f"  {c.metric.phase} {words.metric(c.metric)}",
        numbers.quantity(c.base_value, c.metric.unit),
        numbers.quantity(c.candidate_value, c.metric.unit),
        f"{numbers.signed(c.slowdown_percent)} %",
        numbers.interval(c.low_percent, c.high_percent),
        f"{c.blocks}/{c.blocks + c.dropped}",
        numbers.percent(c.mde80_percent),
    )
    return *map(Text, cells), Text(verdict, style=_STYLES[c.verdict] if c.primary else "dim")


def _folded_note(count: int) -> list[RenderableType]:
    if not count:
        return []
    return [Text(f"and {words.plural(count, 'exploratory comparison')} not shown here\n", "dim")]


def _notes(comparisons: Sequence[Comparison]) -> list[RenderableType]:
    lines = [
        f"{c.candidate}, {words.full_metric_name(c.metric)}: {note}"
        for c in comparisons
        for note in c.notes
    ]
    return _list("notes", lines)


def _dropped(verdict: Verdict) -> list[RenderableType]:
    lines = [f"{each.workload}/{each.block}: {each.reason}" for each in verdict.dropped]
    more = len(lines) - DROPPED_SHOWN
    lines = lines[:DROPPED_SHOWN] + ([f"and {more} more, in report.html"] if more > 0 else [])
    return _list(f"{words.plural(len(verdict.dropped), 'block')} dropped for noise", lines)


def _findings(findings: Sequence[Finding]) -> list[RenderableType]:
    unsound = [f for f in findings if f.soundness != "sound"]
    return _list("audits", [f"{f.soundness}: {f.audit}: {f.sentence}" for f in unsound])


def _list(title: str, lines: Sequence[str]) -> list[RenderableType]:
    if not lines:
        return []
    items = (Padding(Text(line), (0, 0, 0, 2)) for line in lines)
    return [Text(title, style="bold"), *items, Text()]


def _overall(verdict: Verdict) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if not verdict.complete:
        parts.append(Text("the run is not complete: this is what has been measured so far"))
    return [*parts, Text(verdict.sentence, style=_STYLES[verdict.overall])]


def _in_order(comparisons: Iterable[Comparison]) -> list[str]:
    return list(dict.fromkeys(c.candidate for c in comparisons))
