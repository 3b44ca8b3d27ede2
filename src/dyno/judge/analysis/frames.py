"""Frames of a flame graph: both sides' CPU time of an operation in a function and what it calls.

A frame's difference has its interval over blocks as a layer's has, and differs only where that
excludes 0 and Benjamini and Hochberg agree over all frames. Paths are layer and function where
samples have no callers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dyno.judge.analysis.cpu_samples import CodePlace, SampledPhase
from dyno.judge.analysis.layers import WHOLE, find_sure_differences
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import Floats
from dyno.judge.stats.verdict import Bools

#: Frames below this share of the whole on both sides, and without a sure difference, are left out.
SHARE_LEAST = 0.0005
#: Of more, the smallest are left out, too.
FRAMES_MOST = 2_500

#: Callers outermost first, the function itself last.
Path = tuple[CodePlace, ...]


@dataclass(frozen=True)
class Frame:
    """A function where these callers called it, what it calls included, in ns an operation."""

    name: str
    layer: str
    base_ns: float
    candidate_ns: float
    difference_ns: float
    low_ns: float
    high_ns: float
    differs: bool
    children: tuple[Frame, ...] = ()

    def list_all(self) -> Iterator[Frame]:
        """This frame and all below it."""
        yield self
        for child in self.children:
            yield from child.list_all()


@dataclass(frozen=True)
class FrameTree:
    """All frames below `root`, but `left_out` small ones of at most `least_ns` on either side."""

    root: Frame
    left_out: int
    least_ns: float


def build_flat_frames(phase: SampledPhase, analyses: InterimAnalyses) -> FrameTree:
    """Layers, and in each its functions."""
    paths = [(CodePlace(place.layer, place.layer), place) for place in phase.places]
    return build_frames(phase, paths, analyses)


def build_frames(
    phase: SampledPhase, paths: Sequence[Path], analyses: InterimAnalyses
) -> FrameTree:
    """The tree of `paths`, one for each of the phase's places."""
    members: dict[Path, list[int]] = defaultdict(list)
    for row, path in enumerate(paths):
        for depth in range(len(path) + 1):
            members[path[:depth]].append(row)
    nodes = list(members)
    base = np.array([phase.base_shares[rows].sum(axis=0) for rows in members.values()])
    own = np.array([phase.shares[rows].sum(axis=0) for rows in members.values()])
    interval = phase.compare(base, own, analyses.compute_level(phase.blocks))
    differs = find_sure_differences(interval, phase.blocks, analyses)
    sizes = np.maximum(base.mean(axis=-1), own.mean(axis=-1))
    shown, least = _choose_shown(nodes, sizes, differs)
    times = dict(zip(nodes, phase.list_times(base, own, interval), strict=True))
    sure = {node for node, it in zip(nodes, differs, strict=True) if it}
    children: dict[Path, list[Path]] = defaultdict(list)
    for node in sorted(shown):
        if node:
            children[node[:-1]].append(node)

    def make(node: Path) -> Frame:
        place = node[-1] if node else CodePlace("", WHOLE)
        below = tuple(make(child) for child in children.get(node, ()))
        return Frame(place.name, place.layer, *times[node], node in sure, below)

    return FrameTree(make(()), len(nodes) - len(shown), least * phase.base_ns)


def _choose_shown(nodes: Sequence[Path], sizes: Floats, differs: Bools) -> tuple[set[Path], float]:
    """The frames that are drawn, with all their callers, and the share that those left out have
    at most.
    """
    order = sorted(range(len(nodes)), key=lambda at: (not differs[at], -sizes[at]))
    kept: set[Path] = set()
    for at in order:
        if not differs[at] and (sizes[at] < SHARE_LEAST or len(kept) >= FRAMES_MOST):
            break
        kept |= {nodes[at][:depth] for depth in range(len(nodes[at]) + 1)}
    kept |= {()}
    left = [float(size) for node, size in zip(nodes, sizes, strict=True) if node not in kept]
    return kept, max(left, default=0.0)
