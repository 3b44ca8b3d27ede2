"""Ways in which a disk's numbers fool their reader (`tests/disk_traps.py`), injected one by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import machines
import pytest
from disk_runs import LOG, MB, READ, make_run, make_side, write_fio
from disk_traps import TRAPS, Trap, make_table
from loop_devices import attached, make_image
from msgspec import structs
from privileges import need_root
from repository import ROOT

from dyno.cli import run_words
from dyno.host.checks.device import read_device_facts
from dyno.instruments.disk.audits import judge_run
from dyno.instruments.disk.fio import Fio, FioCall, FioResult, find_fio, run_job
from dyno.instruments.disk.matrix import read_matrix
from dyno.instruments.disk.run import DiskPlan, make_disk_folder, plan_disk_run, play_disks
from dyno.record.disk import DeviceFacts, DiskFinding, DiskJob, DiskLatency, DiskPlay, DiskRun
from dyno.runs.run_folder import read_json

SHORT = ("--time", "0.1", "--size", "4M", "--blocks", "2")
READS, ONE = ("--only", "read 4K, buffered"), ("--only", "read 4K, one*")


@dataclass
class Host:
    """What a trap is injected on: a folder on a disk, a folder for anything else, and what the
    command said.
    """

    folder: Path
    place: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def play(self, *words: object) -> list[DiskFinding]:
        """The findings of a run that is played here."""
        assert run_words(["disk", *map(str, words)]) in (0, 1, 2, 3), self.capsys.readouterr().err
        return judge_run(self.read_run())

    def read_run(self) -> DiskRun:
        """The run's record."""
        (record,) = (self.place / "runs").glob("*/disk.json")
        return read_json(DiskRun, record)

    def refuse(self, *words: object) -> str:
        """What a run that fails says."""
        assert run_words(["disk", *map(str, words)]) == 64
        return " ".join(self.capsys.readouterr().err.split())


@pytest.fixture
def host(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Host:
    return Host(folder, tmp_path, capsys, monkeypatch)


def make_file(host: Host, filled: bool = True) -> Path:
    return make_image(host.folder / "file", 8 * MB, filled)


def inject_sparse_file(host: Host) -> list[DiskFinding]:
    return host.play(make_file(host, filled=False), *SHORT, *ONE)


def inject_allocated_file(host: Host) -> list[DiskFinding]:
    file = make_file(host, filled=False)
    with file.open("rb+") as out:
        os.posix_fallocate(out.fileno(), 0, 8 * MB)
    return host.play(file, *SHORT, *ONE)


def inject_trimmed_device(host: Host) -> list[DiskFinding]:
    with attached(make_file(host, filled=False), "--direct-io=on") as device:
        return host.play(device, *SHORT, *ONE)


def inject_memory(host: Host) -> list[DiskFinding]:
    if not os.path.ismount("/dev/shm"):
        pytest.skip("there is no /dev/shm")
    return host.play("/dev/shm", *SHORT, *READS)


def play_otherwise(host: Host, change: Callable[[DiskJob], DiskJob]) -> list[DiskFinding]:
    """The findings of a run whose fio plays other jobs than were asked for."""

    def play(fio: Fio, call: FioCall) -> FioResult:
        return run_job(fio, replace(call, job=change(call.job)))

    plan = DiskPlan([str(host.folder)], read_matrix("default"), ONE[1:], 4 * MB, 0.1, 2)
    fio = find_fio(lambda _: None)
    run = structs.replace(plan_disk_run(plan), fio=fio.version)
    folder = make_disk_folder(host.place / "runs", run)
    return judge_run(play_disks(run, fio, folder, lambda _: None, play))


def inject_buffered(host: Host) -> list[DiskFinding]:
    return play_otherwise(host, lambda job: structs.replace(job, access="buffered"))


def inject_page_cache(host: Host) -> list[DiskFinding]:
    return host.play(host.folder, "--time", "1s", "--size", "4M", "--blocks", "2", *READS)


def inject_loop_cache(host: Host) -> list[DiskFinding]:
    with attached(make_file(host)) as device:
        return host.play(device, *SHORT, *ONE)


def play_fio(host: Host, text: str) -> str:
    """What a run says whose fio is a script that prints this."""
    folder = host.place / "bin"
    folder.mkdir()
    (folder / "answer").write_text(text)
    script = f'#!/bin/sh\n[ "$1" = --version ] && exec echo fio-3.33\nexec cat {folder}/answer\n'
    (folder / "fio").write_text(script)
    (folder / "fio").chmod(0o755)
    host.monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return host.refuse(host.folder, *SHORT, *ONE)


def inject_truncated_json(host: Host) -> str:
    return play_fio(host, write_fio()[:200])


def inject_fio_error(host: Host) -> str:
    return play_fio(host, write_fio(error=28))


def inject_two_jobs(host: Host) -> str:
    data = json.loads(write_fio())
    data["jobs"] *= 2
    return play_fio(host, json.dumps(data))


def inject_full_disk(host: Host) -> str:
    need_root("a small file system")
    mounted = host.place / "small"
    mounted.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=66M", "tmpfs", str(mounted)]
    if subprocess.run(command, capture_output=True, timeout=20).returncode:
        pytest.skip("this container may not mount")
    try:
        return host.refuse(mounted, *SHORT, *ONE)
    finally:
        subprocess.run(["umount", str(mounted)], check=True, timeout=20)


@contextmanager
def grouped(host: Host) -> Iterator[Callable[[int], None]]:
    """Puts what is started meanwhile into a control group of version 1; its rate is set by a call,
    in reads a second.
    """
    group = Path("/sys/fs/cgroup/blkio") / f"dyno-test-{os.getpid()}"
    device = host.folder.stat().st_dev
    disk = f"{os.major(device)}:{os.minor(device)}"
    if os.geteuid() or not group.parent.is_dir() or not Path(f"/sys/dev/block/{disk}").is_dir():
        pytest.skip("takes root, control groups of version 1, and a disk")
    group.mkdir()
    try:
        yield lambda rate: limit_reads(group, disk, rate)
    finally:
        group.rmdir()


def limit_reads(group: Path, disk: str, rate: int) -> None:
    (group / "blkio.throttle.read_iops_device").write_text(f"{disk} {rate}")


def play_in_group(host: Host, *words: object) -> subprocess.Popen[str]:
    group = f"/sys/fs/cgroup/blkio/dyno-test-{os.getpid()}"
    enter = f'echo $$ >{group}/cgroup.procs && exec "$@"'
    command = ["sh", "-c", enter, "sh", sys.executable, "-m", "dyno.cli", "disk"]
    return subprocess.Popen(
        [*command, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def inject_slow_device(host: Host) -> list[DiskFinding]:
    with grouped(host) as limit:
        limit(200)
        said, _ = play_in_group(host, host.folder, *SHORT, *ONE).communicate(timeout=100)
        assert "this control group allows read_iops=200" in said
    assert host.read_run().plays[-1].rate < 400
    return judge_run(host.read_run())


def inject_throttled(host: Host) -> list[DiskFinding]:
    words = (host.folder, "--time", "4s", "--size", "8M", "--blocks", "1", *ONE)
    with grouped(host) as limit:
        process = play_in_group(host, *words)
        group = Path("/sys/fs/cgroup/blkio") / f"dyno-test-{os.getpid()}"
        wait_for_fio(group)
        timer = threading.Timer(1.8, limit, [100])
        timer.start()
        process.communicate(timeout=100)
        timer.join()
    return judge_run(host.read_run())


def wait_for_fio(group: Path) -> None:
    for _ in range(600):
        for pid in (group / "cgroup.procs").read_text().split():
            name = Path(f"/proc/{pid}/comm")
            if name.exists() and name.read_text().strip() == "fio":
                return
        time.sleep(0.1)
    raise AssertionError("fio did not start in 60 s")


def read_facts(host: Host, files: Mapping[str, str], number: str = "8:1") -> DeviceFacts:
    """What is read of a machine made of files."""
    made = machines.make(host.place / "machine", files)
    return read_device_facts(made, number)


def judge_facts(
    facts: DeviceFacts,
    jobs: Sequence[DiskJob] = (READ,),
    change: Callable[[DiskPlay], DiskPlay] = lambda play: play,
) -> list[DiskFinding]:
    return judge_run(make_run([make_side(device=facts)], jobs, change=change))


def inject_io_max(host: Host) -> list[DiskFinding]:
    limit = "8:16 rbps=max wbps=max riops=9 wiops=max\n8:0 rbps=max wbps=max riops=500 wiops=max\n"
    files = {"/sys/fs/cgroup/user.slice/io.max": limit, f"{machines.DISK}/dev": "8:0\n"}
    facts = read_facts(host, files)
    assert facts.limit == "riops=500"
    return judge_facts(facts)


def inject_cache_answers(host: Host) -> list[DiskFinding]:
    def quicken(play: DiskPlay) -> DiskPlay:
        return structs.replace(play, sync=DiskLatency(9_000.0, 8_000.0, 20_000.0, 1e6))

    facts = read_facts(host, {f"{machines.DISK}/queue/write_cache": "write back\n"})
    return judge_facts(facts, [LOG], quicken)


def inject_thin_pool(host: Host) -> list[DiskFinding]:
    root, virtual = host.place / "machine", "/sys/devices/virtual/block"
    machines.make(root, {f"{virtual}/dm-3/dm/uuid": "LVM-volume\n"})
    machines.write(root, {f"{virtual}/dm-1/dm/uuid": "LVM-pool-tpool\n"})
    for upper, lower in (("dm-3", f"{virtual}/dm-1"), ("dm-1", f"{machines.DISK}/disk1")):
        link = root / f"{virtual}/{upper}/slaves/x".lstrip("/")
        link.parent.mkdir(parents=True)
        link.symlink_to(root / lower.lstrip("/"))
    (root / "sys/dev/block/253:3").symlink_to(root / f"{virtual}/dm-3".lstrip("/"))
    facts = read_device_facts(machines.machine(root), "253:3")
    assert facts.stack == ("dm-3", "dm-1", "disk1", "disk")
    return judge_facts(facts)


def inject_thin_lun(host: Host) -> list[DiskFinding]:
    lun = f"{machines.DISK}/device/scsi_disk/0:0:0:0/thin_provisioning"
    return judge_facts(read_facts(host, {lun: "1\n"}))


def inject_no_trim(host: Host) -> list[DiskFinding]:
    return judge_facts(read_facts(host, {f"{machines.DISK}/queue/discard_max_bytes": "0\n"}))


def inject_narrow_link(host: Host) -> list[DiskFinding]:
    place = "/sys/devices/pci0000:00/0000:00:02.0"
    narrow = {f"{place}/current_link_width": "1\n"}
    return judge_facts(read_facts(host, machines.BARE_SERVER | narrow))


def inject_credits(_: Host) -> list[DiskFinding]:
    return judge_run(make_run(blocks=10, rate=lambda _, block: 1e4 if block < 6 else 3e3))


def inject_no_flush(host: Host) -> list[DiskFinding]:
    def forget(play: DiskPlay) -> DiskPlay:
        assert play.device
        return structs.replace(play, device=structs.replace(play.device, flushes=3))

    facts = read_facts(host, {f"{machines.DISK}/queue/write_cache": "write back\n"})
    return judge_facts(facts, [LOG], forget)


def inject_fresh_drive(_: Host) -> list[DiskFinding]:
    rates = (3e4, 2e4, 1.5e4, 1.2e4, 1e4)
    write = DiskJob("write 4K", "randwrite")
    return judge_run(make_run(jobs=[write], blocks=5, rate=lambda _, block: rates[block]))


def inject_neighbour(_: Host) -> list[DiskFinding]:
    def disturb(play: DiskPlay) -> DiskPlay:
        assert play.device
        return structs.replace(
            play, device=structs.replace(play.device, read_bytes=5 * play.size_bytes)
        )

    return judge_run(make_run(change=disturb))


def find_injection(trap: Trap) -> Callable[[Host], Any]:
    inject: Callable[[Host], Any] = globals()[f"inject_{trap.name.replace('-', '_')}"]
    return inject


@pytest.mark.slow
@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_a_trap_is_caught_by_name(trap: Trap, host: Host) -> None:
    found = find_injection(trap)(host)
    if trap.word == "refused":
        assert trap.by in found
        return
    words = {(each.audit, each.soundness) for each in found}
    assert (trap.by, trap.word) in words, [it for it in found if it.audit == trap.by]


def test_the_traps_stand_in_the_evidence_and_each_audit_has_one() -> None:
    page = (ROOT / "docs/evidence/disk.md").read_text()
    assert make_table() in page, "make docs"
    audits = {trap.by for trap in TRAPS if trap.word != "refused"}
    assert audits == {
        path.stem for path in (ROOT / "src/dyno/instruments/disk/audits").glob("[a-z]*.py")
    }
