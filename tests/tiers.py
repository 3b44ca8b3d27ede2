"""Each test's tier and group: what `make check` plays, and which tests meet on one worker.

The tiers are markers. Each test has exactly one: `chaos` where its file or it says so, `servers`
below tests/on_servers, `slow` where it says so, else `unit`.
"""

from __future__ import annotations

import re

import pytest

#: Tier -> what a test of it does, in the order in which `make test` plays them: groups that take
#: minutes begin first, and the short ones fill the workers' last seconds.
TIERS = {
    "servers": "starts servers",
    "chaos": "kills or stops Dyno, its driver or a server at a moment of a run",
    "slow": "compiles an engine, plays a whole run, or simulates for seconds",
    "unit": "all others: what `make check` plays",
}
#: A server in a test's parameters: `mysql@8.0.33`, `postgres-18`.
SERVER = re.compile(r"(?:postgres|mysql|mariadb|duckdb)[-@][\w.]+")
#: The names that tests/private_servers.py has for some builds.
BUILDS = {
    "mysql-5.6": "mysql-5.6.14",
    "mysql-8.0": "mysql-8.0.33",
    "mariadb-innodb": "mariadb-debian",
    "mariadb-rocksdb": "mariadb-debian",
}


def add_markers(config: pytest.Config) -> None:
    """Makes the tiers known."""
    for name, use in TIERS.items():
        config.addinivalue_line("markers", f"{name}: {use}")


def arrange(items: list[pytest.Item]) -> None:
    """Gives each test its one tier and its group, and brings them in order."""
    for item in items:
        tier, group = tier_of(item), group_of(item)
        if item.get_closest_marker(tier) is None:
            item.add_marker(tier)
        item.add_marker(pytest.mark.xdist_group(group))
    order = list(TIERS)
    items.sort(key=lambda item: order.index(tier_of(item)))


def tier_of(item: pytest.Item) -> str:
    """Its tier's name."""
    if item.get_closest_marker("chaos"):
        return "chaos"
    if "on_servers" in item.path.parts:
        return "servers"
    return "slow" if item.get_closest_marker("slow") else "unit"


def group_of(item: pytest.Item) -> str:
    """The server that the test is about, so that it is started once; else the test's file."""
    params = getattr(item, "callspec", None)
    if tier_of(item) == "servers" and params is not None:
        for value in params.params.values():
            if isinstance(value, str) and (found := SERVER.match(value)):
                name = found[0].replace("@", "-")
                return BUILDS.get(name, name)
    return "-".join(item.path.with_suffix("").parts[-2:])
