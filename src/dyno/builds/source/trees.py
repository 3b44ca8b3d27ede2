"""Where a source tree comes from: a folder, a commit of a git repository, a Debian source package.

A tree is only read. It has an identity, the hash of its content, before anything is copied; `put`
copies it, or a few of its files, into a folder of ours.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dyno import subprocesses
from dyno.builds import Say, suites, tar
from dyno.errors import HostError, UsageError

DEBIAN = "deb:"
#: What git may take over a tree, in s.
GIT_S = 600.0
#: What an earlier build leaves in a tree; its objects would be taken for new ones.
BUILT = ("config.status", "CMakeCache.txt", "*.o", "*.obj")
#: What is recorded of a commit: its hash, those of its parents, the first line of its message, when
#: it was made (UTC), and where its repository can be looked at.
COMMIT_FACTS = ("commit", "parents", "subject", "committed", "repository")
#: Forms of a remote that has pages: a URL, and `git@host:owner/name`. Accounts are left out.
REMOTE_URL = re.compile(r"(?:(http)|https|ssh|git)://(?:[^@/]*@)?([\w.-]+)(?::\d+)?/(\S+)")
REMOTE_PATH = re.compile(r"()(?:[^@/:]+@)?([\w-]+\.[\w.-]+):(?!/)(\S+)")
#: The kind of an entry of git's that is another repository.
SUBMODULE = "160000"


@dataclass(frozen=True)
class SourceTree:
    """A source tree that was found: where it is from, its identity, how it is copied.

    `label` is a short name for it; `source` says in words what it is, for the record. `commit` has
    that of git, as facts of a build (`COMMIT_FACTS`); empty where it has none.
    """

    label: str
    source: str
    identity: str
    put: Callable[[Path, Keep], None]
    commit: Mapping[str, str] = field(default_factory=dict)


#: Which files are copied, by their paths in the tree.
Keep = Callable[[str], bool]


def keep_all(name: str) -> bool:
    del name
    return True


def find_tree(place: str, debian: Mapping[str, str], say: Say) -> SourceTree:
    """Return the tree at `place`: `DIR`, `DIR@REF`, `deb:SUITE[:VERSION]`; `UsageError` if there is
    none.

    `debian` has the source package of each suite.
    """
    if place.startswith(DEBIAN):
        return _fetch_debian_source(place, debian, say)
    folder = Path(place).expanduser()
    if folder.is_dir():
        return _read_folder(folder.absolute())
    repository, reference = _split_reference(place)
    if reference:
        return _read_git_tree(repository, reference)
    if folder.exists():
        hint = "unpack it, and name the folder"
        raise UsageError(f"{place} is a file, and no source tree", hint=hint)
    raise UsageError(
        f"there is no source tree at {place}", hint="name a folder, or FOLDER@REF of git"
    )


def _split_reference(place: str) -> tuple[Path, str]:
    """Return a git repository and what stands behind its `@`, or ""."""
    parts = place.split("@")
    for end in range(len(parts) - 1, 0, -1):
        folder = Path("@".join(parts[:end])).expanduser()
        if folder.is_dir():
            return folder.absolute(), "@".join(parts[end:])
    return Path(place), ""


def _read_git_tree(repository: Path, reference: str) -> SourceTree:
    commit = _find_commit(repository, reference)
    tree = _ask_git(repository, "rev-parse", f"{commit}^{{tree}}").strip()

    def put(folder: Path, keep: Keep) -> None:
        _check_out(repository, commit, folder, keep)

    label = f"{reference.replace('/', '-')}-{commit[:8]}"
    source = f"git {repository} {reference} ({commit[:12]})"
    return SourceTree(label, source, tree, put, _read_commit(repository, commit))


def _read_commit(repository: Path, commit: str) -> dict[str, str]:
    """Return what is recorded of a commit; nothing if there is none."""
    form = "--format=%H%n%P%n%s%n%cd"
    utc = ("--date=format-local:%Y-%m-%dT%H:%M:%SZ", form, commit, "--")
    told = _ask_git(repository, "log", "-1", *utc, environment={"TZ": "UTC"}).splitlines()
    if told:
        remote = _ask_git(repository, "config", "--get", "remote.origin.url").strip()
        told.append(find_web_address(remote))
    return {name: it for name, it in zip(COMMIT_FACTS, told, strict=False) if it}


def find_web_address(remote: str) -> str:
    """Return where a browser finds the repository of a remote, without any account; empty if it is
    not on a host.
    """
    found = REMOTE_URL.fullmatch(remote) or REMOTE_PATH.fullmatch(remote)
    if found is None:
        return ""
    path = found[3].rstrip("/").removesuffix(".git")
    return f"{found[1] or 'https'}://{found[2]}/{path}"


@dataclass(frozen=True)
class Commit:
    """A commit of a git repository, and the first line of its message."""

    sha: str
    title: str


def list_commits(repository: Path, good: str, bad: str) -> list[Commit]:
    """Return `good`, and what came after it as far as `bad` along first parents, the oldest first:
    a merge is one step. `UsageError` if one of them is missing, or `good` is no ancestor.
    """
    ends = [_find_commit(repository, reference) for reference in (good, bad)]
    log = ("log", "--first-parent", "--reverse", "--format=%H %s", "..".join(ends))
    told = _ask_git(repository, "log", "-1", "--format=%H %s", ends[0])
    told += _ask_git(repository, *log, must=True)
    found = [Commit(*line.split(" ", 1)) for line in told.splitlines()]
    if not _ask_git(repository, "merge-base", ends[0], ends[1]).startswith(ends[0]):
        hint = "name an ancestor first"
        raise UsageError(f"{good} does not lead to {bad} in {repository}", hint=hint)
    return found


def _find_commit(repository: Path, reference: str) -> str:
    words = ("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
    commit = _ask_git(repository, *words).strip()
    if not commit:
        hint = f"`git -C {repository} branch -a` and `git -C {repository} tag` list what there is"
        raise UsageError(f"{repository} has no commit '{reference}'", hint=hint)
    return commit


def _check_out(repository: Path, commit: str, folder: Path, keep: Keep) -> None:
    """The commit's files, by an index of our own, and those of its submodules, which must be there:
    git writes nothing into the repository.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index = folder.parent / f"{folder.name}.index"
    ours = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(folder)}
    try:
        _ask_git(repository, "read-tree", commit, environment=ours, must=True)
        which = ["--all"] if keep is keep_all else ["--", *_list_kept(repository, commit, keep)]
        if which != ["--"]:
            words = ("checkout-index", "--force", *which)
            _ask_git(repository, *words, environment=ours, must=True)
    finally:
        index.unlink(missing_ok=True)
    for line in (
        _ask_git(repository, "ls-tree", "-r", commit).splitlines() if keep is keep_all else ()
    ):
        about, _, path = line.partition("\t")
        mode, _, inner = about.split()
        if mode == SUBMODULE:
            within = repository / path
            if not (within / ".git").exists() or not _has_commit(within, inner):
                hint = f"git -C {repository} submodule update --init --recursive {path}"
                raise UsageError(f"the submodule {path} is not there at {inner[:12]}", hint=hint)
            _check_out(within, inner, folder / path, keep)


def _list_kept(repository: Path, commit: str, keep: Keep) -> list[str]:
    listed = _ask_git(repository, "ls-tree", "-r", "-z", "--name-only", commit).split("\0")
    return [name for name in listed if name and keep(name)]


def _has_commit(repository: Path, commit: str) -> bool:
    return bool(
        _ask_git(repository, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").strip()
    )


def _ask_git(
    repository: Path, *words: str, environment: Mapping[str, str] | None = None, must: bool = False
) -> str:
    """Return what git answers; nothing if it fails, unless it `must` not."""
    command = ["git", "-C", str(repository), *words]
    try:
        done = subprocesses.run(command, GIT_S, environment=os.environ | dict(environment or {}))
    except FileNotFoundError:
        raise HostError("no git on PATH", hint="install git, or name a folder") from None
    except subprocess.TimeoutExpired:
        raise HostError(f"git had not read {repository} after {GIT_S:.0f} s") from None
    if "dubious ownership" in done.stderr or "not a git repository" in done.stderr:
        cause = done.stderr.strip().splitlines()[0]
        raise UsageError(f"git does not read {repository}", cause=cause)
    if must and done.returncode:
        cause = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise HostError(f"git cannot copy {repository}", cause=cause)
    return done.stdout if done.returncode == 0 else ""


def _read_folder(folder: Path) -> SourceTree:
    files = sorted(_list_files(folder))
    if not files:
        raise UsageError(f"{folder} is empty", hint="name the folder of a source tree")
    for name in files:
        is_built = any(Path(name).match(pattern) for pattern in BUILT)
        if is_built and not any(part.startswith("test") for part in Path(name).parts[:-1]):
            hint = "clean it (make distclean, git clean -xdn), or name a commit: FOLDER@HEAD"
            raise UsageError(f"{folder} still has files of an earlier build: {name}", hint=hint)

    def put(target: Path, keep: Keep) -> None:
        for name in filter(keep, files):
            made = target / name
            made.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, made, follow_symlinks=False)

    identity = _hash_files(folder, files)
    return SourceTree(folder.name, f"folder {folder}", identity, put, _read_clean_commit(folder))


def _read_clean_commit(folder: Path) -> dict[str, str]:
    """Return the commit that a checkout is of; nothing if files of it are changed, or are new."""
    try:
        changed = _ask_git(folder, "--no-optional-locks", "status", "--porcelain", "--", ".")
        return {} if changed else _read_commit(folder, "HEAD")
    except (HostError, UsageError):
        return {}


def _list_files(folder: Path) -> Iterator[str]:
    """The files of a folder: of a git checkout those that git knows or would add."""
    is_checkout = any((place / ".git").exists() for place in (folder, *folder.parents))
    known = _list_git_files(folder) if is_checkout else None
    if known is None:
        for place, folders, files in os.walk(folder):
            folders[:] = [name for name in folders if name != ".git"]
            links = [name for name in folders if Path(place, name).is_symlink()]
            yield from (os.path.relpath(Path(place, name), folder) for name in [*files, *links])
        return
    for name in known:
        path = folder / name
        if path.is_dir() and not path.is_symlink():  # a submodule, or a repository within
            yield from (f"{name.rstrip('/')}/{inner}" for inner in _list_files(path))
        elif path.is_symlink() or path.is_file():
            yield name


def _list_git_files(folder: Path) -> list[str] | None:
    """Paths of tracked files, and of others that are not ignored; None where git knows none."""
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    try:
        listed = _ask_git(folder, *words)
    except (HostError, UsageError):
        return None
    return [name for name in listed.split("\0") if name] or None


def _hash_files(folder: Path, files: list[str]) -> str:
    """The hash of names, modes and contents."""
    total = hashlib.sha256()
    for name in files:
        path = folder / name
        if path.is_symlink():
            content = f"link {path.readlink()}"
        else:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            content += " x" if path.stat().st_mode & 0o111 else ""
        total.update(f"{name}\0{content}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def _fetch_debian_source(place: str, debian: Mapping[str, str], say: Say) -> SourceTree:
    """Fetch the archive as its authors made it: Debian's patches are left out."""
    suite, _, version = place.removeprefix(DEBIAN).partition(":")
    if suite not in debian:
        known = ", ".join(f"{it} ({debian[it]})" for it in sorted(debian)) or "none"
        raise UsageError(f"no source package is known in suite '{suite}'", hint=f"known: {known}")
    package = suites.fetch_source(suite, debian[suite], say, version)
    archives = [file for file in package.folder.glob("*.orig.tar.*") if file.suffix != ".asc"]
    if len(archives) != 1:
        raise HostError(f"{package.name} {package.version} has not exactly one upstream archive")
    (archive,) = archives

    def put(target: Path, keep: Keep) -> None:
        target.mkdir(parents=True, exist_ok=True)
        tar.unpack(archive, target, lambda member: _choose_member(member, keep))

    with archive.open("rb") as file:
        identity = hashlib.file_digest(file, "sha256").hexdigest()
    source = f"deb-src {package.name} {package.version} of {suite}, without Debian's patches"
    label = f"{archive.name.partition('_')[2].partition('.orig')[0]}-{suite}"
    return SourceTree(label, source, identity, put)


def _choose_member(member: str, keep: Keep) -> str:
    """A member's name in the tree, without the folder around all of them; empty to leave it out."""
    name = member.partition("/")[2]
    return name if name and keep(name) else ""
