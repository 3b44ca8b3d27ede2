"""Sides compared: words, doubts and exits of a comparison, and what a run's commits could be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from disk_runs import LOG, MB, READ, make_run, make_side
from fakes import make_run as make_comparison
from fakes import make_trials
from msgspec.structs import replace
from report.page_text import print_document

from dyno.cli import run_words
from dyno.cli.judged_run import RunOptions
from dyno.errors import UsageError
from dyno.instruments.disk.commits import read_commits
from dyno.instruments.disk.verdict import is_decided, judge_disks
from dyno.record import Reading
from dyno.record.disk import (
    DiskLatency,
    DiskPlay,
    DiskRun,
    DiskTrace,
    DiskVerdict,
    FileBlocks,
    PublishedFigure,
)
from dyno.report.disks import (
    PARTS,
    build_disk_result,
    describe_commits,
    describe_error_rates,
    forecast_commits,
    list_slow_flushes,
    make_commit_cells,
    measure_request_time,
)
from dyno.report.document import Bars
from dyno.report.html.page import render_result
from dyno.runs.run_folder import create_run, write_json

PAIR = (make_side("/old"), make_side("/new"))


def render(run: DiskRun) -> str:
    return render_result(build_disk_result(run, judge_disks(run)))


def choose_exit_code(verdict: DiskVerdict, strict: bool) -> int:
    return RunOptions(strict=strict).choose_exit_code(verdict)


def compare(factor: float, blocks: int = 10, spread: float = 0.01) -> DiskRun:
    """`/new` does `factor` as much as `/old`, with a little noise of its own."""

    def rate(side: str, block: int) -> float:
        noise = 1.0 + spread * ((block * 7 + len(side)) % 5 - 2)
        wave = 1.0 + spread * ((block * 3) % 4 - 1.5) * (side == "/new")
        return 10_000.0 * noise * wave * (factor if side == "/new" else 1.0)

    return make_run(PAIR, blocks=blocks, rate=rate)


@pytest.mark.parametrize(
    ("factor", "word", "code"),
    [(0.5, "slower", 1), (1.0, "not slower", 0), (1.5, "faster", 0)],
)
def test_a_side_is_judged_with_the_words_and_exits_of_a_comparison(
    factor: float, word: str, code: int
) -> None:
    verdict = judge_disks(compare(factor))
    assert verdict.overall == word and choose_exit_code(verdict, strict=False) == code
    (row,) = verdict.comparisons
    assert row.low_percent <= 100 / factor - 100 <= row.high_percent


def test_noise_larger_than_the_margin_is_inconclusive() -> None:
    verdict = judge_disks(compare(1.0, blocks=6, spread=0.2))
    assert verdict.overall == "inconclusive" and choose_exit_code(verdict, strict=False) == 2


def test_a_slow_side_is_decided_early_and_an_equal_one_is_not() -> None:
    slow, equal = (replace(compare(factor, blocks=6), analyses=(6, 10)) for factor in (0.5, 1.0))
    assert is_decided(slow) and not is_decided(equal)


def test_an_invalid_side_makes_its_comparison_invalid_and_a_doubtful_one_is_strict() -> None:
    holes = make_side("/new", blocks=FileBlocks(0, 0, 64 * MB, 0, 100.0))
    verdict = judge_disks(make_run((PAIR[0], holes)))
    assert verdict.overall == "invalid" and choose_exit_code(verdict, strict=True) == 3
    assert verdict.sentence.startswith("Invalid: /new: 100 % of the file was never written")
    thin = make_side("/new", device=replace(PAIR[0].device, thin="dm-3 lies in the pool dm-1"))
    doubtful = judge_disks(make_run((PAIR[0], thin), blocks=10))
    assert choose_exit_code(doubtful, strict=False) == 0
    assert choose_exit_code(doubtful, strict=True) == 4


def test_a_single_path_has_no_verdict_but_is_invalid_where_its_numbers_are() -> None:
    assert choose_exit_code(judge_disks(make_run()), strict=False) == 0
    holes = make_side(blocks=FileBlocks(0, 0, 64 * MB, 0, 100.0))
    assert choose_exit_code(judge_disks(make_run([holes])), strict=False) == 3
    thin = make_side(device=replace(PAIR[0].device, thin="dm-3 lies in the pool dm-1"))
    verdict = judge_disks(make_run([thin]))
    assert verdict.overall == "measured" and verdict.doubts
    codes = [choose_exit_code(verdict, strict=strict) for strict in (False, True)]
    assert codes == [0, 4]


def test_what_was_published_stands_beside_what_was_measured() -> None:
    figure = PublishedFigure("a file beside a raw device", 2.0, "Small Datum", "/new", "/old")
    run = replace(compare(4.0), published=(figure,))
    page = render(run)
    assert "Published, and here" in page and "/old ÷ /new" in page and "a file beside a raw" in page
    assert '<td class="n" data-label="published">2.0</td>' in page and "(Small Datum)" in page
    assert '<td class="n" data-label="here">4.0</td>' in page


def test_a_requests_time_is_split_into_submit_device_and_rest() -> None:
    time = measure_request_time(READ, make_run(blocks=1).plays)
    assert (time.submit, time.device) == (2_000.0, 80_000.0)
    assert time.total == pytest.approx(100_000.0) and time.rest == pytest.approx(18_000.0)
    traced = DiskTrace("/data", READ.name, 9, 2_000.0, 20_000.0, 60_000.0, 90_000.0)
    time = measure_request_time(READ, make_run(blocks=1).plays, traced)
    assert time.parts == (2_000.0, 20_000.0, 60_000.0, 8_000.0, 0.0)
    parts = [(name, ns, "") for name, ns in zip(PARTS, time.parts, strict=True)]
    assert "qqqqdddddddddddr" in print_document([Bars(PARTS, [("job", parts)])])
    hidden = [replace(play, device=None) for play in make_run(blocks=1).plays]
    time = measure_request_time(READ, hidden)
    assert time.parts == pytest.approx((2_000.0, 0.0, 0.0, 0.0, 98_000.0))


def test_a_runs_commits_are_predicted_beside_what_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    folder = create_run(make_comparison(), tmp_path)
    for trial in make_trials({"new": [0.1, 0.1]}, per_s=1_000.0):
        phases = []
        for record in trial.phases:
            done = sum(it.done + it.failed + it.warmup for it in record.streams)
            own = Reading("work", "fsyncs", "fsyncs", "lower", 2.0 * done, False, True)
            phases.append(replace(record, readings=(*record.readings, own)))
        folder.write_trial(replace(trial, phases=tuple(phases)))
    base, _ = read_commits(folder)
    assert base.candidate == "old" and base.fsyncs == pytest.approx(2.0)
    assert base.rate == pytest.approx(1_000.0, rel=0.01)
    run = replace(make_run(jobs=[LOG], rate=lambda *_: 3_000.0), commits=(base,))
    (forecast,) = forecast_commits(run)
    cells = make_commit_cells(forecast)
    assert cells[2:] == ("2", "1,500/s", "1,000/s, 1 user")
    assert not forecast.is_exceeded and "overlapped" not in " ".join(describe_commits(run))
    assert "What a database pays" in render(run)
    more = replace(run, commits=(replace(base, rate=9_000.0),))
    assert "its flushes overlapped" in " ".join(describe_commits(more))


def test_a_run_that_counted_no_fsyncs_predicts_nothing(tmp_path: Path) -> None:
    folder = create_run(make_comparison(), tmp_path)
    for trial in make_trials({"new": [0.1]}):
        folder.write_trial(trial)
    with pytest.raises(UsageError, match="counted no fsyncs"):
        read_commits(folder)


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    folder = tmp_path / "runs" / "20260102T000000Z-disk--old-vs--new"
    folder.mkdir(parents=True)
    write_json(folder / "disk.json", compare(0.5))
    return folder


@pytest.mark.parametrize("word", ["last", "20260102", "20260102T000000Z-disk--old-vs--new"])
def test_show_and_report_tell_a_run_of_disks_again(
    recorded: Path, word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = tmp_path / "told.json"
    assert run_words(["show", word]) == 0
    assert "/new is slower than /old: it takes 10" in capsys.readouterr().out
    assert run_words(["report", word, "--json", str(told)]) == 0
    assert json.loads(told.read_text())["overall"] == "slower"
    assert "/new is slower than /old" in (recorded / "report.html").read_text()
    assert run_words(["show", "runs"]) == 0
    assert "disks measured" in capsys.readouterr().out
    assert run_words(["report", word, "--format", "markdown"]) == 0
    assert "/new is slower than /old" in capsys.readouterr().out


def test_the_page_leads_with_the_verdict_and_draws_the_parts_of_a_requests_time() -> None:
    slow = compare(0.5)
    page = render(slow)
    assert "<h1>/new is slower than /old" in page
    assert page.count('<div class="shares">') == 2 and ">device</span>" in page
    assert "submit: 2.00 µs, device: 80.0 µs" in page and ">completion</span>" not in page
    holes = make_run([make_side(blocks=FileBlocks(0, 0, 64 * MB, 0, 100.0))])
    page = render(holes)
    assert '<p class="box bad">' in page and '<b class="bad">invalid</b>' in page


def compare_with_itself(blocks: int, wrong: range) -> DiskRun:
    """An A/A run in which the second one is slower by half in some blocks."""
    pair = (make_side("/data"), make_side("/data (again)"))

    def rate(side: str, block: int) -> float:
        slow = side != "/data" and block in wrong
        return (10_000.0 + 7 * (block * 5 % 11)) * (0.5 if slow else 1.0)

    return replace(make_run(pair, blocks=blocks, rate=rate), is_aa=True)


def test_a_path_against_itself_tells_how_often_a_verdict_is_wrong() -> None:
    run = compare_with_itself(30, range(10, 20))
    rates = judge_disks(run).error_rates
    assert rates and (rates.comparisons, rates.wrong) == (3, 1)
    assert rates.words == {"slower": 1, "inconclusive": 0, "not slower": 2, "faster": 0}
    assert 0.0 < rates.low_percent < 33.3 < rates.high_percent < 100.0
    assert "3 comparisons of the path with itself, 1 of them wrong" in describe_error_rates(
        judge_disks(run)
    )
    assert judge_disks(compare_with_itself(9, range(0))).error_rates is None
    assert judge_disks(replace(run, is_aa=False)).error_rates is None


def test_a_side_that_is_slower_by_far_is_told_in_times() -> None:
    sentence = judge_disks(compare(1 / 500)).sentence
    assert "/new is slower than /old" in sentence and "] times the time" in sentence
    assert "takes 100 % more time [9" in judge_disks(compare(0.5)).sentence


def test_the_slices_of_a_block_are_one_rate_of_it() -> None:
    run = make_run(blocks=1)
    (play,) = run.plays
    longer = replace(play, slice=1, operations=30_000, duration_s=3.0)
    both = replace(run, plays=(play, longer))
    assert both.blocks == 1 and both.compute_rates("/data", READ.name) == [10_000.0]


def test_a_path_is_named_whose_flushes_are_too_slow_for_a_log() -> None:
    slow = DiskLatency(5e6, 5e6, 12e6, 2e7)

    def change(play: DiskPlay) -> DiskPlay:
        return replace(play, sync=slow) if play.side == "/slow" and play.syncs else play

    run = make_run([make_side("/fast"), make_side("/slow")], [READ, LOG], change=change)
    (told,) = list_slow_flushes(run)
    assert told.startswith("/slow: the p99 of a flush in log 4K + fdatasync is 12")
    assert list_slow_flushes(make_run(jobs=[LOG])) == []
