"""A server's own count: how an engine is asked for it, and when."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes import make_record

from dyno.driver.plan import Session
from dyno.engines import Ask, CountsWork, Server, find_engine, postgres
from dyno.host.probes import ProbeTarget, load_probes
from dyno.instruments.time.phases import (
    add_readings,
    sample_after_disconnect,
    sample_answered,
    sample_before,
)

SERVER = Server({}, Path("/none"))


def telling(*answers: Sequence[list[list[str | None]]]) -> Ask:
    """A server that answers so, once after another."""
    left = list(answers)

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        answer = left.pop(0)
        assert len(answer) == len(statements)
        return list(answer)

    return ask


def backends(count: int, version: str = "180004") -> list[list[list[str | None]]]:
    return [[[version, str(count), "2026-11-21 12:00:00+00"]]]


def total(count: int, is_old: str | None = None) -> list[list[list[str | None]]]:
    return [[[str(count - 9), "9", is_old]]]


def counted(engine: str, ask: Ask, *, after_disconnect: bool) -> dict[str, int]:
    found = find_engine(engine, ask)
    assert isinstance(found, CountsWork)
    return found.count_work(SERVER, after_disconnect)


def test_before_a_phase_nobody_waits_for_open_connections() -> None:
    ask = telling(backends(8), total(70))
    assert counted("postgres", ask, after_disconnect=False) == {
        "transactions": 70,
        "commits": 61,
    }


def test_after_a_phase_the_count_is_read_once_the_last_backend_is_gone() -> None:
    ask = telling(backends(8), backends(1), backends(0), total(99))
    assert counted("postgres", ask, after_disconnect=True) == {
        "transactions": 99,
        "commits": 90,
    }


@pytest.mark.parametrize(
    "ask", [telling(backends(8), total(70)), telling(backends(0), total(70, "t"))]
)
def test_what_does_not_come_to_an_end_leaves_the_count_unknown(ask: Ask) -> None:
    engine = postgres.Engine(ask)
    engine.patience_s = -1.0
    assert engine.count_work(SERVER, after_disconnect=True) == {}


def test_a_collectors_count_is_read_once_it_is_young_enough_and_named_for_what_it_is() -> None:
    ask = telling(backends(0, "120022"), total(70, "t"), total(70, "t"), total(99, "f"))
    assert counted("postgres", ask, after_disconnect=True) == {
        "collected_transactions": 99,
        "commits": 90,
    }


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_a_server_without_the_counter_has_no_count(engine: str) -> None:
    assert counted(engine, telling([[["Questions", "12"]], []]), after_disconnect=True) == {
        "statements": 12
    }
    assert counted(engine, telling([[], []]), after_disconnect=True) == {}


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_commits_are_counted_where_all_tables_have_them(engine: str) -> None:
    counters: list[list[list[str | None]]] = [[["Questions", "12"]], [["Handler_commit", "5"]]]
    before = counted(engine, telling(counters), after_disconnect=False)
    assert before == {"statements": 12, "commits": 5}
    for others, expected in (("0", before), ("2", {"statements": 12})):
        ask = telling(counters, [[[others]]])
        assert counted(engine, ask, after_disconnect=True) == expected


def test_engines_that_live_in_the_driver_count_nothing() -> None:
    assert not isinstance(find_engine("sqlite", telling()), CountsWork)


def test_the_count_is_taken_before_the_phase_and_once_the_connections_are_closed(
    tmp_path: Path,
) -> None:
    heard: list[bool] = []

    def count(after_disconnect: bool) -> dict[str, int]:
        heard.append(after_disconnect)
        return {"statements": 100 * len(heard)}

    every, watched = load_probes(), ProbeTarget(None, os.getpid(), tmp_path, counted=count)
    before = sample_before(every, watched)
    after = sample_answered(every, watched)
    assert heard == [False], "not while connections are open"
    after = {**after, **sample_after_disconnect(every, watched)}
    joined = add_readings(every, make_record([]), before, after)
    assert heard == [False, True]
    (own,) = [each for each in joined.readings if each.probe == "server"]
    assert (own.name, own.unit, own.value) == ("server_statements", "statements", 100.0)
