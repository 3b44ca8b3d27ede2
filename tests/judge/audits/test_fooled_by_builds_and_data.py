"""Ways to be fooled by programs, settings, data and work: injected in a record, and caught."""

from __future__ import annotations

from typing import Any

from audit_records import CLEAN, COUNT, NEW, OLD, a_run, a_trial, engine, findings, recorded
from crossed import crossed, played
from fakes import make_load, make_phase, make_readings, make_tally
from msgspec.structs import replace
from ways_to_be_fooled import assert_caught, assert_refused

from dyno.judge.analysis.effects import list_declared_primaries
from dyno.record import (
    Candidate,
    Conditions,
    DataCondition,
    Evidence,
    Factor,
    Failure,
    Finding,
    Reading,
    Run,
    Series,
    StorageCondition,
    Trial,
)

MB = 1_000_000
SERVERS = tuple(replace(side, embedded=False) for side in (OLD, NEW))
SAME = tuple(replace(side, build={"sha256": "1f"}) for side in SERVERS)
DISK = StorageCondition("ext4 on /dev/sda", size_bytes=10**12, free_bytes=10**11)


def built(**facts: str) -> list[Finding]:
    """`new` is a build of these facts; `old` is one for release."""
    release = {"assertions": "off", "optimisation": "-O2"}
    run = a_run(replace(OLD, build=release), replace(NEW, build=release | facts))
    return findings("build_quality", run, *CLEAN)


def under(audit: str, run: Run, ours: Conditions, theirs: Conditions) -> list[Finding]:
    """Both sides change rows, `old` under one condition and `new` under the other."""
    sides = (("old", ours), ("new", theirs))
    trials = [
        replace(a_trial(at, name, rows_changed=5), conditions=conditions)
        for at, (name, conditions) in enumerate(sides, 2)
    ]
    return findings(audit, run, *trials)


def stored(**changes: Any) -> list[Finding]:
    """The disk under `new` differs so from that under `old`."""
    conditions = (Conditions(storage=disk) for disk in (DISK, replace(DISK, **changes)))
    return under("storage", a_run(), *conditions)


def test_a_build_with_assertions() -> None:
    assert_caught("assertions", built(assertions="on"))


def test_a_build_with_a_sanitizer() -> None:
    assert_caught("sanitizer", built(instrumentation="address sanitizer"))


def test_a_build_without_optimisation() -> None:
    assert_caught("no-optimisation", built(optimisation="-O0"))


def test_one_program_under_two_names() -> None:
    assert_caught("one-program", findings("same_program", a_run(*SAME), *CLEAN))


def test_two_programs_that_are_said_to_be_one() -> None:
    run = a_run(replace(OLD, build={"sha256": "1f"}), replace(NEW, build={"sha256": "2e"}))
    declared = replace(run, design=replace(run.design, aa=True))
    assert_caught("not-aa", findings("same_program", declared, *CLEAN))


def test_a_side_that_crashes_now_and_then() -> None:
    died = Failure("the server died")
    crashed = [replace(a_trial(n, "new"), status="failed", failure=died) for n in (5, 6)]
    assert_caught("crashes", findings("failed_restarts", a_run(), *CLEAN, *crashed))


def told(run: Run, *settings: dict[str, str]) -> list[Finding]:
    """What `old`, then `new` in each of its restarts, reports of its settings."""
    names = ("old", *["new"] * (len(settings) - 1))
    trials = [
        replace(a_trial(at, name), settings=each)
        for at, (name, each) in enumerate(zip(names, settings, strict=True), 2)
    ]
    return findings("settings", run, *trials)


def test_a_setting_that_is_not_in_force() -> None:
    run = a_run(OLD, replace(NEW, settings={"cache": "64MB"}))
    assert_caught("not-taken", told(run, {}, {"cache": "128MB (default)"}))


def test_a_setting_that_nobody_asked_to_differ() -> None:
    assert_caught("unasked", told(a_run(*SAME), {"jit": "off"}, {"jit": "on"}))


def test_a_setting_that_changes_between_restarts() -> None:
    assert_caught("unsteady", told(a_run(*SAME), {}, {"cache": "1"}, {"cache": "2"}))


def test_a_factor_with_one_level_under_two_names() -> None:
    run = crossed()
    kinds = tuple(Factor(f.name, "engine setting", f.levels) for f in run.factors)
    run = replace(run, factors=kinds)
    same = [replace(t, settings={"aslr": "ON"}) for t in played(run, lambda _: 0.0, blocks=2)]
    assert_caught("level", findings("levels", run, *same))


def test_a_larger_cache_on_one_side() -> None:
    small = DataCondition(size_bytes=200 * MB, cache_bytes=128 * MB)
    large = replace(small, cache_bytes=1000 * MB)
    conditions = (Conditions(data=small), Conditions(data=large))
    assert_caught("small-cache", under("unlike_conditions", a_run(*SERVERS), *conditions))


def test_commits_that_do_not_wait_for_the_disk_on_one_side() -> None:
    safe, unsafe = (DataCondition(survives=words) for words in ("a power cut", "nothing"))
    conditions = (Conditions(data=safe), Conditions(data=unsafe))
    assert_caught("commit-lost", under("durability", a_run(), *conditions))


def test_rows_that_were_lost() -> None:
    wrong = replace(CLEAN[2], evidence=(Evidence("rows", COUNT, 7, "6"),))
    assert_caught("lost-rows", findings("ledger", a_run(), *CLEAN[:2], wrong))


def test_other_values_in_an_answer() -> None:
    sums = [(Evidence("sum", COUNT, 0, "2", digest),) for digest in ("1f", "2e")]
    trials = [
        replace(trial, block=0, evidence=each) for trial, each in zip(CLEAN[1:], sums, strict=True)
    ]
    assert_caught("wrong-answers", findings("results", a_run(), *trials))


def test_fewer_rows_in_an_answer() -> None:
    few = a_trial(3, "new", rows_read=7_000)
    assert_caught("fewer-rows", findings("results", a_run(), CLEAN[1], few))


def test_a_tenth_of_the_data() -> None:
    run = a_run()
    large = replace(run.workloads[0], size_bytes=1000 * MB)
    held = Conditions(data=DataCondition(100 * MB, 500 * MB))
    assert_caught("small-data", under("data_size", replace(run, workloads=(large,)), held, held))


def fetched(data: DataCondition, fetched_mb: float) -> list[Finding]:
    """`new` read so much from storage, of such data."""
    trial = recorded(a_trial(3, "new"), readings=make_readings(read_bytes=fetched_mb * MB))
    return findings("caching", a_run(), replace(trial, conditions=Conditions(data=data)))


def test_data_that_are_not_in_memory_as_claimed() -> None:
    assert_caught("not-cached", fetched(DataCondition(1000 * MB, 2000 * MB, "cached"), 60))


def test_data_that_are_in_memory_against_the_claim() -> None:
    assert_caught("page-cache", fetched(DataCondition(1000 * MB, 64 * MB, "io-bound"), 0))


def test_a_cold_start_of_one_side() -> None:
    theirs = replace(SERVERS[1], build={"address": "//u@h/d"})
    held = Conditions(data=DataCondition(200 * MB, 128 * MB))
    reads = Reading("process", "read_bytes", "bytes", "lower", 9e7, False)
    cold = replace(recorded(a_trial(2, "old"), readings=(reads,)), conditions=held)
    warm = replace(recorded(a_trial(3, "new"), readings=()), conditions=held)
    found = findings("unlike_conditions", a_run(SERVERS[0], theirs), cold, warm)
    assert any("only old fetched its data from storage" in each.sentence for each in found)
    assert_caught("cold-start", found)


def test_a_single_load_behind_every_restart() -> None:
    trials = [
        replace(a_trial(2 * n + at, name), block=n, conditions=Conditions(load=make_load(name)))
        for n in range(4)
        for at, name in enumerate(("old", "new"))
    ]
    assert_caught("one-load", findings("loads", a_run(), *trials))


def test_a_copied_load_on_one_side() -> None:
    conditions = (Conditions(load=make_load()), Conditions())
    assert_caught("copied-load", under("unlike_conditions", a_run(*SERVERS), *conditions))


def test_data_in_memory() -> None:
    assert_caught("in-memory", stored(file_system="tmpfs on tmpfs"))


def test_data_on_different_disks() -> None:
    assert_caught("another-disk", stored(file_system="xfs on /dev/sdb"))


def test_a_full_disk() -> None:
    assert_caught("full-disk", stored(free_bytes=500 * MB))


def test_a_disk_at_its_limit() -> None:
    disk = replace(DISK, limits="8:0 wbps=1000000")
    written = make_readings(written_bytes=9.5e6)
    trial = recorded(a_trial(3, "new", rows_changed=5), readings=written)
    limited = replace(trial, conditions=Conditions(storage=disk))
    assert_caught("disk-limit", findings("storage", a_run(), limited))


def test_changes_that_are_never_written() -> None:
    trial = recorded(a_trial(3, "new", rows_changed=5), readings=make_readings(written_bytes=0.0))
    unwritten = replace(trial, conditions=Conditions(storage=DISK))
    assert_caught("no-write", findings("storage", a_run(), unwritten))


def test_a_side_that_does_nothing() -> None:
    nothing = a_trial(3, "new", done=0, intended=0, series=Series((), (), ()))
    assert_caught("no-work", findings("ledger", a_run(), *CLEAN[:2], nothing))


def test_events_that_fail_on_one_side() -> None:
    failing = a_trial(3, "new", failed=2_000, intended=12_000)
    assert_caught("failures", findings("errors", a_run(), CLEAN[1], failing))


def test_attempts_that_are_thrown_away() -> None:
    again = a_trial(3, "new", restarted=11_000, errors={"1213": 11_000})
    assert_caught("thrown-away", findings("errors", a_run(), CLEAN[1], again))


def counted(side: Candidate, statements: float) -> list[Finding]:
    """The server counted so many statements, and 10,000 were sent."""
    own = Reading("server", "server_statements", "statements", "lower", statements, False)
    trial = recorded(a_trial(3, "new", claimed=10_000), readings=(*make_readings(), own))
    return findings("server_count", a_run(OLD, side), *CLEAN[:2], trial)


def test_statements_that_the_server_never_saw() -> None:
    assert_caught("unseen-work", counted(SERVERS[1], 9_000))


def test_somebody_else_at_the_server() -> None:
    theirs = replace(SERVERS[1], build={"address": "joe@db.example/bench"})
    assert_caught("foreign-work", counted(theirs, 11_000))


def seconds(done: list[int]) -> Trial:
    """A restart of `new` that did so much in each second."""
    series = Series(tuple(done), (0,) * len(done), (1,) * len(done))
    return recorded(a_trial(3, "new"), streams=(replace(make_tally(1000), series=series),))


def test_a_rate_that_still_changes() -> None:
    warming = [replace(seconds([400] * 6 + [1000] * 4), number=n, block=n) for n in range(3, 9)]
    assert_caught("warming-up", findings("steady_state", a_run(), *warming))


def test_seconds_without_an_answer() -> None:
    assert_caught("stalls", findings("stalls", a_run(), seconds([1000, 0, 0, 0, *[1000] * 6])))


def test_the_rate_of_a_paced_stream_is_no_primary() -> None:
    phase = make_phase()
    phase["streams"][0]["pace"] = {"kind": "uniform", "rate_per_s": 100.0}
    run = a_run(engine("old"), phase=phase)
    assert_refused("paced-rate", not list_declared_primaries(run, run.workloads[0]))
