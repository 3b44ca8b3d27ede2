"""Controls of the engine's process alone: the commands that start it, tried on a real process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import fake_sysfs
import pytest
from stub_programs import stub

from dyno.errors import UsageError
from dyno.host import controls
from dyno.host.controls import (
    ControlResult,
    ControlTarget,
    allocator,
    load_controls,
)
from dyno.host.controls.numa import NODES
from dyno.host.controls.thp import PREFIX
from dyno.host.processes import AUTOGROUP, read_text


def _held(name: str, value: str) -> ControlResult:
    with load_controls()[name].hold(value, ControlTarget(embedded=False)) as held:
        return held


def _said(held: ControlResult, *command: str) -> str:
    whole = [*held.prefix, *command]
    return subprocess.run(whole, check=True, capture_output=True, text=True, timeout=20).stdout


def test_a_nicer_process_is_nicer() -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    wanted = str(min(19, own + 2))
    held = _held("niceness", wanted)
    assert held.found == {"before": str(own), "set": wanted}
    assert _said(held, "nice").strip() == wanted


def test_where_the_kernel_shares_cores_among_sessions_the_engine_s_has_the_value() -> None:
    held = _held("niceness", "4")
    assert held.started
    assert "own session" in held.started(os.getpid())["refused"]
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        told = held.started(process.pid)
        said = read_text(Path(f"/proc/{process.pid}/autogroup"))
        process.kill()
        if AUTOGROUP.is_file() and AUTOGROUP.read_text() == "1\n":
            assert told == {"session_before": "0", "session": "4"} and said.endswith("nice 4\n")
        else:
            assert told == {}


@pytest.mark.parametrize("value", ["20", "-21", "1.5", "a lot", "NUMBER"])
def test_a_niceness_beyond_the_kernel_s_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="unknown value of niceness"):
        load_controls()["niceness"].check(value)


def test_where_nice_only_warns_it_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub(tmp_path, "nice", "echo 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _held("niceness", "-5").found["refused"]


def test_a_process_kept_from_huge_pages_becomes_the_command_that_follows() -> None:
    status = Path("/proc/self/status").read_text()
    if "THP_enabled" not in status:
        pytest.skip("the kernel does not tell a process' huge pages (before 5.0)")
    held = _held("thp", "off")
    assert held.prefix == PREFIX
    assert "THP_enabled:\t0" in _said(held, "cat", "/proc/self/status")


@pytest.fixture
def numactl(knobs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host of two nodes, with a numactl that knows node 0 and 1."""
    fake_sysfs.write_file(knobs, NODES, "0-1")
    program = knobs / "bin" / "numactl"
    fake_sysfs.write_file(knobs, "/bin/numactl", NUMACTL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


NUMACTL = """#!/bin/sh
case "$1" in
  --membind=[2-9]*) echo "libnuma: Warning: node argument $1 is out of range"; exit 1 ;;
esac
POLICY="$1"; export POLICY; shift; exec "$@"
"""


@pytest.mark.parametrize(
    ("value", "policy"),
    [("interleave", "--interleave=all"), ("local", "--localalloc"), ("0-1", "--membind=0-1")],
)
def test_memory_is_placed_by_numactl(numactl: Path, value: str, policy: str) -> None:
    held = _held("numa", value)
    assert held.found == {"before": "nodes 0-1", "set": value}
    assert _said(held, "sh", "-c", 'echo "$POLICY"').strip() == policy


def test_a_node_that_is_not_there_is_told_in_numactl_s_words(numactl: Path) -> None:
    assert "out of range" in _held("numa", "7").found["refused"]
    numactl.unlink()
    assert _held("numa", "0").found["refused"].endswith("no numactl (install numactl)")


def test_an_allocator_that_is_not_installed_is_told_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub(tmp_path / "bin", "ldconfig", "echo 0 libs found")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    control, server = allocator.Allocator((str(tmp_path),)), ControlTarget(embedded=False)
    why = control.find_refusal("tcmalloc", server)
    assert why == "no tcmalloc is installed (package libtcmalloc-minimal4)"
    (tmp_path / "libtcmalloc.so.4").touch()
    with control.hold("tcmalloc", server) as held:
        pass
    assert held.environment == {"LD_PRELOAD": str(tmp_path / "libtcmalloc.so.4")}


def test_an_allocator_is_found_where_the_loader_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = controls.try_command(["ldconfig", "-p"])[1]
    assert "libc.so.6" in dict(allocator._list_libraries()) or not real
    line = f"libjemalloc.so.2 (libc6,x86-64) => {Path(__file__)}"
    stub(tmp_path, "ldconfig", f"echo 1 libs found; echo '{line}'")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert allocator.find_library("jemalloc") == __file__
