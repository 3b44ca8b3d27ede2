"""The library: what it needs of a machine, and how it is put beside a server and taken away."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import dyno
from dyno.errors import HostError
from dyno.servers.kit import library
from dyno.servers.kit.library import PARTS, VERSION
from dyno.servers.kit.server import LIBRARY, KitServer


def a_server(plugins: Path) -> KitServer:
    return KitServer(lambda *_: [[]], {}, "8.0.33", plugins, near=True)


def test_it_stands_alone_but_for_the_systems_own_libraries() -> None:
    told = subprocess.run(
        ["ldd", library.find_own_library()], capture_output=True, text=True, check=True, timeout=30
    )
    names = {Path(line.split()[0]).name for line in told.stdout.splitlines()}
    known = ("linux-vdso", "libgcc_s", "libc.", "libm.", "ld-linux")
    assert not [name for name in names if not name.startswith(known)]


@pytest.mark.parametrize("part", PARTS.values(), ids=lambda part: str(part.name))
def test_it_exports_every_function_that_a_part_names(part: object) -> None:
    content = library.find_own_library().read_bytes()
    for function in (VERSION, *PARTS[getattr(part, "name", "")].functions):
        endings = ["", "_init", "_deinit"] + (["_clear", "_add"] if function.aggregate else [])
        for ending in endings:
            assert f"\0{function.name}{ending}\0".encode() in content, function.name + ending


def test_it_is_of_the_packages_version() -> None:
    assert dyno.__version__.encode() in library.find_own_library().read_bytes()


def test_it_is_put_once_and_taken_away(tmp_path: Path) -> None:
    server = a_server(tmp_path)
    assert library.put(server) and not library.put(server)
    (there,) = tmp_path.iterdir()
    assert there.name == LIBRARY and there.stat().st_mode & 0o777 == 0o644
    assert library.take_away(server) and library.take_away(server)
    assert not list(tmp_path.iterdir())


def test_one_that_is_in_use_is_replaced_and_not_written_over(tmp_path: Path) -> None:
    old = tmp_path / LIBRARY
    old.write_bytes(b"old")
    with old.open("rb") as held:
        assert library.put(a_server(tmp_path))
        assert held.read() == b"old"


def test_a_server_elsewhere_is_left_to_its_owner(tmp_path: Path) -> None:
    elsewhere = replace(a_server(tmp_path), near=False)
    assert not library.put(elsewhere) and not library.take_away(elsewhere)
    assert not library.put(a_server(tmp_path / "missing"))


def test_a_directory_that_cannot_be_written_is_named_with_what_to_do() -> None:
    # not even root may make a file there
    with pytest.raises(HostError, match="plugin directory /proc/self") as caught:
        library.put(a_server(Path("/proc/self")))
    assert f"install -m 644 {library.find_own_library()} /proc/self/{LIBRARY}" in caught.value.hint
