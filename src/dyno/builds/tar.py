"""Unpacks archives of tar, on every Python from 3.11.0 on; nothing lands outside the folder.

Python's own filter came with 3.11.4, and Debian 12 has an older one.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path


def unpack(archive: Path, folder: Path, renamed: Callable[[str], str]) -> None:
    """Put each member under the name that `renamed` gives it; one without a name is left out.

    `tarfile.TarError` for what is damaged, reaches out of `folder`, or is no file, folder or link.
    """
    safe: Callable[[tarfile.TarInfo, str], tarfile.TarInfo]
    safe = getattr(tarfile, "data_filter", _filter_member)
    with tarfile.open(archive) as packed:
        # every member has been through a filter already
        packed.extraction_filter = lambda member, _: member
        for member in packed:
            if name := renamed(member.name):
                member.name = name
                packed.extract(safe(member, str(folder)), folder)


def _filter_member(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
    """Do what `tarfile.data_filter` does, for a Python without it."""
    home = Path(folder).resolve()
    place = Path(folder, member.name).resolve()
    reached = [place]
    if member.issym():
        reached.append((place.parent / member.linkname).resolve())
    if member.islnk():
        reached.append(Path(folder, member.linkname).resolve())
    if not all(each.is_relative_to(home) for each in reached):
        raise tarfile.ExtractError(f"{member.name} reaches out of its folder")
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise tarfile.ExtractError(f"{member.name} is a device")
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
    return member
