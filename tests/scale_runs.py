"""Runs of `dyno scale`, made up: operations whose parts are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fakes import make_run

from dyno.judge.stats.queueing_network import Cores, Demand, solve
from dyno.record.decode import encode
from dyno.record.scaling import LineTransfer, LockUse, ScalePlay, ScaleRun

LINE = LineTransfer(60.0, 55.0, 66.0, 1)


@dataclass(frozen=True)
class MadeSide:
    """A candidate's operation, and how far a play of many users is from what it says."""

    server_ns: float = 50_000.0
    client_ns: float = 10_000.0
    rest_ns: float = 20_000.0
    held: Mapping[str, float] = field(default_factory=dict)
    shared: Mapping[str, float] = field(default_factory=dict)
    off: float = 1.0
    tells: bool = True


def make_scale_run(
    sides: Mapping[str, MadeSide],
    users: Sequence[int] = (1, 2, 4),
    spread: Sequence[float] = (0.99, 1.0, 1.01),
    line: LineTransfer | None = LINE,
    users_per_core: float | None = None,
) -> ScaleRun:
    """Two cores; each restart's CPU time is so many times as long."""
    plays: list[ScalePlay] = []
    for restart, factor in enumerate(spread):
        for name, side in sides.items():
            for count in users:
                plays.append(_make_play(len(plays) + 1, restart, name, side, count, factor, False))
            if side.tells:
                for count in (users[0], users[-1]):
                    number = len(plays) + 1
                    plays.append(_make_play(number, restart, name, side, count, factor, True))
    return ScaleRun(
        make_run(list(sides)),
        tuple(users),
        len(spread),
        1.0,
        tuple(plays),
        line,
        users_per_core=users_per_core,
    )


def _make_play(
    number: int, restart: int, name: str, side: MadeSide, users: int, factor: float, watched: bool
) -> ScalePlay:
    held = {key: factor * ns for key, ns in side.held.items()}
    cpu_ns = factor * (side.server_ns + side.client_ns)
    demand = Demand(cpu_ns, held, delay_ns=side.rest_ns)
    rate = 1e9 * solve(demand, Cores(2), users).rate
    locks = [LockUse(key, "exclusive", 2.0, ns / 2, 0.0) for key, ns in held.items()]
    locks += [LockUse(key, "shared", times) for key, times in side.shared.items()]
    return ScalePlay(
        number=number,
        restart=restart,
        candidate=name,
        users=users,
        cores=2,
        operations=round(rate),
        duration_s=1.0,
        rate_per_s=rate if users == 1 else rate * side.off,
        server_cpu_ns=factor * side.server_ns,
        client_cpu_ns=factor * side.client_ns,
        layers={"parser": 10_000.0, "executor": 40_000.0},
        watched=watched,
        locks=tuple(locks) if watched else (),
    )


def write_scale_run(home: Path) -> Path:
    """A base with a lock that fills, and a candidate without."""
    run = make_scale_run({"old": MadeSide(held={"it": 5000.0}), "new": MadeSide(server_ns=60_000)})
    folder = home / "20260115T000000Z-scale"
    folder.mkdir(parents=True)
    (folder / "scaling.json").write_text(json.dumps(encode(run)))
    return folder
