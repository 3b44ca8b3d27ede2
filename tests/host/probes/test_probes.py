"""The probes: every probe does what its interface says, and reads what really happened."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dyno.errors import TrialFailed
from dyno.host.probes import Probe, ProbeTarget, load_probes
from dyno.host.processes import TICK_NS

PACKAGE = sorted(load_probes().items())
#: User and system time of a process, each told in hundredths of a second.
TICKS_NS = 2 * 10_000_000


def _self(home: Path) -> ProbeTarget:
    return ProbeTarget(os.getpid(), os.getpid(), home)


@pytest.mark.parametrize(("name", "probe"), PACKAGE)
def test_a_probe_answers_only_what_it_declares(name: str, probe: Probe, tmp_path: Path) -> None:
    declared = [measure.name for measure in probe.measures]
    sides = _self(tmp_path), ProbeTarget(os.getpid(), os.getppid(), tmp_path)
    samples = [probe.sample(watched) for watched in sides]
    assert len(set(declared)) == len(declared)
    assert any(samples) or name in ("contention", "flushes", "inject", "server", "work"), (
        "only these may have nothing to say"
    )
    assert all(set(sample) <= set(declared) for sample in samples), name
    assert probe.summary and all(measure.unit for measure in probe.measures)


@pytest.mark.parametrize(("name", "probe"), [each for each in PACKAGE if each[0] != "clock"])
def test_a_counter_never_falls(name: str, probe: Probe, tmp_path: Path) -> None:
    before, after = (probe.sample(_self(tmp_path)) for _ in range(2))
    counters = {measure.name for measure in probe.measures if measure.counter}
    assert all(after[key] >= before[key] for key in counters & set(before)), name


@pytest.mark.parametrize(("name", "probe"), PACKAGE)
def test_a_process_that_is_gone_raises_nothing(name: str, probe: Probe, tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert isinstance(probe.sample(ProbeTarget(gone.pid, gone.pid, tmp_path)), dict), name


def test_cpu_of_all_threads_and_of_ended_children_is_seen(tmp_path: Path) -> None:
    spin = "import time\nwhile time.process_time() < 0.2: pass"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {spin!r}])\ninput()"
    process = load_probes()["process"]
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as parent:
        watched = ProbeTarget(parent.pid, os.getpid(), tmp_path)
        patience = time.monotonic() + 20
        while (sample := process.sample(watched))["server_cpu_us"] < 190_000:
            assert time.monotonic() < patience, sample
            time.sleep(0.02)
        parent.communicate(b"\n")


def test_calls_and_size_follow_what_a_process_writes(tmp_path: Path) -> None:
    process = load_probes()["process"]
    before = process.sample(_self(tmp_path))
    file = tmp_path / "deep" / "data"
    file.parent.mkdir()
    with file.open("wb", buffering=0) as out:
        for _ in range(100):
            out.write(b"x" * 4096)
        os.fsync(out.fileno())
    after = process.sample(_self(tmp_path))
    assert after["write_calls"] - before["write_calls"] >= 100
    assert after["database_bytes"] - before["database_bytes"] >= 100 * 4096


def test_switches_are_left_out_where_the_engine_lives_in_the_driver(tmp_path: Path) -> None:
    process = load_probes()["process"]
    assert "context_switches" not in process.sample(_self(tmp_path))
    other = ProbeTarget(os.getpid(), os.getppid(), tmp_path)
    assert process.sample(other)["context_switches"] > 0


def test_own_time_of_the_host_grows_with_our_work_and_counts_no_process_twice(
    tmp_path: Path,
) -> None:
    host = load_probes()["host"]
    first_ns = time.process_time_ns()
    before, began = host.sample(_self(tmp_path)), time.process_time_ns()
    while time.process_time_ns() - began < 100_000_000:
        pass
    own = host.sample(_self(tmp_path))["own_ns"] - before["own_ns"]
    # the kernel tells it in ticks, and a sample of a crowded host is work of ours too
    assert 100e6 - TICKS_NS <= own <= time.process_time_ns() - first_ns + TICKS_NS


@pytest.mark.parametrize(
    ("file", "probe", "lost"),
    [
        ("stat", "process", {"server_cpu_us", "server_user_us", "server_system_us"}),
        ("stat", "host", {"own_ns"}),
        ("io", "process", {"read_calls", "write_calls", "read_bytes", "written_bytes"}),
        ("status", "process", {"context_switches", "involuntary_switches", "resident_bytes"}),
        ("schedstat", "client", {"driver_busy_percent", "driver_waited_percent"}),
    ],
)
def test_what_the_kernel_refuses_to_tell_of_one_process_is_left_out_and_no_0(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, probe: str, lost: set[str]
) -> None:
    watched = ProbeTarget(os.getpid(), os.getppid(), tmp_path)
    whole = set(load_probes()[probe].sample(watched))
    real_open, real_text = Path.open, Path.read_text

    def refuse(path: Path) -> None:
        if path.name == file and path.parent != Path("/proc"):
            raise PermissionError(13, "Permission denied", str(path))

    def opened(path: Path, *words: Any, **named: Any) -> Any:
        refuse(path)
        return real_open(path, *words, **named)

    def read(path: Path, *words: Any, **named: Any) -> str:
        refuse(path)
        return real_text(path, *words, **named)

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(Path, "read_text", read)
    left = set(load_probes()[probe].sample(watched))
    assert lost <= whole and not lost & left


def test_an_injected_delay_whose_count_cannot_be_read_fails_its_trial(tmp_path: Path) -> None:
    watched = ProbeTarget(os.getpid(), os.getpid(), tmp_path)
    assert load_probes()["inject"].sample(watched) == {}
    (tmp_path / "inject").write_bytes(b"half")
    with pytest.raises(TrialFailed, match="cannot be read"):
        load_probes()["inject"].sample(watched)


STAT = """cpu  100 0 50 400 0 0 0 10
cpu0 60 0 30 200 0 0 0 4
cpu1 40 0 20 200 0 0 0 6
intr 5
"""


@pytest.mark.parametrize(
    ("cores", "busy_ticks", "steal_ticks"), [((1,), 60, 6), ((0, 1), 150, 10), ((), 0, 0)]
)
def test_the_cores_that_driver_and_engine_are_held_to_are_counted_apart(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    cores: tuple[int, ...],
    busy_ticks: int,
    steal_ticks: int,
) -> None:
    real = Path.read_text

    def read(path: Path, *words: Any, **named: Any) -> str:
        return STAT if path == Path("/proc/stat") else real(path, *words, **named)

    monkeypatch.setattr(Path, "read_text", read)
    watched = ProbeTarget(os.getpid(), os.getpid(), tmp_path, cores=cores)
    before, after = (load_probes()["host"].sample(watched) for _ in range(2))
    assert after["busy_ns"] == 150 * TICK_NS
    assert ("placed_total_ns" in after) == bool(cores)
    if cores:
        assert after["placed_busy_ns"] == busy_ticks * TICK_NS
        assert after["placed_steal_ns"] == steal_ticks * TICK_NS
        passed = after["placed_total_ns"] - before["placed_total_ns"]
        assert (passed > 0) == (len(cores) == 1)  # the second core's, that shares are of


def test_a_core_that_is_gone_leaves_no_half_sum(tmp_path: Path) -> None:
    watched = ProbeTarget(os.getpid(), os.getpid(), tmp_path, cores=(0, 100_000))
    assert "placed_total_ns" not in load_probes()["host"].sample(watched)
