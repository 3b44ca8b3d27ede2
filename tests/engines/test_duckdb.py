"""Engine `duckdb`: builds and settings, with a driver that answers as a DuckDB would."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from engine_callbacks import ask_nothing, say_nothing

from dyno.builds import Build
from dyno.builds.path import find_system_library
from dyno.driver.plan import Session
from dyno.engines import Ask, find_engine
from dyno.engines.duckdb import find_library
from dyno.errors import HostError, TrialFailed, UsageError

BUILD = Build("duckdb", "test", "1", Path("/lib/none.so"))


def _reporting(**other: str) -> Ask:
    """A DuckDB that reports sizes as it does, and `other` in the place of what it was told."""

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        told = dict(session["settings"]) | {"memory_limit": "1.0 GiB"}
        told |= {"checkpoint_threshold": "16.0 MiB", "temp_directory": session["database"]} | other
        return [[[name, value] for name, value in told.items()], [["v1.4.4"]]]

    return ask


def test_sizes_are_compared_as_sizes_and_paths_of_the_trial_are_left_out(tmp_path: Path) -> None:
    engine = find_engine("duckdb", _reporting())
    found = engine.settings(engine.start(BUILD, tmp_path, {"memory_limit": "1024MiB"}))
    assert set(found) == {*engine.options, "version"} and found["version"] == "1.4.4"


@pytest.mark.parametrize("other", [{"memory_limit": "1.2 GiB"}, {"threads": "2"}])
def test_a_duckdb_that_runs_with_other_settings_fails_the_trial(
    other: dict[str, str], tmp_path: Path
) -> None:
    engine = find_engine("duckdb", _reporting(**other))
    with pytest.raises(TrialFailed, match="was asked for"):
        engine.settings(engine.start(BUILD, tmp_path, {}))


def test_what_is_no_duckdb_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nearest: 1\.5\.6; or a build"):
        find_engine("duckdb", ask_nothing).program("2.0.0", {}, say_nothing)
    with pytest.raises(UsageError, match="is not a DuckDB library: undefined symbol"):
        find_engine("duckdb", ask_nothing).program(
            str(find_system_library("libc.so.6", "libc6")), {}, say_nothing
        )


def test_a_damaged_build_in_the_cache_is_told_with_the_way_to_have_it_anew(tmp_path: Path) -> None:
    (tmp_path / "libduckdb.so").write_bytes(b"half of it")
    with pytest.raises(HostError, match="is not a DuckDB library: ") as caught:
        find_library("1.4.4", say_nothing, fetch=lambda *_: tmp_path)
    assert caught.value.message == f"{tmp_path.name} in the cache is damaged"
    assert caught.value.hint.startswith(f"`dyno clean {tmp_path.name} --yes` removes it")
