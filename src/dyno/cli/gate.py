"""The exit code of `dyno history --gate`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from dyno.cli.playing import EXITS

if TYPE_CHECKING:
    from dyno.record import History, Nominated

#: The worst first, as HOUSE.md orders them.
WORST = ("invalid", "slower", "inconclusive")


def code(found: History, since: datetime | None) -> int:
    """That of the worst slowdown which stands and was nominated on a run since then; 0 without."""
    day = since.strftime("%Y-%m-%d") if since else ""
    words = {
        word(each)
        for series, each in found.nominations
        if each.slowdown_percent > 0 and each.stands and series.points[each.at].began_utc >= day
    }
    return EXITS[next((each for each in WORST if each in words), "not slower")]


def word(nomination: Nominated) -> str:
    """What its fresh comparison said; a suspicion that nobody has tried is inconclusive."""
    return nomination.trial.verdict if nomination.trial else "inconclusive"
