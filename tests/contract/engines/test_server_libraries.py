"""The libraries that a server needs and this system lacks: found out, fetched, given, told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from outsiders import stub
from unasked import quiet

from dyno.builds import Build, Say
from dyno.engines._server import libraries
from dyno.engines.mysql.builds import describe_build, prefix_of
from dyno.engines.postgres.builds import find_build
from dyno.errors import HostError

#: Like `ldd` on a server that wants libaio, which wants libnuma; it knows folders by their path.
LDD = """
echo "$1 $LD_LIBRARY_PATH" >> {asked}
case "$LD_LIBRARY_PATH" in *libaio1*) ;; *) echo "  libaio.so.1 => not found"; exit 1;; esac
case "$LD_LIBRARY_PATH" in *libnuma1*) ;; *) echo "  libnuma.so.1 => not found";; esac
"""
#: A server that runs only with both; initdb takes the same way.
SERVER = """#!/bin/sh
case "$LD_LIBRARY_PATH" in */libaio1:*/libnuma1) ;; *)
echo "$0: error while loading shared libraries: libaio.so.1: cannot open" >&2; exit 127;; esac
echo '{said}'
"""


@pytest.fixture
def lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system whose loader finds neither of two libraries; what it was asked is in the file."""
    stub(tmp_path / "tools", "ldd", LDD.format(asked=tmp_path / "asked"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}{os.pathsep}{os.defpath}")
    return tmp_path / "asked"


def _mirror(folder: Path) -> Callable[[str, str, Say], Path]:
    def library(package: str, soname: str, say: Say) -> Path:
        assert libraries.PACKAGES[soname] == package
        say(f"fetching {package}")
        (folder / package).mkdir(exist_ok=True)
        return folder / package

    return library


@pytest.fixture
def mirror(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Debian mirror that has everything; packages lie in the folder."""
    monkeypatch.setattr("dyno.builds.deb.library", _mirror(home))
    return home


def _program(file: Path, said: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SERVER.format(said=said))
    file.chmod(0o755)
    return file


def test_what_is_missing_is_fetched_until_the_loader_has_all(lacking: Path, mirror: Path) -> None:
    said: list[str] = []
    found = libraries.fetch(Path("/bin/server"), [Path("/own")], said.append)
    assert found == (mirror / "libaio1", mirror / "libnuma1")
    assert said == ["fetching libaio1", "fetching libnuma1"]
    assert lacking.read_text().splitlines() == [
        "/bin/server /own",
        f"/bin/server /own:{mirror}/libaio1",
        f"/bin/server /own:{mirror}/libaio1:{mirror}/libnuma1",
    ]
    assert libraries.facts(found) == {"libraries": "libaio1, libnuma1"}
    assert libraries.environment(()) == {} and libraries.facts(()) == {}


def test_a_program_that_lacks_nothing_is_left_alone(tmp_path: Path) -> None:
    assert libraries.fetch(Path("/bin/sh"), (), quiet) == ()
    assert libraries.fetch(tmp_path / "none", (), quiet) == ()


@pytest.mark.parametrize("why", ["no mirror", "unknown", "useless"])
def test_a_library_that_cannot_be_had_is_told_with_its_package(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def library(package: str, soname: str, say: Say) -> Path:
        if why == "useless":
            return tmp_path
        raise HostError("cannot fetch: no apt-get on PATH", hint="another hint")

    soname = "libstrange.so.7" if why == "unknown" else "libnuma.so.1"
    stub(tmp_path / "tools", "ldd", f"echo '\t{soname} => not found'")
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}{os.pathsep}{os.defpath}")
    monkeypatch.setattr("dyno.builds.deb.library", library)
    with pytest.raises(HostError, match=r"^/bin/sh cannot start") as caught:
        libraries.fetch(Path("/bin/sh"), (), quiet)
    assert caught.value.cause == f"this system has no {soname}"
    assert caught.value.hint.startswith("install it")
    assert ("libnuma1" in caught.value.hint) == (why != "unknown")


@pytest.mark.usefixtures("lacking")
def test_a_mysql_is_asked_for_its_version_with_them(mirror: Path) -> None:
    program = _program(mirror / "m" / "bin" / "mysqld", "mysqld  Ver 5.6.14 for linux")
    (mirror / "m" / "share" / "english").mkdir(parents=True)
    (mirror / "m" / "share" / "english" / "errmsg.sys").touch()
    build = describe_build("mysql", "5.6.14", program, "file", quiet)
    _check_build(build, mirror)
    path = f"{mirror}/libaio1:{mirror}/libnuma1"
    assert prefix_of(program, build.libraries).environment() == {"LD_LIBRARY_PATH": path}


@pytest.mark.usefixtures("lacking")
def test_a_postgres_is_asked_for_its_version_with_them(mirror: Path) -> None:
    _program(mirror / "p" / "bin" / "postgres", "postgres (PostgreSQL) 18.6")
    _program(mirror / "p" / "bin" / "initdb", "")
    _check_build(find_build(str(mirror / "p"), quiet), mirror)


def _check_build(build: Build, mirror: Path) -> None:
    assert build.libraries == (mirror / "libaio1", mirror / "libnuma1")
    assert build.facts["libraries"] == "libaio1, libnuma1"
