"""Section: throughput over time, each trial thin and their median thick."""

from __future__ import annotations

from statistics import fmean, median
from typing import Any

from dyno.record import PhaseRecord, Tally
from dyno.report import Book, facts
from dyno.report.html.charts import Chart, colour, escaped, figure

_CAPTION = (
    "Units done in each second of the phase, counted from the end of the warm-up. Thin: one "
    "trial; thick: the median of the candidate's trials, for as long as half of them ran."
)
#: A longer phase is drawn in means over equal spans, so that a big run's page stays usable.
POINTS = 240


class _Throughput:
    title = "Throughput over time"
    place = 40

    def render(self, book: Book) -> str | None:
        """A chart per stream."""
        charts = [chart for s in facts.all_streams(book) if (chart := _chart(book, s))]
        return figure(charts, _CAPTION) if charts else None


def _chart(book: Book, stream: facts.Stream) -> Chart | None:
    found = facts.tallies(book.view.counted_of(stream.workload), stream)
    columns = {
        name: [_rates(r, t) for trial, r, t in found if trial.candidate == name]
        for name in book.view.candidates
    }
    longest = max((len(rates) for all_ in columns.values() for rates in all_), default=0)
    if longest < 2:
        return None
    span = -(-longest // POINTS)
    traces = []
    for position, (name, trials) in enumerate(columns.items()):
        binned = [_binned(rates, span) for rates in trials]
        if binned:
            traces += [_thin(binned, span, position), _thick(name, binned, span, position)]
    layout = {
        "xaxis": {
            "title": {"text": "second of the phase"},
            **({"dtick": 1} if longest < 12 else {}),
        },
        "yaxis": {"title": {"text": escaped(f"{stream.unit}/s")}, "rangemode": "tozero"},
        "hovermode": "x unified",
    }
    described = f"Throughput of {stream.label} in {stream.unit} per second, second by second"
    return Chart(stream.label, described, traces, layout)


def _rates(record: PhaseRecord, tally: Tally) -> list[float]:
    """Units per whole second; the broken second at the end would look like a collapse."""
    whole = tally.series.done[: max(1, int(record.duration_s))]
    return [float(done * tally.units_per_event) for done in whole]


def _binned(rates: list[float], span: int) -> list[float]:
    return [fmean(rates[at : at + span]) for at in range(0, len(rates), span)]


def _thin(trials: list[list[float]], span: int, position: int) -> dict[str, Any]:
    """All trials in one trace; a gap (None) parts them."""
    x: list[int | None] = []
    y: list[float | None] = []
    for rates in trials:
        x += [*(at * span for at in range(len(rates))), None]
        y += [*rates, None]
    look = {"line": {"color": colour(position), "width": 1}, "opacity": 0.22}
    plain = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    return {**plain, "x": x, "y": y, **look}


def _thick(name: str, trials: list[list[float]], span: int, position: int) -> dict[str, Any]:
    length = sorted(len(rates) for rates in trials)[len(trials) // 2]
    middle = [median(r[at] for r in trials if at < len(r)) for at in range(length)]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": escaped(name),
        "x": [at * span for at in range(length)],
        "y": middle,
        "line": {"color": colour(position), "width": 2.5},
        "hovertemplate": "%{y:.3s}",
    }


SECTION = _Throughput()
