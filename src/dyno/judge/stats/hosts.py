"""Blocks of several hosts: how much the effect itself differs from host to host.

A host's mean is one datum and Student's t is taken of these (`interval.extract_independent_data`):
it holds the mean effect over hosts in 95 % of runs however much hosts differ, and however unequally
many blocks they have (docs/evidence/hosts.md). Of balanced blocks it is the REML estimate of a
random effect of the host, wherever that is above 0. What stands here only describes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyno.judge.stats.log_ratio import Floats


@dataclass(frozen=True)
class Heterogeneity:
    """How hosts differ: `sd` is that of the effect from host to host, in logs, by the method of
    moments (0 where hosts differ no more than blocks do); `share` is I², the part of the spread of
    the hosts' means that is not the blocks' own (Higgins, Thompson, *Quantifying heterogeneity in
    a meta-analysis*, Stat. Med. 21, 2002).
    """

    sd: float
    share: float


def estimate_heterogeneity(logs: Floats, hosts: Sequence[object]) -> Heterogeneity | None:
    """Of block logs with the host of each; None for one host, and where no host has two blocks."""
    places = np.unique(np.asarray(hosts), return_inverse=True)[1]
    sizes = np.bincount(places).astype(float)
    count, freedom = sizes.size, logs.size - sizes.size
    if count < 2 or freedom < 1:
        return None
    means = np.bincount(places, logs) / sizes
    within = float(((logs - means[places]) ** 2).sum()) / freedom
    between = float((sizes * (means - logs.mean()) ** 2).sum()) / (count - 1)
    blocks = (logs.size - float((sizes**2).sum()) / logs.size) / (count - 1)
    variance = max(0.0, (between - within) / blocks)
    share = max(0.0, 1.0 - within / between) if between > 0.0 else 0.0
    return Heterogeneity(math.sqrt(variance), share)


def align_hosts(logs: Floats, hosts: Sequence[object]) -> Floats:
    """The logs with every host's mean moved to that of all, and spread as blocks are within a host;
    as they are where there is one host, or none has two.
    """
    places = np.unique(np.asarray(hosts), return_inverse=True)[1]
    sizes = np.bincount(places)
    freedom = logs.size - sizes.size
    if sizes.size < 2 or freedom < 1:
        return logs
    left = logs - (np.bincount(places, logs) / sizes)[places]
    return np.asarray(logs.mean() + left * math.sqrt((logs.size - 1) / freedom))
