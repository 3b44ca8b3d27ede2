"""Firefox's profiler (profiler.firefox.com, "Load a profile from file"): layers are its categories.

The processed profile format, version 48, which newer profilers convert. A stack is one sample
whose weight is how many met it; its time says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dyno.report.profiles import CandidateProfile, ExportedFrame, Stack

SUFFIX = ".firefox.json"
FORMAT, GECKO_FORMAT = 48, 29
#: Colours of categories that the profiler knows; the first is what has no layer.
COLOURS = (
    *("grey", "blue", "green", "orange", "purple", "yellow"),
    *("lightblue", "red", "brown", "magenta", "lightgreen"),
)
OTHER = "Other"


def encode(profile: CandidateProfile) -> bytes:
    layers = dict.fromkeys(
        frame.layer for stack in profile.stacks for frame in stack if frame.layer
    )
    tables = _Tables({name: at for at, name in enumerate((OTHER, *layers))})
    samples = [(tables.number_stack(stack), weight) for stack, weight in profile.stacks.items()]
    interval_ms = profile.period_ns / 1e6
    return json.dumps(
        {
            "meta": _make_meta(list(tables.categories), interval_ms),
            "libs": [_make_library(path) for path in tables.libraries],
            "pages": [],
            "counters": [],
            "threads": [_make_thread(profile.candidate, tables, samples, interval_ms)],
        }
    ).encode()


def _make_meta(categories: Sequence[str], interval_ms: float) -> dict[str, Any]:
    return {
        "categories": [
            {"name": name, "color": COLOURS[at % len(COLOURS)], "subcategories": [OTHER]}
            for at, name in enumerate(categories)
        ],
        "interval": interval_ms,
        "startTime": 0,
        "processType": 0,
        "product": "Dyno",
        "stackwalk": 1,
        "debug": False,
        "version": GECKO_FORMAT,
        "preprocessedProfileVersion": FORMAT,
        "symbolicated": True,
        "markerSchema": [],
        "extensions": {"id": [], "name": [], "baseURL": [], "length": 0},
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
    }


def _make_library(path: str) -> dict[str, Any]:
    name = path.rpartition("/")[2]
    names = {"name": name, "path": path, "debugName": name, "debugPath": path}
    return {**names, "breakpadId": "", "codeId": None, "arch": None}


@dataclass
class _Tables:
    """The columns of a thread: texts, functions, frames and stacks, each numbered when met."""

    categories: dict[str, int]
    texts: dict[str, int] = field(default_factory=dict)
    libraries: dict[str, int] = field(default_factory=dict)
    frames: dict[ExportedFrame, int] = field(default_factory=dict)
    stacks: dict[tuple[int, int | None], int] = field(default_factory=dict)

    def number_stack(self, stack: Stack) -> int:
        node: int | None = None
        for frame in stack:
            self.number_text(frame.name)
            if frame.module:
                self.number_text(frame.module.rpartition("/")[2])
                self.libraries.setdefault(frame.module, len(self.libraries))
            if frame.source:
                self.number_text(frame.source)
            at = self.frames.setdefault(frame, len(self.frames))
            node = self.stacks.setdefault((at, node), len(self.stacks))
        assert node is not None, "a stack has a frame at least, its phase's"
        return node

    def number_text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def find_category(self, frame: ExportedFrame) -> int:
        return self.categories.get(frame.layer, 0)


def _make_thread(
    name: str, tables: _Tables, samples: Sequence[tuple[int, int]], interval_ms: float
) -> dict[str, Any]:
    frames = list(tables.frames)
    by_frame = [tables.find_category(frame) for frame in frames]
    return {
        "name": name,
        "processName": name,
        "processType": "default",
        "processStartupTime": 0,
        "processShutdownTime": None,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "pid": "1",
        "tid": 1,
        "isMainThread": True,
        "showMarkersInTimeline": False,
        "samples": {
            "stack": [stack for stack, _ in samples],
            "time": [at * interval_ms for at in range(len(samples))],
            "weight": [weight for _, weight in samples],
            "weightType": "samples",
            "length": len(samples),
        },
        "markers": _make_empty("data", "name", "startTime", "endTime", "phase", "category"),
        "stackTable": {
            "frame": [at for at, _ in tables.stacks],
            "prefix": [prefix for _, prefix in tables.stacks],
            "category": [by_frame[at] for at, _ in tables.stacks],
            "subcategory": [0] * len(tables.stacks),
            "length": len(tables.stacks),
        },
        **_make_frame_tables(tables, frames, by_frame),
        "nativeSymbols": _make_empty("libIndex", "address", "name", "functionSize"),
        "stringArray": list(tables.texts),
    }


def _make_frame_tables(
    tables: _Tables, frames: Sequence[ExportedFrame], categories: Sequence[int]
) -> dict[str, Any]:
    nothing = [None] * len(frames)
    files = [tables.libraries.get(frame.module, -1) for frame in frames]
    sources = [tables.number_text(frame.source) if frame.source else None for frame in frames]
    libraries = [path.rpartition("/")[2] for path in tables.libraries]
    return {
        "frameTable": {
            "address": [-1] * len(frames),
            "inlineDepth": [0] * len(frames),
            "category": list(categories),
            "subcategory": [0] * len(frames),
            "func": list(range(len(frames))),
            "nativeSymbol": nothing,
            "innerWindowID": [0] * len(frames),
            "implementation": nothing,
            "line": nothing,
            "column": nothing,
            "length": len(frames),
        },
        "funcTable": {
            "name": [tables.number_text(frame.name) for frame in frames],
            "isJS": [False] * len(frames),
            "relevantForJS": [False] * len(frames),
            "resource": files,
            "fileName": sources,
            "lineNumber": nothing,
            "columnNumber": nothing,
            "length": len(frames),
        },
        "resourceTable": {
            "lib": list(range(len(libraries))),
            "name": [tables.number_text(name) for name in libraries],
            "host": [None] * len(libraries),
            "type": [1] * len(libraries),
            "length": len(libraries),
        },
    }


def _make_empty(*columns: str) -> dict[str, Any]:
    return {**{name: [] for name in columns}, "length": 0}
