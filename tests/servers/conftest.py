"""What the tests of this folder need of the machine: the clients that fetch servers, by file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import outside
from kit_servers import VERSIONS, KitServer, serving

#: What starts servers, and what fetches those of every kind.
START, EVERY = "setpriv", ("mvn", "npm", "apt-get", "setpriv")
#: Files (the beginning of their names) that need less.
LESS = {
    "test_duckdb": ("npm",),
    "test_kit": ("mvn", "apt-get", START),
    "test_main_job": (),
    "test_passwords": ("mvn", START),
    "test_pgbench": ("mvn", START),
    "test_postgres": ("mvn", START),
    "test_sysbench_scripts": (),
    "test_watch": ("mvn", "npm", "apt-get", START),
}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before a test's own fixtures start a server: skips it on a laptop, fails it in CI."""
    file = Path(item.path).stem
    needed = next((few for name, few in LESS.items() if file.startswith(name)), EVERY)
    for client in needed:
        outside(client)


@pytest.fixture(scope="session", params=VERSIONS)
def kit_server(request: pytest.FixtureRequest) -> Iterator[KitServer]:
    """A server for the kit, of each version; whoever installs a part takes it out again."""
    with serving(str(request.param)) as server:
        yield server
