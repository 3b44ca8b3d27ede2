"""A history: many runs' records in, places out where a metric seems to have changed its level.

A change point only nominates; a fresh paired comparison convicts (docs/METHOD.md, History).
"""

from dyno.history.conviction import conviction
from dyno.history.points import LeftOut, Point, gathered
from dyno.history.series import Nomination, Series, in_series, nominated

__all__ = [
    "LeftOut",
    "Nomination",
    "Point",
    "Series",
    "conviction",
    "gathered",
    "in_series",
    "nominated",
]
