"""The library that counts what reaches the kernel, in a process of its own; and the probe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyno.builds.compiler import Recipe, compile_library
from dyno.host.probes import ProbeTarget
from dyno.host.probes.flushes import COUNTS, FILE, LIBRARY, PROBE

#: What is done to a file `f`, opened as `flags` say, and the flushes and synced writes in it.
CALLS = {
    ("os.fsync(f)", 0): (1, 0),
    ("os.fdatasync(f)", 0): (1, 0),
    ("os.sync()", 0): (1, 0),
    ("mmap.mmap(f, 4096).flush()", 0): (1, 0),
    ("libc.sync_file_range(f, 0, 0, 7)", 0): (1, 0),
    ("libc.sync_file_range(f, 0, 0, 2)", 0): (0, 0),
    ("os.fsync(10000)", 0): (0, 0),
    ("os.write(f, b'x')", os.O_DSYNC): (0, 1),
    ("os.pwrite(f, b'x', 0)", os.O_SYNC): (0, 1),
    ("os.writev(f, [b'x'])", os.O_DSYNC): (0, 1),
    ("os.pwritev(f, [b'x'], 0)", os.O_DSYNC): (0, 1),
    ("os.pwritev(f, [b'x'], 0, os.RWF_DSYNC)", 0): (0, 1),
    ("os.close(f); os.write(os.open(name, os.O_RDWR), b'x')", os.O_DSYNC): (0, 0),
    ("os.write(f, b'x'); os.pwrite(f, b'x', 0)", 0): (0, 0),
    ("os.fork() or os.fsync(f); os.waitid(os.P_ALL, 0, os.WEXITED)", 0): (1, 0),
}
PROGRAM = """
import contextlib, ctypes, mmap, os, sys
libc, name = ctypes.CDLL(None), sys.argv[1]
f = os.open(name, os.O_RDWR | os.O_CREAT | int(sys.argv[2]), 0o600)
os.ftruncate(f, 4096)
with contextlib.suppress(OSError):
    exec(sys.argv[3])
"""


def _play(home: Path, call: str, flags: int = 0, libraries: str = str(LIBRARY)) -> tuple[int, ...]:
    (home / FILE).unlink(missing_ok=True)
    around = {**os.environ, "TMPDIR": str(home), "LD_PRELOAD": libraries}
    words = [sys.executable, "-c", PROGRAM, str(home / "file"), str(flags), call]
    subprocess.run(words, env=around, check=True, timeout=30)
    return COUNTS.unpack((home / FILE).read_bytes())


def test_each_call_that_the_kernel_carried_out_counts_once(tmp_path: Path) -> None:
    assert {key: _play(tmp_path, *key) for key in CALLS} == CALLS


def test_what_another_library_leaves_out_does_not_count(tmp_path: Path) -> None:
    source = tmp_path / "silent.c"
    source.write_text("int fsync(int file) { return file < 0; }")
    silent = compile_library(Recipe("silent", source, "-O1", ""), lambda _: None).program
    assert _play(tmp_path, "os.fsync(f)", libraries=f"{silent}:{LIBRARY}") == (0, 0)


def test_a_process_without_the_library_has_no_count(tmp_path: Path) -> None:
    _play(tmp_path, "os.fsync(f)")
    assert PROBE.sample(ProbeTarget(os.getpid(), os.getpid(), tmp_path)) == {}
    assert PROBE.sample(ProbeTarget(None, os.getpid(), tmp_path)) == {}


@pytest.mark.parametrize("rings", [0, 1])
def test_the_probe_reads_counts_and_rings_of_a_process_with_it(tmp_path: Path, rings: int) -> None:
    setup = "r = libc.syscall(425, 2, (ctypes.c_char * 120)()); assert r >= 0; " * rings
    call = f"{setup}os.fsync(f); print(flush=True); sys.stdin.read()"
    around = {**os.environ, "TMPDIR": str(tmp_path), "LD_PRELOAD": str(LIBRARY)}
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "file"), "0", call]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=around, stdin=pipe, stdout=pipe) as process:
        assert process.stdout and process.stdout.readline()
        found = PROBE.sample(ProbeTarget(process.pid, process.pid, tmp_path))
        assert found == {"flushes": 1, "synced_writes": 0, "io_rings": rings}
        process.communicate(timeout=30)
