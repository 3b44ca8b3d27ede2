"""Both sides of the plan and of its events held against each other: Rust's schema, our types."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from dyno import driver, record
from dyno.driver import events, plan
from dyno.driver.events import TimedAnswer
from dyno.record.decode import encode

#: Ours, and the driver's type that it must mirror (`Type` or `Type/definition`).
PAIRS: dict[type, str] = {
    plan.Plan: "Plan",
    plan.Script: "Plan/Script",
    plan.SlicePlan: "Plan/Turns",
    plan.Excerpt: "Plan/Excerpt",
    plan.LoadShare: "Plan/Client",
    plan.Description: "Description",
    record.Phase: "Description/Phase",
    record.Stream: "Description/Stream",
    record.Primary: "Description/Primary",
    plan.ScriptOption: "Description/ScriptOption",
    record.LedgerEntry: "Description/LedgerEntry",
    record.PhaseRecord: "Event=done",
    record.Tally: "Event/Tally",
    record.StatementTally: "Event/StatementTally",
    record.Latency: "Event/Latency",
    record.Series: "Event/Series",
    record.Usage: "Event/Usage",
    driver.Hello: "Event=hello",
    driver.Settle: "Event=settle",
    driver.Loads: "Event=loads",
    driver.Ready: "Event=ready",
    driver.Report: "Event=report",
    driver.UserShare: "Event/UserShare",
    driver.Bucket: "Event/Bucket",
    driver.Failing: "Event=failing",
    driver.Answered: "Event=answered",
    driver.Progress: "Event=progress",
    driver.StreamProgress: "Event/StreamProgress",
    driver.End: "Event=end",
    events.ClientPhase: "Event=client",
    events.Pong: "Event=pong",
}
#: What the record adds to what the driver said.
OURS_ALONE: dict[type, set[str]] = {
    record.PhaseRecord: {"readings", "switches", "unread", "profile", "waits", "clients"}
}

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


@cache
def schemas() -> dict[str, Any]:
    return driver.read_schema()


def theirs(name: str) -> Mapping[str, Any]:
    """The driver's object schema called `name`, its event tag taken off."""
    whole, _, kind = name.partition("=")
    package, _, definition = whole.partition("/")
    schema: dict[str, Any] = schemas()[package]
    if definition:
        schema = schema["$defs"][definition]
    if not kind:
        return schema
    arm = next(a for a in schema["oneOf"] if a["properties"]["event"]["const"] == kind)
    flat = flattened(arm, schema["$defs"])
    properties = {n: p for n, p in flat["properties"].items() if n != "event"}
    return {**flat, "properties": properties, "required": [*set(flat["required"]) - {"event"}]}


def flattened(arm: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """An arm that wraps a type of its own holds that type's fields beside its tag."""
    if "$ref" not in arm:
        return arm
    inner = definitions[arm["$ref"].rpartition("/")[2]]
    properties = arm["properties"] | inner["properties"]
    return arm | {"properties": properties, "required": [*arm["required"], *inner["required"]]}


def ours(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    names = getattr(kind, "__struct_fields__", ()) or [f.name for f in dataclasses.fields(kind)]
    return {name: hints[name] for name in names if name not in OURS_ALONE.get(kind, set())}


def words(schema: Mapping[str, Any]) -> set[str]:
    """The words that the driver's type is one of."""
    name = schema["$ref"].rpartition("/")[2]
    known = schemas()["Description"]["$defs"] | schemas()["Event"]["$defs"]
    arms = known[name]["oneOf"]
    return {arm["const"] for arm in arms}


def fits(hint: Any, schema: Mapping[str, Any]) -> bool:
    """Could every value of the driver's type be one of ours, and the other way round?"""
    said = schema.get("type")
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        bare = next(each for each in inner if each is not type(None))
        if "anyOf" in schema:
            arms = schema["anyOf"]
            return {"type": "null"} in arms and any(fits(bare, arm) for arm in arms)
        return isinstance(said, list) and "null" in said and fits(bare, {**schema, "type": said[0]})
    if origin is Literal:
        return set(inner) == words(schema)
    if "$ref" in schema or "oneOf" in schema:
        is_record = dataclasses.is_dataclass(hint) or hasattr(hint, "__struct_fields__")
        return origin is dict or is_record or hint is str
    if origin is tuple:
        return said == "array" and fits(inner[0], schema["items"])
    if origin is dict:
        return said == "object" and fits(inner[1], schema["additionalProperties"])
    return bool(JSON_TYPES[hint] == said)


@pytest.mark.parametrize("kind", PAIRS, ids=lambda kind: kind.__name__)
def test_both_sides_have_the_same_fields(kind: type) -> None:
    assert ours(kind).keys() == theirs(PAIRS[kind])["properties"].keys()


@pytest.mark.parametrize("kind", PAIRS, ids=lambda kind: kind.__name__)
def test_both_sides_mean_the_same_types(kind: type) -> None:
    properties = theirs(PAIRS[kind])["properties"]
    strange = [name for name, hint in ours(kind).items() if not fits(hint, properties[name])]
    assert not strange, {name: (ours(kind)[name], properties[name]) for name in strange}


def test_everything_that_the_driver_must_be_told_is_always_told() -> None:
    told = plan.Plan({"kind": "null", "delay_ns": 0}, plan.Script("x.lua"), seed=1)
    for kind, data in ((plan.Plan, told), (plan.Script, told.script)):
        assert set(theirs(PAIRS[kind])["required"]) <= encode(data).keys()


def test_the_question_has_the_fields_of_ask() -> None:
    asked = {"version", "session", "statements", "mode", "closes"}
    assert set(schemas()["Ask"]["properties"]) == asked
    assert "rows" in schemas()["Answer"]["required"]
    told = {*TimedAnswer.__struct_fields__}
    whole = {"types", "refusal", "insert_id", "digests", "cut"}
    assert told | whole == set(schemas()["Answer"]["properties"])


def test_every_kind_of_event_is_read() -> None:
    arms = {arm["properties"]["event"]["const"] for arm in schemas()["Event"]["oneOf"]}
    assert arms == {PAIRS[kind].partition("=")[2] for kind in PAIRS} - {""} | {"error"}


@pytest.mark.parametrize("kind", [record.Pace, record.Stop], ids=lambda kind: kind.__name__)
def test_a_type_of_several_kinds_has_the_kinds_and_fields_of_all(kind: type) -> None:
    arms = schemas()["Description"]["$defs"][kind.__name__]["oneOf"]
    fields = set().union(*(arm["properties"] for arm in arms))
    assert ours(kind).keys() == fields
    kinds = {arm["properties"]["kind"]["const"] for arm in arms}
    assert set(get_args(ours(kind)["kind"])) == kinds
