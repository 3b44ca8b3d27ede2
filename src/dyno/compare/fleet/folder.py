"""A fleet's run on disk, while its shares are played and after.

    fleet.json                what was fixed at the beginning
    files/                    the experiment's own files, as they were sent to every host
    shares/0003/HOST/         the records of share 3 as they come from a host: a run's folder
    shares/0003/whole         the name of the host that has played all of it

A share's records are one host's: what another one had begun stays beside, and is not judged.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import dyno
from dyno import private_files
from dyno.compare.fleet import FleetHost
from dyno.compare.fleet.experiment_files import hash_files
from dyno.compare.fleet.messages import FleetExperiment, ShippedFile
from dyno.compare.resolve.experiment import compute_own_sha256
from dyno.compare.run_folder import FLEET_RECORD, read_json, write_json
from dyno.errors import UsageError
from dyno.locks import try_lock
from dyno.record import SCHEMA

FILES, SHARES, WHOLE, GATHERED = "files", "shares", "whole", "gathered"


@dataclass(frozen=True)
class FleetPlan:
    """What was fixed at the beginning: `on` is the fleet as the user named it, `command` what was
    typed, `id` names the run on its hosts, `sources_sha256` is Dyno's own, `group` is that of
    hosts that name none.
    """

    id: str
    name: str
    on: str
    command: str
    created_utc: str
    dyno: str
    sources_sha256: str
    experiment: str
    words: tuple[str, ...]
    files: tuple[ShippedFile, ...]
    shares: int
    group: str = ""
    schema: int = SCHEMA

    def describe_for(self, host: FleetHost) -> FleetExperiment:
        """As it is told to a host."""
        return FleetExperiment(
            self.id,
            host.name,
            host.group or self.group,
            self.experiment,
            self.words,
            self.files,
            self.shares,
        )


@dataclass(frozen=True)
class FleetFolder:
    """A fleet's run on disk."""

    path: Path

    def read_plan(self) -> FleetPlan:
        """`fleet.json`; `UsageError` where it is missing, broken or from a newer Dyno."""
        return read_json(FleetPlan, self.path / FLEET_RECORD)

    @contextmanager
    def hold_alone(self) -> Iterator[None]:
        """Locks the run while it is played; `UsageError` where another dyno plays it."""
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not try_lock(handle):
                hint = "wait for its end, or interrupt it"
                raise UsageError(f"another dyno plays {self.path.name}", hint=hint)
            yield
        finally:
            os.close(handle)

    def find_files(self) -> Path:
        """Where the experiment's files lie."""
        return self.path / FILES

    def find_share(self, share: int, host: str) -> Path:
        """Where the records of a share come to from a host."""
        return self.path / SHARES / f"{share:04}" / host

    def find_player(self, share: int) -> str:
        """The host that has played all of a share; empty where none has."""
        try:
            return (self.path / SHARES / f"{share:04}" / WHOLE).read_text()
        except FileNotFoundError:
            return ""

    def finish_share(self, share: int, host: str) -> None:
        """Notes that a host has played all of a share."""
        file = self.path / SHARES / f"{share:04}" / WHOLE
        private_files.make_folder(file.parent, exist_ok=True)
        private_files.write_whole(file, host)

    def is_whole(self, plan: FleetPlan) -> bool:
        """Was every share played to its end?"""
        return all(self.find_player(share) for share in range(1, plan.shares + 1))

    def list_records(self, plan: FleetPlan) -> list[Path]:
        """The folders of the shares that were played whole, by number; of more shares than blocks
        some play nothing.
        """
        players = ((share, self.find_player(share)) for share in range(1, plan.shares + 1))
        folders = (self.find_share(share, player) for share, player in players if player)
        return [folder for folder in folders if (folder / "run.json").is_file()]

    def is_gathered(self) -> bool:
        """Are the shares one run already?"""
        return (self.path / "run.json").is_file()

    def find_gathered(self) -> Path:
        """Where that run is made; what a kill left of it there is removed."""
        private_files.remove_all(self.path / GATHERED)
        return self.path / GATHERED

    def move_gathered(self) -> None:
        """Moves that run's files into this folder, its record last."""
        made = self.path / GATHERED
        for file in sorted(made.iterdir(), key=lambda it: it.name == "run.json"):
            file.rename(self.path / file.name)
        made.rmdir()

    def clear_shares(self) -> None:
        """Removes the shares' own folders, once they are one run: whoever looks for runs would find
        each trial twice.
        """
        private_files.remove_folder(self.path / SHARES)


def make_plan(
    names: tuple[str, str, str, str], words: Sequence[str], files: Mapping[str, Path], shares: int
) -> FleetPlan:
    """What is fixed at the beginning. `names` are the experiment's, the fleet's, the command, and
    the group of hosts that name none; `files` are the experiment's, its own first.
    """
    name, on, command, group = names
    now = datetime.now(UTC)
    plain = re.sub(r"[^A-Za-z0-9._@-]+", "-", name).strip("-.")[:60] or "fleet"
    return FleetPlan(
        id=f"{now:%Y%m%dT%H%M%SZ}-{plain}-{secrets.token_hex(4)}",
        name=name,
        on=on,
        command=command,
        created_utc=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        dyno=dyno.__version__,
        sources_sha256=compute_own_sha256(),
        experiment=next(iter(files)),
        words=tuple(words),
        files=hash_files(files),
        shares=shares,
        group=group,
    )


def create_fleet(plan: FleetPlan, files: Mapping[str, Path], runs: Path) -> FleetFolder:
    """A new folder under `runs` with the plan, and a copy of the experiment's files."""
    stem = plan.id.rpartition("-")[0]
    for number in range(1, 1000):
        path = runs / (stem if number == 1 else f"{stem}-{number}")
        if not path.exists():
            break
    private_files.make_folder(path)
    for name in (FILES, SHARES):
        private_files.make_folder(path / name)
    for name, source in files.items():
        target = path / FILES / name
        private_files.make_folder(target.parent, exist_ok=True)
        private_files.write_bytes_whole(target, source.read_bytes())
    write_json(path / FLEET_RECORD, asdict(plan))
    return FleetFolder(path)
