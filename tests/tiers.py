"""Each test's tier and group: what `make check` and `make test` play, and which meet on one worker.

The tiers are markers. Each test has exactly one: `chaos` where its file or it says so, `servers`
below tests/on_servers, `slow` where it says so, else `unit`. Beside it a test may be `further`:
`make test` leaves it to `make test-all`, as a test of the same name plays there on another build of
the same engine. That follows from the test's parameters, here and nowhere else.
"""

from __future__ import annotations

import os
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadScopeScheduling

#: Tier -> what a test of it does, in the order in which `make test` plays them: groups that take
#: minutes begin first, and the short ones fill the workers' last seconds.
TIERS = {
    "servers": "starts servers",
    "chaos": "kills or stops Dyno, its driver or a server at a moment of a run",
    "slow": "compiles an engine, plays a whole run, or simulates for seconds",
    "unit": "all others: what `make check` plays",
}
FURTHER = "further"
#: A server in a test's parameters: `mysql@8.0.33`, `postgres-18`.
SERVER = re.compile(r"(postgres|mysql|mariadb|duckdb)[-@]([\w.]+)")
#: The names that tests/private_servers.py has for some builds.
BUILDS = {
    "mysql-5.6": "mysql-5.6.14",
    "mysql-8.0": "mysql-8.0.33",
    "mariadb-innodb": "mariadb-debian",
    "mariadb-rocksdb": "mariadb-debian",
}
#: The builds that `make test` plays: of each family the first that a test has, else its first.
CORE = {
    "postgres": ("18",),
    "mysql": ("8.0", "9.7"),
    "mariadb": ("11.8", "innodb", "debian"),
    "duckdb": (),
}
#: What no parameter tells: clusters and packages, whose tests take up to a minute of a core each.
LONG = re.compile(r"tests/compare/test_fleet_on_ray\.py|tests/test_wheel\.py")
#: Where something is killed, a server of processes stands for all.
KILLED = ("postgres@18", "mysql@8.0")
#: Below these folders one server of any family stands for all ...
ONE_SERVER = re.compile("on_servers/(kit|watch)/")
ONE_OF = ("mysql@9.7", "mysql@8.0", "mariadb@11.8")
#: ... but for what meets the server's own ways: these play on every build in `make test`, too.
EVERY_BUILD = re.compile(
    r"test_kit_installer\.py|test_kit_lost_library\.py::test_it_is_told.*mysql@8\.0"
    r"|test_a_workload_plays_and_its_ledger_balances\[.*oltp_read_write"
)

#: Files whose tests read all sources: parsed once.
READ_ALL = ("tests/test_tidy.py", "tests/test_words.py")


def add_markers(config: pytest.Config) -> None:
    """Make the tiers known."""
    for name, use in TIERS.items():
        config.addinivalue_line("markers", f"{name}: {use}")
    config.addinivalue_line("markers", f"{FURTHER}: what only `make test-all` plays")


def arrange(items: list[pytest.Item]) -> None:
    """Give each test its one tier, and bring them in order."""
    for item in items:
        tier = tier_of(item)
        if item.get_closest_marker(tier) is None:
            item.add_marker(tier)
    for item in list_further(items):
        item.add_marker(FURTHER)
    if share := os.environ.get("DYNO_TEST_SHARE"):
        number, of = map(int, share.split("/"))
        items[:] = [it for it in items if zlib.crc32(it.nodeid.encode()) % of == number]
    order = list(TIERS)
    items.sort(
        key=lambda item: (order.index(tier_of(item)), not item.nodeid.startswith("tests/test_"))
    )


def tier_of(item: pytest.Item) -> str:
    """Return its tier's name."""
    if item.get_closest_marker("chaos"):
        return "chaos"
    if "on_servers" in item.path.parts:
        return "servers"
    return "slow" if item.get_closest_marker("slow") else "unit"


def name_folder(name: str) -> str:
    """Return the folder of tests/ that the test of this node id lies in: `on_servers/kit`."""
    parts = name.partition("::")[0].split("/")[1:-1]
    return "/".join(parts[: 2 if parts[:1] == ["on_servers"] else 1]) or "tests"


def find_servers(item: pytest.Item) -> list[tuple[str, str]]:
    """Return family and build of each server that its parameters name."""
    params = getattr(item, "callspec", None)
    values = params.params.values() if params is not None else ()
    found = (SERVER.match(value) for value in values if isinstance(value, str))
    return [(it[1], it[2]) for it in found if it]


def list_further(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that play on builds that do not stand for their family."""
    functions: dict[str, list[tuple[pytest.Item, list[tuple[str, str]]]]] = defaultdict(list)
    further = [item for item in items if LONG.match(item.nodeid)]
    for item in items:
        is_meant = tier_of(item) in ("servers", "chaos") and not EVERY_BUILD.search(item.nodeid)
        if is_meant and (servers := find_servers(item)):
            functions[item.nodeid.partition("[")[0]].append((item, servers))
    for name, tests in functions.items():
        ranking = (
            KILLED if tier_of(tests[0][0]) == "chaos" else ONE_OF if ONE_SERVER.search(name) else ()
        )
        chosen = choose_builds([server for _, servers in tests for server in servers], ranking)
        further += [item for item, servers in tests if chosen.isdisjoint(servers)]
    return further


def choose_builds(servers: list[tuple[str, str]], ranking: tuple[str, ...]) -> set[tuple[str, str]]:
    """Return those of a test's `servers` on which `make test` plays it.

    One, the first of `ranking`; without a ranking one of each family.
    """
    if ranking:
        ranked = [it for text in ranking for it in servers if "@".join(it).startswith(text)]
        return {(ranked or servers)[0]}
    chosen = set()
    for family, core in CORE.items():
        builds = [build for it, build in servers if it == family]
        leading = [build for text in core for build in builds if build.startswith(text)]
        chosen |= {(family, build) for build in (leading or builds)[:1]}
    return chosen


def group_of(name: str) -> str:
    """Return the server that the test of this node id is about, so that it is started once; else
    its file, or what several read.
    """
    file, _, words = name.partition("::")
    if file in READ_ALL:
        return "sources"
    server = SERVER.search(words.partition("[")[2]) if "/on_servers/" in file else None
    if server is None:
        return file
    build = "-".join(server.groups())
    return BUILDS.get(build, build)


def make_scheduler(config: pytest.Config, log: object) -> object:
    """Return xdist's scheduler of whole groups: ours, in the order of `arrange`.

    A marker cannot say them: xdist 3.8 tells groups by an attribute that pytest 9.2 no longer
    reads, so that each worker set up each file's fixtures and each server anew.
    """
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group_of
    return scheduler
