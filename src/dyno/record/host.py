"""Facts of a host (`Run.host`) that a measurement depends on."""

from __future__ import annotations

from collections.abc import Mapping

#: Facts that tell one make of host from another.
IDENTITY = ("cpu", "machine", "virtualisation")
#: Facts whose change makes a calibration stale, and ends a series of a history.
RELEVANT = (
    *(*IDENTITY, "cores", "kernel", "governor", "turbo", "clock_source", "huge_pages"),
    "driver",
)


def select_facts(host: Mapping[str, str]) -> dict[str, str]:
    """Those of a host's facts, or of an `instrument`'s, that a measurement depends on."""
    return {name: host[name] for name in RELEVANT if name in host}
