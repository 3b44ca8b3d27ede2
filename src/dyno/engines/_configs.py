"""What makes a server of ours like a user's: his file of settings, as a server's program reads and
judges it, and a data folder of the release that he has.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
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
    """Is so much memory more than a server may take on this host?"""
    host_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return size_bytes > host_bytes / LARGEST_SHARE
