"""What is compared, on what, and how it is measured: an experiment as data, and its TOML file."""

from dyno.runs.experiment.comparison import (
    BLOCKS,
    Experiment,
    Measuring,
    Workload,
    check_unlike,
    compare_candidates,
)
from dyno.runs.experiment.toml_file import read_accepted_file, read_experiment

__all__ = [
    "BLOCKS",
    "Experiment",
    "Measuring",
    "Workload",
    "check_unlike",
    "compare_candidates",
    "read_accepted_file",
    "read_experiment",
]
