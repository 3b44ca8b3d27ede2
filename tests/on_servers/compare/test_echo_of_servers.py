"""The echo of a real server: played in its place, and held against its answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_driver import ONE_BLOCK
from msgspec import structs

from dyno.instruments.time.run import play_run
from dyno.judge.analysis.judge import judge
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Finding, Run, Trial, name_echo
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

pytestmark = [pytest.mark.timeout(300)]

NEIGHBOURS = {"steal_percent": 100.0, "foreign_percent": 100.0}
OPTIONS = {"time": "0.3", "warmup_time": "0", "threads": "1", "table_size": "1000"}


@pytest.fixture(autouse=True)
def data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))


@pytest.mark.parametrize("server", ["postgres@18", "mysql@8.0.33"])
def test_a_slow_way_makes_a_servers_figures_doubtful(server: str, home: Path) -> None:
    """The way is made as long as three quarters of the answer, in the record: no time counts."""
    measuring = Measuring(blocks=3, fixed=True, limits=NEIGHBOURS, seed=3, loads=0, aa=True)
    sides = f"a={server}", f"b={server}"
    prepared = draft_run(
        compare_candidates(sides, "oltp_point_select", OPTIONS, measuring), lambda _: None
    )
    kept = create_run(prepared.run, home)
    play_run(prepared, kept, lambda _: None, ONE_BLOCK)
    run, trials = prepared.run, [t for t in kept.read_trials() if not t.is_contents]
    echoes = [t for t in trials if t.is_client_baseline]
    assert {t.candidate for t in echoes} == {name_echo("a")}, "b stands as a does"
    own = next(t for t in trials if not t.is_client_baseline).phases[-1].streams[0]
    sent = echoes[0].phases[-1].streams[0]
    assert own.round_trips == own.done > 0
    assert round(sent.received_bytes / sent.done) == round(own.received_bytes / own.done)
    assert echoes[0].conditions.pinning == trials[0].conditions.pinning
    assert "round_trip" in {finding.audit for finding in judge(run, trials).findings}
    assert {f.soundness for f in _injected(run, trials, 0.75)} == {"doubtful"}
    assert {f.soundness for f in _injected(run, trials, 0.95)} == {"invalid"}
    assert {f.soundness for f in _injected(run, trials, 0.1)} == {"sound"}


def _injected(run: Run, trials: list[Trial], share: float) -> list[Finding]:
    """What is found where each echo's median takes that share of an answer's millisecond."""
    level = [_with_median(t, 1e6 * (share if t.is_client_baseline else 1)) for t in trials]
    return load_audits()["round_trip"].judge(RunView(run, level))


def _with_median(trial: Trial, ns: float) -> Trial:
    record = trial.phases[-1]
    latency = structs.replace(record.streams[0].latency, percentiles_ns={"50": round(ns)})
    stream = structs.replace(record.streams[0], latency=latency)
    return structs.replace(trial, phases=(structs.replace(record, streams=(stream,)),))
