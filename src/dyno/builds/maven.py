"""Source `maven`: what an artifact of Java's registry brings along, fetched by mvn, checked twice.

mvn's own client is used, by coordinate, so that a user's mirrors, proxies and credentials
(`settings.xml`) apply. It holds what it fetched against the registry's SHA-1; we hold it against a
SHA-256 of our own where we have one, which also finds damage in Maven's local repository. Of a
large archive only the members asked for are unpacked.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import zipfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from dyno.builds import RegistryClient, Say, cache, compute_sha256
from dyno.errors import HostError

#: The plugin that copies an artifact out of the local repository, once it is there.
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
#: How long mvn may take over a slow line.
FETCH_S = 3600.0
#: mvn's words for an artifact that is not there.
ABSENT = "Could not find artifact"
CLIENT = RegistryClient(
    absent=(ABSENT,),
    install="install Maven (mvn, with Java), or name your own build by its path",
    reach="Maven's settings.xml",
)
#: What mvn puts around a cause: colours, its level, and the goal that we know.
ADORNED = re.compile(r"\x1b\[[0-9;]*m|\[ERROR\]|Failed to execute goal .* standalone-pom: ")
#: Where a zip entry keeps its Unix mode, and the kinds in it.
MODE_SHIFT, KIND, LINK = 16, 0o170000, 0o120000


def fetch(
    name: str, version: str, say: Say, members: Sequence[str] = ("*",), checksum: str = ""
) -> Path:
    """Return the folder of an artifact (jar or zip), unpacked.

    `name` is `group:artifact[:packaging[:classifier]]`. `members` are patterns (`bin/*`; `*` goes
    across folders; `!lib/debug/*` leaves out) over the names inside, without the one folder that
    may lie around them all. `checksum` is the archive's SHA-256. `HostError` if mvn is absent,
    cannot get it, or got something else.
    """
    group, artifact, packaging, classifier = (*name.split(":"), "", "")[:4]
    packaging = packaging or "jar"
    coordinate = ":".join(filter(None, (group, artifact, version, packaging, classifier)))

    def make(folder: Path) -> None:
        say(f"fetching {coordinate} (maven)")
        with tempfile.TemporaryDirectory(prefix=".fetched-", dir=folder) as scratch:
            archive = _copy_archive(Path(scratch), coordinate, say)
            found = compute_sha256(archive) if checksum else ""
            if found != checksum:
                hint = (
                    "remove it from Maven's local repository and fetch again; if it stays, do not"
                )
                hint += " use it"
                cause = f"its sha256 is {found}, not {checksum}"
                raise HostError(f"{coordinate} has the wrong checksum", cause=cause, hint=hint)
            _unpack(archive, folder, members)

    # another choice of members is another entry
    choice = hashlib.sha256("\n".join(members).encode()).hexdigest()[:8]
    entry = "-".join(filter(None, (artifact, version, classifier, choice)))
    return cache.ensure_entry("maven", entry, make, say)


def build_entry_pattern(name: str, version: str) -> tuple[str, str]:
    return "maven", f"{name.split(':')[1]}-{version}-*"


def _copy_archive(scratch: Path, coordinate: str, say: Say) -> Path:
    """Return the archive as mvn fetched it; `-U` because mvn remembers what it did not find
    once.
    """
    options = ["--batch-mode", "--quiet", "--strict-checksums", "-U", "-Dstyle.color=never"]
    command = ["mvn", *options, COPY, f"-Dartifact={coordinate}", f"-DoutputDirectory={scratch}"]
    done = CLIENT.run(command, scratch, coordinate, say, FETCH_S)
    archives = [file for file in scratch.iterdir() if file.suffix in (".jar", ".zip")]
    if done.returncode or len(archives) != 1:
        raise _explain_refusal(coordinate, done.stdout + done.stderr)
    return archives[0]


def _explain_refusal(coordinate: str, said: str) -> HostError:
    """Return the cause: mvn writes its errors to stdout, the cause in the first."""
    words = (ADORNED.sub("", line).strip() for line in said.splitlines())
    cause = next(filter(None, words), "nothing").partition(" -> [Help")[0]
    if ABSENT in said:
        hint = "the registry, or its mirror in Maven's settings.xml, does not have it"
        return HostError(f"there is no {coordinate}", cause=f"mvn says\n{cause}", hint=hint)
    if "ChecksumFailureException" in said or "Checksum validation failed" in said:
        hint = "fetch again; if it stays, the registry or its mirror is damaged"
        return HostError(f"{coordinate} came damaged", cause=f"mvn says\n{cause}", hint=hint)
    hint = "mvn must reach a registry; a mirror goes into Maven's settings.xml"
    return HostError(f"cannot fetch {coordinate}", cause=f"mvn says\n{cause}", hint=hint)


def _unpack(archive: Path, folder: Path, members: Sequence[str]) -> None:
    try:
        with zipfile.ZipFile(archive) as packed:
            around = _find_common_folder(packed.namelist())
            for member in packed.infolist():
                name = member.filename.removeprefix(around)
                if name and not member.is_dir() and _is_wanted(name, members):
                    _extract(packed, member, folder, name)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as broken:
        hint = "remove it from Maven's local repository and fetch again"
        raise HostError(f"cannot unpack {archive.name}", cause=broken, hint=hint) from None


def _find_common_folder(names: Sequence[str]) -> str:
    """Return the one folder that all members lie in, with its slash, or ""."""
    tops = {name.partition("/")[0] for name in names}
    top = f"{tops.pop()}/" if len(tops) == 1 else ""
    return top if top and all(name.startswith(top) for name in names) else ""


def _is_wanted(name: str, members: Sequence[str]) -> bool:
    out = (pattern[1:] for pattern in members if pattern.startswith("!"))
    within = (pattern for pattern in members if not pattern.startswith("!"))
    return any(fnmatchcase(name, each) for each in within) and not any(
        fnmatchcase(name, each) for each in out
    )


def _extract(packed: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, name: str) -> None:
    """Extract one member with its mode; a symbolic link as such; nothing that reaches out of
    `folder`.
    """
    mode, file = member.external_attr >> MODE_SHIFT, folder / name
    linked = file.parent / packed.read(member).decode() if mode & KIND == LINK else file
    inside = folder.resolve()
    for place in (file.parent, linked):
        if not place.resolve().is_relative_to(inside):
            raise zipfile.BadZipFile(f"{member.filename} reaches out of its folder")
    file.parent.mkdir(parents=True, exist_ok=True)
    if mode & KIND == LINK:
        file.symlink_to(packed.read(member).decode())
        return
    member.filename = name
    packed.extract(member, folder)
    file.chmod(0o755 if mode & 0o111 else 0o644)
