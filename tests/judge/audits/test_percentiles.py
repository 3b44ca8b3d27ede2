"""Audit `percentiles`: a percentile with too few events beyond it is doubted, not the others."""

from __future__ import annotations

from typing import Any

import pytest
from audit_records import a_run, a_trial, only
from fakes import make_latency, make_phase

from dyno.record import Finding


def _judged(metric: str, stream: str = "reader", **changes: Any) -> Finding:
    phase = make_phase()
    phase["primary"] = [{"stream": stream, "metric": metric, "margin_percent": None}]
    return only("percentiles", a_run(phase=phase), a_trial(3, "new", **changes))


@pytest.mark.parametrize(
    ("count", "metric", "soundness"),
    [
        (1000, "latency_ns_p99", "sound"),
        (990, "latency_ns_p99", "doubtful"),
        (10_000, "latency_ns_p99.9", "sound"),
        (9_000, "latency_ns_p99.9", "doubtful"),
        (100, "latency_ns_p95", "doubtful"),
        (20, "latency_ns_p50", "sound"),
        (20, "latency_ns_max", "does not apply"),
        (20, "rate_per_s", "does not apply"),
    ],
)
def test_ten_events_lie_beyond(count: int, metric: str, soundness: str) -> None:
    finding = _judged(metric, latency=make_latency(1e6, count))
    assert finding.soundness == soundness
    if soundness == "doubtful":
        assert (finding.trials, finding.phase) == ((3,), "run")
        assert f"in a restart of {count}; 10 are needed" in finding.sentence


def test_a_transaction_type_is_judged_by_its_own_count() -> None:
    types = {"order": make_latency(1e6, 9_500), "stock": make_latency(1e6, 500)}
    for kind, soundness in (("order", "sound"), ("stock", "doubtful")):
        finding = _judged("latency_ns_p99", f"reader/{kind}", transactions=types)
        assert finding.soundness == soundness


def test_thin_percentiles_that_decide_nothing_are_only_told() -> None:
    finding = _judged("rate_per_s", latency=make_latency(1e6, 500))
    assert finding.soundness == "does not apply" and "p99.9 of reader" in finding.sentence
