"""A history: many runs' records in, places out where a metric seems to have changed its level.

A change point only flags; a fresh paired comparison confirms (METHOD.md, History).
"""
