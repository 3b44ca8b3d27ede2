"""Engines: one file per engine, which offers a class `Engine`.

An engine finds its program (by `dyno.builds`), starts it in a private home, reads its settings
back, lets it settle, and stops it. SQL reaches it through `ask`, which the conductor hands in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from dyno.builds import Build, Say
from dyno.engines._attaching import Attaches as Attaches
from dyno.engines._counting import Counts as Counts
from dyno.engines._holding import Holds as Holds
from dyno.engines._preloading import Preloads as Preloads
from dyno.plan import Session
from dyno.plugins import find as find_module

#: Answers SQL statements over a session: for each, its rows as text (None for NULL).
Ask = Callable[[Session, Sequence[str]], list[list[list[str | None]]]]


@dataclass(frozen=True)
class Server:
    """A started engine: how to reach it, which process to watch, where its data and log lie.

    `pid` is None where the engine lives inside the driver's process, and where a server that runs
    already is not known to run on this machine.
    """

    session: Session
    home: Path
    pid: int | None = None
    log: Path | None = None
    handle: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Under:
    """What the controls want of a server's process: the command that starts it under them
    (`("setarch", "-R", "taskset", "-c", "0")`), and what joins its environment.
    """

    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


#: Under no control at all.
UNHELD = Under()


class Engine(Protocol):
    """The verbs of an engine.

    `embedded` says that it runs inside the driver's process. `options` maps each setting that it
    knows to its default and meaning; `flags` the same for its builds; `versions` are those that
    `program` can fetch by number.
    """

    embedded: ClassVar[bool]
    options: ClassVar[dict[str, tuple[str, str]]]
    flags: ClassVar[dict[str, tuple[str, str]]]
    versions: ClassVar[tuple[str, ...]]

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        """The program for what stands after the `@`; `UsageError` where there is none."""

    def start(
        self, build: Build, home: Path, settings: dict[str, str], under: Under = UNHELD
    ) -> Server:
        """Starts `build` with its data in `home`, a private folder: empty, or as `stop` left it.

        An embedded engine ignores `under`, which is the driver's then.
        """

    def settings(self, server: Server) -> dict[str, str]:
        """Every setting as the engine itself reports it."""

    def settle(self, server: Server) -> None:
        """Checkpoint, vacuum, analyse: what this engine needs between writes and reads."""

    def stop(self, server: Server) -> None:
        """Ends the engine; its home stays."""


@runtime_checkable
class Checks(Protocol):
    """An engine that knows a wrong word before anything is built or started."""

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        """`UsageError` where `program` or `start` could not take these; fetches nothing."""


@runtime_checkable
class Accepts(Protocol):
    """An engine whose program judges its settings: asked once it is at hand, before any trial."""

    def accept(self, build: Build, settings: dict[str, str]) -> None:
        """`UsageError` where this build would not start with these settings."""


@runtime_checkable
class Variables(Protocol):
    """An engine that also takes its own variables by name: `options` explains only some."""

    variables: ClassVar[frozenset[str]]


def settings_of(engine: Engine) -> frozenset[str]:
    """The name of every setting that a candidate of this engine may carry."""
    more = engine.variables if isinstance(engine, Variables) else ()
    return frozenset((*engine.options, *more))


@runtime_checkable
class Snapshots(Protocol):
    """An engine whose home, once stopped, may be copied and started elsewhere: where loading is
    slow, data are loaded a few times and copied for each trial."""

    def filed(self, settings: dict[str, str]) -> dict[str, str]:
        """Those of `settings` that the files depend on: a page's size, not a cache's."""


@runtime_checkable
class Knobs(Protocol):
    """An engine whose settings do what a control names for all: `knobs`, by its name and value."""

    knobs: ClassVar[dict[str, dict[str, dict[str, str]]]]


@runtime_checkable
class Outgrows(Protocol):
    """An engine that knows what its files take beside the data (logs, redo, undo, temporaries)."""

    def disk_bytes(self, data_bytes: int, settings: dict[str, str]) -> int:
        """The most that a home may take while `data_bytes` of rows are loaded and changed."""


def find(name: str, ask: Ask) -> Engine:
    """The engine called `name`; an unknown one raises `UsageError` with the nearest names."""
    engine: Engine = find_module("dyno.engines", "engine", name).Engine(ask)
    return engine
