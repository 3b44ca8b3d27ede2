"""Machines made of files: a laptop, a cloud VM, a bare server, a container without /sys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dyno.host.checks._machine import Machine

Files = Mapping[str, str]

CPU = "/sys/devices/system/cpu"
DISK = "/sys/devices/pci0000:00/0000:00:02.0/disk"
GB = 10**9

#: What every one of them has; a machine's own files replace these.
PLAIN = {
    "/proc/cpuinfo": "processor : 0\nmodel name : Example 9000\nflags : fpu tsc\n",
    "/proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\n"
    "SwapTotal: 0 kB\nSwapFree: 0 kB\n",
    "/proc/self/status": "Name:\tdyno\nCpus_allowed_list:\t0-7\n",
    "/proc/self/limits": "Max processes  60000  60000  processes\n"
    "Max open files  65536  65536  files\n"
    "Max locked memory  unlimited  unlimited  bytes\n",
    "/proc/self/cgroup": "0::/user.slice\n",
    "/proc/self/mountinfo": "20 1 8:1 / / rw,relatime - ext4 /dev/disk1 rw\n",
    "/proc/stat": "cpu  100 0 100 10000 0 0 0 0 0 0\n",
    "/proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "/proc/sys/kernel/randomize_va_space": "2\n",
    "/proc/sys/kernel/perf_event_paranoid": "2\n",
    "/sys/devices/system/cpu/online": "0-7\n",
    "/sys/devices/system/cpu/smt/active": "0\n",
    "/sys/devices/system/node/node0/cpulist": "0-7\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/user.slice/memory.max": "max\n",
    f"{DISK}/queue/discard_max_bytes": "2147483648\n",
    f"{DISK}/queue/rotational": "0\n",
    f"{DISK}/queue/write_cache": "write through\n",
    f"{DISK}/queue/scheduler": "[none] mq-deadline\n",
    f"{DISK}/disk1/partition": "1\n",
}
#: All that the watch waits for: two seconds of eight cores, idle but for a tick or two.
QUIET = {"/proc/stat": "cpu  101 0 101 11598 0 0 0 0 0 0\n"}

BARE_SERVER = {
    f"{CPU}/cpu{core}/cpufreq/scaling_governor": "performance\n" for core in range(8)
} | {
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    "/sys/devices/pci0000:00/0000:00:02.0/current_link_speed": "16.0 GT/s PCIe\n",
    "/sys/devices/pci0000:00/0000:00:02.0/current_link_width": "4\n",
    "/sys/devices/pci0000:00/0000:00:02.0/max_link_speed": "16.0 GT/s PCIe\n",
    "/sys/devices/pci0000:00/0000:00:02.0/max_link_width": "4\n",
}
LAPTOP = {
    **{f"{CPU}/cpu{core}/cpufreq/scaling_governor": "powersave\n" for core in range(8)},
    f"{CPU}/intel_pstate/no_turbo": "0\n",
    f"{CPU}/smt/active": "1\n",
    "/sys/class/power_supply/BAT0/type": "Battery\n",
    "/sys/class/power_supply/AC/type": "Mains\n",
    "/sys/class/power_supply/AC/online": "0\n",
    "/proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 2900000 kB\n"
    "SwapTotal: 8000000 kB\nSwapFree: 7000000 kB\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    f"{DISK}/queue/write_cache": "write back\n",
}
CLOUD = {
    "/proc/cpuinfo": "model name : Example Cloud\nflags : fpu tsc hypervisor\n",
    "/sys/class/dmi/id/sys_vendor": "QEMU\n",
    "/proc/self/status": "Cpus_allowed_list:\t0-1\n",
    f"{CPU}/online": "0-1\n",
    f"{DISK}/queue/discard_max_bytes": "0\n",
}
#: Two cores for two seconds: a tenth was stolen, a quarter went to a neighbour.
STOLEN = {
    "/proc/stat": "cpu  200 0 100 10260 0 0 0 40 0 0\n",
    "/proc/4711/stat": "4711 (cc1 (x)) R 1 1 1 0 0 0 0 0 0 0 90 10 0 0 20 0 1 0 1\n",
    "/proc/pressure/cpu": "some avg10=9.00 avg60=0.00 avg300=0.00 total=500000\n",
}
CONTAINER = {
    "/.dockerenv": "",
    "/proc/self/cgroup": "0::/\n",
    "/proc/self/status": "Cpus_allowed_list:\t0-3\n",
    "/proc/self/mountinfo": "30 1 0:50 / / rw - overlay overlay rw,lowerdir=/x\n",
}


def make(folder: Path, own: Files, meanwhile: Files = QUIET) -> Machine:
    """A machine in `folder`; `meanwhile` is what its files say after the watch."""
    write(folder, {**PLAIN, **own})
    link = folder / "sys/dev/block/8:1"
    link.parent.mkdir(parents=True)
    link.symlink_to("../../devices/pci0000:00/0000:00:02.0/disk/disk1")
    return machine(folder, meanwhile)


def machine(folder: Path, meanwhile: Files = QUIET, **changes: Any) -> Machine:
    """What lies in `folder` as a machine with an empty disk and a well-kept clock."""
    told: dict[str, Any] = {
        "pause": lambda _: write(folder, meanwhile),
        "free": lambda _: (900 * GB, 1000 * GB),
        "uring_errno": lambda: 0,
        "perf_errno": lambda _: 0,
        "clock_synchronised": lambda: True,
    }
    return Machine(folder, Path("/var/lib/data"), 2.0, **(told | changes))


def write(folder: Path, files: Files) -> None:
    """The files, below `folder`."""
    for name, text in files.items():
        path = folder / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
