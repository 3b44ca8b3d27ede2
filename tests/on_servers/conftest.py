"""What the tests of this folder need of the machine: the clients that fetch servers, by file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import outside
from kit_parts import KitParts
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
def kit_parts(request: pytest.FixtureRequest) -> Iterator[KitParts]:
    """A server for the kit, of each version, with what parts it has; it ends with them in it."""
    with serving(str(request.param)) as server:
        yield KitParts(server)


@pytest.fixture
def kit_server(kit_parts: KitParts) -> KitServer:
    """The server without the kit; whoever installs a part takes it out again."""
    return kit_parts.clear()


@pytest.fixture
def installed_anew(kit_parts: KitParts) -> Iterator[None]:
    """For a test that needs a part as it was installed, or leaves it as no other test wants it."""
    kit_parts.clear()
    yield
    kit_parts.clear()
