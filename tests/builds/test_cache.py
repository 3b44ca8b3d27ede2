"""The builds' cache: an entry is made once, by one, and is never there half."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from stub_programs import SAID, stub

from dyno.builds import cache
from dyno.errors import HostError, UsageError

pytestmark = pytest.mark.usefixtures("own_cache")


def _write(text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / "content").write_text(text)

    return make


def test_a_full_disk_is_told_with_the_file_and_what_is_free(tmp_path: Path) -> None:
    full = f"[Errno 28] {os.strerror(errno.ENOSPC)}: 'a' -> 'b'"

    def copy(folder: Path) -> None:
        # as shutil.copytree has it: all that could not be copied
        raise shutil.Error([("a/x", str(folder / "x"), full), ("a/y", "b/y", full)])

    with pytest.raises(HostError) as caught:
        cache.ensure_entry("crate", "it", copy, print)
    told = caught.value
    assert isinstance(told, HostError) and str(told).count("it-") == 1
    assert "no space left on device (" in told.cause and "/x) (" in told.cause
    assert f"MB free in {cache.find_root()})" in told.cause


def test_the_cache_follows_its_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache.find_root() == tmp_path / "cache"
    monkeypatch.delenv("DYNO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.find_root() == tmp_path / "xdg" / "dyno"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert cache.find_root() == Path("/var/cache/dyno")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cache.find_root() == Path.home() / ".cache" / "dyno"


def test_an_entry_is_made_once_listed_and_removed() -> None:
    first = cache.ensure_entry("program", "one", _write("first"), SAID.append)
    again = cache.ensure_entry("program", "one", _write("second"), SAID.append)
    assert (again / "content").read_text() == "first" and again == first
    (entry,) = cache.list_entries()
    assert (entry.kind, entry.name, entry.size_bytes) == ("program", "one", 5)
    assert stat.S_IMODE(first.stat().st_mode) == 0o755
    cache.remove(entry)
    cache.remove(entry)
    assert cache.list_entries() == [] and list((cache.find_root() / "program").iterdir()) == []


def test_the_longest_unused_entry_stands_first() -> None:
    for name in ("old", "new"):
        cache.ensure_entry("program", name, _write(name), SAID.append)
    os.utime(cache.find_root() / "program" / "new", (1, 1))
    assert [entry.name for entry in cache.list_entries()] == ["new", "old"]
    cache.ensure_entry("program", "new", _write(""), SAID.append)
    assert [entry.name for entry in cache.list_entries()] == ["old", "new"]


def test_a_failed_entry_leaves_nothing_behind() -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise UsageError("no")

    with pytest.raises(UsageError):
        cache.ensure_entry("program", "one", fail, SAID.append)
    assert list((cache.find_root() / "program").iterdir()) == []


def test_what_a_killed_process_left_is_swept() -> None:
    left = cache.find_root() / "program" / ".making-one-abc"
    left.mkdir(parents=True)
    assert cache.list_entries() == []
    cache.ensure_entry("program", "one", _write("whole"), SAID.append)
    assert not left.exists()


def test_a_cache_that_cannot_be_written_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "file"))
    with pytest.raises(HostError, match="cannot fill the cache") as caught:
        cache.ensure_entry("program", "one", _write(""), SAID.append)
    assert "DYNO_CACHE" in caught.value.hint


def test_of_two_processes_one_makes_and_the_other_waits() -> None:
    """The first one makes until the second has said that it waits."""
    code = (
        "import sys\nfrom dyno.builds import cache\n"
        "def make(folder):\n    print('making', flush=True)\n    sys.stdin.read()\n"
        "cache.ensure_entry('program', 'one', make, lambda clause: print(clause, flush=True))"
    )
    words, pipe = [sys.executable, "-c", code], subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as first:
        assert first.stdout and first.stdout.readline() == "making\n"
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as second:
            assert second.stdout and second.stdout.readline().startswith("waiting for one")
            assert first.communicate()[0] == ""
            assert second.communicate()[0] == ""
    assert (first.returncode, second.returncode) == (0, 0)


def test_two_entries_are_made_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=20)
    errors: list[BaseException] = []

    def meet(folder: Path) -> None:
        meeting.wait()

    def make(name: str) -> None:
        try:
            cache.ensure_entry("program", name, meet, SAID.append)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=make, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and len(cache.list_entries()) == 2


def test_an_entry_in_use_is_young() -> None:
    cache.ensure_entry("program", "one", _write(""), SAID.append)
    assert abs(cache.list_entries()[0].used_s - time.time()) < 60


def test_two_copies_do_not_wait_for_each_others_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "noted"
    stub(tmp_path / "bin", "cp", f"echo begun >> {noted}; sleep 0.05; echo done >> {noted}")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    copies = [threading.Thread(target=cache.copy, args=(tmp_path, tmp_path / n)) for n in "ab"]
    for each in copies:
        each.start()
    for each in copies:
        each.join()
    assert noted.read_text().split() == ["begun", "done"] * 2
