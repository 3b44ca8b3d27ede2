"""The Python face of the driver's plan (`crates/driver/src/plan/`).

`tests/driver/test_plan.py` holds both sides' types against each other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dyno.record import LedgerEntry, Phase
from dyno.record.decode import encode
from dyno.record.schema import Record

VERSION = 1

#: How to reach an engine, as its `Engine.start` answers: `kind` names the driver's session
#: (`null`, `sqlite`), the rest are that session's own fields.
Session = dict[str, Any]


@dataclass(frozen=True)
class Script:
    """A Lua file and the options that the user set, as text, names with underscores; `argv` are the
    words of a command line of sysbench's.
    """

    path: str
    options: dict[str, str] = field(default_factory=dict)
    argv: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlicePlan:
    """Slices in which several drivers are interleaved: all are given the same but for
    `own` and `frozen`.

    `order` says whose each turn is, `epoch_turns` after how many of them users connect anew
    (0: never), `connect_ns` what each driver is given for that; `frozen`: our engine stands still
    while others have their turn.
    """

    order: tuple[int, ...]
    own: int
    slice_ns: int
    drain_ns: int
    ramp_in_ns: int
    epoch_turns: int
    connect_ns: int
    frozen: bool

    @property
    def turn_ns(self) -> int:
        """A slice and its drain."""
        return self.slice_ns + self.drain_ns


@dataclass(frozen=True)
class Excerpt:
    """So many events of one phase, of one user; phases before it are played whole, those after it
    not at all. An empty `phase` is the first.
    """

    phase: str
    events: int


@dataclass(frozen=True)
class LoadShare:
    """Which of the drivers that play one load together: `own` of `of`, from 0."""

    own: int
    of: int


@dataclass(frozen=True)
class Plan:
    """Everything that the driver needs to play one trial.

    `commands` are the script's, in order (`prepare`, `run`, …); `cpus` the cores of the worker
    threads, empty for any; `threads` how many of those where more are wanted; `progress_s` the
    seconds between progress events, 0 for none. `turns` are those that the phases of `run` take,
    None where they play all the time. With `reports` the driver says what sysbench reports
    (`driver.Report`), with each progress and at the end. `excerpt` is what is played of `run`, None
    for all of it. `client` is our part of a load that several drivers play; None: all of it.
    """

    session: Session
    script: Script
    seed: int
    commands: tuple[str, ...] = ("prepare", "run")
    cpus: tuple[int, ...] = ()
    progress_s: float = 1.0
    turns: SlicePlan | None = None
    threads: int = 0
    reports: bool = False
    excerpt: Excerpt | None = None
    client: LoadShare | None = None
    version: int = VERSION

    def to_line(self) -> str:
        """The plan as the one line of JSON that the driver reads."""
        return json.dumps(encode(self))


class ScriptOption(Record):
    """An option of a script; `owner` is `script` or `general`."""

    name: str
    help: str
    default: str
    value: str
    owner: str


class PlannedStatement(Record):
    """A statement without parameters, whose plan is held against other candidates'."""

    name: str
    sql: str


class Seen(Record):
    """How often something stands in a file, and on which line first."""

    count: int
    line: int


class OutlinedText(Record):
    """A statement of a file without its rows, and the line on which it begins."""

    line: int
    text: str


class Outline(Record):
    """What `dyno-driver outline` says of an SQL file: what its head says wrote it (`program`), how
    many `statements` are played, how many of them bring tables or rows to each database that it
    names (`""`: none), what is `left_out` or altered, how many scheduled `events` it makes, and
    the statements themselves (`texts`).
    """

    program: str
    statements: int
    databases: dict[str, int]
    left_out: dict[str, Seen]
    events: int
    texts: tuple[OutlinedText, ...]


class Description(Record):
    """What `dyno-driver describe` says of a script under a plan's options."""

    summary: str
    options: tuple[ScriptOption, ...]
    commands: tuple[str, ...]
    phases: tuple[Phase, ...]
    ledger: tuple[LedgerEntry, ...]
    size_bytes: int
    plans: tuple[PlannedStatement, ...] = ()
    brief: dict[str, str] = msgspec.field(default_factory=dict)
    in_lua: tuple[str, ...] = ()
