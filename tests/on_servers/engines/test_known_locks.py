"""Locks that are held for a time that their holder tells: what each engine's measure makes of it.

Figures may differ by chance and by what else runs here; a factor of two is no chance.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from known_locks import play_known_lock
from private_servers import made_home
from repository import ROOT

from dyno.builds.compiler import Recipe, compile_library
from dyno.record.scaling import LockUse

FACTOR = 2.0
#: By engine: what the lock is called.
NAMES = {
    "postgres@12": "advisory lock 0 62",
    "postgres@18": "advisory lock 0 62",
    "mysql@8.0.33": "user-level lock known",
    "mariadb@debian": "user-level lock known",
    "sqlite": "file's write lock of byte 120 in ",
}
#: The plugin's own; 10 rows are all that it keeps.
KV = {"script": str(ROOT / "src/dyno/workloads/kv.lua")}


def find_lock(uses: tuple[LockUse, ...], name: str) -> float:
    """The ns that the lock is held, which each operation takes once."""
    (found,) = [each for each in uses if each.name.startswith(name) and each.kind != "shared"]
    assert found.held_ns is not None
    assert abs(found.acquisitions - 1) < 0.1
    return found.held_ns


@pytest.mark.parametrize(("text", "name"), NAMES.items(), ids=NAMES)
def test_a_lock_is_held_as_long_as_its_holder_says(text: str, name: str) -> None:
    how = "spin" if text == "sqlite" else "sleep"
    options = {"time": 3, "lock_us": 2000, "free_us": 1000, "how": how}
    with made_home() as home:
        play = play_known_lock(text, home, options)
    assert play.held_us > 0
    held_us = find_lock(play.found.uses, name) / 1e3
    assert play.held_us / FACTOR < held_us < play.held_us * FACTOR
    assert play.found.unseen


def test_where_no_table_shows_user_level_locks_that_is_said() -> None:
    with made_home() as home:
        play = play_known_lock("mysql@5.6.14", home, {"time": 1, "how": "sleep"}, users=2)
    (waits,) = [each for each in play.found.uses if each.name == "user-level lock"]
    assert waits.held_ns is None and waits.waited_ns
    assert "how long user-level locks are held: this version does not tell" in play.found.unseen


@pytest.mark.parametrize("users", [1, 2])
def test_a_mutex_of_an_embedded_engine_is_found_by_the_library(users: int, tmp_path: Path) -> None:
    recipe = Recipe(
        "known", ROOT / "bench/known_lock.c", f"-O2 -I{ROOT}/src/dyno/engines/plugin", ""
    )
    library = compile_library(recipe, lambda _: None).program
    text = f"plugin@{library}?lock_us=200&free_us=200"
    options = {"time": 1, "records": 10}
    play = play_known_lock(text, tmp_path, options, **KV, users=users)
    share = find_lock(play.found.uses, "mutex in hold_known_lock") * play.rate_per_s / 1e9
    assert 0.2 < share < 1.1, "half of a user's time, and at most all time"
