"""The version of a run's files.

A field with a default may be added under the same one: old records still read. A field that goes,
or changes its meaning, needs the next, and a reader of the old form (`record/older.py`).

1: conditions by name, and dropped blocks and failures, as text.
2: `Conditions`, `Dropped`, `Failure` and `Phase` are types.
3: turns have windows of their own for each workload, and a pilot's p99 is told by workload.
"""

SCHEMA = 3
