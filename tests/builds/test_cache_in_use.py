"""What a run uses of the cache stays: other Dynos clean it, and make room in it, meanwhile."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dyno.builds import cache
from dyno.cli import run_words
from dyno.errors import HostError
from dyno.instruments.time.run import play_once, play_run
from dyno.instruments.time.watch import TrialStarted
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

#: Another process that uses an entry until its input ends.
USER = (
    "import sys\nfrom pathlib import Path\nfrom dyno.builds import cache\n"
    "with cache.keep_entries([Path(sys.argv[1])]):\n"
    "    print('held', flush=True)\n    sys.stdin.read()"
)


def filled(home: Path) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "it").write_bytes(b"x" * 5000)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the cache, which nobody uses yet."""
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("DYNO_TMP", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return cache.ensure_entry("program", "it-1", filled, print) / "bin" / "it"


def test_what_another_process_uses_is_not_cleaned_until_that_ends(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", USER, str(program)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as user:
        assert user.stdout is not None and user.stdout.readline() == "held\n"
        assert run_words(["clean", "--yes"]) == 0
        said = capsys.readouterr().out
        # tests beside this one may hold sockets, which stay too
        assert "it-1 is used by a run and stays\n" in said
        assert said.endswith("nothing to free\n")
        assert run_words(["engines", "remove", "it-1"]) == 64
        assert "it-1 is used by a run\nhint: wait" in capsys.readouterr().err
        assert program.exists()
        user.kill()
    assert run_words(["clean", "--yes"]) == 0
    assert not cache.list_entries()


def test_room_is_made_of_what_nobody_uses(program: Path) -> None:
    cache.ensure_entry("program", "it-2", filled, print)
    with cache.keep_entries([program]):
        cache.trim("program", 5000)
    assert [entry.name for entry in cache.list_entries()] == ["it-1"]


def test_files_out_of_the_cache_are_nobodys_and_what_is_gone_is_told(
    program: Path, tmp_path: Path
) -> None:
    with cache.keep_entries([Path("/bin/sh"), tmp_path, Path()]):
        assert cache.remove(cache.list_entries()[0])
    gone = pytest.raises(HostError, match="it-1 was removed from the cache while it was needed")
    with gone as caught, cache.keep_entries([program]):
        pytest.fail("it is not there")
    assert "start again" in caught.value.hint


def test_a_run_holds_its_programs_while_it_plays(program: Path, tmp_path: Path) -> None:
    measuring = Measuring(fixed=True, blocks=3)
    options = {"table_size": "10", "time": "0.05", "warmup_time": "0"}
    specs = ["null@10us", "null@11us"]
    prepared = draft_run(
        compare_candidates(specs, "oltp_point_select", options, measuring), lambda _: None
    )
    for name, build in prepared.builds.items():
        prepared.builds[name] = dataclasses.replace(build, program=program)
    removed: list[bool] = []

    def watch(event: object) -> None:
        if isinstance(event, TrialStarted):
            removed.append(cache.remove(cache.list_entries()[0]))

    play_once(prepared, watch)
    assert removed == [False]
    play_run(prepared, create_run(prepared.run, tmp_path / "runs"), watch)
    assert len(removed) >= 7 and not any(removed)
    assert cache.remove(cache.list_entries()[0])


@pytest.mark.usefixtures("own_cache")
def test_a_work_folder_that_somebody_works_in_is_not_swept_as_a_dead_ones() -> None:
    with cache.make_work_folder("building") as folder:
        cache.remove_unfinished(folder)
        assert folder.is_dir()
    assert not cache.list_unfinished()


@pytest.mark.usefixtures("own_cache")
def test_many_at_once_keep_their_work_folders() -> None:
    def work(number: int) -> bool:
        with cache.make_work_folder("building") as folder:
            (folder / "file").write_text(str(number))
            return (folder / "file").read_text() == str(number)

    with ThreadPoolExecutor(max_workers=8) as threads:
        assert all(threads.map(work, range(40)))
    assert not cache.list_unfinished()
