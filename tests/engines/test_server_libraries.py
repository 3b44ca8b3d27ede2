"""The libraries that a server needs and this system lacks: found out, fetched, given, told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine_callbacks import say_nothing
from stub_programs import stub

from dyno.builds import Build
from dyno.engines._server import libraries
from dyno.engines.mysql.builds import describe_build, find_prefix
from dyno.engines.postgres.builds import find_build
from dyno.errors import HostError

#: The folders of both libraries in the cache, from packages of version 1.
LIBAIO, LIBNUMA = "libaio1-1-libaio.so.1", "libnuma1-1-libnuma.so.1"
#: Like `ldd` on a server that wants libaio, which wants libnuma; it knows folders by their path.
LDD = """
echo "$1 $LD_LIBRARY_PATH" >> {asked}
case "$LD_LIBRARY_PATH" in *libaio1*) ;; *) echo "  libaio.so.1 => not found"; exit 1;; esac
case "$LD_LIBRARY_PATH" in *libnuma1*) ;; *) echo "  libnuma.so.1 => not found";; esac
"""
#: A server that runs only with both; initdb takes the same way.
SERVER = """#!/bin/sh
case "$LD_LIBRARY_PATH" in */libaio1-*:*/libnuma1-*) ;; *)
echo "$0: error while loading shared libraries: libaio.so.1: cannot open" >&2; exit 127;; esac
echo '{said}'
"""


@pytest.fixture
def lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system whose loader finds neither of two libraries; what it was asked is in the file."""
    stub(tmp_path / "tools", "ldd", LDD.format(asked=tmp_path / "asked"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}{os.pathsep}{os.defpath}")
    return tmp_path / "asked"


@pytest.fixture
def mirror(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Debian mirror that has everything, and the folder of the libraries fetched from it."""
    stub(tmp_path / "tools", "apt-cache", "echo 'Version: 1'")
    stub(tmp_path / "tools", "apt-get", '[ "$2" = update ] || touch "$3.deb"')
    stub(tmp_path / "tools", "dpkg-deb", 'cd "$3" && touch libaio.so.1 libnuma.so.1')
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}{os.pathsep}{os.defpath}")
    monkeypatch.setenv("DYNO_CACHE", str(home / "cache"))
    return home / "cache" / "library"


def _program(file: Path, said: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SERVER.format(said=said))
    file.chmod(0o755)
    return file


def test_what_is_missing_is_fetched_until_the_loader_has_all(lacking: Path, mirror: Path) -> None:
    said: list[str] = []
    found = libraries.fetch(Path("/bin/server"), [Path("/own")], said.append)
    assert found == (mirror / LIBAIO, mirror / LIBNUMA)
    assert [each for each in said if "lists" not in each] == [
        "fetching libaio1=1 (apt)",
        "fetching libnuma1=1 (apt)",
    ]
    assert lacking.read_text().splitlines() == [
        "/bin/server /own",
        f"/bin/server /own:{mirror}/{LIBAIO}",
        f"/bin/server /own:{mirror}/{LIBAIO}:{mirror}/{LIBNUMA}",
    ]
    assert libraries.list_facts(found) == {"libraries": f"{LIBAIO}, {LIBNUMA}"}
    assert libraries.build_environment(()) == {} and libraries.list_facts(()) == {}


def test_a_program_that_lacks_nothing_is_left_alone(tmp_path: Path) -> None:
    assert libraries.fetch(Path("/bin/sh"), (), say_nothing) == ()
    assert libraries.fetch(tmp_path / "none", (), say_nothing) == ()


@pytest.mark.parametrize("why", ["no mirror", "unknown", "useless"])
def test_a_library_that_cannot_be_had_is_told_with_its_package(
    why: str, tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    soname = "libstrange.so.7" if why == "unknown" else "libnuma.so.1"
    stub(tmp_path / "tools", "ldd", f"echo '\t{soname} => not found'")
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}{os.pathsep}{os.defpath}")
    if why != "useless":
        stub(tmp_path / "tools", "apt-cache", "echo 'E: Unable to locate package' >&2; exit 100")
    with pytest.raises(HostError, match=r"^/bin/sh cannot start") as caught:
        libraries.fetch(Path("/bin/sh"), (), say_nothing)
    assert caught.value.cause == f"this system has no {soname}"
    assert caught.value.hint.startswith("install it")
    assert ("libnuma1" in caught.value.hint) == (why != "unknown")


@pytest.mark.usefixtures("lacking")
def test_a_mysql_is_asked_for_its_version_with_them(mirror: Path) -> None:
    program = _program(mirror / "m" / "bin" / "mysqld", "mysqld  Ver 5.6.14 for linux")
    (mirror / "m" / "share" / "english").mkdir(parents=True)
    (mirror / "m" / "share" / "english" / "errmsg.sys").touch()
    build = describe_build("mysql", "5.6.14", program, "file", say_nothing)
    _check_build(build, mirror)
    path = f"{mirror}/{LIBAIO}:{mirror}/{LIBNUMA}"
    assert find_prefix(program, build.libraries).build_environment() == {"LD_LIBRARY_PATH": path}


@pytest.mark.usefixtures("lacking")
def test_a_postgres_is_asked_for_its_version_with_them(mirror: Path) -> None:
    _program(mirror / "p" / "bin" / "postgres", "postgres (PostgreSQL) 18.6")
    _program(mirror / "p" / "bin" / "initdb", "")
    _check_build(find_build(str(mirror / "p"), say_nothing), mirror)


def _check_build(build: Build, mirror: Path) -> None:
    assert build.libraries == (mirror / LIBAIO, mirror / LIBNUMA)
    assert build.facts["libraries"] == f"{LIBAIO}, {LIBNUMA}"
