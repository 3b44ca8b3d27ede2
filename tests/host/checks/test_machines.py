"""Four machines, each with what a survey must say of it."""

from __future__ import annotations

import errno
from pathlib import Path

import machines
import pytest

from dyno.host.checks import grade, survey_host
from dyno.host.checks._machine import Machine
from dyno.record import Observation, compute_host_score

Seen = dict[str, Observation]


def look(folder: Path, own: dict[str, str], meanwhile: dict[str, str] = machines.QUIET) -> Seen:
    return {o.name: o for o in survey_host(machines.make(folder, own, meanwhile))}


def marked(seen: Seen, mark: str) -> set[str]:
    return {name for name, o in seen.items() if o.mark == mark}


def test_a_bare_server_kept_for_measuring_has_nothing_against_it(tmp_path: Path) -> None:
    seen = look(tmp_path, machines.BARE_SERVER)
    assert {name for name, o in seen.items() if o.mark != "good"} == set()
    assert compute_host_score(list(seen.values())) == 100
    assert grade(list(seen.values())).startswith("good")
    assert seen["PCIe link"].found == "16.0 GT/s PCIe x4"
    assert seen["CPU"].found == "Example 9000, 8 cores"


def test_a_laptop_on_battery(tmp_path: Path) -> None:
    seen = look(tmp_path, machines.LAPTOP)
    assert marked(seen, "poor") == {"governor", "power", "swap"}
    assert marked(seen, "fair") == {"turbo", "SMT", "huge pages", "memory", "write cache"}
    assert seen["governor"].found == "powersave"
    assert "governor=performance" in seen["governor"].hint
    assert grade(list(seen.values())).startswith("poor")


def test_a_cloud_machine_with_a_neighbour(tmp_path: Path) -> None:
    seen = look(tmp_path, machines.CLOUD, machines.STOLEN)
    assert marked(seen, "poor") == {"steal", "other load", "pressure"}
    assert seen["steal"].found == "10.0 % over 2.0 s"
    assert seen["other load"].found == "25.0 % of all cores over 2.0 s (cc1 (x) 50 % of one)"
    assert seen["pressure"].found == "cpu 25.0 % of the time"
    assert seen["virtualisation"].found == "a virtual machine (QEMU)"
    assert marked(seen, "unknown") == {"governor", "turbo", "PCIe link"}


def test_a_container_without_sys_says_what_it_cannot_see(tmp_path: Path) -> None:
    machines.write(tmp_path, {k: v for k, v in machines.PLAIN.items() if not k.startswith("/sys")})
    machines.write(tmp_path, machines.CONTAINER)
    seen = {
        o.name: o for o in survey_host(machines.machine(tmp_path, uring_errno=lambda: errno.EPERM))
    }
    hidden = {"SMT", "NUMA", "governor", "turbo", "clock source", "huge pages"}
    disk = {"discard", "write cache", "I/O scheduler", "PCIe link", "loop device"}
    disk |= {"thin provisioning", "I/O limit"}
    assert marked(seen, "unknown") == hidden | disk | {"CPU quota", "memory limit"}
    assert seen["virtualisation"].found == "a container"
    assert seen["io_uring"].found == "refused (operation not permitted)"
    assert "seccomp" in seen["io_uring"].hint
    assert seen["file system"].mark == "fair"


def test_an_empty_tree_is_unknown_throughout(tmp_path: Path) -> None:
    calls = {"uring_errno": lambda: 0, "clock_synchronised": lambda: None}
    seen = survey_host(machines.machine(tmp_path, {}, **calls))
    known = {o.name for o in seen if o.mark != "unknown"}
    assert known == {"io_uring", "perf events", "free disk", "virtualisation"}


def test_every_observation_says_why_and_only_what_is_not_good_has_a_remedy(tmp_path: Path) -> None:
    for at, own in enumerate((machines.LAPTOP, machines.CLOUD, machines.BARE_SERVER)):
        for o in look(tmp_path / str(at), own, machines.STOLEN).values():
            assert o.why
            assert "\n" not in o.why + o.found + o.hint
            assert bool(o.hint) == (o.mark in ("fair", "poor"))
            assert bool(o.points) == (o.mark in ("fair", "poor"))


def test_the_worst_comes_first(tmp_path: Path) -> None:
    order = [o.mark for o in survey_host(machines.make(tmp_path, machines.LAPTOP))]
    assert order == sorted(order, key=["poor", "fair", "unknown", "good"].index)


def test_without_a_watch_no_other_process_is_counted(tmp_path: Path) -> None:
    machines.write(tmp_path, machines.PLAIN)
    unwatched = Machine(tmp_path, pause=lambda _: pytest.fail("it waits"))
    assert not {"steal", "other load", "pressure"} & {o.name for o in survey_host(unwatched)}
