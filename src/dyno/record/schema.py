"""The version of a run's files.

A field with a default may be added under the same one: old records still read. A field that goes,
or changes its meaning, needs the next, and a reader of the old form (`record/older.py`).

1: conditions by name, and dropped blocks and failures, as text.
2: `Conditions`, `Dropped`, `Failure` and `Phase` are types.
"""

SCHEMA = 2
