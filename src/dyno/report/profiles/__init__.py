"""Profiles for other programs: collapsed stacks, Firefox's profiler, pprof; all with names inside.

A file holds one candidate's samples of all trials that count. Each stack begins with its phase;
where callers were not sampled the function's layer stands between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from dyno import private_files
from dyno.errors import UsageError
from dyno.record.profile import CpuProfile, ProfiledFunction
from dyno.report import Book

#: Functions without a symbol.
UNNAMED = "(no symbol)"


@dataclass(frozen=True)
class ExportedFrame:
    """A function, or the phase or layer that stands above functions."""

    kind: Literal["phase", "layer", "function"]
    name: str
    layer: str = ""
    module: str = ""
    source: str = ""


#: Frames outermost first.
Stack = tuple[ExportedFrame, ...]


@dataclass(frozen=True)
class CandidateProfile:
    """How many samples met each stack of a candidate, and the CPU time that a sample stands for."""

    candidate: str
    period_ns: int
    stacks: dict[Stack, int]


#: A format's encoder, and how its files' names end.
Encoder = tuple[Callable[[CandidateProfile], bytes], str]


def find_encoder(name: str) -> Encoder:
    """That of a format, which is a module of this package: firefox, collapsed, pprof."""
    module = import_module(f"{__name__}.{name}")
    return module.encode, module.SUFFIX


def write_profiles(book: Book, encoder: Encoder) -> list[Path]:
    """Writes a file for each candidate that was sampled into the run's folder, and answers them;
    `UsageError` where none was.
    """
    encode, suffix = encoder
    found = [collect_profile(book, name) for name in book.view.candidates]
    sampled = [profile for profile in found if profile.stacks]
    if not sampled:
        sampling = book.run.cpu_sampling
        cause = sampling.missing if sampling else "it was played by a Dyno that took none"
        hint = "play the comparison again where CPU time can be sampled"
        raise UsageError("the run has no samples of CPU time", cause=cause, hint=hint)
    paths = []
    for at, profile in enumerate(sampled):
        signs = (sign if sign.isalnum() or sign in ".-_" else "_" for sign in profile.candidate)
        paths.append(book.folder / f"profile-{at}-{''.join(signs)}{suffix}")
        private_files.write_bytes_whole(paths[-1], encode(profile))
    return paths


def collect_profile(book: Book, candidate: str) -> CandidateProfile:
    """All samples of a candidate's trials that count; those with callers where they were taken."""
    stacks: Counter[Stack] = Counter()
    period_ns = 0
    for phase, profile in _list_profiles(book, candidate):
        period_ns = profile.period_ns
        for frames, samples in _list_stacks(profile):
            stacks[ExportedFrame("phase", phase), *frames] += samples
    return CandidateProfile(candidate, period_ns, dict(stacks))


def collect_server_profile(name: str, profile: CpuProfile) -> CandidateProfile:
    stacks: Counter[Stack] = Counter()
    for frames, samples in _list_stacks(profile):
        stacks[ExportedFrame("phase", name), *frames] += samples
    return CandidateProfile(name, profile.period_ns, dict(stacks))


def _list_profiles(book: Book, candidate: str) -> Iterator[tuple[str, CpuProfile]]:
    own = [each for each in book.profiles if each.candidate == candidate]
    for each in own:
        yield from ((f"{each.workload}, {phase}", found) for phase, found in each.phases.items())
    for trial in book.view.counted_trials if not own else ():
        for record in trial.phases:
            if record.profile and trial.candidate == candidate:
                yield f"{trial.workload}, {record.phase}", record.profile


def _list_stacks(profile: CpuProfile) -> Iterator[tuple[Stack, int]]:
    """Callers and function where callers are known, else the layer and the function."""
    frames = [_make_frame(function) for function in profile.functions]
    for stack in profile.stacks:
        yield tuple(frames[at] for at in stack.frames), stack.samples
    if not profile.stacks:
        for frame, function in zip(frames, profile.functions, strict=True):
            if function.samples:
                yield (ExportedFrame("layer", frame.layer, frame.layer), frame), function.samples


def _make_frame(function: ProfiledFunction) -> ExportedFrame:
    file = function.module.rpartition("/")[2]
    name = function.name or f"{UNNAMED} {file}+{function.offset:#x}"
    layer = function.layer or "unknown"
    return ExportedFrame("function", name, layer, function.module, function.source)
