"""apt's programs, asked in the C locale: what they write, and what their refusals mean."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
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
#: apt's words for a file that is not the one that was signed for.
UNLIKE = "Hash Sum mismatch"
#: What a full disk is called.
FULL = "the disk is full"
#: Begins an option of apt's.
OPTION = "-o"
#: apt's words for a file that the mirror lists and does not have; each server has its own behind.
LISTED_ONLY = " 404  "


@dataclass(frozen=True)
class Meaning:
    """What some words of apt's mean for whoever reads them, and what can be done; `passing` where a
    second try may mend it.
    """

    words: tuple[str, ...]
    told: str
    hint: str
    passing: bool = False


#: The first whose words are found counts: a list that is not signed is also one that was not
#: fetched.
MEANINGS = (
    Meaning(
        ABSENT,
        "",
        "apt-get update refreshes apt's lists (as root); do its sources have the package?",
    ),
    Meaning(
        ("is expired", "no longer valid"),
        "its lists are too old to be trusted",
        "the archive no longer keeps that suite, or this host's clock is ahead",
    ),
    Meaning(
        ("is not valid yet",),
        "its lists are of a day to come",
        "this host's clock is behind: set it",
    ),
    Meaning(
        ("is not signed", "NO_PUBKEY", "BADSIG", "EXPKEYSIG", "invalid signature"),
        "its signature is not by a key that this system trusts",
        "install the archive's newest keys (debian-archive-keyring); nothing unsigned is used",
    ),
    Meaning(
        ("does not have a Release file",),
        "the mirror has no such suite, or no longer",
        "name another suite, or a build of your own by its path",
    ),
    Meaning(
        (LISTED_ONLY,),
        "the mirror lists it and does not have it",
        "try again later, or name another suite; apt-get update refreshes this system's own lists",
    ),
    Meaning(
        (UNLIKE, "unexpected size"),
        "what came is not what the archive signed for",
        "the mirror may be between two updates: try again later, or use another mirror",
        passing=True,
    ),
    Meaning(
        ("No space left", "enough free space", "Wrote only"),
        FULL,
        "free some room (dyno clean), or set DYNO_CACHE to another file system",
    ),
    Meaning(
        ("Could not connect", "Could not resolve", "Temporary failure", "Unable to connect"),
        "the mirror cannot be reached",
        "is there a network, and is the mirror in /etc/apt/sources.list.d right?",
        passing=True,
    ),
)
UNREACHED = "apt must reach its mirrors (/etc/apt/sources.list.d), and the disk have room"


class UnlikeLists(HostError):
    """The mirror has not what the lists have, or the lists not what is asked for: newer ones may be
    the remedy.
    """


class NotOnMirror(UnlikeLists):
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
    once = partial(subprocesses.run_guarded, command, limit_s, folder, quietly)
    final = [words for kind in MEANINGS if not kind.passing for words in kind.words]
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
    kinds = (kind for kind in MEANINGS if any(each in said for each in kind.words))
    meant = next(kinds, Meaning((), "", UNREACHED))
    cause = f"{meant.told}; {words}" if meant.told else words
    words_asked = takewhile(lambda word: word != OPTION, command[3:])
    asked = " ".join(word for word in words_asked if word[0] != "-") or "its lists"
    kind: type[HostError] = UnlikeLists if UNLIKE in meant.words else HostError
    kind = NotOnMirror if LISTED_ONLY in meant.words else kind
    return kind(f"{command[0]} cannot get {asked}", cause=cause, hint=meant.hint)
