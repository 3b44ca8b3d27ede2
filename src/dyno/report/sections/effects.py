"""Section: what each crossed factor does, and how factors act on each other.

The chart has a dot and an interval for each effect, its name above them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import groupby

from dyno import numbers
from dyno.record import Comparison, Metric, Run, Verdict
from dyno.report import Book, Section, words
from dyno.report import document as doc
from dyno.report.charts import (
    Axis,
    Band,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Mark,
    Note,
    Shape,
    choose_colour,
    make_slowdown_axis,
)

_ROW_PX = 44
#: Letters that a narrow page has space for, and what a label's next line adds to its row.
_NARROW, _LINE = 46, 0.38


def draw_effects(metric: Metric, effects: Sequence[Comparison]) -> Chart:
    """The effects `effects` in `metric`, main effects first: a row for each."""
    rows = [c for c in effects if math.isfinite(c.slowdown_percent)]
    labels = [_wrap_name(c.candidate) for c in rows]
    places, top = _place_rows([1 + _LINE * (len(lines) - 1) for lines in labels])
    margin = rows[0].margin_percent if rows else 0.0
    lowest = min((y for c, y in zip(rows, places, strict=True) if len(c.levels) == 1), default=top)
    marks: list[Mark] = [
        Band((-margin, margin), (lowest - 0.5, top - 0.5)),
        *(
            Note("\n".join(lines), y + 0.4 + _LINE * (len(lines) - 1) / 2)
            for lines, y in zip(labels, places, strict=True)
        ),
        Dots(
            [_draw_dot(*each) for each in zip(rows, places, strict=True)],
            choose_colour(1),
            across=True,
        ),
    ]
    reach = [end for c in rows for end in (c.low_percent, c.high_percent)]
    described = "Effects. " + ". ".join(words.format_outcome(c) for c in rows[:30])
    panel = ChartPanel(Axis("", -0.5, top - 0.2), marks, round(_ROW_PX * top))
    return Chart(
        words.format_full_metric(metric),
        described,
        make_slowdown_axis([*reach, margin, -margin]),
        [panel],
    )


def _wrap_name(name: str) -> list[str]:
    """An effect's name in lines that a narrow page can hold; a level is never broken."""
    return textwrap.wrap(name, _NARROW, break_long_words=False, break_on_hyphens=False)


def _place_rows(heights: Sequence[float]) -> tuple[list[float], float]:
    """Where each row's line stands, the last at 0, and where the first one's own room ends."""
    above = [sum(heights[at:]) for at in range(len(heights))]
    return [each - height for each, height in zip(above, heights, strict=True)], sum(heights)


def _draw_dot(effect: Comparison, y: float) -> Dot:
    shape: Shape = "full" if len(effect.levels) == 1 else "hollow"
    ends = effect.low_percent, effect.high_percent
    return Dot(effect.slowdown_percent, y, words.format_outcome(effect), *ends, shape)


_CAPTION = (
    "Dot: the effect; line: its interval. Right of zero is slower. Above, the main effects: a "
    "factor's level against its first, over the cells of all other factors; the band is the "
    "margin. Below, hollow, the interactions: the cells at these levels against what the effects "
    "of fewer factors would have made of them."
)
ADJUSTED = (
    "Blocks: valid of played; MDE80: the smallest slowdown that this many blocks would have found "
    "in four runs of five. The verdict rests on the main effects, which Holm's procedure adjusts "
    "together; interactions are exploratory (Benjamini-Hochberg). "
)
MULTIPLY = "An interaction of 0 says that the factors' effects multiply."
ONE_AT_A_TIME = "One factor at a time says nothing of how factors act on each other."


def build(book: Book) -> doc.Document:
    """A chart for each primary metric, main effects first, and the numbers below it."""
    found = list_primary_effects(book.verdict.comparisons)
    if not book.run.factors or not found:
        return []
    groups = group_effects(found)
    first = "The first level of each is what its others are held against."
    interactions = any(len(c.levels) > 1 for c in found)
    return [
        doc.Prose(f"{words.format_factors(book.run)} {first}"),
        doc.Figure([draw_effects(metric, rows) for metric, rows in groups], _CAPTION),
        *build_tables(book.run, book.verdict),
        doc.Items([f"{c.candidate}: {note}" for c in found for note in c.notes]),
        doc.Prose(ADJUSTED + (MULTIPLY if interactions else ONE_AT_A_TIME), "quiet"),
    ]


def build_tables(run: Run, verdict: Verdict) -> list[doc.Block]:
    level = words.format_level(run)
    heads = ("slowdown", level, "blocks", "p", "MDE80")
    columns = doc.make_columns("effect", *heads, after=("verdict",))
    tables: list[doc.Block] = []
    for metric, effects in group_effects(list_primary_effects(verdict.comparisons)):
        rows: list[doc.TableRow] = []
        for c in effects:
            kind = "interaction" if len(c.levels) > 1 else f"against {c.base}"
            told = (words.format_played(c), f"{c.p_value:.2g}")
            least = numbers.format_percent(c.mde80_percent)
            word = words.tell_verdict(c, margin=True) if c.primary else "exploratory"
            rows.append(
                (doc.TableCell(c.candidate, kind), *words.format_ends(c), *told, least, word)
            )
        title = (
            f"effects on {words.format_full_metric(metric)}, margin {effects[0].margin_percent:g} %"
        )
        tables.append(doc.RowTable(columns, rows, title))
    return tables


def list_primary_effects(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The effects in the metrics that the verdict rests on: main effects, then interactions."""
    metrics = {c.metric for c in comparisons if c.primary or len(c.levels) > 1}
    found = [c for c in comparisons if c.levels and c.metric in metrics]
    return sorted(found, key=lambda c: (c.metric, len(c.levels)))


def group_effects(effects: Sequence[Comparison]) -> list[tuple[Metric, list[Comparison]]]:
    return [(metric, list(rows)) for metric, rows in groupby(effects, key=lambda c: c.metric)]


SECTION = Section("Effects of the factors", 11, build)
