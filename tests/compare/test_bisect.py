"""Bisections: the step is found whatever errs, what cannot be built is left out, and it is told."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from counts import make_count
from fakes import make_load, make_run, make_trials
from judging import judge_unaudited
from made_rates import make_blocks, make_plan
from msgspec import structs
from source_trees import amalgamation, commit_all, git

from dyno.cli import bisect, compare, judged_run, run_words
from dyno.cli.judged_run import RunOptions
from dyno.compare.bisect.oracles import VerdictOracle
from dyno.compare.bisect.points import BisectPoint, list_points
from dyno.compare.bisect.search import (
    CONFIDENCE,
    BisectAnswer,
    Bisection,
    BisectStep,
    Found,
)
from dyno.errors import HostError, TrialFailed, UsageError
from dyno.judge.analysis.capacity import judge_capacity
from dyno.judge.analysis.counts import judge_counts
from dyno.judge.stats.change_point import Measurement, choose_next, compute_step_posterior
from dyno.judge.stats.interval import compute_t_interval, extract_independent_data
from dyno.judge.stats.scenarios import make_loaded
from dyno.record import Conditions, Verdict
from dyno.runs.experiment import Experiment, Measuring, Workload


def make_points(count: int) -> list[BisectPoint]:
    return [BisectPoint(f"null@{at}ms", f"v{at}") for at in range(count)]


@dataclass
class MadeOracle:
    """Levels in percent by place, measured with an error; some places cannot be built."""

    levels: list[float]
    error: float
    broken: frozenset[int] = frozenset()
    seed: int = 0
    asked: list[int] = field(default_factory=list)

    def measure(self, base: BisectPoint, point: BisectPoint, margin: float | None) -> BisectAnswer:
        place = int(point.name[1:])
        self.asked.append(place)
        if place in self.broken:
            raise HostError("it does not build", cause="no such header")
        error = self.error / 100
        draw = random.Random(1000 * self.seed + len(self.asked))
        ratio = math.log1p(self.levels[place] / 100) + draw.gauss(0, error)
        width = 2.2 * error
        word = "slower" if ratio > width else "faster" if ratio < -width else "not slower"
        if word == "not slower" and margin and ratio + width > margin / 100:
            word = "inconclusive"
        return BisectAnswer(ratio, error, 9, word, "run")


def search(
    oracle: MadeOracle | LoadedOracle, tell: Callable[[BisectStep], None] = lambda _: None
) -> Found:
    return Bisection(make_points(len(oracle.levels)), oracle, tell).find_step()


def step_at(place: int, points: int, percent: float) -> list[float]:
    return [percent if at >= place else 0.0 for at in range(points)]


@pytest.mark.parametrize("place", [1, 4, 15])
@pytest.mark.parametrize("percent", [3.0, -30.0])
def test_a_clear_step_is_found_in_about_log2_measurements(place: int, percent: float) -> None:
    oracle = MadeOracle(step_at(place, 16, percent), 0.2)
    found = search(oracle)
    assert (found.first, found.last) == (place, place)
    assert found.probability > CONFIDENCE and not found.misfits
    assert len(oracle.asked) <= 6


def test_uncertain_answers_add_up_and_the_probability_is_right() -> None:
    right, total, claimed = 0, 0, 0.0
    for seed in range(200):
        place = 1 + seed % 11
        found = search(MadeOracle(step_at(place, 12, 2.0), 0.5, seed=seed))
        if found.first and found.probability >= CONFIDENCE:
            total, claimed = total + 1, claimed + found.probability
            right += found.first <= place <= found.last
    assert total > 120, "most of those that are found at all are sure"
    assert right / total > claimed / total - 0.05


@dataclass
class LoadedOracle:
    """A comparison of 24 blocks for each answer, over which so many loads of the data rotate."""

    levels: list[float]
    loads: int
    rng: np.random.Generator

    def measure(self, base: BisectPoint, point: BisectPoint, margin: float | None) -> BisectAnswer:
        logs = make_loaded(self.loads, 0.01)(self.rng, (1, 24), 0.01)[0]
        logs += math.log1p(self.levels[int(point.name[1:])] / 100)
        data = extract_independent_data(logs, [block % self.loads for block in range(24)])
        interval = compute_t_interval(data, 0.05)
        word = "slower" if interval.low > 0 else "faster" if interval.high < 0 else "inconclusive"
        error = float(interval.error)
        return BisectAnswer(float(interval.estimate), error, interval.freedom, word, "run")


@pytest.mark.parametrize("loads", [3, 8])
def test_where_loads_rotate_the_step_is_where_a_bisection_says_as_often_as_it_says(
    loads: int,
) -> None:
    rng = np.random.default_rng(loads)
    claims, right = [], []
    for place in rng.integers(1, 12, 150):
        found = search(LoadedOracle(step_at(int(place), 12, 3.0), loads, rng))
        if found.first and found.probability >= CONFIDENCE:
            claims.append(found.probability)
            right.append(found.first <= place <= found.last)
    assert len(right) > 40
    assert np.mean(right) > np.mean(claims) - 0.04


def test_an_answer_has_the_error_and_the_freedom_of_the_comparison_s_interval() -> None:
    trials = [
        structs.replace(
            trial, conditions=Conditions(load=make_load(f"{trial.candidate}{trial.block % 3}"))
        )
        for trial in make_trials({"new": [0.01, 0.03, 0.02] * 3}, per_s=1e9)
    ]
    verdict = judge_unaudited(make_run(analyses=(9,)), trials)
    made = Experiment("b", (), (Workload("w"),), Measuring())
    points = make_points(2)[0], make_points(2)[1]
    answer = VerdictOracle(made, lambda _: (Path("run"), verdict)).measure(*points, None)
    assert answer.error == pytest.approx(0.01 / 3**0.5, rel=1e-3)
    assert answer.freedom == 2


def test_equal_ends_are_nothing_to_find_and_inconclusive_is_not_good() -> None:
    found = search(MadeOracle([0.0] * 8, 0.2))
    assert found.first == 0 and found.end.word == "not slower"
    noisy = MadeOracle(step_at(5, 8, 2.0), 0.55, seed=3)
    words: list[str] = []
    found = search(noisy, lambda step: words.append(step.answer.word if step.answer else ""))
    assert "inconclusive" in words and (found.first, found.last) == (5, 5)


def test_ends_that_nobody_can_tell_apart_are_not_told_as_equal() -> None:
    end = BisectAnswer(0.01, 0.02, 9, "inconclusive", "run")
    assert bisect.choose_exit_code(Found(0, 0, 0.0, end)) == 2
    assert bisect.choose_exit_code(Found(0, 0, 0.0, replace(end, word="not slower"))) == 1


def test_what_cannot_be_built_is_skipped_and_makes_the_answer_a_range() -> None:
    skipped: list[str] = []
    oracle = MadeOracle(step_at(6, 10, 5.0), 0.2, frozenset({5, 6}))
    found = search(oracle, lambda step: skipped.append(step.skipped) if step.skipped else None)
    assert (found.first, found.last) == (5, 7) and found.probability > CONFIDENCE
    assert skipped and all("no such header" in told for told in skipped)
    beside = MadeOracle(step_at(2, 10, 5.0), 0.2, frozenset({5, 6}))
    assert (search(beside).first, search(beside).last) == (2, 2)
    with pytest.raises(HostError):
        search(MadeOracle(step_at(2, 4, 5.0), 0.2, frozenset({3})))


def test_two_steps_are_not_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    levels = [0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0, 10.0]
    found = search(MadeOracle(levels, 0.2))
    assert found.misfits and bisect.choose_exit_code(found) == 2
    bisect.print_found(make_points(len(levels)), found)
    said = capsys.readouterr().out
    assert "Several steps" in said and "first changed point" not in said


def test_the_posterior_adds_up_and_an_exact_count_is_sure() -> None:
    ends = [Measurement(7, 0.05, 0.001, 30), Measurement(3, 0.0, 0.001, 30)]
    posterior = compute_step_posterior(8, ends)
    assert posterior.sum() == pytest.approx(1) and posterior[0] == 0
    assert np.allclose(posterior[4:], 0.25, atol=1e-3)
    assert choose_next(posterior, range(1, 8)) == 5
    assert choose_next(posterior, [1, 2, 3]) is None, "nothing there divides it"
    exact = compute_step_posterior(
        8, [*ends, Measurement(5, 0.05, 0.0, 30), Measurement(4, 0.0, 0.0, 30)]
    )
    assert exact[5] == pytest.approx(1)
    with pytest.raises(ValueError, match="last point"):
        compute_step_posterior(8, ends[1:])


def test_releases_are_listed_by_version_and_flags_stay() -> None:
    points = list_points("sqlite@3.24..3.54?journal_mode=wal")
    names = [point.name for point in points]
    assert names[0].startswith("3.24") and names[-1].startswith("3.54") and len(names) > 10
    assert names.index("3.31.1") < names.index("3.46.0")
    assert all(point.candidate.endswith("?journal_mode=wal") for point in points)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("sqlite@3.24", "names no span"),
        ("sqlite@3.24...3.54", "has three dots"),
        ("mysql://me@h/d..e", "runs already"),
        ("sqlite@3.54..3.24", "is not before"),
        ("sqlite@3.24..3.99", "no release 3.99"),
        ("null@1..2", "no releases"),
        ("sqlte@1..2", "sqlte"),
    ],
)
def test_a_span_that_cannot_be_is_refused(words: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        list_points(words)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Six commits, `v1` on the second and `v2` on the last."""

    def git(*words: str) -> None:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        subprocess.run(command, check=True, capture_output=True, timeout=30)

    git("init", "-q")
    for number in range(6):
        (tmp_path / "file").write_text(str(number))
        git("add", "file")
        git("commit", "-q", "-m", f"change {number}")
        if number in (1, 5):
            git("tag", f"v{1 if number == 1 else 2}")
    return tmp_path


def test_commits_are_listed_from_the_good_one_to_the_bad_one(repository: Path) -> None:
    points = list_points("postgres@v1..v2?cflags=-O3", repository)
    assert [point.title for point in points] == [f"change {at}" for at in range(1, 6)]
    assert points[0].candidate.startswith(f"postgres@source:{repository}@")
    assert points[0].candidate.endswith("?cflags=-O3")
    with pytest.raises(UsageError, match="no commit 'nosuch'"):
        list_points("postgres@v1..nosuch", repository)
    with pytest.raises(UsageError, match="does not lead to"):
        list_points("postgres@v2..v1", repository)


def test_a_comparison_without_the_asked_phase_is_refused_with_the_phases() -> None:
    verdict = Verdict("not slower", "so it is", True, (), (), ())
    made = Experiment("b", (), (Workload("insert", {}),), Measuring())
    oracle = VerdictOracle(made, lambda _: (Path("run"), verdict), "l.i9")
    with pytest.raises(UsageError, match=r"l\.i9"):
        oracle.measure(make_points(2)[0], make_points(2)[1], None)


def test_a_point_is_measured_with_its_instrument_and_told_with_the_command_that_repeats_it() -> (
    None
):
    verdict = judge_counts(make_count({"v0": (1000.0, 1000.0), "v1": (1100.0, 1100.0)}))
    own = {"events": 200, "phase": "l.i1"}
    made = Experiment("b", (), (Workload("insert"),), Measuring(), instrument="count", own=own)
    played: list[Experiment] = []

    def play(experiment: Experiment) -> tuple[Path, Verdict]:
        played.append(experiment)
        return Path("run"), verdict

    one, other = make_points(2)
    answer = VerdictOracle(made, play, command="count").measure(one, other, 60.0)
    assert answer.word == "heavier" and answer.differs
    assert answer.log_ratio == pytest.approx(math.log(1.1)) and 0 < answer.error < 1e-4
    (asked,) = played
    assert asked.instrument == "count" and asked.measuring.margin_percent == 25.0
    told = "dyno count v0=null@0ms v1=null@1ms -w insert --events 200 --phase l.i1"
    assert asked.command == told


def test_a_bisection_by_cpu_time_asks_for_it_in_each_comparison() -> None:
    made = Experiment("b", (), (Workload("w"),), Measuring(by="cpu"))
    pair = VerdictOracle(made, lambda _: pytest.fail()).make_experiment(make_points(2), None)
    assert pair.measuring.by == "cpu"
    assert pair.command == "dyno compare v0=null@0ms v1=null@1ms -w w --by cpu"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--quick",), "a count takes no quick"),
        (("--blocks", "5"), "a count takes no blocks"),
        (("--limit", "foreign_percent=50"), "a count takes no limits"),
        (("--budget", "10m"), "a count takes no budget"),
        (("--by", "cpu"), "a count takes no by"),
        (("--slo", "p99<1s"), "follows one of"),
    ],
)
def test_what_an_instrument_does_not_take_is_refused_by_name(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    span = ("sqlite@3.24..3.26", "-w", "oltp_point_select", "--count")
    assert run_words(["bisect", *span, *words]) == 64
    assert told in capsys.readouterr().err


def test_a_host_that_lets_no_block_count_is_said_and_is_no_mistake_in_a_word() -> None:
    noisy = Verdict("inconclusive", "this host is too noisy", True, (), (), ())
    made = Experiment("b", (), (Workload("w"),), Measuring())
    oracle = VerdictOracle(made, lambda _: (Path("run"), noisy))
    with pytest.raises(TrialFailed, match="too noisy"):
        oracle.measure(make_points(2)[0], make_points(2)[1], None)


@pytest.mark.slow
def test_comparisons_find_the_step_among_made_up_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    delays = ["1ms", "1010us", "1020us", "10ms", "10010us"]
    points = [BisectPoint(f"null@{delay}", f"v{at}") for at, delay in enumerate(delays)]
    options = {"time": "0.2", "warmup_time": "0", "table_size": "100"}
    limits = {"foreign_percent": 100.0, "steal_percent": 100.0}
    workload = Workload("oltp_point_select", options)
    experiment = Experiment("b", (), (workload,), Measuring(quick=True, limits=limits))
    oracle = VerdictOracle(experiment, lambda made: compare.play_quietly(made, RunOptions()))
    found = bisect.find_change(points, oracle)
    assert bisect.choose_exit_code(found) == 0 and (found.first, found.last) == (3, 3)
    said = capsys.readouterr().out
    assert "The first changed point is v3" in said and "1  v4  slower" in said
    assert "Z-bisect-v0-v3" in said, "a folder's name that one can copy"


def test_capacities_are_followed_as_times_are_and_the_loss_is_told_not_the_time_ratio(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [
        "sqlite@3.24..3.26",
        "-w",
        "oltp_point_select",
        "--slo",
        "p99<10ms",
        "--slo",
        "p50<2ms",
    ]
    points = make_points(2)
    made = bisect.make_oracle(bisect.command.make_context("bisect", words).params, points)
    assert (made.experiment.instrument, made.command) == ("capacity", "capacity")
    assert made.experiment.own == {"slo": "p99<10ms, p50<2ms"}
    blocks = make_blocks({"v0": [1000.0, 1010.0, 990.0], "v1": [500.0, 505.0, 495.0]})
    verdict = judge_capacity(make_plan(("v0", "v1"), blocks=3), blocks)
    one, other = points
    answer = replace(made, play=lambda _: (Path("run"), verdict)).measure(one, other, None)
    assert answer.differs and answer.log_ratio == pytest.approx(math.log(2))
    bisect.StepPrinter(points)(BisectStep(1, answer, "", (1, 1)))
    assert "v1  less capacity  −50.00 %" in capsys.readouterr().out


@pytest.mark.parametrize(("code", "git"), [(0, 0), (1, 1), (2, 125), (3, 125), (4, 125), (64, 128)])
def test_git_bisect_run_reads_exit_codes_its_own_way(code: int, git: int) -> None:
    assert judged_run.convert_exit_for_git(code) == git
    assert judged_run.convert_exit_for_git(130) == 130


def test_a_mistake_in_the_command_stops_git_and_a_commit_that_does_not_work_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "null", "null@1ms", "-w", "oltp_point_select", "--exit-for-bisect"]
    assert run_words([*words, "--nosuch"]) == 128
    assert run_words([*words, "--margin", "nonsense"]) == 128
    capsys.readouterr()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_gits_own_bisect_finds_the_commit_and_skips_one_that_does_not_build(tmp_path: Path) -> None:
    """Commits of a delay: 10 ms, at the fourth a build that fails, and 40 ms from the sixth on."""
    tree = tmp_path / "tree"
    tree.mkdir()
    delays = ["10ms"] * 3 + ["broken"] + ["10ms", "40ms", "40ms", "40ms"]
    commits = []
    for number, delay in enumerate(delays):
        (tree / "delay").write_text(delay)
        (tree / "number").write_text(str(number))
        commits.append(commit_all(tree, f"commit {number}"))
    broken, script = amalgamation(tmp_path / "broken"), tmp_path / "step.sh"
    (broken / "sqlite3.c").write_text("#error injected\n")
    words = "-w oltp_point_select --set time=0.4 --set warmup_time=0 --set table_size=100"
    limits = "--limit foreign_percent=100 --limit steal_percent=100 --quick --margin 40%"
    script.write_text(
        f'case "$(cat delay)" in broken) new="sqlite@source:{broken}" ;; '
        '*) new="null@$(cat delay)" ;; esac\n'
        f'{sys.executable} -m dyno.cli compare null@10ms "new=$new" {words} '
        f"{limits} --exit-for-bisect\n"
    )
    git(tree, "bisect", "start", commits[-1], commits[0])
    environment = os.environ | {"DYNO_RUNS": str(tmp_path / "runs")}
    done = subprocess.run(
        ["git", "-C", str(tree), "bisect", "run", "sh", str(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert f"{commits[5]} is the first bad commit" in done.stdout, done.stdout + done.stderr


def test_a_phase_that_the_workload_does_not_play_is_refused_before_anything_is_played(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_words(["bisect", "sqlite@3.24..3.54", "-w", "insert", "--phase", "l.i9"]) == 64
    said = capsys.readouterr()
    assert "unknown phase 'l.i9'" in said.err and "l.i1" in said.err and not said.out
