"""Single files of a machine, and what each value of them is worth."""

from __future__ import annotations

import errno
from pathlib import Path

import machines
import pytest

from dyno.host.checks import survey_host
from dyno.host.checks._machine import find_mount
from dyno.record import Observation

KERNEL, NODES = "/proc/sys/kernel", "/sys/devices/system/node"
GROUPS = "/sys/fs/cgroup"
V1 = {
    "/proc/self/cgroup": "4:memory:/box/me\n1:cpu,cpuacct:/box/me\n0::/\n",
    f"{GROUPS}/user.slice/cpu.max": "",
    f"{GROUPS}/user.slice/memory.max": "",
}
SOURCE = "/sys/devices/system/clocksource/clocksource0"


def mount(kind: str, options: str = "rw") -> dict[str, str]:
    line = f"20 1 8:1 / / rw,relatime - {kind} /dev/x {options}\n"
    return {"/proc/self/mountinfo": line}


def limit(line: str) -> dict[str, str]:
    kept = machines.PLAIN["/proc/self/limits"].splitlines()
    replaced = [each for each in kept if not each.startswith(line[:14])]
    return {"/proc/self/limits": "\n".join([*replaced, line])}


@pytest.mark.parametrize(
    ("files", "name", "mark", "found"),
    [
        ({"/proc/self/status": "Cpus_allowed_list: 3"}, "CPU", "poor", "1 of 8 core"),
        ({"/proc/self/status": "Cpus_allowed_list: 0,2"}, "CPU", "fair", "2 of 8 cores"),
        ({f"{NODES}/node1/x": ""}, "NUMA", "fair", "2 nodes"),
        (
            {f"{NODES}/node1/x": "", f"{KERNEL}/numa_balancing": "1"},
            *("NUMA", "poor", "pages are moved"),
        ),
        ({f"{KERNEL}/randomize_va_space": "0"}, "ASLR", "fair", "off"),
        ({f"{SOURCE}/current_clocksource": "hpet"}, "clock source", "poor", "hpet"),
        (mount("nfs4"), "file system", "poor", "nfs4 on /dev/x, at /"),
        (mount("fuse.sshfs"), "file system", "poor", "fuse"),
        (mount("tmpfs"), "file system", "fair", "tmpfs"),
        (mount("strangefs"), "file system", "unknown", "strangefs"),
        (mount("ext4", "rw,nobarrier"), "mount options", "poor", "nobarrier"),
        (mount("ext4", "rw,discard"), "mount options", "fair", "discard"),
        (limit("Max open files 1024 4096 files"), "open files", "fair", "1024"),
        (limit("Max open files 256 4096 files"), "open files", "poor", "256"),
        (limit("Max locked memory 65536 65536 bytes"), "locked memory", "fair", "65536"),
        ({f"{GROUPS}/user.slice/cpu.max": "150000 100000"}, "CPU quota", "poor", "1.5 cores"),
        ({f"{GROUPS}/cpu.max": "50000 100000"}, "CPU quota", "poor", "0.5 cores"),
        ({f"{GROUPS}/user.slice/memory.max": "2000000000"}, "memory limit", "fair", "2.0 GB"),
        (
            V1
            | {
                f"{GROUPS}/cpu,cpuacct/box/cpu.cfs_quota_us": "200000",
                f"{GROUPS}/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
            },
            *("CPU quota", "poor", "2 cores"),
        ),
        (
            V1 | {f"{GROUPS}/memory/box/memory.limit_in_bytes": "9223372036854771712"},
            *("memory limit", "good", "none"),
        ),
        ({f"{machines.DISK}/queue/scheduler": "none [bfq]"}, "I/O scheduler", "fair", "bfq"),
    ],
)
def test_each_observation_has_its_mark(
    tmp_path: Path, files: dict[str, str], name: str, mark: str, found: str
) -> None:
    seen = one(tmp_path, files, name)
    assert (seen.mark, found in seen.found) == (mark, True), seen


def one(folder: Path, files: dict[str, str], name: str) -> Observation:
    return next(o for o in survey_host(machines.make(folder, files)) if o.name == name)


def test_cores_of_two_governors_count_as_the_worse(tmp_path: Path) -> None:
    base = "/sys/devices/system/cpu"
    files = {
        f"{base}/cpu0/cpufreq/scaling_governor": "performance",
        f"{base}/cpu1/cpufreq/scaling_governor": "ondemand",
        f"{base}/cpufreq/boost": "1",
    }
    assert one(tmp_path, files, "governor").mark == "fair"
    assert "boost" in one(tmp_path / "x", files, "turbo").hint


def test_a_link_that_came_up_narrow_is_seen_above_the_disk(tmp_path: Path) -> None:
    narrow = {"/sys/devices/pci0000:00/0000:00:02.0/current_link_width": "2\n"}
    seen = one(tmp_path, machines.BARE_SERVER | narrow, "PCIe link")
    assert (seen.mark, seen.found) == ("fair", "16.0 GT/s PCIe x2 of 16.0 GT/s PCIe x4")


def test_the_remedy_of_a_mount_option_takes_that_option_back(tmp_path: Path) -> None:
    seen = one(tmp_path, mount("ext4", "rw,discard,sync"), "mount options")
    assert seen.hint == "sudo mount -o remount,async,nodiscard /"


@pytest.mark.parametrize(
    ("level", "errors", "found", "hint"),
    [
        ("3", (errno.EACCES, errno.EACCES), "refused (paranoid 3)", "perf_event_paranoid=1"),
        ("4", (errno.EPERM, errno.EPERM), "refused (paranoid 4)", "perf_event_paranoid=1"),
        ("2", (0, errno.EACCES), "without the kernel's time (paranoid 2)", "perf_event_paranoid=1"),
        ("2", (errno.EPERM, errno.EPERM), "refused (operation not permitted)", "seccomp profile"),
        ("2", (errno.ENOSYS, errno.ENOSYS), "this kernel has none", "do without"),
        ("", (errno.ENOENT, errno.ENOENT), "this kernel has none", "do without"),
        ("2", (0, 0), "CPU time can be sampled", ""),
    ],
)
def test_why_cpu_time_cannot_be_sampled_is_told_with_a_remedy(
    tmp_path: Path, level: str, errors: tuple[int, int], found: str, hint: str
) -> None:
    files = {**machines.PLAIN, "/proc/sys/kernel/perf_event_paranoid": level}
    machines.write(tmp_path, files)
    machine = machines.machine(tmp_path, perf_errno=lambda with_kernel: errors[with_kernel])
    seen = next(o for o in survey_host(machine) if o.name == "perf events")
    assert (seen.mark, seen.found) == ("fair" if hint else "good", found)
    assert hint in seen.hint


def test_of_two_mounts_at_one_place_the_last_holds(tmp_path: Path) -> None:
    lines = (
        "20 1 8:1 / / rw - ext4 /dev/a rw",
        "21 20 0:9 / /var/lib\\040x rw - tmpfs t rw",
        "22 20 0:8 / /var/lib rw - xfs /dev/b rw",
        "23 20 0:7 / /var/lib rw - btrfs /dev/c rw",
        "a line of a kernel to come",
    )
    machines.write(tmp_path, {"/proc/self/mountinfo": "\n".join(lines)})
    machine = machines.machine(tmp_path)
    found = find_mount(machine, Path("/var/lib/data"))
    assert found and (found.kind, found.point) == ("btrfs", "/var/lib")
    spaced = find_mount(machine, Path("/var/lib x/data"))
    assert spaced and spaced.kind == "tmpfs"


def test_a_full_disk_is_poor_however_large(tmp_path: Path) -> None:
    machines.write(tmp_path, machines.PLAIN)
    machine = machines.machine(tmp_path, free=lambda _: (machines.GB, 5000 * machines.GB))
    seen = next(o for o in survey_host(machine) if o.name == "free disk")
    assert (seen.mark, seen.found) == ("poor", "1 of 5000 GB")
