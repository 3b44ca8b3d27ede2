"""A workload of an experiment: which script, under which options, judged by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: What a stream can be judged by.
METRICS = (
    "rate_per_s",
    *(f"latency_ns_{kind}" for kind in ("p50", "p95", "p99", "p99.9", "max", "mean")),
    "failed_percent",
)


@dataclass(frozen=True)
class Workload:
    """A workload's name (or a script's path), the options set for it, as text, and what it is
    judged by, where that is not the script's own choice: ``phase``, ``stream``, ``metric``.

    `sweep` is the option among them, with its value, that tells it from its like in a sweep.
    """

    name: str
    options: dict[str, str] = field(default_factory=dict)
    primary: tuple[dict[str, Any], ...] = ()
    sweep: dict[str, str] = field(default_factory=dict)


def options_as_text(options: Mapping[str, Any]) -> dict[str, str]:
    """Options by the driver's names: sysbench writes ``table-size`` and ``table_size``."""
    return {option_name(name): as_text(value) for name, value in options.items()}


def option_name(name: str) -> str:
    """An option's name with underscores for dashes."""
    return name.replace("-", "_")


def as_text(value: object) -> str:
    """A TOML value as an option's text: true, 8, 0.5."""
    return str(value).lower() if isinstance(value, bool) else str(value)
