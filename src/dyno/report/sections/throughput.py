"""Section: throughput over time, each trial thin and their median thick."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, median

from dyno import numbers
from dyno.record import PhaseRecord, Tally
from dyno.report import Book, Section, facts
from dyno.report.charts import Axis, Chart, ChartPanel, Line, choose_colour, make_linear_axis
from dyno.report.document import Document, Figure

_CAPTION = (
    "Units done in each second of the phase, counted from the end of the warm-up. Thin: one "
    "trial; thick: the median of the candidate's trials, for as long as half of them ran."
)
#: A shorter phase has no course to show.
SECONDS_MIN = 5
#: A longer phase is drawn in means over equal spans, so that a big run's page stays usable.
POINTS = 240


def draw_charts(book: Book) -> list[Chart]:
    """A chart per stream that ran for `SECONDS_MIN` or more."""
    return [chart for s in facts.list_all_streams(book) if (chart := _draw_chart(book, s))]


def _draw_chart(book: Book, stream: facts.StreamFacts) -> Chart | None:
    found = facts.collect_tallies(book.view.list_counted(stream.workload), stream)
    columns = {
        name: [_compute_rates(r, t) for trial, r, t in found if trial.candidate == name]
        for name in book.view.candidates
    }
    longest = max((len(rates) for all_ in columns.values() for rates in all_), default=0)
    if longest < SECONDS_MIN:
        return None
    span = -(-longest // POINTS)
    binned = {
        n: [_compute_bin_means(rates, span) for rates in own] for n, own in columns.items() if own
    }
    middles = {name: _compute_medians(trials) for name, trials in binned.items()}
    marks = []
    for position, name in enumerate(columns):
        if name in binned:
            thin = [_pair_with_time(rates, span) for rates in binned[name]]
            marks += [Line(thin, choose_colour(position), name, 1, faint=True)]
            marks += [Line([_pair_with_time(middles[name], span)], choose_colour(position), name)]
    highest = max(rate for trials in binned.values() for rates in trials for rate in rates)
    y = make_linear_axis(f"{stream.unit}/s", 0.0, 1.05 * highest or 1.0)
    panel = ChartPanel(y, marks, columns=_list_columns(middles, span))
    described = f"Throughput of {stream.label} in {stream.unit} per second, second by second"
    return Chart(stream.label, described, _make_seconds_axis(longest - 1), [panel])


def _make_seconds_axis(last: int) -> Axis:
    """Whole seconds, with ticks at some of them."""
    pad = 0.01 * last
    plain = make_linear_axis("second of the phase", -pad, last + pad)
    whole = [round(at) for at, _ in plain.ticks if abs(at - round(at)) < 1e-6]
    return replace(plain, ticks=[(at, f"{at}") for at in whole])


def _compute_rates(record: PhaseRecord, tally: Tally) -> list[float]:
    """Units per whole second; the broken second at the end would look like a collapse."""
    whole = tally.series.done[: max(1, int(record.duration_s))]
    return [float(done * tally.units_per_event) for done in whole]


def _compute_bin_means(rates: list[float], span: int) -> list[float]:
    return [fmean(rates[at : at + span]) for at in range(0, len(rates), span)]


def _pair_with_time(rates: list[float], span: int) -> list[tuple[float, float]]:
    return [(at * span, rate) for at, rate in enumerate(rates)]


def _compute_medians(trials: list[list[float]]) -> list[float]:
    """The median of the trials, for as long as half of them ran."""
    length = sorted(len(rates) for rates in trials)[len(trials) // 2]
    return [median(r[at] for r in trials if at < len(r)) for at in range(length)]


def _list_columns(middles: dict[str, list[float]], span: int) -> list[tuple[float, str]]:
    longest = max(len(rates) for rates in middles.values())
    return [
        (at * span, "\n".join([f"second {at * span}", *_format_rates(middles, at)]))
        for at in range(longest)
    ]


def _format_rates(middles: dict[str, list[float]], at: int) -> list[str]:
    return [
        f"{name}: {numbers.format_quantity(rates[at], '/s')}"
        for name, rates in middles.items()
        if at < len(rates)
    ]


def build(book: Book) -> Document:
    charts = draw_charts(book)
    return [Figure(charts, _CAPTION)] if charts else []


SECTION = Section("Throughput over time", 40, build)
