"""Nights of commits: what series they are of, the commits beside a step, what becomes of it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace
from nightly_runs import HistoryCommand, write_nightly_runs, write_run

from dyno.cli import run_words
from dyno.record import Candidate

NIGHTS = 16
#: The night whose commit is slower.
STEP = 7
LATER = """
[[accepted]]
metric = "select/run/*"
size = "9%"
reason = "checksums of pages"
until = 2099-01-31
"""


def make_commit(at: int, reference: str = "main") -> Candidate:
    """A build of a repository's commit, as a night names it."""
    sha = f"{at:02x}" * 20
    facts = {"source": f"git /src/w {reference} ({sha[:12]})", "source_sha256": sha, "version": "1"}
    facts |= {"name": f"source:/src/w@{reference}", "seconds": str(at + len(reference))}
    facts |= {"commit": sha, "parents": f"{at - 1:02x}" * 20, "subject": f"Change {at}"}
    facts |= {"committed": f"2025-12-{at + 1:02}T00:00:00Z", "repository": "https://h.org/a/w"}
    named = "" if at % 2 else "new="
    spec = f"{named}null@source:/src/w@{reference}?k=1"
    return Candidate("new", spec, "null", True, facts, {}, {})


def write_commit(runs: Path, at: int, day: int, log: float, series: str = "nightly") -> None:
    write_run(runs, day, {"new": log}, candidates=[make_commit(at)], series=series)


def write_commits(runs: Path) -> None:
    """A step of 8 % at a commit; the second half of them was measured before the first."""
    for at in range(NIGHTS):
        write_commit(runs, at, 1 + (at + NIGHTS // 2) % NIGHTS, 0.08 * (at >= STEP))


def test_what_was_tried_by_hand_is_no_night_of_a_series(runs: Path, shown: HistoryCommand) -> None:
    write_nightly_runs(runs, [0.0] * NIGHTS, series="nightly")
    write_nightly_runs(runs, [0.0, 0.5, 0.9], first=20)
    said = shown("--series", "nightly")
    assert "0 flagged changes in 1 series" in said and "series=nightly" in said
    assert "not tested" not in said
    assert "not tested: 1 series" in shown()


def test_commits_built_with_other_flags_are_another_series(
    runs: Path, shown: HistoryCommand
) -> None:
    for at in range(NIGHTS):
        commit = make_commit(at)
        made = replace(commit, build={**commit.build, "cflags": "-O1" if at < 4 else "-O2"})
        write_run(runs, at, {"new": 0.5 * (at < 4)}, candidates=[made])
    said = shown()
    assert "0 flagged changes in 1 series" in said and "not tested: 1 series" in said


def test_a_step_names_the_last_good_and_the_first_bad_commit_in_the_order_of_commits(
    runs: Path, shown: HistoryCommand
) -> None:
    write_commits(runs)
    said = shown()
    assert "last good: 060606060606, Change 6 (1)" in said
    assert "first bad: 070707070707, Change 7 (1)" in said
    (line,) = [each for each in said.splitlines() if "to confirm or reject" in each]
    words = shlex.split(line.partition(": ")[2])
    assert words[2:4] == [f"null@source:/src/w@{at:02x}{f'{at:02x}' * 5}?k=1" for at in (6, 7)]
    assert words[-2:] == ["--series", "nightly"]
    assert "were not measured" not in said


def test_a_comparison_of_both_commits_by_hash_confirms_what_nights_by_branch_flagged(
    runs: Path, shown: HistoryCommand
) -> None:
    write_commits(runs)
    sides = [replace(make_commit(at, f"{at:02x}" * 6), name=str(at)) for at in (6, 7)]
    write_run(runs, 28, {"6": 0.0, "7": 0.08}, 10, candidates=sides, series="nightly")
    assert "slower," in shown() and "by the fresh comparison in" in shown()


@pytest.mark.parametrize(
    ("accepted", "code", "state"),
    [
        ("", 2, "open"),
        (LATER, 0, "accepted until 2099-01-31: checksums of pages"),
        (LATER + 'commit = "0707"', 0, "accepted until"),
        (LATER + 'commit = "0606"', 2, "open"),
        (LATER.replace("9%", "3%"), 2, "open"),
        (LATER.replace("2099", "2020"), 2, "open"),
    ],
)
def test_a_step_is_open_until_the_repository_accepts_it(
    runs: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    accepted: str,
    code: int,
    state: str,
) -> None:
    write_commits(runs)
    (tmp_path / ".dyno").mkdir()
    (tmp_path / ".dyno" / "accepted.toml").write_text(accepted)
    monkeypatch.chdir(tmp_path)
    assert run_words(["history", "--gate", str(runs)]) == code
    assert f"state:   {state}" in capsys.readouterr().out


def test_a_step_whose_level_has_come_back_is_fixed(runs: Path, shown: HistoryCommand) -> None:
    for at in range(30):
        write_commit(runs, at, 1 + at, 0.08 * (5 <= at < 20))
    said = shown()
    assert "state:   fixed\n" in said, said
