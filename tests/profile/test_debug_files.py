"""Debug files of the C library, with stand-ins for dpkg and for what a mirror has."""

from __future__ import annotations

from pathlib import Path

import pytest
from stub_programs import SAID, stub

from dyno.builds import Say
from dyno.errors import HostError
from dyno.profile.debug_files import find_debug_folders

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system with apt whose dpkg answers what the file `installed` says."""
    programs = tmp_path / "bin"
    programs.mkdir()
    stub(programs, "dpkg-query", f"cat {tmp_path / 'installed'}")
    stub(programs, "apt-get", "exit 1")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    (tmp_path / "installed").write_text("libc6 2.36-9\nlibc6-dbg \n")
    return tmp_path / "installed"


def test_a_system_without_them_gets_those_of_its_own_version(has: Path, tmp_path: Path) -> None:
    asked = []

    def fetch(name: str, version: str, say: Say) -> Path:
        asked.append((name, version))
        (tmp_path / "tree" / "usr" / "lib" / "debug" / ".build-id").mkdir(parents=True)
        return tmp_path / "tree"

    (folder,) = find_debug_folders(SAID.append, fetch)
    assert (folder / ".build-id").is_dir()
    assert find_debug_folders(SAID.append, fetch) == [folder]
    assert asked == [("libc6-dbg", "2.36-9")]


def test_a_system_that_has_them_needs_none(has: Path) -> None:
    has.write_text("libc6 2.36-9\nlibc6-dbg 2.36-9\n")
    assert find_debug_folders(SAID.append) == []


def test_a_mirror_without_this_version_is_asked_once(
    has: Path,
) -> None:
    asked = []

    def fetch(name: str, version: str, say: Say) -> Path:
        asked.append(version)
        raise HostError(f"apt cannot get {name}={version}")

    assert find_debug_folders(SAID.append, fetch) == []
    assert find_debug_folders(SAID.append, fetch) == []
    assert len(asked) == 1 and any("stay without names" in said for said in SAID)
