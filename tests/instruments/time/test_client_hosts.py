"""A comparison whose load several hosts play: prepared, played, resumed, and refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dyno.compare.pilot.prepare import prepare
from dyno.errors import DynoError, UsageError
from dyno.instruments.time.run import resume_run
from dyno.instruments.time.watch import TrialEnded
from dyno.judge.analysis.judge import judge
from dyno.runs.experiment import Experiment, Measuring, compare_candidates, read_experiment
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import RunFolder, create_run

HOSTS = [{"name": name, "command": ["env", f"HOST={name}"]} for name in ("c1", "c2")]
OPTIONS = {"time": "0.4", "warmup_time": "0.1", "threads": "4"}
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}


def make_experiment(
    *sides: str, options: Mapping[str, str] = OPTIONS, **measuring: Any
) -> Experiment:
    asked = Measuring(blocks=3, fixed=True, seed=1, limits=CALM, **measuring)
    made = compare_candidates(sides, "oltp_point_select", options, asked)
    return replace(made, client_hosts=HOSTS)


def begin(made: Experiment, home: Path) -> RunFolder:
    draft = draft_run(made, lambda _: None)
    assert draft.clients
    with draft.clients:
        prepared = prepare(draft, lambda _: None)
        return create_run(prepared.run, home)


@pytest.mark.slow
@pytest.mark.parametrize("sequential", [True, False])
def test_a_run_is_played_from_two_hosts_and_goes_on_after_a_stop(
    tmp_path: Path, sequential: bool
) -> None:
    made = make_experiment("a=null@2ms", "b=null@3ms", sequential=sequential)
    folder = begin(made, tmp_path)

    def stop(event: object) -> None:
        if isinstance(event, TrialEnded) and event.trial.block == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resume_run(folder, stop)
    assert {host.name for host in folder.read_run().client_hosts} == {"c1", "c2"}
    resume_run(folder, lambda _: None)
    trials = [trial for trial in folder.read_trials() if trial.status == "ok"]
    assert {trial.block for trial in trials} == {0, 1, 2}
    for trial in trials:
        (record,) = [each for each in trial.phases if each.phase == "run"]
        assert [(part.host, part.users) for part in record.clients] == [("c1", 2), ("c2", 2)]
        assert sum(part.done["event"] for part in record.clients) == record.streams[0].done > 0
        assert bool(record.streams[0].slices) != sequential
    verdict = judge(folder.read_run(), folder.read_trials())
    told = [each.sentence for each in verdict.findings if each.audit == "client_hosts"]
    assert any("started within" in each for each in told)


@pytest.mark.parametrize(
    ("side", "options", "controls", "says"),
    [
        ("sqlite@system", {}, {}, "sqlite lives in the driver's process"),
        ("postgres@18", {}, {}, "a server that Dyno starts listens on this machine only"),
        ("null@2ms", {}, {"pinning": "apart"}, "pinning=apart and --client-hosts contradict"),
        ("null@2ms", {"threads": "1"}, {}, "it has 1 users for 2 client hosts"),
    ],
)
def test_what_cannot_be_played_from_several_hosts_is_refused_before_anything_is(
    side: str, options: dict[str, str], controls: dict[str, str], says: str
) -> None:
    made = make_experiment(
        f"a={side}", f"b={side}", options=OPTIONS | options, controls=controls, aa=True
    )
    with pytest.raises(UsageError) as refused:
        draft_run(made, lambda _: None)
    assert says in str(refused.value)


@pytest.mark.parametrize("words", ["'ssh:a,a'", "3", "[]"])
def test_hosts_of_an_experiment_that_are_none_are_refused(tmp_path: Path, words: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        f"client_hosts = {words}\ncandidates = ['a=null@1ms', 'b=null@2ms']\n"
        "[[workload]]\nname = 'oltp_point_select'\n"
    )
    with pytest.raises(DynoError, match="client host"):
        draft_run(read_experiment(file), lambda _: None)


def test_an_experiment_names_its_hosts(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(
        "candidates = ['a=null@1ms', 'b=null@2ms']\n"
        "[[workload]]\nname = 'oltp_point_select'\noptions = { threads = 4 }\n"
        "[[client_hosts]]\nname = 'c1'\ncommand = ['env']\n"
    )
    draft = draft_run(read_experiment(file), lambda _: None)
    assert draft.clients
    with draft.clients:
        assert [host.name for host in draft.clients.hosts] == ["c1"]
        assert draft.design.controls["pinning"] == "off"
