"""Audit `caching` over several phases: a cold start is told from a cache that is too small."""

from __future__ import annotations

from audit_records import a_run, a_trial, findings
from fakes import make_phase, make_readings, make_workload
from msgspec import structs

from dyno.record import Conditions, ControlCondition, DataCondition, Finding, Trial

MB = 1_000_000
DATA = DataCondition(101 * MB, 1000 * MB, "cached")
#: The second is not judged: its bytes only tell what the first one's were.
PHASES = (make_phase("l.i1"), make_phase("qr100", primary=()))


def _trial(number: int, *fetched_mb: float, **controls: ControlCondition) -> Trial:
    """`new`, which fetched so much in each of `PHASES`."""
    trial = a_trial(number, "new")
    phases = tuple(
        structs.replace(
            trial.phases[0], phase=plan["name"], readings=make_readings(read_bytes=each * MB)
        )
        for plan, each in zip(PHASES, fetched_mb, strict=False)
    )
    return structs.replace(trial, phases=phases, conditions=Conditions(controls, data=DATA))


def _found(*trials: Trial) -> list[Finding]:
    run = structs.replace(a_run(), workloads=(make_workload("select", PHASES),))
    return findings("caching", run, *trials)


def test_data_that_one_phase_alone_fetches_were_a_cold_start() -> None:
    (finding,) = _found(_trial(3, 28, 0.1), _trial(5, 28, 0.2), _trial(7, 29, 9))
    assert (finding.soundness, finding.phase, finding.trials) == ("doubtful", "l.i1", (3, 5, 7))
    assert finding.sentence == (
        "select/l.i1 on new: claims to be cached, and fetched 28.0 MB from storage of 101 MB of"
        " data: a cold start, for no later phase fetched more than 0.2 MB; preload=on begins warm"
    )


def test_data_that_were_preloaded_need_no_advice_to_preload_them() -> None:
    (finding,) = _found(_trial(3, 28, 0, preload=ControlCondition("on", set="on")))
    assert finding.soundness == "doubtful" and finding.sentence.endswith("more than 0.0 MB")
    (finding,) = _found(_trial(3, 28, 0, preload=ControlCondition("on", refused="no cache")))
    assert finding.sentence.endswith("preload=on begins warm")


def test_data_that_later_phases_fetch_again_were_not() -> None:
    (finding,) = _found(_trial(3, 28, 27))
    assert finding.soundness == "doubtful" and finding.sentence.endswith("101 MB of data")


def test_what_the_only_phase_fetches_may_be_either_unless_all_was_preloaded() -> None:
    (finding,) = _found(_trial(3, 28))
    assert finding.soundness == "doubtful"
    assert finding.sentence.endswith(
        "of data: a cold start, or a small cache; preload=on begins warm"
    )
    (finding,) = _found(_trial(3, 28, preload=ControlCondition("on", set="on")))
    assert finding.soundness == "doubtful" and finding.sentence.endswith("101 MB of data")


def test_what_an_unjudged_phase_fetches_accuses_nobody() -> None:
    (finding,) = _found(_trial(3, 0.3, 50))
    assert finding.soundness == "sound"
