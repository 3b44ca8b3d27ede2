"""A share as a run of its own: drafted, prepared and put into its folder, or found there again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dyno import private_files
from dyno.builds import Say
from dyno.compare.calibration.store import quote_error_rates
from dyno.compare.pilot.prepare import prepare
from dyno.compare.shards.dealing import choose_seed, name_cell
from dyno.errors import HostError, UsageError, find_fullest
from dyno.record import DealtShare, Run
from dyno.runs.experiment import Experiment
from dyno.runs.resolve.design import choose_interim_analyses
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.experiment import describe_host, draft_run
from dyno.runs.run_folder import RunFolder, write_json

#: Of a digest that tells hosts apart.
DIGITS = 16
#: What tells one start of a kernel from another; containers of a machine share it.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def read_boot() -> str:
    """One start of this host's kernel, hashed; empty where it does not tell."""
    with suppress(OSError):
        return hashlib.sha256(BOOT_ID.read_bytes()).hexdigest()[:DIGITS]
    return ""


def identify_host(facts: Mapping[str, str], boot: str, label: str = "") -> str:
    """The host by the name that a user gave it, hashed; else by its own id, or by the start of its
    kernel where it has none, as in a container.
    """
    if label:
        return hashlib.sha256(label.encode()).hexdigest()[:DIGITS]
    return facts.get("id") or boot or "unknown"


def read_facts() -> Mapping[str, str]:
    """This host's facts, as a run records them."""
    return describe_host()


def draft_share(experiment: Experiment, share: DealtShare, say: Say) -> Prepared:
    """A share ready to be played, of an experiment that `select_cells` made: what every share
    must have alike is fixed in it, and the length of slices is tried on this host.
    """
    draft = draft_run(experiment, say)
    draft.change(share=share)
    quote_error_rates(draft)
    return prepare(draft, say)


def select_cells(experiment: Experiment, share: DealtShare) -> Experiment:
    """The experiment with the cells of the share alone; its seed, and the one analysis at MAX, are
    the same for all shares.
    """
    if experiment.client_hosts is not None:
        hint = "play it whole, with dyno run"
        raise UsageError(f"{experiment.name} has client hosts, and no shares", hint=hint)
    most = choose_interim_analyses(experiment.measuring)[-1]
    measuring = replace(experiment.measuring, seed=choose_seed(experiment))
    if not measuring.quick:
        measuring = replace(measuring, blocks=most, fixed=True)
    own = tuple(each for each in experiment.workloads if name_cell(each) in share.blocks)
    return replace(experiment, workloads=own, measuring=measuring)


def find_begun(path: Path, share: DealtShare) -> RunFolder | None:
    """The run in `path`, where it is this very share and can go on; None where nothing is there.
    `UsageError` where something else is.
    """
    folder = RunFolder(path)
    if (path / "run.json").is_file():
        there = folder.read_run().share
        if there is None or _list_identity(there) != _list_identity(share):
            hint = "name another --dir, or move it away"
            raise UsageError(f"another run is in {path}", cause=_describe(there), hint=hint)
        return folder
    inside = path.iterdir() if path.is_dir() else ()
    strange = [each.name for each in inside if each.name not in INNER]
    if strange or path.is_file():
        cause = f"it holds {strange[0]}" if strange else "it is a file"
        raise UsageError(f"{path} is no folder for a share", cause=cause, hint="name a new one")
    return None


#: Folders that a run's folder begins with, before its record is there.
INNER = ("trials", "logs")


def _list_identity(share: DealtShare) -> tuple[int, int, str]:
    return share.index, share.of, share.suite_sha256 + share.experiment_sha256


def _describe(share: DealtShare | None) -> str:
    if share is None:
        return "it is no share of an experiment"
    return f"it is share {share.index} of {share.of} of experiment {share.experiment_sha256[:12]}"


def create_share(run: Run, path: Path) -> RunFolder:
    """A folder at `path` with `run.json` in it; what a kill left of one there is taken over."""
    try:
        for folder in (path, *(path / inner for inner in INNER)):
            private_files.make_folder(folder, exist_ok=True)
    except OSError as error:
        cause = f"{error.strerror}{find_fullest(error, path.parent)}"
        raise HostError(f"cannot make {path}", cause=cause, hint="name another --dir") from error
    write_json(path / "run.json", run)
    return RunFolder(path)
