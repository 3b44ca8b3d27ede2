"""The table of ways to be fooled: every row has a test, and every test a row."""

from __future__ import annotations

from ways_to_be_fooled import WAYS, every_way, injecting_tests

from dyno.plugins import load_modules

#: So many are promised.
LEAST = 40


def test_every_way_to_be_fooled_is_injected_by_a_test_and_every_injection_is_in_the_table() -> None:
    ways, injected = every_way(), injecting_tests()
    assert not ways.keys() - injected.keys(), "nobody injects them"
    assert not injected.keys() - ways.keys(), "no row tells of them"


def test_no_two_ways_share_a_name_and_each_names_an_audit_that_exists() -> None:
    rows = [way for ways in WAYS.values() for way in ways]
    assert len({way.name for way in rows}) == len({way.sentence for way in rows}) == len(rows)
    audits = set(load_modules("dyno.judge.audits"))
    assert {way.audit for way in rows if way.audit} <= audits
    assert all(bool(way.audit) == (way.word not in ("dropped", "refused")) for way in rows)
    assert len(rows) >= LEAST


def test_a_way_that_is_played_names_the_engines_and_any_other_does_not() -> None:
    for way in every_way().values():
        assert (way.engines == ("any",)) == (way.proof == "record"), way.name


def test_every_audit_catches_a_way_to_be_fooled() -> None:
    caught = {way.audit for way in every_way().values()}
    assert not set(load_modules("dyno.judge.audits")) - caught
