"""Hosts that withhold something: no root, no fio, a container; and what `doctor` says of the same
device.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import machines
import pytest
from disk_runs import LOG, MB, READ, make_run, make_side
from loop_devices import attached, make_image
from msgspec.structs import replace
from privileges import NOBODY, ask_as_nobody

from dyno.cli import run_words
from dyno.host.checks import Machine, find_mount, quota
from dyno.host.checks import device as device_check
from dyno.host.checks.device import read_device_facts
from dyno.instruments.disk.audits import judge_run
from dyno.instruments.disk.matrix import read_matrix
from dyno.instruments.disk.request_trace import trace_requests
from dyno.instruments.disk.run import DiskPlan, plan_disk_run
from dyno.instruments.disk.side import make_side as resolve_side
from dyno.instruments.disk.verdict import judge_disks
from dyno.report.disks import describe_device


def test_a_folder_of_ones_own_needs_no_root_and_what_does_is_left_out_in_a_sentence(
    tmp_path: Path,
) -> None:
    folder = Path("/var/tmp") / f"dyno-test-nobody-{os.getpid()}"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    matrix = read_matrix("raw_or_filesystem")
    plan_disk_run(DiskPlan([str(folder)], matrix, size_bytes=4 * MB))  # imports all it needs

    def ask() -> str:
        run = plan_disk_run(DiskPlan([str(folder)], matrix, size_bytes=4 * MB))
        return " ".join((*(side.name for side in run.sides), *run.notes))

    try:
        told = ask_as_nobody(ask)
    finally:
        folder.rmdir()
    assert told.startswith(
        "file, filled file, never written 'raw, filled' and 'raw, never written'"
    )
    assert "left out: no loop device can be made: permission denied" in told


def test_who_is_not_root_is_told_in_a_sentence_what_takes_it(tmp_path: Path) -> None:
    assert "no file can be made in /usr" in ask_as_nobody(lambda: str(resolve_side("/usr", MB)))
    with attached(make_image(tmp_path / "image", 2 * MB)) as device:
        told = ask_as_nobody(lambda: str(resolve_side(str(device), MB)))
    assert f"{device} cannot be read: permission denied" in told and "as root" in told

    def trace() -> str:
        with trace_requests(["8:0"]):
            return "it was traced"

    assert "block events are not visible" in ask_as_nobody(trace)


def test_a_host_without_fio_and_without_debians_packages_says_so_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    assert run_words(["disk", "/var/tmp", "--size", "4M", "--only", "read 4K, one*"]) == 64
    said = capsys.readouterr().err
    assert "dyno: there is no fio" in said and "install fio" in said
    assert not list(tmp_path.glob("runs/*"))


def test_in_a_container_what_is_not_visible_is_not_checked_and_never_sound(tmp_path: Path) -> None:
    machines.write(tmp_path, {**machines.PLAIN, **machines.CONTAINER})
    machine = machines.machine(tmp_path)
    mount = find_mount(machine, Path("/data"))
    assert mount and mount.kind == "overlay"
    side = make_side(file_system="overlay", device=read_device_facts(machine, mount.number))
    hidden = make_run([side], (READ, LOG), change=lambda play: replace(play, device=None))
    found = {each.audit: each.soundness for each in judge_run(hidden)}
    blind = {"trim", "thin_provisioning", "write_cache", "queue_limit", "foreign_io"}
    assert {name for name, word in found.items() if word == "not checked"} >= blind
    assert "overlay, no device is visible below it" in describe_device(side)
    assert judge_disks(hidden).overall == "measured"


#: What is unlike a good machine, what `doctor` calls it, and the audit of `disk`.
SAME: Mapping[str, tuple[dict[str, str], str, str]] = {
    "no TRIM": ({f"{machines.DISK}/queue/discard_max_bytes": "0\n"}, "discard", "trim"),
    "narrow": (
        {"/sys/devices/pci0000:00/0000:00:02.0/current_link_width": "1\n"},
        "PCIe link",
        "pcie_link",
    ),
    "loop": (
        {f"{machines.DISK}/loop/dio": "0\n", f"{machines.DISK}/loop/backing_file": "/image\n"},
        "loop device",
        "loop_cache",
    ),
    "thin": (
        {f"{machines.DISK}/device/scsi_disk/0:0:0:0/thin_provisioning": "1\n"},
        "thin provisioning",
        "thin_provisioning",
    ),
    "limit": (
        {
            f"{machines.DISK}/dev": "8:0\n",
            "/sys/fs/cgroup/user.slice/io.max": "8:0 rbps=max riops=500\n",
        },
        "I/O limit",
        "queue_limit",
    ),
}


@pytest.mark.parametrize("name", ["good", *SAME])
def test_doctor_and_disk_say_the_same_of_a_device(name: str, tmp_path: Path) -> None:
    files = SAME[name][0] if name in SAME else {}
    machine = machines.make(tmp_path / "machine", {**machines.BARE_SERVER, **files})
    observed = [*device_check.observe(machine), *quota.observe(machine)]
    marks = {each.name: each.mark for each in observed}
    run = make_run([make_side(device=read_device_facts(machine, "8:1"))])
    words = {each.audit: each.soundness for each in judge_run(run)}
    for other, (_, subject, audit) in SAME.items():
        assert (marks[subject] != "good") == (words[audit] in ("doubtful", "invalid")), subject
        assert (marks[subject] != "good") == (other == name), subject


def test_the_device_of_this_host_is_read_once_for_both() -> None:
    machine = Machine(data=Path("/var/tmp"))
    side = resolve_side("/var/tmp", MB)
    mount = find_mount(machine, Path("/var/tmp"))
    assert mount and (
        not side.device.name or side.device == read_device_facts(machine, mount.number)
    )
