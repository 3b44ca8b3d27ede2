"""The source `maven`: what mvn is asked, what of an archive is unpacked, and every refusal."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from stub_programs import SAID

from dyno.builds import cache, compute_sha256, maven
from dyno.errors import HostError

pytestmark = pytest.mark.usefixtures("own_cache")

NAME = "org.some:thing:zip:linux"
Mvn = Callable[[str], None]


@pytest.fixture
def mvn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mvn:
    """Puts a script on the path in mvn's place; `$to` is the folder that it is told to fill."""

    def stub(script: str) -> None:
        to = "for word; do case $word in -DoutputDirectory=*) to=${word#*=};; esac; done"
        program = tmp_path / "bin" / "mvn"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{to}\n{script}\n')
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return stub


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """An archive as the real ones are: one folder around, programs, links, a debug build."""
    file = tmp_path / "it.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, mode, content in (
            ("thing-1.0/bin/server", 0o100755, "a program"),
            ("thing-1.0/bin/server-debug", 0o100755, "400 MB"),
            ("thing-1.0/lib/real.so.1", 0o100644, "a library"),
            ("thing-1.0/lib/real.so", 0o120777, "real.so.1"),
            ("thing-1.0/README", 0o100644, "words"),
        ):
            member = zipfile.ZipInfo(name)
            member.create_system, member.external_attr = 3, mode << 16
            archive.writestr(member, content)
    return file


def test_an_artifact_is_unpacked_as_it_was_packed(mvn: Mvn, packed: Path, tmp_path: Path) -> None:
    mvn(f"cp {packed} $to/thing.zip")
    folder = maven.fetch(NAME, "1.0", SAID.append, checksum=compute_sha256(packed))
    server, link = folder / "bin" / "server", folder / "lib" / "real.so"
    assert server.read_text() == "a program" and stat.S_IMODE(server.stat().st_mode) == 0o755
    assert link.is_symlink() and link.read_text() == "a library"
    assert {file.name for file in folder.iterdir()} == {"bin", "lib", "README"}
    asked = (tmp_path / "asked").read_text().split()
    assert "-Dartifact=org.some:thing:1.0:zip:linux" in asked and "--strict-checksums" in asked
    assert SAID == ["fetching org.some:thing:1.0:zip:linux (maven)"]
    mvn("exit 1")
    assert maven.fetch(NAME, "1.0", SAID.append) == folder


def test_only_the_members_asked_for_are_unpacked(mvn: Mvn, packed: Path) -> None:
    mvn(f"cp {packed} $to/thing.zip")
    folder = maven.fetch(NAME, "1.0", SAID.append, members=("bin/*", "!*-debug"))
    assert [file.name for file in folder.rglob("*") if file.is_file()] == ["server"]
    other = maven.fetch(NAME, "1.0", SAID.append, members=("README",))
    assert other != folder and (other / "README").is_file()


def test_another_checksum_is_refused_and_nothing_kept(mvn: Mvn, packed: Path) -> None:
    mvn(f"cp {packed} $to/thing.zip")
    with pytest.raises(HostError, match="has the wrong checksum: its sha256 is") as caught:
        maven.fetch(NAME, "1.0", SAID.append, checksum="0" * 64)
    assert "local repository" in caught.value.hint and cache.list_entries() == []


def test_a_member_that_reaches_out_is_refused(mvn: Mvn, tmp_path: Path) -> None:
    for name, mode, content in (
        ("../evil", 0o100644, "x"),
        ("evil", 0o120777, "/etc/passwd"),
    ):
        with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
            member = zipfile.ZipInfo(name)
            member.create_system, member.external_attr = 3, mode << 16
            archive.writestr(member, content)
            archive.writestr("beside", "it")
        mvn(f"cp {tmp_path}/evil.zip $to/thing.zip")
        with pytest.raises(HostError, match="reaches out of its folder"):
            maven.fetch(NAME, "1.0", SAID.append)
    assert cache.list_entries() == [] and not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        (
            "[ERROR] Failed: Could not find artifact org.some:thing",
            "there is no org.some",
            "mirror",
        ),
        ("[ERROR] Unknown host nowhere", "cannot fetch org.some", "must reach a registry"),
        ("[ERROR] Checksum validation failed, expected 1 is 2", "came damaged", "fetch again"),
        ("", "cannot fetch org.some:thing:1.0:zip:linux: mvn says\nnothing", "settings.xml"),
    ],
)
def test_what_mvn_complains_of_is_told(mvn: Mvn, said: str, message: str, hint: str) -> None:
    mvn(f"echo '{said}'; exit 1")
    with pytest.raises(HostError, match=message) as caught:
        maven.fetch(NAME, "1.0", SAID.append)
    assert hint in caught.value.hint and said.removeprefix("[ERROR] ") in str(caught.value)
    assert cache.list_entries() == []


def test_what_is_no_archive_is_refused(mvn: Mvn) -> None:
    mvn("echo 'it is a web page' > $to/thing.zip")
    with pytest.raises(HostError, match=r"cannot unpack thing\.zip"):
        maven.fetch(NAME, "1.0", SAID.append)


def test_a_missing_mvn_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no mvn on PATH") as caught:
        maven.fetch(NAME, "1.0", SAID.append)
    assert "install Maven" in caught.value.hint
