"""An engine, a control and a probe as fakes that note every call in one journal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from dyno.builds import Build
from dyno.engines import NO_CONDITIONS, Ask, Engine, Server, StartConditions
from dyno.host.controls import ControlResult, ControlTarget
from dyno.host.probes import Measure, ProbeTarget
from dyno.plugins import load_modules
from dyno.record import PinningCondition

Journal = list[str]


def register_engine(
    monkeypatch: pytest.MonkeyPatch, name: str, engine: Callable[[Ask], Engine]
) -> None:
    """Offers `engine` under `name` for the time of the test, as a module of `engines/` would."""
    module = SimpleNamespace(Engine=engine, __doc__="")
    monkeypatch.setitem(load_modules("dyno.engines"), name, module)
    monkeypatch.setitem(sys.modules, f"dyno.engines.{name}", module)


class FakeEngine:
    embedded: ClassVar[bool] = True
    options: ClassVar[dict[str, tuple[str, str]]] = {}
    flags: ClassVar[dict[str, tuple[str, str]]] = {}
    versions: ClassVar[tuple[str, ...]] = ()

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def program(self, build: str, flags: dict[str, str], say: Callable[[str], None]) -> Build:
        return Build("fake", build, "1", Path("/bin/true"))

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        del under
        assert home.is_dir()
        assert not list(home.iterdir())
        self.journal.append(f"start {build.name}")
        (home / "data").write_bytes(b"x" * 1000)
        return Server({"kind": "fake", "build": build.name}, home)

    def settings(self, server: Server) -> dict[str, str]:
        self.journal.append("settings")
        return {"journal_mode": "wal"}

    def settle(self, server: Server) -> None:
        self.journal.append("settle")

    def stop(self, server: Server) -> None:
        self.journal.append(f"stop {server.session['build']}")


class FakeControl:
    summary = "holds nothing"
    default = "on"
    values: ClassVar[dict[str, str]] = {"on": "", "off": ""}

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def check(self, value: str) -> None:
        assert value in self.values

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        return ""

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        assert subject.embedded
        self.journal.append(f"hold {value}")
        try:
            cores = PinningCondition((1,), ())
            yield ControlResult({"was": "off"}, ("nice",), {"MARK": "1"}, cores)
        finally:
            self.journal.append("release")


class FakeProbe:
    summary = "counts its samples"
    is_condition = False
    measures: tuple[Measure, ...] = (
        Measure("counter", "ns", "lower"),
        Measure("gauge", "B", "lower", counter=False, per_operation=False),
        Measure("missing", "B", "lower"),
    )

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.samples = 0

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        assert watched.server_pid == watched.client_pid == 42
        self.journal.append("sample")
        self.samples += 10
        return {"counter": self.samples, "gauge": 7.0}
