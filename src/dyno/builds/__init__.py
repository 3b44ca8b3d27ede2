"""Builds: where an engine's program comes from. One file per source, which offers `fetch`.

Everything fetched or compiled lies in the cache, keyed by the hash of all that went into it, and
is put there by one rename: a build that fails leaves nothing behind.

A registry's client is run a second time where it fails (`run_twice`). Clients retry a request
themselves, but not all of them a name that was not resolved, a proxy that answered with an error,
or an archive that came damaged. What a second try cannot mend (there is no such package) is not
tried again, nor is a client that used up all its time.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from dyno import subprocesses
from dyno.errors import HostError

#: Told what is going on, a clause at a time ("compiling sqlite 3.24.0"); the CLI shows it.
Say = Callable[[str], None]
Words = ParamSpec("Words")
Answer = TypeVar("Answer")
#: A file that changed later may change again before its time stamp does.
SETTLED_S = 1.0


@dataclass(frozen=True)
class Build:
    """An engine's program, ready to start.

    `program` is the file to run or to open; `version` as the engine itself would say it; `facts`
    is what a reader needs to make it again: source, coordinate, flags, compiler, sha256.
    `libraries` are folders, in the cache, of shared libraries that its loader must be told of.
    `attached` says that it runs already, and nothing is started; `secret` is the password that it
    asks for, which nobody shows or keeps; `identity` is what no other running server answers, empty
    if it does not say.
    """

    engine: str
    name: str
    version: str
    program: Path
    facts: dict[str, str] = field(default_factory=dict)
    libraries: tuple[Path, ...] = ()
    attached: bool = False
    secret: str = field(default="", repr=False, compare=False)
    identity: str = field(default="", repr=False, compare=False)


def keep_answers(
    ask: Callable[Concatenate[Path, Words], Answer],
) -> Callable[Concatenate[Path, Words], Answer]:
    """Ask about a file, the first argument, only once until it changes. What fails is not kept."""
    kept: dict[object, Answer] = {}

    @wraps(ask)
    def answer(file: Path, /, *args: Words.args, **words: Words.kwargs) -> Answer:
        try:
            found = file.stat()
        except OSError:
            return ask(file, *args, **words)
        if abs(time.time() - found.st_ctime) < SETTLED_S:
            return ask(file, *args, **words)
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        key = (file, stamp, args, tuple(words.items()))
        if key not in kept:
            kept[key] = ask(file, *args, **words)
        return kept[key]

    return answer


@keep_answers
def compute_sha256(file: Path) -> str:
    """The checksum of a file, in hex."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class RegistryClient:
    """A registry's client: its words for what is not there, and what to do where the client itself
    is not (`install`), or never ends (`reach`: where its mirrors stand). `environment` joins ours.
    """

    absent: Sequence[str]
    install: str
    reach: str
    environment: dict[str, str] = field(default_factory=dict)

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        what: str,
        say: Say,
        limit_s: float,
    ) -> Done:
        """What the client ends with, working in `folder` to fetch `what`, however that is;
        `HostError` where it cannot be started, or takes longer than `limit_s`.
        """
        run = partial(
            subprocesses.run_guarded, command, limit_s, folder, os.environ | self.environment
        )
        try:
            return run_twice(run, say, self.absent)
        except subprocess.TimeoutExpired:
            hint = f"is the registry, or its mirror in {self.reach}, reachable?"
            told = f"{command[0]} fetched {what} for {limit_s:.0f} s"
            raise HostError(told, hint=hint) from None
        except FileNotFoundError:
            told = f"cannot fetch {what}: no {command[0]} on PATH"
            raise HostError(told, hint=self.install) from None


#: How long the line is given to mend.
PAUSE_S = 3.0


def run_twice(run: Callable[[], Done], say: Say, final: Sequence[str]) -> Done:
    """What the client ends with; where it fails without one of the words `final`, what it ends
    with when it is run once more. What `run` raises passes through.
    """
    done = run()
    said = done.stdout + done.stderr
    if done.returncode == 0 or any(words in said for words in final):
        return done
    say(f"{done.args[0]} failed: trying once more")
    subprocesses.Heed().pause(PAUSE_S)
    return run()
