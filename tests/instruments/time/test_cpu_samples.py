"""The CPU sampler beside the phases of trials: when it begins and ends, what its death costs."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_driver import GOOD, ONE_BLOCK, PHASE, FakeSetup, fake_setup
from fake_engine import Journal
from fakes import make_candidate
from msgspec import structs
from small_scripts import PLAIN

from dyno.driver import Ready
from dyno.driver.sampler import CpuSampler, SamplingStarted
from dyno.errors import HostError, TrialFailed, UsageError
from dyno.instruments.time.cpu_samples import PhaseSampler
from dyno.instruments.time.job import Tools
from dyno.instruments.time.run import Rules, play_run
from dyno.instruments.time.trial import play_trial
from dyno.record import Trial
from dyno.record.profile import PROFILE, CpuProfile, ProfiledFunction
from dyno.runs import experiment
from dyno.runs.experiment import Measuring
from dyno.runs.resolve.design import choose_cpu_sampling, try_sampling
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import RunFolder, create_run

PROFILES = CpuProfile(1, 0, 1_000_000, (ProfiledFunction("f", "/x/engine", 0, "", 1, "other"),))


class FakeSampler:
    """Notes what is asked of it, and fails where it is told to."""

    def __init__(self, journal: Journal, fails_at: str = "") -> None:
        self.journal, self.fails_at, self.sides = journal, fails_at, 0

    def _note(self, step: str) -> None:
        self.journal.append(f"sampler {step}")
        if step == self.fails_at:
            raise TrialFailed("the CPU sampler ended before it answered")

    def start(self, pids: Sequence[int], *, stacks: bool = False) -> SamplingStarted:
        del stacks
        self.sides = len(pids)
        self._note("start")
        return SamplingStarted("cpu-clock", "cpus", True)

    def stop(self) -> None:
        self._note("stop")

    def name(self) -> list[CpuProfile]:
        self._note("name")
        return [PROFILES] * self.sides

    def close(self) -> None:
        self._note("close")


@pytest.fixture
def setup() -> FakeSetup:
    return fake_setup()


def play_sampled(setup: FakeSetup, tmp_path: Path, fails_at: str = "") -> Trial:
    sampler = PhaseSampler(lambda: FakeSampler(setup.journal, fails_at))
    candidate = structs.replace(make_candidate("a"), embedded=True)
    job = setup.job(tmp_path, sampler=sampler, candidate=candidate)
    trial, error = play_trial(job, setup.events.append)
    assert error is None
    return trial


def test_sampling_begins_after_the_probes_and_ends_before_them(
    setup: FakeSetup, tmp_path: Path
) -> None:
    trial = play_sampled(setup, tmp_path)
    begin = setup.journal.index("sampler start")
    assert setup.journal[begin - 1 : begin + 2] == ["sample", "sampler start", "go"]
    end = setup.journal.index("sampler stop")
    assert setup.journal[end : end + 3] == ["sampler stop", "sample", "sampler name"]
    assert trial.phases[0].profile == PROFILES
    assert trial.phases[0].unread == {}


@pytest.mark.parametrize("step", ["start", "stop", "name"])
def test_a_sampler_that_fails_costs_the_profile_and_not_the_phase(
    setup: FakeSetup, tmp_path: Path, step: str
) -> None:
    trial = play_sampled(setup, tmp_path, step)
    assert trial.status == "ok"
    (phase,) = trial.phases
    assert phase.profile is None
    assert phase.unread == {PROFILE: "the CPU sampler ended before it answered"}
    assert phase.readings


def test_what_prepares_is_not_sampled(setup: FakeSetup, tmp_path: Path) -> None:
    prepared = structs.replace(PHASE, phase="prepare")
    setup.driver_says = [(GOOD[0], Ready("prepare", 1), prepared, GOOD[-1])]
    assert play_sampled(setup, tmp_path).phases[0].profile is None
    assert not any(each.startswith("sampler") for each in setup.journal)


def prepare_run(tmp_path: Path, **changes: object) -> tuple[Prepared, RunFolder]:
    file = tmp_path / "select.lua"
    file.write_text(PLAIN)
    limits = {"steal_percent": 100.0, "foreign_percent": 100.0}
    measuring = Measuring(blocks=3, fixed=True, seed=1, limits=limits)
    measuring = dataclasses.replace(measuring, **changes)  # type: ignore[arg-type]
    options = {"time": "0.4", "warmup_time": "0.1"}
    specs = ("null@0us", "null@50us")
    made = experiment.compare_candidates(specs, str(file), options, measuring)
    if measuring.cpu_stacks:  # of two workloads each has its own
        other = Path(shutil.copy(file, tmp_path / "again.lua"))
        again = dataclasses.replace(made.workloads[0], name=str(other))
        made = dataclasses.replace(made, workloads=(*made.workloads, again))
    prepared = draft_run(made, lambda _: None)
    sampling = prepared.run.cpu_sampling
    if sampling and "perf_event" in sampling.missing:
        pytest.skip(sampling.missing)
    return prepared, create_run(prepared.run, tmp_path / "runs")


def list_good(folder: RunFolder) -> list[Trial]:
    return [trial for trial in folder.read_trials() if trial.block >= 0]


@pytest.mark.slow
def test_interleaved_each_engine_has_the_samples_of_its_own_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them hardly does anything but wait."""
    monkeypatch.chdir(tmp_path)
    prepared, folder = prepare_run(tmp_path)
    assert prepared.run.design.interleaving
    play_run(prepared, folder, lambda _: None, ONE_BLOCK)
    sampled = {"null@0us": 0, "null@50us": 0}
    for trial in list_good(folder):
        profile = trial.phases[-1].profile
        assert profile is not None and profile.samples > 0
        assert any("dyno-driver" in each.module for each in profile.functions)
        sampled[trial.candidate] += profile.samples
        assert trial.phases[0].profile is None or trial.phases[0].phase != "prepare"
    assert folder.read_run().cpu_sampling == prepared.run.cpu_sampling


@pytest.mark.chaos
def test_a_sampler_that_is_killed_costs_one_profile_and_the_next_phase_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepared, folder = prepare_run(tmp_path)
    made: list[CpuSampler] = []

    def make() -> CpuSampler:
        made.append(CpuSampler())
        return made[-1]

    class Fatal(CpuSampler):
        """It is killed in its second phase."""

        starts = 0

        def stop(self) -> None:
            self.starts += 1
            if self.starts == 2:
                os.kill(self.pid, signal.SIGKILL)
            super().stop()

    def make_fatal() -> CpuSampler:
        if made:
            return make()
        made.append(Fatal())
        return made[0]

    play_run(prepared, folder, lambda _: None, Rules(tools=Tools(make_sampler=make_fatal)))
    trials = list_good(folder)
    assert {trial.status for trial in trials} == {"ok"}
    missing = [t.phases[-1].unread for t in trials if t.phases[-1].profile is None]
    assert missing == [{PROFILE: "the CPU sampler ended before it answered"}] * 2
    assert len(made) == 2
    assert not Path(f"/proc/{made[1].pid}").exists()


@pytest.mark.slow
def test_nobody_samples_where_it_is_not_wanted_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepared, folder = prepare_run(tmp_path, cpu_profile=False)
    assert prepared.run.cpu_sampling and "--profile off" in prepared.run.cpu_sampling.missing
    play_run(prepared, folder, lambda _: None, ONE_BLOCK)
    assert {trial.phases[-1].profile for trial in list_good(folder)} == {None}


def test_a_host_that_permits_nothing_is_tried_before_the_first_trial() -> None:
    class Refused(CpuSampler):
        def start(self, pids: Sequence[int], **_: object) -> SamplingStarted:
            raise HostError("perf_event_paranoid is 3")

    assert try_sampling(Refused).missing == "perf_event_paranoid is 3"
    side = structs.replace(make_candidate("a"), build={"address": "mysql:///x"})
    assert "run already" in choose_cpu_sampling(Measuring(), [side], Refused).missing


def test_a_server_is_not_sampled_thread_by_thread_and_an_embedded_engine_is() -> None:
    class OfThreads(CpuSampler):
        def __init__(self) -> None:
            self.period_ns = 1

        def start(self, pids: Sequence[int], **words: Any) -> SamplingStarted:
            return SamplingStarted("cpu-clock", "threads", False)

        def stop(self) -> None:
            pass

        def close(self) -> None:
            pass

    server = structs.replace(make_candidate("a"), engine="postgres", embedded=False)
    assert "each thread only" in choose_cpu_sampling(Measuring(), [server], OfThreads).missing
    engine = structs.replace(make_candidate("a"), engine="sqlite", embedded=True)
    assert not choose_cpu_sampling(Measuring(), [engine], OfThreads).missing


@pytest.mark.slow
def test_callers_are_sampled_in_a_trial_of_each_beside_the_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepared, folder = prepare_run(tmp_path, cpu_stacks=True)
    play_run(prepared, folder, lambda _: None, ONE_BLOCK)
    trials = list_good(folder)
    assert all(not p.stacks for t in trials for p in (t.phases[-1].profile,) if p)
    found = folder.read_profiles()
    sides = {(each.workload, each.candidate) for each in found}
    assert len(sides) == len(found) == 4
    assert {each.number for each in found}.isdisjoint(
        trial.number for trial in folder.read_trials()
    )
    profile = next(each for each in found if each.candidate == "null@0us").phases["run"]
    assert 0 < sum(each.samples for each in profile.stacks) <= profile.samples
    assert all(each.layer for each in profile.functions)


def test_callers_cannot_be_asked_for_where_nothing_is_sampled() -> None:
    with pytest.raises(UsageError, match="cpu_stacks needs cpu_profile"):
        choose_cpu_sampling(Measuring(cpu_profile=False, cpu_stacks=True), [])
