"""Which process a server is on this host: by its port, in namespaces of its own, and by number."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from privileges import need_root
from processes import wait_for

from dyno.cli import run_words
from dyno.errors import HostError, UsageError
from dyno.record.server_profile import ServerProfile
from dyno.runs.run_folder import read_json
from dyno.servers.profile.target import _list_embedded, find_listening, find_process

POSTGRES = frozenset({"postgres"})
#: Listens at a port of its own choice, forks a child that shares it, and burns CPU time.
LISTENING = """
import os, socket
s = socket.create_server((HOST, 0))
if os.fork(): print(s.getsockname()[1], flush=True)
while True: sum(range(10000))
"""
#: A function with a symbol that burns CPU time.
BURNING = """
#include <stdio.h>
volatile long sum;
void burn_cpu_time(void) { for (;;) sum++; }
int main(void) { puts("1"); fflush(stdout); burn_cpu_time(); return 0; }
"""
IN_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """An interpreter that is called as a server's program is."""
    return Path(shutil.copy(Path(sys.executable).resolve(), tmp_path / "postgres"))


@pytest.fixture
def burner(tmp_path: Path) -> Path:
    """A program with symbols, which is called as a server's is."""
    folder = tmp_path / "burner"
    folder.mkdir()
    (folder / "burn.c").write_text(BURNING)
    program = folder / "postgres"
    subprocess.run(["cc", "-O1", "-o", program, folder / "burn.c"], check=True, timeout=60)
    return program


def count_named(file: Path, module: str) -> tuple[int, int]:
    """How many samples of a module's met the burning function, of how many in it."""
    found = read_json(ServerProfile, file)
    assert found.cpu
    own = [it for it in found.cpu.profile.functions if it.module == module]
    return sum(it.samples for it in own if it.name == "burn_cpu_time"), sum(
        it.samples for it in own
    )


@contextmanager
def running(words: Sequence[object]) -> Iterator[tuple[int, str]]:
    """The process and its first line; it and its children end in the end."""
    environment = os.environ | {"PYTHONHOME": sys.base_prefix}
    with subprocess.Popen(
        list(map(str, words)),
        stdout=subprocess.PIPE,
        env=environment,
        process_group=0,
        text=True,
    ) as process:
        assert process.stdout
        try:
            yield process.pid, process.stdout.readline().strip()
        finally:
            subprocess.run(["kill", "-KILL", "--", f"-{process.pid}"], check=False)


def listen(program: Path, host: str = "127.0.0.1") -> list[object]:
    return [program, "-c", LISTENING.replace("HOST", repr(host))]


def test_the_process_that_listens_is_found_and_not_the_child_that_shares_its_socket(
    program: Path,
) -> None:
    with running(listen(program)) as (pid, port):
        found = find_listening("localhost", int(port), POSTGRES)
        assert found and found.pid == pid and found.engine == "postgres" and found.is_there
        assert find_listening("127.0.0.1", int(port), frozenset({"mysql"})) is None
        assert find_listening("198.51.100.7", int(port), POSTGRES) is None
    wait_for(lambda: not found.is_there)


def test_a_program_that_is_no_server_is_not_taken_for_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as line:
        assert find_listening("127.0.0.1", line.getsockname()[1], POSTGRES) is None
    with (
        subprocess.Popen(["sleep", "60"], process_group=0) as sleeping,
        pytest.raises(UsageError, match="no engine that is known"),
    ):
        try:
            wait_for(lambda: "sleep" in Path(f"/proc/{sleeping.pid}/cmdline").read_text())
            find_process(sleeping.pid)
        finally:
            sleeping.kill()


def test_there_is_no_process_of_a_wrong_number() -> None:
    with pytest.raises(UsageError, match="no process"):
        find_process(2**22 + 1)
    assert run_words(["profile", str(2**22 + 1)]) == 64


def test_a_kernel_thread_has_no_program() -> None:
    if not Path("/proc/2/comm").exists():
        pytest.skip("another PID namespace: no kernel thread is seen")
    with pytest.raises((UsageError, HostError)):
        find_process(2)


@pytest.mark.slow
def test_a_server_in_a_container_is_profiled_with_the_files_that_it_has_there(
    burner: Path, tmp_path: Path
) -> None:
    """Its program lies where nobody outside its mount namespace sees it, and its number inside is
    another.
    """
    need_root("namespaces")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    script = f"mount -t tmpfs none {hidden} && cp {burner} {hidden} && exec {hidden}/postgres"
    with running([*IN_NAMESPACES, "sh", "-c", script]) as (parent, line):
        assert line == "1"
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        pid = int(children[0])
        assert find_process(pid).program == "postgres" and not (hidden / "postgres").exists()
        file = tmp_path / "a.json"
        words = ["profile", str(pid), "--for", "1s", "--output", str(file)]
        assert run_words(words) == 0
    named, all_samples = count_named(file, f"{hidden}/postgres")
    assert named > 0.9 * all_samples > 0


def test_a_server_in_another_network_is_found_by_its_address_and_not_by_loopback(
    program: Path,
) -> None:
    need_root("network namespaces")
    up = 'ip link set lo up && ip addr add 198.51.100.8/32 dev lo && exec "$@"'
    with running(["unshare", "--net", "sh", "-c", up, "sh", *listen(program, "")]) as (pid, port):
        assert find_listening("127.0.0.1", int(port), POSTGRES) is None
        found = find_listening("198.51.100.8", int(port), POSTGRES)
        assert found and found.pid == pid


def test_a_program_that_was_replaced_is_read_as_it_runs(burner: Path, tmp_path: Path) -> None:
    with running([burner]) as (pid, _):
        burner.unlink()
        burner.write_bytes(b"another program")
        file = tmp_path / "a.json"
        assert run_words(["profile", str(pid), "--for", "1s", "--output", str(file)]) == 0
    named, all_samples = count_named(file, f"{burner} (deleted)")
    assert named > 0.9 * all_samples > 0


def test_a_program_that_embeds_an_engine_is_profiled_by_that_engine(tmp_path: Path) -> None:
    burn = (
        "import sqlite3; c = sqlite3.connect(':memory:'); print(1, flush=True)\n"
        "while True: c.execute('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < 100000) SELECT sum(i) FROM n').fetchall()"
    )
    with running([sys.executable, "-c", burn]) as (pid, _):
        assert find_process(pid).engine == "sqlite"
        file = tmp_path / "a.json"
        assert run_words(["profile", str(pid), "--for", "1s", "--output", str(file)]) == 0
    assert read_json(ServerProfile, file).engine == "sqlite"


def test_of_several_embedded_engines_one_has_layers_and_the_others_are_named() -> None:
    maps = "".join(
        f"7f00-7f01 r-xp 0 fe:01 1 /usr/lib/{name}\n"
        for name in ("libduckdb.so", "libsqlite3.so.0.8.6", "libc.so.6")
    )
    assert _list_embedded(maps) == ["duckdb", "sqlite"]
    assert _list_embedded("7f00-7f01 r-xp 0 fe:01 1 /usr/lib/libc.so.6\n") == [""]


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
#: Plays a command as an ordinary user, who may not import from root's folders.
AS_NOBODY = """
import heapq, importlib.readers, os, sys
import rich.color, rich.console, rich.table, rich.text
from dyno import cli, driver
from dyno.cli import profile
from dyno.report import server_profile
from dyno.report.html import page
from dyno.report.render import terminal
from dyno.servers.profile import collect, target
driver.find_driver()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.exit(cli.run_words(sys.argv[1:]))
"""


def profile_as_nobody(pid: int, file: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", AS_NOBODY, "profile", str(pid), "--for", "1s"]
    return subprocess.run(
        [*words, "--output", str(file)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.slow
def test_an_ordinary_user_profiles_the_own_processes_and_is_told_why_no_others(
    burner: Path,
) -> None:
    need_root("another user's process")
    with tempfile.TemporaryDirectory(prefix="dyno-test-", dir="/var/tmp") as folder:
        os.chown(folder, 65534, 65534)
        file = Path(folder) / "a.json"
        with running([burner]) as (pid, _):
            refused = profile_as_nobody(pid, file)
        assert refused.returncode == 64 and "another user's" in refused.stderr
        own = shutil.copy(burner, Path(folder) / "postgres")
        with running([*NOBODY, own]) as (pid, _):
            done = profile_as_nobody(pid, file)
        level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
        if level > 2:
            assert done.returncode == 64 and "perf_event_paranoid" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            assert read_json(ServerProfile, file).cpu
            assert ("inside the kernel" in done.stderr) == (level == 2)
