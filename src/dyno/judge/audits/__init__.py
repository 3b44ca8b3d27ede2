"""Audits: one file per way in which a number can be wrong, which offers `AUDIT`.

An audit reads the records of a run and touches nothing else. The worst finding wins: one
`invalid` makes the comparisons it names invalid, whatever the figures say. Where something
could not be looked at, an audit says *not checked* and why; where the run has nothing of what it
judges, *does not apply*. Neither is ever *sound*.

Most ask how the numbers came about, and judge the trials that the numbers rest on. What an engine
did is a fact wherever it was seen: noise makes nobody lose a row (`JudgesEveryTrial`).
"""

from dyno.judge.analysis.audit import Audit, JudgesEveryTrial, load_audits

__all__ = ["Audit", "JudgesEveryTrial", "load_audits"]
