"""Any suite: private lists by the system's own mirror, packages, sources, and every refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
from stub_programs import SAID, Stub

from dyno.builds import cache, deb, suites
from dyno.errors import DynoError, HostError, UsageError

pytestmark = pytest.mark.usefixtures("own_cache")

#: What the system's sources name: another archive, updates, and the archive itself.
TARGETS = r"""
case "$2$1" in *indextargets*) printf '%b' 'http://other/\tnodistro\tmain\n'\
'http://mirror/security/\tstable-security\tmain\nhttp://mirror/d/\tstable\tmain\n';; esac
"""
#: A suite's package, of which one dependency has a choice and another an architecture.
SHOWN = """
case "$*" in *thing*) cat <<'END'
Package: thing
Version: 1:2.0~rc1-1
Section: non-free/libs
Pre-Depends: libc6 (>= 2.38)
Depends: libone1 (>= 1) | libtwo, perl:any,
 more
Description: a thing
 in several lines

END
;; *) echo "E: No packages found" >&2; exit 100;; esac
"""
#: A source in the older of two versions first, and what is fetched of it.
SOURCES = "printf 'Package: thing\\nVersion: 1.0-2\\n\\nPackage: thing\\nVersion: 1.0-10\\n\\n'"
FETCHED = (
    TARGETS
    + """
case "$*" in *download-only*) printf 'Source: thing\\nVersion: 1.0-10\\n' > thing.dsc
touch thing.tar;; esac"""
)


def _asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines()


def test_a_suite_is_read_from_the_systems_own_mirror_by_private_lists(
    stub: Stub, tmp_path: Path
) -> None:
    stub("apt-get", TARGETS)
    stub("apt-cache", SHOWN)
    found = suites.open_suite("sid", SAID.append)
    (entry,) = cache.find_entries("apt")
    text = (entry.path / "suite.sources").read_text()
    assert "URIs: http://mirror/d/\nSuites: sid\nComponents: main\nTargets: Packages\n" in text
    update = next(line for line in _asked(tmp_path) if " update " in line)
    for private in ("Dir::Etc::sourcelist=", "Dir::State::Lists=", "Dir::State::status="):
        assert f"-o {private}{cache.find_root()}/apt/" in update
    assert "-o Dir::Etc::sourceparts=/dev/null" in update
    suites.open_suite("sid", SAID.append)
    assert SAID == ["fetching sid's lists (apt)"]
    assert found.find_packages(["thing"]) == [
        suites.SuitePackage("thing", "1:2.0~rc1-1", "libs", ("libc6", "libone1", "perl"))
    ]
    with pytest.raises(HostError, match="sid has no package other"):
        found.find_version("other")


def test_a_suite_of_new_things_only_takes_all_else_from_the_one_below(stub: Stub) -> None:
    stub("apt-get", TARGETS)
    suites.open_suite("experimental", SAID.append)
    (entry,) = cache.find_entries("apt")
    assert "Suites: experimental sid\n" in (entry.path / "suite.sources").read_text()


def test_lists_of_yesterday_go_and_those_of_other_suites_stay(stub: Stub) -> None:
    stub("apt-get", TARGETS)
    for name in ("suite-sid-packages-1", "suite-sid-sources-1", "lists-1"):
        cache.ensure_entry("apt", name, lambda folder: None, SAID.append)
    suites.open_suite("sid", SAID.append)
    names = {entry.name for entry in cache.find_entries("apt")}
    assert names == {f"suite-sid-packages-{deb.count_days()}", "suite-sid-sources-1", "lists-1"}


def test_the_newest_source_is_fetched_once_and_needs_no_lists_afterwards(
    stub: Stub, tmp_path: Path
) -> None:
    stub("apt-get", FETCHED)
    stub("apt-cache", SOURCES)
    source = suites.fetch_source("sid", "thing", SAID.append)
    assert (source.name, source.version) == ("thing", "1.0-10")
    assert {file.name for file in source.folder.iterdir()} == {"thing.dsc", "thing.tar"}
    assert any(" source thing=1.0-10 --download-only " in line for line in _asked(tmp_path))
    (entry,) = cache.find_entries("apt")
    assert "Types: deb-src\n" in (entry.path / "suite.sources").read_text()
    stub("apt-get", "exit 100")
    assert suites.fetch_source("sid", "thing", SAID.append) == source
    assert suites.fetch_source("sid", "thing", SAID.append, "1.0-10") == source
    assert cache.list_unfinished() == []


def test_a_source_that_the_mirror_only_lists_is_told_and_the_one_before_serves(stub: Stub) -> None:
    stub("apt-cache", SOURCES)
    gone = 'case "$*" in *=1.0-10*) echo "E: Failed to fetch x 404  Not Found" >&2; exit 100;; esac'
    stub("apt-get", gone + FETCHED.replace("1.0-10", "1.0-2"))
    assert suites.fetch_source("sid", "thing", SAID.append).version == "1.0-2"
    assert any("the mirror lists it and does not have it; an older one" in said for said in SAID)
    with pytest.raises(HostError, match=r"cannot get thing=1\.0-10"):
        suites.fetch_source("sid", "thing", SAID.append, "1.0-10")
    with pytest.raises(HostError, match=r"sid has no source of thing 0\.9") as told:
        suites.fetch_source("sid", "thing", SAID.append, "0.9")
    assert told.value.hint.startswith("it has 1.0-10, 1.0-2; ")


def test_what_was_fetched_before_a_failure_is_there_for_the_next_try(
    stub: Stub, tmp_path: Path
) -> None:
    stub("apt-cache", SOURCES)
    stub("apt-get", FETCHED + '\ncase "$*" in *download-only*) exit 100;; esac')
    with pytest.raises(HostError, match=r"cannot get thing=1\.0-10"):
        suites.fetch_source("sid", "thing", SAID.append)
    assert cache.find_entries("deb-src") == [] and len(cache.list_unfinished()) == 1
    stub("apt-get", f'{TARGETS}\ncase "$*" in *download-only*) test -f thing.tar;; esac')
    source = suites.fetch_source("sid", "thing", SAID.append)
    assert (source.folder / "thing.tar").is_file() and cache.list_unfinished() == []


def test_dyno_clean_removes_what_a_failed_fetch_left(stub: Stub) -> None:
    stub("apt-cache", SOURCES)
    stub("apt-get", FETCHED + '\ncase "$*" in *download-only*) exit 100;; esac')
    with pytest.raises(HostError):
        suites.fetch_source("sid", "thing", SAID.append)
    (left,) = cache.list_unfinished()
    cache.remove_unfinished(left)
    assert cache.list_unfinished() == []


@pytest.mark.parametrize(
    ("said", "told", "hint"),
    [
        ("E: The repository 'x' does not have a Release file.", "no such suite", "another suite"),
        ("E: The repository 'x sid InRelease' is not signed.", "its signature is not", "keys"),
        ("W: GPG error: NO_PUBKEY 6ED0", "its signature is not", "keys"),
        ("E: Write error - write (28: No space left on device)", "the disk is full", "dyno clean"),
        ("E: Failed to fetch x  Could not resolve 'mirror'", "cannot be reached", "network"),
        ("E: Failed to fetch x  404  Not Found", "does not have it", "later"),
    ],
)
def test_each_refusal_says_what_it_means_and_leaves_nothing(
    said: str, told: str, hint: str, stub: Stub
) -> None:
    stub("apt-get", f'{TARGETS}\ncase "$*" in *update*) echo "{said}" >&2; exit 100;; esac')
    with pytest.raises(HostError, match="apt-get cannot get its lists") as caught:
        suites.open_suite("sid", SAID.append)
    assert told in caught.value.cause and hint in caught.value.hint
    assert cache.list_entries() == []


def test_a_system_whose_archive_is_not_known_is_told(stub: Stub) -> None:
    stub("apt-get", "printf 'http://other/\\tnodistro\\tcontrib\\n'")
    with pytest.raises(HostError, match="come from no archive that is known"):
        suites.open_suite("sid", SAID.append)


@pytest.mark.parametrize("name", ["", "SID", "sid main", "../x"])
def test_what_is_no_name_of_a_suite_is_refused_before_apt_is_asked(name: str) -> None:
    with pytest.raises(UsageError, match="is not a suite's name"):
        suites.open_suite(name, SAID.append)


def test_a_machine_without_apt_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DynoError, match="no apt-get on PATH"):
        suites.open_suite("sid", SAID.append)
