"""What makes a server of ours like a user's: their file of settings, as a server's program reads
and judges it; a data folder of their release; and remarks on settings.

A key that has no effect where it stands, or a bare number whose unit is easily mistaken, is no
error: the server takes both. But a comparison would be one of a build with itself, or of a cache a
thousand times too small. So the remarks are printed before the run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from dyno.builds import Build

#: Of the host's memory, that a server's own part of may be as large as the user's.
LARGEST_SHARE = 4


@dataclass(frozen=True)
class ConfigOption:
    """A setting of the file in a server's reading; `value` is None for a lone word
    (`skip-name-resolve`).

    `refused` and `warned` are the server's own words of it, empty where it says nothing. `held`
    says what it belongs to where it is judged, and not applied on this host (`a path`).
    """

    name: str
    value: str | None
    refused: str = ""
    warned: str = ""
    held: str = ""


@runtime_checkable
class ReadsConfigs(Protocol):
    """A server whose program says what it makes of a file of settings."""

    def read_config(self, build: Build, file: Path) -> list[ConfigOption]:
        """Every setting that it reads there, sections and includes as it has them, the last of each
        name; `UsageError` where the file cannot be read.
        """

    def format_config(self, options: Sequence[ConfigOption]) -> tuple[str, dict[str, str]]:
        """A file of these alone (for the setting `config`), and those that are settings of their
        own beside it, since the data are made with them.
        """


@runtime_checkable
class UpgradesFolders(Protocol):
    """A server with means of its own to take over an older release's data folder."""

    def upgrade_folder(self, old: Build, new: Build, home: Path, settings: dict[str, str]) -> str:
        """Has `new` upgrade the home that `old` left at a clean stop, so that it starts there with
        `settings`; answers the words of these means. `TrialFailed` with them where they fail.
        """


def is_beyond_host(size_bytes: float) -> bool:
    host_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return size_bytes > host_bytes / LARGEST_SHARE


@dataclass(frozen=True)
class Idle:
    """`keys` (a regular expression) can have no effect while `other` has one of `values`."""

    keys: str
    other: str
    values: tuple[str, ...]

    def holds(self, name: str, chosen: Mapping[str, str]) -> bool:
        """Return whether `name` has no effect under `chosen`; a setting that is not chosen is not
        known.
        """
        value = chosen.get(self.other)
        idle = value is not None and value.casefold() in self.values
        return idle and name != self.other and re.fullmatch(self.keys, name) is not None


#: How servers spell a switch that is off.
OFF = ("off", "0", "false", "no")


def find_idle_keys(
    asked: Mapping[str, str], chosen: Mapping[str, str], pairs: Sequence[Idle]
) -> Iterator[str]:
    """A clause for each key of `asked` that has no effect under `chosen`, all that will hold."""
    for name, value in asked.items():
        pair = next((pair for pair in pairs if pair.holds(name, chosen)), None)
        if pair is not None and value.casefold() not in OFF:  # what is off need not be told twice
            against = f"{pair.other}={chosen[pair.other]}"
            yield f"{name}={value} can have no effect while {against}"
