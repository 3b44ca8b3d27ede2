"""Runs of `dyno program`, made up."""

from __future__ import annotations

import json
from pathlib import Path

from dyno.record.decode import encode
from dyno.record.program import ProgramPlay, ProgramRun, ProgramSide


def make_run(slowdown: float = 0.05, blocks: int = 6) -> ProgramRun:
    """Two programs, of which the second is slower by so much in each block."""
    sides = tuple(
        ProgramSide(
            name, name, f"/x/{name}.toml", ("/bin/true",), "(.*)", programs={"/bin/true": name}
        )
        for name in ("a", "b")
    )
    plays = tuple(
        ProgramPlay(
            2 * block + at + 1, block, side.name, block, 1000.0 + block - 1000 * slowdown * at, 1.0
        )
        for block in range(blocks)
        for at, side in enumerate(sides)
    )
    return ProgramRun(
        name="a vs b",
        created_utc="2026-01-13T00:00:00+00:00",
        command="dyno program a.toml b.toml",
        seed=1,
        workload="set",
        unit="/s",
        better="higher",
        sides=sides,
        plays=plays,
        analyses=(blocks,),
        margin_percent=2.0,
    )


def write_program_run(home: Path) -> Path:
    """Programs of which the second is slower."""
    folder = home / "20260113T000000Z-program"
    folder.mkdir(parents=True)
    (folder / "program.json").write_text(json.dumps(encode(make_run())))
    return folder
