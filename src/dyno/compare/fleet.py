"""An experiment's shares as tasks of a Ray cluster: `dyno run --on ray://HOST:PORT`.

A share is one task, which holds the resource `dyno_slot` of its node and plays `dyno shard` there.
Ray places it, and plays it again where its worker or its node is lost. The runtime environment
brings this very Dyno, its driver and the experiment's files to the node; the share's folder comes
back as the bytes of a zip file. A run over a cluster is a folder:

    fleet.json      what was fixed at the beginning
    files/          the experiment's own files
    shares/0003/    the folder of share 3, there once it was played to its end
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

import dyno
from dyno import driver, private_files, scratch, subprocesses, workloads
from dyno.errors import HostError, UsageError
from dyno.record import SCHEMA
from dyno.record.schema import Record
from dyno.runs.experiment import read_experiment
from dyno.runs.experiments import find_experiment
from dyno.runs.pack.archive import unpack_run
from dyno.runs.resolve.experiment import compute_own_sha256
from dyno.runs.run_folder import FLEET_RECORD, make_run_folder, read_json, write_json
from dyno.tails import extract_last_lines

#: The custom resource of a node that plays, one each.
SLOT = "dyno_slot"
#: How often Ray plays a share again whose worker or node was lost.
RETRIES = 3
#: Shares for each node where the user does not say: a quick node plays more of them.
SHARES_PER_NODE = 2
#: A host's mean is one datum: fewer say little of a slowdown (docs/evidence/hosts.md).
HOSTS_LEAST = 4
#: A share may take a week.
LIMIT_S = 7 * 86_400.0
DRIVER, FILES, SHARES = "dyno-driver", "files", "shares"
#: What is a server's own in a run's folder, and no record.
NOT_RECORDS = {"home", "loaded"}
STATUS_HINT = "`ray status` on a node of the cluster says whether it runs"


def tell_time() -> str:
    """The time now, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class FleetPlan(Record):
    """What is fixed at the beginning: `on` is the cluster as the user named it, `experiment` the
    name of its file, `words` those of the command line that change it.
    """

    name: str
    on: str
    command: str
    experiment: str
    words: tuple[str, ...]
    shares: int
    group: str = ""
    created_utc: str = msgspec.field(default_factory=tell_time)
    dyno: str = dyno.__version__
    sources_sha256: str = msgspec.field(default_factory=compute_own_sha256)
    schema: int = SCHEMA


@dataclass(frozen=True)
class PlayedShare:
    """What a task answers: how `dyno shard` ended on the node, with the last lines of its errors,
    and the folder that it left.
    """

    node: str
    exit_code: int
    errors: str
    packed: bytes


def list_experiment_files(file: Path, settings: Mapping[str, str]) -> dict[str, Path]:
    """The experiment's file first, then scripts with all that they require, and setup files, each
    by its path from the folder of the experiment. `settings` are those of the command line.

    Dyno's own scripts are not among them: they are sent with Dyno. `UsageError` for a file that
    lies outside of the experiment's folder.
    """
    found = file if file.is_file() else find_experiment(str(file))
    if found is None:
        raise UsageError(f"there is no experiment file '{file}'")
    home, own = found.resolve().parent, Path(workloads.__file__).resolve().parent
    files = {found.name: found.resolve()}
    for workload in read_experiment(found).workloads:
        script = workloads.find_workload(workload.name)
        for each in workloads.list_files(script, {**workload.options, **settings}):
            place = each.resolve()
            if place.parent == own:
                continue
            if not place.is_relative_to(home):
                hint = f"put it beside {found.name} or below: hosts get the files of that folder"
                raise UsageError(f"{place} cannot be sent to other hosts", hint=hint)
            files[str(place.relative_to(home))] = place
    return files


def create_fleet(plan: FleetPlan, files: Mapping[str, Path], runs: Path) -> Path:
    """A new folder under `runs` with the plan, and a copy of the experiment's files."""
    path = make_run_folder(runs, plan.created_utc, plan.name)
    for name in (FILES, SHARES):
        private_files.make_folder(path / name)
    for name, source in files.items():
        target = path / FILES / name
        private_files.make_folder(target.parent, exist_ok=True)
        private_files.write_bytes_whole(target, source.read_bytes())
    write_json(path / FLEET_RECORD, plan)
    return path


def read_plan(path: Path) -> FleetPlan:
    """`fleet.json` of a run; `UsageError` where it is missing, broken or from a newer Dyno."""
    return read_json(FleetPlan, path / FLEET_RECORD)


def find_files(path: Path) -> dict[str, Path]:
    """The experiment's files that a run's folder holds, by their names among them."""
    home = path / FILES
    return {str(it.relative_to(home)): it for it in home.rglob("*") if it.is_file()}


def list_missing(path: Path, plan: FleetPlan) -> list[int]:
    """The shares that have not come back yet."""
    back = {int(file.parts[-3]) for file in (path / SHARES).glob("[0-9]*/*/run.json")}
    return [share for share in range(1, plan.shares + 1) if share not in back]


def choose_shares(asked: int | None, nodes: int, cells: int, blocks: int) -> int:
    """How many shares are dealt of so many cells of so many blocks: whole cells where each node can
    have one, else parts of them. `UsageError` for more than there are blocks.
    """
    if asked is None:
        return min(SHARES_PER_NODE * nodes, cells if cells >= nodes else cells * blocks)
    if asked > cells * blocks:
        raise UsageError(f"--shares {asked} is more than all {cells * blocks} blocks")
    return asked


def describe_split(shares: int, cells: int, nodes: int) -> str:
    """What it costs that few hosts play each cell; empty where it costs little."""
    if shares <= cells or not 1 < nodes < HOSTS_LEAST:
        return ""
    return (
        f"each workload's blocks are dealt over {nodes} hosts, which rarely decide; "
        f"--shares {cells} deals whole workloads"
    )


def load_ray() -> Any:
    """The library; `HostError` where the extra is not installed."""
    try:
        import ray
    except ImportError:
        hint = "pip install 'dyno-bench[fleet]', on every node and here"
        raise HostError("--on ray needs the library ray", hint=hint) from None
    return ray


@contextmanager
def join_cluster(where: str, files: Mapping[str, Path], group: str) -> Iterator[Any]:
    """The library `ray`, connected to the cluster of `ray://HOST:PORT`, `ray:HOST:PORT` or
    `ray:auto`; its tasks find this Dyno, its driver and the experiment's `files`.

    `HostError` where it cannot be reached, or the extra is not installed.
    """
    address = where if where.startswith("ray://") else where.removeprefix("ray:")
    check_address(address)
    ray = load_ray()
    with scratch.make_folder("fleet") as home:
        for name, source in ({DRIVER: driver.find_driver()} | dict(files)).items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, home / name)
        environment = {
            "working_dir": str(home),
            "py_modules": [str(Path(dyno.__file__).parent)],
            "excludes": ["**/__pycache__"],
            "env_vars": {"DYNO_HOST_GROUP": group} if group else {},
        }
        ours = signal.getsignal(signal.SIGTERM)  # which Ray replaces by an exit without a word
        try:
            ray.init(
                address=address,
                runtime_env=environment,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except Exception as error:  # Ray's own have no common kind
            message = f"cannot join the cluster ({address})"
            raise HostError(message, cause=find_cause(error), hint=STATUS_HINT) from None
        finally:
            signal.signal(signal.SIGTERM, ours)
    try:
        yield ray
    finally:
        ray.shutdown()  # which ends this job's tasks on all nodes


def check_address(address: str) -> None:
    """`HostError` where nobody listens there: Ray would go on asking for minutes."""
    found = re.fullmatch(r"(?:ray://)?(.+):(\d+)/?", address)
    if address == "auto":
        return
    if not found:
        raise UsageError(f"--on ray: '{address}' is no HOST:PORT", hint="ray://HOST:10001")
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=5).close()
    except (OSError, OverflowError) as error:
        cause = str(getattr(error, "strerror", "") or error).lower()
        message = f"cannot reach the cluster ({address})"
        raise HostError(message, cause=cause, hint=STATUS_HINT) from None


def find_cause(error: Exception) -> str:
    """The line of an error of Ray's that says what was wrong: the last, below other programs'
    tracebacks.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


def count_nodes(ray: Any) -> int:
    """How many nodes offer a slot; `UsageError` where none does."""
    if offered := int(ray.cluster_resources().get(SLOT, 0)):
        return offered
    hint = f"ray start --resources='{{\"{SLOT}\": 1}}' on each node that may play"
    raise UsageError(f"no node of the cluster offers a {SLOT}", hint=hint)


def play_shares(ray: Any, path: Path, plan: FleetPlan, tell: Callable[[str], None]) -> None:
    """Plays the shares that are missing, and puts each into the run's folder as it comes back.

    `HostError` in the end where some could not be played; the others are here.
    """
    play = ray.remote(num_cpus=0, resources={SLOT: 1}, max_retries=RETRIES)(play_share)
    waiting = {
        play.remote(share, plan.shares, plan.experiment, plan.words): share
        for share in list_missing(path, plan)
    }
    failed: dict[int, str] = {}
    while waiting:
        for ready in ray.wait(list(waiting), num_returns=1, timeout=0.5)[0]:
            share = waiting.pop(ready)
            try:
                played = ray.get(ready)
            except ray.exceptions.RayError as error:
                failed[share] = find_cause(error)
            else:
                if played.exit_code:
                    failed[share] = f"{played.errors or 'it printed nothing'} on {played.node}"
                else:
                    keep_share(path, share, played.packed)
            how = f"failed: {failed[share]}" if share in failed else f"was played by {played.node}"
            tell(f"share {share} of {plan.shares} {how}")
    if failed:
        numbers = ", ".join(map(str, failed))
        what = f"share {numbers}" if len(failed) == 1 else f"shares {numbers}"
        were = "was" if len(failed) == 1 else "were"
        cause = next(iter(failed.values()))
        raise HostError(f"{what} of {plan.shares} {were} not played", cause=cause)


def keep_share(path: Path, share: int, packed: bytes) -> None:
    """Puts a share's folder among the run's; it appears whole or not at all."""
    with scratch.make_folder("fleet") as home:
        file = home / "share.zip"
        file.write_bytes(packed)
        unpack_run(file, path / SHARES / f"{share:04}")


def play_share(share: int, of: int, experiment: str, words: Sequence[str]) -> PlayedShare:
    """The task: play a share on this node, in the folder of the experiment's files.

    The play ends with this worker, however that ends.
    """
    ray = load_ray()
    nodes, own = ray.nodes(), ray.get_runtime_context().get_node_id()
    names = {it["NodeID"]: it.get("NodeName") or it["NodeManagerHostname"] for it in nodes}
    name = names[own]
    if [*names.values()].count(name) > 1:
        name = f"{name}-{own[:6]}"
    program = Path(DRIVER).absolute()
    program.chmod(0o755)
    with scratch.make_folder("fleet") as home:
        folder = home / "share"
        command = [sys.executable, "-m", "dyno.cli", "shard", f"{share}/{of}", experiment]
        command += ["--dir", str(folder), "--host", name, *words]
        try:
            done = subprocesses.run_guarded(
                command, LIMIT_S, environment=os.environ | {"DYNO_DRIVER": str(program)}
            )
        except subprocess.TimeoutExpired:
            return PlayedShare(name, 1, f"it did not end in {LIMIT_S:g} s", b"")
        packed = b"" if done.returncode else pack_folder(folder)
    return PlayedShare(name, done.returncode, extract_last_lines(done.stderr, 6), packed)


def pack_folder(folder: Path) -> bytes:
    """The records of a run's folder as a zip file, names and all: `dyno pack` is for others."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            inner = file.relative_to(folder)
            if inner.parts[0] not in NOT_RECORDS and file.is_file() and not file.is_symlink():
                archive.write(file, Path(folder.name, inner))
    return made.getvalue()
