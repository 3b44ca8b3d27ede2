"""The probes beside a server of many processes, played by a shell of our own that forks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import make_record

from dyno.host.probes import ProbeTarget, load_probes
from dyno.host.processes import read_threads_ns
from dyno.instruments.time.phases import (
    add_readings,
    sample_after_disconnect,
    sample_answered,
    sample_before,
)

SERVER = Path(__file__).with_name("forking_server.py")


class Forking:
    def __init__(self, home: Path) -> None:
        command = [sys.executable, str(SERVER), str(home / "data")]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0
        )
        self.watched = ProbeTarget(self.process.pid, os.getpid(), home)

    def does(self, work: str) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{work}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n"

    def sample(self, probe: str = "process") -> dict[str, float]:
        return load_probes()[probe].sample(self.watched)

    def spent(self, work: str) -> dict[str, float]:
        """What the counters gained while `work` was done."""
        before = self.sample()
        self.does(work)
        return {name: value - before[name] for name, value in self.sample().items()}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Forking]:
    forking = Forking(tmp_path)
    forking.does("None")
    yield forking
    os.killpg(forking.process.pid, 9)
    forking.process.communicate()


def test_cpu_of_children_that_ended_within_the_phase_is_counted_with_its_parts(
    server: Forking,
) -> None:
    spent = server.spent("burn(0.3)")
    assert 280e3 <= spent["server_cpu_us"] < 600e3
    parts = spent["server_user_us"] + spent["server_system_us"]
    assert abs(parts - spent["server_cpu_us"]) < 60e3


def test_cpu_of_a_grandchild_that_ended_is_counted_once(server: Forking) -> None:
    assert 280e3 <= server.spent("grandchild(0.3)")["server_cpu_us"] < 500e3


def test_a_child_that_lives_on_is_counted_too(server: Forking) -> None:
    spent = server.spent("&[burn(0.2), stay(1)]")
    assert 190e3 <= spent["server_cpu_us"] < 400e3


def test_a_zombie_that_nobody_waited_for_is_counted(server: Forking) -> None:
    before = server.sample()
    server.does("&[burn(0.2), ok()]")
    patience = time.monotonic() + 20
    while server.sample()["server_cpu_us"] - before["server_cpu_us"] < 190e3:
        assert time.monotonic() < patience
        time.sleep(0.02)


def test_writes_of_a_child_that_ended_are_counted(server: Forking) -> None:
    spent = server.spent("write(100)")
    assert spent["write_calls"] >= 100
    assert spent["database_bytes"] >= 100 * 4096


def test_switches_of_a_child_that_lives_are_counted_and_never_fall_when_it_ends(
    server: Forking,
) -> None:
    before = server.sample()["context_switches"]
    server.does("&stay(200)")
    during = server.sample()["context_switches"]
    assert during - before > 150, "a nap on a crowded host need not be a switch"
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    os.kill(int(children.read_text().split()[-1]), 9)
    server.does("None")
    assert server.sample()["context_switches"] >= during


def test_memory_that_is_shared_is_not_counted_for_each_process(server: Forking) -> None:
    alone = server.sample()["resident_bytes"]
    for _ in range(5):
        server.does("&stay(1)")
    assert alone < server.sample()["resident_bytes"] < 5 * alone


def test_own_time_of_the_host_holds_the_server_s_children_and_the_driver(server: Forking) -> None:
    before = server.sample("host")["own_ns"]
    server.does("burn(0.2)")
    end_ns = time.process_time_ns() + 200_000_000
    while time.process_time_ns() < end_ns:
        pass
    assert 380e6 <= server.sample("host")["own_ns"] - before < 800e6


def test_the_driver_s_work_is_not_the_server_s(server: Forking) -> None:
    before = server.sample()
    end_ns = time.process_time_ns() + 200_000_000
    while time.process_time_ns() < end_ns:
        pass
    assert server.sample()["server_cpu_us"] - before["server_cpu_us"] < 50e3


def test_the_busiest_thread_of_the_driver_is_measured_from_sample_to_sample(
    server: Forking,
) -> None:
    began_s = time.monotonic()
    assert server.sample("client") == {"driver_busy_percent": 0.0, "driver_waited_percent": 0.0}
    end_ns = time.process_time_ns() + 200_000_000
    while time.process_time_ns() < end_ns:
        pass
    busy_percent = server.sample("client")["driver_busy_percent"]
    assert 0.5 * 20 / (time.monotonic() - began_s) < busy_percent <= 100
    time.sleep(0.2)
    assert server.sample("client")["driver_busy_percent"] < 50


def test_of_a_server_that_somebody_else_started_only_the_driver_is_seen(tmp_path: Path) -> None:
    attached = ProbeTarget(None, os.getpid(), tmp_path)
    assert load_probes()["process"].sample(attached) == {}
    assert "own_ns" not in load_probes()["host"].sample(attached)
    assert "driver_busy_percent" in load_probes()["client"].sample(attached)


def test_readings_know_the_ends_of_a_phase_only(tmp_path: Path) -> None:
    watched = ProbeTarget(None, os.getpid(), tmp_path)
    every = load_probes()
    last = {**sample_answered(every, watched), **sample_after_disconnect(every, watched)}
    joined = add_readings(every, make_record([]), sample_before(every, watched), last)
    assert {"steal_ns", "driver_busy_percent"} <= {each.name for each in joined.readings}
    assert not any(each.name.startswith("server") for each in joined.readings)


def test_a_process_that_ends_while_it_is_read_has_no_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its folder was there a moment ago, and is gone when it is opened."""

    def gone(path: str) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "listdir", gone)
    monkeypatch.setattr(os, "scandir", gone)
    assert read_threads_ns(os.getpid()) == {}
