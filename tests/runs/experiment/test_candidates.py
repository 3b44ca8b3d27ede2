"""A candidate's words: taken apart, told apart, each key given to its one owner."""

from __future__ import annotations

from typing import Any

import pytest

from dyno.errors import UsageError
from dyno.runs.experiment import candidates


def test_a_spec_comes_apart_into_name_engine_build_and_keys() -> None:
    spec = candidates.parse_candidate("old=sqlite@3.54.1?cflags=-O3 -g&journal_mode=wal")
    assert (spec.name, spec.engine, spec.build) == ("old", "sqlite", "3.54.1")
    assert spec.keys == {"cflags": "-O3 -g", "journal_mode": "wal"}
    path = candidates.parse_candidate("sqlite@/opt/lib=x/libsqlite3.so.0")
    assert (path.name, path.build) == (path.text, "/opt/lib=x/libsqlite3.so.0")
    assert candidates.parse_candidate("null").build == ""


@pytest.mark.parametrize("text", ["", "@3", "null@1us?delay", "null@1us?=3", "null@1us?a=1&a=2"])
def test_what_is_no_spec_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        candidates.parse_candidate(text)


def test_the_same_spec_twice_is_two_candidates() -> None:
    twice = candidates.make_names_unique([candidates.parse_candidate("null@200us")] * 2)
    assert [spec.name for spec in twice] == ["null@200us", "null@200us#2"]


def test_every_key_has_one_owner_and_a_stranger_gets_the_nearest_names() -> None:
    owners: Any = {"flags": ["cflags"], "options": ["journal_mode"], "controls": ["aslr"]}
    keys = {"aslr": "off", "cflags": "-O3", "journal_mode": "wal"}
    owned = candidates.sort_keys(keys, **owners)
    assert owned == candidates.OwnedKeys(
        {"cflags": "-O3"}, {"journal_mode": "wal"}, {"aslr": "off"}
    )
    with pytest.raises(UsageError, match="did you mean journal_mode"):
        candidates.sort_keys({"journalmode": "wal"}, **owners)
    taken = candidates.sort_keys({"aslr": "off", "journalmode": "wal"}, **owners, variables=True)
    assert taken == candidates.OwnedKeys({}, {"journalmode": "wal"}, {"aslr": "off"})
    with pytest.raises(UsageError, match="both a setting and a control"):
        candidates.sort_keys({"aslr": "off"}, flags=[], options=["aslr"], controls=["aslr"])
