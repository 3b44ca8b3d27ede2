"""Ways to be fooled by the client, the host and the clock: injected in a record, and caught."""

from __future__ import annotations

from typing import Any

from audit_records import CLEAN, NEW, OLD, a_run, a_trial, findings, recorded
from fakes import (
    make_latency,
    make_phase,
    make_readings,
    make_record,
    make_run,
    make_tally,
    make_trial,
    make_trials,
)
from judging import CROWDED, NOISY, logs, noisy
from msgspec.structs import replace
from ways_to_be_fooled import assert_caught, assert_dropped

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import (
    CLIENT_BASELINE,
    Conditions,
    ControlCondition,
    Finding,
    PinningCondition,
    Reading,
    Run,
    Suspended,
    Switches,
    Trial,
    Usage,
    name_echo,
)
from dyno.runs.resolve.design import TURNS

SERVERS = tuple(replace(side, embedded=False) for side in (OLD, NEW))
CALM = logs(0.0, 0.005, 10)


def said(audit: str, trials: list[Trial], run: Run | None = None) -> list[Finding]:
    """The audit's findings on trials of `null` under two names."""
    return load_audits()[audit].judge(RunView(run or make_run(), trials))


def test_a_driver_at_the_limit_of_its_core() -> None:
    busy = Reading("client", "driver_busy_percent", "%", "lower", 99.0, False)
    server = Reading("process", "server_cpu_us", "µs", "lower", 1e6, True)
    pinned = Conditions(pinning=PinningCondition((1,), (0,)))
    trial = recorded(a_trial(3, "new", connections=4), readings=(busy, server))
    found = findings("client_bottleneck", a_run(*SERVERS), replace(trial, conditions=pinned))
    assert_caught("busy-client", found)


def test_time_that_is_the_script_s() -> None:
    baseline = a_trial(1, CLIENT_BASELINE, cpu_ns=9_500)
    assert_caught("client-time", findings("client_share", a_run(), baseline, *CLEAN[1:]))


def test_a_script_whose_own_cost_is_not_known() -> None:
    assert_caught("no-baseline", findings("client_share", a_run(), *CLEAN[1:]))


def test_a_way_that_is_longer_than_the_work() -> None:
    echo = make_tally(1000, name="echo", latency=make_latency(95e3))
    way = make_trial(1, name_echo("new"), -1, 1, phases=(make_record([echo]),))
    answers = a_trial(3, "new", latency=make_latency(100e3), round_trips=10_000)
    assert_caught("round-trip", findings("round_trip", a_run(SERVERS[1]), way, answers))


def test_requests_that_are_sent_late() -> None:
    phase = make_phase(primary=("latency_ns_p99",))
    phase["streams"][0]["pace"] = {"kind": "uniform", "rate_per_s": 100.0}
    late: dict[str, Any] = {"done": 1000, "intended": 1000, "target_per_s": 100.0}
    late |= {"latency": make_latency(21e6, 1000), "lateness": make_latency(20e6, 1000)}
    found = findings("driver_late", a_run(phase=phase), a_trial(3, "new", **late))
    assert_caught("late-driver", found)


def test_a_driver_that_waits_for_its_core() -> None:
    waited = Reading("client", "driver_waited_percent", "%", "lower", 60.0, False)
    trial = recorded(a_trial(3, "new"), readings=(waited,))
    assert_caught("waits-for-core", findings("driver_late", a_run(), trial))


def test_users_who_wait_while_another_one_connects() -> None:
    trial = recorded(a_trial(3, "new"), held_up_ns=500_000_000, held_up_ns_max=500_000_000)
    assert_caught("held-up", findings("driver_late", a_run(), trial))


def omitted(metric: str = "rate_per_s", **tally: Any) -> list[Finding]:
    """`new` with such a tally, judged by a metric."""
    phase = make_phase(primary=(metric,))
    return findings("coordinated_omission", a_run(phase=phase), a_trial(3, "new", **tally))


def test_a_wait_that_no_latency_holds() -> None:
    assert_caught("omission", omitted(target_per_s=1e3, lateness=make_latency(2e6, 10_000)))


def test_users_who_rest_unsaid() -> None:
    assert_caught("idle-users", omitted(connections=3))


def test_events_that_were_cut_off() -> None:
    cut = {"cut": 200, "cut_ns_max": 13_000_000_000, "failed": 200, "intended": 10_200}
    latency = make_latency(1e6, 10_200)
    assert_caught("cut-off", omitted("latency_ns_p99", latency=latency, **cut))


def test_too_few_events_for_a_percentile() -> None:
    few = a_trial(3, "new", latency=make_latency(1e6, 900))
    run = a_run(primary=("latency_ns_p99",))
    assert_caught("few-events", findings("percentiles", run, few))


def test_an_event_that_no_histogram_holds() -> None:
    lost = a_trial(3, "new", latency=make_latency(1.0, 9_999))
    assert_caught("lost-events", findings("counters", a_run(), *CLEAN[:2], lost))


def test_a_counter_that_wraps() -> None:
    wrapped = recorded(CLEAN[2], readings=make_readings(read_bytes=-(2.0**32)))
    assert_caught("wrapped", findings("counters", a_run(), *CLEAN[:2], wrapped))


def test_more_cpu_time_than_there_was() -> None:
    run = replace(a_run(), host={"cores": "2"})
    spent = recorded(CLEAN[2], usage=Usage(50 * 10**9, 0, 0, 0, 0))
    assert_caught("more-cpu", findings("counters", run, *CLEAN[:2], spent))


def test_a_hog() -> None:
    trials = noisy(make_trials({"new": CALM}), {3}, CROWDED)
    assert_dropped("hog", RunView(make_run(), trials).dropped)


def test_stolen_cores() -> None:
    trials = noisy(make_trials({"new": CALM}), {3}, NOISY)
    assert_dropped("steal", RunView(make_run(), trials).dropped)


def beside(host: dict[str, float], trials: list[Trial], names: set[str]) -> list[Trial]:
    """`trials` with this host beside those of `names`."""
    return [
        replace(
            t,
            phases=tuple(replace(p, readings=make_readings(host)) for p in t.phases),
        )
        if t.candidate in names
        else t
        for t in trials
    ]


def test_a_host_that_is_loud_half_of_the_time() -> None:
    trials = noisy(make_trials({"new": CALM}), {1, 3, 5, 7, 9}, CROWDED)
    assert_caught("loud-host", said("noise", trials))


def test_a_hog_beside_one_side() -> None:
    trials = noisy(make_trials({"new": CALM}), {1, 3, 5, 7}, CROWDED)
    assert_caught("hog-beside-one", said("noise", trials))


def test_a_quota_on_one_side() -> None:
    calm = {"steal_ns": 0.0, "busy_ns": 1e9, "idle_ns": 19e9, "own_ns": 1e9, "psi_cpu_ns": 0.0}
    trials = beside(calm, make_trials({"new": CALM}), {"old", "new"})
    held_back = beside(calm | {"psi_cpu_ns": 6e9}, trials, {"new"})
    some = [each if t.block < 4 else t for t, each in zip(trials, held_back, strict=True)]
    assert_caught("quota", said("noise", some))


def test_others_who_always_work_beside_one_side() -> None:
    host = {"steal_ns": 0.0, "busy_ns": 50.0, "idle_ns": 50.0, "own_ns": 41.0}
    trials = beside(host, make_trials({"new": CALM}), {"new"})
    assert_caught("others-beside-one", said("unlike_conditions", trials))


def test_a_difference_that_follows_the_noise() -> None:
    values = [0.60, 0.61, 0.59, 0.22, 0.23, 0.21, 0.20]
    percents = [0.0, 1.0, 2.0, 30.0, 31.0, 29.0, 35.0]
    trials = []
    for trial in make_trials({"new": values}):
        foreign = percents[trial.block]
        host = {"steal_ns": 0.0, "busy_ns": 50 + foreign, "idle_ns": 50 - foreign, "own_ns": 50.0}
        trials += beside(host, [trial], {"old", "new"})
    assert_caught("noise-decides", said("noise_effect", trials))


def test_slow_blocks_that_were_dropped() -> None:
    trials = noisy(make_trials({"new": [*CALM, 0.10, 0.12, 0.11]}), {10, 11, 12}, CROWDED)
    assert_caught("slow-blocks-dropped", said("dropped_blocks", trials))


def held(ours: Conditions, theirs: Conditions, run: Run | None = None) -> list[Finding]:
    """`old` and `new` under these conditions."""
    trials = [replace(CLEAN[at], conditions=each) for at, each in ((1, ours), (2, theirs))]
    return findings("unlike_conditions", run or a_run(*SERVERS), *trials)


def test_a_core_of_its_own_for_one_side() -> None:
    own, any_core = (Conditions(pinning=PinningCondition((1,), cores)) for cores in ((0,), ()))
    assert_caught("other-core", held(own, any_core))


def test_a_control_that_holds_for_one_side() -> None:
    controls = (ControlCondition("on", refused=why) for why in ("", "no such file"))
    kept, refused = (Conditions({"huge_pages": each}) for each in controls)
    assert_caught("control-refused", held(kept, refused))


def test_a_server_that_has_been_running_for_days() -> None:
    runs = replace(SERVERS[1], build={"address": "//u@h/d", "source": "runs"})
    run = a_run(SERVERS[0], runs)
    assert_caught("runs-already", held(Conditions(), Conditions(), run))


def clock(mean_ns: float = 1e6, **readings: float) -> list[Finding]:
    """The probe of the clock read this beside `new`."""
    read = tuple(Reading("clock", n, "ns", "lower", v, False) for n, v in readings.items())
    trial = a_trial(3, "new", latency=make_latency(mean_ns, 10_000))
    return findings("clock", a_run(), *CLEAN[:2], recorded(trial, readings=read))


def test_a_clock_that_is_set() -> None:
    assert_caught("clock-set", clock(realtime_step_ns=-3.6e12))


def test_a_clock_that_runs_too_fast() -> None:
    assert_caught("clock-bent", clock(clock_slew_ns=3e8))


def test_a_clock_that_takes_longer_than_the_work() -> None:
    assert_caught("dear-clock", clock(2e4, clock_read_ns=900))


def interleaved(run: Run, counted_s: float = 9.0, overrun: int = 0) -> list[Finding]:
    """`new` had so much time, and so many of its events outlasted their turns; `old` had 9 s."""
    run = replace(run, design=replace(run.design, interleaving=TURNS))
    trials = []
    for number, (name, own_s, lay) in enumerate((("old", 9.0, 0), ("new", counted_s, overrun)), 2):
        tally = replace(make_tally(1000), overrun=lay)
        trial = recorded(a_trial(number, name), streams=(tally,))
        trials.append(recorded(trial, counted_ns=round(1e9 * own_s)))
    return findings("interleaving", run, *trials)


def test_less_time_for_one_side() -> None:
    assert_caught("short-slices", interleaved(a_run(), counted_s=8.0))


def test_an_engine_with_a_process_that_could_not_be_suspended() -> None:
    run = replace(a_run(), design=replace(a_run().design, interleaving=TURNS))
    trials = [
        recorded(
            a_trial(number, name),
            counted_ns=9 * 10**9,
            switches=Switches(9, 0, 0, refused, Suspended()),
        )
        for number, name, refused in ((2, "old", 0), (3, "new", 2))
    ]
    found = findings("interleaving", run, *trials)
    assert_caught("not-suspended", found)
    assert [f.trials for f in found] == [(3,)] and "2 of its processes" in found[0].sentence


def test_work_in_the_slices_of_the_other_side() -> None:
    theirs = replace(SERVERS[1], build={"address": "db.example:5432"})
    assert_caught("others-slices", interleaved(a_run(SERVERS[0], theirs), overrun=200))
