"""What tests of workloads may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno import driver, engines
from dyno.driver.plan import Session


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    """A session on the system's library, with the engine's default settings."""
    engine = engines.find_engine("sqlite", driver.ask)
    return engine.start(engine.program("system", {}, lambda _: None), tmp_path, {}).session
