"""The source `deb`: what apt is asked, how packages are unpacked, and every refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
from stub_programs import SAID, Stub

from dyno.builds import cache, deb
from dyno.errors import HostError

pytestmark = pytest.mark.usefixtures("own_cache")


def _laid(folder: Path) -> None:
    (folder / "words").write_text("some")


def _none(said: str) -> None:
    raise AssertionError(said)


#: Packages as this release names them; each holds a library, its link and words about it.
RELEASE = """
case "$3" in {names}) printf 'Version: 1:0.3-4\n';; *)
echo "E: No packages found" >&2; exit 100;; esac
"""
UNPACKED = """
mkdir -p "$3/usr/lib" "$3/usr/share/doc" && cd "$3" && touch usr/share/doc/libaio.copyright
echo content > usr/lib/{file}.0.2 && ln -s {file}.0.2 usr/lib/{file}
"""


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
    assert deb.find_installable_version("thing") == "1:10.11.19-0+deb12u1"
    stub("apt-cache", "true")
    with pytest.raises(HostError, match="apt has no version of thing"):
        deb.find_installable_version("thing")


def test_a_machine_without_apt_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="no apt-get on PATH") as caught:
        deb.fetch("thing", "1.0", SAID.append)
    assert "by its path" in caught.value.hint
    with pytest.raises(HostError, match="no apt-cache on PATH"):
        deb.find_installable_version("thing")


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("E: Unable to locate package thing", "apt-get update"),
        ("E: Version '1.0' for 'thing' was not found", "apt-get update"),
        ("E: Failed to fetch thing.deb  Could not resolve 'mirror'", "is there a network"),
        ("E: Failed to fetch thing.deb  Hash Sum mismatch", "another mirror"),
        ("E: Failed to fetch thing.deb  Something else", "reach its mirrors"),
    ],
)
def test_what_apt_refuses_is_told_with_its_words(said: str, hint: str, stub: Stub) -> None:
    stub("apt-get", f'echo "W: unsandboxed" >&2; echo "{said}" >&2; exit 100')
    with pytest.raises(HostError) as caught:
        deb.fetch("thing", "1.0", SAID.append)
    assert said in str(caught.value) and "unsandboxed" not in str(caught.value)
    assert "thing=1.0" in caught.value.message and hint in caught.value.hint
    assert cache.list_entries() == []


def test_a_torn_package_leaves_nothing_in_the_cache(stub: Stub) -> None:
    stub("apt-get", "touch thing_1_amd64.deb")
    stub("dpkg-deb", "echo 'dpkg-deb: error: unexpected end of file' >&2; exit 2")
    with pytest.raises(HostError, match="unexpected end of file"):
        deb.fetch("thing", "1.0", SAID.append)
    assert cache.list_entries() == []


@pytest.mark.parametrize(
    ("name", "file"), [("libaio1", "libaio.so.1"), ("libaio1t64", "libaio.so.1t64")]
)
def test_a_library_is_found_under_the_name_that_this_release_gives_it(
    name: str, file: str, stub: Stub, tmp_path: Path
) -> None:
    stub("apt-cache", RELEASE.format(names=name))
    stub("apt-get", f"touch {name}_amd64.deb")
    stub("dpkg-deb", UNPACKED.format(file=file))
    folder = deb.fetch_library("libaio1", "libaio.so.1", SAID.append)
    assert (folder / "libaio.so.1").read_text() == "content\n"
    assert {each.name for each in folder.iterdir()} == {"libaio.so.1", f"{file}.0.2"}
    assert f"apt-get --quiet download {name}=1:0.3-4\n" in (tmp_path / "asked").read_text()
    assert (
        ":" not in folder.name
        and deb.fetch_library("libaio1", "libaio.so.1", SAID.append) == folder
    )


def test_a_library_that_no_package_holds_is_told(stub: Stub) -> None:
    stub("apt-cache", RELEASE.format(names="libaio1"))
    with pytest.raises(HostError, match="apt-cache cannot get thing"):
        deb.fetch_library("thing", "thing.so.1", SAID.append)
    stub("apt-get", "touch libaio1_amd64.deb")
    stub("dpkg-deb", UNPACKED.format(file="libaio.so.2"))
    with pytest.raises(HostError, match=r"libaio1 1:0\.3-4 holds no libaio\.so\.1"):
        deb.fetch_library("libaio1", "libaio.so.1", SAID.append)


def test_apt_is_asked_again_only_once_its_lists_have_changed(stub: Stub, tmp_path: Path) -> None:
    stub("apt-cache", f"echo Version: 1.0; echo >> {tmp_path}/times")
    assert [deb.find_installable_version("thing") for _ in range(3)] == ["1.0"] * 3
    assert (tmp_path / "times").read_text() == "\n"
    (tmp_path / "lists" / "mirror_updates_Packages.lz4").touch()
    assert deb.find_installable_version("thing") == "1.0"
    assert (tmp_path / "times").read_text() == "\n\n"


def test_a_system_without_lists_gets_lists_of_our_own_once_a_day(
    stub: Stub, tmp_path: Path
) -> None:
    (tmp_path / "lists" / "mirror_main_Packages.lz4").unlink()
    cache.ensure_entry("apt", "lists-1", _laid, _none)
    stub("apt-get", "touch thing_amd64.deb")
    stub("apt-cache", "printf 'Version: 1.0\\n'")
    stub("dpkg-deb", "true")
    assert deb.find_installable_version("thing", SAID.append) == "1.0"
    deb.fetch("thing", "1.0", SAID.append)
    assert SAID == ["fetching lists of packages (apt)", "fetching thing=1.0 (apt)"]
    update, show, download, *_ = (tmp_path / "asked").read_text().splitlines()
    assert update.startswith("apt-get --quiet update -o Dir::State::Lists=")
    (lists,) = (entry.name for entry in cache.list_entries() if entry.kind == "apt")
    ours = f"-o Dir::State::Lists={cache.find_root()}/apt/{lists}/lists "
    assert show.startswith(f"apt-cache show --no-all-versions thing {ours}")
    assert download.startswith(f"apt-get --quiet download thing=1.0 {ours}")


def test_lists_that_cannot_be_fetched_are_told_and_not_kept(stub: Stub, tmp_path: Path) -> None:
    (tmp_path / "lists" / "mirror_main_Packages.lz4").unlink()
    stub("apt-get", "echo 'E: Could not resolve mirror' >&2; exit 100")
    with pytest.raises(HostError, match="apt-get cannot get its lists") as caught:
        deb.find_installable_version("thing")
    assert "resolve mirror" in str(caught.value) and "is there a network" in caught.value.hint
    assert cache.list_entries() == []
