"""Runs of `dyno crash`, made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dyno.record import Candidate
from dyno.record.crash import CrashPlay, CrashRun, CrashSide
from dyno.record.decode import encode


def make_play(number: int, lost: int = 0, **more: Any) -> CrashPlay:
    named = tuple(f"commit {each} of client 0" for each in range(lost))
    made: dict[str, Any] = {"recovery_s": 1.0 + number / 10, "lost_bytes": 4096, "syncs": 9}
    return CrashPlay(number, 0.5, 100, 1, lost_count=lost, lost=named[:5], **(made | more))


def make_run(*plays: CrashPlay, times: int = 3, **more: Any) -> CrashRun:
    """Kills of an engine that loses commits in the second."""
    return CrashRun(
        name="sqlite@3.54",
        created_utc="2026-01-14T00:00:00+00:00",
        command="dyno crash sqlite@3.54 --times 3",
        seed=1,
        workload="transactions",
        candidate=Candidate(
            "sqlite@3.54", "sqlite@3.54", "sqlite", True, {"version": "3.54.1"}, {}, {}
        ),
        times=times,
        clients=1,
        within_s=2.0,
        plays=plays or (make_play(1), make_play(2, lost=2), make_play(3)),
        **{"promise": "a power cut", "decided_by": {"synchronous": "full"}} | more,
    )


def make_compared_run(*plays: CrashPlay, times: int = 8, **more: Any) -> CrashRun:
    """A base that keeps its commits beside another engine with these kills."""
    own = [make_play(each, rate_per_s=100.0 + each) for each in range(1, times + 1)]
    run = make_run(*own, times=times)
    other = CrashSide(
        Candidate("other", "other=sqlite@3.24", "sqlite", True, {"version": "3.24.0"}, {}, {}),
        1,
        plays,
        **{"promise": "a power cut", "decided_by": {"synchronous": "full"}} | more,
    )
    return CrashRun(
        **{name: getattr(run, name) for name in run.__struct_fields__ if name != "others"},
        others=(other,),
    )


def write_crash_run(home: Path) -> Path:
    """An engine that loses commits."""
    folder = home / "20260114T000000Z-crash"
    folder.mkdir(parents=True)
    (folder / "crash.json").write_text(json.dumps(encode(make_run())))
    return folder
