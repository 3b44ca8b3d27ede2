"""The cache: everything fetched or compiled, each entry a folder put in place by one rename.

It lies in `$DYNO_CACHE`, else `$XDG_CACHE_HOME/dyno`, else `~/.cache/dyno` (root's in
/var/cache/dyno: a server does not run as root, and must reach its program), as `KIND/NAME/`
(`crate/libsqlite3-sys-0.9.4`, `program/sqlite-3.24.0-2b1c…`). An entry never changes once it is
there; the folder's own time is that of its last use.

One process at a time makes an entry, and one that a run uses is not removed before that ends. Both
are `flock`s, which the kernel releases however their holder ends; a file system without locks
excludes no one. `locks/` holds one empty file per entry ever made: removing a lock while another
process waits for it would let both in.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path

import dyno
from dyno import numbers, private_files, subprocesses, tails
from dyno.builds import Say
from dyno.disk_use import measure_file_bytes
from dyno.errors import HostError, UsageError, find_fullest
from dyno.locks import share_lock, try_lock

#: How often a lock that another process holds is tried.
PAUSE_S = 0.1


@contextmanager
def hold_lock(file: Path, waiting: Callable[[], object]) -> Iterator[None]:
    """Hold the lock `file`, made if missing; call `waiting` first if another process holds it."""
    heed = subprocesses.Heed()
    with file.open("w") as lock:
        if not try_lock(lock.fileno()):
            waiting()
            # a thread that the kernel keeps waiting hears of no interrupt
            while not try_lock(lock.fileno()):
                heed.pause(PAUSE_S)
        yield


@contextmanager
def share_entry(entry: Path) -> Iterator[None]:
    """Share the lock of the folder `entry`; `HostError` if it is gone."""
    try:
        handle = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        raise _build_gone_error(entry) from None
    try:
        share_lock(handle)
        if not entry.exists():  # removed between the two calls
            raise _build_gone_error(entry)
        yield
    finally:
        os.close(handle)


@contextmanager
def claim_unused(entry: Path) -> Iterator[bool]:
    """Yield whether the folder `entry` is unused, and keep it unused meanwhile."""
    try:
        handle = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield True
        return
    try:
        yield try_lock(handle)
    finally:
        os.close(handle)


def is_used(entry: Path) -> bool:
    """Return whether a process uses the folder `entry` now."""
    with claim_unused(entry) as free:
        return not free


def _build_gone_error(entry: Path) -> HostError:
    hint = "start again: what is missing is fetched or made anew"
    return HostError(f"{entry.name} was removed from the cache while it was needed", hint=hint)


#: A folder beside the entries, and the beginning of the name of an entry in the making.
LOCKS, UNDER_WAY = "locks", ".making-"
#: What `mkdtemp` adds to a name, with the sign before it.
SUFFIX = 9
#: Ends the name of a folder of archives that an entry is made from; as long as that suffix.
ARCHIVES = ".archives"
#: Kinds that hold what people's workloads hold: loaded data, logs that are laid out.
PRIVATE = ("load", "replay")

#: What the loads of data that are kept may take together; what is fetched or compiled has no limit.
LIMIT_BYTES = 20 << 30
#: What copying an entry may take.
COPY_S = 1800.0


@dataclass(frozen=True)
class CacheEntry:
    """Something cached; `used_s` is when it was last used, in seconds since 1970."""

    kind: str
    name: str
    path: Path
    used_s: float

    @cached_property
    def size_bytes(self) -> int:
        """What its files take; looked for when asked, as some hold thousands."""
        return measure_file_bytes(self.path)


def find_root() -> Path:
    own, shared = os.environ.get("DYNO_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if own:
        return Path(own).expanduser().absolute()
    if shared:
        return Path(shared).absolute() / "dyno"
    return (Path("/var/cache") if os.geteuid() == 0 else Path.home() / ".cache") / "dyno"


def ensure_entry(kind: str, name: str, make: Callable[[Path], None], say: Say) -> Path:
    """Return the entry's folder; if it is missing, `make` fills an empty one that becomes it.

    Safe among threads and processes: one makes, the others wait. What `make` raises passes through
    and leaves nothing behind; `HostError` if the cache cannot be written.
    """
    home = find_root() / kind / name
    try:
        if not home.is_dir():
            with _hold_alone(kind, name, say):
                _make(home, make)
        os.utime(home)
        with suppress(PermissionError):  # another user's, that we may use
            home.chmod(choose_mode(home))
    except OSError as refused:
        raise _build_not_filled_error(refused, name) from None
    return home


def choose_mode(home: Path) -> int:
    """Return the mode: a server's user must reach programs; data and statements are for us
    alone.
    """
    return 0o700 if home.parent.name in PRIVATE else 0o755


@contextmanager
def hold_resumed_folder(kind: str, name: str) -> Iterator[Path]:
    """Hold a folder for what the entry `name` is being made of: it stays if that fails, so that
    what was fetched is not fetched again, and goes with `dyno clean`, or once the entry is made.

    Only the maker of the entry may call it: its lock guards the folder.
    """
    folder = find_root() / kind / f"{UNDER_WAY}{name}{ARCHIVES}"
    folder.mkdir(exist_ok=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def make_work_folder(kind: str) -> Iterator[Path]:
    """Make a folder beside the entries of `kind`, for one that is named by its content; remove what
    is left in it, and what a killed process left in such a folder.

    What cannot be removed is left to the next run, which reports it.
    """
    parent = find_root() / kind
    prefix = f"{UNDER_WAY}work-"
    try:
        with ExitStack() as held:
            # a folder that is made and not yet held must not pass for a dead process's
            with _hold_alone(kind, "work", lambda _: None):
                for stale in parent.glob(f"{prefix}*"):
                    with claim_unused(stale) as free:
                        if free:
                            shutil.rmtree(stale, ignore_errors=True)
                fresh = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
                held.callback(shutil.rmtree, fresh, ignore_errors=True)
                held.enter_context(share_entry(fresh))
            yield fresh
    except OSError as refused:
        raise _build_not_filled_error(refused, kind) from None


def _build_not_filled_error(refused: OSError, name: str) -> HostError:
    cause = _explain(refused, name)
    hint = "free some room, or set DYNO_CACHE to a folder that can be written"
    return HostError(f"cannot fill the cache at {find_root()}", cause=cause, hint=hint)


def _explain(refused: OSError, name: str) -> str:
    """Return what the system refused, and of which file; of many that could not be copied, the
    first.
    """
    if isinstance(refused, shutil.Error) and isinstance(refused.args[0], list):
        _, target, why = refused.args[0][0]
        full = OSError(errno.ENOSPC, why) if os.strerror(errno.ENOSPC) in str(why) else refused
        why = os.strerror(errno.ENOSPC) if full is not refused else why
        return f"{str(why).lower()} ({target}){find_fullest(full, find_root())}"
    why = (refused.strerror or str(refused)).lower()
    return f"{why} ({refused.filename or name}){find_fullest(refused, find_root())}"


def list_entries() -> list[CacheEntry]:
    """Everything cached, the longest unused first."""
    folders = (path for path in find_root().glob("*/*") if path.is_dir() and path.name[0] != ".")
    return sorted((_read_entry(path) for path in folders), key=lambda entry: entry.used_s)


def find_entries(kind: str, pattern: str = "*") -> list[CacheEntry]:
    folders = (path for path in (find_root() / kind).glob(pattern) if path.is_dir())
    made = (_read_entry(path) for path in folders if path.name[0] != ".")
    return sorted(made, key=lambda entry: entry.used_s)


@contextmanager
def keep_entries(files: Iterable[Path]) -> Iterator[None]:
    """Keep the entries that `files` lie in from being removed; other files are left alone.

    `HostError` if one is gone.
    """
    home, places = find_root().resolve(), [file.resolve() for file in files]
    within = [place.relative_to(home).parts[:2] for place in places if place.is_relative_to(home)]
    with ExitStack() as stack:
        for parts in set(within):
            stack.enter_context(share_entry(home.joinpath(*parts)))
        yield


def remove(entry: CacheEntry) -> bool:
    """Remove an entry, in one step for other processes; False if a run uses it."""
    with _hold_alone(entry.kind, entry.name, lambda _: None), claim_unused(entry.path) as free:
        if free and entry.path.exists():
            doomed = Path(tempfile.mkdtemp(prefix=UNDER_WAY, dir=entry.path.parent))
            entry.path.rename(doomed / entry.name)
            shutil.rmtree(doomed)
    return free


#: One copy at a time: two side by side wait for the file system's locks
#: (docs/evidence/block-cost.md).
_COPYING = threading.Lock()


def list_unfinished() -> list[Path]:
    """Return the folders of entries that are being made or removed, or were when we were killed."""
    return sorted(path for path in find_root().glob(f"*/{UNDER_WAY}*") if path.is_dir())


def is_continued(path: Path) -> bool:
    """Return whether the next try goes on with such a folder: a build's work, half a download."""
    return path.name.endswith(ARCHIVES)


def is_under_way(path: Path) -> bool:
    """Return whether a living process is at such a folder."""
    with _claim_unfinished(path) as free:
        return not free


def remove_unfinished(path: Path) -> bool:
    """Remove such a folder; False if a living process is at it, `OSError` if a part stays."""
    with _claim_unfinished(path) as free:
        if free:
            private_files.remove_all(path)
        return free


@contextmanager
def _claim_unfinished(path: Path) -> Iterator[bool]:
    name = path.name.removeprefix(UNDER_WAY)[:-SUFFIX]
    if not name:  # it was on its way out, in a folder without its name
        name = next((each.name for each in path.iterdir()), "")
    lock = find_root() / LOCKS / f"{path.parent.name}-{name}"
    with open(lock, "a", opener=private_files.open_private) as held, claim_unused(path) as free:
        yield free and try_lock(held.fileno())


@cache
def compute_sources_sha256(*names: str) -> str:
    """Return a sum of files and folders of our own sources, by which what they derived is known."""
    package = Path(dyno.__file__).parent
    whole = sha256()
    for place in (package / name for name in names):
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            whole.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


def copy(source: Path, target: Path) -> None:
    """Make the folder `target` from `source`, with owners and times, and shared blocks if the file
    system can; `HostError` if that fails, or takes longer than `COPY_S`.
    """
    command = ["cp", "--archive", "--reflink=auto", str(source), str(target)]
    try:
        with _COPYING:
            done = subprocesses.run_guarded(command, COPY_S)
    except subprocess.TimeoutExpired:
        raise HostError(f"copying to {target} took longer than {COPY_S:.0f} s") from None
    if done.returncode:
        cause = tails.extract_last_lines(done.stderr, 1) or "cp failed"
        hint = "free some room (dyno clean), or set DYNO_TMP to another file system"
        raise HostError(f"cannot copy to {target}", cause=cause, hint=hint)


def trim(kind: str, most_bytes: int) -> None:
    """Remove unused entries of `kind`, the oldest first, until they take `most_bytes` or less."""
    own = find_entries(kind)
    total = sum(entry.size_bytes for entry in own)
    for entry in own:
        if total > most_bytes and remove(entry):
            total -= entry.size_bytes


def read_limit_bytes() -> int:
    """What loads may take in the cache: `$DYNO_CACHE_LIMIT` (`500M`, `20G`, bytes), or 20 GB."""
    text = os.environ.get("DYNO_CACHE_LIMIT", "").strip()
    if not text:
        return LIMIT_BYTES
    size = numbers.parse_size_bytes(text)
    if size is None:
        raise UsageError(f"$DYNO_CACHE_LIMIT cannot be '{text}'", hint="for instance 500M or 20G")
    return int(size)


def _read_entry(path: Path) -> CacheEntry:
    return CacheEntry(path.parent.name, path.name, path, path.stat().st_mtime)


def _make(home: Path, make: Callable[[Path], None]) -> None:
    """Fill a folder beside `home` and rename it; sweep what a killed process left there.

    What cannot be removed is left to the next run, which reports it.
    """
    for stale in home.parent.glob(f"{UNDER_WAY}{home.name}-*"):
        shutil.rmtree(stale, ignore_errors=True)
    if home.is_dir():
        return
    fresh = Path(tempfile.mkdtemp(prefix=f"{UNDER_WAY}{home.name}-", dir=home.parent))
    try:
        make(fresh)
        fresh.chmod(choose_mode(home))
        # else a power cut leaves an entry that seems whole, with files of zeros in it
        private_files.sync_tree(fresh)
        fresh.rename(home)
        private_files.sync(home.parent)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _hold_alone(kind: str, name: str, say: Say) -> AbstractContextManager[None]:
    (find_root() / kind).mkdir(parents=True, exist_ok=True)
    (find_root() / LOCKS).mkdir(exist_ok=True)
    lock = find_root() / LOCKS / f"{kind}-{name}"
    return hold_lock(lock, lambda: say(f"waiting for {name}, which another dyno makes"))
