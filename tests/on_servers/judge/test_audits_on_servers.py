"""Injected faults that only real servers and builds show, through the whole pipeline."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fake_engine import register_engine

from dyno.builds import Build, Say
from dyno.engines import postgres, sqlite
from dyno.engines.sqlite import builds
from dyno.instruments.time.run import play_run
from dyno.judge.analysis.judge import judge
from dyno.record import Finding
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

pytestmark = [pytest.mark.timeout(300)]

NEIGHBOURS = {"steal_percent": 100.0, "foreign_percent": 100.0}
OPTIONS = {"time": "0.3", "warmup_time": "0", "table_size": "20000"}


def _found(home: Path, *sides: str, workload: str = "oltp_point_select") -> dict[str, Finding]:
    """The first finding of each audit after three blocks."""
    measuring = Measuring(blocks=3, fixed=True, limits=NEIGHBOURS, seed=3, loads=0)
    prepared = draft_run(compare_candidates(sides, workload, OPTIONS, measuring), lambda _: None)
    kept = create_run(prepared.run, home)
    play_run(prepared, kept, lambda _: None)
    findings = judge(prepared.run, kept.read_trials()).findings
    return {finding.audit: finding for finding in reversed(findings)}


@pytest.fixture(autouse=True)
def data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))


def test_an_io_bound_server_whose_page_cache_holds_all_is_told(home: Path) -> None:
    small = "profile=io-bound&shared_buffers=1MB"
    found = _found(home, f"old=postgres@12?{small}", f"new=postgres@18?{small}")
    assert found["caching"].soundness == "doubtful"
    assert "the kernel's page cache held them" in found["caching"].sentence
    mine = ("data_size", "settings", "storage", "durability", "results")
    assert {name: found[name].soundness for name in mine} == dict.fromkeys(mine, "sound")
    assert found["build_quality"].soundness == "doubtful", "12 is built for size, 18 is not"


def test_one_engine_that_waits_for_the_disk_and_one_that_does_not_are_told(home: Path) -> None:
    sides = "safe=postgres@18?synchronous_commit=on", "swift=mysql@8.0.33"
    found = _found(home, *sides, workload="oltp_read_only")
    durability = found["durability"]
    assert durability.soundness == "doubtful"
    assert "innodb_flush_log_at_trx_commit=2" in durability.sentence
    assert found["results"].soundness == "sound", "two engines, the same number of rows"


def test_a_server_with_assertions_is_invalid_beside_one_without(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No build with assertions is to be had: the real one is made to say that it has them."""

    class Checked(postgres.Engine):
        def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
            found = super().program(build, flags, say)
            if build == "12":
                found.facts["assertions"] = "on"
            return found

    register_engine(monkeypatch, "postgres", Checked)
    found = _found(home, "checked=postgres@12", "plain=postgres@18")
    assert (found["build_quality"].soundness, len(found["build_quality"].trials)) == ("invalid", 3)
    assert "checked carries assertions" in found["build_quality"].sentence


def test_a_library_built_for_debugging_tells_so(home: Path) -> None:
    """Compiled for real: half a minute, once; the cache keeps it."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    engine = sqlite.Engine(lambda session, statements: [])
    defines = f"{builds.DEFINES} SQLITE_DEBUG=1"
    build = engine.program("3.54.1", {"cflags": "-O0 -g", "defines": defines}, lambda _: None)
    assert build.facts["assertions"] == "on"
