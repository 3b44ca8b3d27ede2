"""What calibration knows of this host, as a table and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dyno.cli import screen

if TYPE_CHECKING:
    from dyno.record import Calibration, Score

HEADS = ("what", "engine", "n", "slower", "95 % interval", "open", "invalid", "planted", "held")


def tell_known() -> None:
    """Everything that a run would quote now."""
    from dyno import calibration
    from dyno.conduct.prepared import instrument

    known = calibration.known(instrument())
    if known is None:
        click.echo("this host was never calibrated; `dyno calibrate` begins")
        return
    screen.table(HEADS, map(row, known.scores), right=range(2, 9))
    click.echo()
    screen.paragraph(spelled(known))


def row(score: Score) -> Sequence[object]:
    """A score as a line of the table; `held` is the share of intervals that held the truth."""
    between = f"{score.low_percent:.1f} to {score.high_percent:.1f} %"
    dose = "" if score.dose_percent is None else f"{score.dose_percent:.2f} %"
    held = f"{100 * score.covered / score.coverable:.1f} %" if score.coverable else ""
    words = (score.words.get(word, 0) or "" for word in ("inconclusive", "invalid"))
    return (
        *(score.what, score.engine, f"{score.comparisons:,}", f"{score.slower:,}", between),
        *(*words, dose, held),
    )


def spelled(known: Calibration) -> str:
    """When it was found, how to read it, and why it is stale if it is."""
    dates = f"{known.first_utc[:10]} to {known.last_utc[:10]}"
    reading = (
        "'slower' are false alarms where both are the same build, slowdowns found where one is "
        "planted; 'open' is inconclusive; 'held' are the intervals that held the truth"
    )
    stale = f" STALE: {'; '.join(known.stale)}." if known.stale else ""
    return f"Found {dates} by dyno {known.dyno}, method {known.method}; {reading}.{stale}"
