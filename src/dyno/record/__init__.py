"""The waist: what a run leaves behind, and all that a judge or a report may know of it.

A run is a folder; a trial is one file in it, written once and never rewritten. Everything else
(`verdict.json`, `report.html`, `trials.csv`) is derived and can be made again with no engine
installed. `SCHEMA` is the version of these files; older ones are still read, newer refused.
"""

from dyno.record.calibration import Calibration, Score
from dyno.record.history import (
    FreshComparison,
    History,
    HistoryNomination,
    HistoryPoint,
    HistorySeries,
    LeftOut,
)
from dyno.record.run import (
    Candidate,
    Crossing,
    Design,
    Factor,
    Kind,
    Mark,
    Observation,
    Run,
    Variant,
    WorkloadPlan,
    host_score,
)
from dyno.record.schema import SCHEMA
from dyno.record.trial import (
    FLOOR,
    Better,
    Evidence,
    Latency,
    Metric,
    PhaseRecord,
    Reading,
    Series,
    Status,
    Tally,
    Trial,
    Usage,
)
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
    "FreshComparison",
    "History",
    "HistoryNomination",
    "HistoryPoint",
    "HistorySeries",
    "Kind",
    "Latency",
    "LeftOut",
    "Mark",
    "Metric",
    "Observation",
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
