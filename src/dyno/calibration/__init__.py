"""What calibration found on this host: one comparison a line, summed up, and stale or not.

`dyno.calibrate` plays the comparisons; here is what became of them, and what a run quotes.
"""

from dyno.calibration.entry import METHOD, Entry, Restart, instrument
from dyno.calibration.known import known
from dyno.calibration.store import append, entries, path

__all__ = ["METHOD", "Entry", "Restart", "append", "entries", "instrument", "known", "path"]
