"""What every test may ask for, and what the header says of this machine.

Its presence also makes `tests/` importable: `from fakes import make_run, make_trials`.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import fake_sysfs
import pytest
import tiers
from cpu_budget import CpuBudget
from private_mysql import VERSIONS, private
from private_servers import SHARED, made_home
from stub_programs import SAID

from dyno.engines import Server

SEED = int(os.environ.get("DYNO_TEST_SEED", "20261121"))

#: Programs from outside that some tests look at the real thing with.
OUTSIDE = {
    "apt-get": "MariaDB, and libraries that old servers want",
    "chromium": "the report in a browser",
    "cmake": "builds of old MySQL trees, and how they fail",
    "gpg": "an archive's signature",
    "lmdb.h": "LMDB as an engine of one's own",
    "mvn": "servers by version",
    "npm": "DuckDB and an old MySQL",
    "openssl": "certificates of servers",
    "perl": "how a build's scripts fail",
    "pgbench": "what its script files mean",
    "rocksdb/c.h": "RocksDB as an engine of one's own",
    "setpriv": "servers that end with us",
    "sysbench": "other people's scripts",
}


def pytest_configure(config: pytest.Config) -> None:
    # a tenth of all CPU time here went into looks for garbage among what lives until the end
    gc.set_threshold(50_000, 20, 20)
    tiers.add_markers(config)
    config.pluginmanager.register(CpuBudget(config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tiers.arrange(items)


def pytest_collection_finish() -> None:
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return tiers.make_scheduler(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_report_header() -> list[str]:
    missing = [f"{name} ({use})" for name, use in OUTSIDE.items() if not find_outside(name)]
    lines = [f"dyno: seed {SEED} (DYNO_TEST_SEED)"]
    if missing:
        lines.append(f"dyno: WITHOUT {', '.join(missing)}: their tests skip here, and fail in CI")
    return lines


@pytest.fixture
def rng() -> random.Random:
    """Randomness that the header's seed repeats."""
    return random.Random(SEED)


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own: no test reads or adds to this host's calibration."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("DYNO_STATE", str(folder))
    return folder


@pytest.fixture
def short_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody in this process sleeps for longer than a moment."""
    sleep = time.sleep
    monkeypatch.setattr("time.sleep", lambda seconds: sleep(min(seconds, 0.001)))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_sleeps: None) -> None:
    """A cache of builds of the test's own, the compiler of this system, and no long pauses."""
    SAID.clear()
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that root's unprivileged user can get to, which pytest's own is not."""
    with made_home() as folder:
        yield folder


@pytest.fixture
def knobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The host's knobs as a tree of files of the test's own, and a journal in `../journal`."""
    tree = fake_sysfs.make_tree(tmp_path / "tree")
    for name, value in fake_sysfs.environment(tree, tmp_path / "journal").items():
        monkeypatch.setenv(name, value)
    return tree


def find_outside(name: str) -> str | None:
    """A program's path, or that of a library's header."""
    header = Path("/usr/include") / name
    return str(header) if header.is_file() else shutil.which(name)


def outside(name: str) -> str:
    """The path of what is from outside; without it, skip on a laptop and fail in CI."""
    found = find_outside(name)
    if found is None:
        message = f"{name} is not on this machine ({OUTSIDE.get(name, 'needed by this test')})"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.fixture(scope="session", autouse=True)
def shared_servers() -> Iterator[None]:
    """Servers that tests share end with the session."""
    yield
    SHARED.stop()


@pytest.fixture(scope="session", params=VERSIONS)
def mysql_version(request: pytest.FixtureRequest) -> str:
    """An engine and its build."""
    return str(request.param)


@pytest.fixture(scope="session")
def mysql(mysql_version: str) -> Iterator[Server]:
    """A private server of it."""
    with private(mysql_version) as server:
        yield server
