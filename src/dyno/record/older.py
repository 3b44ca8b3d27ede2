"""Reads the files of older schemas as those of today.

What was text in schema 1 is taken apart here, once.
"""

from __future__ import annotations

from typing import Any

from dyno.record.run import Run
from dyno.record.schema import SCHEMA
from dyno.record.trial import Trial
from dyno.record.verdict import Verdict

#: The conditions of schema 1 that are no control's.
_OWN = ("driver", "load", "storage", "data", "durability")
#: The probes whose readings schema 1 took for conditions, by name.
_CONDITIONS = ("host", "clock", "server")
_NOT_HERE = "not controllable here: "


def upgrade(kind: type, data: Any) -> Any:
    """A file's data as a `kind` of today's schema; data of today's pass as they are.

    What does not look like an older one passes too, for the reader to refuse by its field.
    """
    if kind not in (Run, Trial, Verdict) or not isinstance(data, dict):
        return data
    schema = data.get("schema", 1)
    if schema not in (1, 2):
        return data
    data = _text_as_types(kind, data) if schema == 1 else data
    return (_windows_by_workload(data) if kind is Run else data) | {"schema": SCHEMA}


def _windows_by_workload(run: dict[str, Any]) -> dict[str, Any]:
    """Schema 2 had one length of windows for all workloads, its parts spelled out."""
    design, pilot = run.get("design") or {}, run.get("pilot") or {}
    if turns := design.get("turns"):
        window = {"length_s": turns["window_s"], "drain_s": turns["drain_s"]}
        kept = {"window": window, "epoch_s": turns["epoch_s"], "frozen": turns["frozen"]}
        run = run | {"design": design | {"turns": kept}}
    if longest := pilot.pop("latency_ns_p99", 0):
        found = {workload["name"]: longest for workload in run["workloads"]}
        run = run | {"pilot": pilot | {"latency_ns_p99": found}}
    return run


def _text_as_types(kind: type, data: dict[str, Any]) -> dict[str, Any]:
    """Conditions, dropped blocks and failures of schema 1."""
    if kind is Trial:
        failure = data.get("failure", "")
        data |= {
            "failure": _failure(failure) if failure else None,
            "conditions": _conditions(data.get("conditions", {})),
            "phases": [_phase(each) for each in data.get("phases", [])],
        }
    if kind is Verdict:
        data["dropped"] = [_dropped(*pair) for pair in data.get("dropped", {}).items()]
    return data


def _failure(text: str) -> dict[str, str]:
    """One text held it all, the hint behind `hint:` on a line of its own."""
    message, _, hint = text.partition("\nhint: ")
    return {"message": message, "hint": hint}


def _phase(record: dict[str, Any]) -> dict[str, Any]:
    readings = record.get("readings", [])
    known = [each | {"condition": each.get("probe") in _CONDITIONS} for each in readings]
    return record | {"readings": known}


def _conditions(old: dict[str, dict[str, str]]) -> dict[str, Any]:
    own = {name: old.get(name) for name in _OWN}
    controls = {name: dict(found) for name, found in old.items() if name not in _OWN}
    pinned = controls.get("pinning", {})
    cores = {name: _cores(pinned.pop(name, "")) for name in ("driver", "engine")}
    return {
        "controls": {name: _control(found) for name, found in controls.items()},
        "pinning": cores if any(cores.values()) else None,
        "driver": _driver(own["driver"]),
        "load": _load(own["load"]),
        "storage": _storage(own["storage"]),
        "data": _data(own["data"], own["durability"]),
    }


def _cores(text: str) -> list[int]:
    return [int(core) for core in text.split(",") if core]


def _control(found: dict[str, str]) -> dict[str, Any]:
    return {
        "value": found.pop("value", ""),
        "before": found.pop("before", ""),
        "set": found.pop("set", ""),
        "refused": found.pop("state", "").removeprefix(_NOT_HERE),
        "details": found,
    }


def _driver(old: dict[str, str] | None) -> dict[str, Any] | None:
    return old and {**old, "cpus": _cores(old["cpus"]), "seed": int(old["seed"])}


def _load(old: dict[str, str] | None) -> dict[str, Any] | None:
    return old and {
        "number": int(old["number"]),
        "of": int(old["of"]),
        "name": old["name"],
        "duration_s": float(old["seconds"]),
    }


def _storage(old: dict[str, str] | None) -> dict[str, Any] | None:
    return old and {
        "file_system": old["file_system"],
        "size_bytes": int(old["bytes"]),
        "free_bytes": int(old["free_bytes"]),
        "limits": old.get("limits", ""),
    }


def _data(data: dict[str, str] | None, durability: dict[str, str] | None) -> dict[str, Any] | None:
    """Two conditions were apart: how much, and how safely."""
    if data is None and durability is None:
        return None
    sizes, safety = data or {}, dict(durability or {})
    found = {"size_bytes": sizes.get("bytes"), "cache_bytes": sizes.get("cache_bytes")}
    return {
        **{name: None if text is None else int(text) for name, text in found.items()},
        "claim": sizes.get("claim", ""),
        "survives": safety.pop("survives", ""),
        "decided_by": safety,
    }


def _dropped(key: str, reason: str) -> dict[str, Any]:
    """`insert/3: foreign CPU 12.3 % > 10 %`."""
    workload, _, block = key.rpartition("/")
    share, _, most = reason.partition(" % > ")
    what, _, percent = share.rpartition(" ")
    limit = {"steal": "steal_percent", "foreign CPU": "foreign_percent"}.get(what, what)
    bound = float(most.removesuffix(" %"))
    return {
        "workload": workload,
        "block": int(block),
        "limit": limit,
        "percent": float(percent),
        "most": bound,
    }
