"""A script that never comes back ends with a sentence, wherever it loops."""

from __future__ import annotations

from pathlib import Path

import pytest
from played_scripts import NULL, Player

from dyno import driver
from dyno.errors import UsageError
from dyno.plan import Plan, Script

LOOP = "while true do end"


@pytest.mark.parametrize(
    "text",
    [
        f"function init() {LOOP} end function event() end",
        f"function thread_init() {LOOP} end function event() end",
        f"function event() {LOOP} end",
        f"function thread_run() {LOOP} end function event() end",
    ],
)
def test_an_endless_loop_ends_the_trial(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"the script has not come back for 0\.2 s"):
        Player(tmp_path)(text, events=1, script_timeout=0.2)


def test_one_at_load_is_found_when_the_script_is_described(tmp_path: Path) -> None:
    script = tmp_path / "s.lua"
    script.write_text(LOOP)
    with pytest.raises(UsageError, match="not come back"):
        driver.describe(Plan(NULL, Script(str(script), {"script_timeout": "0.2"}), 7))


def test_who_waits_is_not_taken_for_who_loops(tmp_path: Path) -> None:
    text = "ffi.cdef[[int usleep(unsigned);]] function event() ffi.C.usleep(400000) end"
    tally, _ = Player(tmp_path)(text, events=1, script_timeout=0.2)
    assert tally.done == 1
