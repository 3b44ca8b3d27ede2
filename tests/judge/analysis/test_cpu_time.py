"""A verdict by CPU time: on a host too busy for wall time, and refused where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes import make_readings, make_run, make_tally, make_trials
from judging import CROWDED, judge_unaudited, logs
from msgspec import structs

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.judge.analysis.cpu_time import judge_by_cpu
from dyno.judge.analysis.judge import judge
from dyno.record import Run, Trial
from dyno.runs.run_folder import create_run

#: Blocks whose CPU time of an operation on the candidate is 5 % more.
DEARER = logs(0.05, 0.005, 12)


def make_busy_run(**changes: object) -> Run:
    run = make_run(analyses=(6, 12))
    sides = (structs.replace(side, engine="sqlite") for side in run.candidates)
    return structs.replace(run, candidates=tuple(structs.replace(it, **changes) for it in sides))


def make_busy_trials(more: Sequence[float] = DEARER) -> list[Trial]:
    """Trials in which others have a third of the machine, and rates say nothing."""
    by_cost = make_trials({"new": more})
    ends = ((t, t.phases[0], make_tally(1000.0), t.phases[0].streams[0]) for t in by_cost)
    return [
        structs.replace(
            trial,
            phases=(
                structs.replace(
                    record,
                    streams=(tally,),
                    readings=make_readings(CROWDED, server_cpu_us=1e12 * tally.done / costs.done),
                ),
            ),
        )
        for trial, record, tally, costs in ends
    ]


def test_a_busy_host_offers_cpu_time_and_that_says_what_wall_time_could_not() -> None:
    run, trials = make_busy_run(), make_busy_trials()
    by_time = judge_unaudited(run, trials)
    assert by_time.overall == "inconclusive"
    assert "others had 33 % of its CPU time): `dyno report RUN --by cpu`" in by_time.sentence
    found = judge_unaudited(judge_by_cpu(run, trials), trials)
    assert (found.overall, found.dropped) == ("slower", ())
    assert "new is dearer than old: select takes 5.1 % more CPU time" in found.sentence
    assert found.sentence.endswith(
        "waits for I/O, locks and the network count for nothing, "
        "and what neighbours do to shared caches and cores is in it"
    )
    equal = make_busy_trials(logs(0.0, 0.005, 12))
    cleared = judge_unaudited(judge_by_cpu(run, equal), equal)
    assert cleared.overall == "not slower" and "new is not dearer than old" in cleared.sentence


def test_a_calm_host_is_offered_nothing() -> None:
    trials = make_trials({"new": logs(0.0, 0.05, 12)})
    verdict = judge_unaudited(make_busy_run(), trials)
    assert verdict.overall == "inconclusive" and "--by cpu" not in verdict.sentence


def test_audits_of_wall_time_have_no_say_by_cpu_time() -> None:
    run, trials = make_busy_run(), make_busy_trials()
    findings = judge(judge_by_cpu(run, trials), trials).findings
    words = {it.audit: it.soundness for it in findings}
    assert {words[name] for name in ("noise", "steady_state", "client_bottleneck")} == {
        "does not apply"
    }
    assert words["noise_effect"] != "does not apply"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"engine": "null"}, "its delay goes by the clock"),
        ({"build": {"address": "tcp://db"}}, "runs already"),
        ({}, "has no CPU time of the engine's processes"),
    ],
)
def test_what_has_no_cpu_time_is_refused_by_name(change: dict[str, object], told: str) -> None:
    trials = make_busy_trials() if change else make_trials({"new": DEARER})
    with pytest.raises(UsageError) as refused:
        judge_by_cpu(make_busy_run(**change), trials)
    assert told in refused.value.cause


def test_a_run_judged_anew_by_cpu_time_keeps_its_verdict_and_has_a_page_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_run(make_busy_run(), tmp_path)
    for trial in make_busy_trials():
        folder.write_trial(trial)
    assert run_words(["report", str(folder.path)]) == 0
    before = (folder.path / "verdict.json").read_bytes()
    assert run_words(["report", str(folder.path), "--by", "cpu", "--verbose"]) == 0
    assert "new is dearer than old" in " ".join(capsys.readouterr().out.split())
    assert (folder.path / "verdict.json").read_bytes() == before
    page = (folder.path / "report-cpu.html").read_text()
    assert "more CPU time" in page and "By CPU time: waits for I/O" in page
    assert "more CPU time" not in (folder.path / "report.html").read_text()
