"""The pilot of a comparison: what it chooses from what it finds, and where it has no choice."""

from __future__ import annotations

import dataclasses

import pytest
from fake_driver import GOOD, FakeSetup, fake_setup
from fakes import make_record, make_run, make_tally, make_workload
from msgspec import structs
from ways_to_be_fooled import assert_caught

from dyno.cli.judged_run import build_repeat_command
from dyno.compare.pilot.connections import (
    _try_loads,
    apply_connections,
    choose_connections,
    choose_fewest_connections,
    compute_idle_percent,
    summarize_load,
)
from dyno.compare.pilot.prepare import choose_pinning, prepare
from dyno.instruments.time.brief_play import BRIEF, PilotContext, open_engine
from dyno.judge.analysis.run_view import RunView
from dyno.judge.analysis.sentence import describe_conditions, describe_pilot
from dyno.judge.audits import load_audits
from dyno.record import (
    SWEPT,
    Finding,
    PhaseRecord,
    Pilot,
    PinningCondition,
    Reading,
    Run,
    Saturation,
    TriedLoad,
    Usage,
)
from dyno.runs.experiment import Experiment, Measuring, Workload, compare_candidates
from dyno.runs.resolve.draft import RunDraft
from dyno.runs.resolve.experiment import draft_run

SECOND_NS = 1e9
APART = PinningCondition((3,), (0, 1, 2))
NO_USAGE = Usage(0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("idle", "connections"),
    [
        ((60.0, 20.0, 5.0), 4),
        ((3.0,), 1),
        ((60.0, 40.0, 38.0, 37.0, 36.0), 2),
        ((60.0, 12.0, 6.0), 4),
        ((60.0, 30.0, 20.0, 35.0), 4),
    ],
)
def test_the_fewest_connections_that_leave_next_to_nothing_idle(
    idle: tuple[float, ...], connections: int
) -> None:
    """Or that come as near to the least, where the server waits for something else."""
    tried = [TriedLoad(2**n, percent) for n, percent in enumerate(idle)]
    assert choose_fewest_connections(tried) == connections


def _record(usage: Usage = NO_USAGE, /, **readings: float) -> PhaseRecord:
    found = tuple(Reading("x", n, "ns", "lower", v, False, True) for n, v in readings.items())
    record = make_record([make_tally(1000)], seconds=1.0, readings=found)
    return structs.replace(record, usage=usage)


def test_idle_is_what_the_server_leaves_of_its_cores() -> None:
    spent = _record(server_cpu_us=1.5e6)
    assert compute_idle_percent([spent], APART) == pytest.approx(50)
    assert compute_idle_percent([spent, _record(server_cpu_us=3e6)], APART) == pytest.approx(25)
    assert compute_idle_percent([_record(server_cpu_us=3.1e6)], APART) == 0.0


def test_on_shared_cores_the_drivers_work_is_not_idle() -> None:
    both = _record(Usage(200_000_000, 100_000_000, 0, 0, 0), server_cpu_us=0.5e6)
    assert compute_idle_percent([both], PinningCondition((3,), (3,))) == pytest.approx(20)


def test_others_work_is_idleness_only_while_the_server_wanted_no_core() -> None:
    """A third of its cores went to others, for half of which it stood ready."""
    others = {"busy_ns": 100 * SECOND_NS, "own_ns": 0.0, "server_cpu_us": 1.5e6}
    waited = _record(server_wait_ns=0.5 * SECOND_NS, **others)
    assert compute_idle_percent([waited], APART) == pytest.approx(100 * (1 - 2.0 / 3))
    assert compute_idle_percent([_record(**others)], APART) == pytest.approx(50)
    elsewhere = {"placed_steal_ns": 0.0, "placed_busy_ns": 0.0, "placed_total_ns": 4.0 * SECOND_NS}
    alone = _record(server_wait_ns=0.5 * SECOND_NS, **others, **elsewhere)
    assert compute_idle_percent([alone], APART) == pytest.approx(50)
    shares = _record(busy_ns=60.0, own_ns=20.0, idle_ns=30.0, steal_ns=10.0)
    assert summarize_load(1, [shares, shares], None).foreign_percent == pytest.approx(40)


@pytest.mark.parametrize(
    ("apart", "together", "chosen"),
    [(66_000, 4_000, "together"), (12_000, 4_000, "together"), (11_900, 4_000, "apart")],
)
def test_one_core_for_both_where_the_way_between_two_is_long(
    apart: int, together: int, chosen: str
) -> None:
    assert choose_pinning({"apart": apart, "together": together}) == chosen


def test_where_a_place_could_not_be_tried_the_server_stands_apart() -> None:
    assert choose_pinning({"apart": 66_000}) == choose_pinning({"together": 4_000}) == "apart"
    assert choose_pinning({}) == "apart"


def _run(sides: tuple[str, ...], options: dict[str, str], **controls: str) -> Run:
    experiment = compare_candidates(
        sides, "oltp_point_select", options, Measuring(controls=dict(controls), sequential=True)
    )
    said: list[str] = []
    run = prepare(draft_run(experiment, lambda _: None), said.append).run
    assert not said, "nothing is tried"
    return run


def test_an_engine_in_the_drivers_process_has_no_pilot() -> None:
    run = _run(("null@200us", "slow=null@210us?pinning=auto"), {})
    assert run.pilot is None and "threads" not in run.workloads[0].options
    assert run.design.controls["pinning"] == "apart", "fixed before the first block"
    assert run.candidates[1].controls == {"pinning": "apart"}


def test_what_the_user_set_stays() -> None:
    run = _run(("null@200us", "null@210us"), {"threads": "3"}, pinning="off")
    assert run.design.controls["pinning"] == "off"
    assert run.workloads[0].options["threads"] == "3"


def _words(run: Run, *found: Saturation, **empty_ns: int) -> list[str]:
    return describe_pilot(structs.replace(run, pilot=Pilot("together", empty_ns, found)))


def test_what_was_chosen_is_said() -> None:
    run = _run(("null@200us", "null@210us"), {})
    assert describe_pilot(run) == []
    (pinned,) = _words(run, apart=66_400, together=4_100)
    assert pinned == (
        "Pinning together: an empty answer takes 66 µs between two cores and 4 µs on one."
    )
    tried = (TriedLoad(4, 30.0), TriedLoad(8, 3.2))
    (told,) = _words(run, Saturation("w", "old", 8, tried))
    assert told == "w at 8 connections, where old leaves 3 % of its cores idle; threads=1 asks " + (
        "for latency."
    )
    (least,) = _words(run, Saturation("w", "old", 4, tried))
    assert "leaves 30 % of its cores idle, and hardly less at 8" in least
    noisy = (TriedLoad(8, 3.2, foreign_percent=44.0),)
    (doubted,) = _words(run, Saturation("w", "old", 8, noisy))
    assert "(others took 44 % of the host: not to be relied on)" in doubted
    (kept,) = _words(run, Saturation("w", "old", 0, why="the rate is given, not found"))
    assert kept == (
        "w keeps the script's own connections (the rate is given, not found); threads=N sets them."
    )


def _told(*found: Saturation, workloads: int = 1, **empty_ns: int) -> str:
    run = _run(("null@200us", "null@210us"), {})
    plans = tuple(structs.replace(run.workloads[0], name=f"w{n}") for n in range(workloads))
    pilot = Pilot("together", empty_ns, found)
    return describe_conditions(structs.replace(run, workloads=plans, pilot=pilot))


def test_the_verdicts_sentence_names_what_was_chosen() -> None:
    busy, idle = TriedLoad(8, 3.2), TriedLoad(1, 60.0)
    eight, one = Saturation("w0", "old", 8, (busy,)), Saturation("w1", "old", 1, (idle,))
    assert _told() == ""
    assert _told(Saturation("w0", "old", 0, why="it failed")) == ""
    assert _told(eight) == " (8 connections, at saturation)"
    assert _told(one) == " (1 connection, where more do no more)"
    assert _told(eight, one, workloads=2) == " (1 to 8 connections, where more do no more)"
    noisy = structs.replace(busy, foreign_percent=72.0)
    beside = _told(Saturation("w0", "old", 8, (noisy,)))
    assert beside == " (8 connections, chosen beside others' work)"
    assert _told(eight, workloads=2) == " (8 connections, at saturation on w0)"
    placed = {"apart": 66_400, "together": 4_100}
    assert _told(**placed) == " (driver and server on one core)"
    assert _told(one, **placed).endswith("do no more; driver and server on one core)")


def test_to_repeat_a_run_asks_for_the_connections_that_its_pilot_chose() -> None:
    def repeated(command: str, *numbers: int) -> str:
        made = make_run(workloads=[make_workload(f"w{n}") for n in range(2)])
        found = tuple(Saturation(f"w{n}", "old", number) for n, number in enumerate(numbers))
        return build_repeat_command(
            structs.replace(made, command=command, pilot=Pilot(saturation=found))
        )

    compare = "dyno compare old new -w w0 -w w1"
    assert repeated(compare, 8, 8) == f"{compare} --set threads=8 --seed 1"
    assert repeated(f"{compare} --seed 7", 8, 8) == f"{compare} --seed 7 --set threads=8"
    for numbers in ((), (8, 4), (0, 0), (8,)):
        assert repeated(compare, *numbers) == f"{compare} --seed 1"
    assert repeated("dyno run mine.toml", 8, 8) == "dyno run mine.toml"


def _waiting(idle: float, waited: float | None, written: float = 9e3, rows: int = 7) -> TriedLoad:
    """One client that left so much idle, while something waited for a disk for so much of it."""
    return TriedLoad(
        1, idle, rows_changed=rows, written_bytes_per_event=written, disk_wait_percent=waited
    )


def test_a_client_that_waits_for_the_disk_is_known_by_idle_cores_writes_and_waits() -> None:
    assert _waiting(90.0, 80.0).waits_for_disk
    assert _waiting(90.0, None).waits_for_disk, "a kernel that does not say"
    others = (
        _waiting(3.0, 80.0),
        _waiting(90.0, 2.0),
        _waiting(90.0, 80.0, 0),
        _waiting(90, 80, 9, 0),
    )
    assert not any(each.waits_for_disk for each in others)


def test_what_waits_for_the_disk_is_swept_and_each_number_has_its_own_name() -> None:
    plain = Workload("oltp_insert", {"table_size": "9"})
    found = Saturation("oltp_insert", "old", 0, (_waiting(90.0, 80.0),), "old waits", SWEPT)
    swept = list(apply_connections(plain, found))
    assert [each.options["threads"] for each in swept] == ["1", "8", "32"]
    assert [each.sweep for each in swept] == [{"threads": count} for count in ("1", "8", "32")]
    made = compare_candidates(("null@1us", "null@2us"), "oltp_insert", {"table_size": "9"})
    draft = draft_run(made, lambda _: None)
    choose_connections(draft, [found])
    names = [f"oltp_insert threads={count}" for count in SWEPT]
    assert [plan.name for plan in draft.workloads] == names
    assert [plan.most_connections for plan in draft.workloads] == list(SWEPT)
    assert len(draft.experiment.workloads) == len(SWEPT), "what follows looks up each by its place"
    eight = Saturation("oltp_insert", "old", 8, (TriedLoad(8, 3.0),))
    assert [each.options for each in apply_connections(plain, eight)] == [
        {"table_size": "9", "threads": "8"}
    ]


def test_a_workload_of_which_nothing_was_chosen_is_not_resolved_again() -> None:
    made = compare_candidates(("null@1us", "null@2us"), "oltp_insert", {"table_size": "9"})
    both = (*made.workloads, Workload("oltp_point_select", {}))
    draft = draft_run(dataclasses.replace(made, workloads=both), lambda _: None)
    kept = draft.workloads[1]
    choose_connections(draft, [Saturation("oltp_insert", "old", 8, (TriedLoad(8, 3.0),))])
    assert draft.workloads[0].options["threads"] == "8" and draft.workloads[1] is kept


def test_a_sweep_is_said_with_its_reason_and_is_no_saturation() -> None:
    run = _run(("null@200us", "null@210us"), {})
    found = Saturation("w", "old", 0, (_waiting(93.0, 80.0),), "old waits for the disk", SWEPT)
    assert _words(run, found) == [
        "w is swept over 1, 8 and 32 connections: old waits for the disk, and one client leaves "
        "93 % of old's cores idle; threads=N plays one."
    ]
    assert "saturation" not in _told(found)


def test_what_a_number_of_connections_shows_is_read_off_its_phases() -> None:
    readings = {"written_bytes": 5e6, "disk_wait_ns": 0.7 * SECOND_NS, "server_cpu_us": 0.3e6}
    load = summarize_load(1, [_record(**readings)], APART)
    assert load.written_bytes_per_event == pytest.approx(5e6 / 10_000)
    assert load.disk_wait_percent == pytest.approx(70)
    assert load.idle_percent == pytest.approx(90)
    assert summarize_load(1, [_record()], APART).disk_wait_percent is None


def test_what_a_pilot_chose_beside_others_is_doubtful() -> None:
    noisy, calm = TriedLoad(8, 3.2, foreign_percent=72.0), TriedLoad(8, 3.2)
    run = make_run()

    def judged(*found: Saturation) -> list[Finding]:
        pilot = Pilot(saturation=found)
        return load_audits()["pilot"].judge(RunView(structs.replace(run, pilot=pilot), ()))

    found = judged(Saturation("w", "old", 8, (noisy,)))
    assert_caught("noisy-pilot", found)
    assert found[0].sentence == (
        "w: 8 connections are what the pilot chose while others took 72 % of the host (more than "
        "10 %): threads=N names a number"
    )
    assert [f.soundness for f in judged(Saturation("w", "old", 8, (calm,)))] == ["sound"]
    assert [f.soundness for f in judged(Saturation("w", "old", 0, why="it failed"))] == [
        "not checked"
    ]
    assert [f.soundness for f in judged()] == ["does not apply"], "the user named the number"
    waiting = structs.replace(_waiting(90.0, 80.0), foreign_percent=72.0)
    assert_caught("noisy-pilot", judged(Saturation("w", "old", 0, (waiting,), "waits", SWEPT)))


def _faked() -> tuple[FakeSetup, RunDraft, PilotContext]:
    setup, run = fake_setup(), make_run(("a", "b"), controls={"fake": "on"})
    prepared, asked = setup.prepared(run), Experiment("any", (), (), Measuring())
    draft = RunDraft(run, prepared.engines, prepared.builds, experiment=asked)
    return setup, draft, PilotContext(lambda _: None, setup.tools)


def test_a_pilot_plays_on_one_start_of_the_engine_and_one_load() -> None:
    setup, draft, context = _faked()
    with open_engine(draft, draft.workloads[0], draft.candidates[0], context.tools) as opened:
        played = [opened.play_briefly({"threads": count}) for count in ("1", "2")]
    assert [setup.journal.count(step) for step in ("start a", "stop a")] == [1, 1]
    assert [plan.commands for plan in setup.plans] == [("prepare",), ("run",), ("run",)]
    assert [plan.script.options.get("threads") for plan in setup.plans] == [None, "1", "2"]
    assert all(plan.script.options["time"] == BRIEF["time"] for plan in setup.plans[1:])
    assert [each.records[-1].phase for each in played] == ["run", "run"]
    assert "ledger" not in setup.journal, "a pilot asks for no evidence"


def test_numbers_of_connections_are_tried_until_the_users_are_seen_to_rest() -> None:
    setup, draft, context = _faked()
    tried = _try_loads(draft, draft.workloads[0], draft.candidates[0], (1, 2), context)
    assert [each.connections for each in tried] == [1, 2]
    setup, draft, context = _faked()
    resting = make_record([structs.replace(make_tally(100.0), rested_ns=5)])
    setup.driver_says = [GOOD, (*GOOD[:3], resting, GOOD[-1])]
    assert _try_loads(draft, draft.workloads[0], draft.candidates[0], (1, 2), context) == ()
    assert setup.journal.count("stop a") == 1
