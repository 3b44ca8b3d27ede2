"""Frames of a flame graph: both sides' CPU time of an operation in a function and what it calls.

A frame's difference has its interval over blocks as a layer's has, and differs only where that
excludes 0 and Benjamini and Hochberg agree over all frames. Paths are layer and function where
samples have no callers.

Callers were met in one trial of each side, so that they have no interval. Judged times of
functions are divided among them as that trial met them; a frame then differs where its function's
own code does.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyno.judge.analysis.cpu_samples import DRIVER, CodePlace, SampledPhase, name_place
from dyno.judge.analysis.layers import WHOLE, compare_functions, find_sure_differences
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.verdict import Bools
from dyno.record.cause import FunctionDifference
from dyno.record.profile import CpuProfile

#: Frames below this share of the whole on both sides, and without a sure difference, are left out.
SHARE_LEAST = 0.0005
#: Of more, the smallest are left out, too.
FRAMES_MOST = 2_500

#: Callers outermost first, the function itself last.
Path = tuple[CodePlace, ...]


class Frame(FunctionDifference):
    """A function where these callers called it, what it calls included, in ns an operation."""

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


def build_stack_frames(
    phase: SampledPhase, analyses: InterimAnalyses, base: CpuProfile, candidate: CpuProfile
) -> FrameTree:
    """The same below their callers, as these profiles of the two sides have them."""
    sides = [_list_caller_shares(profile) for profile in (base, candidate)]
    rows: list[tuple[int, Path, float, float]] = []
    for at, place in enumerate(phase.places):
        both = [side.get(place, {}) for side in sides]
        known = [each or both[1 - side] or {(place,): 1.0} for side, each in enumerate(both)]
        for path in dict.fromkeys((*known[0], *known[1])):
            rows.append((at, path, known[0].get(path, 0.0), known[1].get(path, 0.0)))
    order = [at for at, *_ in rows]
    shares = np.array([[row[2:] for row in rows]])[0]
    divided = replace(
        phase,
        places=tuple(phase.places[at] for at in order),
        base_shares=phase.base_shares[order] * shares[:, :1],
        shares=phase.shares[order] * shares[:, 1:],
    )
    judged = {CodePlace(it.layer, it.name): it for it in compare_functions(phase, analyses)}
    return build_frames(divided, [path for _, path, *_ in rows], analyses, judged)


def _list_caller_shares(profile: CpuProfile) -> dict[CodePlace, dict[Path, float]]:
    """By function how its samples are divided among the ways to it, without the driver's."""
    counts: dict[CodePlace, Counter[Path]] = defaultdict(Counter)
    places = [name_place(function) for function in profile.functions]
    for stack in profile.stacks:
        path = tuple(places[at] for at in stack.frames if places[at].layer != DRIVER)
        if path:
            counts[path[-1]][path] += stack.samples
    return {
        place: {path: count / ways.total() for path, count in ways.items()}
        for place, ways in counts.items()
    }


#: Functions of the C library that keep no frame, so that the sampler saw who called them. Of others
#: it knows the callers whose frames it met, who need not be the nearest.
LEAF = re.compile(r"__w?(?:mem|str|wcs)\w*_(?:avx|evex|sse|erms)")


def find_callers(profile: CpuProfile) -> dict[CodePlace, tuple[str, float]]:
    """Return for each leaf of the C library which function called it most, and in which share of
    its samples with a caller.
    """
    callers: dict[CodePlace, Counter[str]] = defaultdict(Counter)
    places = [name_place(function) for function in profile.functions]
    for stack in profile.stacks:
        *_, caller, function = [CodePlace("", ""), *(places[at] for at in stack.frames)]
        if caller.name and LEAF.match(function.name):
            callers[function][caller.name] += stack.samples
    return {
        place: (name, samples / found.total())
        for place, found in callers.items()
        for name, samples in found.most_common(1)
    }


def build_frames(
    phase: SampledPhase,
    paths: Sequence[Path],
    analyses: InterimAnalyses,
    judged: Mapping[CodePlace, FunctionDifference] | None = None,
) -> FrameTree:
    """The tree of `paths`, one for each of the phase's places; with `judged` a frame has the ends
    of its function's own code, and differs where that does.
    """
    members: dict[Path, list[int]] = defaultdict(list)
    for row, path in enumerate(paths):
        for depth in range(len(path) + 1):
            members[path[:depth]].append(row)
    nodes = list(members)
    base = np.array([phase.base_shares[rows].sum(axis=0) for rows in members.values()])
    own = np.array([phase.shares[rows].sum(axis=0) for rows in members.values()])
    interval = phase.compare(base, own, analyses.compute_level(phase.blocks))
    means = (base + own).mean(axis=-1) / 2
    differs = find_sure_differences(interval, means, phase.blocks, analyses)
    if judged is not None:
        certain = {place for place, it in judged.items() if it.differs}
        pairs = zip(nodes, differs, strict=True)
        differs = np.array([node[-1] in certain if node else bool(it) for node, it in pairs])
    sizes = np.maximum(base.mean(axis=-1), own.mean(axis=-1))
    shown, least = _choose_shown(nodes, sizes, differs)
    times = dict(zip(nodes, phase.list_times(base, own, interval), strict=True))
    for node in times if judged else ():
        if node and (found := (judged or {}).get(node[-1])):
            times[node] = times[node]._replace(low_ns=found.low_ns, high_ns=found.high_ns)
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
        least = SHARE_LEAST / 10 if differs[at] else SHARE_LEAST
        if sizes[at] < least or len(kept) >= FRAMES_MOST:
            continue
        kept |= {nodes[at][:depth] for depth in range(len(nodes[at]) + 1)}
    kept |= {()}
    left = [float(size) for node, size in zip(nodes, sizes, strict=True) if node not in kept]
    return kept, max(left, default=0.0)
