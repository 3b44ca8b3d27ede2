"""Engines that are interleaved are all up at once: is there memory for them, and what if not?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import machines
import pytest
from engine_callbacks import ask_nothing
from fakes import make_run
from msgspec import structs

from dyno.builds import Build, Say
from dyno.cli.terminal.announcement import format_memory
from dyno.engines import HoldsMemory, find_engine
from dyno.engines.mysql.evidence import estimate_needed_bytes
from dyno.errors import HostError, UsageError
from dyno.host.checks import Machine
from dyno.record.run import LIMITS
from dyno.runs.experiment import Experiment, Measuring
from dyno.runs.resolve.design import TURNS, choose_interleaving
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.resolve.preconditions import DRIVER_BYTES, USER_BYTES, check_memory, fit_memory

GIB, MIB = 1 << 30, 1 << 20
GROUP = "/sys/fs/cgroup/user.slice"


class Caching:
    """An engine whose cache is a setting, in GiB."""

    def estimate_memory_bytes(
        self, build: Build, settings: dict[str, str], connections: int
    ) -> int:
        return int(settings["cache"]) * GIB


def caching(cache: str = "1", attached: bool = False, sequential: bool | None = None) -> RunDraft:
    """Two candidates with a cache each, one connection."""
    run = make_run()
    sides = tuple(structs.replace(each, settings={"cache": cache}) for each in run.candidates)
    names = [side.name for side in sides]
    design = structs.replace(run.design, interleaving=TURNS)
    build = Build("fake", "", "1", Path(), attached=attached)
    engines: dict[str, Any] = dict.fromkeys(names, Caching())
    asked = Experiment("any", (), (), Measuring(sequential=sequential))
    run = structs.replace(run, design=design, candidates=sides)
    return RunDraft(run, engines, dict.fromkeys(names, build), experiment=asked)


def fitted(draft: RunDraft, say: Say, machine: Machine) -> Prepared:
    """The run as it fits this machine."""
    fit_memory(draft, say, machine)
    return draft


def host(folder: Path, available_gib: float, files: Mapping[str, str] | None = None) -> Machine:
    told = f"MemTotal: 64000000 kB\nMemAvailable: {round(available_gib * MIB)} kB\n"
    return machines.make(folder, {"/proc/meminfo": told, **(files or {})})


NEEDED = 2 * (GIB + DRIVER_BYTES + USER_BYTES)


def test_where_all_fit_the_announcement_says_what_they_take(tmp_path: Path) -> None:
    said: list[str] = []
    there = fitted(caching(), said.append, host(tmp_path, 20.0))
    assert there.run.design.interleaving == TURNS
    assert there.memory is not None
    assert there.memory.needed_bytes == NEEDED
    assert (
        format_memory(there) == "Interleaved: both engines are up at once, about 2.2 GB of 21.5 GB."
    )
    assert not said
    assert format_memory(caching()) == ""


@pytest.mark.parametrize(
    ("available_gib", "files", "fits"),
    [
        (2.4, {}, True),
        (2.2, {}, False),  # nine tenths of it are less than both take
        (20.0, {f"{GROUP}/memory.max": f"{2 * GIB}"}, False),
        (20.0, {f"{GROUP}/memory.max": f"{4 * GIB}"}, True),
        (
            20.0,
            {
                f"{GROUP}/memory.max": f"{4 * GIB}",
                f"{GROUP}/memory.stat": f"anon {2 * GIB}\nfile 9\n",
            },
            False,
        ),
    ],
)
def test_the_tighter_of_host_and_group_decides(
    available_gib: float, files: dict[str, str], fits: bool, tmp_path: Path
) -> None:
    there = fitted(caching(), lambda _: None, host(tmp_path, available_gib, files))
    assert (there.run.design.interleaving is not None) == fits


def test_where_they_do_not_fit_restarts_are_played_one_by_one_and_that_is_said(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    there = fitted(caching("3"), said.append, host(tmp_path, 4.0))
    assert there.run.design.interleaving is None
    assert there.run.design.limits == LIMITS
    assert format_memory(there) == ""
    assert said == [
        "restarts are played one after the other, not interleaved: "
        "2 engines up at once need about 6.5 GB, and 4.3 GB are available"
    ]


def test_turns_that_were_asked_for_and_turns_begun_are_refused_by_name(tmp_path: Path) -> None:
    small = host(tmp_path, 4.0)
    refusal = r"cannot be interleaved: 2 engines(.|\n)*--interleaved"
    with pytest.raises(HostError, match=refusal):
        fit_memory(caching("3", sequential=False), print, small)
    with pytest.raises(HostError, match=refusal):
        check_memory(caching("3"), small)
    check_memory(caching("1"), small)


def test_a_server_that_runs_already_takes_nothing_more(tmp_path: Path) -> None:
    there = fitted(caching("3", attached=True), print, host(tmp_path, 4.0))
    assert there.memory is not None
    assert there.memory.needed_bytes == 2 * (DRIVER_BYTES + USER_BYTES)


def test_turns_that_are_not_sound_are_refused_only_where_they_were_asked_for() -> None:
    build = Build("fake", "", "1", Path(), attached=True)
    sides: list[Any] = [(side, Caching(), build) for side in make_run().candidates]
    plans = make_run().workloads
    assert choose_interleaving(Measuring(), sides, plans, {}, lambda _: None) is None
    assert choose_interleaving(Measuring(sequential=True), sides, plans, {}, print) is None
    with pytest.raises(UsageError, match=r"interleaved: old runs already(.|\n)*--interleaved"):
        choose_interleaving(Measuring(sequential=False), sides, plans, {}, print)


def test_an_embedded_engine_takes_what_its_settings_say() -> None:
    build = Build("any", "", "1", Path())
    taken = {}
    for name in ("sqlite", "duckdb"):
        engine = find_engine(name, ask_nothing)
        assert isinstance(engine, HoldsMemory)
        taken[name] = engine.estimate_memory_bytes
    assert taken["sqlite"](build, {}, 4) == 4 * 64 * MIB
    assert taken["sqlite"](build, {"cache_size": "100", "page_size": "8192"}, 1) == 819_200
    assert taken["sqlite"](build, {"profile": "stock"}, 1) == 2000 * 1024
    less, more = (taken["duckdb"](build, {"memory_limit": m}, 9) for m in ("1GiB", "3GiB"))
    assert more - less == 2 * GIB


def test_a_server_takes_the_cache_of_its_storage_engine() -> None:
    listed = {
        "innodb_buffer_pool_size": f"{GIB}",
        "key_buffer_size": "256M",
        "default_storage_engine": "InnoDB",
    }
    innodb, myisam = (estimate_needed_bytes(listed, storage, 1) for storage in ("", "MyISAM"))
    assert innodb - myisam == GIB - 256 * MIB
    assert estimate_needed_bytes(listed | {"performance_schema": "TRUE"}, "", 1) > innodb
    assert estimate_needed_bytes(listed, "", 100) > innodb
