"""A history: many runs' records in, places out where a metric seems to have changed its level.

A change point only nominates; a fresh paired comparison convicts (METHOD.md, History).
"""

from dyno.compare.history.history import build_history

__all__ = ["build_history"]
