"""Where spread comes from, read off records: loads, blocks, restarts, seconds; and the advice."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from fakes import make_load, make_record, make_run, make_tally, make_trial
from judging import judge_unaudited
from msgspec import structs
from report.page_text import draw, print_document

from dyno.judge.analysis.measures import compute_measures
from dyno.judge.analysis.run_view import RunView
from dyno.judge.analysis.spread import Sources, find_spread_sources
from dyno.record import Conditions, Metric, Series, Trial
from dyno.report import Book
from dyno.report.sections import components
from dyno.report.sections.components import give_advice

RATE = Metric("select", "run", "reader", "rate_per_s", "query/s", "higher")
SECONDS = 10
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Truth:
    """Standard deviations of each source in logs, and seconds that a trial takes in all."""

    block: float = 0.0
    load: float = 0.0
    restart: float = 0.0
    second: float = 0.0
    trial_s: float = 12.0
    loads: int = 0


def played(truth: Truth, blocks: int = 24, seed: int = 1) -> list[Trial]:
    rng = np.random.default_rng(seed)
    load = rng.normal(0.0, truth.load, (2, truth.loads or 1))
    numbers = itertools.count(1)
    trials = []
    for block in range(blocks):
        drift, turn = rng.normal(0.0, truth.block), block % (truth.loads or 1)
        for side, (name, number) in enumerate(zip(("old", "new"), numbers, strict=False)):
            middle = drift + load[side, turn] + rng.normal(0.0, truth.restart)
            seconds = np.exp(middle + rng.normal(0.0, truth.second, SECONDS))
            done = [round(1e6 * each) for each in seconds]
            series = Series(tuple(done), (0,) * SECONDS, (1,) * SECONDS)
            tally = make_tally(sum(done) / SECONDS, SECONDS, series=series)
            trial = make_trial(number, name, block, 1.0, phases=(make_record([tally]),))
            began = START + timedelta(seconds=number * truth.trial_s)
            kept = Conditions(load=make_load(f"{name}{turn}")) if truth.loads else Conditions()
            told = structs.replace(trial, started_utc=began.isoformat(), conditions=kept)
            trials.append(told)
    return trials


def sources(trials: list[Trial], metric: Metric) -> list[Sources]:
    return find_spread_sources(RunView(make_run(), trials), trials, [metric])


def only(trials: list[Trial]) -> Sources:
    (found,) = sources(trials, RATE)
    return found


@pytest.mark.parametrize(
    ("truth", "first", "told"),
    [
        (Truth(restart=0.02, block=0.05), "restarts make up 100 %", "more blocks buy most"),
        (
            Truth(second=0.2, restart=0.005),
            "seconds within a restart",
            "longer measuring buys most",
        ),
        (Truth(load=0.05, restart=0.01, loads=8), "loads of the data", "more loads"),
    ],
)
def test_the_largest_source_is_what_one_is_told_to_spend_on(
    truth: Truth, first: str, told: str
) -> None:
    sentence = give_advice(only(played(truth)))
    assert sentence.startswith(first)
    assert told in sentence


def test_a_restart_costs_what_passes_between_two_starts_beside_the_measuring() -> None:
    found = only(played(Truth(restart=0.03, second=0.1, trial_s=35.0)))
    assert found.costs is not None
    assert found.costs.restart_s == pytest.approx(25.0)
    assert found.seconds == SECONDS
    # Kalibera & Jones: sqrt(25 · 0.1² ÷ 0.03²) = 16.7 s
    assert found.best_seconds == pytest.approx(17, rel=0.4)
    assert 0.0 < found.compute_time_saved(SECONDS) < 1.0


def test_restarts_that_drown_in_the_seconds_give_no_best_length() -> None:
    found = only(played(Truth(second=0.5, restart=1e-6), blocks=4, seed=2))
    assert found.best_seconds is None and found.compute_time_saved(SECONDS) == 0.0


def test_a_pause_between_blocks_costs_nothing() -> None:
    """A run that was resumed a day later had no restart of a day."""
    trials = played(Truth(restart=0.01, second=0.1), blocks=6)
    late = [
        structs.replace(t, started_utc=t.started_utc.replace("2026-01-01", "2026-01-02"))
        if t.block >= 3
        else t
        for t in trials
    ]
    found = only(late)
    assert found.costs is not None and found.costs.restart_s == pytest.approx(2.0)


def test_a_latency_has_no_seconds_of_its_own() -> None:
    trials = played(Truth(restart=0.02))
    metric = next(m for m in compute_measures(trials[0]) if m.name == "latency_ns_p99")
    (found,) = sources(trials, metric)
    assert [part.source for part in found.found.parts] == ["blocks", "restarts"]
    assert found.best_seconds is None
    assert "with the seconds in them" in give_advice(found)


@pytest.mark.parametrize(("events", "counts"), [(0, False), (1, True)])
def test_a_stream_that_stood_still_for_a_second_has_no_seconds(events: int, counts: bool) -> None:
    trials = played(Truth(restart=0.02, second=0.1))
    (record,) = trials[0].phases
    (tally,) = record.streams
    still = structs.replace(tally.series, done=(events, *tally.series.done[1:]))
    record = structs.replace(record, streams=(structs.replace(tally, series=still),))
    trials[0] = structs.replace(trials[0], phases=(record,))
    assert (only(trials).found.seconds is not None) is counts


def test_too_few_blocks_or_one_candidate_say_nothing() -> None:
    trials = played(Truth(restart=0.02), blocks=2)
    assert sources(trials, RATE) == []
    alone = [t for t in played(Truth(restart=0.02)) if t.candidate == "old"]
    assert sources(alone, RATE) == []


def test_the_page_and_the_terminal_show_each_primary(tmp_path: Path) -> None:
    trials = played(Truth(block=0.01, restart=0.02, second=0.05))
    run = make_run()
    book = Book(tmp_path, run, trials, judge_unaudited(run, trials))
    for told in (draw(components.SECTION, book), print_document(components.build(book))):
        assert all(word in told for word in ("blocks (time)", "restarts", "Restarts make up"))
