"""Calibration: comparisons of known truth, and the error rates that came of them on this host.

`session` plays them and `store` keeps a line of each; `error_rates` is what a run quotes, stale or
not. What plays is not imported here, since a run that is resolved asks for the rates.
"""

from dyno.compare.calibration.store import (
    METHOD,
    CalibrationEntry,
    append,
    find_error_rates,
    find_store,
    instrument,
    read_entries,
)

__all__ = [
    "METHOD",
    "CalibrationEntry",
    "append",
    "find_error_rates",
    "find_store",
    "instrument",
    "read_entries",
]
