"""What is said of a run that was gathered of shares, on made-up records."""

from __future__ import annotations

import pytest
from gathered_runs import HOSTS, make_gathered, play_gathered
from judging import FixedAudit, judge_unaudited, logs, primary
from ways_to_be_fooled import assert_caught

from dyno.judge.analysis.judge import analyse_now, judge
from dyno.judge.audits import load_audits
from dyno.record import (
    Finding,
)


def test_hosts_that_agree_clear_and_convict_as_blocks_do() -> None:
    run = make_gathered({"select": [6, 6, 6, 6]})
    slower = play_gathered(run, {"select": [logs(0.05, 0.005, 6, seed) for seed in range(4)]})
    assert judge_unaudited(run, slower).overall == "slower"
    jittered = [logs(0.001 * seed, 0.005, 6, seed) for seed in range(4)]
    equal = judge_unaudited(run, play_gathered(run, {"select": jittered}))
    assert (equal.overall, equal.complete) == ("not slower", True)
    row = primary(equal)
    assert [(each.host, each.blocks) for each in row.hosts] == [(host, 6) for host in HOSTS]


def test_an_effect_that_differs_from_host_to_host_is_no_sure_effect() -> None:
    run = make_gathered({"select": [6, 6, 6, 6]})
    apart = [logs(mean, 0.002, 6, seed) for seed, mean in enumerate((0.20, 0.02, 0.0, 0.06))]
    row = primary(judge_unaudited(run, play_gathered(run, {"select": apart})))
    assert row.verdict == "inconclusive"
    assert row.low_percent < 0 < row.high_percent
    assert row.between_hosts_percent == pytest.approx(9.4, abs=0.3)
    assert row.heterogeneity_percent and row.heterogeneity_percent > 99
    of_hosts = [(each.low_percent, each.high_percent) for each in row.hosts]
    assert of_hosts[0][0] and of_hosts[0][0] > 15, "each host by itself is sure of its own"


def test_two_hosts_are_honestly_wide_and_the_note_says_why() -> None:
    run = make_gathered({"select": [12, 12]})
    found = [logs(0.05, 0.01, 12, 1), logs(0.06, 0.01, 12, 2)]
    row = primary(judge_unaudited(run, play_gathered(run, {"select": found})))
    assert row.verdict == "inconclusive"
    assert "its blocks are of 2 hosts only" in row.notes[0]


def test_a_cell_that_lies_on_one_host_is_judged_there_as_ever() -> None:
    cells = {"select": [10, 0], "insert": [0, 10]}
    run = make_gathered(cells)
    found = {"select": [logs(0.05, 0.005, 10), []], "insert": [[], logs(0.0, 0.005, 10)]}
    verdict = judge_unaudited(run, play_gathered(run, found))
    rows = {c.metric.workload: c for c in verdict.comparisons if c.primary}
    assert (rows["select"].verdict, rows["insert"].verdict) == ("slower", "not slower")
    assert [each.host for each in rows["select"].hosts] == ["h1"]
    assert rows["select"].between_hosts_percent is None


def test_a_missing_share_leaves_the_run_open_and_its_cells_unmeasured() -> None:
    run = make_gathered({"select": [10, 0], "insert": [0, 10]}, missing=[2])
    found = {"select": [logs(0.05, 0.005, 10), []], "insert": [[], logs(0.0, 0.005, 10)]}
    verdict = judge_unaudited(run, play_gathered(run, found))
    assert not verdict.complete
    assert "share 2 of 2 is missing" in verdict.sentence
    assert analyse_now(run, play_gathered(run, found), audits={}).state == "go on"
    audited = judge(run, play_gathered(run, found), {"shares": load_audits()["shares"]})
    assert_caught("share-missing", audited.findings)


def test_where_over_half_of_the_blocks_were_lost_nothing_is_said() -> None:
    run = make_gathered({"select": [10, 10]})
    row = primary(judge_unaudited(run, play_gathered(run, {"select": [logs(0.2, 0.001, 9), []]})))
    assert row.verdict == "inconclusive"
    assert "9 of the 20 blocks" in row.notes[0]


def test_what_an_audit_finds_on_one_host_names_it_and_doubts_that_hosts_cells() -> None:
    run = make_gathered({"select": [10, 0], "insert": [0, 10]})
    found = {"select": [logs(0.05, 0.005, 10), []], "insert": [[], logs(0.05, 0.005, 10)]}

    class DoubtsSelect(FixedAudit):
        def judge(self, view: object) -> list[Finding]:
            workloads = {trial.workload for trial in view.trials}  # type: ignore[attr-defined]
            return super().judge(view) if "select" in workloads else []  # type: ignore[arg-type]

    audit = DoubtsSelect(Finding("x", "doubtful", "it is strange"))
    verdict = judge(run, play_gathered(run, found), audits={"x": audit})
    rows = {c.metric.workload: c for c in verdict.comparisons if c.primary}
    assert [doubt.sentence for doubt in rows["select"].doubts] == ["on h1: it is strange"]
    assert not rows["insert"].doubts


def test_the_mean_of_a_suite_takes_the_same_hosts_of_each_workload() -> None:
    run = make_gathered({"select": [4, 4, 4, 4], "insert": [4, 4, 4, 4]}, gate="mean")
    select = [logs(0.05, 0.005, 4 - (seed == 2), seed) for seed in range(4)]
    insert = [logs(0.05, 0.005, 4, 9 + seed) for seed in range(4)]
    verdict = judge_unaudited(run, play_gathered(run, {"select": select, "insert": insert}))
    (mean,) = verdict.means
    assert (mean.verdict, mean.blocks) == ("slower", 15)


def test_restarts_of_hosts_that_differ_in_speed_spread_no_further() -> None:
    run = make_gathered({"select": [6, 6]})
    trials = play_gathered(run, {"select": [logs(0.0, 0.001, 6, 1), logs(0.0, 0.001, 6, 2)]})
    spread = judge_unaudited(run, trials).spread
    assert spread
    assert all(each.cov_percent < 1 for each in spread)
