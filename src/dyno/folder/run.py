"""One run's folder: its files by name, who plays it, and where its engines' data lie."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from dyno.errors import UsageError
from dyno.folder.file import read, write
from dyno.record import Run, Trial, Verdict

#: The folder for what trials loaded into servers that go on running.
LOADED = "loaded"


@dataclass(frozen=True)
class Folder:
    """One run's folder."""

    path: Path

    def run(self) -> Run:
        """`run.json`; `UsageError` where it is missing, broken or from a newer Dyno."""
        return read(Run, self.path / "run.json")

    def trials(self) -> list[Trial]:
        """Every trial on disk, by number, torn ones included."""
        files = sorted((self.path / "trials").glob("[0-9]*.json"))
        return [read(Trial, file) for file in files]

    def write_trial(self, trial: Trial) -> None:
        """Writes a trial once, whole or not at all; `HostError` where the disk is full."""
        file = self.path / "trials" / f"{trial.number:04}.json"
        if file.exists():
            raise UsageError(f"{file} is already there", hint="is another dyno on this run?")
        write(file, asdict(trial))

    def verdict(self) -> Verdict | None:
        """`verdict.json`, or None where nothing has judged the run yet."""
        file = self.path / "verdict.json"
        return read(Verdict, file) if file.exists() else None

    def write_verdict(self, verdict: Verdict) -> Path:
        """Writes `verdict.json`, which is derived and may be written again."""
        return write(self.path / "verdict.json", asdict(verdict))

    def log(self, number: int) -> Path:
        """Where trial `number` writes its log."""
        return self.path / "logs" / f"{number:04}.log"

    def loaded(self, number: int) -> Path:
        """Where trial `number` lists what it loaded into somebody's server, while it is there."""
        return self.path / LOADED / f"{number:04}.json"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds the run while it is played; `UsageError` where another dyno does.

        The kernel lets go of it however we end.
        """
        with _locked(self.path) as ours:
            if not ours:
                hint = "wait for its end, or interrupt it"
                raise UsageError(f"another dyno plays {self.path.name}", hint=hint)
            yield

    def is_played(self) -> bool:
        """Does a dyno play this run just now?"""
        with _locked(self.path) as ours:
            return not ours

    def homes(self) -> Path:
        """The folder for the engines' data: on the run's file system, or in `$DYNO_TMP`.

        Root's lie in /var/tmp: a server runs as another user, whom root's folders keep out. Runs
        that began elsewhere in the same second have the same name, and not the same path.
        """
        chosen = os.environ.get("DYNO_TMP") or ("/var/tmp" if os.geteuid() == 0 else "")
        if chosen:
            own = hashlib.sha256(bytes(self.path.resolve())).hexdigest()[:8]
            return Path(chosen).absolute() / f"dyno-{self.path.name}-{own}"
        return self.path.absolute() / "home"

    def make_homes(self) -> None:
        """Makes that folder, which others may pass through and not look into."""
        self.homes().mkdir(mode=0o711, parents=True)

    def clear_homes(self) -> None:
        """Removes the engines' data, those of torn trials too."""
        shutil.rmtree(self.homes(), ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Is the folder ours alone until the end? Yes, where nothing can be locked."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield _lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks keeps nobody out
        return True
    return True
