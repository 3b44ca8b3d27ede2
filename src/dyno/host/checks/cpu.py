"""Survey: which cores there are, whether they are virtual, and who shares them."""

from __future__ import annotations

from collections.abc import Iterator

from dyno.host.checks import choose_mark, make_not_visible, make_observation
from dyno.host.checks._machine import Machine, parse_spans
from dyno.record import Mark, Observation

WEIGHTS = {"CPU": 18, "SMT": 12, "NUMA": 12, "virtualisation": 12}

SYSTEM = "/sys/devices/system"
#: Who makes virtual machines, as the firmware's maker (arm has no flag for it).
VIRTUAL_MAKERS = ("QEMU", "VMware", "Xen", "innotek", "Microsoft Corporation Virtual", "Parallels")
#: Words in the path of a process's control group that a container's manager puts there.
CONTAINERS = ("docker", "kubepods", "libpod", "lxc", "containerd")


def observe(machine: Machine) -> Iterator[Observation]:
    yield observe_cores(machine)
    yield observe_virtualisation(machine)
    yield observe_smt(machine)
    yield observe_numa(machine)


def observe_cores(machine: Machine) -> Observation:
    why = "engine, driver and other processes need separate cores"
    model, usable = machine.read_after("/proc/cpuinfo", "model name"), machine.list_usable_cores()
    if not usable:
        return make_not_visible("CPU", why, model or "not visible here")
    every = parse_spans(machine.read_text(f"{SYSTEM}/cpu/online")) or usable
    count = f"{len(usable)} of {len(every)}" if len(every) > len(usable) else str(len(usable))
    mark = choose_mark(-len(usable), -3, -1)
    hint = "give this machine or container four cores or more"
    found = f"{model or machine.read_text('/proc/sys/kernel/arch')}, {count} cores".lstrip(", ")
    return make_observation("CPU", found.replace(" 1 cores", " 1 core"), mark, why, hint)


def observe_virtualisation(machine: Machine) -> Observation:
    maker = " ".join(
        machine.read_text(f"/sys/class/dmi/id/{n}") for n in ("sys_vendor", "product_name")
    )
    guest = (
        "hypervisor" in machine.read_after("/proc/cpuinfo", "flags").split()
        or maker.startswith(VIRTUAL_MAKERS)
        or bool(machine.read_text("/sys/hypervisor/type"))
        or bool(machine.read_text("/proc/device-tree/hypervisor/compatible"))
    )
    groups = machine.read_text("/proc/self/cgroup")
    inside = any(word in groups for word in CONTAINERS) or any(
        machine.find_path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")
    )
    what = [f"a virtual machine ({maker.strip()})".replace(" ()", "")] if guest else []
    found = " and ".join([*what, *(["a container"] if inside else [])]) or "none"
    why = "other virtual machines use these cores; clock rate, caches and disk are hidden"
    hint = "to find less than 2 %, use a bare-metal machine, or plan more blocks"
    return make_observation("virtualisation", found, "fair" if guest else "good", why, hint)


def observe_smt(machine: Machine) -> Observation:
    why = "two threads share a core: work on the other one slows yours, and no counter shows it"
    active = machine.read_text(f"{SYSTEM}/cpu/smt/active")
    shared = machine.read_text(f"{SYSTEM}/cpu/cpu0/topology/thread_siblings_list")
    if not active and not shared:
        return make_not_visible("SMT", why)
    on = active == "1" if active else len(parse_spans(shared)) > 1
    hint = f"echo off | sudo tee {SYSTEM}/cpu/smt/control"
    return make_observation("SMT", "on" if on else "off", "fair" if on else "good", why, hint)


def observe_numa(machine: Machine) -> Observation:
    why = "memory of another node is slower, and the node of a page is a matter of chance"
    nodes = [n for n in machine.list_names(f"{SYSTEM}/node") if n[:4] == "node" and n[4:].isdigit()]
    if not nodes:
        return make_not_visible("NUMA", why)
    if len(nodes) == 1:
        return make_observation("NUMA", "1 node", "good", why)
    balanced = machine.read_text("/proc/sys/kernel/numa_balancing") not in ("", "0")
    mark: Mark = "poor" if balanced else "fair"
    found = f"{len(nodes)} nodes" + (", pages are moved between them" if balanced else "")
    hint = "--control numa=local, or numactl --cpunodebind=0 --membind=0 dyno …"
    if balanced:
        hint = f"sudo sysctl kernel.numa_balancing=0, and {hint}"
    return make_observation("NUMA", found, mark, why, hint)
