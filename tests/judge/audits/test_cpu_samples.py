"""Audit `cpu_samples`: samples hold what the engine used, and have names; or it is said."""

from __future__ import annotations

import pytest
from audit_records import CLEAN, a_run, a_trial, findings, recorded
from msgspec import structs
from ways_to_be_fooled import assert_caught

from dyno.record import Finding, Reading
from dyno.record.profile import PROFILE, CpuProfile, CpuSampling, ProfiledFunction

PERIOD_NS = 1_000_000


def profile(named: int, nameless: int = 0, *, kernel: bool = True) -> CpuProfile:
    functions = (
        ProfiledFunction("work", "/x/engine", 0, "", named),
        ProfiledFunction("", "/x/engine", 9, "", nameless),
    )
    return CpuProfile(named + nameless, 0, PERIOD_NS, functions, kernel=kernel)


SAMPLED = CpuSampling(event="cpu-clock")


def judged(
    sampled: CpuProfile | None,
    sampling: CpuSampling | None = SAMPLED,
    unread: dict[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Of engines that used a second each, 0.6 of it in user mode."""
    names = {"server_cpu_us": 1e6, "server_user_us": 6e5}
    readings = tuple(Reading("process", n, "µs", "lower", v, True) for n, v in names.items())
    run = structs.replace(a_run(), cpu_sampling=sampling)
    trials = [
        recorded(a_trial(number, side), readings=readings, profile=sampled, unread=unread or {})
        for number, side in ((2, "old"), (3, "new"))
    ]
    return tuple(findings("cpu_samples", run, CLEAN[0], *trials))


def words_of(found: tuple[Finding, ...]) -> set[str]:
    return {finding.soundness for finding in found}


@pytest.mark.parametrize(
    ("samples", "soundness"),
    [(1000, "sound"), (700, "sound"), (1400, "sound"), (400, "doubtful"), (1600, "doubtful")],
)
def test_samples_that_do_not_add_up_are_doubtful(samples: int, soundness: str) -> None:
    assert words_of(judged(profile(samples))) == {soundness}


def test_no_sample_where_the_engine_used_cpu_is_doubtful() -> None:
    found = judged(profile(0))
    assert_caught("no-samples", found)
    assert "used 1 s of CPU, and no sample of it was taken" in found[0].sentence


def test_samples_without_the_kernel_s_are_held_against_the_time_in_user_mode() -> None:
    assert words_of(judged(profile(600, kernel=False))) == {"sound"}
    assert words_of(judged(profile(1000, kernel=False))) == {"doubtful"}


def test_how_near_samples_came_is_told() -> None:
    assert "samples hold 92 % of the CPU time used" in judged(profile(920))[0].sentence


def test_a_stripped_build_is_told() -> None:
    assert words_of(judged(profile(900, 100))) == {"sound"}
    found = judged(profile(100, 900))
    assert words_of(found) == {"sound", "not checked"}
    assert "the build is stripped" in found[-1].sentence


@pytest.mark.parametrize(
    ("sampling", "word", "said"),
    [
        (None, "not checked", "by the Dyno that played this run"),
        (CpuSampling("perf_event_paranoid is 3"), "not checked", "perf_event_paranoid is 3"),
        (CpuSampling("it was not asked for (--no-profile)"), "does not apply", "--no-profile"),
    ],
)
def test_why_nothing_was_sampled_is_told(
    sampling: CpuSampling | None, word: str, said: str
) -> None:
    (finding,) = judged(None, sampling)
    assert (finding.soundness, said in finding.sentence) == (word, True)


def test_a_profile_that_is_missing_is_told_with_its_reason() -> None:
    (finding,) = judged(None, unread={PROFILE: "the CPU sampler ended before it answered"})
    assert finding.soundness == "not checked"
    assert "the CPU sampler ended before it answered" in finding.sentence
