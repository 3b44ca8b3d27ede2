"""apt's programs, asked in the C locale: what they write, and what their refusals mean."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from dyno import builds, subprocesses
from dyno.builds import Say
from dyno.errors import HostError

#: How long apt-get may take over a handful of packages.
FETCH_S = 900.0
#: apt's words for a package or a version that is not there.
ABSENT = ("Unable to locate", "No packages found", "was not found", "Unable to find a source")
#: Begins an option of apt's.
OPTION = "-o"
#: apt's words for a file that the mirror lists and does not have.
LISTED_ONLY = "404  Not Found"
#: apt's words to what they mean for whoever reads them, and what can be done. The first that is
#: found counts: a list that is not signed is also one that was not fetched.
MEANINGS: Mapping[tuple[str, ...], tuple[str, str]] = {
    ABSENT: (
        "",
        "apt-get update refreshes apt's lists (as root); do its sources have the package?",
    ),
    ("is not signed", "NO_PUBKEY", "BADSIG", "EXPKEYSIG", "invalid signature"): (
        "its signature is not by a key that this system trusts",
        "install the archive's newest keys (debian-archive-keyring); nothing unsigned is used",
    ),
    ("does not have a Release file",): (
        "the mirror has no such suite, or no longer",
        "name another suite, or a build of your own by its path",
    ),
    (LISTED_ONLY,): (
        "the mirror lists it and does not have it",
        "it may be between two updates: try again later, or another suite",
    ),
    ("No space left", "enough free space"): (
        "the disk is full",
        "free some room (dyno clean), or set DYNO_CACHE to another file system",
    ),
}
UNREACHED = "apt must reach its mirrors (/etc/apt/sources.list.d), and the disk have room"


class NotOnMirror(HostError):
    """The mirror lists a file and does not have it."""


def format_options(settings: Sequence[str]) -> list[str]:
    """Settings (`Dir::Cache=/x`) as words of apt's command line."""
    return [word for setting in settings for word in (OPTION, setting)]


def list_settings(folder: Path) -> list[str]:
    """Settings for lists in `folder`, where apt's own user may not go, that are small; a source
    that fails is an error, as it is not by itself.
    """
    return [
        f"Dir::State::Lists={folder / 'lists'}",
        f"Dir::Cache={folder}",
        "Dir::Cache::pkgcache=",
        "Dir::Cache::srcpkgcache=",
        "Acquire::GzipIndexes=true",
        "Acquire::Languages=none",
        "APT::Sandbox::User=root",
        "APT::Update::Error-Mode=any",
    ]


def make_list_folders(folder: Path) -> None:
    """The folders that such lists need."""
    for place in ("lists", "archives"):
        (folder / place / "partial").mkdir(parents=True)


def run(
    command: Sequence[str], folder: Path, say: Say | None = None, limit_s: float = FETCH_S
) -> str:
    """What the command writes; `HostError` with its last lines where it fails.

    It may fail once where it fetches, which `say` is told.
    """
    quietly = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    once = partial(subprocesses.run, command, limit_s, folder, quietly)
    final = [words for kind in MEANINGS for words in kind]
    try:
        done = builds.run_twice(once, say, final) if say else once()
    except FileNotFoundError:
        hint = "Debian packages need a Debian or an Ubuntu; or name your own build by its path"
        raise HostError(f"cannot fetch: no {command[0]} on PATH", hint=hint) from None
    except subprocess.TimeoutExpired:
        hint = "are apt's mirrors (/etc/apt/sources.list.d) reachable?"
        raise HostError(f"{command[0]} ran for {limit_s:.0f} s", hint=hint) from None
    if done.returncode:
        raise _explain_refusal(command, done.stderr)
    return done.stdout


def _explain_refusal(command: Sequence[str], said: str) -> HostError:
    """Why apt has nothing for us, by its lines of errors; its warnings are left out."""
    lines = [line.strip() for line in said.splitlines() if line[:2] != "W:"]
    words = "it says\n" + ("\n".join(lines[-6:]) or "nothing")
    told = (meant for kind, meant in MEANINGS.items() if any(each in said for each in kind))
    meaning, hint = next(told, ("", UNREACHED))
    cause = f"{meaning}; {words}" if meaning else words
    asked = " ".join(takewhile(lambda word: word != OPTION, command[3:])) or "its lists"
    kind = NotOnMirror if meaning == MEANINGS[(LISTED_ONLY,)][0] else HostError
    return kind(f"{command[0]} cannot get {asked}", cause=cause, hint=hint)
