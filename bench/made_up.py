"""Restart logs with known variance components, judged by Dyno's rule until it stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rules import Log

from dyno.stats.interval import to_log
from dyno.stats.looks import Looks
from dyno.stats.scenarios import LOOKS, MARGIN_PERCENT
from dyno.stats.simulate import Rule, simulate_runs

#: Windows of a restart that the rules which pool are shown: as many as `go test -count=10` gives.
WINDOWS = 10


@dataclass(frozen=True)
class Components:
    """How logs of times vary, as standard deviations in percent: what a block has in common (the
    host's hour), what a restart has to itself, and what a window inside it has.
    """

    name: str
    block_percent: float
    restart_percent: float
    window_percent: float


#: A calm host; restarts that differ, as they do here; a host that drifts beside them.
KINDS = (
    Components("restarts alike", 0.0, 0.0, 1.5),
    Components("restarts differ 1.4 %", 0.0, 1.4, 1.5),
    Components("and the host drifts 3 %", 3.0, 1.4, 1.5),
)


@dataclass(frozen=True)
class Made:
    """A comparison of known truth: what Dyno called it, and the log that it saw."""

    slower: bool
    log: Log


def made_up(kind: Components, percent: float, runs: int, looks: Looks = LOOKS) -> Iterator[Made]:
    """Comparisons of a candidate that is truly `percent` slower; all see the blocks Dyno saw."""
    dice = np.random.default_rng(17)
    shape = (runs, 2, looks.maximum)
    block, restart, window = (
        size / 100 for size in (kind.block_percent, kind.restart_percent, kind.window_percent)
    )
    means = dice.normal(0, restart, shape) + dice.normal(0, block, (runs, 1, looks.maximum))
    means[:, 1] += to_log(percent)
    windows = np.exp(means[..., None] + dice.normal(0, window, (*shape, WINDOWS)))
    logs = np.log(windows.mean(axis=-1))
    found = simulate_runs(
        (logs[:, 1] - logs[:, 0])[:, None, :], Rule(looks, to_log(MARGIN_PERCENT))
    )
    for run, blocks in enumerate(found.blocks):
        log = Log(windows[run, 0, :blocks], windows[run, 1, :blocks])
        yield Made(str(found.words[run, 0]) == "slower", log)
