"""Records are ours alone, whatever the umask; a file that has its name is whole and on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakes import make_run

from dyno import private_files
from dyno.builds import cache
from dyno.compare.calibration import store
from dyno.report.html.page import replace_file, write_user_file
from dyno.runs.run_folder import RunFolder, create_run, write_json

DYNO = [sys.executable, "-m", "dyno.cli"]


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(place: Path) -> list[str]:
    """What in a folder others may read, write or look into."""
    paths = (place, *place.rglob("*"))
    return [str(it) for it in paths if not it.is_symlink() and it.stat().st_mode & 0o077]


def entry() -> store.CalibrationEntry:
    return store.CalibrationEntry("aa", "null", "w", 0.0, {}, "2026", "1", {})


@pytest.mark.slow
def test_a_run_that_was_played_is_private_with_all_that_was_derived(tmp_path: Path) -> None:
    words = ["compare", "null@50us", "null@60us", "-w", "oltp_point_select", "--set", "time=0.2"]
    done = subprocess.run(
        [*DYNO, *words, "--blocks", "4", "--margin", "50"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    (run,) = (tmp_path / "runs").iterdir()
    names = {it.name for it in run.iterdir()}
    assert {"run.json", "verdict.json", "report.html", "trials.csv"} <= names, done.stderr
    assert open_to_others(run) == []


def test_a_run_from_before_is_closed_when_it_is_touched(tmp_path: Path) -> None:
    folder = create_run(make_run(), tmp_path)
    (folder.path / "logs" / "0001.log").write_text("said")
    for path in (folder.path, *folder.path.rglob("*")):
        path.chmod(0o777)
    with folder.hold_alone():
        assert open_to_others(folder.path) == []


def test_a_folder_that_is_no_longer_open_is_left_as_it_is(tmp_path: Path) -> None:
    inner = tmp_path / "run" / "mine"
    private_files.make_folder(inner.parent)
    inner.mkdir(mode=0o755)
    private_files.tighten(inner.parent)
    assert inner.stat().st_mode & 0o777 == 0o755


def test_the_calibrations_store_and_kept_loads_are_private(tmp_path: Path, own_cache: None) -> None:
    file = tmp_path / "state" / "calibration" / "host.jsonl"
    file.parent.mkdir(parents=True, mode=0o777)
    file.touch(mode=0o666)
    store.append(file, entry())
    assert open_to_others(file.parent) == []
    assert len(store.read_entries(file)) == 1
    for kind in cache.PRIVATE:
        home = cache.ensure_entry(kind, "x", lambda place: None, lambda _: None)
        home.chmod(0o755)
        cache.ensure_entry(kind, "x", lambda place: None, lambda _: None)
        assert home.stat().st_mode & 0o777 == 0o700


def test_a_users_own_file_is_as_the_umask_has_it(tmp_path: Path) -> None:
    os.umask(0o027)
    write_user_file(tmp_path / "page.html", "x")
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("write", [replace_file, write_user_file])
def test_a_link_in_the_place_of_a_file_beside_is_not_followed(
    write: Callable[[Path, str], object], tmp_path: Path
) -> None:
    target, page = tmp_path / "victim", tmp_path / "page.html"
    target.write_text("untouched")
    own = f".page.html.{os.getpid()}-{threading.get_native_id()}"
    for name in (f"{own}.new", own, ".page.html.new"):
        (tmp_path / name).symlink_to(target)
    write(page, "text")
    assert page.read_text() == "text" and not page.is_symlink()
    assert target.read_text() == "untouched"


def test_threads_that_write_one_file_at_once_leave_one_whole(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def write(number: int) -> None:
        together.wait(20)
        for _ in range(50):
            replace_file(tmp_path / "page.html", f"{number}" * 999)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert len(set((tmp_path / "page.html").read_text())) == 1
    assert [it.name for it in tmp_path.iterdir()] == ["page.html"]


def test_a_link_in_the_place_of_a_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError), open(tmp_path / "log", "ab", opener=private_files.open_private):
        pass
    assert not (tmp_path / "victim").exists()


class Disk:
    """Notes what is synced, and each rename with what of it had not been."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: set[int] = set()
        self.torn: list[str] = []
        self.renamed: list[Path] = []
        fsync, real = os.fsync, {"rename": os.rename, "replace": os.replace}

        def sync(handle: int) -> None:
            fsync(handle)
            self.synced.add(os.fstat(handle).st_ino)

        def rename_by(name: str) -> Callable[..., None]:
            def rename(source: str | Path, target: str | Path) -> None:
                paths = (Path(source), *Path(source).rglob("*"))
                self.torn += [str(it) for it in paths if it.stat().st_ino not in self.synced]
                self.synced.discard(Path(target).parent.stat().st_ino)
                real[name](source, target)
                self.renamed.append(Path(target))

            return rename

        monkeypatch.setattr(os, "fsync", sync)
        monkeypatch.setattr(os, "rename", rename_by("rename"))
        monkeypatch.setattr(os, "replace", rename_by("replace"))

    def check(self) -> None:
        assert self.renamed and not self.torn
        for path in self.renamed:
            assert path.parent.stat().st_ino in self.synced, f"the name of {path} may be lost"


def fill(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "program").write_text("x")


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: write_json(folder / "run.json", {"a": 1}),
        lambda folder: replace_file(folder / "report.html", "x"),
        lambda folder: write_user_file(folder / "page.html", "x"),
        lambda folder: cache.ensure_entry("program", "x", fill, lambda _: None),
        lambda folder: create_run(make_run(), folder),
    ],
)
def test_what_gets_its_name_is_on_the_disk_and_so_is_the_name(
    write: Callable[[Path], object],
    tmp_path: Path,
    own_cache: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = Disk(monkeypatch)
    write(tmp_path)
    disk.check()


def test_the_homes_of_a_run_are_private_where_only_we_go_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")
    monkeypatch.setenv("DYNO_TMP", str(tmp_path / "elsewhere"))
    os.umask(0o077)
    folder.make_homes()
    assert folder.find_homes().stat().st_mode & 0o777 == 0o711, "a server's user passes through"
    if os.geteuid():
        monkeypatch.delenv("DYNO_TMP")
        folder.make_homes()
        assert folder.find_homes().stat().st_mode & 0o777 == 0o700
