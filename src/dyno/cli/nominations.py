"""What `dyno history` prints of a series and of a nomination in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dyno.history import Nomination, Point, Series

BARS = "▁▂▃▄▅▆▇█"
#: Of a long series, the newest points are drawn.
DRAWN = 40
#: What is told of a series beside its metric: what a user chose.
CHOSEN = ("option", "setting", "control", "length")


def rows(
    tested: Sequence[Series], found: dict[int, list[Nomination]]
) -> Iterator[tuple[object, ...]]:
    """Each series with its points drawn, and what cut it from an earlier one below."""
    for each in tested:
        at = [nomination.change.at for nomination in found[id(each)]]
        yield told(each), len(each.points), drawn([p.value for p in each.points], at)
        if each.cut:
            yield f"  cut from an earlier series: {'; '.join(each.cut)}", "", ""


def told(series: Series) -> str:
    """`insert / l.i0 / insert rate, sqlite, journal_mode=wal`."""
    from dyno.report import words

    pairs = [(*name.partition(" "), value) for name, value in series.conditions.alike]
    chosen = [f"{name or group}={value}" for group, _, name, value in pairs if group in CHOSEN]
    return ", ".join((words.full(series.conditions.metric), series.conditions.engine, *chosen))


def drawn(values: Sequence[float], changes: Sequence[int]) -> str:
    """A bar for each value, the newest `DRAWN` of them; `|` where a change is nominated."""
    low, high = min(values), max(values)
    size = (high - low) or 1.0
    bars = [BARS[min(int((v - low) / size * len(BARS)), len(BARS) - 1)] for v in values]
    marked = [f"|{bar}" if at in changes else bar for at, bar in enumerate(bars)]
    return ("…" if len(bars) > DRAWN else "") + "".join(marked[-DRAWN:])


def tell(nomination: Nomination, alpha: float) -> None:
    """What seems to have changed, between which builds, and the command that settles it."""
    from dyno.history import conviction
    from dyno.report import numbers
    from dyno.stats.percent import to_percent

    change = nomination.change
    size = numbers.signed(to_percent(change.estimate))
    bounds = numbers.interval(to_percent(change.low), to_percent(change.high))
    level = f"{100 * (1 - alpha):g} % interval {bounds}"
    what = f"slowdown {size} %, {level}, p {change.p:.3f}"
    click.echo(f"{click.style('nominated', bold=True)}: {told(nomination.series)}: {what}")
    click.echo(f"  before: {place(nomination.before)}\n  after:  {place(nomination.after)}")
    click.echo(f"  to convict or acquit: {conviction(nomination)}\n")


def place(point: Point) -> str:
    """The candidate as written, its version, the run and its day."""
    from dyno.report.words import plural

    day, spec = point.run.created_utc[:10], point.candidate.spec
    restarts = plural(len(point.logs), "restart")
    return f"{spec} ({point.version or 'no version'}), {day}, {restarts} in {point.folder}"
