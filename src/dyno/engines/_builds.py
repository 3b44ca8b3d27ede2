"""Versions of builds: the one that a name means, itself or the newest of those that it begins.

A cached build that is not what was put there is an error, with the way to have it made anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dyno.errors import HostError, UsageError, build_unknown_error


def choose_version(
    engine: str, version_asked: str, known: Sequence[str], words: Sequence[str] = ()
) -> str:
    """The version of `known` that `version_asked` means; nothing asked for means the newest.

    `5.6` means the newest 5.6 of those known. `UsageError` with the nearest versions where there is
    none; `words` are builds without a number ("system").
    """
    beginning = f"{version_asked}." if version_asked else ""
    begins = [version for version in known if f"{version}.".startswith(beginning)]
    if begins:
        return max(begins, key=parse_version)
    raise build_unknown_version_error(engine, version_asked, known, words)


def build_unknown_version_error(
    engine: str, asked: str, known: Sequence[str], words: Sequence[str] = ()
) -> UsageError:
    """The error for a version that is none of `known`: versions are numbers, so their neighbours
    are the nearest, and not what is spelled alike.
    """
    if not PART.fullmatch(asked.replace(".", "")):
        return build_unknown_error(f"{engine} build", asked, [*known, *words])
    older = [version for version in known if parse_version(version) < parse_version(asked)]
    newer = [version for version in known if parse_version(version) > parse_version(asked)]
    near = [*sorted(older, key=parse_version)[-1:], *sorted(newer, key=parse_version)[:1]]
    hint = (
        f"nearest: {' and '.join(near)}; or a build of your own by its path; "
        f"`dyno engines list {engine}` has all"
    )
    return UsageError(f"unknown {engine} version '{asked}'", hint=hint)


#: Words before a release, in order.
STAGES = {"devel": -4, "alpha": -3, "beta": -2, "rc": -1}
PART = re.compile(rf"(\d+)(?:~?({'|'.join(STAGES)})(\d*))?")


def parse_version(version: str) -> tuple[int, ...]:
    """A version to compare by, of numbers: `19rc1` stands between `18.6` and `19.0`."""
    key: list[int] = []
    for number, stage, count in PART.findall(version):
        key.append(int(number))
        key += [STAGES[stage], int(count or 0)] if stage else []
    return tuple(key)


def find_line(version: str, parts: int) -> str:
    """The release line of a version, of so many numbers: `10.11` of `10.11.8`."""
    return ".".join(map(str, parse_version(version)[:parts]))


def is_release(version: str) -> bool:
    """Is it no alpha, beta or candidate of one?"""
    return not re.search("[a-z]", version)


@contextmanager
def check_cached(entry: str) -> Iterator[None]:
    """A `UsageError` by which the cache's `entry` turns out to be no such program is the host's.

    Nobody named that file, and whoever reads of it would not know where it came from.
    """
    try:
        yield
    except UsageError as why:
        cause = f"{why.message}: {why.cause}" if why.cause else why.message
        hint = f"`dyno clean {entry} --yes` removes it; then it is fetched anew"
        raise HostError(f"{entry} in the cache is damaged", cause=cause, hint=hint) from why
