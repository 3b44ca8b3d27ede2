"""A suite's program in a tree: its closure, how it is cached, and what when it cannot be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from stub_programs import SAID, Stub

from dyno.builds import cache, suite_tree, suites
from dyno.builds.suite_tree import SuiteProgram
from dyno.errors import HostError

pytestmark = pytest.mark.usefixtures("own_cache")

#: None of its files is started: what a loader does to those is another page's.
THING = SuiteProgram("sid", ("thing-server", "thing-plugin"), ())
#: Name, version, section and dependencies of all that the suite has.
PACKAGES = (
    ("thing-server", "1:2.0-1", "database", "libc6 (>= 2.38), libone1, perl:any"),
    ("thing-plugin", "1:2.0-1", "database", "thing-server, libtwo1"),
    ("libone1", "1.0-1", "libs", "libthree1, libone1"),
    ("libtwo1", "1.0-1", "libs", ""),
    ("libthree1", "1.0-1", "libs", "perl"),
    ("libc6", "2.43-7", "libs", ""),
    ("perl", "5-1", "perl", "libperl5"),
    ("libperl5", "5-1", "libs", ""),
)
STANZA = """
case " $* " in *" {0} "*) printf 'Package: {0}\\nVersion: {1}\\nSection: {2}\\nDepends: {3}\\n\\n'
esac"""
APT = r"""
case "$*" in
*indextargets*) printf 'http://mirror/d/\tstable\tmain\n';;
*download*) for word; do case "$word" in *=*-[0-9]) touch "${word%%=*}.deb";; esac; done;;
esac"""
#: Each archive holds the same.
UNPACK = 'mkdir -p "$3/usr/sbin" "$3/usr/share/doc" && touch "$3/usr/sbin/thingd"'


@pytest.fixture
def suite(stub: Stub) -> Stub:
    """A suite of the packages above; answers the stub, by which it may be changed."""
    stub("apt-get", APT)
    stub("apt-cache", "".join(STANZA.format(*row) for row in PACKAGES))
    stub("dpkg-deb", UNPACK)
    return stub


def test_libraries_are_followed_and_what_is_no_library_is_left_out(suite: Stub) -> None:
    found = suites.open_suite("sid", SAID.append)
    closure = suite_tree.find_closure(found, THING.packages)
    names = [package.name for package in closure]
    assert sorted(names) == [
        *("libc6", "libone1", "libthree1", "libtwo1", "thing-plugin", "thing-server")
    ]
    with pytest.raises(HostError, match="sid has no package other"):
        suite_tree.find_closure(found, ["thing-server", "other"])


def test_a_tree_is_fetched_once_and_serves_without_the_suite(suite: Stub) -> None:
    tree = suite_tree.fetch_tree(THING, "2", SAID.append)
    assert tree.version == "1:2.0-1" and tree.packages["libc6"] == "2.43-7"
    assert tree.describe_source(THING) == "deb thing-server 1:2.0-1 (sid)"
    assert tree.list_facts() == {"c_library": "glibc 2.43-7"}
    assert suite_tree.is_in_tree(tree.folder / "usr" / "sbin" / "thingd")
    assert not suite_tree.is_in_tree(Path("/usr/sbin/thingd"))
    assert ":" not in tree.folder.name and not (tree.folder / "usr" / "share" / "doc").exists()
    assert SAID[1:] == ["fetching thing-server 1:2.0-1 of sid, 6 packages"]
    suite("apt-get", "exit 100")
    for asked in ("", "2", "2.0"):
        assert suite_tree.fetch_tree(THING, asked, SAID.append) == tree
    assert suite_tree.is_cached(THING)


def test_a_version_that_the_suite_has_no_longer_is_told(suite: Stub) -> None:
    with pytest.raises(HostError, match=r"sid has thing-server 1:2\.0-1, not 1\.9"):
        suite_tree.fetch_tree(THING, "1.9", SAID.append)
    assert cache.find_entries("deb") == [] and not suite_tree.is_cached(THING)


def test_of_two_cached_versions_the_newer_is_meant(suite: Stub) -> None:
    suite_tree.fetch_tree(THING, "", SAID.append)
    newer = [("thing-server", "1:2.10-1", "database", "libc6"), *PACKAGES[1:]]
    suite("apt-cache", "".join(STANZA.format(*row) for row in newer))
    suite_tree.fetch_tree(THING, "2.10", SAID.append)
    assert suite_tree.fetch_tree(THING, "2", SAID.append).version == "1:2.10-1"
    assert suite_tree.fetch_tree(THING, "2.0", SAID.append).version == "1:2.0-1"


def test_another_place_of_the_cache_is_another_tree(
    suite: Stub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The loader's path stands in the program."""
    name = suite_tree.fetch_tree(THING, "", SAID.append).folder.name
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "elsewhere"))
    assert suite_tree.fetch_tree(THING, "", SAID.append).folder.name != name


def test_what_was_downloaded_before_a_failure_is_kept_for_the_next_try(suite: Stub) -> None:
    suite("dpkg-deb", "echo 'No space left on device' >&2; exit 2")
    with pytest.raises(HostError, match="the disk is full"):
        suite_tree.fetch_tree(THING, "", SAID.append)
    (left,) = cache.list_unfinished()
    assert len(list(left.glob("*.deb"))) == 6 and cache.find_entries("deb") == []
    suite("dpkg-deb", UNPACK)
    assert suite_tree.fetch_tree(THING, "", SAID.append) and cache.list_unfinished() == []


def test_two_fetches_at_once_make_one_tree(suite: Stub, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda _: suite_tree.fetch_tree(THING, "", SAID.append), range(2)))
    assert made[0] == made[1]
    downloads = [
        line for line in (tmp_path / "asked").read_text().splitlines() if " download " in line
    ]
    assert len(downloads) == 1


@pytest.mark.parametrize(
    ("version", "own"),
    [("1:11.8.9+ds-0+deb13u1", "11.8.9"), ("19~rc1-1", "19rc1"), ("9.7.4-2", "9.7.4")],
)
def test_a_packages_version_tells_its_authors(version: str, own: str) -> None:
    assert suite_tree.strip_packaging(version) == own
    assert suite_tree.matches_version(version, own) and suite_tree.matches_version(version, "")
    assert not suite_tree.matches_version(
        version, own[:1] + "0"
    ) and not suite_tree.matches_version(version, "1.")
