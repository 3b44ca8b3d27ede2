"""What a version means where a registry has some and suites have lines: which build, and what
stands in for it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.builds import Build, Say
from dyno.builds.suite_tree import SuiteProgram, Tree
from dyno.engines import _builds
from dyno.engines._builds import Releases
from dyno.errors import DynoError, HostError, UsageError

OLD, NEW, NEXT = (SuiteProgram(suite, (suite,), ()) for suite in ("trixie", "sid", "experimental"))
NUMBERED = ("10.23", "16.15", "17.11", "18.4", "18.6")
RELEASES = Releases(
    *("thing", dict.fromkeys(NUMBERED, "maven")),
    *({"17.12": OLD, "18.6": NEW, "19rc1": NEXT}, 1),
)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("", ["18.6 sid", "18.6"]),
        ("18", ["18.6 sid", "18.6"]),
        ("18.6", ["18.6 sid", "18.6"]),
        ("18.4", ["18.4"]),
        ("17", ["17.12 trixie", "17.11"]),
        ("17.11", ["17.11"]),
        ("17.13", ["17.12 trixie"]),
        ("19", ["19rc1 experimental"]),
        ("19rc2", ["19rc1 experimental"]),
        ("sid", ["18.6 sid"]),
        ("maven:18", ["18.6"]),
        ("maven:", ["18.6"]),
        ("10", ["10.23"]),
    ],
)
def test_a_suites_build_is_meant_where_there_is_a_choice(asked: str, meant: list[str]) -> None:
    found = RELEASES.list_choices(asked)
    assert [f"{it.version} {it.program.suite if it.program else ''}".strip() for it in found] == (
        meant
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("1", "nearest: 10.23"),
        ("20", "nearest: 19rc1"),
        ("18x", "did you mean"),
        ("maven:19", "nearest: 18.6"),
        ("npm:18", "its sources are maven"),
        ("sidd", "did you mean sid"),
    ],
)
def test_what_no_build_has_is_answered_with_what_there_is(asked: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        RELEASES.list_choices(asked)
    assert told in caught.value.hint


def test_versions_stand_in_the_order_of_releases() -> None:
    assert RELEASES.versions == (*NUMBERED[:3], "17.12", "18.4", "18.6", "19rc1")
    lines = ["8.0.33", "8.4.1", "9.7.4", "10.11.5", "11.8.9", "18.6", "19rc1", "19.0"]
    assert sorted(set(lines), key=_builds.parse_version) == lines
    two = Releases("thing", {}, {})
    assert [two.find_line(each) for each in ("10.11.5", "8.0.33")] == ["10.11", "8.0"]
    assert RELEASES.find_line("19rc1") == "19"


def _fetched(asked: str, refusal: DynoError | None = None) -> tuple[Build, list[str]]:
    """The build that is made for `asked`, the suites refusing so, and what was said meanwhile."""

    def fetch_tree(wanted: SuiteProgram, version: str, say: Say) -> Tree:
        if refusal:
            raise refusal
        return Tree(Path("/tree"), version, {})

    said: list[str] = []
    build = RELEASES.fetch(
        asked,
        said.append,
        lambda tree, wanted: Build("thing", wanted.suite, tree.version, tree.folder),
        lambda version: Build("thing", "maven", version, Path("/maven")),
        fetch_tree,
    )
    return build, said


def test_a_suites_build_is_asked_for_by_the_version_that_was_named() -> None:
    for asked, version in (("18", "18"), ("17.13", "17.13"), ("sid", ""), ("", "")):
        build, said = _fetched(asked)
        assert build.version == version and said == [] and build.facts == {}


def test_what_stands_in_for_a_suites_build_is_told_and_recorded() -> None:
    build, said = _fetched("18", HostError("no apt-get on PATH"))
    assert (build.name, build.version) == ("maven", "18.6")
    assert build.facts == {"instead": "18.6 of sid is not available: no apt-get on PATH"}
    assert said == ["thing 18.6 of sid is not available: no apt-get on PATH; using another build"]


def test_where_nothing_stands_in_the_refusal_is_told() -> None:
    for asked in ("19", "sid", "17.13"):
        with pytest.raises(HostError, match="no apt-get"):
            _fetched(asked, HostError("no apt-get on PATH"))
