"""The version of a run's files.

A field with a default may be added under the same one: old records still read. A field that goes,
or changes its meaning, needs the next, and a reader of the old form once that was released.

3 is the first that a release wrote.
"""

SCHEMA = 3
