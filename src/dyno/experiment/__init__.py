"""What is compared, on what, and how it is measured: an experiment as data, and its TOML file."""

from dyno.experiment.comparison import Experiment, compared
from dyno.experiment.file import every, read
from dyno.experiment.measuring import BLOCKS, Measuring
from dyno.experiment.workload import Workload

__all__ = ["BLOCKS", "Experiment", "Measuring", "Workload", "compared", "every", "read"]
