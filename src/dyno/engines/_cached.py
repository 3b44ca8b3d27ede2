"""A build out of the cache that is not what was put there: told, with the way to have it anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dyno.errors import HostError, UsageError


@contextmanager
def whole(entry: str) -> Iterator[None]:
    """A `UsageError` by which the cache's `entry` turns out to be no such program is the host's.

    Nobody named that file, and whoever reads of it would not know where it came from.
    """
    try:
        yield
    except UsageError as why:
        cause = f"{why.message}: {why.cause}" if why.cause else why.message
        hint = f"`dyno clean {entry} --yes` removes it; then it is fetched anew"
        raise HostError(f"{entry} in the cache is damaged", cause=cause, hint=hint) from why
