"""The waist: what a run leaves behind, and all that a judge or a report may know of it.

A run is a folder; a trial is one file in it, written once and never rewritten. Everything else
(`verdict.json`, `report.html`, `trials.csv`) is derived and can be made again with no engine
installed. `SCHEMA` is the version of these files; older ones are still read, newer refused.
"""

from dyno.record.calibration import Calibration, Score
from dyno.record.design import Candidate, Crossing, Design, Factor, Kind, Variant, WorkloadPlan
from dyno.record.history import (
    History,
    LeftOut,
    Nominated,
    PastPoint,
    PastSeries,
    PastTrial,
)
from dyno.record.host import Mark, Observation, host_score
from dyno.record.metric import Better, Metric
from dyno.record.run import Run
from dyno.record.schema import SCHEMA
from dyno.record.tally import Latency, Series, Tally, Usage
from dyno.record.trial import FLOOR, Evidence, PhaseRecord, Reading, Status, Trial
from dyno.record.verdict import Comparison, Finding, Soundness, Spread, Verdict, VerdictName

__all__ = [
    "FLOOR",
    "SCHEMA",
    "Better",
    "Calibration",
    "Candidate",
    "Comparison",
    "Crossing",
    "Design",
    "Evidence",
    "Factor",
    "Finding",
    "History",
    "Kind",
    "Latency",
    "LeftOut",
    "Mark",
    "Metric",
    "Nominated",
    "Observation",
    "PastPoint",
    "PastSeries",
    "PastTrial",
    "PhaseRecord",
    "Reading",
    "Run",
    "Score",
    "Series",
    "Soundness",
    "Spread",
    "Status",
    "Tally",
    "Trial",
    "Usage",
    "Variant",
    "Verdict",
    "VerdictName",
    "WorkloadPlan",
    "host_score",
]
