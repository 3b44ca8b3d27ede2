"""Plain data to dataclasses: what fits becomes what it was, and what does not is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from dyno import record
from dyno.compare import calibration
from dyno.record import decode
from dyno.record.decode import FORMER_KEYS, encode
from dyno.record.schema import Finite, Int64, Record


class Inner(Record):
    number: Finite


class Outer(Record):
    name: str
    many: tuple[Inner, ...]
    by_name: dict[str, Int64]
    maybe: str | None = None


def test_plain_data_becomes_what_it_was() -> None:
    outer = Outer("a", (Inner(1.0), Inner(2.5)), {"x": 1}, None)
    assert decode.decode(Outer, json.loads(json.dumps(encode(outer)))) == outer


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"name": "a", "many": []}, "missing required field `by_name`"),
        (
            {"name": "a", "many": [], "by_name": {}, "more": 1},
            "contains unknown field `more`",
        ),
        (
            {"name": "a", "many": [{"number": "1"}], "by_name": {}},
            r"Outer.many\[0\].number: expected `float`",
        ),
        (
            {"name": "a", "many": [], "by_name": {"x": True}},
            r"Outer.by_name\[...\]: expected `int`",
        ),
        ([], "Outer: expected `object`, got `array`"),
    ],
)
def test_data_of_another_shape_is_refused_with_its_place(data: Any, says: str) -> None:
    with pytest.raises(decode.WrongShape, match=says):
        decode.decode(Outer, data)


def test_a_renamed_key_is_read_under_both_names_and_written_for_tools_under_both() -> None:
    for name, former in FORMER_KEYS.items():
        kind = {**vars(record), **vars(calibration)}.get(name)
        if kind is None:  # a field that is a mapping
            continue
        fields = {*kind.__struct_fields__}
        assert set(former.values()) <= fields and not former.keys() & fields
    change = record.FlaggedChange(6, 5, 7, 5.0, 4.0, 6.0, 0.001, True, "dyno compare a b")
    written = encode(change, former_keys=True)
    assert (written["convict"], written["confirm"]) == ("dyno compare a b", "dyno compare a b")
    for name in ("convict", "confirm"):
        other = written.keys() & {"convict", "confirm"} - {name}
        old = {key: value for key, value in written.items() if key not in other}
        assert decode.decode(record.FlaggedChange, old) == change


def test_the_slices_of_an_older_run_are_read() -> None:
    former = {"window": {"length_s": 0.02, "drain_s": 0.001}, "epoch_s": 1.0, "frozen": True}
    assert decode.decode(record.Interleaving, former | {"windows": {}}).slice.length_s == 0.02


def test_a_control_of_an_older_run_has_todays_name() -> None:
    data = {"controls": {"plant": {"value": "keep"}, "aslr": {"value": "off"}}}
    assert decode.decode(record.Conditions, data).controls.keys() == {"inject", "aslr"}


#: Threads that decode each kind of record for the first time at once; with fields of wrong types,
#: so that each field's type is looked at.
AT_ONCE = """
import sys, threading
from contextlib import suppress
from dyno import record
from dyno.record.decode import WrongShape, decode, decode_quickly
from dyno.record.schema import Record
sys.setswitchinterval(1e-6)
kinds = [kind for kind in vars(record).values() if isinstance(kind, type(Record))]
start = threading.Barrier(8)
def read_all():
    start.wait()
    for kind in (record.Run, record.Trial, record.Verdict, *kinds):
        decode_quickly(kind, b"{}")
        with suppress(WrongShape):
            decode(kind, dict.fromkeys(reversed(kind.__struct_fields__), ()))
threads = [threading.Thread(target=read_all) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
"""


def test_threads_that_read_a_kind_for_the_first_time_at_once_end_no_process() -> None:
    assert subprocess.run([sys.executable, "-c", AT_ONCE], check=False).returncode == 0
