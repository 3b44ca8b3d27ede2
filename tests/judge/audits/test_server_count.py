"""Audit `server_count`: work that the server never saw is found, and work of somebody else's."""

from __future__ import annotations

from typing import Any

import pytest
from audit_records import CLEAN, NEW, OLD, a_run, a_trial, only, recorded
from fakes import make_readings
from msgspec import structs

from dyno.record import Candidate, Finding, Reading, Trial

THEIRS = structs.replace(NEW, embedded=False, build={"address": "joe@db.example:5432/bench"})
#: What a trial of `a_trial` did: 10,000 events, one statement each.
SENT = 10_000


def counting(counted: float, unit: str = "statements", **tally: Any) -> Trial:
    """A trial beside a server that counted so much; the driver claims what it sent."""
    trial = a_trial(3, "new", **{"claimed": SENT} | tally)
    names = "server", f"server_{unit}", unit.split("_")[-1]
    reading = Reading(*names, "lower", counted, False)
    return recorded(trial, readings=(*make_readings(), reading))


def judged(trial: Trial, side: Candidate = NEW) -> Finding:
    return only("server_count", a_run(OLD, side), *CLEAN[:2], trial)


def test_counts_that_agree_are_sound() -> None:
    finding = judged(counting(SENT + 5))
    assert finding.soundness == "sound"
    assert finding.sentence.endswith("of 1 phases is what the driver sent, to within 5")


def test_work_that_the_server_never_saw_is_invalid() -> None:
    finding = judged(counting(SENT - 200))
    assert (finding.soundness, finding.trials) == ("invalid", (3,))
    told = "the server counted 9,800 statements, the driver sent 10,000: work that was never done"
    assert finding.sentence == f"select/run on new: {told}"


def test_a_proxy_may_have_sent_it_elsewhere() -> None:
    finding = judged(counting(SENT - 200), THEIRS)
    assert finding.soundness == "doubtful" and "by a proxy" in finding.sentence


def test_a_collector_may_not_have_been_told_of_it() -> None:
    finding = judged(counting(SENT - 200, "collected_transactions"))
    assert finding.soundness == "doubtful" and "9,800 transactions" in finding.sentence
    assert finding.sentence.endswith("or that the server's collector was not told of")
    assert judged(counting(SENT + 5, "collected_transactions")).soundness == "sound"
    assert judged(counting(SENT + 500, "collected_transactions")).soundness == "doubtful"


@pytest.mark.parametrize(
    ("side", "cause"),
    [(THEIRS, "somebody else is using the server"), (NEW, "a text or a procedure that commits")],
)
def test_work_that_nobody_here_sent_is_doubtful(side: Candidate, cause: str) -> None:
    finding = judged(counting(SENT + 500, "transactions"), side)
    assert (finding.soundness, finding.trials) == ("doubtful", (3,))
    told = "the server counted 10,500 transactions, the driver sent 10,000"
    assert told in finding.sentence and cause in finding.sentence


@pytest.mark.parametrize("side", [THEIRS, NEW])
def test_results_beyond_the_first_of_a_request_may_be_statements_or_a_procedures(
    side: Candidate,
) -> None:
    for counted in (SENT, SENT + 15_000, SENT + 30_000):
        finding = judged(counting(counted, claimed_further=30_000), side)
        assert finding.soundness == "sound"
    finding = judged(counting(SENT + 31_000, claimed_further=30_000), side)
    assert finding.soundness == "doubtful"
    assert judged(counting(SENT - 200, claimed_further=30_000), side).soundness != "sound"


def test_a_hundredth_more_is_free() -> None:
    assert judged(counting(SENT + 150)).soundness == "sound"
    assert judged(counting(SENT + 160)).soundness == "doubtful"


@pytest.mark.parametrize(
    "changes",
    [
        {"claimed_before": 400},
        {"connections": 100},
        {"reconnected": 100},
        {"errors": {"1062": 400}},
    ],
)
def test_what_may_be_one_sides_alone_is_free(changes: dict[str, Any]) -> None:
    for odd in (400, -400):
        assert judged(counting(SENT + odd)).soundness != "sound"
        assert judged(counting(SENT + odd, **changes)).soundness == "sound"


@pytest.mark.parametrize(
    "trial",
    [
        CLEAN[2],
        a_trial(3, "new", claimed=SENT),
        counting(0, claimed=None),
        counting(-4_294_967_296.0),
    ],
)
def test_where_one_of_the_two_did_not_count_nothing_is_known(trial: Trial) -> None:
    server = structs.replace(NEW, embedded=False)
    told = {True: judged(trial), False: only("server_count", a_run(OLD, server), trial)}
    assert all("count" in finding.sentence for finding in told.values())
    assert told[False].soundness == "not checked"
    assert told[True].soundness == "does not apply", "an embedded engine never counts along"


def test_the_worst_restart_is_told_and_the_good_ones_are_not_named() -> None:
    trials = [counting(SENT + more) for more in (0, 300, 4_000)]
    numbered = [structs.replace(each, number=3 + i) for i, each in enumerate(trials)]
    finding = only("server_count", a_run(OLD, THEIRS), *CLEAN[:2], *numbered)
    assert finding.trials == (4, 5) and "14,000" in finding.sentence


def test_a_server_that_could_not_be_asked_is_said_so_with_the_reason() -> None:
    side = structs.replace(NEW, embedded=False)
    trial = recorded(a_trial(3, "new", claimed=SENT), unread={"server": "permission denied"})
    finding = only("server_count", a_run(OLD, side), trial)
    assert finding.soundness == "not checked"
    assert "the server could not be asked: permission denied" in finding.sentence
