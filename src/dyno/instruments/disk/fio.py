"""fio: the program of this system, or Debian's package with its libraries, unpacked into the cache;
one job of it played, and what its JSON says.

All users of a job are threads of one process, which ends with us. fio writes notes before its JSON,
so that is read from the first brace. Users are reported as one (`--group_reporting`): of several
clients their sum is taken, never both.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dyno import scratch, subprocesses
from dyno.builds import Say, cache, deb
from dyno.errors import DynoError, HostError, TrialFailed
from dyno.record.disk import DiskJob, DiskLatency
from dyno.tails import extract_last_lines

PACKAGE = "fio"
#: What a question to fio may take, and what a play may take beyond its time.
CALL_S, BEYOND_S = 60.0, 120.0
#: What can be done where a file system or a container refuses a job.
LEAVE_OUT = "--only chooses jobs that can be played here"
#: Into how many equal parts the rate of a play is logged, and how often each of them is looked at;
#: a shorter play has too little for it.
PARTS, LOGGED_PER_PART, LOGGED_LEAST_S = 20, 2, 0.8
#: fio's log of its rate, in a folder of ours, and what fio puts behind its name.
LOG, LOG_FILE = "rate", "rate_iops.log"
#: What fio calls the sum over its clients.
ALL_CLIENTS = "All clients"


@dataclass(frozen=True)
class Fio:
    """The program, what its loader must be told, and the version that it says it has."""

    program: Path
    version: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FioCall:
    """A job, on what fio opens, so many bytes of it; how long it is played, and its seed."""

    job: DiskJob
    path: str
    size_bytes: int
    play_s: float
    seed: int


@dataclass(frozen=True)
class FioResult:
    """What fio says of a job: latencies in ns, of all users together; `rates` as in `DiskPlay`."""

    operations: int
    size_bytes: int
    duration_s: float
    total: DiskLatency
    submit: DiskLatency
    sync: DiskLatency
    syncs: int
    rates: tuple[float, ...] = ()


def find_fio(say: Say, path: str | None = None, fetch: bool = True) -> Fio:
    """The system's fio, else Debian's package, one that is cached already before a newer one;
    `HostError` where none can be had. `path` is where programs are looked for.
    """
    if (found := shutil.which(PACKAGE, path=path)) and (asked := _ask_version(Path(found), {})):
        return Fio(Path(found), asked)
    hint = "install fio, or use a Debian or an Ubuntu, where dyno fetches it"
    if not fetch:
        raise HostError("there is no fio", hint=hint)
    for entry in reversed(cache.find_entries("deb", f"{PACKAGE}-*")):
        if cached := _open_package(entry.path):
            return cached
    try:
        version = deb.find_installable_version(PACKAGE, say)
        folder = deb.fetch(PACKAGE, version, say, deb.list_companions(PACKAGE, say))
    except DynoError as refused:
        raise HostError("there is no fio", cause=refused.sentence, hint=hint) from None
    if fetched := _open_package(folder):
        return fetched
    raise HostError(f"Debian's fio {version} does not start on {platform.machine()}", hint=hint)


def _open_package(folder: Path) -> Fio | None:
    """The fio whose package, with its libraries, is unpacked there; None where it does not
    start.
    """
    libraries = sorted({str(file.parent) for file in folder.rglob("lib*.so*")})
    more = {"LD_LIBRARY_PATH": os.pathsep.join(libraries)} if libraries else {}
    program = folder / "usr" / "bin" / PACKAGE
    asked = _ask_version(program, more)
    return Fio(program, asked, more) if asked else None


def _ask_version(program: Path, more: Mapping[str, str]) -> str:
    """What it calls itself, `fio-3.33`; empty where it does not start."""
    try:
        done = subprocesses.run([str(program), "--version"], CALL_S, environment=_merge(more))
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _merge(more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", **more}


def build_command(fio: Fio, call: FioCall, logs: Path | None = None) -> list[str]:
    """fio's words for a job on a file or device; a job that reads may not write or trim. The rate
    of a play that is long enough is logged in `logs`, from memory once it is over.
    """
    job = call.job
    words = [
        str(fio.program),
        "--name=dyno",
        "--thread",
        "--group_reporting",
        "--output-format=json",
        f"--filename={call.path}",
        f"--rw={job.pattern}",
        f"--bs={job.block_bytes}",
        f"--ioengine={job.engine}",
        f"--iodepth={job.depth}",
        f"--numjobs={job.users}",
        f"--direct={int(job.access == 'direct')}",
        f"--runtime={round(call.play_s * 1000)}ms",
        "--time_based",
        f"--randseed={call.seed}",
        "--clat_percentiles=0",
        "--lat_percentiles=1",
        "--percentile_list=50:99",
    ]
    words += ["--norandommap"] if job.is_random else []
    words += ["--overwrite=1", "--allow_file_create=0"] if job.is_write else ["--readonly"]
    words += _spell_sync(job)
    if logs and call.play_s >= LOGGED_LEAST_S:
        every_ms = round(1000 * call.play_s / PARTS / LOGGED_PER_PART)
        words += [f"--write_iops_log={logs / LOG}", "--per_job_logs=0"]
        words += [f"--log_avg_msec={every_ms}", f"--iopsavgtime={every_ms}"]
    share = call.size_bytes // job.users // job.block_bytes * job.block_bytes
    if job.is_random or job.users == 1:
        return [*words, f"--size={call.size_bytes}"]
    return [*words, f"--size={share}", f"--offset_increment={share}"]


def _spell_sync(job: DiskJob) -> list[str]:
    if job.sync in ("fsync", "fdatasync"):
        return [f"--{job.sync}={job.writes_per_sync}"]
    return ["--sync=dsync"] if job.sync == "dsync" else []


def run_job(fio: Fio, call: FioCall) -> FioResult:
    """Plays a job; `TrialFailed` where fio ends with an error, or says nothing that can be read."""
    job = call.job
    with scratch.make_folder("disk", scratch.find_temporary_folder()) as logs:
        command = build_command(fio, call, logs)
        try:
            done = subprocesses.run_guarded(
                command, call.play_s + BEYOND_S, environment=_merge(fio.environment)
            )
        except subprocess.TimeoutExpired:
            raise TrialFailed(f"fio did not end: '{job.name}' hangs in the kernel") from None
        rates = read_rates(logs / LOG_FILE, call.play_s)
    told = extract_last_lines(done.stderr or done.stdout, 2)
    if done.returncode and "{" not in done.stdout:
        raise TrialFailed(f"fio failed in '{job.name}'", cause=told, hint=LEAVE_OUT)
    result = read_result(job, done.stdout, told)
    if done.returncode:
        raise TrialFailed(f"fio failed in '{job.name}'", cause=told, hint=LEAVE_OUT)
    return replace(result, rates=rates)


def read_rates(file: Path, play_s: float) -> tuple[float, ...]:
    """Operations a second of all users in each of `PARTS` parts of a play, from fio's log; empty
    where there is none that can be read.

    A line is of one user: ms since its begin, and its rate since the line before. Users follow one
    another, so that the time goes back where one begins.
    """
    try:
        rows = [line.split(",") for line in file.read_text().splitlines()]
        seen = [(float(at_ms) / 1e3, float(rate)) for at_ms, rate, *_ in rows]
    except (OSError, ValueError):
        return ()
    part_s, done, begin = play_s / PARTS, [0.0] * PARTS, 0.0
    for end, rate in seen:
        begin = begin if begin < end else 0.0
        for part in range(PARTS):
            both = min(end, (part + 1) * part_s) - max(begin, part * part_s)
            done[part] += rate * max(0.0, both)
        begin = end
    return tuple(round(each / part_s, 1) for each in done) if seen else ()


def read_result(job: DiskJob, text: str, told: str = "") -> FioResult:
    """What fio wrote of one job; `TrialFailed` for what is cut off, for an error, and for several
    jobs where one was asked for. `told` is what it said beside.
    """
    data = _extract_json(text)
    clients = data.get("client_stats")
    found: Sequence[Mapping[str, Any]] = clients or data.get("jobs") or ()
    if clients and len(clients) > 1:
        # with the sum come its parts: both together would count each client twice
        found = [each for each in clients if each.get("jobname") == ALL_CLIENTS]
    if len(found) != 1:
        raise TrialFailed(f"fio reports {len(found)} jobs of '{job.name}', where 1 was played")
    only = found[0]
    if error := int(only.get("error") or 0):
        cause = told or os.strerror(error).lower()
        message = f"fio reports error {error} in '{job.name}'"
        raise TrialFailed(message, cause=cause, hint=LEAVE_OUT)
    try:
        return _read_job(job, only)
    except (KeyError, TypeError, ValueError) as error:
        message = f"fio's report on '{job.name}' cannot be read"
        raise TrialFailed(message, cause=f"it has no {error}") from None


def _extract_json(text: str) -> dict[str, Any]:
    begin = text.find("{")
    if begin < 0:
        raise TrialFailed("fio wrote no JSON", cause=extract_last_lines(text, 2))
    try:
        data, _ = json.JSONDecoder().raw_decode(text[begin:])
    except ValueError:
        raise TrialFailed("fio's JSON is cut off", hint="was fio killed?") from None
    return dict(data)


def _read_job(job: DiskJob, told: Mapping[str, Any]) -> FioResult:
    side = told["write" if job.is_write else "read"]
    duration_s, operations = float(side["runtime"]) / 1e3, int(side["total_ios"])
    if duration_s <= 0 or operations <= 0:
        raise TrialFailed(f"fio did nothing in '{job.name}'")
    sync = told.get("sync", {}).get("lat_ns", {})
    return FioResult(
        operations=operations,
        size_bytes=int(side["io_bytes"]),
        duration_s=duration_s,
        total=_read_latency(side["lat_ns"]),
        submit=_read_latency(side.get("slat_ns", {})),
        sync=_read_latency(sync),
        syncs=int(sync.get("N", 0)),
    )


def _read_latency(told: Mapping[str, Any]) -> DiskLatency:
    share = told.get("percentile", {})
    return DiskLatency(
        mean=float(told.get("mean", 0.0)),
        p50=float(share.get("50.000000", 0.0)),
        p99=float(share.get("99.000000", 0.0)),
        worst=float(told.get("max", 0.0)),
    )
