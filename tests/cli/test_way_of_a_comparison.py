"""From the command line to a started engine: a way that a reader can follow."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType

import pytest
from fake_engine import register_engine

import dyno
from dyno.cli import compare, run_words
from dyno.engines import null

FRAMES_MAX = 8
PACKAGE = Path(dyno.__file__).parent


def _frames(frame: FrameType | None) -> list[str]:
    """Our functions from the command's own down to here, the innermost first. A trial that takes
    turns with others has a thread of its own, which the main one waits for.
    """
    main = sys._current_frames()[threading.main_thread().ident or 0]
    found = [] if threading.current_thread() is threading.main_thread() else _frames_of(main)
    return _frames_of(frame) + found


def _frames_of(frame: FrameType | None) -> list[str]:
    found = []
    while frame is not None:
        code = frame.f_code
        if Path(code.co_filename).is_relative_to(PACKAGE) and code.co_name[0] != "<":
            found.append(f"{Path(code.co_filename).relative_to(PACKAGE)}: {code.co_name}")
        if code is compare.command.callback.__code__:  # type: ignore[union-attr]
            return found
        frame = frame.f_back
    return found


def test_from_compare_to_the_engines_start_are_few_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    class Watched(null.Engine):
        def start(self, *given: object, **words: object) -> object:  # type: ignore[override]
            seen.append(_frames(sys._getframe(1)))
            return super().start(*given, **words)  # type: ignore[arg-type]

    register_engine(monkeypatch, "null", Watched)  # type: ignore[arg-type]
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    words = ["null@1ms", "null@2ms", "-w", "oltp_point_select", "--blocks", "3"]
    options = ["--set", "time=0.05", "--set", "warmup_time=0", "--set", "table_size=10"]
    assert run_words(["compare", *words, *options]) in (0, 1, 2)
    assert run_words(["compare", *words, *options, "--sequential"]) in (0, 1, 2)
    assert len(seen) >= 12
    assert all("compare.py: command" in frames[-1] for frames in seen), seen
    assert all(0 < len(frames) < FRAMES_MAX for frames in seen), max(seen, key=len)
