"""Finds the method's errors on this host: comparisons whose truth is known, judged like any other.

A build with itself, slowdowns put in (and measured), the same beside a load that comes and goes:
each is an experiment, played by `dyno.conduct` and judged by `dyno.judge`. What comes of it is a
line in `dyno.calibration`, so that a session may end at any moment and the next one goes on.
"""

from dyno.calibrate.session import Session, Wanted
from dyno.calibrate.shape import Shape

__all__ = ["Session", "Shape", "Wanted"]
