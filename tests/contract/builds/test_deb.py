"""The source `deb`: what apt is asked, how packages are unpacked, and every refusal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from outsiders import SAID

from dyno.builds import cache, deb
from dyno.errors import HostError

pytestmark = pytest.mark.usefixtures("own_cache")

Stub = Callable[[str, str], None]


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Puts a script on the path in a program's place; what it was asked lies in `asked`."""

    def put(name: str, script: str) -> None:
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "{name} $@" >> {tmp_path}/asked\n{script}\n')
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.defpath}")
    return put


def test_packages_are_unpacked_into_one_folder_without_running_a_script(
    stub: Stub, tmp_path: Path
) -> None:
    stub("apt-get", "touch thing_1_amd64.deb plugin_1_amd64.deb")
    stub("dpkg-deb", 'mkdir -p "$3/usr" && basename "$2" > "$3/usr/$(basename "$2" .deb)"')
    folder = deb.fetch("thing", "1:1.0", SAID.append, ("plugin=1:1.0", "libthing1"))
    assert sorted(file.name for file in (folder / "usr").iterdir()) == [
        "plugin_1_amd64",
        "thing_1_amd64",
    ]
    assert {file.name for file in folder.iterdir()} == {"usr"}
    assert ":" not in folder.name and folder.name.startswith("thing-1_1.0-")
    assert SAID == ["fetching thing=1:1.0 plugin=1:1.0 libthing1 (apt)"]
    asked = (tmp_path / "asked").read_text()
    assert "apt-get --quiet download thing=1:1.0 plugin=1:1.0 libthing1\n" in asked
    assert "install" not in asked
    assert deb.fetch("thing", "1:1.0", SAID.append, ("plugin=1:1.0", "libthing1")) == folder
    assert deb.fetch("thing", "1:1.0", SAID.append) != folder


def test_apts_candidate_is_asked_for_without_fetching(stub: Stub) -> None:
    stub("apt-cache", "printf 'Package: thing\\nVersion: 1:10.11.19-0+deb12u1\\nPriority: x\\n'")
    assert deb.installable_version("thing") == "1:10.11.19-0+deb12u1"
    stub("apt-cache", "true")
    with pytest.raises(HostError, match="apt has no version of thing"):
        deb.installable_version("thing")


def test_a_machine_without_apt_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no apt-get on PATH") as caught:
        deb.fetch("thing", "1.0", SAID.append)
    assert "by its path" in caught.value.hint
    with pytest.raises(HostError, match="no apt-cache on PATH"):
        deb.installable_version("thing")


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("E: Unable to locate package thing", "apt-get update"),
        ("E: Version '1.0' for 'thing' was not found", "apt-get update"),
        ("E: Failed to fetch thing.deb  Could not resolve 'mirror'", "reach its mirrors"),
        ("E: Failed to fetch thing.deb  Hash Sum mismatch", "reach its mirrors"),
    ],
)
def test_what_apt_refuses_is_told_with_its_words(said: str, hint: str, stub: Stub) -> None:
    stub("apt-get", f'echo "W: unsandboxed" >&2; echo "{said}" >&2; exit 100')
    with pytest.raises(HostError) as caught:
        deb.fetch("thing", "1.0", SAID.append)
    assert said in str(caught.value) and "unsandboxed" not in str(caught.value)
    assert "thing=1.0" in caught.value.message and hint in caught.value.hint
    assert cache.entries() == []


def test_a_torn_package_leaves_nothing_in_the_cache(stub: Stub) -> None:
    stub("apt-get", "touch thing_1_amd64.deb")
    stub("dpkg-deb", "echo 'dpkg-deb: error: unexpected end of file' >&2; exit 2")
    with pytest.raises(HostError, match="unexpected end of file"):
        deb.fetch("thing", "1.0", SAID.append)
    assert cache.entries() == []
