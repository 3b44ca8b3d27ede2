"""Engine `plugin`: libraries that are no engine, and LMDB and RocksDB as samples make them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import outside
from engine_callbacks import say_nothing
from played_workloads import assert_ledger_balances, failures, play

from dyno import driver
from dyno.builds.path import find_system_library
from dyno.engines import find_engine, plugin
from dyno.errors import TrialFailed, UsageError

SMALL: dict[str, Any] = {"records": 300, "events": 200, "warmup_time": 0}
HEADERS = {"lmdb": "lmdb.h", "rocksdb": "rocksdb/c.h"}

#: A library that is an engine as far as it is asked here.
STUB = """
#include "dyno_engine.h"
#include <stdio.h>
#include <stdlib.h>
static const char *version(void) { return "1"; }
static int open_(const char *folder, const struct dyno_setting *settings, size_t count,
                 void **database, char *error) {
    OPEN
    *database = &open_;
    return 0;
}
static void close_(void *database) {}
static int begin(void *database, void **transaction, char *error) { return 0; }
static int end(void *database, void *transaction, char *error) { return 0; }
static int get(void *database, void *transaction, struct dyno_bytes key, dyno_row *row, void *to,
               char *error) { return 0; }
static int put(void *database, void *transaction, struct dyno_bytes key, struct dyno_bytes value,
               int how, char *error) { PUT }
static int remove_(void *database, void *transaction, struct dyno_bytes key, char *error)
{ return 0; }
static int scan(void *database, void *transaction, struct dyno_bytes first, size_t limit,
                dyno_row *row, void *to, char *error) { return 0; }
static void stats(void *database, dyno_stat *tell, void *to) {}
const struct dyno_engine dyno_engine = {
    ABI, "Stub", version, open_, close_, begin, end, end, get, put, remove_, SCAN, stats};
"""


def compile_engine(source: Path, *words: str) -> Path:
    """The engine's library, beside its source."""
    library = source.with_suffix(".so")
    command = ["cc", "-O1", "-g", "-fPIC", "-shared", f"-I{plugin.FOLDER}", "-o", str(library)]
    subprocess.run([*command, str(source), *words], check=True)
    return library


@pytest.fixture
def stub(tmp_path: Path) -> Callable[..., Path]:
    def make(**changed: str) -> Path:
        words = {"ABI": "DYNO_ENGINE_ABI", "SCAN": "scan", "OPEN": "", "PUT": "return 1;"} | changed
        source = tmp_path / "stub.c"
        source.write_text(STUB)
        return compile_engine(source, *(f"-D{name}={value}" for name, value in words.items()))

    return make


@pytest.fixture(scope="module", params=HEADERS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each sample's engine, as its guide says that it is made."""
    name = str(request.param)
    outside(HEADERS[name])
    source = tmp_path_factory.mktemp("engine") / f"{name}.c"
    source.write_bytes((plugin.FOLDER / source.name).read_bytes())
    warnings = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
    return compile_engine(source, *warnings, f"-l{name}")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ABI": "99"}, "compiled with version 99 of the interface, this is 1"),
        ({"SCAN": "0"}, "its dyno_engine has no `scan`"),
        ({"OPEN": 'sprintf(error, "no room"); return DYNO_FAILED;'}, "open a database: no room"),
        ({"OPEN": "return DYNO_FAILED;"}, "open a database: it does not say why"),
        ({"OPEN": "abort();"}, "fails when a database is opened"),
    ],
)
def test_a_library_that_is_no_engine_is_refused_in_its_own_words(
    changed: dict[str, str], said: str, stub: Callable[..., Path]
) -> None:
    library = stub(**changed)
    with pytest.raises(UsageError) as caught:
        find_engine("plugin", driver.ask).program(str(library), {}, say_nothing)
    assert str(library) in caught.value.sentence or "Stub" in caught.value.sentence
    assert said in caught.value.sentence


def test_another_library_and_none_are_refused_with_what_an_engine_has_to_offer() -> None:
    engine = find_engine("plugin", driver.ask)
    libc = str(find_system_library("libc.so.6", "libc6"))
    with pytest.raises(UsageError, match=r"is no engine for Dyno: .*dyno_engine") as caught:
        engine.program(libc, {}, say_nothing)
    assert "`dyno engines plugin dyno_engine.h`" in caught.value.hint
    with pytest.raises(UsageError, match="plugin has no build 'lmdb'"):
        engine.program("lmdb", {}, say_nothing)


@pytest.mark.parametrize(
    ("put", "said"),
    [
        ('sprintf(error, "disk full"); return DYNO_FAILED;', "disk full"),
        ("abort();", "driver"),
    ],
)
def test_a_library_that_fails_or_crashes_in_a_request_fails_the_trial(
    put: str, said: str, stub: Callable[..., Path], tmp_path: Path
) -> None:
    engine = find_engine("plugin", driver.ask)
    build = engine.program(str(stub(PUT=put)), {}, say_nothing)
    with pytest.raises(TrialFailed, match=said):
        play(engine.start(build, tmp_path, {}).session, "kv", tmp_path, **SMALL)


@pytest.mark.parametrize(
    "mix", ["a", "e", "f", "read=1, insert=2, update=2, delete=3, scan=1", "batched"]
)
def test_kv_is_played_and_its_ledger_balances(mix: str, library: Path, tmp_path: Path) -> None:
    engine = find_engine("plugin", driver.ask)
    build = engine.program(str(library), {}, say_nothing)
    server = engine.start(build, tmp_path, {"sync": "off"})
    options = SMALL | {"mix": mix}
    if mix == "batched":
        options |= {"mix": "read=1,insert=1,update=1,delete=1", "batch": 5, "threads": 2}
    played = play(server.session, "kv", tmp_path, **options)
    assert not failures(played)
    assert_ledger_balances(played)
    assert played.number("SELECT COUNT(*) FROM kv") > 0
    assert engine.settings(server)["sync"] == "off"


def test_micro_plays_its_tests_by_key(library: Path, tmp_path: Path) -> None:
    engine = find_engine("plugin", driver.ask)
    session = engine.start(engine.program(str(library), {}, say_nothing), tmp_path, {}).session
    options: dict[str, Any] = {"table_size": 1000, "tables": 2, "events": 5, "warmup_time": 0}
    played = play(session, "micro", tmp_path, **options, tests="by-key")
    assert not failures(played) and len(played.phases) > 20
    assert_ledger_balances(played)
    with pytest.raises(UsageError, match="does not know such a statement"):
        play(session, "micro", tmp_path, ("run",), **options, tests="read-only-sum")


def test_a_setting_that_the_engine_does_not_know_is_refused_before_any_trial(library: Path) -> None:
    engine = find_engine("plugin", driver.ask)
    build = engine.program(str(library), {}, say_nothing)
    assert isinstance(engine, plugin.Engine)
    with pytest.raises(UsageError, match=r"no setting sink=off: sync=on or sync=off"):
        engine.accept(build, {"sink": "off"})
