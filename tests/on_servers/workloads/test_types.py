"""Workload `types` on real servers: what each type takes, and which servers lack one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from played_workloads import Played, assert_ledger_balances, failures, play
from private_servers import SERVERS, serving

from dyno.engines import Server
from dyno.errors import DynoError

pytestmark = [pytest.mark.timeout(300)]

SMALL: dict[str, Any] = {"rows": 4000, "events": 100, "warmup_time": 0, "threads": 2}
BYTES = {"char32": 32, "char36": 36, "binary16": 16}
LACKING = {
    "mysql-5.6": "MySQL 5.6.14 has no type UUID",
    "mysql-8.0": "MySQL 8.0.33 has no type UUID",
}


@pytest.fixture(scope="module", params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(name: str) -> Iterator[Server]:
    with serving(name) as server:
        yield server


@contextmanager
def inserted(server: Server, home: Path, **options: Any) -> Iterator[Played]:
    try:
        played = play(server.session, "types", home, ("prepare", "run"), **SMALL | options)
        assert not failures(played)
        assert_ledger_balances(played)
        yield played
    finally:
        play(server.session, "types", home, ("cleanup",), **SMALL | options)


@pytest.mark.parametrize("type_", BYTES)
@pytest.mark.parametrize("key", ["primary", "secondary"])
def test_ids_are_found_and_as_long_as_their_type(
    server: Server, tmp_path: Path, type_: str, key: str
) -> None:
    with inserted(server, tmp_path, type=type_, key=key) as played:
        lengths = "SELECT MIN(OCTET_LENGTH(id)) * 1000 + MAX(OCTET_LENGTH(id)) FROM ids_by_type"
        assert played.number(lengths) == BYTES[type_] * 1001


def test_the_servers_own_type_or_a_sentence_that_it_has_none(
    server: Server, name: str, tmp_path: Path
) -> None:
    if name in LACKING:
        with (
            pytest.raises(DynoError, match=LACKING[name]),
            inserted(server, tmp_path, type="uuid"),
        ):
            pass
    else:
        with inserted(server, tmp_path, type="uuid") as played:
            assert played.number("SELECT COUNT(DISTINCT id) FROM ids_by_type") == 4000


def test_characters_take_more_than_bytes(server: Server, name: str, tmp_path: Path) -> None:
    if name == "mariadb-rocksdb":
        pytest.skip("what is not flushed yet has no size there")
    sizes = {}
    for type_ in ("char36", "binary16"):
        # in order of time, since how full the pages of random ids are is chance; InnoDB's trees
        # grow by a megabyte at a time, which is more than the difference of few rows
        with inserted(server, tmp_path, type=type_, order="time", rows=60000) as played:
            sizes[type_] = played.counters["data_bytes"] + played.counters["index_bytes"]
    assert sizes["char36"] > 1.2 * sizes["binary16"]
