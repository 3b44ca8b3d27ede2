"""The layer under the files: what was synced stays, and what was not is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from dyno.instruments.crash.undo_log import SECTOR, PowerCut, UnsyncedLayer

PROGRAM = Path(__file__).with_name("unsynced_calls.py")
#: Calls to the text that the file `a` has after the cut, which held "0123456789", synced.
LOST = [
    ("write,a,xyz", "0123456789"),
    ("pwrite,a,8,xyz", "0123456789"),
    ("pwritev,a,4,xyz", "0123456789"),
    ("writev,a,x,y,z", "0123456789"),
    ("write_by_number,a,xyz", "0123456789"),
    ("write_by_number,a,xyz fsync_by_number,a", "xyz3456789"),
    ("ftruncate,a,3", "0123456789"),
    ("ftruncate,a,5000", "0123456789"),
    ("truncate,a,0", "0123456789"),
    ("allocate,a,9000", "0123456789"),
    ("close,a open,a,O_WRONLY|O_TRUNC write,a,xyz", "0123456789"),
    ("close,a open,a,O_WRONLY|O_APPEND write,a,xyz", "0123456789"),
    ("write,b,xyz copy,b,a", "0123456789"),
    ("write,b,xyz send,b,a", "0123456789"),
    ("pwrite,a,0,xyz sync_range,a", "0123456789"),
    ("fork,pwrite,a,0,xyz", "0123456789"),
    ("pwrite,a,0,xyz fsync,b", "0123456789"),
    ("pwrite,a,0,xyz fsync,a", "xyz3456789"),
    ("pwrite,a,0,xyz fdatasync,a pwrite,a,0,uvw", "xyz3456789"),
    ("pwrite,a,0,xyz sync pwrite,a,20,uvw", "xyz3456789"),
    ("fork,pwrite,a,0,xyz fork,fsync,a", "xyz3456789"),
    ("fork,pwrite,a,0,xyz pwrite,a,1,uv ftruncate,a,2", "0123456789"),
    ("ftruncate,a,3 fsync,a", "012"),
    ("close,a open,a,O_WRONLY|O_DSYNC pwrite,a,0,xyz", "xyz3456789"),
    ("close,a open,a,O_WRONLY|O_SYNC|O_APPEND write,a,xyz", "0123456789xyz"),
    ("pwrite,a,0,uvwuvw dsync,a,2,xyz pwrite,a,3,rst", "01xyz56789"),
    ("dsync,a,12,xyz", "0123456789\0\0xyz"),
    ("rename,a,b rename,b,a pwrite,a,0,xyz", "0123456789"),
    ("write,b,xyz fsync,b rename,b,a", "0123456789"),
    ("write,b,xyz fsync,b rename,b,a syncdir", "xyz"),
    ("write,b,xyz rename,b,a fsync,b", "xyz"),
    ("write,b,xyz rename,b,a syncdir", ""),
    ("close,a unlink,a open,a,O_CREAT|O_RDWR write,a,xyz", "0123456789"),
    ("close,a unlink,a syncdir open,a,O_CREAT|O_RDWR write,a,xyz syncdir", ""),
    ("close,a unlink,a open,a,O_CREAT|O_RDWR write,a,xyz fsync,a", "xyz"),
    ("rename,a,b rename,b,c", "0123456789"),
    ("link,a,b unlink,a", "0123456789"),
    ("unlink,a write,b,xyz fsync,a", "0123456789"),
    ("mkdir,d rename,a,d/a", "0123456789"),
]
#: Calls to the files that are there after the cut, beside `a`.
NAMES = [
    ("write,b,xyz", ""),
    ("write,b,xyz fsync,b", "b"),
    ("write,b,xyz syncdir", "b"),
    ("link,a,b", ""),
    ("write,b,xyz fsync,b unlink,b", "b"),
    ("write,b,xyz fsync,b unlink,b syncdir", ""),
    ("write,b,xyz fsync,b rename,b,c", "b"),
    ("write,b,xyz fsync,b unlink,b write,c,xyz fsync,c", "c"),
    ("write,b,xyz write,c,xyz fsync,c write,d,xyz", "b c"),
]


def make_layer(folder: Path, **how: Any) -> UnsyncedLayer:
    (folder / "data").mkdir(exist_ok=True)
    return UnsyncedLayer(folder / "layer", folder / "data", **how)


@contextmanager
def start(layer: UnsyncedLayer, environment: Mapping[str, str], words: str) -> Iterator[IO[str]]:
    """Start the program with these calls; yield what it says."""
    with subprocess.Popen(
        [sys.executable, "-IS", str(PROGRAM), *words.split()],
        cwd=layer.watched,
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        try:
            yield process.stdout
        finally:
            process.kill()


def play(folder: Path, words: str, torn: str = "", silent: bool = False) -> PowerCut:
    """Play the calls under the layer, turn the power off, and restore."""
    layer = make_layer(folder, scratch=("-shm",), silent=silent)
    with start(layer, layer.lay(print), words) as said:
        assert said.readline() == "done\n"
        layer.cut()
    return layer.put_back(torn)


@pytest.mark.parametrize(("calls", "text"), LOST)
def test_a_file_is_as_at_its_last_sync(tmp_path: Path, calls: str, text: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("0123456789")
    play(tmp_path, f"open,a,O_RDWR {calls}")
    assert (tmp_path / "data" / "a").read_text() == text


@pytest.mark.parametrize(("calls", "names"), NAMES)
def test_a_name_lasts_once_its_folder_or_the_new_file_is_synced(
    tmp_path: Path, calls: str, names: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("0123456789")
    play(tmp_path, calls)
    assert sorted(it.name for it in (tmp_path / "data").iterdir()) == ["a", *names.split()]


def test_a_new_file_whose_folder_alone_was_synced_is_empty(tmp_path: Path) -> None:
    cut = play(tmp_path, "write,a,xyz syncdir write,b,xyz")
    assert (tmp_path / "data" / "a").read_bytes() == b""
    assert (cut.files, cut.syncs, cut.names) == (1, 1, 1)


def test_direct_writes_are_lost_too(tmp_path: Path) -> None:
    play(tmp_path, "direct,a,0,x direct,a,4096,x fsync,a direct,a,4096,y direct,a,8192,y")
    assert (tmp_path / "data" / "a").read_bytes() == b"x" * 8192


def test_a_silent_sync_keeps_nothing(tmp_path: Path) -> None:
    cut = play(tmp_path, "write,a,xyz fsync,a dsync,a,0,uvw sync", silent=True)
    assert not (tmp_path / "data" / "a").exists()
    assert cut.syncs == 0


def test_a_shared_mapping_is_told_by_name(tmp_path: Path) -> None:
    cut = play(tmp_path, "write,a,xyz mmap,a write,b-shm,xyz mmap,b-shm")
    assert cut.unseen == ("a",)
    assert (tmp_path / "data" / "b-shm").read_bytes() == b"!yz"


def test_nothing_outside_the_folder_is_touched(tmp_path: Path) -> None:
    play(tmp_path, f"write,{tmp_path}/beside,xyz")
    assert (tmp_path / "beside").read_text() == "xyz"


def test_torn_keeps_some_sectors_drawn_by_the_seed(tmp_path: Path) -> None:
    found = []
    for seed in ("1", "1", "2"):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / "a").write_bytes(b"o" * 64 * SECTOR)
        cut = play(tmp_path, f"pwrite,a,0,{'n' * 64 * SECTOR}", torn=seed)
        found.append((tmp_path / "data" / "a").read_bytes())
        sectors = [found[-1][at : at + SECTOR] for at in range(0, len(found[-1]), SECTOR)]
        assert {*sectors} == {b"o" * SECTOR, b"n" * SECTOR}
        assert sectors.count(b"n" * SECTOR) == cut.kept_sectors
    assert found[0] == found[1] != found[2]


def test_a_posix_lock_survives_writes(tmp_path: Path) -> None:
    """To close any descriptor of a file drops the process's locks on it."""
    layer = make_layer(tmp_path)
    with start(layer, layer.lay(print), "lock,a write,a,xyz pwrite,a,0,uvw fsync,a") as said:
        assert said.readline() == "done\n"
        inode = (layer.watched / "a").stat().st_ino
        assert f":{inode} " in Path("/proc/locks").read_text()


def test_processes_that_write_the_same_file_at_once(tmp_path: Path) -> None:
    """What none of them synced goes, in whatever order they wrote."""
    layer = make_layer(tmp_path)
    (layer.watched / "a").write_bytes(b"o" * 4000)
    environment = layer.lay(print)
    words = " ".join(f"pwrite,a,{at},{'n' * 30}" for at in range(0, 4000, 10))
    with ExitStack() as stack:
        said = [stack.enter_context(start(layer, environment, words)) for _ in range(4)]
        assert [each.readline() for each in said] == ["done\n"] * 4
    assert layer.put_back().files == 1
    assert (layer.watched / "a").read_bytes() == b"o" * 4000


def test_after_the_cut_a_call_ends_the_process(tmp_path: Path) -> None:
    layer = make_layer(tmp_path)
    environment = layer.lay(print)
    layer.cut()
    with start(layer, environment, "write,a,xyz") as said:
        assert said.readline() == ""
    assert not (layer.watched / "a").exists()
