"""What `dyno history` prints of the series and of the nominations in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING

import click

from dyno.cli import screen

if TYPE_CHECKING:
    from dyno.record import History, Nominated, PastSeries

BARS = "▁▂▃▄▅▆▇█"
#: Of a long series, the newest points are drawn.
DRAWN = 40
#: Of what is left out, so many are named.
NAMED = 5


def show(found: History) -> None:
    """The series, what is nominated in them, what was not looked at, what it all is worth."""
    from dyno.report.nominations import worth

    screen.table(("series", "points", "time"), rows(found), right=(1,))
    click.echo("\neach bar a build in a run, in the order of the builds; higher took longer\n")
    for series, nomination in found.nominations:
        tell(series, nomination, found.alpha)
    remark(found)
    screen.paragraph(worth(found))


def rows(found: History) -> Iterator[tuple[object, ...]]:
    """Each series with its points drawn, and what cut it from an earlier one below."""
    from dyno.report.nominations import told

    for each in found.tested:
        at = [nomination.at for nomination in each.nominations]
        yield told(each), len(each.points), drawn(times(each), at)
        if each.cut:
            yield f"  cut from an earlier series: {'; '.join(each.cut)}", "", ""


def times(series: PastSeries) -> list[float]:
    """The logs of the points' times, whatever the metric's direction."""
    sign = -1.0 if series.metric.better == "higher" else 1.0
    return [sign * log(point.value) for point in series.points]


def drawn(values: Sequence[float], changes: Sequence[int]) -> str:
    """A bar for each value, the newest `DRAWN` of them; `|` where a change is nominated."""
    low, high = min(values), max(values)
    size = (high - low) or 1.0
    bars = [BARS[min(int((v - low) / size * len(BARS)), len(BARS) - 1)] for v in values]
    marked = [f"|{bar}" if at in changes else bar for at, bar in enumerate(bars)]
    return ("…" if len(bars) > DRAWN else "") + "".join(marked[-DRAWN:])


def tell(series: PastSeries, nomination: Nominated, alpha: float) -> None:
    """What seems to have changed, between which builds, and what settles it or has."""
    from dyno.report.nominations import place, size, told, verdict

    before, after = series.points[nomination.at - 1 : nomination.at + 1]
    click.echo(f"{click.style('nominated', bold=True)}: {told(series)}: {size(nomination, alpha)}")
    click.echo(f"  before: {place(before)}\n  after:  {place(after)}")
    click.echo(f"  verdict: {verdict(nomination)}")
    click.echo(f"  to convict or acquit: {nomination.convict or nomination.why_none}\n")


def remark(found: History) -> None:
    """What was not looked at."""
    short = len(found.series) - len(found.tested)
    if short:
        click.echo(f"not tested: {short} series of fewer than {found.points_least} points")
    for each in found.left_out[:NAMED]:
        click.echo(f"left out: {each.run}: {each.why}")
    if len(found.left_out) > NAMED:
        click.echo(f"left out: and {len(found.left_out) - NAMED} more")
