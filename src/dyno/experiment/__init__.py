"""What is compared, on what, and how it is measured: an experiment as data, and its TOML file."""

from dyno.experiment.comparison import BLOCKS, Experiment, Measuring, Workload, compared
from dyno.experiment.toml_file import every, read

__all__ = ["BLOCKS", "Experiment", "Measuring", "Workload", "compared", "every", "read"]
